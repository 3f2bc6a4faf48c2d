"""The backend for NetworkX, against NetworkX itself: values, types, orders, errors, caches and refusals."""

from __future__ import annotations

import gc
import inspect
import logging
import math
import random
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from types import GeneratorType
from typing import Any

import networkx as nx
import numpy as np
import pytest

import vkssp
from tests.support.paths import ROOT
from vkssp import GraphError, Solver, from_networkx
from vkssp.interop.networkx_backend import functions
from vkssp.interop.networkx_backend.info import FUNCTIONS

#: Weights that are drawn: ties and zeros; decimal fractions, whose sums floats round; any floats; both types; more than
#: 32 bits; sums of more than 32 bits; a range of which a unit of 32 bits cannot hold both ends.
WEIGHTS: dict[str, Callable[[random.Random], Any]] = {
    "ties": lambda draw: draw.randint(0, 3),
    "decimals": lambda draw: draw.choice([0.1, 0.2, 0.3, 0.7]),
    "floats": lambda draw: draw.random(),
    "mixed": lambda draw: draw.choice([1, 2, 0.5, 1e-3]),
    "huge": lambda draw: draw.choice([2**40 + 1, 2**40, 3]),
    "long": lambda draw: draw.randint(2**31, 2**32 - 2),
    "uneven": lambda draw: 10.0 ** draw.randint(-12, 12),
}
KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


@pytest.fixture(autouse=True)
def _no_note_of_caches() -> Iterator[None]:
    kept = set(nx.config.warnings_to_ignore)
    nx.config.warnings_to_ignore.add("cache")
    yield
    nx.config.warnings_to_ignore = kept


