"""The algorithms that run on the CPU, against a textbook reference and against each other."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra, random_graphs, scipy_dijkstra
from vkssp import jit
from vkssp.algorithm import TOTALS, TRACE, Terminal, check_parameters
from vkssp.cpu.bellman_ford import BellmanFordCpu
from vkssp.cpu.delta_step_buckets import DeltaStepBuckets
from vkssp.cpu.device import CpuDevice, CpuGraph
from vkssp.cpu.dijkstra import Dijkstra, settle_order
from vkssp.cpu.search import CpuSearch
from vkssp.cpu.threshold import CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu
from vkssp.errors import QueryError, VksspError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.prepared.renumbered import RenumberedGraph

PULLING = (CrauserPredecessorsCpu, MartinPredecessorsCpu)
ALGORITHMS = (Dijkstra, BellmanFordCpu, DeltaStepBuckets, CrauserCpu, MartinCpu, *PULLING)
algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.NAME)
LARGEST = UNREACHABLE - 1


class Raw:
    """A graph as it is, without what `RenumberedGraph` does to cycles of weight zero."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.num_nodes, self.first_out = graph, graph.num_nodes, graph.first_out
        self.arcs, self.node = np.stack([graph.head, graph.weight], axis=1), np.arange(graph.num_nodes)


def searches(graph: CpuGraph, **options: int) -> list[CpuSearch]:
    """Return all algorithms on a graph, delta-stepping with several deltas."""
    made = [algorithm(graph, **options) for algorithm in ALGORITHMS]
    return [*made, *(DeltaStepBuckets(graph, delta=delta, **options) for delta in (1, 3, 1000, LARGEST))]


def reference(graph: Graph, seeds: list[Terminal]) -> np.ndarray:
    """Return distances from the nearest of some seeds by the textbook, saturated; on the caller's ids."""
    each = [heap_dijkstra(graph, node) for node, _ in seeds]
    # An unreachable node stays so with any offset.
    sums = [far + np.uint64(offset) for far, (_, offset) in zip(each, seeds, strict=True)]
    return np.minimum(np.min(sums, axis=0), UNREACHABLE)


def check_walk(renumbered: RenumberedGraph, search: CpuSearch, seeds: Any, targets: Any, best: int) -> np.ndarray:
    """Check that a walk's arcs are a path of the best length; return them."""
    seed, target, arcs = search.walker().walk(len(seeds), len(targets))
    graph = renumbered.graph
    nodes = [seeds[seed][0], *renumbered.node[graph.head[arcs]].tolist()]
    assert renumbered.node[graph.tail[arcs]].tolist() == nodes[:-1] and nodes[-1] == targets[target][0]
    weight = int(graph.weight[arcs].sum(dtype=np.uint64)) + seeds[seed][1] + targets[target][1]
    assert weight == best and len(set(nodes)) == len(nodes)
    return np.array([seed, target, *arcs])


def terminals(data: st.DataObject, graph: Graph, least: int) -> list[Terminal]:
    offset = st.one_of(st.integers(0, 200), st.sampled_from([0, 2**31, LARGEST]))
    place = st.tuples(st.integers(0, graph.num_nodes - 1), offset)
    return data.draw(st.lists(place, min_size=least, max_size=4))


@given(graph=random_graphs(), data=st.data())
def test_random_graphs_seeds_and_targets(graph: Graph, data: st.DataObject) -> None:
    renumbered = RenumberedGraph(graph)
    seeds, targets = terminals(data, graph, 1), terminals(data, graph, 1)
    far = reference(graph, seeds)
    best = min(UNREACHABLE, *(int(far[node]) + offset for node, offset in targets))
    beyond = any(far[node] < UNREACHABLE <= int(far[node]) + offset for node, offset in targets)
    # Nodes on a cycle of weight zero are one node here, and equally far.
    expected = np.full(renumbered.num_nodes, UNREACHABLE, np.uint64)
    expected[renumbered.node] = far
    here, there = ([(int(renumbered.node[node]), offset) for node, offset in places] for places in (seeds, targets))
    with CpuGraph(renumbered) as host:
        paths = []
        for search in searches(host):
            assert search.search(here).best == UNREACHABLE
            assert np.array_equal(search.read(), expected)
            outcome = search.search(here, there)
            assert outcome.best == best, search
            found = search.read()
            assert (found >= expected).all()
            assert np.array_equal(found[expected < best], expected[expected < best]), search
            if best == UNREACHABLE:
                assert np.array_equal(found, expected)
                assert outcome.overflow or not beyond
            else:
                paths.append(check_walk(renumbered, search, here, there, best))
            search.search(here)
            assert np.array_equal(search.read(), expected), "a search that ended early leaves nothing behind"
        assert all(np.array_equal(path, paths[0]) for path in paths), "every algorithm gives the same path"


