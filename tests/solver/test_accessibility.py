"""Accessibility and centrality beside sums over tables of distances, exact and on every device the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from vkssp import (
    UNREACHABLE,
    CpuDevice,
    Decay,
    Device,
    DistanceOverflowError,
    Graph,
    MemoryShortageError,
    QueryError,
    Solver,
    SolverPool,
    prepare,
)
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.rows import searches_suit, settled_nodes
from vkssp.graph.geo import EARTH_RADIUS, haversine
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.decay import BITS

ONE_WAY = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]  # two of the nodes lead nowhere


def distances_of(graph: Graph) -> np.ndarray:
    return (
        np.stack([scipy_dijkstra(graph, node) for node in range(graph.num_nodes)])
        if graph.num_nodes
        else np.zeros((0, 0), np.uint32)
    )


def within(distances: np.ndarray, values: np.ndarray, limits: list[int]) -> np.ndarray:
    """Return the exact sums of integers, shape (s, k, c)."""
    found = [(distances <= limit) & (distances != UNREACHABLE) for limit in limits]
    return np.stack([mask.astype(np.int64) @ values for mask in found], axis=1)


@pytest.fixture(scope="module")
def sources_of_rows(device: Device) -> Iterator[list[tuple[str, Any]]]:
    """Solvers that make rows in all ways."""
    graph = GRAPH
    prepared = prepare(graph)
    solvers = [
        Solver(graph, "dijkstra", "cpu"),
        Solver(prepared, "phast", "cpu"),
        Solver(graph, "bellman_ford", "cpu"),
        Solver(prepared, "phast", device),
        Solver(graph, "block_resident", device),
        Solver(graph, "near_far", device, reduction="full"),
        SolverPool(prepared, devices=[device, "cpu"]),
    ]
    yield [(f"{solver.algorithm} on {solver.device.info.name}", solver) for solver in solvers]
    for solver in solvers:
        solver.close()


GRAPH = grid(10, seed=5)
RNG = np.random.default_rng(4)
VALUES = RNG.integers(-50, 1000, (GRAPH.num_nodes, 3))


def test_all_ways_give_the_same_sums(sources_of_rows: list[tuple[str, Any]]) -> None:
    distances = distances_of(GRAPH)
    limits, decays = [300, 0, 150, 150, 100_000], [Decay.exponential(90.0), Decay.table([10, 200], [1.0, 0.25])]
    some = [3, 3, 60, 7]
    expected = within(distances, VALUES, limits)
    parts = RNG.random((GRAPH.num_nodes, 2)) / 3
    first: tuple[np.ndarray, ...] | None = None
    for name, solver in sources_of_rows:
        found = solver.accessibility(VALUES, limits)
        assert found.dtype == np.int64 and np.array_equal(found, expected), name
        assert np.array_equal(solver.accessibility(VALUES[:, 1], limits, sources=some), expected[some][:, :, 1]), name
        assert np.array_equal(solver.accessibility(VALUES, 150), expected[:, 2]), name
        whole = solver.accessibility(VALUES.astype(np.float64), limits)
        assert whole.dtype == np.float64 and np.array_equal(whole, expected), name
        backward = within(distances.T, VALUES, limits)
        assert np.array_equal(solver.accessibility(VALUES, limits, reverse=True), backward), name
        weighed = solver.accessibility(parts, [200], decays=decays)
        sums = [
            within(distances, np.ones((GRAPH.num_nodes, 0), int), [0])[:, 0],
            *(one(distances) @ parts for one in decays),
        ]
        assert np.allclose(weighed[:, 0], (distances <= 200) @ parts, rtol=1e-12), name
        assert all(np.allclose(weighed[:, 1 + at], sums[1 + at], rtol=1e-6) for at in range(2)), name
        central = solver.centrality()
        assert np.array_equal(central.total, distances.sum(axis=1, dtype=np.int64)), name
        assert np.array_equal(central.eccentricity, distances.max(axis=1)), name
        assert np.array_equal(central.farthest, distances.argmax(axis=1)), name
        for limit, reverse in ((None, False), (170, True)):
            part = solver.centrality(sample=GRAPH.num_nodes, limit=limit, reverse=reverse)
            same = solver.centrality(limit=limit, reverse=reverse)
            assert part.closeness == pytest.approx(same.closeness) and part.error() == 0, name
            assert part.harmonic == pytest.approx(same.harmonic), name
        part = solver.centrality(sample=100, seed=1)
        bits = (weighed, central.closeness, central.harmonic, part.closeness, part.harmonic)
        first = first or bits
        assert all(np.array_equal(one, other) for one, other in zip(first, bits, strict=True)), name


def test_straightness_in_all_ways(sources_of_rows: list[tuple[str, Any]]) -> None:
    assert GRAPH.lat is not None and GRAPH.lon is not None
    distances = distances_of(GRAPH).astype(np.float64)
    at = np.stack([GRAPH.lat, GRAPH.lon])
    straight = haversine(*at[:, :, None], *at[:, None, :])
    first: tuple[np.ndarray, ...] | None = None
    for name, solver in sources_of_rows:
        bits = (
            solver.straightness(),
            solver.straightness([3, 7, 3], limit=170),
            solver.straightness(limit=90, reverse=True),
        )
        first = first or bits
        assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, bits, strict=True)), name
    for found, nodes, limit, seen in (
        (first[0], range(GRAPH.num_nodes), np.inf, distances),
        (first[1], [3, 7, 3], 170, distances),
        (first[2], range(GRAPH.num_nodes), 90, distances.T),
    ):
        for value, node in zip(found, nodes, strict=True):
            others = (seen[node] > 0) & (seen[node] <= limit)
            mean = (straight[node, others] / seen[node, others]).mean() if others.any() else np.nan
            assert value == pytest.approx(mean, rel=1e-6, nan_ok=True)
    alone = Graph.from_edges([0, 0], [1, 2], [0, 5], lat=[0, 0, 1], lon=[0, 1, 1])
    with Solver(alone, "dijkstra", "cpu") as solver:
        found = solver.straightness()
        assert found[0] == pytest.approx(2 * EARTH_RADIUS * math.sin(math.radians(math.sqrt(2)) / 2) / 5, rel=1e-4)
        assert np.isnan(found[1:]).all()
    with Solver(Graph.from_edges([0], [1], [5]), "dijkstra", "cpu") as solver:
        with pytest.raises(QueryError, match="no coordinates"):
            solver.straightness()


def test_several_tiles_on_a_device(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    monkeypatch.setitem(device.tuned, "sweeps.searches", 256)
    prepared, limits, decay = prepare(GRAPH), list(range(0, 500, 50)), Decay.gaussian(120.0)
    with Solver(prepared, "phast", device) as solver, Solver(prepared, "phast", "cpu") as reference:
        for least, most in ((-(2**40), 2**40), (0, 2**20), (0, 2**32)):  # sums of two words, of one, and of more
            values = RNG.integers(least, most, (GRAPH.num_nodes, 5))  # more limits and columns than a pass has
            found = solver.accessibility(values, limits, decays=decay)
            assert np.array_equal(found, reference.accessibility(values, limits, decays=decay))
            assert np.array_equal(found[:, : len(limits)], within(distances_of(GRAPH), values, limits))
        for limit in (None, 130):
            here, there = solver.centrality(limit=limit), reference.centrality(limit=limit)
            for name in ("reached", "total", "eccentricity", "farthest", "harmonic"):
                assert np.array_equal(getattr(here, name), getattr(there, name)), name


def test_near_sums_are_made_of_what_searches_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkssp.cpu.rows.MOST_NEAR", 1)  # room for the nodes of one row only
    prepared, distances = prepare(GRAPH), distances_of(GRAPH)
    with Solver(prepared, "phast", "cpu") as solver, Solver(GRAPH, "dijkstra", "cpu") as plain:
        groups = Groups.of_nodes(np.arange(GRAPH.num_nodes, dtype=np.uint32))
        copy = solver.session.copy
        assert isinstance(copy, CpuGraph)
        suits = [searches_suit(copy, groups, limit) for limit in (30, 100_000, UNREACHABLE)]
        assert suits == [True, False, False]
        assert settled_nodes(copy, groups, 40, math.inf) == pytest.approx((distances <= 40).sum(axis=1).mean(), rel=0.5)
        decay = Decay.linear(33.0)
        for limits in ([30], [10, 25], [30, 100_000]):
            found = solver.accessibility(VALUES, limits, decays=decay)
            assert np.array_equal(found[:, : len(limits)], within(distances, VALUES, limits))
            assert np.array_equal(found, plain.accessibility(VALUES, limits, decays=decay))


def test_nodes_on_cycles_of_weight_zero_count_each(device: Device) -> None:
    plain = grid(6, low=0, high=3)
    with Solver(prepare(plain), "phast", device) as solver, Solver(plain, "dijkstra", "cpu") as reference:
        values = np.arange(36)
        assert solver.session.renumbered.contracted
        assert np.array_equal(solver.accessibility(values, [0, 2]), reference.accessibility(values, [0, 2]))
        here, there = solver.centrality(), reference.centrality()
        for name in ("reached", "total", "eccentricity", "farthest", "harmonic"):
            assert np.array_equal(getattr(here, name), getattr(there, name)), name
        # Near searches reach all nodes of a cycle at once.
        distances = distances_of(plain)
        counts = distances <= 2
        assert np.array_equal(reference.accessibility(values, 2), counts @ values)
        for one in (solver, reference):
            near, sample = one.centrality(limit=2), one.centrality(limit=2, sample=36, reverse=True)
            assert np.array_equal(near.reached, counts.sum(axis=1)) and np.array_equal(
                sample.reached, counts.sum(axis=0)
            )
            assert np.array_equal(near.total, np.where(counts, distances, 0).sum(axis=1))
            farthest = np.where(counts, distances, 0) == near.eccentricity[:, None]
            assert np.array_equal(near.farthest, (farthest & counts).argmax(axis=1))
        assert np.array_equal(solver.straightness(limit=2), reference.straightness(limit=2), equal_nan=True)


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=2 * EXAMPLES)
def test_random_graphs(graph: Graph, data: st.DataObject) -> None:
    if not graph.num_nodes:
        return
    distances = distances_of(graph)
    size = graph.num_nodes
    values = np.array(data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=size, max_size=size)))
    limits = data.draw(st.lists(st.integers(0, 200), min_size=1, max_size=4))
    expected = within(distances, values[:, None], limits)[:, :, 0]
    for solver in (Solver(graph, "dijkstra", "cpu"), Solver(prepare(graph), "phast", "cpu")):
        with solver:
            assert np.array_equal(solver.accessibility(values, limits), expected)
            for reverse, here in ((False, distances), (True, distances.T)):
                found = solver.centrality(limit=limits[0], reverse=reverse)
                counts = (here <= limits[0]) & (here != UNREACHABLE)
                assert np.array_equal(found.reached, counts.sum(axis=1))
                assert np.array_equal(found.total, np.where(counts, here, 0).sum(axis=1, dtype=np.int64))
                assert np.array_equal(found.eccentricity, np.where(counts, here, 0).max(axis=1))
                exact = [
                    sum((Fraction(1, int(d)) for d in row[mask] if d), Fraction())
                    for row, mask in zip(here, counts, strict=True)
                ]
                assert found.harmonic == pytest.approx([float(one) for one in exact], rel=1e-8)


def test_centrality_is_that_of_networkx() -> None:
    tails, heads = zip(*ONE_WAY, strict=True)
    graph = Graph.from_edges(tails, heads, [3, 4, 5, 6, 7], num_nodes=6)
    other = networkx.DiGraph()
    other.add_nodes_from(range(6))
    other.add_weighted_edges_from(zip(tails, heads, [3, 4, 5, 6, 7], strict=True))
    with Solver(graph, "dijkstra", "cpu") as solver:
        found = solver.centrality(reverse=True)
        assert found.closeness == pytest.approx([*networkx.closeness_centrality(other, distance="weight").values()])
        assert found.harmonic == pytest.approx([*networkx.harmonic_centrality(other, distance="weight").values()])
        assert solver.centrality().farthest.tolist() == [4, 4, 4, 4, 4, 5]


def test_decays() -> None:
    far = np.array([0.0, 5.0, 40.0, 100.0, 101.0])
    assert np.allclose(Decay.exponential(20.0, 100.0)(far), [1, np.exp(-0.25), np.exp(-2), np.exp(-5), 0])
    assert np.allclose(Decay.gaussian(20.0, 100.0)(far), [1, np.exp(-1 / 32), np.exp(-2), np.exp(-12.5), 0])
    assert np.allclose(Decay.power(2.0, 5.0, 100.0)(far), [1, 1, 1 / 64, 1 / 400, 0])
    assert np.allclose(Decay.linear(100.0)(far), [1, 0.95, 0.6, 0, 0])
    assert np.allclose(Decay.table([5, 45], [1.0, 0.5])(far), [1, 1, 0.5625, 0, 0])
    assert np.allclose(Decay.gaussian(20.0, 100.0).scaled(0.1)(10 * far), Decay.gaussian(20.0, 100.0)(far))
    weights, limit = Decay.linear(100.5).weights()
    assert limit == 100 and weights[50] == round((1 - 50 / 100.5) * 2**BITS)
    for wrong in (0, -1, np.nan, "far", np.inf):
        with pytest.raises(QueryError, match="limit is"):
            Decay.linear(wrong)  # type: ignore[arg-type]
    for function in (lambda d: d * np.nan, lambda d: None, lambda d: d[:1], lambda d: "1"):
        with pytest.raises(QueryError, match="give a function of an array of distances"):
            Decay(function, 8.0).weights()  # type: ignore[arg-type, return-value]
    assert Decay.linear(8)(2) == 0.75
    for distances in ("2", [1, [2]], {1: 2}, np.ma.array([1, 2], mask=[0, 1]), np.array([1j])):
        with pytest.raises(QueryError, match="distances"):
            Decay.linear(8)(distances)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_prepared", [False, True])
def test_decays_of_long_distances(device: Device, is_prepared: bool) -> None:
    """Whatever the limit, near distances have weights of their own, and far ones almost."""
    rng = np.random.default_rng(4)
    steps = [1, 2, 1 << 19, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 21) - 1, 1 << 21, 2**31, 2**32 - 2]
    far = np.unique(np.concatenate([steps, rng.integers(1, 2**32 - 1, 300), rng.integers(1, 2**23, 300)]))
    graph = Graph.from_edges(np.zeros(len(far), np.uint32), np.arange(1, len(far) + 1), far)
    graph = prepare(graph) if is_prepared else graph
    distance = np.concatenate([[0], far])
    limits = [0, 1, *steps, 3_000_000, 2**40]
    decays = [Decay.power(1.0, 1e5, limit) for limit in limits]
    decays += [Decay.linear(4e9), Decay.exponential(600.0, 1e9), Decay.table([0, 100, 101, 2**31], [1, 1, 0.5, 0])]
    for place in (device, "cpu"):
        with Solver(graph, device=place) as solver:
            found = solver.accessibility(np.eye(graph.num_nodes, 5), decays=decays, sources=[0])[0]
            total = solver.accessibility(np.ones(graph.num_nodes), decays=decays, sources=[0])[0]
        for one, (near, whole) in zip(decays, zip(found, total, strict=True), strict=True):
            expected = one(distance)
            assert near == pytest.approx(expected[:5], abs=2**-24)
            assert whole == pytest.approx(expected.sum(), abs=len(far) * 2**-20)
            assert np.count_nonzero(expected) == 0 or whole > 0


def test_columns_have_their_own_digits() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9], undirected=True)
    values = np.array([[1e-12, 1e9, 1], [3e-12, 2.5, 2**61 - 9], [1, 1, 1], [5e200, 0, 7]])
    with Solver(graph, device="cpu") as solver:
        for asked in ({"limits": [4, 9]}, {"decays": [Decay.linear(8)]}):
            whole = solver.accessibility(values, **asked)  # type: ignore[arg-type]
            for column in range(3):
                alone = solver.accessibility(values[:, column], **asked)  # type: ignore[arg-type]
                assert np.array_equal(whole[:, :, column], alone)
        with pytest.raises(QueryError, match="values have a sum beyond"):
            solver.accessibility([1e308] * 4, [4])


def test_sums_are_exact_and_overflow_is_an_error() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1, UNREACHABLE - 1])
    with Solver(graph, "dijkstra", "cpu") as solver:
        large = 2**61 - 7
        assert solver.accessibility([large, 5, 9], 1).tolist() == [large + 5, 5, 9]
        tiny = solver.accessibility([1e-300, 3e-300, 1e-300], 1)
        assert tiny.tolist() == pytest.approx([4e-300, 3e-300, 1e-300], rel=1e-12, abs=0)
        assert solver.accessibility(np.zeros(3), 1).tolist() == [0, 0, 0]
        assert solver.accessibility(np.array([True, False, True]), 1).tolist() == [1, 0, 1]
        assert solver.accessibility(np.ones((3, 0)), [1, 2]).shape == (3, 2, 0)
        assert solver.centrality(limit=5).reached.tolist() == [2, 1, 1]
        with pytest.raises(DistanceOverflowError):
            solver.centrality()
    with Solver(Graph.from_edges([], [], []), "dijkstra", "cpu") as solver:
        assert solver.accessibility([], [1]).shape == (0, 1)
        assert solver.centrality().closeness.shape == (0,)


def _of_heavy_graphs(device: Device) -> Iterator[tuple[Graph, Solver]]:
    """Yield graphs with paths of too much weight, some of them in no shortest path, and solvers of each."""
    cycle, two = [0, 1, 2, 3], 2**31 - 1
    for graph in (
        Graph.from_edges([0, 1, 0], [1, 2, 2], [two, two + 2, 7], num_nodes=4),
        Graph.from_edges(cycle, [1, 2, 3, 0], [two, 5, two, 5]),
        Graph.from_edges(cycle, [1, 2, 3, 0], [two, two, two, 5]),
    ):
        prepared = prepare(graph)
        for solver in (
            Solver(graph, "dijkstra", "cpu"),
            Solver(prepared, "phast", "cpu"),
            Solver(graph, "near_far", device),
            Solver(prepared, "phast", device),
        ):
            with solver:
                yield graph, solver


def test_heavy_arcs_off_the_shortest_paths_do_not_matter(device: Device) -> None:
    for graph, solver in _of_heavy_graphs(device):
        exact = csgraph.dijkstra(graph.to_scipy().astype(np.float64))
        if (exact[np.isfinite(exact)] > UNREACHABLE - 1).any():
            with pytest.raises(DistanceOverflowError):
                solver.centrality(sample=graph.num_nodes)
            continue
        found = solver.centrality(sample=graph.num_nodes)
        assert np.array_equal(found.reached, np.isfinite(exact).sum(axis=1))
        assert np.array_equal(found.total, np.where(np.isfinite(exact), exact, 0).sum(axis=1))
        assert solver.betweenness().num_pairs == np.isfinite(exact).sum() - graph.num_nodes


def test_nodes_without_values_may_be_too_far(device: Device) -> None:
    everywhere = Decay.table([0, 2.0**40], [1.0, 1.0])
    for graph, solver in _of_heavy_graphs(device):
        exact = csgraph.dijkstra(graph.to_scipy().astype(np.float64))
        for node in range(graph.num_nodes):
            values = np.zeros(graph.num_nodes, np.int64)
            values[node] = 3
            distances = exact[:, node]
            if (distances[np.isfinite(distances)] >= UNREACHABLE).any():
                with pytest.raises(DistanceOverflowError):
                    solver.accessibility(values, decays=everywhere)
            else:
                found = solver.accessibility(values, decays=everywhere)
                assert np.array_equal(found[:, 0], 3 * np.isfinite(distances))


def test_distances_beyond_the_largest_limit_are_no_error(device: Device) -> None:
    limit = UNREACHABLE - 1
    for graph, solver in _of_heavy_graphs(device):
        distances = csgraph.dijkstra(graph.to_scipy().astype(np.float64))
        is_near = distances <= limit
        ones = np.ones(graph.num_nodes, np.int64)
        assert np.array_equal(solver.accessibility(ones, limit), is_near.sum(axis=1))
        assert np.array_equal(solver.centrality(limit=limit).reached, is_near.sum(axis=1))
        sampled = solver.centrality(sample=graph.num_nodes, limit=limit)
        assert np.array_equal(sampled.reached, is_near.sum(axis=1))
        assert solver.betweenness(limit=limit).num_pairs == is_near.sum() - graph.num_nodes
        everywhere = Decay.table([0, 2.0**40], [1.0, 1.0])
        if (distances[~is_near] < np.inf).any():
            with pytest.raises(DistanceOverflowError):
                solver.accessibility(ones, decays=everywhere)
        else:
            assert np.array_equal(solver.accessibility(ones, decays=everywhere)[:, 0], is_near.sum(axis=1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": [1, 2]}, "values has shape"),
        ({"values": [[1], [2]]}, "values has shape"),
        ({"values": ["a", "b", "c"]}, "values has dtype"),
        ({"values": [1.0, np.nan, 2.0]}, "finite"),
        ({"values": [2**62, 2**62, 0]}, "beyond"),
        ({"limits": None}, "neither limits nor decays"),
        ({"limits": [-1]}, "limits"),
        ({"limits": 2**32 - 1}, "limits"),
        ({"limits": [1.5]}, "limits"),
        ({"decays": "linear"}, "decays"),
        ({"decays": [Decay.linear(3), 5]}, r"decays\[1\]"),
        ({"sources": []}, "no sources"),
        ({"sources": [3]}, r"sources\[0\]"),
        ({"reverse": "yes"}, "reverse"),
    ],
)
def test_invalid_arguments(change: dict[str, Any], words: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1, 1])
    with Solver(graph, "dijkstra", CpuDevice()) as solver:
        with pytest.raises(QueryError, match=words) as raised:
            solver.accessibility(**({"values": [1, 2, 3], "limits": [1]} | change))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Decay.exponential(0),
        lambda: Decay.gaussian(float("inf")),
        lambda: Decay.power(1.0, -1.0, 5.0),
        lambda: Decay.linear(float("nan")),
        lambda: Decay.table([], []),
        lambda: Decay.table([1, 1], [1, 1]),
        lambda: Decay.table([1, 2], [1, 2]),
        lambda: Decay.exponential(5, limit=-1),
    ],
)
def test_invalid_decays(make: Any) -> None:
    with pytest.raises(QueryError):
        make()


def test_too_many_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkssp.memory.free_bytes", lambda: 1 << 20)
    graph = grid(40)
    with Solver(graph, "dijkstra", "cpu") as solver, pytest.raises(MemoryShortageError, match="sums"):
        solver.accessibility(np.ones((graph.num_nodes, 40)), list(range(100)))


def test_diameter_and_radius_with_the_pairs_that_show_them() -> None:
    distances = distances_of(GRAPH)
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        found = solver.centrality()
        for extent, expected in (
            (found.diameter, distances.max(axis=1).max()),
            (found.radius, distances.max(axis=1).min()),
        ):
            assert extent.distance == expected == solver.distance(extent.source, extent.target)
    parts = Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 0], [5, 6, 7, 100], undirected=True, num_nodes=7)
    with Solver(parts, "dijkstra", "cpu") as solver:
        found = solver.centrality()
    assert found.diameter == (118, 3, 4) and found.radius == (100, 0, 4)
    with Solver(Graph.from_edges([], [], [], num_nodes=0), "dijkstra", "cpu") as empty:
        with pytest.raises(QueryError, match="without nodes"):
            _ = empty.centrality().radius


def test_a_sample_tells_about_all_nodes() -> None:
    graph = grid(20, seed=5)
    with Solver(graph, "dijkstra", "cpu") as solver:
        whole, diameter = solver.centrality(), solver.centrality().diameter.distance
        errors = []
        for count in (20, 100, 300):
            part = solver.centrality(sample=count, seed=2)
            assert len(part.sample) == len(set(part.sample.tolist())) == count
            wrong = np.abs(part.total - whole.total).max() / (graph.num_nodes * diameter)
            assert wrong < part.error()
            assert part.reached == pytest.approx(whole.reached)
            errors.append(wrong)
        assert errors == sorted(errors, reverse=True)
        with pytest.raises(QueryError, match="up to 400"):
            solver.centrality(sample=401)
        with pytest.raises(QueryError, match="one of them"):
            solver.centrality([0], sample=1)  # type: ignore[call-overload]
    far = Graph.from_edges([0, 1, 2], [1, 2, 3], [2**31, 2**31 - 2, 2])
    for prepared in (far, prepare(far)):
        with Solver(prepared, device="cpu") as solver, pytest.raises(DistanceOverflowError):
            solver.centrality(sample=4)


@pytest.mark.parametrize("is_prepared", [False, True])
def test_few_nodes_with_values(device: Device, is_prepared: bool) -> None:
    """Searches go from the nodes with values then, backward; the sums are the same."""
    graph = grid(9, seed=3, low=0, high=9)
    graph = prepare(graph) if is_prepared else graph
    table = distances_of(graph)
    rng = np.random.default_rng(6)
    values = np.zeros((graph.num_nodes, 2), np.int64)
    values[[5, 17, 60]] = rng.integers(-9, 100, (3, 2))
    one = Decay.exponential(12.0)
    for place in (device, "cpu", [device, "cpu"]):
        with SolverPool(graph, devices=place) if isinstance(place, list) else Solver(graph, device=place) as solver:
            for reverse in (False, True):
                far = (table.T if reverse else table).astype(np.float64)
                far[far == UNREACHABLE] = np.inf
                found = solver.accessibility(values, limits=[20, 3, 9], reverse=reverse)
                assert found.dtype == np.int64
                for at, limit in enumerate((20, 3, 9)):
                    assert np.array_equal(found[:, at], (far <= limit) @ values)
                both = solver.accessibility(values / 8, limits=9, decays=[one, one], reverse=reverse)
                assert np.allclose(both[:, 0], (far <= 9) @ values / 8)
                assert np.allclose(both[:, 1], one(far) @ values / 8, atol=1e-4) and np.array_equal(
                    both[:, 1], both[:, 2]
                )
