"""Solvers on graphs of real weights, and of nodes with names: against float64 searches, within the stated bound."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES
from tests.support.graphs import make_solver
from vkssp import Decay, DistanceOverflowError, Graph, QueryError, Solver, SolverPool, prepare, read_demand
from vkssp.gpu.device import Device
from vkssp.solver.rescaling import PartGivenError

SOME = ["near_far", "phast", "dijkstra", "bellman_ford@cpu"]
MAGNITUDES = [(1e-300, 1e-299), (1e-6, 1e-5), (0.0, 1.0), (1e8, 1e9), (1e-6, 1e9), (1e-300, 1e9), (1e285, 1e290)]


def random_graph(seed: int, low: float, high: float) -> tuple[Graph, np.ndarray, np.ndarray, np.ndarray]:
    """Return a graph whose weights are spread evenly over all magnitudes between two, and its edges."""
    random = np.random.default_rng(seed)
    count, arcs = int(random.integers(2, 40)), int(random.integers(1, 160))
    tail, head = random.integers(0, count, (2, arcs))
    if low == 0.0:
        weights = random.random(arcs) * high
    else:
        weights = np.exp(random.uniform(np.log(low), np.log(high), arcs))
    weights[random.random(arcs) < 0.1] = 0.0
    return Graph.from_edges(tail, head, weights, num_nodes=count), tail, head, weights


def distances_by_networkx(count: int, tail: Any, head: Any, weights: Any) -> np.ndarray:
    """Return all distances in float64, shape (count, count)."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from(zip(tail.tolist(), head.tolist(), weights.tolist(), strict=True))
    found = np.full((count, count), np.inf)
    for source, row in nx.all_pairs_dijkstra_path_length(graph):
        found[source, list(row)] = list(row.values())
    return found


def bound(graph: Graph) -> float:
    """Return by how much a distance is wrong at most: a shortest path has fewer arcs than there are nodes."""
    return graph.num_nodes * graph.weight_error


def check(found: np.ndarray, wanted: np.ndarray, graph: Graph) -> None:
    assert found.dtype == np.float64 and found.shape == wanted.shape
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    reached = np.isfinite(wanted)
    assert np.allclose(found[reached], wanted[reached], rtol=1e-12, atol=bound(graph))