@given(graph=random_graphs(max_nodes=25), source=st.integers(0, 10**6))
def test_cycles_of_weight_zero_that_nobody_contracted(graph: Graph, source: int) -> None:
    source %= graph.num_nodes
    with CpuGraph(Raw(graph)) as host:  # type: ignore[arg-type]
        deltas = (DeltaStepBuckets(host, delta=delta) for delta in (1, 3, LARGEST))
        for search in (Dijkstra(host), BellmanFordCpu(host), *deltas, CrauserCpu(host), MartinCpu(host)):
            search.search([(source, 0)])
            assert np.array_equal(search.read(), heap_dijkstra(graph, source))


@given(graph=random_graphs(), source=st.integers(0, 10**6))
def test_traces_sum_to_totals(graph: Graph, source: int) -> None:
    renumbered = RenumberedGraph(graph)
    source %= renumbered.num_nodes
    with CpuGraph(renumbered) as host:
        for search in searches(host, counting=2):
            counters = search.search([(source, 0)]).counters
            rows = search.trace()
            assert rows.dtype == TRACE and rows["iteration"].tolist() == list(range(counters["iterations"]))
            assert {name: int(rows[name].sum()) for name in TOTALS} == {name: counters[name] for name in TOTALS}
            assert (rows["low"] < rows["high"]).all() and (rows["first_node"] <= rows["last_node"]).all()
            reached = int((search.read() != UNREACHABLE).sum())
            # Every node but the seed got its distance from an arc.
            assert reached - 1 <= counters["improved"] <= counters["relaxed"]
            if isinstance(search, PULLING):
                assert counters["worked"] < counters["visited"], "the seed never pulls"
            else:
                once = isinstance(search, Dijkstra | CrauserCpu | MartinCpu)
                assert counters["worked"] == reached if once else counters["worked"] >= reached
                assert counters["relaxed"] >= int((search.read() != UNREACHABLE) @ np.diff(renumbered.first_out))
            if isinstance(search, Dijkstra):
                assert counters["iterations"] == counters["visited"] == counters["worked"] == reached
            if isinstance(search, DeltaStepBuckets):
                assert counters["buckets"] == len(np.unique(rows["low"])) and set(rows["phase"]) <= {0, 1}


@algorithms
def test_what_is_counted_when(algorithm: Any) -> None:
    with CpuGraph(RenumberedGraph(grid(5))) as host:
        for counting, names in ((0, set()), (1, set(TOTALS)), (2, set(TOTALS))):
            search = algorithm(host, counting=counting)
            assert len(search.trace()) == 0
            outcome = search.search([(0, 0)])
            extra = {"buckets"} if algorithm is DeltaStepBuckets and counting else set()
            assert set(outcome.counters) == {"iterations"} | names | extra
            assert len(search.trace()) == (outcome.counters["iterations"] if counting == 2 else 0)
            assert outcome.device_ms > 0 and all(type(value) is int for value in outcome.counters.values())


@pytest.fixture(scope="module")
def large() -> RenumberedGraph:
    return RenumberedGraph(grid(300, seed=3))


