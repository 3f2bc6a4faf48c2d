"""The numbering by hops from landmarks, where it is taken, and where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES
from tests.support.graphs import heap_dijkstra, random_graphs, scipy_dijkstra
from vkssp import Graph, GraphError, Order, Solver, landmark_order
from vkssp.cli import main
from vkssp.generate import from_expression, road_grid
from vkssp.gpu.device import Device
from vkssp.graph import landmarks
from vkssp.graph.landmarks import leaving_share, road_order
from vkssp.prepared.renumbered import ORDERS, RenumberedGraph

EMPTY = Graph.from_csr([0], [], [])


def order_of(graph: Graph) -> Order:
    return landmark_order(graph.first_out, graph.head)


def shuffled(graph: Graph, seed: int = 0) -> tuple[Graph, Order]:
    """Return a graph without places numbered at random, and the order that has its old ids back."""
    name = np.random.default_rng(seed).permutation(graph.num_nodes)
    tails, heads = name[graph.tail], name[graph.head]
    return Graph.from_edges(tails, heads, graph.weight, num_nodes=graph.num_nodes), Order.from_nodes(name)


def components(graph: Graph) -> Any:
    """Return the component of each node, by scipy over a matrix of coordinates."""
    there = np.ones(graph.num_arcs, np.int64)
    matrix = sparse.coo_array((there, (graph.tail, graph.head)), shape=(graph.num_nodes,) * 2)
    return csgraph.connected_components(matrix, directed=True, connection="weak")[1]


def check_order(graph: Graph, order: Order) -> None:
    """Check that an order has every node once, and each component without a gap."""
    assert order.node.dtype == order.rank.dtype == np.uint32
    assert np.array_equal(np.sort(order.node), np.arange(graph.num_nodes))
    assert np.array_equal(order.rank[order.node], np.arange(graph.num_nodes))
    along = components(graph)[order.node]
    changes = int(np.count_nonzero(along[1:] != along[:-1]))
    assert changes == len(np.unique(along)) - 1


@given(graph=random_graphs())
def test_every_node_is_there_once_and_components_stay_together(graph: Graph) -> None:
    check_order(graph, order_of(graph))


@settings(max_examples=max(3, EXAMPLES // 3))
@given(sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=5), seed=st.integers(0, 2**32 - 1))
def test_components_larger_than_blocks_stay_together(sizes: list[int], seed: int) -> None:
    # Trees: each node but the first has one arc, to or from a node before it.
    rng = np.random.default_rng(seed)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    node = np.arange(len(first))
    before = first + rng.integers(0, np.maximum(node - first, 1))
    tail, head = np.where(rng.random(len(node)) < 0.5, (node, before), (before, node))
    ordered = Graph.from_edges(tail, head, np.ones(len(node)), num_nodes=len(node))
    graph, _ = shuffled(ordered, seed)
    check_order(graph, order_of(graph))


@settings(max_examples=max(3, EXAMPLES // 2))
@given(graph=random_graphs(), data=st.data())
def test_the_order_depends_on_neither_directions_nor_weights_nor_parallel_arcs(
    graph: Graph, data: st.DataObject
) -> None:
    turned = np.array(data.draw(st.lists(st.booleans(), min_size=graph.num_arcs, max_size=graph.num_arcs)), bool)
    tail, head = np.where(turned, graph.head, graph.tail), np.where(turned, graph.tail, graph.head)
    loop = np.arange(graph.num_nodes)
    tails, heads = np.concatenate([tail, tail, loop]), np.concatenate([head, head, loop])
    other = Graph.from_edges(tails, heads, np.full(len(tails), 7), num_nodes=graph.num_nodes)
    assert np.array_equal(order_of(other).node, order_of(graph).node)


def test_without_arcs_nothing_changes() -> None:
    for graph in (EMPTY, Graph.from_csr([0, 0], [], []), Graph.from_csr([0] * 5001, [], [])):
        assert order_of(graph).is_identity
        assert leaving_share(graph.first_out, graph.head) == 0


def test_a_path_leaves_each_block_once() -> None:
    path = Graph.from_edges(np.arange(4999), np.arange(1, 5000), np.ones(4999))
    graph, old = shuffled(path)
    along = order_of(graph).rank[old.node] // landmarks.BLOCK
    assert np.count_nonzero(along[1:] != along[:-1]) == len(path.first_out) // landmarks.BLOCK


def test_hops_are_those_of_scipy() -> None:
    graph, _ = shuffled(road_grid(24, seed=5))
    hops = landmarks.Hops(graph.first_out, graph.head)
    score = np.random.default_rng(1).integers(0, 9, graph.num_nodes).astype(np.int32)
    roots = hops.top(score)
    for component, root in enumerate(roots.tolist()):
        inside = np.flatnonzero(hops.component == component)
        assert root == inside[np.argmax(score[inside])]  # the first of those with the highest
    expected = csgraph.dijkstra(graph.to_scipy(), directed=False, unweighted=True, indices=roots).min(axis=0)
    assert np.array_equal(hops.depth(roots), expected)


@pytest.mark.parametrize("keep", [0.62, 1.0])
def test_few_arcs_leave_blocks_of_a_shuffled_grid(keep: float) -> None:
    graph, old = shuffled(road_grid(160, keep=keep))
    z = leaving_share(graph.first_out, graph.head, old)
    assert leaving_share(graph.first_out, graph.head) > 0.9 and 0 < z < 0.05
    assert leaving_share(graph.first_out, graph.head, order_of(graph)) < (1.5 if keep < 1 else 2) * z


def test_the_share_of_arcs_that_leave_blocks() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1, 1, 1, 1])
    assert leaving_share(graph.first_out, graph.head, block=2) == 0.5
    assert leaving_share(graph.first_out, graph.head, Order.from_nodes([0, 2, 1, 3]), block=2) == 1
    assert leaving_share(graph.first_out, graph.head, block=4) == 0


def test_auto_takes_the_order_for_a_shuffled_road_network() -> None:
    graph, _ = shuffled(road_grid(160))
    taken = road_order(graph)
    assert taken is not None and np.array_equal(taken.node, order_of(graph).node)
    for order in ("auto", "landmarks"):
        renumbered = RenumberedGraph(graph, order)
        assert not renumbered.is_identity
        assert np.array_equal(renumbered.node, taken.rank)


def cube() -> Graph:
    """Return a grid of 32 * 32 * 32 nodes along its Z-order curve, better than any map of two axes has it."""
    bits = np.arange(2**15).reshape((2,) * 15)
    number = bits.transpose([*range(0, 15, 3), *range(1, 15, 3), *range(2, 15, 3)]).reshape(32, 32, 32)
    tail = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel(), number[:, :, :-1].ravel()])
    head = np.concatenate([number[1:].ravel(), number[:, 1:].ravel(), number[:, :, 1:].ravel()])
    return Graph.from_edges(tail, head, np.ones(len(tail)), undirected=True)


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(EMPTY, id="empty"),
        pytest.param(shuffled(road_grid(100))[0], id="small"),
        pytest.param(from_expression("rmat:15"), id="rmat"),
        pytest.param(from_expression("gnm:30000,60000"), id="near"),
        pytest.param(road_grid(160), id="good already"),
        pytest.param(cube(), id="better"),
    ],
)
def test_auto_keeps_the_ids_of_other_graphs(graph: Graph) -> None:
    assert road_order(graph) is None
    assert RenumberedGraph(graph).is_identity


@pytest.mark.parametrize("graph", [shuffled(road_grid(100))[0], from_expression("rmat:15"), road_grid(160)])
def test_auto_searches_no_graph_that_cannot_need_it(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("a search was made")

    monkeypatch.setattr(landmarks, "Hops", never)
    assert RenumberedGraph(graph).is_identity


def test_coordinates_come_first() -> None:
    graph, _ = shuffled(road_grid(160))
    same = np.zeros(graph.num_nodes)
    assert RenumberedGraph(Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=same, lon=same)).is_identity


@settings(max_examples=max(3, EXAMPLES // 4))
@given(graph=random_graphs(), data=st.data())
def test_every_order_has_the_same_distances(device: Device, graph: Graph, data: st.DataObject) -> None:
    source, target = (data.draw(st.integers(0, graph.num_nodes - 1)) for _ in range(2))
    expected = heap_dijkstra(graph, source)
    for order in ORDERS:
        if order == "z" and graph.lat is None:
            continue
        for algorithm in ("near_far", "block_resident"):
            with Solver(graph, algorithm, device, order=order) as solver:
                assert np.array_equal(solver.distances(source), expected)
                assert solver.distance(source, target) == expected[target]


def test_fewer_blocks_are_visited_and_distances_stay(device: Device) -> None:
    graph, _ = shuffled(road_grid(150))
    expected, visited = scipy_dijkstra(graph, 3), {}
    for order in ("natural", "auto", "landmarks"):
        with Solver(graph, "block_resident", device, order=order) as solver:
            assert np.array_equal(solver.distances(3), expected)
            assert solver.last is not None
            visited[order] = solver.last.counters["blocks"]
    assert 3 * visited["auto"] < visited["natural"] > 3 * visited["landmarks"]


def test_too_large_a_graph_is_refused_or_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = shuffled(road_grid(160))
    monkeypatch.setattr(landmarks, "MOST_ENTRIES", 2 * graph.num_arcs + graph.num_nodes - 1)
    with pytest.raises(GraphError, match=r"arcs are too many for the order 'landmarks'; use 'natural'"):
        order_of(graph)
    assert road_order(graph) is None


def test_the_command_line_takes_an_order(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, _ = shuffled(road_grid(40))
    graph.save(tmp_path / "g")
    asked = []
    original = RenumberedGraph.__init__

    def watched(self: RenumberedGraph, graph: Graph, order: str = "auto", **options: Any) -> None:
        asked.append(order)
        original(self, graph, order, **options)

    monkeypatch.setattr(RenumberedGraph, "__init__", watched)
    query = ["distances", str(tmp_path / "g"), "--source", "3", "--output", str(tmp_path / "d.npy")]
    for arguments, order in (
        ([], "auto"),
        (["--order", "landmarks"], "landmarks"),
        (["--order", "natural"], "natural"),
    ):
        assert main([*query, *arguments]) == 0
        assert asked.pop() == order
        assert np.array_equal(np.load(tmp_path / "d.npy"), scipy_dijkstra(graph, 3))
    with pytest.raises(SystemExit):
        main([*query, "--order", "random"])
    assert "invalid choice: 'random'" in capsys.readouterr().err