@pytest.mark.parametrize("algorithm", SOME)
@settings(max_examples=max(1, EXAMPLES // 3))
@given(seed=st.integers(0, 2**32 - 1), magnitude=st.sampled_from(MAGNITUDES))
def test_distances_are_as_near_to_those_of_floats_as_is_said(
    device: Device, algorithm: str, seed: int, magnitude: tuple[float, float]
) -> None:
    graph, *edges = random_graph(seed, *magnitude)
    wanted = distances_by_networkx(graph.num_nodes, *edges)
    with make_solver(graph, algorithm, device) as solver:
        check(solver.distances(range(graph.num_nodes)), wanted, solver.graph)
        check(solver.distances(0), wanted[0], solver.graph)
        pairs = np.random.default_rng(seed).integers(0, graph.num_nodes, (2, 20))
        check(solver.pairs(*pairs), wanted[tuple(pairs)], solver.graph)
        check(np.array([solver.distance(*pair) for pair in pairs.T.tolist()]), wanted[tuple(pairs)], solver.graph)
        for source, target in pairs.T.tolist():
            if np.isfinite(wanted[source, target]):
                path = solver.path(source, target)
                assert isinstance(path.weight, float)
                assert abs(path.weight - wanted[source, target]) <= bound(solver.graph) + 1e-12 * path.weight
                real = edges[2][np.argsort(edges[0], kind="stable")][path.arcs].sum()
                assert abs(path.weight - real) <= len(path.arcs) * solver.graph.weight_error + 1e-12 * real


@settings(max_examples=max(1, EXAMPLES // 3))
@given(seed=st.integers(0, 2**32 - 1))
def test_weights_with_a_common_unit_have_exact_distances(seed: int) -> None:
    random = np.random.default_rng(seed)
    tail, head = random.integers(0, 30, (2, 100))
    weights = random.integers(0, 1000, 100)
    whole, real = (Graph.from_edges(tail, head, given, num_nodes=30) for given in (weights, weights / 8))
    with Solver(whole, device="cpu") as exact, Solver(real, device="cpu") as solver:
        assert solver.graph.weight_error == 0.0
        here, there = solver.distances(range(30)), exact.distances(range(30))
        assert np.array_equal(here, np.where(there == 2**32 - 1, np.inf, there / 8))


def line(count: int = 200, scale: float | None = None, **options: Any) -> tuple[Graph, np.ndarray]:
    """Return a path of random weights, both ways, and the distances along it."""
    weights = 100 * np.random.default_rng(count).random(count - 1)
    ends = np.arange(count - 1), np.arange(1, count)
    graph = Graph.from_edges(*ends, weights, undirected=True, scale="auto" if scale is None else scale, **options)
    along = np.concatenate([[0.0], np.cumsum(weights)])
    return graph, np.abs(along[:, None] - along[None, :])


def solver_of(kind: str, graph: Graph, device: Device) -> Solver | SolverPool:
    """Return a solver on the CPU or the device, or a pool of both."""
    if kind == "pool":
        return SolverPool(graph, devices=[device, "cpu"])
    return Solver(graph, device=device if kind == "device" else "cpu")


#: So small that most distances do not fit.
SMALL = 5e-8


def asked(solver: Solver | SolverPool, graph: Graph, wanted: np.ndarray, tmp_path: Path) -> dict[str, Any]:
    """Return questions whose answers need distances that do not fit into the first unit."""
    count, last = graph.num_nodes, graph.num_nodes - 1

    def written() -> np.ndarray:
        path = tmp_path / "t.npy"
        solver.write_table(path, range(count))
        return np.load(path)

    everything = np.zeros(count)
    everything[-1] = 1.0
    total = wanted.sum(axis=1)
    return {
        "distances": lambda: check(solver.distances(0), wanted[0], solver.graph),
        "seeds": lambda: check(solver.distances([(0, 1.5), (1, 0.25)], limit=1e300), seeded(wanted), solver.graph),
        "rows": lambda: check(solver.distances(range(count)), wanted, solver.graph),
        "table": lambda: check(solver.table(iter([0, 3]), range(count)), wanted[[0, 3]], solver.graph),
        "file": lambda: check(written(), wanted, solver.graph),
        "pairs": lambda: check(solver.pairs([0, 5], [last, last]), wanted[[0, 5], last], solver.graph),
        "distance": lambda: check(np.array([solver.distance(0, last)]), wanted[0, [last]], solver.graph),
        "path": lambda: check(np.array([solver.path(0, last).weight]), wanted[0, [last]], solver.graph),
        "nearest": lambda: check(solver.nearest([0], [2.5]).distance, wanted[0] + 2.5, solver.graph),
        "offset": lambda: check(solver.nearest([0], [1e4]).distance, wanted[0] + 1e4, solver.graph),
        "several": lambda: check(solver.nearest([0, 1], count=2).distance[:, 1], wanted[:2].max(axis=0), solver.graph),
        "accessibility": lambda: check(solver.accessibility(everything, 1e300) + 0.0, np.ones(count), solver.graph),
        "centrality": lambda: check(solver.centrality().eccentricity, wanted.max(axis=1), solver.graph),
        "total": lambda: np.testing.assert_allclose(solver.centrality().total, total, atol=count * bound(solver.graph)),
        "sampled": lambda: np.testing.assert_allclose(
            solver.centrality(sample=count).total, total, atol=count * bound(solver.graph)
        ),
        "betweenness": lambda: np.testing.assert_array_equal(solver.betweenness().num_pairs, count * (count - 1)),
        "flows": lambda: np.testing.assert_array_equal(solver.flows([0], [last], [2]).arcs.sum(), 2 * last),
    }


def seeded(wanted: np.ndarray) -> np.ndarray:
    return np.minimum(wanted[0] + 1.5, wanted[1] + 0.25)


QUESTIONS = list(asked(None, line(3)[0], line(3)[1], Path()))  # type: ignore[arg-type]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", ["cpu", "prepared", "device", "pool"])
def test_the_unit_is_doubled_until_distances_fit(kind: str, question: str, device: Device, tmp_path: Path) -> None:
    graph, wanted = line(80, scale=SMALL)
    if kind == "prepared":
        graph = prepare(graph)
    with solver_of(kind, graph, device) as solver:
        asked(solver, graph, wanted, tmp_path)[question]()
        scale = solver.graph.scale
        assert scale is not None and np.log2(scale / SMALL) in range(1, 8)
        assert solver.graph.weight_error <= scale
        # The same question, and others, need no other unit.
        asked(solver, graph, wanted, tmp_path)[question]()
        check(solver.distances(3), wanted[3], solver.graph)


def test_a_table_in_parts_never_mixes_units() -> None:
    graph, wanted = line(scale=2e-6)
    middle = graph.num_nodes // 2
    order = [middle] * 200 + [0]  # at first only short distances
    with Solver(graph, device="cpu") as solver:
        rows: list[np.ndarray] = []
        with pytest.raises(PartGivenError, match=r"in units of 2e-06, but they are larger now; ask again"):
            rows.extend(solver.distances(order, chunked=True))
        assert rows and solver.graph.scale == 4e-6
        rows = list(solver.distances(order, chunked=True))
        check(np.concatenate(rows), wanted[order], solver.graph)


def test_a_generator_of_demand_is_asked_for_again() -> None:
    graph, _ = line(scale=SMALL)

    def parts() -> Iterator[Any]:
        yield [0], [1], [1]
        yield [0], [199], [1]

    with Solver(graph, device="cpu") as solver:
        assert solver.flows_of(list(parts())).arcs.sum() == 200
    with Solver(graph, device="cpu") as solver:
        for _ in range(8):
            try:
                assert solver.flows_of(parts()).arcs.sum() == 200
                break
            except PartGivenError:
                continue
        else:
            pytest.fail("the unit did not grow")


def test_units_do_not_grow_where_weights_are_held_or_whole() -> None:
    graph, _ = line(scale=SMALL)
    with Solver(graph, device="cpu") as solver:
        with solver.holding(), pytest.raises(DistanceOverflowError, match="give the graph a larger scale"):
            solver.distances(0)
        assert solver.graph.scale == SMALL
        assert solver.distances(0).max() > 1000
    whole = Graph.from_edges([0, 1], [1, 2], [2**32 - 2, 5])
    with Solver(whole, device="cpu") as solver, pytest.raises(DistanceOverflowError, match="common factor"):
        solver.distances(0)


def test_units_grow_for_all_clones_and_threads_at_once(device: Device) -> None:
    graph, wanted = line(scale=SMALL)
    with Solver(graph, "near_far", device) as solver:
        clones = [solver.clone() for _ in range(3)]
        answers: list[np.ndarray | None] = [None] * 3
        start = threading.Barrier(3)

        def ask(number: int) -> None:
            start.wait()
            answers[number] = clones[number].distances(range(0, 200, 20))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            assert answer is not None
            check(answer, wanted[::20], solver.graph)
        assert {clone.graph.scale for clone in clones} == {solver.graph.scale}
        for clone in clones:
            clone.close()


@pytest.mark.parametrize("kind", ["cpu", "pool"])
def test_limits_and_offsets_are_in_the_callers_units(kind: str, device: Device) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [0.1, 0.2, 0.4])
    with solver_of(kind, graph, device) as solver:
        # 0.1 + 0.2 is more than 0.3 in floats.
        assert solver.distances([(0, 0.17)]).tolist() == [0.2, 0.3, 0.5, 0.9]  # offsets are rounded to the unit
        assert solver.distances(0, limit=0.3).tolist() == [0.0, 0.1, 0.3, np.inf]
        assert solver.distances([0], limit=0.1 + 0.2)[0].tolist() == [0.0, 0.1, 0.3, np.inf]
        assert solver.table([0], [2], limit=0.29).tolist() == [[np.inf]]
        assert solver.distances(0, limit=float("inf")).tolist() == [0.0, 0.1, 0.3, 0.7]
        assert solver.distances([(0, 0.5), (2, 0.2)]).tolist() == [0.5, 0.6, 0.2, 0.6]
        assert solver.path([(0, 0.5), (2, 0.2)], [(3, 1.0)]).weight == 1.6
        assert solver.nearest([0, 2], [0.5, 0.16], 0.6).distance.tolist() == [0.5, 0.6, 0.2, 0.6]
        assert solver.accessibility([1, 1, 1, 1], [0.3, 0.1, 0.7], sources=[0]).tolist() == [[3, 2, 4]]
        decayed = solver.accessibility([0, 0, 1, 0], decays=Decay.linear(0.6), sources=[0])
        assert decayed == pytest.approx(0.5, abs=1e-6)
        central = solver.centrality(limit=0.3)
        assert central.eccentricity.tolist() == [0.3, 0.2, 0.0, 0.0] and central.total.tolist() == [0.4, 0.2, 0.0, 0.0]
        assert central.harmonic == pytest.approx([10 + 1 / 0.3, 5, 0, 0])
        assert central.closeness == pytest.approx([4 / (0.4 * 3), 1 / (0.2 * 3), 0, 0])
        assert central.diameter == (0.3, 0, 2) and central.radius == (0.3, 0, 2)
        assert solver.betweenness(limit=0.3).num_pairs == 3
        for limit in (-0.1, float("nan"), "far", True):
            with pytest.raises(QueryError, match=r"limit is .*; give a distance, a number from 0 on, or leave it out"):
                solver.distances(0, limit=limit)
        for offset in (-0.1, float("nan"), float("inf")):
            with pytest.raises(QueryError, match=r"the weights to each source.0. is"):
                solver.distances([(0, offset)])


def test_straightness_is_in_metres_of_both() -> None:
    places = {"lat": [0, 0, 0.01], "lon": [0, 0.01, 0.01]}
    whole = Graph.from_edges([0, 1], [1, 2], [1200, 1500], undirected=True, **places)
    half = whole.with_weights(whole.weight / 2)
    with Solver(whole, device="cpu") as one, Solver(half, device="cpu") as other:
        assert other.straightness() == pytest.approx(2 * one.straightness())
        assert other.straightness(limit=600.0) == pytest.approx(2 * one.straightness(limit=1200), nan_ok=True)


def test_weights_change_in_the_callers_units(device: Device) -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [12.5, 0.25, 20.0])
    for make in (lambda: Solver(graph, "near_far", device), lambda: SolverPool(graph, devices=[device, "cpu"])):
        with make() as solver:
            solver.set_weights([1.125], [1])
            assert solver.distances(0).tolist() == [0.0, 12.5, 1.125]
            solver.set_weights([1, 2, 3])
            assert solver.distances(0).tolist() == [0.0, 1.0, 2.0]
            random = np.random.default_rng(1).random(3) * 1e6
            solver.set_weights(random)
            check(solver.distances(0), np.array([0.0, random[0], min(random[1], random[0] + random[2])]), solver.graph)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet", ".zarr"])
def test_tables_in_files_have_real_weights(suffix: str, tmp_path: Path) -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "c"], [0.1, 12.34567891])
    path = tmp_path / f"t{suffix}"
    with Solver(graph, device="cpu") as solver:
        assert solver.write_table(path, ["a", "c"], ["c", "b", "a"]) == 4
        wanted = solver.table(["a", "c"], ["c", "b", "a"])
    assert wanted.tolist() == [[12.44567891, 0.1, 0.0], [0.0, np.inf, np.inf]]
    if suffix == ".npy":
        assert np.array_equal(np.load(path), wanted)
    elif suffix == ".csv":
        assert path.read_text().splitlines() == [
            *("source,target,weight", "a,c,12.44567891", "a,b,0.1", "a,a,0.0", "c,c,0.0", "c,b,", "c,a,")
        ]
    elif suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        assert table.column("weight").to_pylist() == [12.44567891, 0.1, 0.0, 0.0, None, None]
        assert table.column("source").to_pylist() == ["a"] * 3 + ["c"] * 3
    else:
        group = pytest.importorskip("zarr").open_group(path, mode="r")
        assert np.array_equal(group["weight"][:], wanted) and group["target"][:].tolist() == ["c", "b", "a"]


