"""Dead ends and chains taken out of a graph: every distance by way of the core is the one of the whole graph."""

from __future__ import annotations

import heapq
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from tests.support.sparse_graphs import path_graph, sparse_graphs
from vkssp import UNREACHABLE, Graph, read_graph
from vkssp.generate import rmat, road_grid
from vkssp.prepared import reduction
from vkssp.prepared.reduction import Reduction, may_pay, reduce_graph
from vkssp.prepared.reduction_seeds import Surroundings
from vkssp.prepared.renumbered import RenumberedGraph


def dijkstra(first_out: Any, heads: Any, weights: Any, seeds: dict[int, int], ends: Any = None) -> dict[int, int]:
    """Return exact distances from some seeds, however large; rows may end elsewhere than where the next begins."""
    ends = first_out[1:] if ends is None else ends
    distance: dict[int, int] = {}
    heap = [(offset, node) for node, offset in seeds.items()]
    heapq.heapify(heap)
    while heap:
        near, node = heapq.heappop(heap)
        if node not in distance:
            distance[node] = near
            for arc in range(first_out[node], ends[node]):
                heapq.heappush(heap, (near + weights[arc], heads[arc]))
    return distance


class Reduced:
    """A reduction and searches by way of it, without any device."""

    def __init__(self, renumbered: RenumberedGraph) -> None:
        self.renumbered, self.reduction = renumbered, reduce_graph(renumbered)
        self.surroundings = Surroundings(self.reduction, renumbered)
        core = self.reduction.core
        self._core = core.first_out.tolist(), core.head.tolist(), core.weight.tolist()
        self._whole = renumbered.first_out.tolist(), *renumbered.arcs.T.tolist()

    def distances(self, source: int) -> tuple[list[int], bool]:
        """Return distances, UNREACHABLE where they do not fit, and whether some sum did not."""
        found = self.surroundings.search([(source, 0)])
        exact = dijkstra(*self._core, found.exits)
        overflow = found.overflow or self.reduction.saturated or any(value >= UNREACHABLE for value in exact.values())
        core = {node: value for node, value in exact.items() if value < UNREACHABLE}
        result = []
        for node, (one, from_one, two, from_two) in enumerate(self.reduction.records.tolist()):
            sides = [core[c] + w for c, w in ((one, from_one), (two, from_two)) if c in core and w != UNREACHABLE]
            best = min([found.distance(node), *sides])
            overflow |= any(side >= UNREACHABLE for side in sides)
            result.append(min(best, UNREACHABLE))
        return result, overflow

    def check(self, source: int) -> None:
        """Check all distances from a node, and that sums which do not fit are told of where they matter."""
        exact = dijkstra(*self._whole, {source: 0})
        distances, overflow = self.distances(source)
        nodes = range(self.renumbered.num_nodes)
        assert distances == [min(exact.get(node, UNREACHABLE), UNREACHABLE) for node in nodes]
        if any(value >= UNREACHABLE for value in exact.values()):
            assert overflow

    def check_all(self) -> None:
        for source in range(self.renumbered.num_nodes):
            self.check(source)


def neighbours(first_out: Any, heads: Any) -> list[set[int]]:
    """Return the neighbours of each node by arcs of either direction, without loops."""
    result: list[set[int]] = [set() for _ in range(len(first_out) - 1)]
    for tail in range(len(result)):
        for head in heads[first_out[tail] : first_out[tail + 1]].tolist():
            if head != tail:
                result[tail].add(head)
                result[head].add(tail)
    return result


