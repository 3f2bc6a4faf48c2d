"""Graphs to test on, solvers for any algorithm, and references that share no code with what they check."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import shapely
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from vkssp import UNREACHABLE, Graph, Solver
from vkssp.algorithm import CPU, TOTALS, TRACE, VULKAN, Algorithm
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.gpu.device import Device
from vkssp.graph.geo import METRES_PER_DEGREE

#: Algorithms on Vulkan devices, and on the CPU; those in both places are marked there by "@cpu".
ON_DEVICE = [name for name, classes in ALGORITHMS.items() if VULKAN in classes]
ON_CPU = [f"{name}@cpu" if VULKAN in classes else name for name, classes in ALGORITHMS.items() if CPU in classes]
EVERYWHERE = [*ON_DEVICE, *ON_CPU]
#: Algorithms with an iteration for each node, or for each distance that there is, which looks at all nodes.
_ITERATION_PER_NODE = {"martin", "martin_predecessors", "dijkstra_scan", "martin@cpu", "martin_predecessors@cpu"}
#: Algorithms that look at all nodes in each iteration, and go about one arc of a path in it.
_ITERATION_PER_ARC = {
    *("bellman_ford", "bellman_ford_subgroup", "bellman_ford_edge", "delta_step_array", "delta_step_subgroup"),
    *("crauser", "crauser_predecessors", "crauser@cpu", "crauser_predecessors@cpu"),
}
#: Of these, algorithms whose nodes take a subgroup each, lane by lane on software drivers.
_SUBGROUP_PER_NODE = {"bellman_ford_subgroup", "delta_step_subgroup"}


def slow_by_design(algorithm: str) -> bool:
    """Return whether the number of an algorithm's iterations grows with the number of nodes of any graph."""
    return algorithm in _ITERATION_PER_NODE


def path_nodes(algorithm: str, nodes: int) -> int:
    """Return how long a path is to be: as long as is said, or what an algorithm manages that crawls along it."""
    if algorithm in _SUBGROUP_PER_NODE:
        return min(nodes, 600)
    return min(nodes, 2000) if algorithm in _ITERATION_PER_NODE | _ITERATION_PER_ARC else nodes


def star_leaves(algorithm: str, leaves: int) -> int:
    """Return how many leaves a star is to have."""
    if algorithm in _SUBGROUP_PER_NODE:
        return min(leaves, 10_000)
    return min(leaves, 2000) if algorithm in _ITERATION_PER_NODE else leaves


def grid_side(algorithm: str, side: int) -> int:
    """Return how wide a grid is to be."""
    if algorithm in _ITERATION_PER_NODE | _SUBGROUP_PER_NODE:
        return min(side, 40)
    return min(side, 70) if algorithm in _ITERATION_PER_ARC else side


def class_of(algorithm: str) -> type[Algorithm]:
    """Return the class of an algorithm of `EVERYWHERE`."""
    return ALGORITHMS[algorithm.partition("@")[0]][CPU if algorithm in ON_CPU else VULKAN]


def placed(algorithm: str, device: Device | None) -> tuple[str, Device | str | None]:
    """Return the name of an algorithm of `EVERYWHERE` or "auto", and the device to run it on."""
    return algorithm.partition("@")[0], "cpu" if algorithm in ON_CPU else device


def make_solver(
    graph: Graph,
    algorithm: str,
    device: Device | None,
    *,
    order: str = "auto",
    counters: str = "iterations",
    distance_bits: int = 32,
    **wanted: int | None,
) -> Solver:
    """Return a solver, on the device if the algorithm needs one, with those of some parameters that it has.

    A `workgroup_size` holds for all kernels of an algorithm that has a size for each of them.
    """
    names = [parameter.name for parameter in class_of(algorithm).PARAMETERS]
    parameters = {name: wanted[name] for name in names if name in wanted}
    if "workgroup_size" in wanted:
        parameters |= {name: wanted["workgroup_size"] for name in names if name.endswith("workgroup_size")}
    name, on = placed(algorithm, device)
    return Solver(graph, name, on, order=order, counters=counters, distance_bits=distance_bits, **parameters)


def check_counters(solver: Solver) -> np.ndarray:
    """Check that counters and trace of the last search fit together; return the trace."""
    assert solver.last is not None
    counters, rows = solver.last.counters, solver.trace()
    assert rows.dtype == TRACE
    assert rows["iteration"].tolist() == list(range(counters["iterations"]))
    assert {name: int(rows[name].sum(dtype=np.uint64)) for name in TOTALS} == {name: counters[name] for name in TOTALS}
    assert (rows["worked"] <= rows["visited"]).all() and (rows["improved"] <= rows["relaxed"]).all()
    assert (rows["low"] <= rows["high"]).all() and (rows["first_node"] <= rows["last_node"]).all()
    return rows


