from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from tests.support.hierarchies import Query, depths, eliminated, heights, lists
from vkssp import Graph, GraphError, QueryError, jit, prepare, read_graph
from vkssp.graph.hierarchy import RELAX, Hierarchy
from vkssp.hierarchy import dissection, limits, supernodes
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import Elimination, eliminate
from vkssp.hierarchy.metis import MetisProcess
from vkssp.hierarchy.supernodes import build

pytest.importorskip("numba")
pytest.importorskip("pymetis")


def star(leaves: int) -> Graph:
    return Graph.from_edges(np.zeros(leaves, int), np.arange(1, leaves + 1), np.ones(leaves, int))


def path(nodes: int) -> Graph:
    return Graph.from_edges(np.arange(nodes - 1), np.arange(1, nodes), np.arange(nodes - 1))


def clique(nodes: int) -> Graph:
    tail, head = np.triu_indices(nodes, 1)
    return Graph.from_edges(tail, head, np.ones(len(tail), int))


def of(graph: Graph) -> Hierarchy:
    """Return the hierarchy of a graph."""
    hierarchy = prepare(graph).hierarchy
    assert hierarchy is not None
    return hierarchy


def in_some_order(graph: Graph, seed: int) -> Elimination:
    """Return an elimination in a random order, which joins far more than a good one."""
    return eliminate(Edges.of(graph), np.random.default_rng(seed).permutation(graph.num_nodes).astype(np.uint32))


ODD = {
    "nothing": Graph.from_edges([], [], []),
    "one node": Graph.from_edges([], [], [], num_nodes=1),
    "a loop": Graph.from_edges([0, 0], [0, 0], [0, 3]),
    "no arcs": Graph.from_edges([], [], [], num_nodes=7),
    "two that are far": Graph.from_edges([0, 5], [1, 4], [2, 0], num_nodes=6),
    "parallels": Graph.from_edges([0, 1, 0, 0], [1, 0, 1, 1], [3, 0, 2, 9]),
    "star": star(40),
    "path": path(60),
    "clique": clique(12),
    "grid": grid(7),
    "one place": Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, 1], lat=[1] * 4, lon=[2] * 4),
}


@given(random_graphs(), st.integers(0, 2**32 - 1))
def test_what_is_counted_is_what_elimination_leaves(graph: Graph, seed: int) -> None:
    found = in_some_order(graph, seed)
    order = np.random.default_rng(seed).permutation(graph.num_nodes).tolist()
    left = eliminated(graph, found.node.tolist())
    rank = {int(node): at for at, node in enumerate(found.node)}
    # The postorder joins the same pairs as the order that was asked for.
    pairs = {frozenset((u, v)) for u, above in left.items() for v in above}
    assert pairs == {frozenset((u, v)) for u, above in eliminated(graph, order).items() for v in above}
    assert found.count.tolist() == [len(left[node]) for node in found.node.tolist()]
    assert found.num_arcs == len(pairs)
    parents = [min((rank[v] for v in left[node]), default=-1) for node in found.node.tolist()]
    assert found.parent.tolist() == parents
    above = [0] * graph.num_nodes
    for at in range(graph.num_nodes - 1, -1, -1):
        above[at] = above[parents[at]] + 1 if parents[at] >= 0 else 0
    assert found.tree_height == max(above) + 1


@given(random_graphs(), st.integers(0, 2**32 - 1))
def test_supernodes_have_the_lists_of_elimination(graph: Graph, seed: int) -> None:
    elimination = in_some_order(graph, seed)
    hierarchy = build(elimination)
    hierarchy.check(graph)
    left, above = eliminated(graph, elimination.node.tolist()), lists(hierarchy)
    for rank, all_above in enumerate(above):
        wanted = {int(hierarchy.rank[node]) for node in left[int(hierarchy.node[rank])]}
        assert all_above == sorted(all_above) and wanted <= set(all_above)
        assert len(all_above) - len(wanted) <= RELAX
        if rank in hierarchy.first_node:  # the list of the first node is that of the supernode, without more
            assert wanted == set(all_above)
    level = np.repeat(np.arange(hierarchy.num_levels), np.diff(hierarchy.first_of_level))
    for group, first in enumerate(hierarchy.first_node[:-1].tolist()):
        # Each level has what it can have, all of it right below the one before.
        assert level[group] == (level[hierarchy.supernode[above[first][-1]]] + 1 if above[first] else 0)
    assert len(np.unique(hierarchy.node)) == graph.num_nodes == hierarchy.num_nodes


