"""Other libraries for Python that find the same distances, to be measured beside the algorithms of this one.

Each is asked for what its users would ask it for: the distances from one node to all, by its fastest call for that,
on a graph that was built before. What is timed is the call, up to where the library's own result is there; making an
array of 32-bit integers of that is not timed. All of them are optional (``pip install 'vkssp[bench]'``, but for scipy,
which is installed anyway) and are imported when they are first measured.

Loops, parallel arcs and zero weights are arcs like others to all of these libraries, with two exceptions that are
taken care of here: scipy would add up parallel arcs in some conversions, and gets the lightest of them; RoutingKit
holds 31 bits only. scipy, networkit, rustworkx and igraph add up 64-bit floating-point numbers, which hold all sums
that can appear here, below 2**53, exactly.
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
from vkssp.hierarchy.inertial_flow import inertial_order


class Peer(ABC):
    """A library and a graph in the form that it takes.

    Parameters
    ----------
    module : module
        What `load` returned.
    graph : Graph
        The graph.
    limit_s : float
        Seconds that making it may take; who would need far more says so instead.

    Attributes
    ----------
    checked_s : float
        Seconds that went into finding out whether the library can take the graph: they are not its own.

    Raises
    ------
    QueryError
        If the library cannot take such a graph.
    """

    #: What it is called here and, where that differs, by those who install and import it.
    NAME: ClassVar[str]
    MODULE: ClassVar[str]
    #: The largest distance that it can tell from there being no path.
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
            If it is not installed, or is and cannot be imported.
        """
        try:
            return importlib.import_module(cls.MODULE)
        except ModuleNotFoundError as error:
            if error.name != cls.MODULE.partition(".")[0]:  # something that it needs, which its installer left out
                raise QueryError(f"cannot be imported ({error})") from None
            raise QueryError("not installed (pip install 'vkssp[bench]')") from None
        except ImportError as error:
            raise QueryError(f"cannot be imported ({error})") from None

    @classmethod
    def version(cls) -> str:
        """Return the version that is installed."""
        try:
            return importlib.metadata.version(cls.NAME)
        except importlib.metadata.PackageNotFoundError:  # importable, but not put there by an installer
            return "unknown"

    def distances(self, source: int) -> Uint32s:
        """Return the distance from a node to every node, uint32; 2**32 - 1 for nodes that no path reaches."""
        return self.array(self.search(source))

    @abstractmethod
    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        """Make what the library searches in."""

    @abstractmethod
    def search(self, source: int) -> Any:
        """Return the distances from a node to every node as the library has them."""

    @abstractmethod
    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""


class Scipy(Peer):
    """scipy: `scipy.sparse.csgraph.dijkstra`, a Fibonacci heap in compiled code.

    It gets the lightest of parallel arcs. Zeros that are stored in a sparse matrix are arcs of weight zero to it.
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
        """Return an array of floats, infinite where no path leads."""
        return self._dijkstra(self._matrix, directed=True, indices=source)

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(found)


class Networkit(Peer):
    """networkit: `networkit.distance.Dijkstra` without paths.

    It runs on one thread whatever the number of threads is set to, so that number is left alone.
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

    It asks a Python function for the weight of each arc, in each call; the builtin `float` is the fastest there is.
    """

    NAME = MODULE = "rustworkx"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        self._graph = module.PyDiGraph(multigraph=True)
        self._graph.add_nodes_from(list(itertools.repeat(None, graph.num_nodes)))
        weights = graph.weight.astype(np.float64).tolist()
        self._graph.add_edges_from(list(zip(graph.tail.tolist(), graph.head.tolist(), weights, strict=True)))
        self._dijkstra = module.digraph_dijkstra_shortest_path_lengths

    def search(self, source: int) -> Any:
        """Return a mapping of the nodes that were reached, but for the source itself, and a mark of that."""
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

    It turns the weights from Python's numbers to its own in each call: there is no form that spares it that.
    """

    NAME = MODULE = "igraph"

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        # Of tuples it makes a graph ten times as fast as of an array.
        ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
        self._graph = module.Graph(n=graph.num_nodes, edges=ends, directed=True)
        self._graph.es["weight"] = graph.weight.astype(np.float64).tolist()

    def search(self, source: int) -> Any:
        """Return a list of floats in a list, infinite where no path leads."""
        return self._graph.distances(source=source, weights="weight", mode="out", algorithm="dijkstra")

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(np.array(found[0], np.float64))


