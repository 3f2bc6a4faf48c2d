"""Batches of block-resident searches find the same distances as searches one after the other."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from vkssp import UNREACHABLE, DeviceError, DistanceOverflowError, Graph, QueryError, Solver
from vkssp.batch import block_resident_batch, block_resident_rows
from vkssp.batch.block_resident_batch import BINDINGS, STATE, BlockResidentBatch
from vkssp.batch.block_resident_rows import BlockResidentRows
from vkssp.batch.submission import Submission, SubmissionQueue
from vkssp.generate import road_grid
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.tables import rows as rows_of_source


def table(solver: Solver, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return solver.table(sources, targets)


@settings(max_examples=max(5, EXAMPLES // 3))
@given(graph=random_graphs(), data=st.data())
def test_any_graph(device: Device, graph: Graph, data: st.DataObject) -> None:
    nodes = st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=9)
    sources, targets = (np.array(data.draw(nodes)) for _ in range(2))
    options = {
        "reduction": data.draw(st.sampled_from(["none", "full"])),
        "block": data.draw(st.sampled_from([1, 8, 64])),
        "delta": data.draw(st.sampled_from([None, 1, 40])),
        "workgroups": data.draw(st.sampled_from([1, None])),
    }
    everything = np.stack([scipy_dijkstra(graph, source) for source in sources.tolist()])
    limit = data.draw(st.sampled_from([UNREACHABLE, 0, int(np.median(everything))]))
    if limit != UNREACHABLE:
        everything[everything > limit] = UNREACHABLE
    with pytest.MonkeyPatch.context() as patch, Solver(graph, "block_resident", device, **options) as solver:
        patch.setitem(device.tuned, "blocks.searches", data.draw(st.sampled_from([1, 2, 3, 64])))
        patch.setattr(block_resident_rows, "ROWS_EACH", data.draw(st.sampled_from([1, 2])))
        patch.setattr(
            block_resident_batch, "FEW_TARGETS", data.draw(st.sampled_from([0, 64]))
        )  # 0: all searches may end early
        groups = [[(source, 0)] for source in sources.tolist()]
        found = np.concatenate(list(rows_of_source(solver, graph, groups, targets, limit=limit)))
        assert np.array_equal(found, everything[:, targets])
        found = np.concatenate(
            [block.distances for block in solver.row_blocks(graph, groups, targets, whole=True, limit=limit)]
        )
        assert np.array_equal(found, everything)


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_slots_and_places_in_the_ring_are_used_again_and_again(
    device: Device, monkeypatch: pytest.MonkeyPatch, reduction: str
) -> None:
    graph = road_grid(24, shape_nodes=4)
    rng = np.random.default_rng(3)
    sources, targets = rng.integers(0, graph.num_nodes, (2, 36))
    expected = np.stack([scipy_dijkstra(graph, source) for source in sources.tolist()])
    made: list[tuple[int, int]] = []
    make = BlockResidentBatch.__init__
    monkeypatch.setattr(
        BlockResidentBatch, "__init__", lambda self, *args: made.append((args[2], args[3])) or make(self, *args)
    )
    monkeypatch.setattr(block_resident_batch, "MOST_BYTES", 3 * 4 * graph.num_nodes)
    with Solver(graph, "block_resident", device, reduction=reduction) as solver:
        for each in (1, 2):
            monkeypatch.setattr(block_resident_rows, "ROWS_EACH", each)
            assert np.array_equal(table(solver, sources, targets), expected[:, targets])
            blocks = list(solver.table(sources, np.arange(graph.num_nodes), chunked=True))
            assert np.array_equal(np.concatenate(blocks), expected) and max(map(len, blocks)) <= 3
    assert made == 2 * [(8, 8)] + 2 * [(8, 16)]


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_a_search_ends_with_its_targets_or_its_limit(device: Device, reduction: str) -> None:
    graph = road_grid(80, seed=4)
    source, nodes = 40 * 80 + 40, np.arange(graph.num_nodes, dtype=np.uint32)
    expected = scipy_dijkstra(graph, source)
    near = np.argsort(expected, kind="stable")[[0, 5, 9]].astype(np.uint32)
    radius = int(np.sort(expected)[30])
    visits: dict[str, int] = {}

    def run(name: str, batch: BlockResidentRows) -> np.ndarray:
        (row,) = np.concatenate(
            [finished.read() for finished in batch.rows(Groups.of_nodes(np.array([seed], np.uint32)))]
        )
        assert batch.batch is not None
        visits[name] = batch.batch.counters["blocks"]
        return row

    with Solver(graph, "block_resident", device, reduction=reduction, order="natural", block=32) as solver:
        seed, on_device, parameters = source, solver.session.shared.graph, {**solver.session.parameters, "delta": 50}
        with BlockResidentRows(on_device, nodes, 1, UNREACHABLE, parameters) as batch:
            assert np.array_equal(run("whole", batch), expected)
        with BlockResidentRows(on_device, near, 1, UNREACHABLE, parameters) as batch:
            assert np.array_equal(run("targets", batch), expected[near])
        with BlockResidentRows(on_device, nodes, 1, radius, parameters) as batch:
            assert np.array_equal(run("limit", batch), np.where(expected <= radius, expected, UNREACHABLE))
    assert max(visits["targets"], visits["limit"]) < visits["whole"] / 3, visits


def test_loops_that_end_too_early_are_shared_by_more_workgroups(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = grid(20, seed=5)
    sources = np.arange(0, 400, 7)
    expected = np.stack([scipy_dijkstra(graph, source) for source in sources.tolist()])
    whole, groups, calls = Submission.state.fget, [], iter(range(1000))
    make = BlockResidentBatch.__init__

    def state(self: Submission) -> np.void:
        found = whole(self).copy()
        found["cut_short"] = next(calls) in (0, 1, 6)
        return found

    monkeypatch.setattr(Submission, "state", property(state))
    monkeypatch.setattr(
        BlockResidentBatch, "__init__", lambda self, *args: groups.append(args[-1]) or make(self, *args)
    )
    monkeypatch.setattr(block_resident_batch, "MOST_BYTES", 4 * graph.num_nodes)
    with Solver(graph, "block_resident", device, reduction="none") as solver:
        assert np.array_equal(table(solver, sources, np.arange(400)), expected)
        assert groups == [1, 8, 64, 512]
        calls = iter([0] * 100)
        with pytest.raises(DeviceError, match="ends the long loops of block_resident before their time; set more"):
            table(solver, sources, sources)


def test_seeds_with_offsets_and_rows_without_any(device: Device) -> None:
    graph = grid(20, seed=5)
    nodes = np.array([7, 0, 399, 7], np.uint32)
    groups = [[(3, 50), (200, 0)], [], [(5, 9)], [(3, 1), (3, 0)]]
    expected = [
        np.min([scipy_dijkstra(graph, node).astype(np.int64)[nodes] + offset for node, offset in seeds], axis=0)
        if seeds
        else np.full(4, UNREACHABLE)
        for seeds in groups
    ]
    for reduction in ("none", "full"):
        with Solver(graph, "block_resident", device, reduction=reduction) as solver:
            found = np.concatenate(list(rows_of_source(solver, graph, groups, nodes)))
            assert np.array_equal(found, expected)
            kept = solver.session.shared.graph.owned
            assert sum(isinstance(part, BlockResidentRows) for part in kept) == 1
            again = np.concatenate(
                list(rows_of_source(solver, graph, groups, nodes))
            )  # by what the first table has left
            assert np.array_equal(again, expected)
            assert {*solver.session.shared.graph.owned} == {*kept}


def test_sums_that_do_not_fit_matter_for_wanted_nodes_only(device: Device) -> None:
    largest = 2**32 - 2
    graph = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [largest - 5, 3, 9, 1, 1])
    for reduction in ("none", "full"):
        with Solver(graph, "block_resident", device, reduction=reduction) as solver:
            assert table(solver, np.array([0, 1]), np.array([1, 2])).tolist() == [[largest - 5, largest - 2], [0, 3]]
            with pytest.raises(DistanceOverflowError):
                table(solver, np.array([1, 0]), np.array([3]))


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_as_many_at_once_as_memory_allows(device: Device, monkeypatch: pytest.MonkeyPatch, reduction: str) -> None:
    monkeypatch.setitem(device.tuned, "blocks.searches", 1000)
    graph = grid(60, seed=2)
    sources, targets = np.arange(20), np.arange(10)
    expected = np.stack([scipy_dijkstra(graph, source)[targets] for source in sources.tolist()])
    made: list[tuple[int, int]] = []
    make = BlockResidentRows.__init__

    def init(self: BlockResidentRows, *args: object) -> None:
        before = device.memory_bytes
        make(self, *args)
        next(self.rows(Groups.of_nodes(np.zeros(1, np.uint32))))  # so that it is all there
        made.append((args[2], device.memory_bytes - before))

    monkeypatch.setattr(BlockResidentRows, "__init__", init)
    with Solver(graph, "block_resident", device, reduction=reduction) as solver:
        assert np.array_equal(table(solver, sources, targets), expected) and made[0][0] == 20
        all_of_them = made[0][1]
    # Also where the graph has to be uploaded in other blocks, or with what was taken out of it.
    for part in (0.95, 0.6, 0.4, 0.01):
        room = part * all_of_them
        monkeypatch.setattr(block_resident_rows, "MOST_MEMORY", 1e-3)
        with Solver(graph, "block_resident", device, reduction=reduction) as solver:
            monkeypatch.setattr(Device, "free_bytes", lambda device, room=room: int(1000 * room))
            assert np.array_equal(table(solver, sources, targets), expected)
            if part > 0.1:
                count, taken = made[-1]
                # Beside that only the submissions' views of the state, and of what was written.
                assert 1 < count < 20 and taken <= room + 16 * (STATE.itemsize + 8 * 2 * count)
        monkeypatch.undo()
        monkeypatch.setitem(device.tuned, "blocks.searches", 1000)
        monkeypatch.setattr(BlockResidentRows, "__init__", init)
    assert len(made) == 4, "one at a time needs no batch"


def test_workgroups_and_devices_of_any_size(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, nodes = grid(20, seed=5), np.arange(0, 400, 57)
    expected = expected_of(graph, nodes)
    for size in (1, 2):  # without a block that was chosen to suit
        with Solver(graph, "block_resident", device, workgroup_size=size) as solver:
            assert np.array_equal(table(solver, nodes, nodes), expected[:, nodes])
    for limit in ({"storage_buffers": BINDINGS - 1}, {"storage_range": 16 * 400}):
        with pytest.MonkeyPatch.context() as patch, Solver(graph, "block_resident", device) as solver:
            patch.setattr(device, "limits", replace(device.limits, **limit))
            patch.setattr(BlockResidentRows, "rows", None)  # one after the other it is
            assert np.array_equal(table(solver, nodes, np.arange(400)), expected)


def expected_of(graph: Graph, sources: np.ndarray) -> np.ndarray:
    return np.stack([scipy_dijkstra(graph, source) for source in sources.tolist()])


def test_ctrl_c_again_and_again_waits_for_copies_and_leaves_nothing(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, late = grid(20, seed=5), []
    take, finish = Download.take, SubmissionQueue.finish

    def slow(self: Download, *args: Any) -> None:
        time.sleep(0.05)
        late.append(self.closed or any(piece.closed for piece in self._pieces))
        take(self, *args)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted(self: SubmissionQueue) -> None:
        finish(self)
        interrupt()

    with Solver(graph, "block_resident", device, reduction="none") as solver:
        nodes = np.arange(400)
        rows = solver.table(nodes, nodes, chunked=True)
        monkeypatch.setattr(Download, "take", slow)
        monkeypatch.setattr(SubmissionQueue, "finish", interrupted)
        monkeypatch.setattr(Future, "result", interrupt)
        monkeypatch.setattr(Future, "exception", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(rows)
        monkeypatch.undo()
        assert late and not any(late)
        assert not any(
            isinstance(part, BlockResidentRows | BlockResidentBatch) for part in solver.session.shared.graph.owned
        )
        assert np.array_equal(next(solver.table(nodes[:2], nodes, chunked=True)), expected_of(graph, nodes[:2]))


def test_weights_that_change_end_a_table(device: Device) -> None:
    graph = grid(20, seed=5)
    nodes = np.arange(400)
    with Solver(graph, "block_resident", device, reduction="none") as solver:
        rows = solver.table(nodes, nodes, chunked=True)
        first = next(rows)
        solver.set_weights(graph.weight * 2)
        with pytest.raises(QueryError, match="weights changed while a table was made; ask for it again"):
            list(rows)
        assert np.array_equal(next(solver.table(nodes, nodes, chunked=True))[: len(first)], 2 * first)
        for _ in range(3):  # given up on the way
            next(solver.table(nodes, nodes, chunked=True))
        assert np.array_equal(solver.distances(7), 2 * scipy_dijkstra(graph, 7))


def test_a_core_without_arcs_does_not_choose_the_buckets(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a ring one node is left; buckets that do not follow from weights would be far too many."""
    ring = np.arange(100)
    weight = np.random.default_rng(5).integers(10_000, 1_000_000, len(ring))
    graph = Graph.from_edges(ring, np.roll(ring, -1), weight, undirected=True)
    measured, original = list[int](), block_resident_rows.default_bucket

    def noted(renumbered: RenumberedGraph, device: Device) -> int:
        measured.append(renumbered.num_arcs)
        return original(renumbered, device)

    monkeypatch.setattr(block_resident_rows, "default_bucket", noted)
    with Solver(graph, "block_resident", device, reduction="full") as solver:
        table = solver.table(ring, ring[:9])
    assert measured == [graph.num_arcs]
    assert np.array_equal(table, [scipy_dijkstra(graph, source)[:9] for source in ring])
