"""Restricted streets by copies of nodes, against a search that knows the rule."""

from __future__ import annotations

import heapq

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vkssp.osm.layers import split_layers, with_enclaves

Arcs = list[tuple[int, int, int, bool]]


def lawful_distances(arcs: Arcs, source: int) -> dict[int, int]:
    """Return distances of trips on restricted arcs first, then on others, then on restricted ones again."""
    found: dict[tuple[int, int], int] = {}
    queue = [(0, 0, source)]
    while queue:
        distance, phase, node = heapq.heappop(queue)
        if (phase, node) in found:
            continue
        found[phase, node] = distance
        for tail, head, weight, restricted in arcs:
            if tail == node and (restricted or phase < 2):
                # 0: restricted arcs only so far; 1: on the others; 2: back on restricted ones.
                after = (phase if phase != 1 else 2) if restricted else 1
                heapq.heappush(queue, (distance + weight, after, head))
    best: dict[int, int] = {}
    for (_, node), distance in found.items():
        best[node] = min(distance, best.get(node, distance))
    return best


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 20), st.booleans()), min_size=1, max_size=24
    ),
    st.integers(0, 6),
)
def test_trips_are_lawful_and_shortest(arcs: Arcs, source: int) -> None:
    tail, head, weight, restricted = (np.array(column) for column in zip(*arcs, strict=True))
    layered = split_layers(tail, head, restricted.astype(bool), 7)
    copies = [(int(u), int(v), int(weight[a]), False) for u, v, a in zip(*layered[:3], strict=True)]
    for u, v, a in zip(*layered[:3], strict=True):
        assert (layered.node[u], layered.node[v]) == (tail[a], head[a])
    found: dict[int, int] = {}
    for start in np.flatnonzero(layered.node == source).tolist():
        for node, distance in lawful_distances(copies, start).items():
            place = int(layered.node[node])
            found[place] = min(distance, found.get(place, distance))
    expected = lawful_distances(arcs, source)
    if not np.isin(source, layered.node):
        assert expected == {source: 0}
    else:
        assert found == expected


def reach(arcs: Arcs, source: int) -> set[int]:
    return set(lawful_distances([(u, v, w, False) for u, v, w, _ in arcs], source))


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 20), st.booleans()), min_size=1, max_size=24
    )
)
def test_enclaves_are_reached_and_nothing_else_changes(arcs: Arcs) -> None:
    tail, head, _, restricted = (np.array(column) for column in zip(*arcs, strict=True))
    bound = with_enclaves(tail, head, restricted.astype(bool), 8)
    assert bound[restricted].all()
    marked = [(u, v, w, bool(b)) for (u, v, w, _), b in zip(arcs, bound, strict=True)]
    beside = {node for (u, v, _, closed), b in zip(arcs, bound, strict=True) if b and not closed for node in (u, v)}
    whole, free = nx.Graph(), nx.DiGraph()
    for graph in (whole, free):
        graph.add_nodes_from(range(8))
    whole.add_edges_from((u, v) for u, v, _, _ in arcs)
    free.add_edges_from((u, v) for u, v, _, closed in arcs if not closed)
    for part in nx.connected_components(whole):
        pieces = [piece for piece in nx.strongly_connected_components(free) if piece <= part]
        core = max(pieces, key=lambda piece: (len(piece), max(piece)))
        for node in part:
            before, after = lawful_distances(arcs, node), lawful_distances(marked, node)
            # Whatever there is a way to, there is a lawful one to or from the core.
            assert core & set(after) == core & reach(arcs, node)
            if node in core:
                assert set(after) == reach(arcs, node)
            # Who begins or ends where an enclave does may go through it, as with any restricted street.
            if node in core - beside:
                inner = core - beside
                assert {n: d for n, d in before.items() if n in inner} == {n: d for n, d in after.items() if n in inner}
            assert all(after[other] <= distance for other, distance in before.items())


def test_only_streets_near_restricted_ones_become_enclaves() -> None:
    # A ring 0-1-2, a one-way street 2-3-4 off the map, and 5-6, which the restricted 2-5 leads to.
    tail, head = np.array([0, 1, 2, 2, 3, 2, 5, 6]), np.array([1, 2, 0, 3, 4, 5, 6, 5])
    restricted = np.arange(8) == 5
    assert np.flatnonzero(with_enclaves(tail, head, restricted, 7)).tolist() == [5, 6, 7]
    assert with_enclaves(tail, head, ~restricted | restricted, 7).all()
    assert not with_enclaves(tail, head, np.zeros(8, bool), 7).any()


def test_without_restrictions_nothing_is_copied() -> None:
    layered = split_layers(np.array([0, 3]), np.array([3, 1]), np.zeros(2, bool), 5)
    assert layered.node.tolist() == [0, 1, 3]
    assert layered.tail.tolist() == [0, 2] and layered.head.tolist() == [2, 1]
    assert layered.arc.tolist() == [0, 1]


def test_copies_of_one_restricted_arc() -> None:
    # A street 0 -> 1, and a private drive 1 -> 2.
    layered = split_layers(np.array([0, 1]), np.array([1, 2]), np.array([False, True]), 3)
    assert layered.node.tolist() == [0, 1, 1, 2, 1, 2]  # two main nodes, two at the start, two at the end
    arcs = sorted(zip(layered.tail.tolist(), layered.head.tolist(), strict=True))
    assert arcs == [(0, 1), (1, 5), (2, 3), (4, 5)]