def check_shape(renumbered: RenumberedGraph, reduction: Reduction) -> None:
    """Check what does not depend on weights: numbering, records of core nodes, components."""
    records, component, core = reduction.records, reduction.component, reduction.core
    nodes = np.flatnonzero(component == UNREACHABLE)
    assert len(nodes) == core.num_nodes and (core.num_nodes > 0) == (renumbered.num_nodes > 0)
    assert records[nodes, 0].tolist() == list(range(core.num_nodes))
    assert (records[nodes, 1] == 0).all() and (records[nodes, 3] == UNREACHABLE).all()
    assert (records[:, [0, 2]] < max(1, core.num_nodes)).all()
    ends = core.tail.tolist(), core.head.tolist()
    assert len(set(zip(*ends, strict=True))) == core.num_arcs and (core.tail != core.head).all()
    around = neighbours(renumbered.first_out, renumbered.arcs[:, 0])
    rows, columns = [], []
    for node, others in enumerate(around):
        for other in others:
            if component[node] != UNREACHABLE and component[other] != UNREACHABLE:
                rows.append(node)
                columns.append(other)
    links = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(renumbered.num_nodes,) * 2)
    _, label = csgraph.connected_components(links, directed=False)
    removed = np.flatnonzero(component != UNREACHABLE)
    pairs = set(zip(component[removed].tolist(), label[removed].tolist(), strict=True))
    assert len(pairs) == len(np.unique(component[removed])) == len(np.unique(label[removed]))
    sizes = np.bincount(label[removed]) if len(removed) else np.zeros(1)
    assert reduction.largest_component == sizes.max()
    assert sorted(reduction.members.tolist()) == removed.tolist()
    for part, (first, end) in enumerate(pairwise(reduction.first_member.tolist())):
        members = reduction.members[first:end]
        assert len(members) > 0 and (component[members] == part).all() and (np.diff(members.astype(np.int64)) > 0).all()


@settings(max_examples=5 * EXAMPLES)
@given(sparse_graphs())
def test_every_distance_by_way_of_the_core_is_that_of_the_whole_graph(graph: Graph) -> None:
    reduced = Reduced(RenumberedGraph(graph, "natural"))
    check_shape(reduced.renumbered, reduced.reduction)
    reduced.check_all()


@given(random_graphs(max_nodes=25))
def test_denser_graphs_are_reduced_exactly_too(graph: Graph) -> None:
    reduced = Reduced(RenumberedGraph(graph))
    check_shape(reduced.renumbered, reduced.reduction)
    reduced.check_all()


@given(sparse_graphs())
def test_nothing_is_left_that_could_be_taken_out(graph: Graph) -> None:
    both = Graph.from_edges(graph.tail, graph.head, np.ones(graph.num_arcs), num_nodes=graph.num_nodes, undirected=True)
    core = reduce_graph(RenumberedGraph(both, "natural")).core
    around = neighbours(core.first_out, core.head)
    assert all(len(others) not in (1, 2) for others in around)
    parts = sparse.csr_array((np.ones(both.num_arcs), (both.tail, both.head)), shape=(both.num_nodes,) * 2)
    assert sum(not others for others in around) <= csgraph.connected_components(parts)[0]


@pytest.mark.parametrize(
    ("graph", "core", "largest"),
    [
        (Graph.from_edges([], [], [], num_nodes=0), 0, 0),
        (Graph.from_edges([], [], [], num_nodes=1), 1, 0),
        (Graph.from_edges([0, 0], [0, 0], [5, 0]), 1, 0),  # loops
        (Graph.from_edges([], [], [], num_nodes=3), 3, 0),
        (Graph.from_edges([0, 1], [1, 0], [5, 7]), 1, 1),
        (path_graph(9), 1, 8),
        (path_graph(9, undirected=True), 1, 8),
        (Graph.from_edges([0, 1, 2], [1, 2, 0], [1, 1, 1]), 1, 2),  # a cycle
        (Graph.from_edges([0] * 6, range(1, 7), [1] * 6), 1, 1),  # a star
        (Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4], [1] * 5, undirected=True), 1, 2),  # a cycle with a tail
        (Graph.from_edges([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], [1] * 6, undirected=True), 4, 0),  # all with all
        # All with all, and a junction that gets another neighbour before its dead end goes.
        (
            Graph.from_edges([0, 0, 0, 1, 1, 2, 4, 5, 4, 4], [1, 2, 3, 2, 3, 3, 5, 0, 1, 6], [1] * 10, undirected=True),
            4,
            3,
        ),
        # Two ways round between two junctions that have a street each: the ways join, and then all is one street.
        (Graph.from_edges([4, 0, 1, 0, 2, 3], [0, 1, 3, 2, 3, 5], [1, 2, 3, 4, 5, 6], undirected=True), 1, 4),
    ],
)
def test_small_graphs_have_the_core_that_one_expects(graph: Graph, core: int, largest: int) -> None:
    reduced = Reduced(RenumberedGraph(graph, "natural"))
    assert reduced.reduction.core.num_nodes == core
    assert reduced.reduction.largest_component == largest
    check_shape(reduced.renumbered, reduced.reduction)
    reduced.check_all()


