"""Peers: other Python libraries that compute the same distances, for comparison with the algorithms of this package.

Each library is used as its users would use it: it computes the distances from one node to all nodes, by its fastest
call for this task, on a graph that was built before. The measured time is that of the call, up to the library's own
result; the conversion of the result to an array of 32-bit integers is not timed. All libraries are optional
(``pip install 'vkssp[bench]'``, except scipy, which is always installed) and are imported when they are first measured.

All of these libraries treat loops, parallel arcs and zero weights like other arcs, with two exceptions that this module
handles: scipy would add up parallel arcs in some conversions, so it gets only the lightest of them; RoutingKit holds
31 bits only. scipy, networkit, rustworkx and igraph add up 64-bit floating-point numbers, which are exact for all sums
that can occur here, below 2**53.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Floats, Graph, Uint32s


class Peer(ABC):
    """Library, with a graph in the library's own form.

    Parameters
    ----------
    module : module
        The module that `load` returned.
    graph : Graph
        The graph.
    limit_s : float
        Seconds that the setup may take; a library that would need far more raises an error instead.

    Attributes
    ----------
    checked_s : float
        Seconds that the check took whether the library can take the graph; they do not count as the library's time.

    Raises
    ------
    QueryError
        If the library cannot take such a graph.
    """

    #: Name of the peer and of its distribution, and name of its module.
    NAME: ClassVar[str]
    MODULE: ClassVar[str]
    #: Largest distance that the library can distinguish from a missing path.
    LARGEST: ClassVar[int] = UNREACHABLE - 1

    def __init__(self, module: Any, graph: Graph, limit_s: float) -> None:
        self.checked_s = 0.0
        self._nodes = graph.num_nodes
        self._make(module, graph, limit_s)

    @classmethod
    def load(cls) -> Any:
        """Return the library's module.

        Raises
        ------
        QueryError
            If it is not installed or cannot be imported.
        """
        try:
            return importlib.import_module(cls.MODULE)
        except ModuleNotFoundError as error:
            if error.name != cls.MODULE.partition(".")[0]:  # a module that the library needs is missing
                raise QueryError(f"cannot be imported ({error})") from None
            raise QueryError("not installed (pip install 'vkssp[bench]')") from None
        except ImportError as error:
            raise QueryError(f"cannot be imported ({error})") from None

    @classmethod
    def version(cls) -> str:
        """Return the installed version."""
        try:
            return importlib.metadata.version(cls.NAME)
        except importlib.metadata.PackageNotFoundError:  # importable, but not installed as a distribution
            return "unknown"

    def distances(self, source: int) -> Uint32s:
        """Return the distance from a node to every node, uint32; 2**32 - 1 for nodes that no path reaches."""
        return self.array(self.search(source))

    @abstractmethod
    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        """Make the library's form of the graph."""

    @abstractmethod
    def search(self, source: int) -> Any:
        """Return the distances from a node to every node in the library's own form."""

    @abstractmethod
    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""


class Scipy(Peer):
    """scipy: `scipy.sparse.csgraph.dijkstra`, a Fibonacci heap in compiled code.

    It gets only the lightest of parallel arcs. It treats zeros stored in a sparse matrix as arcs of weight zero.
    """

    NAME = "scipy"
    MODULE = "scipy.sparse"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        tail, head, weight = lightest_arcs(graph)
        index = np.int32 if max(graph.num_nodes, graph.num_arcs) < 2**31 else np.int64
        first = np.searchsorted(tail, np.arange(graph.num_nodes + 1)).astype(index)
        rows = (weight.astype(np.float64), head.astype(index), first)
        self._matrix = module.csr_array(rows, shape=(graph.num_nodes, graph.num_nodes))
        self._dijkstra = importlib.import_module("scipy.sparse.csgraph").dijkstra

    def search(self, source: int) -> Any:
        """Return an array of floats, infinite for nodes that no path reaches."""
        return self._dijkstra(self._matrix, directed=True, indices=source)

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(found)


class Networkit(Peer):
    """networkit: `networkit.distance.Dijkstra` without paths.

    It runs on one thread, whatever the number of threads is set to, so this setting is not changed.
    """

    NAME = MODULE = "networkit"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        arcs = (graph.weight.astype(np.float64), (graph.tail.astype(np.uint64), graph.head.astype(np.uint64)))
        self._graph = module.GraphFromCoo(arcs, n=graph.num_nodes, weighted=True, directed=True)
        self._dijkstra = module.distance.Dijkstra

    def search(self, source: int) -> Any:
        """Return the search itself, which holds the distances."""
        return self._dijkstra(self._graph, source, storePaths=False).run()

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(np.asarray(found.getDistances(asarray=True)))


