"""Order of sweeps: each node comes after all of its ancestors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import Graph, prepare
from vkssp.batch.row_writer import leaves_of
from vkssp.batch.sweep_batch import needed_ranks
from vkssp.batch.sweep_order import sweep_order
from vkssp.graph.hierarchy import Hierarchy


def hierarchy_of(graph: Graph) -> Hierarchy:
    found = prepare(graph).hierarchy
    assert found is not None
    return found


def check_order(hierarchy: Hierarchy, swept: np.ndarray, most: int) -> tuple[int, int]:
    """Check an order, and return the numbers of levels and subtrees."""
    order = sweep_order(hierarchy, swept.astype(np.uint32), most)
    assert np.array_equal(np.sort(order.rank), swept)
    sizes = np.diff(order.first.astype(np.int64))
    assert (sizes > 0).all() and (sizes <= most).all() and order.first[-1] == len(swept)
    # Of each node its level, or its subtree.
    level = np.repeat(np.arange(len(order.levels)), [end - begin for begin, end in order.levels])
    subtree = np.repeat(np.arange(len(sizes)), sizes)
    assert len(level) == order.first[0] and len(level) + len(subtree) == len(swept)
    place_of = {int(rank): place for place, rank in enumerate(order.rank)}
    for place, rank in enumerate(order.rank.tolist()):
        group = int(hierarchy.supernode[rank])
        first, count = int(hierarchy.first_ancestor[group]), int(hierarchy.num_ancestors[group])
        for ancestor in hierarchy.ancestor[first : first + count].tolist():
            above = place_of[ancestor]
            if above < len(level):
                assert place >= len(level) or level[above] < level[place]
            else:
                assert above < place and subtree[above - len(level)] == subtree[place - len(level)]
    return len(order.levels), len(sizes)


@pytest.mark.parametrize("most", [0, 1, 4, 16, 1000])
def test_nodes_come_after_their_ancestors(most: int) -> None:
    rng = np.random.default_rng(3)
    parts = Graph.from_edges(*rng.integers(0, 90, (2, 120)), rng.integers(1, 9, 120), num_nodes=95)
    for graph in (grid(13), parts, Graph.from_edges([0], [1], [7])):
        hierarchy = hierarchy_of(graph)
        everything = np.arange(graph.num_nodes)
        some = needed_ranks(hierarchy, rng.integers(0, graph.num_nodes, 9).astype(np.uint32))
        for swept in (everything, np.flatnonzero(~leaves_of(hierarchy)), some, everything[:0]):
            check_order(hierarchy, swept, most)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4])
def test_levels_between_supernodes_and_their_parents(most: int) -> None:
    graph = Graph.from_edges([0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 3, 0], [3, 4, 5, 6, 7, 8])
    arrays = [[0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 0, 1, 2, 3], [0, 1, 0], [0, 1, 2, 4]]
    hierarchy = Hierarchy(*(np.array(array, np.uint32) for array in arrays))
    hierarchy.check(graph)
    check_order(hierarchy, np.arange(4), most)
    check_order(hierarchy, np.array([0, 3]), most)


def test_larger_subtrees_leave_fewer_levels() -> None:
    hierarchy = hierarchy_of(grid(20))
    everything = np.arange(hierarchy.num_nodes)
    assert check_order(hierarchy, everything, 0) == (hierarchy.num_levels, 0)
    few, many = check_order(hierarchy, everything, 4), check_order(hierarchy, everything, 40)
    assert few[0] > many[0] > 0 and few[1] > many[1] > 1
    assert check_order(hierarchy, everything, 1000) == (0, 1)
