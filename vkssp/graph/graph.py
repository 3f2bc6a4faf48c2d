"""Graph class: compressed sparse rows of uint32, checked on construction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vkssp.arrays import fixed, own
from vkssp.checks import (
    Error,
    flag,
    ids_among,
    instance,
    is_many,
    number_of,
    real_numbers,
    shown,
    whole_number,
    whole_numbers,
)
from vkssp.errors import GraphError, QueryError
from vkssp.graph.csr import (
    UNREACHABLE,
    Floats,
    Uint32s,
    checked_rows,
    permuted_rows,
    require_few_arcs,
    rows_of,
    tails_of,
)
from vkssp.graph.hierarchy import Hierarchy
from vkssp.graph.names import NameIndex, Names, checked_names, numbered
from vkssp.graph.order import Order
from vkssp.graph.scaling import (
    AUTO,
    GivenWeights,
    Scaled,
    checked_error,
    checked_scale,
    fit_32_bits,
    given_weights,
    scaled,
)
from vkssp.graph.storage import load_graph, save_graph
from vkssp.graph.streets import Streets
from vkssp.graph.units import MOST_SCALE, Units
from vkssp.memory import require

# Least number of bytes for each node and edge while the rows of a graph are made.
_NODE_BYTES, _EDGE_BYTES = 9, 30
# Further bytes for each edge with a real weight: in the order of the rows, and in units before and after rounding.
_REAL_BYTES = 24
# What makes graphs of the objects of other libraries, by the name of the package.
_MAKERS = {
    "geopandas": "from_geodataframe",
    "igraph": "from_igraph",
    "networkit": "from_networkit",
    "networkx": "from_networkx, or from_osmnx for a street network",
    "numpy": "Graph.from_edges or Graph.from_csr",
    "pandas": "from_dataframe",
    "polars": "from_dataframe",
    "pyarrow": "from_dataframe",
    "scipy": "Graph.from_scipy",
}


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


# Nodes whose positions are kept as an array.
_FEW = 1 << 20


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed graph with weights from 0 on, as compressed sparse rows.

    The arcs of node ``u`` are ``first_out[u]`` to ``first_out[u + 1] - 1``. Make a graph with `from_csr`, `from_edges`,
    `from_scipy` or `load`; all of them check their arguments. Parallel arcs, loops and zero weights are allowed. A
    graph and its arrays do not change. Copies share the arrays. Unpickling checks a graph as loading does.

    Searches add up whole numbers of 32 bits. Weights of an integer type are these numbers; then all distances are
    exact, and uint32. Weights of a floating type are multiples of a unit, `scale`: exactly, if they have a common unit
    such as 0.1, or rounded to a unit by which the largest distances use the 32 bits. Then all distances are float64, in
    the units of the caller's weights, infinite where no path leads. The weight of a path is wrong by at most
    `weight_error` for each of its arcs, and a distance by at most that of the longer of two paths: the one that is
    found, and the one that is the shortest by the weights that were given. Where `max_weight_error` asks for less than
    32 bits allow, searches add up 64 bits.

    Attributes
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Node that each arc leads to, shape (num_arcs,), uint32.
    weight : numpy.ndarray
        Weight of each arc, shape (num_arcs,), uint32, at most 2**32 - 2; in units of `scale`.
    lat, lon : numpy.ndarray or None
        Coordinates of the nodes in degrees, shape (num_nodes,), float64.
    streets : Streets or None
        Lengths, names and geometry of the arcs of an imported map.
    hierarchy : Hierarchy or None
        Hierarchy that `vkssp.prepare` made; it does not depend on the weights.
    scale : float or None
        The caller's units for one unit of `weight`, if the caller's weights are real numbers; None for whole numbers.
    weight_error : float
        Largest difference between the caller's weight of an arc and ``weight * scale``; 0 if weights are exact, and
        otherwise at most half of `scale`, or at most `scale` after `coarsened`.
    max_weight_error : float
        The largest `weight_error` that the caller accepts; infinite if it is any.
    names : numpy.ndarray or None
        Name of each node, shape (num_nodes,), int64 or object, if nodes have names other than their positions. Solvers
        take and return names then; arrays by node are in the order of positions. See `index_of`.
    """

    first_out: Uint32s
    head: Uint32s
    weight: Uint32s
    lat: Floats | None = None
    lon: Floats | None = None
    streets: Streets | None = None
    hierarchy: Hierarchy | None = None
    scale: float | None = None
    weight_error: float = 0.0
    names: Names | None = None
    max_weight_error: float = math.inf

    def __post_init__(self) -> None:
        """Protect the arrays from changes; their contents have been checked already."""
        for name, dtype in _DTYPES.items():
            array: Any = getattr(self, name)
            if array is None and name in ("lat", "lon"):
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise GraphError(f"{name} is {shown(array)}, not checked; make a graph with Graph.from_csr")
            object.__setattr__(self, name, fixed(array))
        if self.scale is not None and not (isinstance(self.scale, float) and self.scale > 0):
            raise GraphError(f"scale is {shown(self.scale)}, not checked; make a graph with Graph.from_csr")
        if self.names is not None:
            object.__setattr__(self, "names", fixed(self.names))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks, and its arguments."""
        rows = self.first_out, self.head, self.weight
        further = self.streets, self.hierarchy, self.scale, self.weight_error, self.names, self.max_weight_error
        return _remade, (type(self), *rows, self.lat, self.lon, *further)

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

    @property
    def positions(self) -> Uint32s:
        """Positions of all nodes, shape (num_nodes,), uint32, kept if few; for other modules of the package."""
        return self._positions if self.num_nodes <= _FEW else np.arange(self.num_nodes, dtype=np.uint32)

    @cached_property
    def _positions(self) -> Uint32s:
        return own(np.arange(self.num_nodes, dtype=np.uint32))

    @cached_property
    def units(self) -> Units:
        """Conversion between the caller's weights and those of searches; for other modules of the package."""
        return Units(self.scale)

    @property
    def scaled(self) -> Scaled:
        """The weights and their units; for other modules of the package."""
        return Scaled(self.weight, self.scale, self.weight_error)

    @cached_property
    def distance_bits(self) -> int:
        """Bits of distances by which no weight gets more wrong than `max_weight_error`: 32 or 64.

        They are 64 if the largest distance, by an estimate, does not fit into 32 bits as often as `coarsened` may be
        repeated.
        """
        if self.scale is None or math.isinf(self.max_weight_error):
            return 32
        bits = int(np.bitwise_or.reduce(self.weight, initial=0))
        # As long as all weights are even nothing is lost, and then half of each new unit.
        units = (bits & -bits or 1) + max(0.0, self.max_weight_error - self.weight_error) / self.scale
        coarsest = 2.0 ** math.floor(math.log2(min(units, 2.0**32)))
        return 32 if fit_32_bits(self.first_out, self.head, self.weight, coarsest) else 64

    def _coarse_error(self) -> float:
        """Return the `weight_error` of `coarsened`."""
        return self.weight_error + (float(self.scale or 0.0) if (self.weight & 1).any() else 0.0)

    @cached_property
    def name_index(self) -> NameIndex | None:
        """Positions of nodes by their names, if they have names; for other modules of the package."""
        return None if self.names is None else NameIndex(self.names)

    def __repr__(self) -> str:
        """Return the graph's size in one line."""
        extras = "".join(f", {name}" for name, at in _EXTRA.items() if getattr(self, at) is not None)
        if self.scale is not None:
            extras += f", unit {self.scale:.6g}{', rounded' * (self.weight_error > 0)}"
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
        scale: float | Literal["auto"] | None = AUTO,
        names: Any = None,
        max_weight_error: float | None = None,
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
            Positions of nodes, shape (num_arcs,).
        weight : array_like
            Weights, shape (num_arcs,): whole numbers from 0 to 2**32 - 2 of an integer type, or finite numbers from 0
            on of a floating type, which make `Graph.scale` and all distances floats, even if they are whole.
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, shape (num_nodes,) each.
        streets : Streets, optional
            Attributes of the arcs. Their turns, and the seconds for one unit of weight, are for weights as given here;
            those of the graph are for its `weight`.
        scale : float, "auto" or None
            Unit for weights of a floating type: ``"auto"`` chooses it, which may take the time of two searches by
            scipy. A number is the caller's units for one unit of `Graph.weight`, also for weights of an integer type.
            None takes whole numbers only, of any type, as those of an integer type are taken.
        names : array_like, optional
            Names of the nodes, by position, shape (num_nodes,): numbers, texts, tuples or others, all different.
        max_weight_error : float, optional
            Largest error of a weight that rounding to units may make, in the caller's units, 0 for exact weights. A
            solver finds distances of 64 bits where those of 32 would need larger units; see `distance_bits`.

        Raises
        ------
        GraphError
            If an argument is invalid; the message names the array, the entry and the cure.
        """
        first, heads = checked_rows(first_out, head)
        unit = checked_scale(scale)
        given = given_weights(weight, unit)
        if len(given.values) != len(heads):
            count = len(given.values)
            raise GraphError(f"weight has {count} entries and head has {len(heads)}; give one weight per arc")
        named = None if names is None else checked_names(names)
        return cls._of_rows(first, heads, given, unit, (lat, lon), streets, named, checked_error(max_weight_error))

    @classmethod
    def _of_rows(
        cls,
        first: Uint32s,
        heads: Uint32s,
        given: GivenWeights,
        unit: float | str | None,
        coordinates: tuple[Any, Any],
        streets: Streets | None,
        names: Names | None,
        most_error: float,
    ) -> Graph:
        """Make a graph from checked rows, weights and names, and from coordinates and streets that are not checked."""
        num_nodes = len(first) - 1
        if names is not None and len(names) != num_nodes:
            raise GraphError(f"names has {len(names)} entries; give one per node, {num_nodes}")
        lats, lons = _coordinates(*coordinates, num_nodes)
        if streets is not None:
            instance(streets, Streets, "streets", "give a vkssp.Streets, or leave it out", GraphError)
            if lats is None:
                raise GraphError("streets need lat and lon of the nodes; give them too")
            streets.check(len(heads), num_nodes)
        weights, scale, error = scaled(given, unit, first, heads, most_error)
        if streets is not None:
            streets = streets if scale is None else streets.in_units(scale, weights)
            if streets.turn is not None and (streets.turn > weights).any():
                at = int(np.argmax(streets.turn > weights))
                raise GraphError(f"streets.turn[{at}] is {streets.turn[at]}, more than the arc's weight, {weights[at]}")
        return cls(first, heads, weights, lats, lons, streets, None, scale, error, names, most_error)

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
        scale: float | Literal["auto"] | None = AUTO,
        names: Any = AUTO,
        max_weight_error: float | None = None,
    ) -> Graph:
        """Make a graph from lists of arcs in any order; the arcs of each node keep their order.

        Parameters
        ----------
        tail, head : array_like
            Nodes at the ends of each edge, shape (num_edges,) each: positions from 0 on, or names: integers of any
            size, texts, tuples, or other objects that can be hashed.
        weight : array_like
            Weights, shape (num_edges,); see `from_csr`.
        num_nodes : int, optional
            Number of nodes, if ends are positions; by default the number of names or of coordinates, or without any
            the largest position + 1.
        undirected : bool
            Whether each edge stands for an arc in both directions; a loop then becomes one arc.
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, by position, shape (num_nodes,) each.
        scale : float, "auto" or None
            Unit for weights of a floating type; see `from_csr`.
        names : "auto", bool or array_like
            Whether the ends of edges are names; then `Graph.names` has them, integers in ascending order, others in
            the order in which the edges name them first. ``"auto"`` takes integers for positions if they are small,
            below 2**20 or 16 for each edge, or if there are `num_nodes` or coordinates. An array has the names of nodes
            by position, all different, for ends that are positions.
        max_weight_error : float, optional
            Largest error of a weight; see `from_csr`.

        Examples
        --------
        >>> from vkssp import Graph
        >>> graph = Graph.from_edges(["home", "school"], ["school", "shop"], [1.5, 0.25], undirected=True)
        >>> graph
        Graph(3 nodes, 4 arcs, names, unit 0.01)
        >>> graph.names.tolist(), graph.index_of("shop")
        (['home', 'school', 'shop'], 2)

        Raises
        ------
        GraphError
            If an argument is invalid; the message names the array, the entry and the cure.
        MemoryShortageError
            If there is not enough memory for the nodes and edges, for example because an id is very large.
        """
        require_few_arcs(tail, "tail", 2 if undirected is True else 1)
        tail, head, named = numbered(tail, head, names, are_positions=num_nodes is not None or lat is not None)
        tails = whole_numbers(tail, "tail", "node ids", UNREACHABLE)
        heads = whole_numbers(head, "head", "node ids", UNREACHABLE)
        unit = checked_scale(scale)
        given = given_weights(weight, unit)
        if not len(tails) == len(heads) == len(given.values):
            counts = f"{len(tails)}, {len(heads)}, {len(given.values)}"
            raise GraphError(f"tail, head and weight have {counts} entries; give as many of each")
        if num_nodes is None:
            if named is not None:
                num_nodes = len(named)
            elif lat is not None:
                num_nodes = len(real_numbers(lat, "lat", "degrees"))
            else:
                num_nodes = max((int(ids.max()) + 1 for ids in (tails, heads) if len(ids)), default=0)
        most = UNREACHABLE - 1
        num_nodes = whole_number(num_nodes, "num_nodes", 0, most, f"give an integer from 0 to {most}", GraphError)
        undirected = flag(undirected, "undirected", GraphError)
        for name, ids in (("tail", tails), ("head", heads)):
            if len(ids) and int(ids.max()) >= num_nodes:
                at = int(np.argmax(ids))
                raise GraphError(f"{name}[{at}] is {ids[at]}; node ids go from 0 to {num_nodes - 1}")
        require(
            _NODE_BYTES * num_nodes + (_EDGE_BYTES + (given.eps is not None) * _REAL_BYTES) * len(tails),
            f"a graph of {num_nodes:,} nodes and {len(tails):,} edges",
            "number the nodes from 0 on without gaps, as names=True does, or use a machine with more",
        )
        if undirected:
            both = np.flatnonzero(tails != heads)
            tails, heads = np.concatenate([tails, heads[both]]), np.concatenate([heads, tails[both]])
            given = given.take(np.concatenate([np.arange(len(given.values)), both]))
        first_out, by_tail = rows_of(tails, num_nodes)
        rows = own(first_out), own(heads[by_tail])
        most_error = checked_error(max_weight_error)
        return cls._of_rows(*rows, given.take(by_tail), unit, (lat, lon), None, named, most_error)

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        lat: npt.ArrayLike | None = None,
        lon: npt.ArrayLike | None = None,
        scale: float | Literal["auto"] | None = AUTO,
        names: Any = None,
        max_weight_error: float | None = None,
    ) -> Graph:
        """Make a graph from a square scipy sparse matrix or array: entry (u, v) is the weight of an arc from u to v.

        Explicitly stored zeros are arcs of weight zero, and entries stored twice are parallel arcs (unlike in scipy's
        own graph functions). Arrays of a CSR matrix are shared as in `from_csr`, those of int32, too.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array
            Shape (num_nodes, num_nodes), any format; its type is that of the weights, see `from_csr`.
        lat, lon : array_like, optional
            Coordinates of the nodes in degrees, shape (num_nodes,) each.
        scale : float, "auto" or None
            Unit for weights of a floating type; see `from_csr`.
        names : array_like, optional
            Names of the nodes, by position, shape (num_nodes,); see `from_csr`.
        max_weight_error : float, optional
            Largest error of a weight; see `from_csr`.

        Raises
        ------
        GraphError
            If `matrix` is not a sparse matrix, is not square, or has an entry that is not a weight. Truth values are
            not weights; multiply them by a weight.
        MemoryShortageError
            If there is not enough memory for the nodes.
        """
        from scipy import sparse

        further: dict[str, Any] = {"lat": lat, "lon": lon, "scale": scale, "max_weight_error": max_weight_error}
        if not sparse.issparse(matrix):
            raise GraphError(f"matrix is a {type(matrix).__name__}; give a scipy sparse matrix or array")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise GraphError(f"matrix has shape {matrix.shape}; give a square one")
        if matrix.format == "csr":
            used = int(matrix.indptr[-1])  # the arrays may be longer
            rows = matrix.indptr, matrix.indices[:used], matrix.data[:used]
            return cls.from_csr(*rows, names=names, **further)
        entries = matrix.tocoo()
        if matrix.format in ("bsr", "dia"):  # their zeros only fill up blocks and diagonals
            entries.eliminate_zeros()
        named = False if names is None else names
        return cls.from_edges(entries.row, entries.col, entries.data, num_nodes=matrix.shape[0], names=named, **further)

    def to_scipy(self) -> Any:
        """Return the weights as a `scipy.sparse.csr_array` of shape (num_nodes, num_nodes).

        They are float64, in the caller's units, if the graph has a `scale`, and otherwise uint32.
        """
        from scipy import sparse

        # Copies, because scipy sorts rows in place. 32-bit indices, because older versions of scipy's graph routines
        # accept no others.
        index = np.int32 if max(self.num_nodes, self.num_arcs) < 2**31 else np.int64
        weights = self.weight.copy() if self.scale is None else self.units.sums(self.weight)
        rows = (weights, self.head.astype(index), self.first_out.astype(index))
        return sparse.csr_array(rows, shape=(self.num_nodes, self.num_nodes))

    def index_of(self, names: Any) -> int | Uint32s:
        """Return the position of a node by its name, or the positions of several nodes.

        Parameters
        ----------
        names : name, list or array_like
            A name; or a list or an array of names, shape (k,). Without `names` of the graph these are positions.

        Returns
        -------
        int or numpy.ndarray
            The position, or positions of shape (k,), uint32.

        Raises
        ------
        QueryError
            If no node has the name.
        """
        index = self.name_index
        at = None if index is None else index.find(names)
        if at is not None:
            return at
        is_one = not is_many(names) or isinstance(names, tuple)
        if index is None:
            found = ids_among([names] if is_one else names, "names", "node", self.num_nodes, QueryError)
        elif is_one:
            raise index.unknown("names", names)
        else:
            found = index.find_all(names, "names")
        return int(found[0]) if is_one else found

    def with_weights(self, weight: npt.ArrayLike, *, scale: float | Literal["auto"] | None = AUTO) -> Graph:
        """Return a graph with other weights that shares everything else with this one.

        Parameters
        ----------
        weight : array_like
            Weights, shape (num_arcs,); see `from_csr`. If turns take time, the weight of an arc includes the turn into
            it; see `Streets.turn`.
        scale : float, "auto" or None
            Unit for weights of a floating type; see `from_csr`. `max_weight_error` stays as it is.

        Raises
        ------
        GraphError
            If a weight is invalid, if the number of weights is not the number of arcs, or if a weight is less than the
            weight of the turn into its arc.
        """
        unit = checked_scale(scale)
        given = given_weights(weight, unit)
        if len(given.values) != self.num_arcs:
            count = len(given.values)
            raise GraphError(f"weight has {count} entries and the graph {self.num_arcs} arcs; give one per arc")
        return self.reweighted(scaled(given, unit, self.first_out, self.head, self.max_weight_error))

    def reweighted(self, scaled: Scaled, changed: npt.NDArray[np.int64] | None = None) -> Graph:
        """Return a graph with other weights, in units of a scale; for other modules of the package.

        `changed` are the arcs whose weights may differ, by default all; those of arcs that keep theirs are right.
        """
        weights, streets = scaled.weight, self.streets
        if streets is not None:
            before, after = self.scale or 1.0, scaled.scale or 1.0
            streets = streets if after == before else streets.in_units(after / before, weights)
            turn = streets.turn
            which = slice(None) if changed is None or after != before else changed
            if turn is not None and (weights[which] < turn[which]).any():
                at = int(np.argmax(weights < turn))
                raise GraphError(
                    f"weight[{at}] is {weights[at]}, less than {turn[at]}, the weight of the turn into this arc "
                    "(streets.turn); give weights that include the turns"
                )
        graph = replace(self, weight=weights, streets=streets, scale=scaled.scale, weight_error=scaled.error)
        for name in ("tail", "name_index"):
            if name in self.__dict__:
                graph.__dict__[name] = self.__dict__[name]  # unchanged, so they are not computed again
        return graph

    def coarsened(self) -> Graph:
        """Return the graph in units of twice the size, for distances that do not fit into 32 bits.

        Weights that are odd numbers of units are rounded to even ones, and `weight_error` grows by half of the new
        unit then.

        Raises
        ------
        GraphError
            If the weights are whole numbers, without a `scale`, if distances might pass the largest float, or if a
            weight would be wrong by more than `max_weight_error`.
        """
        if self.scale is None or 2 * self.scale > MOST_SCALE:
            raise GraphError(f"scale is {self.scale}; distances fit only if weights are divided by a common factor")
        error = self._coarse_error()
        if error > self.max_weight_error:
            cure = "ask a Solver that has distance_bits=64, or give the graph a larger max_weight_error"
            raise GraphError(f"weights would be wrong by {error:.3g}, more than {self.max_weight_error:g}; {cure}")
        half, odd = self.weight >> 1, self.weight & 1
        # Of two even numbers that are equally near, the one that is half of a multiple of 4, so that errors cancel.
        weight = own(half + (odd & half))
        return self.reweighted(Scaled(weight, 2 * self.scale, error))

    def reversed(self) -> tuple[Graph, npt.NDArray[np.int64]]:
        """Return the graph with every arc reversed, and for each of its arcs the id of the arc in this graph.

        The reversed graph keeps the coordinates and names, but has no streets and no hierarchy.
        """
        first_out, by_head = rows_of(self.head, self.num_nodes)
        arrays = (own(array) for array in (first_out, self.tail[by_head], self.weight[by_head]))
        graph = Graph.from_csr(*arrays, lat=self.lat, lon=self.lon)
        return replace(graph.in_units_of(self), names=self.names), by_head

    def plain(self) -> Graph:
        """Return the graph with whole weights, numbers of units, and nodes without names; for other modules."""
        return replace(self, scale=None, weight_error=0.0, max_weight_error=math.inf, names=None)

    def in_units_of(self, graph: Graph) -> Graph:
        """Return the graph with its weights in the units of another graph; for other modules of the package."""
        error, most = graph.weight_error, graph.max_weight_error
        return replace(self, scale=graph.scale, weight_error=error, max_weight_error=most)

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
        first_out, by_tail = permuted_rows(self.first_out, rank)
        graph = Graph.from_csr(
            own(first_out),
            own(rank[self.head[by_tail]]),
            own(self.weight[by_tail]),
            lat=None if self.lat is None else self.lat[node],
            lon=None if self.lon is None else self.lon[node],
            streets=None if self.streets is None else self.streets.take(by_tail, node),
        )
        names = None if self.names is None else own(self.names[node])
        return replace(graph.in_units_of(self), names=names), by_tail

    def save(self, path: str | Path) -> None:
        """Write the graph with its coordinates, streets, hierarchy, scale and names to one file.

        The file appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file; its name ends in .graph or .npz, or has no ending.

        Raises
        ------
        FormatError
            If the file cannot be written, or its name has another ending; or if a name is not a number, a text, bytes,
            or a tuple of these.
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
    cure = f"make a Graph, with {maker_of(graph) or 'read_graph or Graph.from_edges'}"
    return instance(graph, Graph, "graph", cure, error)


