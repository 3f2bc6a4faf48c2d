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


def check_order(hierarchy: Hierarchy, swept: np.ndarray, most: int, tiers: int) -> tuple[int, int]:
    """Check an order, and return the numbers of tiers and subtrees."""
    order = sweep_order(hierarchy, swept.astype(np.uint32), most, tiers)
    assert np.array_equal(np.sort(order.rank), swept)
    sizes = np.diff(order.first.astype(np.int64))
    assert (sizes > 0).all() and (sizes <= most).all() and order.first[-1] == len(swept)
    dispatches = [list(range(begin, end)) for begin, end in order.levels]
    numbers = np.repeat(np.arange(len(order.levels)), [end - begin for begin, end in order.levels])
    # A dispatch and a subtree, or a dispatch and a node of its own, of each node.
    of_node = [(int(number), place) for place, number in enumerate(numbers)]
    for tier, (begin, end) in enumerate(order.tiers):
        assert begin < end
        for subtree in range(begin, end):
            of_node += [(len(dispatches) + tier, subtree)] * int(sizes[subtree])
    assert len(of_node) == len(swept) and [end for _, end in order.tiers][-1:] in ([], [len(sizes)])
    place_of = {int(rank): place for place, rank in enumerate(order.rank)}
    for place, rank in enumerate(order.rank.tolist()):
        group = int(hierarchy.supernode[rank])
        first, count = int(hierarchy.first_ancestor[group]), int(hierarchy.num_ancestors[group])
        for ancestor in hierarchy.ancestor[first : first + count].tolist():
            above = place_of[ancestor]
            is_same = of_node[above] == of_node[place] and of_node[place][0] >= len(dispatches)
            assert of_node[above][0] < of_node[place][0] or (is_same and above < place)
    return len(order.tiers), len(sizes)


@pytest.mark.parametrize("most", [0, 1, 4, 16, 1000])
@pytest.mark.parametrize("tiers", [0, 1, 3])
def test_nodes_come_after_their_ancestors(most: int, tiers: int) -> None:
    rng = np.random.default_rng(3)
    parts = Graph.from_edges(*rng.integers(0, 90, (2, 120)), rng.integers(1, 9, 120), num_nodes=95)
    for graph in (grid(13), parts, Graph.from_edges([0], [1], [7])):
        hierarchy = hierarchy_of(graph)
        everything = np.arange(graph.num_nodes)
        some = needed_ranks(hierarchy, rng.integers(0, graph.num_nodes, 9).astype(np.uint32))
        for swept in (everything, np.flatnonzero(~leaves_of(hierarchy)), some, everything[:0]):
            check_order(hierarchy, swept, most, tiers)


def test_what_subtrees_leave_forms_subtrees_in_turn() -> None:
    hierarchy = hierarchy_of(grid(20))
    everything = np.arange(hierarchy.num_nodes)
    assert check_order(hierarchy, everything, 0, 2) == (0, 0)
    one, two = check_order(hierarchy, everything, 16, 1), check_order(hierarchy, everything, 16, 2)
    assert one[0] == 1 and two[0] == 2 and two[1] > one[1] > 5
    assert check_order(hierarchy, everything, 1000, 2) == (1, 1)