def test_records_say_how_far_nodes_of_a_chain_are_from_its_ends() -> None:
    # All with all of 0 to 3, but in the place of (0, 1) a chain 0 - 4 - 5 - 1 with a dead end 6 at 4.
    streets = [(0, 2, 9, 9), (0, 3, 9, 9), (1, 2, 9, 9), (1, 3, 9, 9), (2, 3, 9, 9)]
    streets += [(0, 4, 1, 2), (4, 5, 10, 20), (5, 1, 100, 200), (4, 6, 1000, 2000)]
    tails, heads, there, back = np.array(streets).T
    graph = Graph.from_edges([*tails, *heads], [*heads, *tails], [*there, *back])
    reduction = reduce_graph(RenumberedGraph(graph, "natural"))
    assert reduction.records[4].tolist() == [0, 1, 1, 220]
    assert reduction.records[5].tolist() == [0, 11, 1, 200]
    assert reduction.records[6].tolist() == [0, 1001, 1, 1220]
    arcs = set(zip(*(values.tolist() for values in (reduction.core.tail, reduction.core.head)), strict=True))
    weight = dict(zip(arcs, [0] * len(arcs), strict=True))
    weight |= {
        (t, h): w
        for t, h, w in zip(
            *(values.tolist() for values in (reduction.core.tail, reduction.core.head, reduction.core.weight)),
            strict=True,
        )
    }
    assert weight[0, 1] == 111 and weight[1, 0] == 222 and len(weight) == 12


def test_a_chain_whose_sum_does_not_fit_hides_no_shorter_way() -> None:
    most = 2**32 - 2
    nodes = [(0, 4, most), (4, 1, most), (0, 1, 7), (0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 3, 1), (2, 3, 1)]
    reduced = Reduced(RenumberedGraph(Graph.from_edges(*zip(*nodes, strict=True), undirected=True), "natural"))
    assert reduced.reduction.core.num_nodes == 4 and reduced.reduction.saturated
    reduced.check_all()


@given(graph=sparse_graphs(), data=st.data())
def test_searches_among_removed_nodes(graph: Graph, data: st.DataObject) -> None:
    """Against a search in the whole graph that goes on from no core node."""
    renumbered = RenumberedGraph(graph, "natural")
    reduction = reduce_graph(renumbered)
    places = st.tuples(st.integers(0, renumbered.num_nodes - 1), st.integers(0, 9))
    seeds = data.draw(st.lists(places, min_size=1, max_size=4))
    found = Surroundings(reduction, renumbered).search(seeds)
    is_core = reduction.component == UNREACHABLE
    first_out, arcs = renumbered.first_out.tolist(), renumbered.arcs.T.tolist()
    ends = [first_out[node + (not core)] for node, core in enumerate(is_core)]
    starts: dict[int, int] = {}
    for node, offset in seeds:
        starts[node] = min(offset, starts.get(node, offset))
    expected = dijkstra(first_out[:-1], *arcs, starts, ends=ends)
    near = dict(found.near.tolist())
    fit = {node: distance for node, distance in expected.items() if distance < UNREACHABLE}
    assert near == {node: distance for node, distance in fit.items() if not is_core[node]}
    cores = {int(reduction.records[node, 0]): distance for node, distance in fit.items() if is_core[node]}
    assert found.exits == cores and found.overflow == (len(fit) < len(expected))
    assert all(found.distance(node) == near.get(node, UNREACHABLE) for node in range(renumbered.num_nodes))


def test_a_way_that_does_not_fit_beside_one_that_does_is_no_overflow() -> None:
    most = 2**32 - 2
    chains = [(0, 4, 1), (4, 1, 1), (0, 5, 1), (5, 1, most)]
    core = [(0, 1, 9), (0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 3, 1), (2, 3, 1)]
    renumbered = RenumberedGraph(Graph.from_edges(*zip(*chains, *core, strict=True), undirected=True), "natural")
    reduction = reduce_graph(renumbered)
    assert reduction.core.num_nodes == 4
    surroundings = Surroundings(reduction, renumbered)
    both = surroundings.search([(4, 0), (5, 9)])
    assert both.exits[int(reduction.records[1, 0])] == 1 and not both.overflow
    assert surroundings.search([(5, 9)]).overflow