def maker_of(value: object) -> str | None:
    """Return what makes a graph of an object of another library; None if its library is not known."""
    return _MAKERS.get(type(value).__module__.partition(".")[0])


def _remade(
    kind: type[Graph],
    first_out: Uint32s,
    head: Uint32s,
    weight: Uint32s,
    lat: Floats | None,
    lon: Floats | None,
    streets: Streets | None,
    hierarchy: Hierarchy | None,
    scale: float | None = None,
    weight_error: float = 0.0,
    names: Names | None = None,
    max_weight_error: float | None = None,
) -> Graph:
    """Return a graph made of the parts of a copied or pickled graph."""
    graph = kind.from_csr(first_out, head, weight, lat=lat, lon=lon, streets=streets, scale=None, names=names)
    unit = checked_scale(scale)
    error = number_of(weight_error)
    if isinstance(unit, str) or error is None or not 0 <= error < math.inf or (unit is None and error):
        raise GraphError(f"weight_error is {shown(weight_error)} and scale {shown(scale)}; make the graph again")
    most = checked_error(max_weight_error)
    if hierarchy is not None:
        hierarchy.check(graph)
    return replace(graph, hierarchy=hierarchy, scale=unit, weight_error=error, max_weight_error=most)


_DTYPES = {"first_out": np.uint32, "head": np.uint32, "weight": np.uint32, "lat": np.float64, "lon": np.float64}
_EXTRA = {"coordinates": "lat", "streets": "streets", "hierarchy": "hierarchy", "names": "names"}
