"""Graphs to test on, and references that share no code with what they check."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from vkssp import UNREACHABLE, Graph


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
    matrix = sparse.csr_array((weight[first], head[first], indptr), shape=(graph.num_nodes,) * 2)
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


def grid(side: int, seed: int = 0, low: int = 1, high: int = 100) -> Graph:
    """An undirected grid with random weights and places in it."""
    rng = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel()])
    head = np.concatenate([node[1:].ravel(), node[:, 1:].ravel()])
    lat, lon = np.divmod(np.arange(side * side), side)
    weight = rng.integers(low, high + 1, len(tail))
    return Graph.from_edges(tail, head, weight, undirected=True, lat=lat * 1e-3, lon=lon * 1e-3)