class Rustworkx(Peer):
    """rustworkx: `rustworkx.digraph_dijkstra_shortest_path_lengths`.

    Each call asks a Python function for the weight of each arc; the builtin `float` is the fastest such function.
    """

    NAME = MODULE = "rustworkx"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        self._graph = module.PyDiGraph(multigraph=True)
        self._graph.add_nodes_from(list(itertools.repeat(None, graph.num_nodes)))
        weights = graph.weight.astype(np.float64).tolist()
        self._graph.add_edges_from(list(zip(graph.tail.tolist(), graph.head.tolist(), weights, strict=True)))
        self._dijkstra = module.digraph_dijkstra_shortest_path_lengths

    def search(self, source: int) -> Any:
        """Return the source, and a mapping from the reached nodes, without the source, to their distances."""
        return source, self._dijkstra(self._graph, source, float)

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        source, mapping = found
        distances = np.full(self._nodes, np.inf)
        nodes = np.fromiter(mapping.keys(), np.int64, len(mapping))
        distances[nodes] = np.fromiter(mapping.values(), np.float64, len(mapping))
        distances[source] = 0
        return _whole(distances)


class Igraph(Peer):
    """igraph: `igraph.Graph.distances`, told to use Dijkstra's algorithm.

    Each call converts the weights from Python's numbers to igraph's; no form of the weights avoids this.
    """

    NAME = MODULE = "igraph"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        # igraph makes a graph from tuples ten times as fast as from an array.
        ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
        self._graph = module.Graph(n=graph.num_nodes, edges=ends, directed=True)
        self._graph.es["weight"] = graph.weight.astype(np.float64).tolist()

    def search(self, source: int) -> Any:
        """Return a list that holds a list of floats, infinite for nodes that no path reaches."""
        return self._graph.distances(source=source, weights="weight", mode="out", algorithm="dijkstra")

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(np.array(found[0], np.float64))


class RoutingkitCch(Peer):
    """RoutingKit's customizable contraction hierarchies: a one-to-many search with all nodes pinned as targets.

    Setup consists of the order, the contraction, the customization and the pinning, all on one thread. The order is by
    inertial flow, which needs places of nodes. These are the nodes' coordinates or, in a graph without coordinates, the
    places that the Z-order curve gives to the ids. If too many arcs cross the median of either coordinate of these
    places, the order is by degree. Distances are unsigned integers below 2**31 - 1.

    A graph is refused if the order by inertial flow would exceed the limit, at 12 microseconds per arc, or if the
    customization would, at 5 nanoseconds per triangle of the order. Streets have few triangles; graphs without small
    separators, such as R-MAT graphs, have far too many. The library cannot be interrupted, so this is decided before.
    """

    NAME = "routingkit-cch"
    MODULE = "routingkit_cch"
    LARGEST = 2**31 - 2

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        metric, self.checked_s = self.metric(module, graph, limit_s)
        self._search = module.CCHOneToMany(metric, list(range(graph.num_nodes)))

    @classmethod
    def metric(cls, module: Any, graph: Graph, limit_s: float) -> tuple[Any, float]:
        """Return a customized hierarchy, which all searches of the library need, and the seconds of the checks.

        Raises
        ------
        QueryError
            If the hierarchy would take longer than the limit.
        """
        order, checked_s = cls.order(module, graph, limit_s)
        weights = cls.weights(graph)
        return module.CCHMetric(module.CCH(order, graph.tail.tolist(), graph.head.tolist(), False), weights), checked_s

    @classmethod
    def weights(cls, graph: Graph) -> list[int]:
        """Return the weights of a graph as the library takes them."""
        # Sums of heavier arcs would overflow. No distance that the library can hold needs these arcs.
        weights: list[int] = np.minimum(graph.weight, cls.LARGEST + 1).tolist()
        return weights

    @classmethod
    def order(cls, module: Any, graph: Graph, limit_s: float) -> tuple[list[int], float]:
        """Return the library's own order of contraction, and the seconds of the checks; raise `QueryError` as above."""
        began = time.perf_counter()
        at, order_s = places(graph), _ORDER_S * graph.num_arcs
        if at is not None and order_s > limit_s:
            raise QueryError(f"its order would take {order_s:.2g} s or so, and the limit is {limit_s:g} s")
        checked_s = time.perf_counter() - began
        order: list[int]
        if at is None:
            order = module.compute_order_degree(graph.num_nodes, graph.tail.tolist(), graph.head.tolist())
        else:
            lat, lon = (place.astype(np.float32) for place in at)
            # The library takes sequences; a memoryview is one without a Python object for each number.
            arrays = (graph.tail, graph.head, lat, lon)
            order = list(module.compute_order_inertial(graph.num_nodes, *(array.data for array in arrays)))
        began = time.perf_counter()
        cls._check(graph, order, limit_s)
        return order, checked_s + time.perf_counter() - began

    @staticmethod
    def _check(graph: Graph, order: Sequence[int], limit_s: float) -> None:
        from vkssp.bench.elimination import triangles

        most = int(min(limit_s, _LONGEST_S) / _CUSTOMIZATION_S)
        if triangles(graph, order, most) > most:
            raise QueryError(
                f"its customization would take more than the limit of {limit_s:g} s: the best order for this "
                f"graph makes more than {most:.1e} triangles"
            )

    def search(self, source: int) -> Any:
        """Return a list of integers, None for nodes that no path reaches."""
        return self._search.distances_from(source)

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(np.array(found, np.float64))


