"""Graphs of edge tables, and of igraph and networkit, against scipy."""

from __future__ import annotations

from typing import Any

import igraph
import networkit
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.sparse import csgraph, csr_array

import vkssp
from vkssp import Graph, GraphError, Solver

RNG = np.random.default_rng(7)
TAIL, HEAD, WEIGHT = RNG.integers(0, 40, 150), RNG.integers(0, 40, 150), RNG.integers(1, 4000, 150) / 8
COLUMNS = {"u": TAIL, "v": HEAD, "length": WEIGHT, "name": [f"way {at}" for at in range(150)]}


def expected(tail: Any, head: Any, weight: Any, count: int, *, undirected: bool) -> Any:
    """Return all distances by scipy; of parallel edges the shortest counts."""
    least: dict[tuple[int, int], float] = {}
    for a, b, w in zip(tail, head, weight, strict=True):
        for pair in ((a, b), (b, a)) if undirected else ((a, b),):
            least[pair] = min(w, least.get(pair, np.inf))
    ends = np.array(list(least)).T
    return csgraph.dijkstra(csr_array((np.array(list(least.values())), (ends[0], ends[1])), shape=(count, count)))


def distances(graph: Graph, names: list[Any]) -> Any:
    with Solver(graph, "dijkstra") as solver:
        return solver.distances(names)[:, graph.index_of(names)]


