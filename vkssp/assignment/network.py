"""Traffic network: arcs with delay functions, and zones between which a demand goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.assignment.delays import Delay, Floats
from vkssp.checks import array_of, ids_among, real_numbers, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Graph, Uint32s

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrafficNetwork:
    """Traffic network.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    tail, head : array_like
        Nodes from and to which each arc leads, shape (num_arcs,), from 0 on.
    delay : Delay
        Delay function of the arcs, such as `BPR` or `Conical`.
    zones : array_like
        Node of each zone, all different, shape (num_zones,): there its trips begin and end.
    fixed : array_like, optional
        What an arc costs besides its time, in the unit of time, shape (num_arcs,), from 0 on, for instance its toll
        divided by the value of time; 0 by default.
    closed : array_like, optional
        Nodes through which no path leads, which begin and end trips only, such as the centroids of zones, shape (c,).
    node_names, zone_names : sequence, optional
        Names of nodes and zones, in files and errors; by default their numbers.
    length : array_like, optional
        Length of each arc, shape (num_arcs,), in any unit.
    coordinates : array_like, optional
        Coordinates of the nodes, shape (num_nodes, 2), for files.

    Raises
    ------
    QueryError
        If an argument is invalid.

    Examples
    --------
    >>> from vkssp.assignment.delays import BPR
    >>> from vkssp.assignment.network import TrafficNetwork
    >>> delay = BPR([10.0, 15.0], [100, 200])
    >>> TrafficNetwork(2, [0, 0], [1, 1], delay, zones=[0, 1]).num_arcs
    2
    """

    __repr__ = brief

    num_nodes: int
    tail: Any
    head: Any
    delay: Delay
    zones: Any
    fixed: Any = None
    closed: Any = ()
    node_names: Any = None
    zone_names: Any = None
    length: Any = None
    coordinates: Any = None

    def __post_init__(self) -> None:
        """Check the arguments, and keep them as arrays."""
        count = whole_number(self.num_nodes, "num_nodes", 1, 2**31 - 1, "give a number of nodes from 1 on")
        ends = {name: ids_among(getattr(self, name), name, "node", count, QueryError) for name in ("tail", "head")}
        methods = ("time", "slope", "integral", "__len__")
        if not all(callable(getattr(self.delay, name, None)) for name in methods):
            raise QueryError(f"delay is {shown(self.delay)}; give BPR or Conical, or a class with their methods")
        num_arcs = len(self.delay)
        for name, nodes in ends.items():
            if len(nodes) != num_arcs:
                raise QueryError(f"{name} has {len(nodes)} nodes, and delay {num_arcs} arcs; give one for each arc")
        zones = ids_among(self.zones, "zones", "node", count, QueryError)
        if not len(zones) or len(np.unique(zones)) < len(zones):
            raise QueryError("zones are not different nodes; give a node of its own for each zone")
        closed = np.unique(ids_among(self.closed, "closed", "node", count, QueryError))
        fixed = self._values("fixed", num_arcs)
        if fixed is None:
            fixed = np.zeros(num_arcs)
        names = {"node_names": count, "zone_names": len(zones)}
        for name, length in names.items():
            given = getattr(self, name)
            array = np.arange(length) if given is None else array_of(given, name, "names", QueryError)
            if array.shape != (length,):
                raise QueryError(f"{name} has shape {array.shape}, not ({length},); give a name for each")
            object.__setattr__(self, name, array)
        if self.coordinates is not None:
            points = array_of(self.coordinates, "coordinates", "two numbers for each node", QueryError)
            if points.shape != (count, 2) or points.dtype.kind not in "iuf":
                raise QueryError(f"coordinates has shape {points.shape}; give two numbers for each of {count} nodes")
            object.__setattr__(self, "coordinates", points.astype(np.float64))
        arrays = {**ends, "zones": zones, "closed": closed, "fixed": fixed, "length": self._values("length", num_arcs)}
        for name, value in arrays.items():
            object.__setattr__(self, name, value)

    def _values(self, name: str, num_arcs: int) -> Floats | None:
        given = getattr(self, name)
        if given is None:
            return None
        values = real_numbers(given, name, "numbers, one for each arc", QueryError)
        if len(values) != num_arcs:
            raise QueryError(f"{name} has {len(values)} numbers, and delay {num_arcs} arcs; give one for each arc")
        if not (np.isfinite(values) & (values >= 0)).all():
            at = int(np.argmin(np.isfinite(values) & (values >= 0)))
            raise QueryError(f"{name}[{at}] is {shown(float(values[at]))}; give finite numbers from 0 on")
        return values

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self.tail)

    @property
    def num_zones(self) -> int:
        """Number of zones."""
        return len(self.zones)

    def search_graph(self, is_open: npt.NDArray[np.bool_] | None = None) -> SearchGraph:
        """Return a graph whose shortest paths are those that a user may take.

        A closed node becomes two: the arcs out of it leave one of them, and the arcs into it end at the other.

        Parameters
        ----------
        is_open : numpy.ndarray, optional
            Arcs that the user may take, shape (num_arcs,), bool; by default all.
        """
        arcs = np.arange(self.num_arcs) if is_open is None else np.flatnonzero(is_open)
        copy = np.arange(self.num_nodes)
        copy[self.closed] = self.num_nodes + np.arange(len(self.closed))
        tail, head = self.tail[arcs], copy[self.head[arcs]]
        order = np.argsort(tail, kind="stable")
        arcs = arcs[order]
        ones, count = np.ones(len(arcs), np.uint32), self.num_nodes + len(self.closed)
        graph = Graph.from_edges(tail[order], head[order], ones, num_nodes=count)
        return SearchGraph(graph, arcs, self.zones.astype(np.uint32), copy[self.zones].astype(np.uint32))


@dataclass(frozen=True, eq=False)
class SearchGraph:
    """Graph of the paths of a traffic network.

    Attributes
    ----------
    graph : Graph
        The graph, whose weights are all 1.
    arcs : numpy.ndarray
        The network's arc of each of its arcs, shape (k,), int64.
    origins, destinations : numpy.ndarray
        Nodes at which the trips of each zone begin and end, shape (num_zones,), uint32.
    """

    graph: Graph
    arcs: Int64s
    origins: Uint32s
    destinations: Uint32s
