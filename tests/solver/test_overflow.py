"""Distances that do not fit into 32 bits: an error where one was asked for, and nowhere else."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import EVERYWHERE, placed
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, NoRouteError, Router, Solver, SolverPool, prepare
from vkssp.gpu.device import Device

LARGEST, NOWHERE = UNREACHABLE - 1, 2**63
KINDS = [*((name, "none") for name in ("auto", *EVERYWHERE)), ("near_far", "full"), ("block_resident", "full")]


def heavy_graph(seed: int) -> Graph:
    """A graph on which some shortest paths fit, some do not, and some nodes are not reached."""
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, 24, (2, 40))
    weight = rng.choice([0, 1, 7, 2**30, 2**31, LARGEST - 1, LARGEST], 40, p=[0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1])
    return Graph.from_edges(tail, head, weight, num_nodes=26)


def exact(graph: Graph, seeds: list[tuple[int, int]]) -> np.ndarray:
    """Return distances from the best of some seeds as they are, `NOWHERE` where no path leads."""
    distance = np.full(graph.num_nodes, NOWHERE, np.uint64)
    heap = [(offset, node) for node, offset in seeds]
    while heap:
        near, node = heapq.heappop(heap)
        if near < int(distance[node]):
            distance[node] = near
            for arc in range(graph.first_out[node], graph.first_out[node + 1]):
                heapq.heappush(heap, (near + int(graph.weight[arc]), int(graph.head[arc])))
    return distance


def check(expected: Any, limit: int | None, ask: Callable[..., Any], *arguments: Any) -> bool:
    """Check an answer, or that there is an error where one of the expected distances does not fit; return whether."""
    wanted = np.asarray(expected, np.uint64)
    if limit is None and ((wanted > LARGEST) & (wanted < NOWHERE)).any():
        with pytest.raises(DistanceOverflowError, match="divide the weights"):
            ask(*arguments)
        return True
    wanted = np.where(wanted > (LARGEST if limit is None else limit), UNREACHABLE, wanted)
    assert np.array_equal(ask(*arguments), wanted)
    return False


def check_all(asked: Solver | SolverPool, graph: Graph, rng: np.random.Generator) -> int:
    """Ask for everything, and return how many of the answers were errors."""

    def weight(source: int, target: int) -> int:
        return asked.path(source, target).weight

    def each(sources: Any, limit: int | None) -> np.ndarray:
        return asked.distances(sources, limit=limit)

    def table(sources: Any, targets: Any, limit: int | None) -> np.ndarray:
        return asked.table(sources, targets, limit=limit)

    def of_seeds(seeds: Any, limit: int | None) -> np.ndarray:
        return asked.distances(seeds, limit=limit)

    def nearest(sources: Any, offsets: Any, limit: int | None) -> np.ndarray:
        return asked.nearest(sources, offsets, limit).distance

    rows = np.stack([exact(graph, [(node, 0)]) for node in range(graph.num_nodes)])
    errors = 0
    for source, target in rng.integers(0, graph.num_nodes, (6, 2)).tolist():
        errors += check(rows[source, target], None, asked.distance, source, target)
        if rows[source, target] != NOWHERE:
            errors += check(rows[source, target], None, weight, source, target)
        errors += check(rows[source], None, asked.distances, source)
    sources, targets = rng.integers(0, graph.num_nodes, (2, 8))
    for size in (1, 2, 8):
        few = np.ix_(sources[:size], targets[:size])
        pairs = rows[sources, targets][:size]
        errors += check(pairs, None, asked.pairs, sources[:size], targets[:size])
        errors += check(rows[few], None, table, sources[:size], targets[:size], None)
    offsets = [0, 5, LARGEST]
    seeds = list(zip(sources.tolist(), offsets, strict=False))
    best = exact(graph, seeds)
    for limit in (None, 3, LARGEST):
        errors += check(rows[sources[:3]], limit, each, sources[:3], limit)
        errors += check(rows[np.ix_(sources, targets)], limit, table, sources, targets, limit)
        errors += check(best, limit, of_seeds, seeds, limit)
        errors += check(best, limit, nearest, sources[:3], offsets, limit)
    check(rows[sources[0]], 7, lambda: asked.distances(int(sources[0]), limit=7))
    return errors


@pytest.mark.parametrize(("algorithm", "reduction"), KINDS)
def test_only_what_was_asked_for_has_to_fit(device: Device, algorithm: str, reduction: str) -> None:
    name, on = placed(algorithm, device)
    errors = 0
    for seed in range(3):
        graph = heavy_graph(seed)
        with Solver(prepare(graph) if algorithm == "phast" else graph, name, on, reduction=reduction) as solver:
            errors += check_all(solver, graph, np.random.default_rng(seed))
    assert 5 < errors < 60


def test_only_what_was_asked_of_a_pool_has_to_fit(device: Device, second: Device) -> None:
    graph = heavy_graph(1)
    with SolverPool(graph, "near_far", [device, second]) as pool:
        assert check_all(pool, graph, np.random.default_rng(1))
        rows = pool.table([25, 25, 25, 0, 25], range(26), chunked=True)
        assert (exact(graph, [(0, 0)]) > LARGEST).any() and len(next(rows)) >= 1


@pytest.mark.parametrize("algorithm", ["near_far", "dijkstra", "phast"])
def test_places_are_reached_by_what_fits(device: Device, algorithm: str) -> None:
    """A place on a street may be reached from one of its ends where the distance of the other does not fit."""
    far = LARGEST - 10
    graph = Graph.from_edges(
        [0, 1, 2], [1, 2, 3], [far, 100, LARGEST], undirected=True, lat=[60.0] * 4, lon=[10.0, 10.1, 10.2, 10.3]
    )
    on = None if algorithm == "dijkstra" else device
    here, near, beyond = (60.0, 10.0), (60.0, 10.1 + 0.005), (60.0, 10.1 + 0.05)
    with Router(prepare(graph) if algorithm == "phast" else graph, algorithm, on) as router:
        weight = router.route(here, near).weight
        assert far < weight < LARGEST
        for metrics in (["weight"], ["weight", "distance"]):
            assert router.table([here], [near, here], metrics).read()["weight"].tolist() == [[weight, 0]]
            with pytest.raises(DistanceOverflowError):
                router.table([here], [near, beyond], metrics).read()
        with pytest.raises(DistanceOverflowError):
            router.route(here, beyond)
        (found,) = router.isochrones(here, [50])
        assert found.limit == 50
        assert router.service_areas([here], 50).nodes.distance.tolist() == [0, *[UNREACHABLE] * 3]
        with pytest.raises(DistanceOverflowError):
            router.service_areas([here])


def test_what_no_path_leads_to_is_no_overflow(device: Device) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [LARGEST, LARGEST], num_nodes=4)
    with Solver(graph, "near_far", device) as solver:
        assert solver.pairs([0, 0], [1, 3]).tolist() == [LARGEST, UNREACHABLE]
        with pytest.raises(NoRouteError):
            solver.path(0, 3)