@algorithms
def test_a_large_grid(algorithm: Any, large: RenumberedGraph) -> None:
    if algorithm is MartinPredecessorsCpu:
        large = RenumberedGraph(grid(80, seed=3))  # it scans all incoming arcs for each distance there is
    source, target = int(large.num_nodes // 2), int(large.num_nodes // 2 + 30)
    expected = np.empty(large.num_nodes, np.uint64)
    expected[large.node] = scipy_dijkstra(large.graph, int(np.flatnonzero(large.node == source)[0]))
    with CpuGraph(large) as host:
        search = algorithm(host)
        whole = search.search([(source, 0)])
        assert np.array_equal(search.read(), expected)
        for offset in (0, 50):
            part = search.search([(source, 0)], [(target, offset)])
            assert part.best == expected[target] + offset
            found = search.read()
            assert np.array_equal(found[expected < part.best], expected[expected < part.best])
            check_walk(large, search, [(source, 0)], [(target, offset)], part.best)
            if algorithm.DESCRIPTION.ends_early:
                assert part.counters["iterations"] < whole.counters["iterations"] / 2
            else:
                assert part.counters == whole.counters


def test_crauser_takes_fewer_iterations_than_martin_and_martin_one_for_each_distance() -> None:
    with CpuGraph(RenumberedGraph(grid(40, seed=1, low=20))) as host:
        crauser, martin = CrauserCpu(host), MartinCpu(host)
        fewer = crauser.search([(0, 0)]).counters["iterations"]
        assert martin.search([(0, 0)]).counters["iterations"] == len(np.unique(martin.read()))
        assert fewer < len(np.unique(martin.read())) / 3
        assert CrauserPredecessorsCpu(host).search([(0, 0)]).counters["iterations"] == fewer


@algorithms
def test_sums_that_do_not_fit(algorithm: Any) -> None:
    graph = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [LARGEST, LARGEST, 7, LARGEST - 7])
    with CpuGraph(RenumberedGraph(graph)) as host:
        search = algorithm(host)
        # Only arcs that lead to no better way do not fit, if any is looked at.
        search.search([(0, 0)])
        assert search.read().tolist() == [0, LARGEST, 7, LARGEST]
        outcome = search.search([(0, 1)])
        assert outcome.overflow and search.read().tolist() == [1, UNREACHABLE, 8, UNREACHABLE]
        assert search.search([(0, 1)], [(3, 0)]).best == UNREACHABLE
        assert search.search([(0, 1)], [(3, 0)]).overflow
        # The target is reached, but the way on from it does not fit.
        outcome = search.search([(2, 0)], [(3, 7)])
        assert not outcome.overflow and outcome.best == LARGEST
        outcome = search.search([(2, 0)], [(3, 8)])
        assert outcome.overflow and outcome.best == UNREACHABLE
        assert not search.search([(3, LARGEST)]).overflow and search.read()[3] == LARGEST


@algorithms
def test_small_graphs(algorithm: Any) -> None:
    for graph, expected in (
        (Graph.from_edges([], [], [], num_nodes=1), [0]),
        (Graph.from_edges([0, 0], [0, 0], [0, 5]), [0]),
        (Graph.from_edges([], [], [], num_nodes=3), [0, UNREACHABLE, UNREACHABLE]),
        (Graph.from_edges([0, 0, 0, 1], [1, 1, 1, 2], [9, 3, 3, 1]), [0, 3, 4]),
    ):
        with CpuGraph(RenumberedGraph(graph)) as host:
            search = algorithm(host)
            outcome = search.search([(0, 0)])
            assert search.read().tolist() == expected and not outcome.overflow
            assert search.search([(0, 5), (0, 3)], [(0, 4), (0, 2)]).best == 5
            seed, target, arcs = search.walker().walk(2, 2)
            assert (seed, target, len(arcs)) == (1, 1, 0)


@algorithms
def test_walks_take_the_first_of_equal_arcs_and_no_loops(algorithm: Any) -> None:
    graph = Graph.from_edges([0, 0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 2, 2], [0, 9, 3, 3, 0, 1, 0])
    with CpuGraph(RenumberedGraph(graph)) as host:
        search = algorithm(host)
        search.search([(0, 0)], [(2, 1), (1, 2), (2, 0)])
        walker = search.walker()
        assert [part if isinstance(part, int) else part.tolist() for part in walker.walk(1, 3)] == [0, 2, [2, 5]]
        search.search([(0, 0), (1, 3), (1, 3)], [(2, 0)])
        seed, target, arcs = walker.walk(3, 1)
        assert (seed, target, arcs.tolist()) == (1, 0, [5]), "it ends at the first seed that fits"