NAMED = Graph.from_edges([(0, 0), (0, 1), "x"], [(0, 1), "x", 7], [4, 3, 9])


@pytest.mark.parametrize("kind", ["cpu", "pool"])
def test_nodes_are_named_wherever_they_are_asked_for_and_given_back(kind: str, device: Device) -> None:
    none = 2**32 - 1
    with solver_of(kind, NAMED, device) as solver:
        assert solver.distances((0, 0)).tolist() == [0, 4, 7, 16]
        assert solver.distances([(0, 0), "x"]).tolist() == [[0, 4, 7, 16], [none, none, 0, 9]]
        assert solver.distances([((0, 0), 10), ("x", 2)]).tolist() == [10, 14, 2, 11]
        assert solver.distances(np.array(["x", "x"])).shape == (2, 4)
        assert solver.distance((0, 0), 7) == 16 and solver.distance(7, "x") == none
        assert solver.table([(0, 1)], ["x", 7]).tolist() == [[3, 12]]
        assert solver.pairs([(0, 1), "x"], [7, (0, 0)]).tolist() == [12, none]
        path = solver.path((0, 0), 7)
        assert path.nodes.tolist() == [(0, 0), (0, 1), "x", 7] and path.weight == 16
        assert solver.path([((0, 0), 9), ("x", 1)], 7).nodes.tolist() == ["x", 7]
        assert solver.nearest(["x", (0, 0)]).source.tolist() == [1, 1, 0, 0]
        assert solver.accessibility([1, 2, 4, 8], 7, sources=[(0, 0), "x"]).tolist() == [7, 4]
        central = solver.centrality([(0, 0), "x"])
        assert central.sources.tolist() == [(0, 0), "x"] and central.farthest.tolist() == [7, 7]
        assert central.diameter == (16, (0, 0), 7)
        assert set(solver.centrality(sample=2).sample.tolist()) < {(0, 0), (0, 1), "x", 7}
        assert solver.betweenness([(0, 0)]).nodes.tolist() == [0, 2, 1, 0]
        assert solver.flows([(0, 0)], ["x"], [5]).arcs.tolist() == [5, 5, 0]
        assert solver.search_path([(0, 0)], [(3, 0)]) is not None  # by position
        for question in (
            lambda: solver.distances("y"),
            lambda: solver.distances(["x", "y"]),
            lambda: solver.distances([("y", 1)]),
            lambda: solver.table(["x"], ["y"]),
            lambda: solver.path("x", "y"),
            lambda: solver.distance("y", "x"),
            lambda: solver.nearest(["y"]),
        ):
            with pytest.raises(QueryError, match=r"is 'y', and no node has this name; give names of nodes, such as"):
                question()
        with pytest.raises(Exception, match=r"no path leads from node 7 to node 'x'"):
            solver.path(7, "x")