def heap_dijkstra(graph: Graph, source: int) -> np.ndarray:
    """Return distances by the textbook: a heap, arcs one by one, Python integers that cannot overflow."""
    first, head, weight = graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist()
    distance = {source: 0}
    heap = [(0, source)]
    while heap:
        near, node = heapq.heappop(heap)
        if near > distance[node]:
            continue
        for arc in range(first[node], first[node + 1]):
            through = near + weight[arc]
            if through < distance.get(head[arc], 2**63):
                distance[head[arc]] = through
                heapq.heappush(heap, (through, head[arc]))
    result = np.full(graph.num_nodes, UNREACHABLE, np.uint64)
    for node, value in distance.items():
        result[node] = value
    return result


def scipy_dijkstra(graph: Graph, source: int) -> np.ndarray:
    """Return distances by scipy, which works in float64: exact up to 2**53."""
    tail, head, weight = graph.tail, graph.head, graph.weight.astype(np.float64)
    # Of parallel arcs scipy would take the sum.
    order = np.lexsort((weight, head, tail))
    tail, head, weight = tail[order], head[order], weight[order]
    first = np.ones(len(tail), bool)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    indptr = np.searchsorted(tail[first], np.arange(graph.num_nodes + 1))
    rows = (weight[first], head[first].astype(np.int32), indptr.astype(np.int32))
    matrix = sparse.csr_array(rows, shape=(graph.num_nodes,) * 2)
    distance = csgraph.dijkstra(matrix, indices=source)
    return np.where(np.isinf(distance), UNREACHABLE, distance).astype(np.uint64)


def check_path(graph: Graph, route: Any, source: int, target: int, weight: int) -> None:
    """Check that a route is a path of the graph between two nodes, of the given weight."""
    arcs, nodes = route.arcs, route.nodes
    assert nodes[0] == source and nodes[-1] == target
    assert np.array_equal(graph.tail[arcs], nodes[:-1])
    assert np.array_equal(graph.head[arcs], nodes[1:])
    assert int(graph.weight[arcs].sum(dtype=np.uint64)) == weight == route.weight
    assert len(np.unique(nodes)) == len(nodes), "a shortest path need visit no node twice"


@st.composite
def random_graphs(draw: st.DrawFn, max_nodes: int = 60, zeros: bool = True) -> Graph:
    """Directed or undirected graphs with loops, parallel arcs, zero weights and unreachable parts; some with places."""
    num_nodes = draw(st.integers(1, max_nodes))
    num_edges = draw(st.integers(0, 4 * num_nodes))
    largest = draw(st.sampled_from([1, 3, 100, 10**6, 2**24]))
    seed = draw(st.integers(0, 2**32 - 1))
    undirected = draw(st.booleans())
    places = draw(st.booleans())
    rng = np.random.default_rng(seed)
    lat, lon = (rng.uniform(-bound, bound, num_nodes) if places else None for bound in (90, 180))
    return Graph.from_edges(
        rng.integers(0, num_nodes, num_edges),
        rng.integers(0, num_nodes, num_edges),
        rng.integers(0 if zeros else 1, largest + 1, num_edges),
        num_nodes=num_nodes,
        undirected=undirected,
        lat=lat,
        lon=lon,
    )


def polar_grid(side: int, step_m: float, pole: int, x_m: float = 0.0, y_m: float = 0.0) -> Graph:
    """An undirected grid of straight streets by a pole, 1 or -1, its middle so far from there; 1 000 to travel each."""
    y, x = step_m * (np.array(np.divmod(np.arange(side * side), side)) - (side - 1) / 2)
    lat, lon = polar_place(x + x_m, y + y_m, pole)
    plain = grid(side)
    return Graph.from_csr(plain.first_out, plain.head, np.full(plain.num_arcs, 1000), lat=lat, lon=lon)


def polar_place(x_m: Any, y_m: Any, pole: int) -> tuple[Any, Any]:
    """Return latitude and longitude of points so many metres from a pole towards the longitudes 0 and 90."""
    return pole * (90 - np.hypot(x_m, y_m) / METRES_PER_DEGREE), np.degrees(np.arctan2(y_m, x_m))


def polar_lines(graph: Graph, pole: int) -> Any:
    """Return the arcs of a graph near a pole as lines in these metres."""
    assert graph.lat is not None and graph.lon is not None
    away, angle = (90 - pole * graph.lat) * METRES_PER_DEGREE, np.radians(graph.lon)
    flat = np.stack([away * np.cos(angle), away * np.sin(angle)], axis=1)
    return shapely.linestrings(np.stack([flat[graph.tail], flat[graph.head]], axis=1))


def grid(side: int, seed: int = 0, low: int = 1, high: int = 100) -> Graph:
    """An undirected grid with random weights and places in it."""
    rng = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel()])
    head = np.concatenate([node[1:].ravel(), node[:, 1:].ravel()])
    lat, lon = np.divmod(np.arange(side * side), side)
    weight = rng.integers(low, high + 1, len(tail))
    return Graph.from_edges(tail, head, weight, undirected=True, lat=lat * 1e-3, lon=lon * 1e-3)