TABLES = {"dict": dict, "pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_of_edges(make: Any, undirected: bool) -> None:
    graph = vkssp.from_dataframe(make(COLUMNS), undirected=undirected)
    assert graph.num_nodes == 40 and graph.names is None
    wanted = expected(TAIL, HEAD, WEIGHT, 40, undirected=undirected)
    assert np.array_equal(distances(graph, list(range(40))), wanted)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_names_and_nodes(make: Any) -> None:
    names = [f"n{at}" for at in range(41)]  # the last one has no edge
    edges = {"a": [names[at] for at in TAIL], "b": [names[at] for at in HEAD], "cost": WEIGHT}
    graph = vkssp.from_dataframe(make(edges), "a", "b")
    assert sorted(graph.names) == sorted({*edges["a"], *edges["b"]})  # type: ignore[type-var,arg-type]
    table = {"id": names, "lat": np.linspace(0, 1, 41), "lon": np.linspace(2, 3, 41)}
    graph = vkssp.from_dataframe(make(edges), "a", "b", "cost", nodes=make(table), node="id")
    assert graph.names is not None and graph.names.tolist() == names and graph.lat is not None
    assert np.array_equal(graph.lat, table["lat"])
    table = {"id": names, "y": table["lat"], "x": table["lon"]}  # as osmnx calls them
    same = vkssp.from_dataframe(make(edges), "a", "b", "cost", nodes=make(table), node="id")
    assert np.array_equal(same.lat, graph.lat) and np.array_equal(same.lon, graph.lon)  # type: ignore[arg-type]
    assert np.array_equal(distances(graph, names), expected(TAIL, HEAD, WEIGHT, 41, undirected=False))


def test_an_index_names_nodes() -> None:
    nodes = pandas.DataFrame({"lat": [1.0, 2.0], "lon": [3.0, 4.0]}, index=[5_000_000_000, 7])
    edges = {"from": [7, 5_000_000_000], "to": [5_000_000_000, 7], "weight": [3, 4]}
    graph = vkssp.from_dataframe(edges, nodes=nodes)
    assert graph.names is not None and graph.names.tolist() == [5_000_000_000, 7]
    assert graph.weight.tolist() == [4, 3] and graph.scale is None
    same = vkssp.from_dataframe({"u": [0], "v": [1], "w": [3]}, nodes=nodes.reset_index(drop=True))
    assert same.names is None


def test_columns_without_names_have_numbers() -> None:
    graph = vkssp.from_dataframe(pandas.DataFrame([["a", "b", 2.5], ["b", "c", 1.5]]), 0, 1, 2)  # type: ignore[arg-type]
    assert distances(graph, ["a", "b", "c"])[0].tolist() == [0.0, 2.5, 4.0]


def test_nullable_integers_stay_integers() -> None:
    frame = pandas.DataFrame({"u": [0, 1], "v": [1, 2], "weight": [3, 4]}).astype("Int64")
    graph = vkssp.from_dataframe(frame)
    assert graph.scale is None and graph.weight.tolist() == [3, 4] and graph.names is None


@pytest.mark.parametrize(
    ("edges", "options", "text"),
    [
        ([1, 2], {}, r"edges is \[1, 2\]; give a DataFrame, a table of pyarrow, or a dict"),
        ({"x": [1], "y": [2]}, {}, r"edges has the columns .*'x', 'y'.*; give the names of those for tail and head"),
        ({"u": [1], "v": [2]}, {}, "give the name of that for weight"),
        ({"u": [1], "v": [2], "w": [3]}, {"weight": "z"}, "edges has no column 'z', only .*'u', 'v', 'w'"),
        ({"u": [1], "v": [2], "w": [-3.5]}, {}, r"weight\[0\] is -3.5"),
        ({"u": [1, 2], "v": [2], "w": [3.0]}, {}, "2, 1, 1 entries"),
        (pandas.DataFrame({"u": [1, None], "v": [2, 3], "w": [3, 4]}), {}, r"edges\['u'\] has no value in row 1; fill"),
        (polars.DataFrame({"u": [1, 2], "v": [2, 3], "w": [3, None]}), {}, r"edges\['w'\] has no value in row 1"),
        (pyarrow.table({"u": [1, 2], "v": [None, 3], "w": [3, 4]}), {}, r"edges\['v'\] has no value in row 0"),
        (
            {"u": [0], "v": [2], "w": [1]},
            {"nodes": {"n": [0, 1], "lat": [0, 0], "lon": [0, 0]}},
            "has 2 in row 0, which",
        ),
        (polars.LazyFrame({"u": [1], "v": [2], "w": [3]}), {}, r"edges is a polars LazyFrame.*; give its collect\(\)"),
        ({"u": [1], "v": [2], "w": np.ma.array([3.0], mask=[True])}, {}, r"edges\['w'\] has masked entries"),
        ({"u": "ab", "v": [1, 2], "w": [3, 4]}, {}, r"edges\['u'\] is 'ab'; give a list"),
        ({"u": [1], "v": [2], "w": 3}, {}, r"edges\['w'\] is 3; give a list"),
        ({"u": ["a", pandas.NA], "v": ["b", "c"], "w": [3, 4]}, {}, r"edges\['u'\] has no value in row 1"),
        (polars.DataFrame({"u": [1], "v": [2], "w": [2**100]}), {}, r"edges\['w'\] is no array for NumPy"),
        (pandas.DataFrame({"u": [1], "v": [2], "w": [3]}).set_index(["u", "v"]), {}, r"take u and v .*reset_index\(\)"),
        ({"u": [1], "v": [2]}, {}, "add a column of ones"),
        ({"u": [[1]], "v": [2], "w": [3]}, {"nodes": {"n": [1], "lat": [0], "lon": [0]}}, "cannot be hashed"),
        ({"u": [1], "v": [2], "w": [3]}, {"nodes": {"n": [[1]], "lat": [0], "lon": [0]}}, "cannot be hashed"),
        ({"u": [0], "v": [0], "w": [1]}, {"nodes": {"n": [0, 0], "lat": [0, 0], "lon": [0, 0]}}, "a node twice"),
        ({"u": [0], "v": [0], "w": [1]}, {"nodes": {"n": [0], "y": [0], "lon": [0]}}, "nodes has no column 'lat'"),
    ],
)
def test_wrong_tables(edges: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        vkssp.from_dataframe(edges, **options)


@pytest.mark.parametrize("directed", [False, True])
def test_igraph(directed: bool) -> None:
    graph = igraph.Graph(41, list(zip(TAIL.tolist(), HEAD.tolist(), strict=True)), directed=directed)
    graph.es["length"] = WEIGHT.tolist()
    found = vkssp.from_igraph(graph, "length")
    wanted = expected(TAIL, HEAD, WEIGHT, 41, undirected=not directed)
    assert np.array_equal(distances(found, list(range(41))), wanted)
    graph.vs["name"] = [f"n{at}" for at in range(41)]
    assert vkssp.from_igraph(graph, None).names[3] == "n3"  # type: ignore[index]
    assert vkssp.from_igraph(graph, None).weight.max() == 1
    with pytest.raises(GraphError, match=r"weight is 'weight', and edges have .*'length'"):
        vkssp.from_igraph(graph)
    graph.vs["name"] = [[at] for at in range(41)]
    with pytest.raises(GraphError, match=r"names\[0\] is \[0\], which cannot be hashed"):
        vkssp.from_igraph(graph, None)
    with pytest.raises(GraphError, match="give a graph of igraph"):
        vkssp.from_igraph(found)


@pytest.mark.parametrize("directed", [False, True])
def test_networkit(directed: bool) -> None:
    graph = networkit.Graph(41, weighted=True, directed=directed)
    for tail, head, weight in zip(TAIL.tolist(), HEAD.tolist(), WEIGHT.tolist(), strict=True):
        graph.addEdge(tail, head, weight)
    found = vkssp.from_networkit(graph)
    wanted = expected(TAIL, HEAD, WEIGHT, 41, undirected=not directed)
    assert np.array_equal(distances(found, list(range(41))), wanted)
    graph.removeNode(0)
    assert vkssp.from_networkit(graph).num_nodes == 41
    plain = networkit.Graph(3, directed=directed)
    plain.addEdge(0, 1)
    assert vkssp.from_networkit(plain).weight.tolist() == [1] * (2 - directed)
    with pytest.raises(GraphError, match="give a graph of networkit"):
        vkssp.from_networkit(found)