def test_large_ids_come_back_as_integers() -> None:
    graph = Graph.from_edges([4_000_000_000, 5], [5, 6], [1, 2])
    with Solver(graph, device="cpu") as solver:
        path = solver.path(4_000_000_000, np.int64(6))
        assert path.nodes.dtype == np.int64 and path.nodes.tolist() == [4_000_000_000, 5, 6]
        assert solver.distances(np.int64(5)).tolist() == [0, 2, 2**32 - 1]
        assert solver.distances(np.array([5, 4_000_000_000])).shape == (2, 3)
        with pytest.raises(QueryError, match=r"source is 0, and no node has this name"):
            solver.distances(0)


def test_a_demand_in_a_file_may_name_nodes(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"source": ["a", "b"], "target": ["c", "c"], "demand": [1, 2]})
    parquet.write_table(table, tmp_path / "d.parquet")
    graph = Graph.from_edges(["a", "b"], ["b", "c"], [4, 3])
    with Solver(graph, device="cpu") as solver:
        assert solver.flows_of(read_demand(tmp_path / "d.parquet")).arcs.tolist() == [1, 3]


def test_a_multigraph_of_networkx_has_the_same_distances() -> None:
    random = np.random.default_rng(4)
    words = [f"place {number}" for number in range(25)]
    graph = nx.MultiGraph()
    for _ in range(60):
        graph.add_edge(*random.choice(words, 2).tolist(), weight=float(random.random()))
    tail, head, weights = zip(*graph.edges(data="weight"), strict=True)
    ours = Graph.from_edges(tail, head, weights, undirected=True)
    assert ours.names is not None
    with Solver(ours, device="cpu") as solver:
        for source in graph:
            wanted = nx.single_source_dijkstra_path_length(graph, source)
            found = dict(zip(ours.names.tolist(), solver.distances(source).tolist(), strict=True))
            assert {name for name, far in found.items() if far < np.inf} == set(wanted)
            assert all(abs(found[name] - far) <= bound(ours) for name, far in wanted.items())


