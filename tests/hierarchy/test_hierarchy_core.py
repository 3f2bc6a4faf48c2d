from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid
from tests.support.hierarchies import depths, eliminated, lists
from vkssp import Graph, prepare
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.edges import Edges
from vkssp.osm import import_extract

pytest.importorskip("numba")
pytest.importorskip("pymetis")


@st.composite
def sparse_graphs(draw: st.DrawFn) -> Graph:
    """Graphs of many dead ends, chains and cycles, with loops and parallel arcs."""
    num_nodes = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tails = [rng.integers(0, num_nodes, int(num_nodes * draw(st.sampled_from([0.3, 0.8, 1.0, 1.3]))))]
    heads = [rng.integers(0, num_nodes, len(tails[0]))]
    if draw(st.booleans()):  # a tree or a chain through all, and a few shortcuts
        child = np.arange(1, num_nodes)
        reach = draw(st.sampled_from([1, 3, 60]))
        keep = draw(st.integers(0, 4))
        tails, heads = (
            [child, tails[0][:keep]],
            [child - rng.integers(1, np.minimum(child, reach) + 1), heads[0][:keep]],
        )
    name = rng.permutation(num_nodes)
    tail, head = name[np.concatenate(tails)], name[np.concatenate(heads)]
    return Graph.from_edges(tail, head, np.ones(len(tail), int), num_nodes=num_nodes)


def check_core(graph: Graph) -> Core:
    """Check that what is outside leaves the edges of the core, and no tree or chain is in it; return the core."""
    core = Core.of(Edges.of(graph))
    order = core.outside.tolist() + core.node.tolist()
    assert sorted(order) == list(range(graph.num_nodes)) and core.edges.num_nodes == len(core.node)
    ends = zip(core.node[core.edges.low].tolist(), core.node[core.edges.high].tolist(), strict=True)
    found = [frozenset(pair) for pair in ends]
    left = eliminated(graph, order)
    inside = set(core.node.tolist())
    # What the elimination of those outside joins, and nothing that an elimination within the core would.
    joined = {frozenset((u, v)) for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True) if u != v}
    joined |= {frozenset((u, v)) for node in core.outside.tolist() for u in left[node] for v in left[node] if u != v}
    assert set(found) == {pair for pair in joined if pair <= inside} and len(found) == len(set(found))
    # Each tree outside hangs on one node of the core, or links two.
    assert all(len(left[node] & inside) <= 2 for node in core.outside.tolist())
    return core


@given(sparse_graphs())
def test_what_is_outside_leaves_the_edges_of_the_core(graph: Graph) -> None:
    core = check_core(graph)
    # The reference: dead ends are pruned one by one, and of what is left all with three neighbours stay.
    near: dict[int, set[int]] = {node: set() for node in range(graph.num_nodes)}
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    while ends := [node for node in near if len(near[node]) <= 1]:
        for other in near.pop(ends[0]):
            near[other].discard(ends[0])
    crossings = {node for node in near if len(near[node]) > 2}
    rings, left = 0, set(near)
    while left:
        part, new = set(), {min(left)}
        while new:
            part |= new
            new = set().union(*(near[node] for node in new)) - part
        left -= part
        rings += not part & crossings
    inside = set(core.node.tolist())
    assert crossings <= inside <= set(near) and len(inside - crossings) == rings


@given(st.integers(1, 400), st.sampled_from([1, 2, 5, 400]), st.integers(0, 2**32 - 1))
def test_trees_become_low(num_nodes: int, reach: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    child = np.arange(1, num_nodes)
    ends = child, child - rng.integers(1, np.minimum(child, reach) + 1)
    name = rng.permutation(num_nodes)
    graph = Graph.from_edges(*(name[end] for end in ends), np.ones(num_nodes - 1, int), num_nodes=num_nodes)
    assert len(check_core(graph).node) == 0
    hierarchy = prepare(graph).hierarchy
    assert hierarchy is not None
    hierarchy.check(graph)
    # Halving a tree again and again takes no more labels than this, of which the lowest two may take three nodes.
    assert max(depths(lists(hierarchy))) <= math.floor(math.log2(num_nodes)) + 1


def test_cores_of_graphs_that_have_none_and_that_are_one() -> None:
    ring = Graph.from_edges(np.arange(30), (np.arange(30) + 1) % 30, np.ones(30, int))
    core = check_core(ring)
    assert len(core.node) == 1 and len(core.edges.low) == 0
    twice = Graph.from_edges([0, 1, 2, 0, 3, 4, 0, 5], [1, 2, 0, 3, 4, 0, 5, 6], [1] * 8)
    assert check_core(twice).node.tolist() == [0]
    theta = Graph.from_edges([0, 2, 0, 3, 0, 4], [2, 1, 3, 1, 4, 1], [1] * 6)
    core = check_core(theta)
    assert core.node.tolist() == [0, 1] and (core.edges.low.tolist(), core.edges.high.tolist()) == ([0], [1])
    # But for the corners, of which the other ends are crossings.
    assert len(check_core(grid(6)).node) == 32


def test_streets_are_mostly_outside(andorra_path: Path) -> None:
    graph, _ = import_extract(andorra_path, simplify=False)
    core = check_core(graph)
    assert 0 < len(core.node) < graph.num_nodes / 2
