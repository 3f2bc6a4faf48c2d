"""Partitions by way of coarser graphs: what is divided, and that its parts become no worse on the way back."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from tests.support.graphs import grid
from vkssp import Graph
from vkssp.hierarchy import coarsening
from vkssp.hierarchy.coarsening import WeightedGraph, partition
from vkssp.hierarchy.edges import Edges, Int32s
from vkssp.reading import read_graph

_PARTS = 4


def shuffled(graph: Graph, seed: int) -> Graph:
    """Return a graph with other ids for its nodes."""
    rank = np.random.default_rng(seed).permutation(graph.num_nodes)
    return Graph.from_edges(rank[graph.tail], rank[graph.head], graph.weight, num_nodes=graph.num_nodes)


def matrix(graph: WeightedGraph) -> sparse.csr_array:
    return sparse.csr_array((graph.edge_weight, graph.near, graph.first), shape=(graph.num_nodes,) * 2)


def cut(graph: WeightedGraph, part: npt.NDArray[np.int32]) -> int:
    """Return the weight of the edges between parts."""
    tail = np.repeat(part, np.diff(graph.first))
    return int(graph.edge_weight[tail != part[graph.near]].sum()) // 2


def ended(run: Generator[float, None, Int32s]) -> tuple[list[float], Int32s]:
    """Return what a generator yields, and its result."""
    shares = list[float]()
    while True:
        try:
            shares.append(next(run))
        except StopIteration as result:
            return shares, result.value


@pytest.mark.parametrize("ids", ["near", "anywhere"])
@pytest.mark.parametrize("expression", ["grid", "rmat:10"])
def test_parts_become_no_worse(monkeypatch: pytest.MonkeyPatch, expression: str, ids: str) -> None:
    monkeypatch.setattr(coarsening, "COARSE_ENOUGH", 10)
    monkeypatch.setattr(coarsening, "NODES_A_RANGE", 400)  # ranges that are no multiple of the nodes
    graph = grid(50, seed=3) if expression == "grid" else read_graph(expression)
    if ids == "anywhere":
        graph = shuffled(graph, 5)
    first, near = Edges.of(graph).both_ways()
    finest = WeightedGraph(first, near, np.ones(len(near), np.int32), np.ones(graph.num_nodes, np.int32))
    divided: list[tuple[WeightedGraph, Int32s]] = []

    def divide(coarse: WeightedGraph, number: int) -> Int32s:
        part = np.random.default_rng(number).integers(0, _PARTS, coarse.num_nodes).astype(np.int32)
        divided.append((coarse, part.copy()))
        return part

    shares, part = ended(partition(first, near, _PARTS, divide, 1))
    assert len(divided) <= 4
    assert len(shares) >= 3 and shares == sorted(shares) and 0 < shares[0] and shares[-1] < 1
    coarse, given = min(divided, key=lambda one: cut(*one))
    # A grid is halved at each step, nearly; the nodes of this RMAT are around few.
    assert coarse.num_nodes < graph.num_nodes * (0.2 if expression == "grid" else 0.95)
    assert coarse.node_weight.sum() == graph.num_nodes and coarse.node_weight.min() >= 1
    weights = matrix(coarse)
    assert weights.has_canonical_format and (weights != weights.T).nnz == 0 and not weights.diagonal().any()
    # The edges inside of coarse nodes are missing, and no others: those of random parts are cut in both graphs.
    assert cut(finest, part) <= cut(coarse, given), "moves of nodes cut more edges"
    assert cut(finest, part) < cut(finest, np.random.default_rng(2).integers(0, _PARTS, graph.num_nodes, np.int32))
    most = max(np.bincount(given, coarse.node_weight).max(), 1.03 * graph.num_nodes / _PARTS)
    assert len(part) == graph.num_nodes and np.bincount(part, minlength=_PARTS).max() <= most


def test_what_cannot_become_coarser_is_divided_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarsening, "COARSE_ENOUGH", 10)
    star = Graph.from_edges(np.zeros(99, int), np.arange(1, 100), np.ones(99, int), undirected=True)
    first, near = Edges.of(star).both_ways()
    asked = []

    def divide(graph: WeightedGraph, number: int) -> Int32s:
        asked.append(graph)
        return (np.arange(graph.num_nodes) % 2).astype(np.int32)

    assert ended(partition(first, near, 2, divide, 1))[1].tolist() == [at % 2 for at in range(100)]
    assert len(asked) == 1, "all tries take longer than one without"
    assert np.array_equal(asked[0].near, near) and (asked[0].node_weight == 1).all()
