from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.support.graphs import grid, random_graphs
from tests.support.streetmaps import street_map
from vkssp import Graph, GraphError, Order, prepare, z_order
from vkssp.prepared.renumbered import RenumberedGraph


def test_from_edges_sorts_by_tail_and_keeps_parallel_arcs_and_loops() -> None:
    graph = Graph.from_edges([2, 0, 2, 0, 1], [1, 1, 1, 0, 2], [5, 7, 6, 1, 0])
    assert graph.first_out.tolist() == [0, 2, 3, 5]
    assert graph.head.tolist() == [1, 0, 2, 1, 1]
    assert graph.weight.tolist() == [7, 1, 0, 5, 6]
    assert graph.tail.tolist() == [0, 0, 1, 2, 2]
    assert {a.dtype for a in (graph.first_out, graph.head, graph.weight, graph.tail)} == {np.dtype(np.uint32)}


def test_more_arcs_than_offsets_can_number_are_refused_before_memory_is_taken() -> None:
    words = r"has 4294967296 entries; a graph holds at most 4294967295 arcs, so leave out arcs"
    many = np.broadcast_to(np.uint8(0), 2**32)  # a single byte
    with pytest.raises(GraphError, match=f"tail {words}"):
        Graph.from_edges(many, many, many)
    with pytest.raises(GraphError, match=f"head {words}"):
        Graph.from_csr([0], many, many)
    with pytest.raises(GraphError, match="tail has 2147483648 entries, each an arc in both directions; a graph holds"):
        Graph.from_edges(many[: 2**31], many[: 2**31], many[: 2**31], undirected=True)


def test_undirected_edges_become_two_arcs_and_loops_one() -> None:
    graph = Graph.from_edges([0, 1], [1, 1], [3, 4], undirected=True)
    assert sorted(zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)) == [
        (0, 1, 3),
        (1, 0, 3),
        (1, 1, 4),
    ]


