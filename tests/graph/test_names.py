"""Names of nodes: ids of any size and any hashable objects, relabelled and given back."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkssp import FormatError, Graph, GraphError, QueryError

NAMES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.text(max_size=3),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.binary(max_size=2),
    st.floats(allow_nan=False),
    st.frozensets(st.integers(0, 3), max_size=2),
)


def edges_of(graph: Graph) -> list[tuple[Any, Any, int]]:
    """Return the arcs by name, sorted by their weights."""
    names = np.arange(graph.num_nodes) if graph.names is None else graph.names
    arcs = zip(names[graph.tail].tolist(), names[graph.head].tolist(), graph.weight.tolist(), strict=True)
    return sorted(arcs, key=lambda arc: arc[2])


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=30))
def test_any_hashable_objects_are_names(edges: list[tuple[Any, Any]]) -> None:
    tail, head = ([edge[end] for edge in edges] for end in (0, 1))
    graph = Graph.from_edges(tail, head, list(range(len(edges))), names=True)
    assert edges_of(graph) == [(*edge, number) for number, edge in enumerate(edges)]
    assert graph.names is not None and graph.num_nodes == len({*tail, *head})
    assert [graph.index_of(name) for name in graph.names.tolist()] == list(range(graph.num_nodes))
    positions = graph.index_of(tail)
    assert isinstance(positions, np.ndarray)
    assert [graph.names.tolist()[at] for at in positions] == tail
    if graph.names.dtype == object:
        seen = dict.fromkeys(name for edge in edges for name in edge)
        assert graph.names.tolist() == list(seen)
    else:
        assert graph.names.tolist() == sorted({*tail, *head})


@pytest.mark.parametrize(
    ("tail", "head", "names"),
    [
        ([4_000_000_000, 5], [5, 6], [5, 6, 4_000_000_000]),
        ([-1, 0], [0, -2], [-2, -1, 0]),
        (np.array([2**63, 1], np.uint64), [1, 2], [2**63, 1, 2]),
        ([2**70, -1], [-2, 2**70], [2**70, -2, -1]),  # -1 and -2 have the same hash
        (np.array(["b", "a"]), np.array(["a", "c"]), ["b", "a", "c"]),
        ([(0, 1), (0, 2)], [(0, 2), "x"], [(0, 1), (0, 2), "x"]),
        (np.array([1e10, 2e10]), np.array([2e10, 3e10]), [10**10, 2 * 10**10, 3 * 10**10]),
        ([np.int64(7), np.str_("a")], ["a", "b"], [7, "a", "b"]),
    ],
)
def test_ids_that_are_no_small_integers_become_names(tail: Any, head: Any, names: list[Any]) -> None:
    graph = Graph.from_edges(tail, head, [1, 2])
    assert graph.names is not None and graph.names.tolist() == names
    assert all(type(name) is type(other) for name, other in zip(graph.names.tolist(), names, strict=True))
    assert "names" in repr(graph)


def test_small_integers_are_positions() -> None:
    for tail in ([0, 900_000], np.array([0.0, 9e5]), np.array([0, 900_000], object)):
        graph = Graph.from_edges(tail, [1, 2], [1, 2])
        assert graph.names is None and graph.num_nodes == 900_001
    assert Graph.from_edges([0], [2**21], [1], num_nodes=2**22).names is None
    many = np.arange(2**18)
    assert Graph.from_edges(many, 15 * many, many).names is None
    assert Graph.from_edges(many, 17 * many, many).names is not None


def test_names_can_be_given_by_position() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [3, 4], names=["home", "school", "shop", "moon"])
    assert graph.num_nodes == 4 and edges_of(graph) == [("home", "school", 3), ("school", "shop", 4)]
    assert graph.index_of("moon") == 3
    unsorted = Graph.from_edges([0, 1], [1, 2], [3, 4], names=np.array([30, 10, 20]))
    assert unsorted.names is not None and unsorted.names.dtype == np.int64
    found = unsorted.index_of([20, 30, 10])
    assert isinstance(found, np.ndarray) and found.tolist() == [2, 0, 1] and found.dtype == np.uint32
    assert Graph.from_csr([0, 1, 1], [1], [5], names=["a", "b"]).index_of("b") == 1


def test_places_of_named_nodes_are_by_position() -> None:
    graph = Graph.from_edges([30, 10], [10, 20], [1, 2], names=True, lat=[1, 2, 3], lon=[4, 5, 6])
    assert graph.names is not None and graph.lat is not None
    assert dict(zip(graph.names.tolist(), graph.lat.tolist(), strict=True)) == {10: 1, 20: 2, 30: 3}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("zoo", "names is 'zoo', and no node has this name; give names of nodes, such as 'a'"),
        (["a", "zoo"], "names.1. is 'zoo'"),
        ([["a"]], "names.0. is .'a'."),
        (7, "names is 7"),
    ],
)
def test_unknown_names_are_told(names: Any, words: str) -> None:
    graph = Graph.from_edges(["a"], ["b"], [1])
    with pytest.raises(QueryError, match=words):
        graph.index_of(names)


def test_without_names_positions_are_checked() -> None:
    graph = Graph.from_edges([0], [1], [1])
    assert graph.index_of(1) == 1
    with pytest.raises(QueryError, match=r"names.0. is 2; node ids of this graph go from 0 to 1"):
        graph.index_of([2])
    with pytest.raises(QueryError, match=r"names has dtype <U1; give integers"):
        graph.index_of("a")


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA])
def test_missing_values_are_no_names(missing: Any) -> None:
    with pytest.raises(GraphError, match=r"head.1. is (None|nan|a pandas NAType), which stands for a missing value"):
        Graph.from_edges(["a", "b"], ["b", missing], [1, 2])
    with pytest.raises(GraphError, match=r"names.0. is (None|nan|a pandas NAType), which stands for a missing value"):
        Graph.from_edges([0], [1], [1], names=[missing, "a"])


def test_many_names_are_found_again() -> None:
    rng = random.Random(1)
    words = [f"{rng.random():.6f}" for _ in range(30_000)]
    tail, head = ([rng.choice(words) for _ in range(100_000)] for _ in range(2))
    graph = Graph.from_edges(tail, head, range(100_000), undirected=True)
    assert graph.names is not None and len(set(graph.names.tolist())) == graph.num_nodes == len({*tail, *head})
    there = [arc for arc in edges_of(graph) if arc[0] != arc[1]]
    edges = [(*edge, number) for number, edge in enumerate(zip(tail, head, strict=True)) if edge[0] != edge[1]]
    assert sorted(there) == sorted([*edges, *((head, tail, number) for tail, head, number in edges)])


@pytest.mark.parametrize(
    "names",
    [
        [7, 2**40, -3],
        ["a", "ü道\ud800", ""],
        [(1, ("x", 2.5)), b"\0\xff", True],
        [2**80, 0.1, "0.1"],
        [1.5, float("inf"), 2],
    ],
)
def test_names_are_saved(names: list[Any], tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1.5, 2.5], names=names)
    graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert loaded.names is not None and graph.names is not None and loaded.names.dtype == graph.names.dtype
    assert loaded.names.tolist() == names and list(map(type, loaded.names.tolist())) == list(map(type, names))
    assert (loaded.scale, loaded.weight_error) == (graph.scale, 0.0)


def test_names_that_cannot_be_saved_are_told(tmp_path: Path) -> None:
    for name in (datetime.date(2000, 1, 1), frozenset([1]), ("a", 1j)):
        graph = Graph.from_edges([0], [1], [1], names=["a", name])
        with pytest.raises(FormatError, match=r"which cannot be saved; give numbers, texts, bytes or tuples"):
            graph.save(tmp_path / "g")
        assert not (tmp_path / "g").exists()
