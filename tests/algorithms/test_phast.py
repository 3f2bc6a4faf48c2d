"""Upward searches and sweeps over hierarchies: distances, tables, pairs and paths, with weights that change."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA, EXAMPLES, open_device
from tests.support.graphs import check_path, grid, heap_dijkstra, random_graphs, scipy_dijkstra
from tests.support.resources import all_owned, own_recordings, watch_closing
from vkssp import (
    UNREACHABLE,
    DeviceError,
    DistanceOverflowError,
    Graph,
    QueryError,
    Solver,
    SolverPool,
    prepare,
    read_graph,
)
from vkssp.algorithm import MAX_TERMINALS
from vkssp.algorithms.phast import Phast, hierarchy_of
from vkssp.batch import label_table, sweep_batch
from vkssp.batch.sweep_batch import LARGE_TILE, SweepBatch, needed_ranks, sweeps_at_once, tile_of
from vkssp.cch import pairs, top
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.pairs import Pairs
from vkssp.cpu.rows import SweepRows
from vkssp.engine.reweigh import Reweigher
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.gpu.recording import Recording
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource
from vkssp.solver.tables import rows as rows_of_source
from vkssp.solver.work_sharing import RowScheduler, Worker


@pytest.fixture(scope="module", autouse=True)
def of_sweeps() -> Iterator[None]:
    """Let sweeps make the rows of all tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_table, "MOST_PART", 0)
        yield


@cache
def streets() -> Graph:
    return prepare(read_graph(DATA / "andorra.osm.pbf"))


def searched_together_from(many_arcs: int | None) -> AbstractContextManager[Any]:
    """Let many workgroups search supernodes with so many arcs, as on a GPU, also for pairs."""
    stack = ExitStack()
    if many_arcs is not None:
        stack.enter_context(patch.object(top, "many_arcs", lambda _: many_arcs))
        stack.enter_context(patch.multiple(pairs, ARCS_A_LEVEL=-1, ARCS_A_PATH=0))
    return stack


def all_rows(blocks: Any) -> np.ndarray:
    return np.concatenate(list(blocks))


def exact_rows(graph: Graph, sources: Any) -> np.ndarray:
    return np.stack([heap_dijkstra(graph, int(source)) for source in sources])


