"""Functions of the backend, under the names and with the arguments that they have in NetworkX.

Those that NetworkX itself builds from others are its own, applied to the converted graph. All others search by a
`Metric`, and return what NetworkX returns, in the same order, and with the same errors.
"""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, partial
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from vkssp.errors import GraphError
from vkssp.graph import csr
from vkssp.interop.networkx_backend.convert import least_weights, rows_of
from vkssp.interop.networkx_backend.converted import ConvertedGraph
from vkssp.interop.networkx_backend.metric import Metric, Tree
from vkssp.jit import kernels

_KERNELS = "vkssp.interop.networkx_backend.kernels"
_WEIGHTS = ("weight", "distance")
# Fewest nodes for which the backend is faster, with a conversion and without; docs/guides/networkx.md has how they were
# measured. How much of a graph a search for one pair sees is not known before.
_LEAST_NODES = {
    ("pair", True): (math.inf, 10_000),
    ("pair", False): (math.inf, 100_000),
    ("one", True): (20_000, 1_000),
    ("one", False): (math.inf, 2_000),
    ("all", True): (500, 100),
    ("all", False): (500, 100),
}
_ONE = ("bellman_ford", "goldberg_radzik", "multi_source", "predecessor", "single_", "voronoi_cells")


# ---- what the dispatcher asks ----


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: dict[Any, Any] | None = None,
    node_attrs: dict[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> ConvertedGraph:
    """Return the converted graph of a NetworkX graph, with the weights that a function needs.

    Raises
    ------
    NotImplementedError
        If a weight is no number that the backend takes; the message names the edge.
    """
    if preserve_edge_attrs or any(default != 1 for default in (edge_attrs or {}).values()):
        raise NotImplementedError("the backend has weights of edges only, 1 where they are missing")
    try:
        rows = rows_of(graph)
        weights = {weight: least_weights(graph, weight, rows) for weight in edge_attrs or {}}
    except GraphError as error:
        raise NotImplementedError(str(error)) from error
    return ConvertedGraph(rows, weights, graph.is_directed(), graph.is_multigraph())


def convert_to_nx(obj: Any, *, name: str | None = None) -> Any:
    """Return a NetworkX graph for a converted graph, and anything else as it is."""
    return obj.to_networkx() if isinstance(obj, ConvertedGraph) else obj


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether the backend answers a function with these arguments, or why it does not."""
    given = _given(name, args, kwargs)
    if given is None:
        return True  # NetworkX has the better error
    for weight in _WEIGHTS:
        if callable(given.get(weight)):
            return f"{weight} is a function, which only the interpreter can call"
    if given.get("attr") is not None:
        return "attr asks for a change of the graph"
    if name == "edge_betweenness_centrality" and given["G"].is_multigraph():
        return "parallel edges have no betweenness of their own here"
    if "betweenness" in name and given.get("k") is not None and _version() < (3, 6):
        return "a sample of nodes is scaled as by NetworkX 3.6 and later"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether the backend should be faster than NetworkX with these arguments, or why not."""
    given = _given(name, args, kwargs)
    if given is None:
        return True
    if given.get("sp") is not None or given.get("e") is not None:
        return "the distances are given, so that nothing has to be searched"
    graph = given["G"]
    is_kept = bool(((getattr(graph, "__networkx_cache__", None) or {}).get("backends") or {}).get("vkssp"))
    defaults = _signature(name).parameters
    has_weights = any(key in defaults and given.get(key, defaults[key].default) is not None for key in _WEIGHTS)
    least = _LEAST_NODES[_kind(name, given), has_weights][is_kept]
    if len(graph) >= least:
        return True
    if least == math.inf:
        return "such a search is faster than a conversion of the graph, and this one was not converted before"
    state = "" if is_kept else " that was not converted before"
    return f"a graph of {len(graph)} nodes{state} is too small: from {least} nodes on the backend is faster"


def _kind(name: str, given: dict[str, Any]) -> str:
    """Return what a call searches: one pair, from one node, or from all."""
    if given.get("source") is not None and given.get("target") is not None and not name.startswith("bellman_ford"):
        return "pair"
    has_end = any(given.get(end) is not None for end in ("source", "target", "u", "v"))
    return "one" if has_end or name.startswith(_ONE) else "all"


def _given(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call by name, or None if they do not suit the function."""
    try:
        return dict(_signature(name).bind(*args, **kwargs).arguments)
    except TypeError:
        return None


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(globals()[name])


@cache
def _version() -> tuple[int, int]:
    major, minor = nx.__version__.split(".")[:2]
    return int(major), int(minor)


# ---- arguments and results ----


def _position(graph: ConvertedGraph, node: Any, message: str) -> int:
    """Return the position of a node, or raise the error that NetworkX raises."""
    found = graph.find(node)
    if found is None:
        raise nx.NodeNotFound(message.format(node))
    return found


def _named(graph: ConvertedGraph, positions: Any, values: Iterable[Any]) -> dict[Any, Any]:
    return dict(zip(graph.names[positions].tolist(), values, strict=True))


def _lengths(graph: ConvertedGraph, tree: Tree) -> dict[Any, Any]:
    """Return the distances of a tree by node."""
    return _named(graph, tree.settled, tree.lengths())


def _paths(graph: ConvertedGraph, tree: Tree, *, backward: bool = False) -> dict[Any, list[Any]]:
    """Return the paths of a tree by node; backward those from the nodes to the source."""
    nodes, paths = graph.rows.nodes, dict[int, list[Any]]()
    for node, before in zip(tree.settled.tolist(), tree.pred[tree.settled].tolist(), strict=True):
        if before < 0:
            paths[node] = [nodes[node]]
        else:
            paths[node] = [nodes[node], *paths[before]] if backward else [*paths[before], nodes[node]]
    return _named(graph, tree.settled, paths.values())


def _hops(cutoff: Any) -> Any:
    """Return the largest number of hops that NetworkX's searches by levels go with a cutoff."""
    if cutoff is None or cutoff == math.inf:
        return None
    return math.ceil(cutoff) if cutoff > 0 else 0  # 0 also for NaN


def _all(graph: ConvertedGraph) -> range:
    return range(len(graph))


def _from_all(
    graph: ConvertedGraph, weight: Any, cutoff: Any, value: Callable[[ConvertedGraph, Tree], Any]
) -> Iterator[tuple[Any, Any]]:
    """Return an iterator of each node and what is made of its tree."""
    trees = graph.metric(weight).trees(_all(graph), cutoff)  # which raises errors before the first node
    return ((node, value(graph, tree)) for node, tree in zip(graph, trees, strict=True))


def _original(name: str) -> Callable[..., Any]:
    """Return the function of NetworkX behind its dispatcher; what it calls is dispatched."""
    found: Callable[..., Any] = inspect.unwrap(getattr(nx, name))
    return found


# ---- Dijkstra's algorithm ----


def multi_source_dijkstra(
    G: ConvertedGraph, sources: Collection[Any], target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and shortest paths from the nearest of some nodes."""
    places = _places(G, sources)
    if target in sources:
        return 0, [target]
    metric = G.metric(weight)
    if target is None:
        tree = metric.tree(places, cutoff)
        return _lengths(G, tree), _paths(G, tree)
    found = _nearest_path(G, metric, places, target, cutoff)
    if found is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return found


def _places(graph: ConvertedGraph, sources: Collection[Any]) -> list[int]:
    """Return the positions of sources, each once."""
    if not sources:
        raise ValueError("sources must not be empty")
    return list(dict.fromkeys(_position(graph, source, "Node {} not found in graph") for source in sources))


def _nearest_path(
    graph: ConvertedGraph, metric: Metric, sources: list[int], target: Any, cutoff: Any = None
) -> tuple[Any, list[Any]] | None:
    """Return the length and the nodes of the shortest path from any source within a cutoff, or None."""
    place = graph.find(target)
    if place is None:
        return None
    if len(sources) == 1:
        found = metric.path(sources[0], place)
    else:
        tree = metric.tree(sources, cutoff)
        found = (tree.dist[place].item(), tree.path(place)) if tree.dist[place] < metric.none else None
    if found is None or (cutoff is not None and found[0] > cutoff):
        return None
    return found[0], [graph.rows.nodes[node] for node in found[1]]


def multi_source_dijkstra_path(
    G: ConvertedGraph, sources: Collection[Any], cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Return shortest paths from the nearest of some nodes."""
    return _paths(G, G.metric(weight).tree(_places(G, sources), cutoff))


def multi_source_dijkstra_path_length(
    G: ConvertedGraph, sources: Collection[Any], cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return distances from the nearest of some nodes."""
    return _lengths(G, G.metric(weight).tree(_places(G, sources), cutoff))


def single_source_dijkstra(
    G: ConvertedGraph, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and shortest paths from one node."""
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def single_source_dijkstra_path(
    G: ConvertedGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Return shortest paths from one node."""
    return multi_source_dijkstra_path(G, [source], cutoff, weight)


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return distances from one node."""
    return multi_source_dijkstra_path_length(G, [source], cutoff, weight)


def dijkstra_path(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return a shortest path between two nodes."""
    path: list[Any] = single_source_dijkstra(G, source, target, None, weight)[1]
    return path


def dijkstra_path_length(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance between two nodes."""
    place = _position(G, source, "Node {} not found in graph")
    if source == target:
        return 0
    found = _nearest_path(G, G.metric(weight), [place], target)
    if found is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found[0]


def bidirectional_dijkstra(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    """Return the distance between two nodes, and a shortest path."""
    place = _position(G, source, "Source {} is not in G")
    _position(G, target, "Target {} is not in G")
    if source == target:
        return 0, [source]
    found = _nearest_path(G, G.metric(weight), [place], target)
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found


def dijkstra_predecessor_and_distance(
    G: ConvertedGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return all predecessors on shortest paths from one node, and distances."""
    return _predecessors(G, _position(G, source, "Node {} is not found in the graph"), weight, cutoff)


def _predecessors(
    graph: ConvertedGraph, source: int, weight: Any, cutoff: Any = None
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    metric, nodes = graph.metric(weight), graph.rows.nodes
    tree = metric.tree([source], cutoff)
    before = ([nodes[place] for place in places] for places in metric.predecessors(tree))
    return _named(graph, tree.settled, before), _lengths(graph, tree)


def all_pairs_dijkstra(
    G: ConvertedGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[dict[Any, Any], dict[Any, list[Any]]]]]:
    """Yield each node with distances and shortest paths from it."""
    return _from_all(G, weight, cutoff, lambda graph, tree: (_lengths(graph, tree), _paths(graph, tree)))


def all_pairs_dijkstra_path(
    G: ConvertedGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Yield each node with shortest paths from it."""
    return _from_all(G, weight, cutoff, _paths)


def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield each node with distances from it."""
    return _from_all(G, weight, cutoff, _lengths)


def johnson(G: ConvertedGraph, weight: Any = "weight") -> dict[Any, dict[Any, list[Any]]]:
    """Return shortest paths between all nodes."""
    return dict(_from_all(G, weight, None, _paths))


def floyd_warshall(G: ConvertedGraph, weight: Any = "weight") -> dict[Any, dict[Any, Any]]:
    """Return the distances between all nodes, infinite where there is no path."""
    infinite, found = partial(float, "inf"), dict[Any, dict[Any, Any]]()
    for node, lengths in _from_all(G, weight, None, _lengths):
        found[node] = defaultdict(infinite, dict.fromkeys(G, math.inf) | lengths)
    return found


def floyd_warshall_numpy(G: ConvertedGraph, nodelist: Any = None, weight: Any = "weight") -> npt.NDArray[np.float64]:
    """Return the matrix of the distances between all nodes, float64, infinite where there is no path."""
    nodes = list(G) if nodelist is None else list(nodelist)
    if not len(nodes) == len(G) == len(set(nodes)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    places = [G.find(node) for node in nodes]
    if None in places:
        raise nx.NetworkXError(f"Nodes {[node for node in nodes if node not in G]} in nodelist is not in G")
    metric, known = G.metric(weight), [place for place in places if place is not None]
    matrix = np.empty((len(G), len(G)))
    for place, row in enumerate(metric.rows(known)):
        matrix[place] = np.where(row == metric.none, np.inf, row)[known]
    return matrix


# ---- the algorithm of Bellman and Ford, which negative weights alone would need ----


def single_source_bellman_ford(
    G: ConvertedGraph, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and shortest paths from one node."""
    if source == target:
        _position(G, source, "Node {} is not found in the graph")
        return 0, [source]
    place = _position(G, source, "Source {} not in G")
    metric = G.metric(weight)
    if target is None:
        tree = metric.tree([place])
        return _lengths(G, tree), _paths(G, tree)
    found = _nearest_path(G, metric, [place], target)
    if found is None:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    return found


def single_source_bellman_ford_path(G: ConvertedGraph, source: Any, weight: Any = "weight") -> dict[Any, list[Any]]:
    """Return shortest paths from one node."""
    return _paths(G, G.metric(weight).tree([_position(G, source, "Source {} not in G")]))


def single_source_bellman_ford_path_length(G: ConvertedGraph, source: Any, weight: Any = "weight") -> dict[Any, Any]:
    """Return distances from one node."""
    return _lengths(G, G.metric(weight).tree([_position(G, source, "Source {} not in G")]))


def bellman_ford_path(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return a shortest path between two nodes."""
    path: list[Any] = single_source_bellman_ford(G, source, target, weight)[1]
    return path


def bellman_ford_path_length(G: ConvertedGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance between two nodes."""
    if source == target:
        _position(G, source, "Node {} not found in graph")
        return 0
    place = _position(G, source, "Source {} not in G")
    found = _nearest_path(G, G.metric(weight), [place], target)
    if found is None:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return found[0]


def bellman_ford_predecessor_and_distance(
    G: ConvertedGraph, source: Any, target: Any = None, weight: Any = "weight", heuristic: bool = False
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return all predecessors on shortest paths from one node, and distances."""
    place = _position(G, source, "Node {} is not found in the graph")
    return ({source: []}, {source: 0}) if len(G) == 1 else _predecessors(G, place, weight)


def all_pairs_bellman_ford_path(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Yield each node with shortest paths from it."""
    return _from_all(G, weight, None, _paths)


def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield each node with distances from it."""
    return _from_all(G, weight, None, _lengths)


def goldberg_radzik(G: ConvertedGraph, source: Any, weight: Any = "weight") -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return a predecessor of each node on a shortest path from one node, and distances."""
    tree = G.metric(weight).tree([_position(G, source, "Node {} is not found in the graph")])
    nodes = G.rows.nodes
    before = (None if place < 0 else nodes[place] for place in tree.pred[tree.settled].tolist())
    return _named(G, tree.settled, before), _lengths(G, tree)


# ---- numbers of hops ----


def single_source_shortest_path_length(G: ConvertedGraph, source: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return numbers of hops from one node."""
    return _lengths(G, G.metric(None).tree([_position(G, source, "Source {} is not in G")], _hops(cutoff)))


def single_target_shortest_path_length(G: ConvertedGraph, target: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return numbers of hops to one node."""
    place = _position(G, target, "Target {} is not in G")
    return _lengths(G, G.reverse().metric(None).tree([place], _hops(cutoff)))


def single_source_shortest_path(G: ConvertedGraph, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return paths of the fewest hops from one node."""
    return _paths(G, G.metric(None).tree([_position(G, source, "Source {} not in G")], _hops(cutoff)))


def single_target_shortest_path(G: ConvertedGraph, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return paths of the fewest hops to one node."""
    place = _position(G, target, "Target {} not in G")
    return _paths(G, G.reverse().metric(None).tree([place], _hops(cutoff)), backward=True)


def all_pairs_shortest_path_length(G: ConvertedGraph, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Yield each node with the numbers of hops from it."""
    return _from_all(G, None, _hops(cutoff), _lengths)


def all_pairs_shortest_path(G: ConvertedGraph, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Yield each node with paths of the fewest hops from it."""
    return _from_all(G, None, _hops(cutoff), _paths)


def bidirectional_shortest_path(G: ConvertedGraph, source: Any, target: Any) -> list[Any]:
    """Return a path of the fewest hops between two nodes."""
    place = _position(G, source, "Source {} is not in G")
    _position(G, target, "Target {} is not in G")
    found = _nearest_path(G, G.metric(None), [place], target)
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found[1]


def predecessor(
    G: ConvertedGraph, source: Any, target: Any = None, cutoff: Any = None, return_seen: bool | None = None
) -> Any:
    """Return all predecessors on paths of the fewest hops from one node, or those of one target."""
    place = _position(G, source, "Source {} not in G")
    pred, seen = _predecessors(G, place, None, max(1, math.ceil(cutoff)) if cutoff else None)
    if target is not None:
        before = pred.get(target, [])
        return (before, seen.get(target, -1)) if return_seen else before
    return (pred, seen) if return_seen else pred


# ---- functions of NetworkX that call others ----


def has_path(G: ConvertedGraph, source: Any, target: Any) -> Any:
    """Return whether there is a path between two nodes."""
    return _original("has_path")(G, source, target)


def shortest_path(
    G: ConvertedGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return shortest paths between nodes, or from or to one node, or between all."""
    return _original("shortest_path")(G, source, target, weight, method)


def shortest_path_length(
    G: ConvertedGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return distances between nodes, or from or to one node, or between all."""
    return _original("shortest_path_length")(G, source, target, weight, method)


def all_shortest_paths(
    G: ConvertedGraph, source: Any, target: Any, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Yield all shortest paths between two nodes."""
    return _original("all_shortest_paths")(G, source, target, weight, method)


def single_source_all_shortest_paths(
    G: ConvertedGraph, source: Any, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Yield each node with all shortest paths from one node."""
    return _original("single_source_all_shortest_paths")(G, source, weight, method)


def all_pairs_all_shortest_paths(G: ConvertedGraph, weight: Any = None, method: str = "dijkstra") -> Any:
    """Yield each node with all shortest paths from it."""
    return _original("all_pairs_all_shortest_paths")(G, weight, method)


def diameter(G: ConvertedGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the largest eccentricity."""
    return _original("diameter")(G, e, usebounds, weight)


def radius(G: ConvertedGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the least eccentricity."""
    return _original("radius")(G, e, usebounds, weight)


def periphery(G: ConvertedGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the nodes of the largest eccentricity."""
    return _original("periphery")(G, e, usebounds, weight)


def _check_nodes(G: ConvertedGraph, weight: Any) -> None:
    """Raise the error by which NetworkX refuses to ask whether a graph without nodes is a tree."""
    if len(G) == 0 and weight is None and not G.is_directed():
        raise nx.NetworkXPointlessConcept("G has no nodes.")


def center(G: ConvertedGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the nodes of the least eccentricity."""
    _check_nodes(G, weight)
    if e is None and not (usebounds is True and not G.is_directed()):
        e = eccentricity(G, weight=weight)  # NetworkX would first ask whether the graph is a tree
    return _original("center")(G, e, usebounds, weight)


# ---- sums of distances ----


def eccentricity(G: ConvertedGraph, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """Return the largest distance from each node, or from one."""
    if sp is not None:
        return _original("eccentricity")(G, v, sp, weight)
    nodes = list(dict.fromkeys(G.nbunch_iter(v)))
    found = G.metric(weight).sums([_position(G, node, "{}") for node in nodes])
    if any(reached != len(G) for reached in found.reached):
        why = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {why}")
    largest = dict(zip(nodes, found.eccentricity, strict=True))
    return largest[v] if v in G else largest


def average_shortest_path_length(G: ConvertedGraph, weight: Any = None, method: str | None = None) -> float:
    """Return the mean distance between different nodes."""
    methods = ["unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"]
    if method is not None and method not in methods:
        raise ValueError(f"method not supported: {method}")
    count = len(G)
    if count == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if count == 1:
        return 0
    metric = G.metric(None if method == "unweighted" else weight)
    for sources in ([0], _all(G)):  # the first one shows most graphs that are not connected
        found = metric.sums(sources)
        if min(found.reached) < count:
            raise nx.NetworkXError(f"Graph is not {'strongly ' if G.is_directed() else ''}connected.")
    total: float = sum(found.total) / (count * (count - 1))
    return total


def barycenter(G: ConvertedGraph, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    """Return the nodes with the least sum of distances to all nodes; its name is `centroid` since NetworkX 3.7."""
    return centroid(G, weight, attr, sp)


def centroid(G: ConvertedGraph, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    """Return the nodes with the least sum of distances to all nodes."""
    if sp is not None:
        found: list[Any] = _original("barycenter")(G, weight, attr, sp)
        return found
    _check_nodes(G, weight)
    sums = G.metric(weight).sums(_all(G))
    if any(reached < len(G) for reached in sums.reached):
        raise nx.NetworkXNoPath(
            f"Input graph {G} is disconnected, so every induced subgraph has infinite barycentricity."
        )
    least = min(sums.total, default=0)
    return [node for node, total in zip(G, sums.total, strict=True) if total == least]


def closeness_centrality(
    G: ConvertedGraph, u: Any = None, distance: Any = None, wf_improved: bool = True, *, sp: Any = None
) -> Any:
    """Return the reciprocal of the mean distance to each node, or to one; `sp` is there since NetworkX 3.7."""
    if sp is not None:
        return _original("closeness_centrality")(G, u, distance, wf_improved, sp=sp)
    message = "Source {} is not in G" if distance is None else "Node {} not found in graph"
    places = _all(G) if u is None else [_position(G, u, message)]
    found = G.reverse().metric(distance).sums(places)
    values = [
        _closeness(reached, total, len(G), wf_improved)
        for reached, total in zip(found.reached, found.total, strict=True)
    ]
    return dict(zip(G, values, strict=True)) if u is None else values[0]


def _closeness(reached: int, total: float, count: int, is_improved: bool) -> float:
    if total <= 0.0 or count <= 1:
        return 0.0
    found = (reached - 1.0) / total
    return found * ((reached - 1.0) / (count - 1)) if is_improved else found


def harmonic_centrality(
    G: ConvertedGraph, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    """Return the sum of the reciprocals of the distances to nodes, from all or some sources."""
    nodes, starts = set(G.nbunch_iter(nbunch)), set(G.nbunch_iter(sources))
    found: dict[Any, float] = dict.fromkeys(nodes, 0)
    at = [_position(G, node, "{}") for node in found]
    begin = [_position(G, node, "{}") for node in starts]
    if len(at) < len(begin):
        metric, ends = G.reverse().metric(distance), np.array(begin, np.int64)
        sums = [_reciprocals(row[ends], metric.none).sum().item() for row in metric.rows(at)]
    else:
        metric, ends = G.metric(distance), np.array(at, np.int64)
        total = np.zeros(len(at))
        for row in metric.rows(begin):
            total += _reciprocals(row[ends], metric.none)
        sums = total.tolist()
    return dict(zip(found, sums, strict=True))


def _reciprocals(dist: npt.NDArray[Any], none: Any) -> npt.NDArray[np.float64]:
    """Return the reciprocals of distances, 0 for those that are 0 or infinite."""
    found: npt.NDArray[np.float64] = np.zeros(len(dist))
    np.divide(1.0, dist, out=found, where=(dist > 0) & (dist < none))
    return found


def _harmonic_sum(graph: ConvertedGraph, weight: Any) -> float:
    metric = graph.metric(weight)
    return math.fsum(float(_reciprocals(row, metric.none).sum()) for row in metric.rows(_all(graph)))


def harmonic_diameter(G: ConvertedGraph, sp: Any = None, *, weight: Any = None) -> float:
    """Return the harmonic mean of the distances between different nodes."""
    if sp is not None:
        found: float = _original("harmonic_diameter")(G, sp, weight=weight)
        return found
    total, count = _harmonic_sum(G, weight), len(G)
    if total != 0:
        return count * (count - 1) / total
    return math.inf if count > 1 else math.nan


def global_efficiency(G: ConvertedGraph) -> float:
    """Return the mean of the reciprocals of the numbers of hops between different nodes."""
    pairs = len(G) * (len(G) - 1)
    return _harmonic_sum(G, None) / pairs if pairs else 0


def voronoi_cells(G: ConvertedGraph, center_nodes: Collection[Any], weight: Any = "weight") -> dict[Any, set[Any]]:
    """Return the nodes that are nearest to each of some nodes."""
    tree = G.metric(weight).tree(_places(G, center_nodes))
    nodes, nearest, cells = G.rows.nodes, dict[int, int](), dict[Any, set[Any]]()
    for node, before in zip(tree.settled.tolist(), tree.pred[tree.settled].tolist(), strict=True):
        nearest[node] = center = nearest[before] if before >= 0 else node
        cells.setdefault(nodes[center], set()).add(nodes[node])
    if len(nearest) < len(G):
        cells["unreachable"] = {node for place, node in enumerate(nodes) if place not in nearest}
    return cells


# ---- betweenness ----


def betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Return the shares of shortest paths through each node."""
    k = None if k == len(G) else k
    sample = None if k is None else seed.sample(list(G), k)
    by_node, _ = _betweenness(G, sample, weight, endpoints)
    found = dict(zip(G, by_node.tolist(), strict=True))
    return _rescaled(G, found, sample, normalized, endpoints)


def edge_betweenness_centrality(
    G: ConvertedGraph, k: int | None = None, normalized: bool = True, weight: Any = None, seed: Any = None
) -> dict[Any, float]:
    """Return the shares of shortest paths over each edge."""
    sample = None if k is None else seed.sample(list(G), k)
    edges, edge = G.edges()
    _, by_edge = _betweenness(G, sample, weight, False, edge)
    return _rescaled(G, dict(zip(edges, by_edge.tolist(), strict=True)), sample, normalized, True)


def _betweenness(
    graph: ConvertedGraph, sample: list[Any] | None, weight: Any, has_ends: bool, edge: Any = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the sums of the shares of paths from all or some sources, by node and by edge."""
    metric, count = graph.metric(weight), len(graph)
    if not metric.values.all():
        raise NotImplementedError("with weights of 0 there may be any number of shortest paths")
    rows = metric.first_out, metric.head, metric.values
    in_rows, in_edge = rows, np.zeros(0, np.int64) if edge is None else edge
    if graph.is_directed():
        first, by_head = csr.rows_of(metric.head, count)
        in_rows = first, metric.tail[by_head], metric.values[by_head]
        in_edge = in_edge if edge is None else edge[by_head]
    sources = _all(graph) if sample is None else [_position(graph, node, "{}") for node in sample]
    by_node, by_edge = np.zeros(count), np.zeros(0 if edge is None else int(edge.max(initial=-1)) + 1)
    rooms = np.empty(count), np.empty(count)
    for tree in metric.trees(sources):
        searched = tree.dist, tree.dist < metric.none, tree.settled
        kernels(_KERNELS).add_betweenness(*rows, *in_rows, in_edge, *searched, has_ends, *rooms, by_node, by_edge)
    return by_node, by_edge


def _rescaled(
    graph: ConvertedGraph, found: dict[Any, float], sample: list[Any] | None, normalized: bool, has_ends: bool
) -> dict[Any, float]:
    """Return betweenness as NetworkX scales it, which leaves a source out of the pairs that pass it."""
    count = len(graph) if has_ends else len(graph) - 1
    if count < 2:
        return found
    num_sources = count if sample is None else len(sample)
    others = num_sources if sample is None or has_ends else num_sources - 1
    correction = 1 if graph.is_directed() else 2

    def scale(sources: int) -> float:
        return 1 / (sources * (count - 1)) if normalized else count / (sources * correction)

    drawn = set() if sample is None or has_ends else set(sample)
    of_others, of_drawn = scale(num_sources), scale(others) if others > 0 else math.nan
    return {key: value * (of_drawn if key in drawn else of_others) for key, value in found.items()}