@algorithms
def test_walks_against_the_numbering_past_loops_of_weight_zero(algorithm: Any) -> None:
    graph = Graph.from_edges([0, 1, 1, 2, 2], [0, 0, 1, 1, 2], [0, 3, 0, 4, 0])
    with CpuGraph(RenumberedGraph(graph)) as host:
        search = algorithm(host)
        assert search.search([(2, 0)], [(0, 0)]).best == 7
        assert search.walker().walk(1, 1)[2].tolist() == [3, 1]


def test_of_targets_that_tie_the_first_is_taken_even_behind_an_arc_of_weight_zero() -> None:
    graph = Graph.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 4, 4], [5, 0, 0, 5, 9])
    with CpuGraph(RenumberedGraph(graph)) as host:
        for search in (*searches(host), DeltaStepBuckets(host, delta=5)):
            assert search.search([(0, 0)], [(3, 0), (4, 0), (2, 0), (1, 0)]).best == 5
            seed, target, arcs = search.walker().walk(1, 4)
            assert (seed, target, arcs.tolist()) == (0, 0, [0, 2, 3]), search
            assert search.read()[:5].tolist() == [0, 5, 5, 5, 5]


def test_a_walk_that_cannot_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(search: Dijkstra, words: str) -> None:
        with pytest.raises(VksspError, match=words):
            search.walker().walk(1, 1)

    with CpuGraph(RenumberedGraph(Graph.from_edges([0, 1, 2], [1, 2, 1], [1, 1, 1]))) as host:
        search = Dijkstra(host)
        search.search([(0, 0)], [(2, 0)])
        search.distances[:] = [9, 5, 7]
        walk(search, "contradict")
    with CpuGraph(RenumberedGraph(Graph.from_edges([0, 1], [1, 0], [1, 1]))) as host:
        search = Dijkstra(host)
        search.search([(0, 0)], [(1, 0)])
        # Weights of zero, which no prepared graph has on a cycle, would send it round for ever.
        search.distances[:] = 5
        first_in, _, arc_in = host.incoming()
        monkeypatch.setattr(host, "incoming", lambda: (first_in, np.array([[1, 0], [0, 0]], np.uint32), arc_in))
        walk(search, "contradict")
        search.search([(0, 0)], [(1, LARGEST)])
        walk(search, "no target is reached")


@algorithms
def test_descriptions_and_parameters(algorithm: Any) -> None:
    assert algorithm.DESCRIPTION.ends_early == (algorithm is not BellmanFordCpu)
    assert check_parameters(algorithm, {}) == ({"delta": None} if algorithm is DeltaStepBuckets else {})


def test_the_host_and_its_graph() -> None:
    with CpuDevice() as device, CpuGraph(RenumberedGraph(grid(4)), device) as host:
        assert host.device is device and device.handle is None
        assert device.info.kind == "cpu" and device.info.name and device.info.driver.startswith("numba ")
        assert host.num_nodes == 16 and host.lightest == host.arcs[:, 1].min()
        first_in, arcs_in, arc_in = host.incoming()
        assert host.incoming()[1] is arcs_in and first_in[-1] == len(arcs_in) == len(arc_in)
        search = Dijkstra(host)
        with pytest.raises(ValueError, match="read-only"):
            host.arcs[0, 0] = 1
    assert search.closed and host.closed


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    with CpuGraph(RenumberedGraph(grid(4))) as host:
        monkeypatch.setitem(sys.modules, "numba", None)
        jit.kernels.cache_clear()
        for make in (CpuDevice, lambda: settle_order(grid(4), 0), lambda: Dijkstra(host), lambda: jit.kernels("walk")):
            with pytest.raises(QueryError, match=r"pip install numba") as caught:
                make()
            assert "\n" not in str(caught.value)


def test_numba_is_not_imported_with_the_package() -> None:
    code = (
        "import sys, vkssp.solver.solver; from vkssp.cpu.device import CpuDevice; assert 'numba' not in sys.modules; "
        "CpuDevice(); assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