@settings(max_examples=EXAMPLES)
@given(graph=random_graphs(max_nodes=60), seed=st.integers(0, 2**32 - 1), many_arcs=st.sampled_from([None, 1, 4, 20]))
def test_random_graphs_with_weights_that_change(device: Device, graph: Graph, seed: int, many_arcs: int | None) -> None:
    rng = np.random.default_rng(seed)
    graph = prepare(graph)
    sources, targets = rng.integers(0, graph.num_nodes, 5), rng.integers(0, graph.num_nodes, 3)
    with searched_together_from(many_arcs), Solver(graph, device=device) as solver:
        assert solver.algorithm == "phast"
        for _ in range(3):
            now = solver.graph
            exact = exact_rows(now, sources)
            assert np.array_equal(solver.distances(int(sources[0])), exact[0])
            assert np.array_equal(solver.distances(sources), exact)
            assert np.array_equal(solver.table(sources, targets), exact[:, targets])
            ends = np.resize(targets, len(sources))
            assert np.array_equal(solver.pairs(sources, ends), exact[np.arange(len(sources)), ends])
            for source, target, distance in zip(sources, ends, exact[np.arange(len(sources)), ends], strict=True):
                assert solver.distance(int(source), int(target)) == distance
                if distance != UNREACHABLE:
                    route = solver.path(int(source), int(target))
                    assert route.weight == distance == now.weight[route.arcs].sum(dtype=np.int64)
            if not graph.num_arcs:
                break
            changed = np.unique(rng.integers(0, graph.num_arcs, 1 + graph.num_arcs // 3))
            solver.set_weights(rng.integers(0, 9, len(changed)) ** rng.integers(0, 4), changed)


@pytest.mark.parametrize("searches", [2, 31, 33, 128, 150])
def test_tiles_that_are_filled_in_part(device: Device, monkeypatch: pytest.MonkeyPatch, searches: int) -> None:
    monkeypatch.setitem(device.tuned, "sweeps.searches", searches)
    graph = streets()
    rng = np.random.default_rng(searches)
    sources = rng.integers(0, graph.num_nodes, 2 * searches + 7)
    exact = {int(source): scipy_dijkstra(graph, int(source)) for source in np.unique(sources)}
    with Solver(graph, device=device) as solver:
        for targets in (np.arange(graph.num_nodes), rng.integers(0, graph.num_nodes, 40)):
            rows = solver.table(sources, targets)
            assert all(np.array_equal(row, exact[int(s)][targets]) for s, row in zip(sources, rows, strict=True))


@pytest.mark.parametrize("fitting", [3, 4, 6, 31, 100, 127, 200, 704])
def test_whole_tiles_fit_into_a_buffer(device: Device, monkeypatch: pytest.MonkeyPatch, fitting: int) -> None:
    graph = prepare(grid(12))
    monkeypatch.setitem(device.tuned, "sweeps.searches", 1024)
    with Solver(graph, device=device) as solver:
        limits = replace(device.limits, allocation=4 * fitting * graph.num_nodes + 3)
        monkeypatch.setattr(device, "limits", limits)
        for rows in (2, 5, 33, 130, 1000):
            searches = solver.session.rows_at_once(rows, graph.num_nodes)
            assert searches <= rows
            if searches:
                tile = sweep_batch.tile_of(searches)
                assert 4 * tile * -(-searches // tile) * graph.num_nodes <= limits.buffer


def test_groups_of_seeds_and_limits(device: Device) -> None:
    graph = streets()
    rng = np.random.default_rng(5)
    groups = [[(int(n), int(o)) for n, o in rng.integers(0, graph.num_nodes, (k, 2))] for k in (1, 2, 0, 3, 17, 1, 64)]
    nodes = np.arange(0, graph.num_nodes, 7, dtype=np.uint32)
    with Solver(graph, device=device) as solver, Solver(graph, "dijkstra") as reference:
        for limit in (UNREACHABLE, 20_000):
            rows = all_rows(rows_of_source(solver, solver.graph, groups, nodes, limit=limit))
            for group, row in zip(groups, rows, strict=True):
                exact = reference.distances(group)[nodes] if group else np.full(len(nodes), UNREACHABLE)
                assert np.array_equal(row, np.where(exact > limit, UNREACHABLE, exact))
        many = [(int(n), int(o)) for n, o in rng.integers(0, graph.num_nodes, (300, 2))]
        assert np.array_equal(solver.distances(many), reference.distances(many))
        nearest, other = (
            solver.nearest(range(0, graph.num_nodes, 11)),
            reference.nearest(range(0, graph.num_nodes, 11)),
        )
        assert np.array_equal(nearest.source, other.source) and np.array_equal(nearest.distance, other.distance)


def test_only_targets_and_their_ancestors_are_swept(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "tuned", {**device.tuned, "sweeps.subtree_nodes": 0})  # a dispatch for each level
    graph = streets()
    hierarchy = graph.hierarchy
    assert hierarchy is not None
    wanted = hierarchy.rank[[5, 77]]
    needed = needed_ranks(hierarchy, wanted)
    above: set[int] = set()
    todo = wanted.tolist()
    while todo:
        rank = int(todo.pop())
        if rank not in above:
            above.add(rank)
            group = int(hierarchy.supernode[rank])
            todo += hierarchy.ancestor[hierarchy.first_ancestor[group] : hierarchy.first_ancestor[group + 1]].tolist()
    assert needed.tolist() == sorted(above)
    with Solver(graph, device=device) as solver:
        made = SweepBatch(solver.session.shared.graph, solver.session.renumbered.node[[5, 77]], 4, UNREACHABLE)  # type: ignore[arg-type]
        assert made.num_rows == len(needed) < graph.num_nodes / 10
        next(made.rows(Groups.of_nodes(np.zeros(1, np.uint32)))).read()
        levels = np.searchsorted(hierarchy.first_node[hierarchy.first_of_level], sorted(above), "right")
        assert made.counters["iterations"] == len(set(levels.tolist()))
        made.close()


def test_customization_is_perfect(device: Device) -> None:
    """The weight of each arc of the hierarchy is the distance between its ends."""
    graph = prepare(grid(9, high=40))
    with Solver(graph, device=device) as solver:
        customized = hierarchy_of(solver.session.shared.graph)  # type: ignore[arg-type]
        hierarchy, weights = customized.hierarchy, customized.weights.read().reshape(-1, 2)
        exact = exact_rows(graph, hierarchy.node)[:, hierarchy.node]
        low, high = np.tril_indices(graph.num_nodes, -1)
        arc = hierarchy.arcs_of(low, high)
        joined = arc >= 0
        assert joined.sum() == hierarchy.num_arcs
        assert np.array_equal(weights[arc[joined], 0], exact[low[joined], high[joined]])
        assert np.array_equal(weights[arc[joined], 1], exact[high[joined], low[joined]])
        ranges, arcs = customized.downward_arcs()
        kept = arcs[np.concatenate([np.arange(first, first + count) for first, count in ranges.tolist()])]
        assert 0 < len(kept) < customized.num_downward, "some arcs are needless"


def test_the_hierarchy_is_customized_anew_in_its_place(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = CustomizedHierarchy.__init__
    monkeypatch.setattr(CustomizedHierarchy, "__init__", lambda self, *given: made.append(self) or make(self, *given))
    graph = prepare(grid(12))
    with Solver(graph, device=device) as solver, solver.clone() as clone:
        for factor in (3, 5):
            solver.set_weights(graph.weight * np.uint32(factor))
            for one in (solver, clone):
                assert np.array_equal(one.distances(7), heap_dijkstra(graph, 7) * factor)
    assert len(made) == 1


def test_tables_of_the_same_nodes_share_a_batch(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = SweepBatch.__init__
    monkeypatch.setattr(SweepBatch, "__init__", lambda self, *given: made.append(self) or make(self, *given))
    graph = prepare(grid(12))  # smaller tables would be made of pairs
    with Solver(graph, device=device) as solver:
        exact = exact_rows(graph, range(24))
        for targets in ([1, 9], [1, 9], [2, 9], [2, 9]):
            assert np.array_equal(solver.table(range(24), targets), exact[:, targets])
        solver.set_weights(graph.weight * np.uint32(2))
        assert np.array_equal(solver.table(range(24), [2, 9]), 2 * exact[:, [2, 9]])
        both = [solver.table(range(24), [2, 9], chunked=True) for _ in range(2)]
        for first, second in zip(*both, strict=True):
            assert np.array_equal(first, second)
    assert len(made) == 3 and all(one.closed for one in made)


@pytest.mark.parametrize("many_arcs", [1, 50])
def test_many_workgroups_search_at_the_top(device: Device, many_arcs: int) -> None:
    graph = prepare(grid(24, seed=3))
    assert graph.hierarchy is not None
    rng = np.random.default_rng(7)
    many, ends = rng.integers(0, graph.num_nodes, (2, 200)), rng.integers(0, graph.num_nodes, (2, 6))
    with searched_together_from(many_arcs), Solver(graph, "phast", device=device) as solver:
        assert 1 < len(top.top_of(graph.hierarchy, many_arcs).levels) < graph.hierarchy.num_levels + 1
        exact = {int(node): heap_dijkstra(graph, int(node)) for node in np.unique([*many[0], *ends.reshape(-1)])}
        for sources, targets in (ends, many):  # few pairs go on at the top together, many do not
            expected = [
                exact[source][target] for source, target in zip(*(sources.tolist(), targets.tolist()), strict=True)
            ]
            assert solver.pairs(sources, targets).tolist() == expected
        seeds = [(int(node), 40 * place) for place, node in enumerate(ends[0])]
        nearest = np.min([exact[node].astype(np.int64) + offset for node, offset in seeds], axis=0)
        assert np.array_equal(solver.from_seeds(seeds), nearest)
        for source, target in ends.T.tolist():
            assert solver.path(source, target).weight == exact[source][target]


@pytest.mark.parametrize("many_arcs", [None, 1])
def test_sums_that_do_not_fit(device: Device, many_arcs: int | None) -> None:
    heavy = 2**31
    graph = prepare(Graph.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 3, 4], [heavy, heavy, 1, 5, 1]))
    with searched_together_from(many_arcs), Solver(graph, device=device) as solver:
        assert solver.distances(1).tolist() == [UNREACHABLE, 0, heavy, heavy + 1, heavy + 2]
        with pytest.raises(DistanceOverflowError):
            solver.distances(0)
        with pytest.raises(DistanceOverflowError):
            solver.distance(0, 2)
        assert solver.distance(0, 4) == 6
        assert solver.pairs([0, 1], [4, 2]).tolist() == [6, heavy]
        with pytest.raises(DistanceOverflowError):
            solver.pairs([1, 0], [2, 2])
        assert solver.table([0, 1], [1, 4]).tolist() == [[heavy, 6], [0, heavy + 2]]
        with pytest.raises(DistanceOverflowError):
            solver.table([0, 1], [2, 4])


def test_pairs_by_any_algorithm_and_by_several_devices(device: Device) -> None:
    graph = streets()
    sources, targets = np.random.default_rng(2).integers(0, graph.num_nodes, (2, 200))
    exact = {int(source): scipy_dijkstra(graph, int(source)) for source in np.unique(sources)}
    expected = [exact[int(s)][t] for s, t in zip(sources, targets, strict=True)]
    for algorithm in ("phast", "dijkstra", "block_resident"):
        with Solver(graph, algorithm, None if algorithm == "dijkstra" else device) as solver:
            assert solver.pairs(sources, targets).tolist() == expected
            with pytest.raises(QueryError, match="there are 2 sources and 1 targets"):
                solver.pairs([0, 1], [2])
            with pytest.raises(QueryError, match=r"targets\[0\] is 99999"):
                solver.pairs([0], [99_999])
    with SolverPool(graph, devices=[device]) as pool:
        assert pool.algorithm == "phast"
        assert pool.pairs(sources, targets).tolist() == expected
        assert np.array_equal(pool.table(sources[:9], targets), exact_rows(graph, sources[:9])[:, targets])


def test_options_that_phast_does_not_have(device: Device) -> None:
    graph = prepare(grid(5))
    with pytest.raises(QueryError, match="phast sweeps over the hierarchy of the whole graph"):
        Solver(graph, "phast", device, reduction="full")
    for options in ({"reduction": "full"}, {"order": "natural"}, {"counters": "trace"}):
        with Solver(graph, device=device, **options) as solver:
            assert solver.algorithm != "phast", "auto takes an algorithm that has the option"
    with Solver(grid(5), "phast", device) as solver:  # prepared on the way
        assert np.array_equal(solver.distances(3), heap_dijkstra(grid(5), 3))


def test_loops_that_are_cut_short_are_an_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(5))
    with Solver(graph, device=device) as solver:
        search = solver.session.algorithm()
        assert isinstance(search, Phast)
        solver.distances(0)
        view = search.mapped.view()
        recording = own_recordings(search)[0]
        wait = recording.wait

        def cut() -> None:
            wait()
            view[0] = 1

        monkeypatch.setattr(recording, "wait", cut)
        with pytest.raises(DeviceError, match="ends the long loops of phast"):
            solver.distances(0)
        monkeypatch.undo()
        assert np.array_equal(solver.distances(0), heap_dijkstra(graph, 0)), "with new buffers"


def test_tiles_are_no_larger_than_what_there_is_room_for(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(12))
    monkeypatch.setitem(device.tuned, "sweeps.searches", 1024)
    nodes = np.arange(graph.num_nodes, dtype=np.uint32)
    exact = np.stack([heap_dijkstra(graph, source) for source in range(7)])
    with Solver(graph, device=device) as solver:
        shared: Any = solver.session.shared.graph
        before = device.limits
        seen = set()
        for room in (1, 2, 3, 4, 7, 31, 33, 100, 127, 128, 160, 255, 300):
            # Of memory, and of a buffer.
            with monkeypatch.context() as patch:
                each = 4 * MAX_TERMINALS * sweep_batch.nodes_each(graph.hierarchy)  # type: ignore[arg-type]
                largest = max(each, 12 * MAX_TERMINALS * graph.hierarchy.num_levels)  # type: ignore[union-attr]
                patch.setattr(device, "limits", replace(before, storage_range=room * largest))
                searches = sweeps_at_once(shared, 10_000, len(nodes))
                seen.add(searches)
                assert 0 <= searches <= room
                if searches > 1:
                    taken = -(-searches // tile_of(searches)) * tile_of(searches)
                    assert taken <= room
                if searches in (4, 16, LARGE_TILE):
                    made = SweepBatch(shared, nodes, searches, 2**32 - 1)
                    made.make_labels(MAX_TERMINALS)  # the most that is ever wanted has room
                    made.close()
            with monkeypatch.context() as patch:
                patch.setattr(Device, "free_bytes", lambda self, room=room: room * 100_000)
                searches = sweeps_at_once(shared, 10_000, len(nodes))
                if searches > 1:
                    made = SweepBatch(shared, nodes, searches, 2**32 - 1)
                    made.make_labels(MAX_TERMINALS)
                    next(made.rows(Groups.of_nodes(np.zeros(1, np.uint32)))).read()
                    small = 64 << 10  # the sizes of which do not depend on how many searches there are
                    download = sum(one.memory_bytes for one in made.owned if isinstance(one, Download))
                    assert made.memory_bytes - download <= sweep_batch.MOST_MEMORY * room * 100_000 + small
                    made.close()
        assert {0, 4, 16, LARGE_TILE} <= seen
        with monkeypatch.context() as patch:
            patch.setattr(device, "limits", replace(before, storage_buffers=8))
            assert sweeps_at_once(shared, 100, len(nodes)) == 0, "upward searches need ten"
            assert np.array_equal(solver.distances(range(7)), exact)


def test_tiles_of_few_searches(device: Device) -> None:
    graph = prepare(grid(9))
    exact = np.stack([heap_dijkstra(graph, source) for source in range(33)])
    for searches in (2, 3, 4, 5, 8, 9, 16, 17, 33):
        with Solver(graph, device=device) as solver:
            assert np.array_equal(solver.distances(range(searches)), exact[:searches])
            assert np.array_equal(solver.table(range(searches), [3]), exact[:searches, [3]])


@pytest.mark.parametrize("order", ["auto", "hierarchy"])
def test_auto_where_the_device_cannot_sweep(device: Device, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    graph = prepare(Graph.from_edges(*np.triu_indices(60, 1), np.arange(60 * 59 // 2) % 7, undirected=True))
    assert graph.hierarchy is not None
    light = prepare(grid(30))
    assert light.hierarchy is not None
    monkeypatch.setattr("vkssp.solver.shared_graph.unfit", lambda *_: "too large")
    for each in (graph, light):
        with Solver(each, device=device, order=order) as solver:
            assert solver.algorithm != "phast"
            assert np.array_equal(solver.distances(5), heap_dijkstra(each, 5))


def test_a_device_that_binds_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs, with labels and without, and routes need no larger buffers than there are."""
    monkeypatch.setenv(MASK_VARIABLE, "storage_range=65536")
    graph, rng = prepare(grid(20)), np.random.default_rng(1)
    sources, targets = rng.integers(0, 4, 20_000), rng.integers(0, graph.num_nodes, 20_000)
    exact = np.array([heap_dijkstra(graph, source) for source in range(4)])
    with open_device() as small:
        for label_mib in (None, 0):
            with Solver(graph, "phast", small, label_mib=label_mib) as solver:
                assert np.array_equal(solver.pairs(sources, targets), exact[sources, targets])
                check_path(graph, solver.path(0, 399), 0, 399, int(exact[0, 399]))


def test_auto_where_supernodes_are_more_than_a_device_binds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MASK_VARIABLE, "storage_range=65536 -buffer_addresses")
    graph = prepare(Graph.from_edges([0, 1], [1, 2], [3, 4], num_nodes=2000))
    with open_device() as small:
        with Solver(graph, device=small) as solver:
            assert solver.algorithm != "phast" and solver.distance(0, 2) == 7
        with pytest.raises(DeviceError, match="the hierarchy needs"):
            Solver(graph, "phast", small)


@pytest.mark.parametrize(
    ("question", "works_on"), [("pairs", "the pairs"), ("route", "the marks of unpacking"), ("set_weights", "reweigh")]
)
def test_interrupted_while_the_device_is_at_work(
    device: Device, monkeypatch: pytest.MonkeyPatch, question: str, works_on: str
) -> None:
    """Buffers that the device works on are freed after the work, and not before."""
    graph = prepare(grid(30))
    exact = heap_dijkstra(graph, 3)
    with Solver(graph, device=device) as solver:
        solver.path(3, 50)  # puts the incoming arcs there, which have weights, too
        closed: list[Resource] = []
        wait = Recording.wait

        def interrupted(self: Recording, *patience: Any) -> None:
            if self.pending and self is running[0]:
                monkeypatch.setattr(Recording, "wait", wait)
                raise KeyboardInterrupt
            wait(self, *patience)

        def check_closed(part: Any) -> None:
            if (part.name if isinstance(part, Buffer) else part.kernel.name) == works_on:
                assert not running[0].pending, "the device is still at work with these"
                closed.append(part)

        shared: Any = solver.session.shared.graph
        if question == "pairs":
            solver.pairs([1, 2], [3, 4])
            (pairs,) = (part for part in all_owned(solver.session.algorithm()) if isinstance(part, Pairs))  # type: ignore[arg-type]
            running = own_recordings(pairs)[-1:]
        elif question == "route":
            running = own_recordings(solver.session.work().walker.unpacker)  # type: ignore[union-attr]
        else:
            solver.set_weights(graph.weight)
            (reweigher,) = (part for part in all_owned(shared) if isinstance(part, Reweigher))
            running = own_recordings(reweigher)
        monkeypatch.setattr(Recording, "wait", interrupted)
        for kind in (Buffer, Bindings):
            watch_closing(monkeypatch, kind, check_closed)
        with pytest.raises(KeyboardInterrupt):
            if question == "pairs":
                solver.pairs([1, 2], [3, 4])
            elif question == "route":
                solver.path(1, 40)
            else:
                solver.set_weights(2 * graph.weight)
        assert closed
        monkeypatch.undo()
        assert solver.pairs([3], [50]).tolist() == [exact[50]]
        assert np.array_equal(solver.distances(3), exact) and solver.path(3, 50).weight == exact[50]


def test_a_hand_that_fails_once_its_rows_are_made() -> None:
    """Such as when weights change right then; whoever has the rows after these may have handed them over already."""

    def make(first: int, end: int) -> Generator[Any, None, None]:
        for row in range(first, end):
            yield np.array([[row]], np.uint32)
        raise QueryError("too late to matter")

    scheduler = RowScheduler([Worker(4, make, lambda error: False)], 100, 50)
    assert [int(block[0, 0]) for block in scheduler.blocks(nullcontext)] == list(range(100))


@pytest.mark.parametrize("place", ["vulkan", "cpu"])
def test_small_tables_are_made_of_pairs(device: Device, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (SweepBatch, SweepRows):
        monkeypatch.setattr(kind, "__init__", None)  # which makes no table
    graph = prepare(grid(40))
    chosen: Any = device if place == "vulkan" else "cpu"
    with Solver(graph, "phast", chosen) as solver, Solver(graph, "dijkstra") as reference:
        nodes = np.array([7, 1599], np.uint32)
        for seeds in ([[(3, 0)], [(3, 5), (800, 2)]], [[(7, 0)], [(7, 9)], [(1599, 1)]]):
            for limit in (UNREACHABLE, 60):
                (block,) = solver.row_blocks(solver.graph, seeds, nodes, limit=limit)
                wanted = [reference.distances(group, limit=None if limit == UNREACHABLE else limit) for group in seeds]
                assert np.array_equal(block.distances, np.array(wanted)[:, nodes]) and block.overflowed is None
        solver.set_weights(graph.weight * np.uint32(2))
        assert np.array_equal(solver.table([3], nodes)[0], 2 * reference.distances(3)[nodes])
    # What may not fit into 32 bits is made by sweeps.
    monkeypatch.undo()
    heavy = prepare(grid(40).with_weights(np.full(graph.num_arcs, 2**31, np.uint32)))
    with Solver(heavy, "phast", chosen) as solver:
        assert solver.table([0], [1]).tolist() == [[2**31]]
        with pytest.raises(DistanceOverflowError):
            solver.table([0], [1599])