class RoutingkitCch(Peer):
    """RoutingKit's customizable contraction hierarchies: a one-to-many search with all nodes pinned as targets.

    Setup is the order, the contraction, the customization and the pinning, all on one thread. The order is the one by
    inertial flow, which needs places of nodes: their coordinates or, in a graph without any, those that the Z-order
    curve gives to their ids, provided that few arcs pass the middle of these places; otherwise it is the order by
    degree. Distances are unsigned integers; there is none of 2**31 - 1 or more.

    A graph is refused if the order by inertial flow would take longer than the limit, at 12 microseconds for each arc,
    or the customization would, at 5 nanoseconds for each triangle that the order makes. Streets have few of these,
    graphs without small separators, such as R-MAT graphs, have hopelessly many. The library cannot be interrupted, so
    what is refused is decided before.
    """

    NAME = "routingkit-cch"
    MODULE = "routingkit_cch"
    LARGEST = 2**31 - 2

    def _make(self, module: Any, graph: Graph, limit_s: float) -> None:
        metric, self.checked_s = self.metric(module, graph, limit_s)
        self._search = module.CCHOneToMany(metric, list(range(graph.num_nodes)))

    @classmethod
    def metric(cls, module: Any, graph: Graph, limit_s: float) -> tuple[Any, float]:
        """Return a customized hierarchy, in which all of the library's searches go, and the seconds of checking first.

        Raises
        ------
        QueryError
            If making it would take longer than the limit.
        """
        # Heavier arcs would overflow where they are added up; of the distances that it can tell none needs them.
        weight = np.minimum(graph.weight, cls.LARGEST + 1).tolist()
        tail, head = graph.tail.tolist(), graph.head.tolist()
        began = time.perf_counter()
        at, order_s = places(graph), _ORDER_S * graph.num_arcs
        if at is not None and order_s > limit_s:
            raise QueryError(f"its order would take {order_s:.2g} s or so, and the limit is {limit_s:g} s")
        checked_s = time.perf_counter() - began
        if at is None:
            order = module.compute_order_degree(graph.num_nodes, tail, head)
        else:
            order = inertial_order(graph.num_nodes, graph.tail, graph.head, *at).tolist()
        began = time.perf_counter()
        cls._check(graph, order, limit_s)
        checked_s += time.perf_counter() - began
        return module.CCHMetric(module.CCH(order, tail, head, False), weight), checked_s

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
        """Return a list of integers, None where no path leads."""
        return self._search.distances_from(source)

    def array(self, found: Any) -> Uint32s:
        """Return what `search` returned as an array, uint32."""
        return _whole(np.array(found, np.float64))


class RoutingkitCchPairs:
    """RoutingKit's customizable contraction hierarchies, asked for the distance between two nodes.

    The hierarchy is that of `RoutingkitCch`, and the query object, whose buffers are the library's, serves all queries.

    Parameters
    ----------
    module : module
        What `RoutingkitCch.load` returned.
    graph : Graph
        The graph.
    limit_s : float
        Seconds that making it may take.

    Attributes
    ----------
    checked_s : float
        Seconds that went into finding out whether the library can take the graph.

    Raises
    ------
    QueryError
        If making it would take longer than the limit.
    """

    def __init__(self, module: Any, graph: Graph, limit_s: float) -> None:
        metric, self.checked_s = RoutingkitCch.metric(module, graph, limit_s)
        self._query = module.CCHQuery(metric)

    def distance(self, source: int, target: int) -> int:
        """Return the distance between two nodes; 2**32 - 1 where there is no path."""
        # What run() returns must be gone before it is called again.
        found: int | None = self._query.run(source, target).distance
        return UNREACHABLE if found is None else found


# Seconds for an arc in the order by inertial flow, and for a triangle in the customization, rounded up: on one core of
# an AMD EPYC they were 6 to 12 microseconds, on street grids of ten thousand to a million nodes, and 1.4 to 4.2
# nanoseconds where there were a million triangles or more, but for good orders of streets: 8 to 11 of few triangles.
_ORDER_S = 12e-6
_CUSTOMIZATION_S = 5e-9
# Whatever the limit, nobody waits so long; this keeps the numbers of triangles in 64 bits.
_LONGEST_S = 1e6
# Part of the arcs that may pass the middle of places that say which nodes are near each other. On a grid of streets of
# 16 by 16 nodes it is 0.04, on larger ones less; on a random graph it is a half.
_PASSING = 0.05

#: All of them, by name.
PEERS: dict[str, type[Peer]] = {peer.NAME: peer for peer in (Scipy, Networkit, Rustworkx, Igraph, RoutingkitCch)}


def peer_named(name: str) -> type[Peer]:
    """Return the peer of a name, or raise `QueryError` with those that there are."""
    if name not in PEERS:
        raise QueryError(f"peer is {name!r}; choose some of {', '.join(PEERS)}, or all")
    return PEERS[name]


def peer_names(text: str) -> tuple[str, ...]:
    """Return the names in ``A,B`` or ``all``, each once.

    Raises
    ------
    QueryError
        If one of them is not known.
    """
    given = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(dict.fromkeys(name for one in given for name in (PEERS if one == "all" else [peer_named(one).NAME])))


def lightest_arcs(graph: Graph) -> tuple[Uint32s, Uint32s, Uint32s]:
    """Return tails, heads and weights, sorted, of the arcs but those that are parallel to a lighter one."""
    tail, head, weight = graph.tail, graph.head, graph.weight
    by_ends = np.lexsort((weight, head, tail))
    tail, head, weight = tail[by_ends], head[by_ends], weight[by_ends]
    first = np.ones(len(tail), np.bool_)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    return tail[first], head[first], weight[first]


def places(graph: Graph) -> tuple[Floats, Floats] | None:
    """Return latitudes and longitudes by which nodes that are near each other are told, or None if there are none.

    They are the graph's own, or else made of the ids as the Z-order curve has them: many generators and all who care
    about caches number nodes so, or in a similar way.
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
    """Return the numbers made of bits 0, 2, 4 and so on, a ten thousandth of a degree apart."""
    found = sum(((ids >> 2 * bit) & 1) << bit for bit in range(16))
    return 1e-4 * np.asarray(found, np.float64)


def _whole(distances: npt.NDArray[np.float64]) -> Uint32s:
    """Return distances as uint32s; infinity, the largest of floats and, where there was None, what is no number."""
    return np.fmin(distances, UNREACHABLE).astype(np.uint32)
