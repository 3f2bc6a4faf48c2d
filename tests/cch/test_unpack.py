"""Unpacking of paths from a hierarchy: of several shortest paths the same one as by a walk along distances."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid
from tests.support.hierarchies import lists
from tests.support.resources import own_recordings, watch_closing
from tests.support.submissions import check_paths_take_one_submission
from vkssp import UNREACHABLE, DeviceError, Graph, Solver, prepare
from vkssp.algorithms import phast
from vkssp.cch import lower_arcs, pairs, unpack
from vkssp.cch.topology import supernodes_below
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each path since the test began was unpacked."""
    found: list[bool] = []
    path = unpack.Unpacker.path

    def noted(self: unpack.Unpacker, *arguments: Any) -> Any:
        result = path(self, *arguments)
        found.append(result is not None)
        return result

    monkeypatch.setattr(unpack.Unpacker, "path", noted)
    return found


def same_paths(graph: Graph, device: Device, rng: np.random.Generator, rounds: int = 8) -> None:
    """Compare paths between random places, before and after a change of weights, with those of another algorithm."""
    with Solver(graph, "dijkstra") as reference, Solver(graph, "phast", device) as solver:
        for _ in range(2):
            for _ in range(rounds):
                seeds, targets = (
                    [(int(node), int(offset)) for node, offset in rng.integers(0, (graph.num_nodes, 4), (count, 2))]
                    for count in rng.integers(1, 5, 2)
                )
                expected, found = reference.search_path(seeds, targets), solver.search_path(seeds, targets)
                assert (found is None) == (expected is None)
                if found is not None and expected is not None:
                    assert found[:3] == expected[:3] and np.array_equal(found[3], expected[3])
            weights = rng.integers(1, 4, graph.num_arcs)
            for either in (reference, solver):
                either.set_weights(weights)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs full of ties: grids with holes and one-ways, acyclic ones with weights of zero, parallel arcs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        whole = grid(int(draw(st.integers(2, 12))))
        kept = rng.random(whole.num_arcs) < draw(st.sampled_from([0.7, 1.0]))
        tail, head = whole.tail[kept], whole.head[kept]
        weight = rng.integers(1, draw(st.sampled_from([2, 4, 1000])), len(tail))
        nodes = whole.num_nodes
    else:
        nodes = int(draw(st.integers(2, 90)))
        tail = rng.integers(0, nodes, 3 * nodes)
        head = np.minimum(nodes - 1, tail + rng.integers(1, 6, len(tail)))
        weight = np.where(tail == head, 1, rng.integers(0, 3, len(tail)))
    again = rng.integers(0, max(1, len(tail)), len(tail) // 4)
    arcs = [np.concatenate([values, values[again]]) for values in (tail, head, weight)]
    return Graph.from_edges(*arcs, num_nodes=nodes)


@settings(max_examples=max(5, EXAMPLES // 3))
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_paths_are_those_of_other_algorithms(device: Device, graph: Graph, seed: int) -> None:
    same_paths(graph, device, np.random.default_rng(seed))


def test_paths_are_unpacked(device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool]) -> None:
    monkeypatch.setattr(pairs, "LEAST", 1)  # so that buffers are made anew for more pairs than before
    same_paths(grid(17), device, np.random.default_rng(1))
    assert unpacked and all(unpacked)


def test_a_path_takes_one_submission(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_arcs, "enough_paths", lambda *_: 1 << 20)  # finding them takes another submission
    with Solver(prepare(grid(17)), "phast", device) as solver:
        check_paths_take_one_submission(solver, monkeypatch)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_ROUNDS", 1),
        ("_POINTERS", 32),
        ("_SOFTWARE_SIZE", 1024),
        ("ENOUGH", 1),
        ("ENOUGH", 1 << 30),
        ("_SOFTWARE_GROUPS", 64),
    ],
)
def test_any_number_of_rounds_nodes_and_invocations(
    device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool], name: str, value: int
) -> None:
    monkeypatch.setattr(unpack, name, value)
    same_paths(grid(15), device, np.random.default_rng(2))
    assert unpacked and all(unpacked)


@pytest.mark.parametrize(("name", "value"), [("most", 25), ("_ROOM", 5), ("_MOST_RESULTS", 5)])
def test_paths_of_more_arcs_than_there_is_room_for(
    device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool], name: str, value: int
) -> None:
    software = "_SOFTWARE_MOST" if device.info.kind == "cpu" else "_MOST"
    monkeypatch.setattr(unpack, software if name == "most" else name, value)
    monkeypatch.setattr(unpack, "ENOUGH", 4)
    same_paths(grid(12), device, np.random.default_rng(3), rounds=16)
    # Those that have room are right after others have left marks behind.
    first = unpacked.index(False)
    assert any(unpacked[first:])


def test_nodes_that_many_arcs_enter(device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool]) -> None:
    monkeypatch.setattr(unpack, "MOST_ARCS", 3)
    same_paths(grid(9), device, np.random.default_rng(4))
    assert not unpacked