def drawn_graph(kind: type, weights: str, seed: int, num_nodes: int = 30) -> Any:
    """Return a graph of names, with loops, parallel edges, parts that are not joined, and nodes without edges."""
    draw, graph = random.Random(seed), kind()
    nodes = [f"n{i}" if i % 3 else (i, "x") for i in range(num_nodes)]
    graph.add_nodes_from(nodes)
    for _ in range(3 * num_nodes):
        part = nodes[: num_nodes // 2] if draw.random() < 0.7 else nodes[num_nodes // 2 : -2]
        ends = draw.choice(part), draw.choice(part)
        if draw.random() < 0.1 and weights not in ("decimals", "floats", "uneven"):
            graph.add_edge(*ends)  # of weight 1, an integer
        else:
            graph.add_edge(*ends, weight=WEIGHTS[weights](draw))
    return graph


def frozen(found: Any) -> Any:
    """Return a result with everything that may be compared: types of numbers, and the order of dictionaries."""
    if isinstance(found, GeneratorType) or hasattr(found, "__next__"):
        return [frozen(one) for one in found]
    if isinstance(found, dict):
        return [(key, frozen(value)) for key, value in found.items()]
    if isinstance(found, tuple | list):
        return [frozen(one) for one in found]
    return (type(found), found) if isinstance(found, int | float) else found


def outcome(name: str, *args: Any, backend: str, **kwargs: Any) -> Any:
    """Return what a function returns or raises."""
    try:
        return frozen(getattr(nx, name)(*args, backend=backend, **kwargs))
    except (nx.NetworkXException, ValueError) as error:
        return type(error), str(error)


def same(name: str, *args: Any, **kwargs: Any) -> None:
    """Check that the backend returns or raises the same as NetworkX, values, types and orders."""
    found = outcome(name, *args, backend="vkssp", **kwargs)
    assert found == outcome(name, *args, backend="networkx", **kwargs), (name, args[1:], kwargs)


@pytest.mark.parametrize("weights", [name for name in WEIGHTS if name != "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_searches_from_nodes_are_those_of_networkx_bit_for_bit(kind: type, weights: str) -> None:
    graph = drawn_graph(kind, weights, seed=len(weights))
    source, other, apart = "n1", (3, "x"), "n29"
    lengths = sorted(set(nx.single_source_dijkstra_path_length(graph, source).values()))
    for cutoff in (None, 0, -1, lengths[len(lengths) // 2], lengths[-1] / 3, math.inf):
        for name in (
            "single_source_dijkstra",
            "single_source_dijkstra_path_length",
            "dijkstra_predecessor_and_distance",
        ):
            if name.endswith(
                "distance"
            ):  # the order of its first dictionary is that of first, not of last improvements
                found, true = (
                    nx.dijkstra_predecessor_and_distance(graph, source, cutoff, backend=backend)
                    for backend in ("vkssp", "networkx")
                )
                assert found == true
                assert frozen(found[1]) == frozen(true[1])
            else:
                same(name, graph, source, cutoff=cutoff)
        same("multi_source_dijkstra", graph, [source, other, apart, source], cutoff=cutoff)
        same("single_source_shortest_path", graph, source, cutoff=cutoff)
    for cutoff in (None, 0, 1, 1.5, 2, -1):
        same("single_source_shortest_path_length", graph, source, cutoff=cutoff)
        same("predecessor", graph, source, cutoff=cutoff, return_seen=True)
    same("all_pairs_dijkstra", graph)
    same("all_pairs_shortest_path", graph)
    same("johnson", graph)
    assert nx.voronoi_cells(graph, [source, other], backend="vkssp") == nx.voronoi_cells(graph, [source, other])
    for name in ("single_source_bellman_ford_path_length", "all_pairs_bellman_ford_path_length"):
        arguments = (graph,) if name.startswith("all") else (graph, source)
        found, true = (dict(getattr(nx, name)(*arguments, backend=backend)) for backend in ("vkssp", "networkx"))
        assert found == true


def test_integers_among_floats_are_equal_numbers() -> None:
    graph = drawn_graph(nx.Graph, "mixed", seed=3)
    found = dict(nx.all_pairs_dijkstra_path_length(graph, backend="vkssp"))
    assert found == dict(nx.all_pairs_dijkstra_path_length(graph))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_paths_of_pairs_are_shortest(kind: type, weights: str) -> None:
    graph = drawn_graph(kind, weights, seed=5)
    true = dict(nx.all_pairs_dijkstra_path_length(graph))

    def weight(u: Any, v: Any) -> Any:
        edges = graph[u][v].values() if graph.is_multigraph() else [graph[u][v]]
        return min(data.get("weight", 1) for data in edges)

    for source in ("n1", (0, "x"), "n29"):
        for target in graph:
            for name in ("bidirectional_dijkstra", "single_source_dijkstra", "single_source_bellman_ford"):
                if target not in true[source]:
                    with pytest.raises(nx.NetworkXNoPath):
                        getattr(nx, name)(graph, source, target, backend="vkssp")
                    continue
                length, path = getattr(nx, name)(graph, source, target, backend="vkssp")
                along = sum(weight(u, v) for u, v in pairwise(path))
                assert (path[0], path[-1]) == (source, target)
                assert type(length) is type(true[source][target])
                assert length == pytest.approx(true[source][target], rel=1e-15)
                assert length == pytest.approx(along, rel=1e-15)
            assert nx.has_path(graph, source, target, backend="vkssp") == (target in true[source])


@pytest.mark.parametrize("weights", ["ties", "floats", "long"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_measures_of_whole_graphs(kind: type, weights: str) -> None:
    apart = drawn_graph(kind, weights, seed=7)
    joined = apart.subgraph(max(nx.strongly_connected_components(nx.DiGraph(apart)), key=len))
    for weight in (None, "weight"):
        for graph in (apart, joined):
            for name in ("eccentricity", "diameter", "radius", "periphery", "center", "barycenter"):
                if weights != "floats" or weight is None or graph is apart:
                    same(name, graph, weight=weight)
            for name in ("average_shortest_path_length", "harmonic_diameter"):
                found, true = (outcome(name, graph, weight=weight, backend=one) for one in ("vkssp", "networkx"))
                assert found == (pytest.approx(true, rel=1e-14) if isinstance(true[1], float) else true)
            for name, further in (
                ("closeness_centrality", {"wf_improved": False}),
                ("harmonic_centrality", {"sources": ["n1", "n2"]}),
                ("harmonic_centrality", {"nbunch": ["n1", "n2"]}),
            ):
                found, true = (
                    getattr(nx, name)(graph, distance=weight, backend=one, **further) for one in ("vkssp", "networkx")
                )
                assert list(found) == list(true)
                assert found == pytest.approx(true, rel=1e-14)
    matrix = nx.floyd_warshall_numpy(apart, backend="vkssp")
    assert np.allclose(matrix, nx.floyd_warshall_numpy(apart), rtol=1e-14, atol=0)
    assert nx.diameter(nx.path_graph(50), usebounds=True, backend="vkssp") == 49


@pytest.mark.parametrize("kind", KINDS)
def test_betweenness_counts_all_shortest_paths(kind: type) -> None:
    graph = drawn_graph(kind, "ties", seed=11)
    for edge in graph.edges(data=True):
        edge[-1]["weight"] = edge[-1].get("weight", 0) + 1  # many ties, and no zeros
    for weight in (None, "weight"):
        for further in ({}, {"endpoints": True}, {"normalized": False}, {"k": 7, "seed": 2}):
            same("betweenness_centrality", graph, weight=weight, **further)
        if not graph.is_multigraph():
            same("edge_betweenness_centrality", graph, weight=weight)
            same("edge_betweenness_centrality", graph, weight=weight, k=5, seed=2, normalized=False)


def test_errors_are_those_of_networkx() -> None:
    graph = nx.DiGraph([("a", "b"), ("c", "d")])
    one = nx.empty_graph(1)
    for name in FUNCTIONS:
        parameters = inspect.signature(getattr(functions, name)).parameters
        pair = {"source", "target"} <= set(parameters)
        for source, target in (("z", "b"), ("b", "z"), ("a", "c"), ("z", "z"), ("a", "a")):
            if pair:
                same(name, graph, source=source, target=target)
            elif {"source", "u", "target"} & set(parameters) and "sources" not in parameters:
                argument = next(name for name in parameters if name in ("source", "u", "target"))
                same(name, graph, **{argument: source})
        if "sources" in parameters and name != "harmonic_centrality":
            for sources in ([], ["a", "z"]):
                same(name, graph, sources)
        if name in ("eccentricity", "average_shortest_path_length", "barycenter", "closeness_centrality", "center"):
            for some in (
                graph,
                graph.to_undirected(),
                one,
                nx.Graph([("a", "b"), ("c", "d")]),
                nx.Graph(),
                nx.DiGraph(),
            ):
                same(name, some)
    same("bellman_ford_predecessor_and_distance", one, 0)
    same("goldberg_radzik", nx.Graph([(0, 1, {"weight": 2})]), 0)
    same("shortest_path", graph, "a", method="none")


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"weight": -1}, "the edge from 0 to 1 has the weight -1"),
        ({"weight": math.nan}, "weight nan"),
        ({"weight": math.inf}, "weight inf"),
        ({"weight": None}, "weight None"),  # NetworkX hides such an edge from some functions
        ({"weight": "7"}, "weight '7'"),
        ({"weight": 2**70}, "too large"),
        ({"weight": 2**62}, "62 bits"),
        ({"weight": np.float32(1)}, "weight"),
    ],
)
def test_what_cannot_be_the_same_is_refused_with_a_reason(attributes: dict[str, Any], why: str) -> None:
    graph = nx.DiGraph([(0, 1, attributes), (1, 2)])
    with pytest.raises(NotImplementedError) as raised:
        nx.single_source_dijkstra_path_length(graph, 0, backend="vkssp")
    assert why in str(raised.value.__cause__)
    if why not in ("62 bits", "weight"):  # vkssp has no numbers of several types to return
        with pytest.raises(GraphError, match=r"edge|too large"):
            from_networkx(graph)
    with nx.config.backend_priority(algos=["vkssp"]):
        assert nx.single_source_bellman_ford_path_length(nx.DiGraph([(0, 1, {"weight": -1})]), 0) == {0: 0, 1: -1}
    assert nx.single_source_shortest_path_length(graph, 0, backend="vkssp") == {0: 0, 1: 1, 2: 2}


def test_arguments_that_cannot_be_answered_are_refused_before_a_conversion() -> None:
    graph = nx.path_graph(3)
    assert "is a function" in str(functions.can_run("dijkstra_path", (graph, 0, 1, lambda *_: 1), {}))
    assert "is a function" in str(functions.can_run("closeness_centrality", (graph,), {"distance": lambda *_: 1}))
    assert "change of the graph" in str(functions.can_run("barycenter", (graph,), {"attr": "b"}))
    assert "parallel" in str(functions.can_run("edge_betweenness_centrality", (nx.MultiGraph([(0, 1)]),), {}))
    assert functions.can_run("dijkstra_path", (graph, 0, 1), {}) is True
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 0, 2, weight=lambda *_: 1, backend="vkssp")
    zeros = nx.Graph([(0, 1, {"weight": 0})])
    with pytest.raises(NotImplementedError):
        nx.betweenness_centrality(zeros, weight="weight", backend="vkssp")


def test_dispatch_leaves_small_graphs_to_networkx(caplog: pytest.LogCaptureFixture) -> None:
    small, large = nx.path_graph(20), nx.path_graph(1000)
    with nx.config.backend_priority(algos=["vkssp"]), caplog.at_level(logging.DEBUG, "networkx.utils.backends"):
        nx.closeness_centrality(small)
        assert "__networkx_cache__" not in vars(small) or not small.__networkx_cache__
        assert "too small" in caplog.text
        nx.closeness_centrality(large)
        assert "vkssp" in large.__networkx_cache__["backends"]
    assert "distances are given" in str(functions.should_run("diameter", (large,), {"e": {}}))


def test_conversions_are_kept_with_the_graph_and_go_with_it_or_its_changes() -> None:
    graph = drawn_graph(nx.DiGraph, "ties", seed=1)

    def converted() -> Any:
        nx.single_source_dijkstra(graph, "n1", backend="vkssp")
        (found,) = graph.__networkx_cache__["backends"]["vkssp"].values()
        return found

    first = converted()
    solver = first.metric("weight").solver
    nx.single_target_shortest_path(graph, "n1", backend="vkssp")
    assert converted() is first
    assert first.metric("weight").solver is solver
    assert nx.utils.graphs_equal(functions.convert_to_nx(first), _with_ones(graph))
    graph.add_edge("n1", "n2", weight=0)
    assert converted() is not first
    is_gone = weakref.ref(first)
    del first
    gc.collect()
    assert is_gone() is None
    assert not solver.closed  # this test still holds it


def _with_ones(graph: Any) -> Any:
    """Return the graph with the weights that missing ones stand for."""
    found = graph.copy()
    for _, _, data in found.edges(data=True):
        data.setdefault("weight", 1)
    return found


def test_the_configuration_names_the_device() -> None:
    graph = nx.path_graph(5)
    with nx.config.backends.vkssp(device="cpu"):
        nx.shortest_path(graph, 0, backend="vkssp")
        (found,) = graph.__networkx_cache__["backends"]["vkssp"].values()
        assert found.metric(None).solver.device.info.kind == "cpu"
    with nx.config.backends.vkssp(device="no such device"), pytest.raises(vkssp.VksspError, match="no such device"):
        nx.shortest_path(graph, 0, backend="vkssp")


@pytest.mark.parametrize("kind", KINDS)
def test_views_are_graphs(kind: type) -> None:
    graph = drawn_graph(kind, "ties", seed=13)
    views = [graph.subgraph(list(graph)[:12]), nx.subgraph_view(graph, filter_edge=lambda *ends: "n4" not in ends)]
    views += [graph.reverse(copy=False)] if graph.is_directed() else []
    for view in views:
        same("single_source_dijkstra", view, "n1")
        found = nx.shortest_path_length(view, target="n1", weight="weight", backend="vkssp")
        assert found == nx.shortest_path_length(view, target="n1", weight="weight")


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_of_vkssp_has_the_names_and_all_edges(kind: type) -> None:
    graph = drawn_graph(kind, "decimals", seed=17)
    found = from_networkx(graph)
    assert found.names.tolist() == list(graph)
    loops = 0 if graph.is_directed() else nx.number_of_selfloops(graph)
    assert found.num_arcs == (1 if graph.is_directed() else 2) * graph.number_of_edges() - loops
    with Solver(found) as solver:
        true = nx.single_source_dijkstra_path_length(graph, "n1")
        expected = [true.get(node, math.inf) for node in graph]
        assert solver.distances("n1").tolist() == pytest.approx(expected, rel=1e-14)
    hops = from_networkx(nx.convert_node_labels_to_integers(graph), weight=None)
    assert hops.names is None
    assert hops.weight.tolist() == [1] * found.num_arcs


def test_a_graph_of_vkssp_takes_any_numbers_and_nodes_that_are_equal_to_positions() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        [(0.0, 1.0, np.float32(0.5)), (1.0, 2.0, Decimal("0.25")), (2.0, 3.0, Fraction(1, 8))]
    )
    with Solver(from_networkx(graph), "dijkstra") as solver:
        assert solver.distances(1.0).tolist() == [0.5, 0.0, 0.25, 0.375]
    with Solver(from_networkx(nx.Graph([(False, True)])), "dijkstra") as solver:
        assert solver.distance(False, True) == 1


def test_from_networkx_refuses_what_is_no_graph() -> None:
    with pytest.raises(GraphError, match=r"weight is \['w'\]; give the name of an attribute"):
        from_networkx(nx.Graph(), weight=["w"])
    with pytest.raises(GraphError, match=r"the edge from 0 to 1 has the weight 4294967295, more than .*; give floats"):
        from_networkx(nx.Graph([(0, 1, {"weight": 2**32 - 1})]))
    with pytest.raises(GraphError, match="give a NetworkX graph"):
        from_networkx({})
    with pytest.raises(GraphError, match="name of an attribute"):
        from_networkx(nx.Graph(), weight=lambda *_: 1)


def test_networkx_itself_imports_nothing_but_the_description() -> None:
    code = "import networkx, sys; print(sorted(name for name in sys.modules if name.startswith(('vkssp', 'numpy'))))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    parts = ["vkssp", "vkssp.interop", "vkssp.interop.networkx_backend", "vkssp.interop.networkx_backend.info"]
    assert done.stdout.strip() == str(parts)


def test_the_description_names_the_functions() -> None:
    own = {name for name, value in vars(functions).items() if inspect.isfunction(value) and not name.startswith("_")}
    theirs = {name for name in own if hasattr(nx, name)}
    assert theirs == {name for name in FUNCTIONS if name != "centroid" or hasattr(nx, name)}  # it came with 3.7
    for name in theirs:
        original = inspect.signature(inspect.unwrap(getattr(nx, name))).parameters
        ours = dict(inspect.signature(getattr(functions, name)).parameters)
        if name == "closeness_centrality" and "sp" not in original:
            del ours["sp"]
        assert {key: value.default for key, value in ours.items()} == {k: v.default for k, v in original.items()}
        assert [value.kind for value in ours.values()] == [value.kind for value in original.values()]


def test_networkx_passes_its_own_tests_with_the_backend() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/test_networkx.py", "-k", "not bounds"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert "of 53 functions were answered" in done.stdout