def test_the_graph_does_not_change_when_the_callers_arrays_do_and_cannot_be_changed() -> None:
    first_out, head, weight = (np.array(values, np.uint32) for values in ([0, 1, 2], [1, 0], [1, 2]))
    lat = np.array([1.0, 2.0])
    graph = Graph.from_csr(first_out, head, weight, lat=lat, lon=lat)
    with pytest.raises(ValueError, match="read-only"):
        graph.weight[0] = 9
    for array in (first_out, head, weight, lat):
        array[:] = 77
    assert graph.first_out.tolist() == [0, 1, 2] and graph.head.tolist() == [1, 0] and graph.weight.tolist() == [1, 2]
    assert graph.lat is not None and graph.lat.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("first_out", "head", "weight", "words"),
    [
        ([], [], [], "first_out is empty"),
        ([1, 1], [], [], "first_out.0. is 1; it must be 0"),
        ([0, 2, 1], [0, 0], [1, 1], "first_out falls from 2 to 1 at 2"),
        ([0, 1], [0, 0], [1, 1], "first_out ends at 1 but there are 2 arcs"),
        ([0, 1], [1], [1], "head.0. is 1; node ids go from 0 to 0"),
        ([0, 1], [-1], [1], "head.0. is -1; node ids must not be negative"),
        ([0, 1], [0], [1, 2], "weight has 2 entries and head has 1"),
        ([0, 1], [0], [-5], "weight.0. is -5; weights must not be negative"),
        ([0, 1], [0], [float("nan")], "weight.0. is nan; give finite weights"),
        ([0, 2], [0, 0], [1.0, float("inf")], "weight.1. is inf; give finite weights, and leave out arcs"),
        ([0, 1], [0], [-0.5], "weight.0. is -0.5; weights must not be negative"),
        ([0, 2], [0, 0], np.ma.masked_array([1.0, 2.0], [False, True]), "weight has masked entries"),
        ([0, 1], [0], [2**32 - 1], "weight.0. is 4294967295; the largest of weights that can be held is 4294967294"),
        ([0, 1], [0], [2**40], "weight.0. is 1099511627776; the largest .*; floats, such as .*, may be larger"),
        ([0, 1], [0], np.array([2**32 - 1], np.uint32), "weight.0. is 4294967295"),
        ([0, 1], [0], np.array([np.inf], np.float16), "weight.0. is inf"),
        ([0, 1], [0], [[1], [2, 3]], "weight is no array of numbers"),
        ([0, 1], [0], ["a"], "weight has dtype"),
        ([[0, 1]], [0], [1], "first_out has 2 dimensions"),
        ([0, 1], [0], [[1]], "weight has 2 dimensions"),
    ],
)
def test_what_is_no_graph_is_refused(first_out: object, head: object, weight: object, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph.from_csr(first_out, head, weight)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tail": [0, 1], "head": [1], "weight": [1]}, "tail, head and weight have 2, 1, 1 entries"),
        ({"tail": [5], "head": [1], "weight": [1], "num_nodes": 3}, "tail.0. is 5; node ids go from 0 to 2"),
        ({"tail": [0.5], "head": [1], "weight": [1]}, "tail.0. is 0.5; scale and round node ids"),
        ({"tail": [True], "head": [1], "weight": [1]}, "tail holds truth values"),
        ({"tail": ["a", None], "head": ["b", "b"], "weight": [1, 1]}, "tail.1. is None, which stands for a missing"),
        ({"tail": ["a", "b"], "head": [["b"], "b"], "weight": [1, 1]}, "head.0. is .'b'., which cannot be hashed"),
        ({"tail": ["a"], "head": ["b"], "weight": [1], "num_nodes": 3}, "names has 2 entries; give one per node, 3"),
        ({"tail": [0], "head": [1], "weight": [1], "names": ["a", "a"]}, "names.1. is 'a', as another one is"),
        ({"tail": [0], "head": [2], "weight": [1], "names": ["a", "b"]}, "head.0. is 2; node ids go from 0 to 1"),
        ({"tail": [-1], "head": [2], "weight": [1], "names": False}, "tail.0. is -1; node ids must not be negative"),
        ({"tail": [0], "head": [1], "weight": [1], "names": "yes"}, "names is 'yes'; choose one of auto"),
        ({"tail": [0], "head": [1], "weight": [1], "scale": -1.0}, "scale is -1.0; give 'auto', None, or"),
        ({"tail": [0], "head": [1], "weight": [12.5], "scale": None}, "weight.0. is 12.5; scale and round weights"),
        ({"tail": [0], "head": [1], "weight": [12.5], "scale": 1e-9}, "give a scale of 2.91e-09 or more"),
        ({"tail": [1], "head": [5], "weight": [1], "num_nodes": 3}, "head.0. is 5; node ids go from 0 to 2"),
        ({"tail": [], "head": [], "weight": [], "num_nodes": -1}, "num_nodes is -1"),
        ({"tail": [0], "head": [0], "weight": [1], "num_nodes": 2.5}, "num_nodes is 2.5; give an integer"),
        ({"tail": [0], "head": [0], "weight": [1], "lat": ["north"], "lon": [1.0]}, "lat is no array of degrees"),
        ({"tail": [0], "head": [0], "weight": [1], "lat": [1.0]}, "lat and lon belong together"),
        ({"tail": [0], "head": [0], "weight": [1], "lat": [91.0], "lon": [0.0]}, "lat.0. is 91.0"),
        ({"tail": [0], "head": [0], "weight": [1], "lat": [1.0], "lon": [np.nan]}, "lon.0. is nan"),
        (
            {"tail": [0], "head": [0], "weight": [1], "num_nodes": 1, "lat": [1.0, 2.0], "lon": [1.0, 2.0]},
            "lat has shape",
        ),
    ],
)
def test_what_is_no_list_of_edges_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph.from_edges(**arguments)  # type: ignore[arg-type]


def test_graphs_without_nodes_or_arcs() -> None:
    assert Graph.from_csr([0], [], []).num_nodes == 0
    graph = Graph.from_edges([], [], [], num_nodes=3)
    assert (graph.num_nodes, graph.num_arcs, graph.tail.tolist()) == (3, 0, [])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_from_scipy(kind: str) -> None:
    rng = np.random.default_rng(1)
    dense = rng.integers(0, 5, (20, 20))
    graph = Graph.from_scipy(sparse.coo_array(dense).asformat(kind))
    assert np.array_equal(graph.to_scipy().toarray(), dense)


def test_from_scipy_takes_no_padding_for_arcs() -> None:
    blocks = sparse.bsr_array(sparse.csr_array(np.diag([1, 2, 3, 4])), blocksize=(2, 2))
    assert Graph.from_scipy(blocks).num_arcs == 4
    roomy = sparse.csr_array((np.array([5, 7, 0]), np.array([1, 0, 0]), np.array([0, 1, 2])), shape=(2, 2))
    assert Graph.from_scipy(roomy).weight.tolist() == [5, 7]


