"""Graph class: compressed sparse rows of uint32, checked on construction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import fixed, own
from vkssp.checks import Error, flag, instance, real_numbers, shown, whole_number, whole_numbers
from vkssp.errors import GraphError
from vkssp.graph.csr import UNREACHABLE, Floats, Uint32s, checked_rows, rows_of, tails_of
from vkssp.graph.hierarchy import Hierarchy
from vkssp.graph.order import Order
from vkssp.graph.storage import load_graph, save_graph
from vkssp.graph.streets import Streets
from vkssp.memory import require

# Least number of bytes for each node and edge while the rows of a graph are made.
_NODE_BYTES, _EDGE_BYTES = 9, 30


def _coordinates(lat: Any, lon: Any, num_nodes: int) -> tuple[Floats | None, Floats | None]:
    if (lat is None) != (lon is None):
        raise GraphError("lat and lon belong together; give both or neither")
    if lat is None:
        return None, None
    pair = []
    for values, name, bound in ((lat, "lat", 90.0), (lon, "lon", 180.0)):
        array = real_numbers(values, name, "degrees")
        if array.shape != (num_nodes,):
            raise GraphError(f"{name} has shape {array.shape}; give one per node, ({num_nodes},)")
        if not (np.abs(array) <= bound).all():  # also catches NaN
            at = int(np.flatnonzero(~(np.abs(array) <= bound))[0])
            raise GraphError(f"{name}[{at}] is {array[at]}; give degrees between -{bound:g} and {bound:g}")
        pair.append(array)
    return pair[0], pair[1]


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed graph with non-negative integer weights, as compressed sparse rows.

    The arcs of node ``u`` are ``first_out[u]`` to ``first_out[u + 1] - 1``. Make a graph with `from_csr`, `from_edges`,
    `from_scipy` or `load`; all of them check their arguments. Parallel arcs, loops and zero weights are allowed. A
    graph and its arrays do not change. Copies share the arrays. Unpickling checks a graph as loading does.

    Attributes
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Node that each arc leads to, shape (num_arcs,), uint32.
    weight : numpy.ndarray
        Weight of each arc, shape (num_arcs,), uint32, at most 2**32 - 2.
    lat, lon : numpy.ndarray or None
        Coordinates of the nodes in degrees, shape (num_nodes,), float64.
    streets : Streets or None
        Lengths, names and geometry of the arcs of an imported map.
    hierarchy : Hierarchy or None
        Hierarchy that `vkssp.prepare` made; it does not depend on the weights.
    """

    first_out: Uint32s
    head: Uint32s
    weight: Uint32s
    lat: Floats | None = None
    lon: Floats | None = None
    streets: Streets | None = None
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Protect the arrays from changes; their contents have been checked already."""
        for name, dtype in _DTYPES.items():
            array: Any = getattr(self, name)
            if array is None and name in ("lat", "lon"):
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise GraphError(f"{name} is {shown(array)}, not checked; make a graph with Graph.from_csr")
            object.__setattr__(self, name, fixed(array))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks, and its arguments."""
        rows = self.first_out, self.head, self.weight
        return _remade, (type(self), *rows, self.lat, self.lon, self.streets, self.hierarchy)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.first_out) - 1

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self.head)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays `first_out`, `head` and `weight`."""
        return self.first_out.nbytes + self.head.nbytes + self.weight.nbytes

    @cached_property
    def tail(self) -> Uint32s:
        """Node that each arc begins at, shape (num_arcs,), uint32; computed on first access."""
        return own(tails_of(self.first_out))

    def __repr__(self) -> str:
        """Return the graph's size in one line."""
        extras = "".join(f", {name}" for name, at in _EXTRA.items() if getattr(self, at) is not None)
        return f"Graph({self.num_nodes} nodes, {self.num_arcs} arcs{extras})"

    @classmethod
    def from_csr(
        cls,
        first_out: npt.ArrayLike,
        head: npt.ArrayLike,
        weight: npt.ArrayLike,
        *,
        lat: npt.ArrayLike | None = None,
        lon: npt.ArrayLike | None = None,
        streets: Streets | None = None,
    ) -> Graph:
        """Make a graph from compressed sparse rows.

        The graph shares arrays that nothing can write to: read-only arrays that own their memory, and read-only views
        of such arrays, of bytes, or of files that are mapped into memory for reading. It copies all other arrays, so
        that its contents stay as they were checked.

        Parameters
        ----------
        first_out : array_like
            Offsets of the nodes' arcs, shape (num_nodes + 1,): starts at 0, never falls, ends at the number of arcs.
        head : array_like
            Node ids, shape (num_arcs,).
        weight : array_like
            Whole numbers from 0 to 2**32 - 2, shape (num_arcs,).
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, shape (num_nodes,) each.
        streets : Streets, optional
            Attributes of the arcs.

        Raises
        ------
        GraphError
            If an argument is invalid; the message names the array, the entry and the cure.
        """
        first, heads = checked_rows(first_out, head)
        weights, num_nodes = whole_numbers(weight, "weight", "weights", UNREACHABLE - 1), len(first) - 1
        if len(weights) != len(heads):
            raise GraphError(f"weight has {len(weights)} entries and head has {len(heads)}; give one weight per arc")
        lats, lons = _coordinates(lat, lon, num_nodes)
        if streets is not None:
            instance(streets, Streets, "streets", "give a vkssp.Streets, or leave it out", GraphError)
            if lats is None:
                raise GraphError("streets need lat and lon of the nodes; give them too")
            streets.check(len(heads), len(first) - 1)
            if streets.turn is not None and (streets.turn > weights).any():
                at = int(np.argmax(streets.turn > weights))
                raise GraphError(f"streets.turn[{at}] is {streets.turn[at]}, more than the arc's weight, {weights[at]}")
        return cls(first, heads, weights, lats, lons, streets)

    @classmethod
    def from_edges(
        cls,
        tail: npt.ArrayLike,
        head: npt.ArrayLike,
        weight: npt.ArrayLike,
        *,
        num_nodes: int | None = None,
        undirected: bool = False,
        lat: npt.ArrayLike | None = None,
        lon: npt.ArrayLike | None = None,
    ) -> Graph:
        """Make a graph from lists of arcs in any order; the arcs of each node keep their order.

        Parameters
        ----------
        tail, head : array_like
            Node ids, shape (num_edges,) each.
        weight : array_like
            Whole numbers from 0 to 2**32 - 2, shape (num_edges,).
        num_nodes : int, optional
            Number of nodes; by default the number of coordinates, or without coordinates the largest id + 1.
        undirected : bool
            Whether each edge stands for an arc in both directions; a loop then becomes one arc.
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, shape (num_nodes,) each.

        Raises
        ------
        GraphError
            If an argument is invalid; the message names the array, the entry and the cure.
        MemoryShortageError
            If there is not enough memory for the nodes and edges, for example because an id is very large.
        """
        tails = whole_numbers(tail, "tail", "node ids", UNREACHABLE)
        heads = whole_numbers(head, "head", "node ids", UNREACHABLE)
        weights = whole_numbers(weight, "weight", "weights", UNREACHABLE - 1)
        if not len(tails) == len(heads) == len(weights):
            raise GraphError(
                f"tail, head and weight have {len(tails)}, {len(heads)}, {len(weights)} entries; give as many of each"
            )
        if num_nodes is None:
            if lat is not None:
                num_nodes = len(real_numbers(lat, "lat", "degrees"))
            else:
                num_nodes = max((int(ids.max()) + 1 for ids in (tails, heads) if len(ids)), default=0)
        most = UNREACHABLE - 1
        num_nodes = whole_number(num_nodes, "num_nodes", 0, most, f"give an integer from 0 to {most}", GraphError)
        undirected = flag(undirected, "undirected", GraphError)
        if len(tails) and int(tails.max()) >= num_nodes:
            at = int(np.argmax(tails))
            raise GraphError(f"tail[{at}] is {tails[at]}; node ids go from 0 to {num_nodes - 1}")
        require(
            _NODE_BYTES * num_nodes + _EDGE_BYTES * len(tails),
            f"a graph of {num_nodes:,} nodes and {len(tails):,} edges",
            "number the nodes from 0 on without gaps, such as by np.unique(ids, return_inverse=True), or use a machine "
            "with more",
        )
        if undirected:
            both = tails != heads
            tails, heads, weights = (
                np.concatenate([tails, heads[both]]),
                np.concatenate([heads, tails[both]]),
                np.concatenate([weights, weights[both]]),
            )
        first_out, by_tail = rows_of(tails, num_nodes)
        return cls.from_csr(own(first_out), own(heads[by_tail]), own(weights[by_tail]), lat=lat, lon=lon)

    @classmethod
    def from_scipy(cls, matrix: Any, *, lat: npt.ArrayLike | None = None, lon: npt.ArrayLike | None = None) -> Graph:
        """Make a graph from a square scipy sparse matrix or array: entry (u, v) is the weight of an arc from u to v.

        Explicitly stored zeros are arcs of weight zero, and entries stored twice are parallel arcs (unlike in scipy's
        own graph functions).

        Parameters
        ----------
        matrix : scipy.sparse matrix or array
            Shape (num_nodes, num_nodes), any format.
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, shape (num_nodes,) each.

        Raises
        ------
        GraphError
            If `matrix` is not a sparse matrix, is not square, or has an entry that is not a weight. Truth values are
            not weights; multiply them by a weight.
        MemoryShortageError
            If there is not enough memory for the nodes.
        """
        from scipy import sparse

        if not sparse.issparse(matrix):
            raise GraphError(f"matrix is a {type(matrix).__name__}; give a scipy sparse matrix or array")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise GraphError(f"matrix has shape {matrix.shape}; give a square one")
        if matrix.format == "csr":
            used = int(matrix.indptr[-1])  # the arrays may be longer
            return cls.from_csr(matrix.indptr, matrix.indices[:used], matrix.data[:used], lat=lat, lon=lon)
        entries = matrix.tocoo()
        if matrix.format in ("bsr", "dia"):  # their zeros only fill up blocks and diagonals
            entries.eliminate_zeros()
        return cls.from_edges(entries.row, entries.col, entries.data, num_nodes=matrix.shape[0], lat=lat, lon=lon)

    def to_scipy(self) -> Any:
        """Return the weights as a `scipy.sparse.csr_array` of shape (num_nodes, num_nodes), dtype uint32."""
        from scipy import sparse

        # Copies, because scipy sorts rows in place. 32-bit indices, because older versions of scipy's graph routines
        # accept no others.
        index = np.int32 if max(self.num_nodes, self.num_arcs) < 2**31 else np.int64
        rows = (self.weight.copy(), self.head.astype(index), self.first_out.astype(index))
        return sparse.csr_array(rows, shape=(self.num_nodes, self.num_nodes))

    def with_weights(self, weight: npt.ArrayLike) -> Graph:
        """Return a graph with other weights that shares everything else with this one.

        Parameters
        ----------
        weight : array_like
            Whole numbers from 0 to 2**32 - 2, shape (num_arcs,). If turns take time, the weight of an arc includes the
            turn into it; see `Streets.turn`.

        Raises
        ------
        GraphError
            If a weight is invalid, if the number of weights is not the number of arcs, or if a weight is less than the
            weight of the turn into its arc.
        """
        weights = whole_numbers(weight, "weight", "weights", UNREACHABLE - 1)
        if len(weights) != self.num_arcs:
            raise GraphError(f"weight has {len(weights)} entries and the graph {self.num_arcs} arcs; give one per arc")
        turn = None if self.streets is None else self.streets.turn
        if turn is not None and (weights < turn).any():
            at = int(np.argmax(weights < turn))
            raise GraphError(
                f"weight[{at}] is {weights[at]}, less than {turn[at]}, the weight of the turn into this arc "
                "(streets.turn); give weights that include the turns"
            )
        graph = replace(self, weight=weights)
        if "tail" in self.__dict__:
            graph.__dict__["tail"] = self.tail  # unchanged, so it is not computed again
        return graph

    def reversed(self) -> tuple[Graph, npt.NDArray[np.int64]]:
        """Return the graph with every arc reversed, and for each of its arcs the id of the arc in this graph.

        The reversed graph keeps the coordinates, but has no streets and no hierarchy.
        """
        first_out, by_head = rows_of(self.head, self.num_nodes)
        arrays = (own(array) for array in (first_out, self.tail[by_head], self.weight[by_head]))
        graph = Graph.from_csr(*arrays, lat=self.lat, lon=self.lon)
        return graph, by_head

    def renumbered(self, order: Order) -> tuple[Graph, npt.NDArray[np.int64]]:
        """Return the graph with nodes renumbered, and for each of its arcs the id of the arc in this graph.

        The renumbered graph has no hierarchy.

        Raises
        ------
        GraphError
            If `order` is not an `Order`, or is for another number of nodes.
        """
        instance(order, Order, "order", "make an Order, with Order.from_nodes, z_order or landmark_order", GraphError)
        rank, node = order.rank, order.node
        if len(rank) != self.num_nodes:
            raise GraphError(f"order is for {len(rank)} nodes; this graph has {self.num_nodes}")
        first_out, by_tail = rows_of(rank[self.tail], self.num_nodes)
        graph = Graph.from_csr(
            own(first_out),
            own(rank[self.head[by_tail]]),
            own(self.weight[by_tail]),
            lat=None if self.lat is None else self.lat[node],
            lon=None if self.lon is None else self.lon[node],
            streets=None if self.streets is None else self.streets.take(by_tail, node),
        )
        return graph, by_tail

    def save(self, path: str | Path) -> None:
        """Write the graph with its coordinates, streets and hierarchy to one file.

        The file appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file; its name ends in .graph or .npz, or has no ending.

        Raises
        ------
        FormatError
            If the file cannot be written, or its name has another ending.
        QueryError
            If `path` is not a path.
        """
        save_graph(self, path)

    @staticmethod
    def load(path: str | Path) -> Graph:
        """Read a graph that `save` wrote.

        Raises
        ------
        FormatError
            If the file is missing, not a saved graph, truncated or damaged.
        QueryError
            If `path` is not a path.
        """
        return load_graph(path, partial(_remade, Graph))


def checked_graph(graph: Any, error: Error = GraphError) -> Graph:
    """Return an argument that must be a graph; otherwise raise an error that says how to make a graph."""
    return instance(graph, Graph, "graph", "make a Graph, with read_graph, Graph.from_edges or Graph.from_scipy", error)


def _remade(
    kind: type[Graph],
    first_out: Uint32s,
    head: Uint32s,
    weight: Uint32s,
    lat: Floats | None,
    lon: Floats | None,
    streets: Streets | None,
    hierarchy: Hierarchy | None,
) -> Graph:
    """Return a graph made of the parts of a copied or pickled graph."""
    graph = kind.from_csr(first_out, head, weight, lat=lat, lon=lon, streets=streets)
    if hierarchy is None:
        return graph
    hierarchy.check(graph)
    return replace(graph, hierarchy=hierarchy)


_DTYPES = {"first_out": np.uint32, "head": np.uint32, "weight": np.uint32, "lat": np.float64, "lon": np.float64}
_EXTRA = {"coordinates": "lat", "streets": "streets", "hierarchy": "hierarchy"}