@pytest.mark.parametrize("teeth", [0, 1, 3])
def test_long_dead_ends_are_removed(teeth: int) -> None:
    spine = np.arange(20_000)
    tails, heads = [spine[:-1]], [spine[1:]]
    for tooth in range(1, teeth + 1):
        tails.append(spine)
        heads.append(spine + tooth * len(spine))
    edges = np.concatenate(tails), np.concatenate(heads)
    graph = Graph.from_edges(*edges, np.ones(len(edges[0])), undirected=True)
    reduced = Reduced(RenumberedGraph(graph, "natural"))
    assert reduced.reduction.core.num_nodes == 1
    reduced.check(len(spine) // 3)


def test_a_hub_of_very_many_chains() -> None:
    # Each leads from node 0 over two others to node 1, and all of them become parallel edges.
    count = 45_000
    first = 2 + np.arange(count)
    tails = np.concatenate([np.zeros(count, np.int64), first, first + count])
    heads = np.concatenate([first, first + count, np.ones(count, np.int64)])
    weights = np.concatenate([np.arange(count) % 90 + 5] * 3)
    reduced = Reduced(RenumberedGraph(Graph.from_edges(tails, heads, weights, undirected=True), "natural"))
    assert reduced.reduction.core.num_nodes == 1
    reduced.check(77)


def test_a_long_ladder_is_removed_rung_by_rung() -> None:
    rungs = np.arange(300)
    tails = np.concatenate([rungs[:-1], rungs[:-1] + 300, rungs])
    heads = np.concatenate([rungs[1:], rungs[1:] + 300, rungs + 300])
    graph = Graph.from_edges(tails, heads, np.arange(len(tails)) % 7 + 1, undirected=True)
    reduced = Reduced(RenumberedGraph(graph, "natural"))
    assert reduced.reduction.core.num_nodes == 1
    check_shape(reduced.renumbered, reduced.reduction)
    for source in (0, 17, 150, 451):
        reduced.check(source)


def test_indices_of_more_than_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    renumbered = RenumberedGraph(road_grid(30))
    narrow = reduce_graph(renumbered)
    monkeypatch.setattr(reduction, "MOST_ITEMS", 0)
    wide = reduce_graph(renumbered)
    for one, other in ((wide, narrow), (wide.core, narrow.core)):
        for name in ("records", "component", "members") if one is wide else ("first_out", "head", "weight"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_a_street_map_keeps_its_distances(andorra_path: Path) -> None:
    reduced = Reduced(RenumberedGraph(read_graph(andorra_path, turns="none")))
    whole = reduced.renumbered
    assert reduced.reduction.core.num_nodes < whole.num_nodes / 3 and reduced.reduction.pays
    flat = Graph.from_csr(whole.first_out, *whole.arcs.T)
    removed = np.flatnonzero(reduced.reduction.component != UNREACHABLE)
    for source in (*removed[:: len(removed) // 4].tolist(), *np.setdiff1d(range(50), removed)[:2].tolist()):
        assert reduced.distances(source)[0] == scipy_dijkstra(flat, source).tolist()


def test_reduction_is_left_out_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(graph: Graph) -> tuple[bool, bool]:
        renumbered = RenumberedGraph(graph)
        return may_pay(renumbered), reduce_graph(renumbered).pays

    assert verdict(road_grid(64, shape_nodes=3)) == (True, True)
    assert verdict(road_grid(32, shape_nodes=3)) == (False, True)  # but it is small
    assert verdict(grid(110)) == (False, False)
    # Each node of a directed torus has two arcs out and two in, to and from four others.
    ids = np.arange(120 * 120).reshape(120, 120)
    heads = np.concatenate([np.roll(ids, 1, axis=0).ravel(), np.roll(ids, 1, axis=1).ravel()])
    torus = Graph.from_edges(np.tile(ids.ravel(), 2), heads, np.ones(len(heads)))
    assert verdict(torus) == (False, False)
    assert verdict(rmat(14, 4)) == (False, False)  # most of its nodes have no neighbour, or are leaves of few hubs
    half_would_go = road_grid(128)
    assert verdict(half_would_go) == (True, True)
    monkeypatch.setattr(reduction, "SMALL", half_would_go.num_nodes - 1)
    assert verdict(half_would_go) == (False, False)
    # All nodes of a comb go: each leaf frees the node that it hangs from.
    spine = np.arange(20_000)
    comb = np.append(spine[:-1], spine), np.append(spine[1:], spine + 20_000)
    assert verdict(Graph.from_edges(*comb, np.ones(len(comb[0])), undirected=True)) == (True, True)
    # Several arcs may lead to one neighbour.
    streets = road_grid(32, shape_nodes=10)
    arcs = (np.tile(values, 2) for values in (streets.tail, streets.head, streets.weight))
    assert verdict(Graph.from_edges(*arcs)) == (True, True)
    assert not verdict(rmat(10, 16))[1]
    # All but one node would go, but a search from any of them would be one on the host.
    assert verdict(path_graph(70_000, undirected=True)) == (True, False)


def test_seeds_in_many_components() -> None:
    """Against a search that relaxes no arcs of core nodes, also where sums do not fit."""
    graph = road_grid(40, shape_nodes=2)
    renumbered = RenumberedGraph(graph)
    reduced = reduce_graph(renumbered)
    surroundings = Surroundings(reduced, renumbered)
    rng = np.random.default_rng(4)
    is_core = reduced.component == UNREACHABLE
    removed = np.flatnonzero(~is_core)
    assert len(removed) > 1000
    first_out, arcs = renumbered.first_out.tolist(), renumbered.arcs.T.tolist()
    ends = [first_out[node + (not core)] for node, core in enumerate(is_core)]
    for node in rng.choice(removed, 30).tolist():
        beside = np.flatnonzero(reduced.component == reduced.component[node]).tolist()
        more = [(int(other), 9) for other in rng.integers(graph.num_nodes, size=40)]
        seeds = [(node, int(rng.choice([0, 7, 2**32 - 50]))), (beside[0], 3), *more]
        starts: dict[int, int] = {}
        for place, offset in seeds:
            starts[place] = min(offset, starts.get(place, offset))
        expected = dijkstra(first_out[:-1], *arcs, starts, ends=ends)
        found = surroundings.search(seeds)
        near = {place: distance for place, distance in expected.items() if not is_core[place]}
        assert dict(found.near.tolist()) == {place: near[place] for place in near if near[place] < UNREACHABLE}
        assert len(found.exits) == sum(is_core[place] for place in expected)


def test_a_ring_whose_whole_length_fits_is_no_overflow() -> None:
    ring, weight = np.arange(6), 1 << 28
    streets = [*zip(ring, (ring + 1) % 6, strict=True), *((6 + k, 7 + k) for k in range(60))]
    graph = Graph.from_edges(*zip(*streets, strict=True), [weight] * 6 + [1] * 60, undirected=True)
    assert not reduce_graph(RenumberedGraph(graph, "natural")).saturated
    heavy = Graph.from_edges(*zip(*streets, strict=True), [1] * 6 + [weight] * 60, undirected=True)
    assert reduce_graph(RenumberedGraph(heavy, "natural")).saturated


def test_a_detour_that_does_not_fit_is_no_overflow() -> None:
    """Node 4 of a chain 0 - 4 - 5 - 1 is reached from node 0 by one arc, or by way of node 5, which does not fit."""
    core = [(0, 1, 9), (0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 3, 1), (2, 3, 1)]
    core += [(head, tail, weight) for tail, head, weight in core]
    chain = [(0, 4, 100), (4, 5, 100), (5, 1, 100), (1, 5, 1), (5, 4, 2**32 - 4), (4, 0, 1)]
    reduced = Reduced(RenumberedGraph(Graph.from_edges(*zip(*core, *chain, strict=True)), "natural"))
    assert reduced.reduction.core.num_nodes == 4 and not reduced.reduction.saturated
    reduced.check_all()