def test_scipy_agrees_on_a_road_network() -> None:
    random = np.random.default_rng(6)
    side = 40
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    graph = Graph.from_edges(tail, head, 50 + 100 * random.random(len(tail)), undirected=True)
    assert graph.scale is not None and graph.weight_error <= graph.scale / 2 < 1e-5
    with Solver(graph, device="cpu") as solver:
        found = solver.distances([0, 777])
    wanted = csgraph.dijkstra(graph.to_scipy(), indices=[0, 777])
    assert np.allclose(found, wanted, rtol=1e-13, atol=0)  # the graph's own weights, as floats


#: Questions about sums of whole rows, which are of 32 bits.
SUMS = ("several", "accessibility", "centrality", "total", "sampled", "betweenness", "flows")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", ["cpu", "device", "pool"])
def test_distances_have_64_bits_where_weights_would_be_too_wrong(
    kind: str, question: str, device: Device, tmp_path: Path
) -> None:
    graph, wanted = line(80, max_weight_error=SMALL)
    with solver_of(kind, graph, device) as solver:
        if question in SUMS:
            with pytest.raises(QueryError, match="32 bits only; make the solver with distance_bits=32"):
                asked(solver, graph, wanted, tmp_path)[question]()
        else:
            asked(solver, graph, wanted, tmp_path)[question]()
        assert solver.distance_type.bits == 64 and solver.graph.weight_error <= SMALL