@given(random_graphs(max_nodes=40), st.integers(0, 2**32 - 1))
def test_arcs_depths_and_heights(graph: Graph, seed: int) -> None:
    hierarchy = build(in_some_order(graph, seed))
    above = lists(hierarchy)
    assert hierarchy.depth.tolist() == depths(above) and hierarchy.height.tolist() == heights(above)
    number = {}
    for low, all_above in enumerate(above):
        number |= {(low, high): len(number) + at for at, high in enumerate(all_above)}
    assert hierarchy.num_arcs == len(number)
    one, other = (ends.ravel() for ends in np.indices((graph.num_nodes, graph.num_nodes)))
    wanted = [number.get((max(pair), min(pair)), -1) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    assert hierarchy.arcs_of(one, other).tolist() == wanted
    ranks = one.astype(np.uint32), other.astype(np.uint32)
    assert hierarchy.arcs_of(*ranks).tolist() == wanted
    assert hierarchy.are_joined(*ranks).tolist() == [
        arc >= 0 or low == high for arc, low, high in zip(wanted, one.tolist(), other.tolist(), strict=True)
    ]


@given(random_graphs(max_nodes=40))
def test_distances_by_the_hierarchy_are_those_of_dijkstra(graph: Graph) -> None:
    hierarchy = of(graph)
    hierarchy.check(graph)
    query = Query(graph, hierarchy)
    for source in range(0, graph.num_nodes, 7):
        assert np.array_equal(query.distances(source), scipy_dijkstra(graph, source))


@pytest.mark.parametrize("name", ODD)
def test_odd_graphs(name: str) -> None:
    graph = ODD[name]
    hierarchy = of(graph)
    hierarchy.check(graph)
    query = Query(graph, hierarchy)
    for source in range(graph.num_nodes):
        assert np.array_equal(query.distances(source), scipy_dijkstra(graph, source))


def test_good_orders_make_low_trees() -> None:
    for graph in (star(3000), path(3000)):
        # As deep as halving it again and again, or a hub above all else.
        assert of(graph).depth.max() < 4 * np.log2(graph.num_nodes)
    assert of(clique(50)).num_supernodes == 1
    natural = eliminate(Edges.of(grid(40)), np.arange(1600, dtype=np.uint32))
    found = of(grid(40))
    assert found.tree_height < natural.tree_height and found.num_arcs < natural.num_arcs


def test_ids_and_coordinates_make_no_difference_to_the_size() -> None:
    graph = grid(40, seed=3)
    shuffled = np.random.default_rng(1).permutation(graph.num_nodes)
    other = Graph.from_edges(shuffled[graph.tail], shuffled[graph.head], graph.weight)
    assert of(other).num_arcs < min(1.3 * of(graph).num_arcs, in_some_order(graph, 1).num_arcs)


@given(random_graphs(max_nodes=30), st.integers(0, 2**32 - 1))
def test_weights_and_runs_make_no_difference(graph: Graph, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 1000, graph.num_arcs).astype(np.uint32)
    one, other = of(graph), of(graph.with_weights(weights))
    for name in Hierarchy.ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_a_real_map(andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    hierarchy = of(graph)
    hierarchy.check(graph)
    above = lists(hierarchy)
    assert hierarchy.depth.tolist() == depths(above) and hierarchy.height.tolist() == heights(above)
    query = Query(graph, hierarchy)
    for source in (0, graph.num_nodes // 2):
        assert np.array_equal(query.distances(source), scipy_dijkstra(graph, source))


def test_graphs_keep_it_where_it_holds() -> None:
    graph = prepare(grid(9))
    assert repr(graph) == "Graph(81 nodes, 288 arcs, coordinates, hierarchy)"
    assert graph.with_weights(np.zeros(graph.num_arcs, np.uint32)).hierarchy is graph.hierarchy
    assert graph.reversed()[0].hierarchy is None
    assert prepare(graph).hierarchy is not graph.hierarchy


def test_graphs_without_small_separators_are_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissection, "NODES_A_PART", 1000)
    monkeypatch.setattr(limits, "FEW_ARCS", 0)
    asked = []
    ask = MetisProcess.ask
    monkeypatch.setattr(MetisProcess, "ask", lambda self, *graph: asked.append(graph[2:3]) or ask(self, *graph))
    with pytest.raises(
        GraphError, match=r"would have about [\d,]+ arcs, [\d,]+ for each of the 32,768 nodes.*near_far"
    ):
        prepare(read_graph("rmat:15"))
    assert set(asked) == {(16,)}  # parts were made, and none of them ordered
    # What has few arcs in all is taken, as it is.
    assert of(read_graph("rmat:8")).num_arcs > 0
    graph = grid(30)
    monkeypatch.setattr(limits, "FEW_ARCS", 0)
    known = of(graph).num_arcs
    with monkeypatch.context() as patch:
        patch.setattr(limits, "MOST_ARCS_A_NODE", 1)
        with pytest.raises(GraphError, match="too many to be of use; search it without preparing it"):
            prepare(graph)
    # What can be numbered is asked of the good order only, and in the end.
    monkeypatch.setattr(limits, "MOST_ARCS", known)
    of(graph)
    monkeypatch.setattr(limits, "MOST_ARCS", known - 1)
    with pytest.raises(GraphError, match=rf"would have {known:,} arcs, \d+ for each of the 900 nodes"):
        prepare(graph)


def test_what_would_be_too_high_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(12)
    hierarchy = of(graph)
    height = int(hierarchy.depth.max()) + 1
    for limit, is_refused in ((height, False), (height - 1, True)):
        monkeypatch.setattr("vkssp.hierarchy.limits.MOST_HEIGHT", limit)
        monkeypatch.setattr("vkssp.graph.hierarchy.MOST_HEIGHT", limit)
        if not is_refused:
            of(graph)
            hierarchy.check(graph)
            continue
        with pytest.raises(GraphError, match=f"{height} nodes, and {limit} can be searched"):
            prepare(graph)
        with pytest.raises(GraphError, match=f"more than {limit}"):
            hierarchy.check(graph)


def test_cores_that_metis_cannot_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(12)
    count = 2 * len(Core.of(Edges.of(graph)).edges.low)
    monkeypatch.setattr("vkssp.hierarchy.metis.MOST_NEIGHBOURS", count)
    of(graph)
    monkeypatch.setattr("vkssp.hierarchy.metis.MOST_NEIGHBOURS", count - 1)
    with pytest.raises(
        GraphError, match=rf"METIS can number {count - 1} neighbours of nodes, and the graph .* has {count};"
    ):
        prepare(graph)


@pytest.mark.parametrize("missing", ["numba", "pymetis"])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    jit.kernels.cache_clear()
    with pytest.raises(QueryError, match=rf"{missing}.*install it.* pip install {missing}|'pip install {missing}'"):
        prepare(grid(3))


def test_supernodes_are_made_in_any_number_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(40, seed=5)
    whole = of(graph)
    for fewest in (1, 30):
        monkeypatch.setattr(supernodes, "FEWEST_NODES", fewest)
        parts = of(graph)
        for name in Hierarchy.ARRAYS:
            assert np.array_equal(getattr(parts, name), getattr(whole, name))