def test_memory_of_walks_along_distances_is_freed(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_ARCS", 3)
    with Solver(grid(9), "phast", device) as solver:
        solver.path(0, 80)
        before = solver.memory_bytes
        with solver.clone() as other:
            other.path(0, 80)
            assert solver.memory_bytes > before
        assert solver.memory_bytes == before


def test_walks_that_are_interrupted_end_before_the_distances_go(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "MOST_ARCS", 3)
    wait, closings = Recording.wait, list[str]()
    with Solver(grid(9), "phast", device) as solver:
        expected = solver.path(0, 80).weight
        search, walker = solver.session.algorithm(), solver.session.work().walker
        assert isinstance(search, phast.Phast) and isinstance(walker, phast.PhastWalker) and walker.walker is not None
        (recording,), distances = own_recordings(walker.walker), search.distances

        def interrupted(self: Recording, expected_us: float = 0.0) -> None:
            if self is recording and self.pending:
                raise KeyboardInterrupt
            wait(self, expected_us)

        def noted(part: Any) -> None:
            if part is recording or part is distances:
                closings.append("recording" if part is recording else "distances")

        for kind in (Recording, Buffer):
            watch_closing(monkeypatch, kind, noted)
        monkeypatch.setattr(Recording, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            solver.path(0, 79)
        monkeypatch.setattr(Recording, "wait", wait)
        assert closings == ["recording", "distances"]
        assert solver.path(0, 80).weight == expected


def test_more_pairs_than_labels_are_kept_of(
    device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool]
) -> None:
    monkeypatch.setattr(phast, "KEPT", 3)
    same_paths(grid(9), device, np.random.default_rng(5), rounds=20)
    assert unpacked and all(unpacked)


def test_labels_of_another_query_are_not_unpacked(device: Device, unpacked: list[bool]) -> None:
    graph = prepare(grid(11))
    with Solver(graph, "dijkstra") as reference, Solver(graph, "phast", device) as solver:
        for target in (120, 60, 7):
            solver.pairs([5, 80], [99, 4])
            assert solver.path(3, target).arcs.tolist() == reference.path(3, target).arcs.tolist()
        solver.distances(100)
        assert solver.path(3, 9).arcs.tolist() == reference.path(3, 9).arcs.tolist()
    assert unpacked and all(unpacked)


def test_weights_so_large_that_shortcuts_do_not_fit(device: Device, unpacked: list[bool]) -> None:
    weight = np.where(np.arange(grid(7).num_arcs) % 9 == 0, UNREACHABLE - 9, 3)
    with Solver(grid(7), "dijkstra") as reference, Solver(grid(7), "phast", device) as solver:
        for either in (reference, solver):
            either.set_weights(weight)
        assert solver.path(0, 48).arcs.tolist() == reference.path(0, 48).arcs.tolist()
    assert not unpacked


def test_supernodes_below_nodes() -> None:
    hierarchy = prepare(grid(8)).hierarchy
    assert hierarchy is not None
    below, above = supernodes_below(hierarchy), lists(hierarchy)
    first, pairs = below[: hierarchy.num_nodes + 1], below[hierarchy.num_nodes + 1 :].reshape(-1, 2)
    assert len(pairs) == len(hierarchy.ancestor) > 0
    for rank in range(hierarchy.num_nodes):
        found = {(int(group), int(place)) for group, place in pairs[first[rank] : first[rank + 1]]}
        assert found == {
            (group, above[int(hierarchy.first_node[group])].index(rank))
            for group in range(hierarchy.num_supernodes)
            if rank in above[int(hierarchy.first_node[group])]
        }


def test_paths_that_begin_at_no_seed_are_an_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with Solver(prepare(grid(4)), "phast", device) as solver:
        expected = solver.path(0, 15).weight
        with monkeypatch.context() as patch:
            patch.setattr(unpack, "CONTRADICTED", unpack.DONE)
            with pytest.raises(DeviceError, match="contradict"):
                solver.path(0, 15)
        assert solver.path(0, 15).weight == expected


def test_long_paths_in_small_graphs_are_walked_on_a_gpu(
    device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool]
) -> None:
    gpu: Any = SimpleNamespace(info=SimpleNamespace(kind="discrete"))
    assert 100 * 7 < unpack.longest_path(gpu, 1_000_000, 7.0) < 100_000 * 7
    assert unpack.longest_path(gpu, 1 << 30, 1e6) == unpack.longest_path(device, 9, 1.0) == UNREACHABLE - 1
    monkeypatch.setattr(phast, "longest_path", lambda _, num_nodes, mean: int(num_nodes * mean / 20))
    same_paths(grid(12), device, np.random.default_rng(6), rounds=20)
    with Solver(prepare(grid(12)), "phast", device) as solver:
        unpacked.clear()
        assert solver.path(0, 1).arcs.tolist() and solver.path(0, 143).arcs.tolist()
    assert len(unpacked) == 1


def test_metrics_share_the_supernodes_below_nodes(device: Device) -> None:
    graph = prepare(grid(20))
    other = graph.with_weights(graph.weight * 2 + 1)
    with Solver(graph, "phast", device) as one, Solver(other, "phast", device) as two:
        alone = one.memory_bytes, two.memory_bytes
        one.warm_up()
        two.warm_up()
        below = supernodes_below(graph.hierarchy).nbytes  # type: ignore[arg-type]
        assert one.memory_bytes - alone[0] == two.memory_bytes - alone[1] + below
        with Solver(other, "dijkstra") as reference:
            assert two.path(3, 390).arcs.tolist() == reference.path(3, 390).arcs.tolist()


def test_paths_are_unpacked_without_memory_for_walks(
    device: Device, monkeypatch: pytest.MonkeyPatch, unpacked: list[bool]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise DeviceError("a route on this graph needs more than there is")

    monkeypatch.setattr(phast, "longest_path", lambda *_: 0)
    monkeypatch.setattr(phast, "PathWalker", full)
    same_paths(grid(9), device, np.random.default_rng(7))
    assert unpacked and all(unpacked)
    monkeypatch.setattr(unpack.Unpacker, "path", lambda *_: None)
    with (
        Solver(prepare(grid(5)), "phast", device) as solver,
        pytest.raises(DeviceError, match="a route on this graph needs"),
    ):
        solver.path(0, 24)