def test_units_do_not_grow_beyond_the_error_that_is_asked_for() -> None:
    graph, wanted = line(max_weight_error=SMALL)
    with Solver(graph, device="cpu", distance_bits=32) as solver:
        assert solver.distance(0, 1) == pytest.approx(wanted[0, 1], abs=SMALL)
        with pytest.raises(DistanceOverflowError, match=r"cannot grow: weights would be wrong .*distance_bits=64"):
            solver.distances(0)
        assert solver.graph.weight_error <= SMALL
    with Solver(graph, device="cpu") as solver, solver.clone() as clone:
        assert np.array_equal(solver.distances(7), clone.distances(7))
        assert solver.unreachable == np.inf
    with pytest.raises(QueryError, match="phast finds distances of 32 bits only"):
        Solver(graph, "phast", device="cpu")


def test_a_huge_offset_does_not_leave_weights_of_nothing() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [0.5, 1 / 3, np.pi])
    with Solver(graph, device="cpu") as solver:
        assert solver.distances([(0, 1e5)]).tolist() == pytest.approx([1e5, 1e5 + 0.5, 1e5 + 5 / 6], abs=1e-4)
        with pytest.raises(DistanceOverflowError, match=r"an offset does not fit in units of .*; give smaller offsets"):
            solver.nearest([0], [1e300])
        assert solver.distances(0).tolist() == pytest.approx([0, 0.5, 5 / 6], abs=2e-2)
    flat = Graph.from_edges([0], [1], [0.0])
    with Solver(flat, device="cpu") as solver:
        assert solver.distances([(0, 1e10)]).tolist() == pytest.approx([1e10, 1e10], rel=1e-9)


def test_a_weight_may_grow_by_any_factor() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [0.5, 1 / 3, np.pi])
    with Solver(graph, device="cpu") as solver:
        solver.set_weights([1e305], [0])
        assert solver.distance(0, 1) == pytest.approx(1e305, rel=1e-9)