def test_from_scipy_keeps_explicit_zeros_and_entries_stored_twice() -> None:
    matrix = sparse.coo_array(([0, 3, 4], ([0, 1, 1], [1, 0, 0])), shape=(2, 2))
    graph = Graph.from_scipy(matrix)
    assert graph.weight.tolist() == [0, 3, 4]


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((2, 2)), "matrix is a ndarray; give a scipy sparse"),
        (sparse.coo_array((2, 3)), "matrix has shape .2, 3.; give a square one"),
        (sparse.csr_array(np.array([[0.0, -1.0], [0.0, 0.0]])), "weight.0. is -1.0; weights must not be negative"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: object, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph.from_scipy(matrix)


@given(random_graphs())
def test_reversed_twice_is_the_same_graph(graph: Graph) -> None:
    backward, arcs = graph.reversed()
    assert np.array_equal(backward.tail, graph.head[arcs])
    assert np.array_equal(backward.head, graph.tail[arcs])
    assert np.array_equal(backward.weight, graph.weight[arcs])
    assert sorted(arcs.tolist()) == list(range(graph.num_arcs))


@given(random_graphs(), st.randoms(use_true_random=False))
def test_renumbered_has_the_same_arcs_between_renamed_nodes(graph: Graph, random: object) -> None:
    nodes = list(range(graph.num_nodes))
    random.shuffle(nodes)  # type: ignore[attr-defined]
    order = Order.from_nodes(nodes)
    renumbered, arcs = graph.renumbered(order)
    assert np.array_equal(order.node[renumbered.tail], graph.tail[arcs])
    assert np.array_equal(order.node[renumbered.head], graph.head[arcs])
    assert np.array_equal(renumbered.weight, graph.weight[arcs])
    if graph.lat is not None:
        assert np.array_equal(renumbered.lat[order.rank], graph.lat)  # type: ignore[index]


def test_z_order_walks_quadrant_by_quadrant() -> None:
    graph = grid(8)
    assert graph.lat is not None and graph.lon is not None
    order = z_order(graph.lat, graph.lon)
    cells = order.node.reshape(4, 4, 4)  # quadrants of quadrants of single nodes
    for quadrant in range(4):
        rows, columns = np.divmod(cells[quadrant].ravel(), 8)
        assert np.ptp(rows) == np.ptp(columns) == 3
    assert np.array_equal(order.node[order.rank], np.arange(64))


def test_z_order_of_one_place_keeps_the_sequence() -> None:
    assert z_order(np.full(5, 3.0), np.full(5, 4.0)).is_identity
    assert z_order(np.zeros(0), np.zeros(0)).is_identity


@pytest.mark.parametrize("nodes", [[0, 0], [1, 2], [-1, 0], [0.0, 1.0], [[0, 1]], ["0", "1"]])
def test_what_is_no_permutation_is_refused(nodes: list[object]) -> None:
    with pytest.raises(GraphError, match=r"give a (one-dimensional )?permutation"):
        Order.from_nodes(nodes)


def _view_of(writable: Any) -> Any:
    view = writable.view()
    view.flags.writeable = False
    return view


def test_a_read_only_view_of_what_can_be_written_to_is_copied(tmp_path: Path) -> None:
    mapped = tmp_path / "head"
    np.array([1, 0], np.uint32).tofile(mapped)
    memory = bytearray(np.array([1, 2], np.uint32).tobytes())
    first_out, degrees = np.array([0, 1, 2], np.uint32), np.array([1.0, 2.0])
    head = np.memmap(mapped, np.uint32, "r+")
    weight = np.frombuffer(memoryview(memory).toreadonly(), np.uint32)
    assert not weight.flags.writeable
    graph = Graph.from_csr(_view_of(first_out), _view_of(head), weight, lat=_view_of(degrees), lon=_view_of(degrees))
    other = graph.with_weights(weight)
    first_out[1], head[0], degrees[0], memory[0] = 9, 9, 9.0, 9
    assert graph.first_out.tolist() == [0, 1, 2] and graph.head.tolist() == [1, 0]
    assert graph.weight.tolist() == other.weight.tolist() == [1, 2]
    assert graph.lat is not None and graph.lat.tolist() == [1.0, 2.0]


def test_what_nobody_can_write_to_is_shared(tmp_path: Path) -> None:
    np.array([1, 0], np.uint32).tofile(tmp_path / "head")
    head = np.memmap(tmp_path / "head", np.uint32, "r")
    weight = np.frombuffer(np.array([1, 2], np.uint32).tobytes(), np.uint32)
    first_out = np.array([0, 1, 2], np.uint32)
    first_out.flags.writeable = False
    graph = Graph.from_csr(first_out[:], head, weight)
    for ours, theirs in ((graph.first_out, first_out), (graph.head, head), (graph.weight, weight)):
        assert np.shares_memory(ours, theirs)


def test_streets_and_hierarchies_do_not_change_with_the_arrays_that_they_were_made_of() -> None:
    graph = prepare(street_map([(0, 0), (0, 1), (1, 1)], [(0, 1, 10), (1, 2, 10)]))
    assert graph.streets is not None and graph.hierarchy is not None
    for one in (graph.streets, graph.hierarchy):
        values = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        writable = {name: value.copy() for name, value in arrays.items()}
        made = dataclasses.replace(one, **writable)
        for name, value in writable.items():
            value[...] = 0
            assert np.array_equal(getattr(made, name), arrays[name]), name
            with pytest.raises(ValueError, match="read-only"):
                getattr(made, name)[...] = 0


@pytest.mark.parametrize("copied", ["copy", "deepcopy", "pickle 2", "pickle 5", "out of band"])
def test_copies_are_equal_and_cannot_be_written_to(copied: str) -> None:
    def again(thing: Any) -> Any:
        if not copied.startswith("pickle") and copied != "out of band":
            return getattr(copy, copied)(thing)
        if copied.startswith("pickle"):
            return pickle.loads(pickle.dumps(thing, int(copied[-1])))
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(thing, 5, buffer_callback=buffers.append)
        memory = [bytearray(buffer.raw()) for buffer in buffers]
        found = pickle.loads(data, buffers=memory)
        for piece in memory:
            piece[:] = bytes(len(piece))
        return found

    graph = prepare(street_map([(0, 0), (0, 1), (1, 1)], [(0, 1, 10), (1, 2, 10)]))
    assert graph.lat is not None and graph.lon is not None
    for thing in (graph, graph.streets, graph.hierarchy, z_order(graph.lat, graph.lon)):
        found = again(thing)
        assert type(found) is type(thing)
        _check_equal(thing, found)
    renumbered = again(RenumberedGraph(graph, keep=True))
    assert renumbered.keeps and np.array_equal(renumbered.arcs, RenumberedGraph(graph).arcs)


def test_arcs_after_many_changes_of_weights() -> None:
    graph = grid(4)
    renumbered = RenumberedGraph(graph)
    for number in range(300):  # after some hundreds the arcs before them are not looked at any more
        arc = number % graph.num_arcs
        weight = graph.weight.copy()
        weight[arc] = number
        graph = graph.with_weights(weight)
        renumbered = renumbered.reweighted(graph, np.array([arc]))
    assert np.array_equal(renumbered.arcs, RenumberedGraph(graph).arcs)


def _check_equal(one: Any, other: Any) -> None:
    for field in dataclasses.fields(one):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert np.array_equal(mine, its) and mine.dtype == its.dtype and not its.flags.writeable, field.name
        elif dataclasses.is_dataclass(mine):
            _check_equal(mine, its)
        else:
            assert mine == its


def test_what_was_pickled_is_checked_like_what_is_loaded() -> None:
    graph = prepare(street_map([(0, 0), (0, 1), (1, 1)], [(0, 1, 10), (1, 2, 10)]))
    for thing, name, value in (
        (graph, "head", graph.head + np.uint32(3)),
        (graph, "hierarchy", prepare(Graph.from_edges([0], [1], [1])).hierarchy),
        (graph.streets, "polyline", graph.head + np.uint32(3)),
        (graph.hierarchy, "node", np.zeros(3, np.uint32)),
        (z_order(np.zeros(2), np.zeros(2)), "node", np.zeros(2, np.uint32)),
    ):
        damaged = dataclasses.replace(thing, **{name: value})  # type: ignore[type-var]
        with pytest.raises(GraphError):
            pickle.loads(pickle.dumps(damaged))