class RoutingkitCchPairs:
    """RoutingKit's customizable contraction hierarchies, for distances between two nodes.

    The hierarchy is made as in `RoutingkitCch`. One query object, which holds the library's buffers, serves all
    queries.

    Parameters
    ----------
    module : module
        The module that `RoutingkitCch.load` returned.
    graph : Graph
        The graph.
    limit_s : float
        Seconds that the hierarchy may take.

    Attributes
    ----------
    checked_s : float
        Seconds that the check took whether the library can take the graph.

    Raises
    ------
    QueryError
        If the hierarchy would take longer than the limit.
    """

    def __init__(self, module: Any, graph: Graph, limit_s: float) -> None:
        metric, self.checked_s = RoutingkitCch.metric(module, graph, limit_s)
        self._query = module.CCHQuery(metric)

    def distance(self, source: int, target: int) -> int:
        """Return the distance between two nodes; 2**32 - 1 if there is no path."""
        # The object that run() returns must be released before the next call.
        found: int | None = self._query.run(source, target).distance
        return UNREACHABLE if found is None else found


# Seconds per arc in the order by inertial flow, and per triangle in the customization, rounded up. On one core of an
# AMD EPYC an arc took 6 to 12 microseconds, on street grids of ten thousand to a million nodes. A triangle took 1.4 to
# 4.2 nanoseconds if there were at least a million triangles; only good orders of streets, which make few triangles,
# took 8 to 11.
_ORDER_S = 12e-6
_CUSTOMIZATION_S = 5e-9
# Upper bound of the limit in seconds, which keeps the numbers of triangles within 64 bits.
_LONGEST_S = 1e6
# Largest part of the arcs that may cross the median of a coordinate, for places that tell which nodes are near each
# other. On a grid of streets of 16 by 16 nodes it is 0.04, on larger grids less; on a random graph it is a half.
_PASSING = 0.05

#: All peers by name.
PEERS: dict[str, type[Peer]] = {peer.NAME: peer for peer in (Scipy, Networkit, Rustworkx, Igraph, RoutingkitCch)}


def peer_named(name: str) -> type[Peer]:
    """Return the peer of a name; raise `QueryError` with all names if there is none."""
    if name not in PEERS:
        raise QueryError(f"peer is {name!r}; choose some of {', '.join(PEERS)}, or all")
    return PEERS[name]


def peer_names(text: str) -> tuple[str, ...]:
    """Parse a list of names such as ``A,B`` or ``all``; return each name once.

    Raises
    ------
    QueryError
        If a name is unknown.
    """
    given = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(dict.fromkeys(name for one in given for name in (PEERS if one == "all" else [peer_named(one).NAME])))


def lightest_arcs(graph: Graph) -> tuple[Uint32s, Uint32s, Uint32s]:
    """Return the sorted tails, heads and weights of the arcs, with only the lightest of parallel arcs."""
    tail, head, weight = graph.tail, graph.head, graph.weight
    by_ends = np.lexsort((weight, head, tail))
    tail, head, weight = tail[by_ends], head[by_ends], weight[by_ends]
    first = np.ones(len(tail), np.bool_)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    return tail[first], head[first], weight[first]


def places(graph: Graph) -> tuple[Floats, Floats] | None:
    """Return latitudes and longitudes that tell which nodes are near each other, or None if there are none.

    They are the graph's own coordinates, or else come from the ids by the Z-order curve: many generators, and programs
    that care about caches, number nodes in this or a similar order.
    """
    if graph.lat is not None and graph.lon is not None:
        lat, lon = graph.lat, graph.lon
    else:
        lat, lon = (_every_other_bit(np.arange(graph.num_nodes) >> shift) for shift in (1, 0))
    for coordinate in (lat, lon):
        beyond = coordinate > np.median(coordinate)
        if np.count_nonzero(beyond[graph.tail] != beyond[graph.head]) > _PASSING * graph.num_arcs:
            return None
    return lat, lon


def _every_other_bit(ids: npt.NDArray[np.int64]) -> Floats:
    """Return the numbers made of bits 0, 2, 4 and so on, times a ten-thousandth of a degree."""
    found = sum(((ids >> 2 * bit) & 1) << bit for bit in range(16))
    return 1e-4 * np.asarray(found, np.float64)


def _whole(distances: npt.NDArray[np.float64]) -> Uint32s:
    """Return distances as uint32; infinity, the largest float and NaN (from None) become `UNREACHABLE`."""
    return np.fmin(distances, UNREACHABLE).astype(np.uint32)
