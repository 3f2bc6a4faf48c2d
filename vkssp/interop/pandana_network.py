"""Network with the methods of pandana, answered by solvers.

pandana (F. Foti, P. Waddell, D. Luxen, A generalized computational framework for accessibility, 2012) sums up what can
be reached in cities. `Network` takes its arguments and returns the same values in the same Series and DataFrames.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from vkssp.checks import choice, flag, is_many, number_of, shown, whole_number
from vkssp.errors import GraphError, NoRouteError, QueryError
from vkssp.features.frames import pandas_for
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import ranges
from vkssp.hierarchy.prepare import prepare
from vkssp.log import logger
from vkssp.resource import Resource
from vkssp.solver.decay import Decay
from vkssp.solver.solver import Solver

Floats = npt.NDArray[np.float64]

#: Units of the graph's weights for one unit of the caller's; pandana has the same thousandths.
SCALE = 1000.0
#: What `Network.aggregate` makes of values, and other words for that.
AGGREGATIONS = ("sum", "mean", "std", "count", "min", "25pct", "median", "75pct", "max")
_SAME = {**dict.fromkeys(("ave", "avg", "average"), "mean"), "stddev": "std", "med": "median"}
#: How values count less with distance; the last name is that of pandana's documentation.
DECAYS = ("flat", "linear", "exp", "exponential")
# The place among n sorted values of each kind of quantile: of n * share, the whole part, but at most the last.
_SHARES = {"min": 0.0, "25pct": 0.25, "median": 0.5, "75pct": 0.75, "max": 1.0}
_log = logger(__name__)
# Distances that are looked at at once.
_AT_ONCE = 2**22


class Network(Resource):
    """Street network with values at its nodes, with the methods of ``pandana.Network``.

    Weights are cut to thousandths, at least one, as pandana does, so that lengths of paths are the same to the last
    digit. With a decay, sums differ by about a ten-millionth of the values in range: both round what they multiply by.

    What differs on purpose: an unknown node, name or word, a missing or negative weight, and a path that is longer than
    4,294,967 are a `vkssp.QueryError` or `vkssp.DistanceOverflowError`; `set_pois` and `nearest_pois` have no greatest
    distance or number, and list each place once, also if there are several weights; standard deviations, in which
    pandana loses digits, are never NaN; the decay may also be called "exponential"; messages go to the logger
    ``vkssp``. Of equally near places the first is taken, and of equally short paths any may be another one than
    pandana's. There are no ``plot``, ``save_hdf5`` and ``from_hdf5``.

    Parameters
    ----------
    node_x, node_y : pandas.Series
        Coordinates of the nodes; the index has their ids.
    edge_from, edge_to : pandas.Series
        Ids of the nodes at both ends of each edge.
    edge_weights : pandas.DataFrame
        One or more weights of the edges, from 0 on; the names of columns are the ``imp_name`` of other methods.
    twoway : bool
        Whether edges lead both ways.
    algorithm : str
        Algorithm of the searches; see `vkssp.Solver`.
    device : Device, CpuDevice, int or str, optional
        Device of the searches; see `vkssp.Solver`.

    Attributes
    ----------
    nodes_df, edges_df : pandas.DataFrame
        The nodes (``x`` and ``y``), and the edges (``from``, ``to`` and the weights).
    impedance_names : list of str
        Names of the weights.
    node_idx : pandas.Series
        Position of each node, by id.
    variable_names : set of str
        Names of the values that `set` was given.
    poi_category_names : list of str
        Names of the places that `set_pois` was given.

    Raises
    ------
    QueryError
        If pandas is not installed (extra ``pandas``), an edge has an unknown end, or a weight is not a number from 0 to
        4,294,967.

    Examples
    --------
    >>> import pandas
    >>> from vkssp.interop.pandana_network import Network
    >>> x, y = pandas.Series([0.0, 1, 2], ["a", "b", "c"]), pandas.Series(0.0, ["a", "b", "c"])
    >>> metres = pandas.DataFrame({"metres": [120.0, 80.5]})
    >>> network = Network(x, y, pandas.Series(["a", "b"]), pandas.Series(["b", "c"]), metres)
    >>> network.set(pandas.Series(["a", "c", "c"]), pandas.Series([10, 2, 3]), name="jobs")
    >>> network.aggregate(150, type="sum", decay="flat", name="jobs").tolist()
    [10.0, 15.0, 5.0]
    """

    def __init__(
        self,
        node_x: Any,
        node_y: Any,
        edge_from: Any,
        edge_to: Any,
        edge_weights: Any,
        twoway: bool = True,
        *,
        algorithm: str = "auto",
        device: Any = None,
    ) -> None:
        super().__init__()
        self._pandas = pandas_for("a Network needs")
        if not hasattr(edge_weights, "columns"):
            raise QueryError(f"edge_weights is {shown(edge_weights)}; give a DataFrame, such as pandas.DataFrame(...)")
        self.nodes_df = self._pandas.DataFrame({"x": node_x, "y": node_y})
        self.edges_df = self._pandas.DataFrame({"from": edge_from, "to": edge_to}).join(edge_weights)
        self.impedance_names: list[str] = list(edge_weights.columns)
        if not self.impedance_names or not all(isinstance(name, str) for name in self.impedance_names):
            raise QueryError(f"edge_weights has the columns {shown(self.impedance_names)}; give weights named by texts")
        if not self.nodes_df.index.is_unique:
            raise QueryError("the index of node_x has an id twice; give each node once")
        self.node_idx = self._pandas.Series(np.arange(len(self.nodes_df)), index=self.nodes_df.index)
        self.variable_names: set[str] = set()
        self.poi_category_names: list[str] = []
        self._twoway = flag(twoway, "twoway")
        self._settings = {"algorithm": algorithm, "device": device}
        self._graphs = self._graphs_of_weights()
        self._solvers: dict[tuple[str, bool], Solver] = {}
        self._values: dict[str, tuple[Uint32s, Floats]] = {}
        self._places: dict[str, tuple[Any, Uint32s]] = {}
        points = self.nodes_df.to_numpy(np.float64)
        if not np.isfinite(points).all():
            raise QueryError("node_x or node_y has a missing value; give finite coordinates")
        self._tree = cKDTree(points)

    def __repr__(self) -> str:
        """Return the size in one line."""
        weights = ", ".join(self.impedance_names)
        return f"Network({len(self.nodes_df):,} nodes, {len(self.edges_df):,} edges: {weights})"

    def _graphs_of_weights(self) -> dict[str, Graph]:
        """Return a graph for each weight; the ids of their arcs are the same."""
        tail, head = (self._positions(self.edges_df[end], f"edge_{end}") for end in ("from", "to"))
        both = (np.append(tail, head), np.append(head, tail)) if self._twoway else (tail, head)
        lon, lat = self.nodes_df.to_numpy(np.float64).T
        # Coordinates of a plane are no degrees; they only serve the numbering of nodes.
        on_earth = bool(((np.abs(lon) <= 180.0) & (np.abs(lat) <= 90.0)).all())
        places = {"lat": lat, "lon": lon} if on_earth else {}
        graphs = {}
        for name in self.impedance_names:
            weight = self._thousandths(name)
            arcs = np.append(weight, weight) if self._twoway else weight
            graphs[name] = Graph.from_edges(*both, arcs, num_nodes=len(self.nodes_df), names=False, **places)
        return graphs

    def _thousandths(self, name: str) -> Uint32s:
        given = self.edges_df[name].to_numpy()
        if given.dtype.kind not in "iufb":
            raise QueryError(f"edge_weights[{name!r}] has dtype {given.dtype}; give numbers")
        cut = np.floor(given.astype(np.float64) * SCALE)
        wrong = np.flatnonzero(~((cut >= 0) & (cut < UNREACHABLE)))
        if len(wrong):
            raise QueryError(
                f"edge_weights[{name!r}] has {given[wrong[0]]} at {shown(self.edges_df.index[wrong[0]])}; give numbers "
                f"from 0 to {int(UNREACHABLE / SCALE):,}, for each edge of edge_from"
            )
        return np.asarray(np.maximum(cut, 1.0), np.uint32)

    def _positions(self, ids: Any, name: str) -> Uint32s:
        """Return the positions of nodes."""
        found = self.node_idx.index.get_indexer(ids)
        if (found < 0).any():
            unknown = np.asarray(ids, object)[np.argmax(found < 0)]
            raise QueryError(f"{name} has {shown(unknown)}, which is no node; give ids of the index of node_x")
        return np.asarray(found, np.uint32)

    def _release(self) -> None:
        for solver in self._solvers.values():
            solver.close()

    def _solver(self, imp_name: str | None, *, pairs: bool = False) -> Solver:
        """Return the solver of a weight, one of its own for pairs of nodes, which gets a hierarchy where it helps."""
        name = self._impedance(imp_name)
        if (name, pairs) not in self._solvers:
            graph = self._graphs[name]
            if pairs:
                try:
                    graph = prepare(graph)
                except (GraphError, QueryError) as error:  # not a graph for hierarchies, or no METIS
                    _log.debug("pairs are searched without a hierarchy: %s", error)
            self._solvers[name, pairs] = Solver(graph, **self._settings)
        return self._solvers[name, pairs]

    def _impedance(self, imp_name: str | None) -> str:
        if imp_name is None and len(self.impedance_names) == 1:
            return self.impedance_names[0]
        if imp_name is None:
            raise QueryError(f"imp_name is missing; choose one of {', '.join(self.impedance_names)}")
        return choice(imp_name, "imp_name", self.impedance_names)

    @property
    def aggregations(self) -> list[str]:
        """Words that `aggregate` takes as its type."""
        return list(AGGREGATIONS)

    @property
    def decays(self) -> list[str]:
        """Words that `aggregate` takes as its decay."""
        return list(DECAYS)

    @property
    def node_ids(self) -> Any:
        """Ids of the nodes, a pandas Index, which most results have as their index."""
        return self.node_idx.index

    @property
    def bbox(self) -> list[float]:
        """Least x and y, and greatest x and y."""
        return [*self.nodes_df.min().tolist(), *self.nodes_df.max().tolist()]

    def get_node_ids(self, x_col: Any, y_col: Any, mapping_distance: float | None = None) -> Any:
        """Return the node that is nearest to each place, in a straight line on the plane of the coordinates.

        Parameters
        ----------
        x_col, y_col : pandas.Series
            Coordinates of the places, with the same index.
        mapping_distance : float, optional
            Distance, in units of the coordinates, beyond which a place is left out.

        Returns
        -------
        pandas.Series
            Ids of nodes, called ``node_id``, with the index of the places.
        """
        places = self._pandas.DataFrame({"x": x_col, "y": y_col})
        points = places.to_numpy(np.float64).reshape(-1, 2)
        if not np.isfinite(points).all():
            raise QueryError("x_col or y_col has a missing value; leave such places out, such as by dropna")
        distance, nearest = self._tree.query(points)
        found = self._pandas.Series(self.node_ids[nearest], index=places.index, name="node_id")
        return found if mapping_distance is None else found[distance <= mapping_distance]

    def shortest_path_length(self, node_a: Any, node_b: Any, imp_name: str | None = None) -> float:
        """Return the length of a shortest path; 4294967.295, with a warning, if there is none."""
        return self.shortest_path_lengths([node_a], [node_b], imp_name)[0]

    def shortest_path_lengths(self, nodes_a: Any, nodes_b: Any, imp_name: str | None = None) -> list[float]:
        """Return the lengths of shortest paths from each of some nodes to its fellow.

        Parameters
        ----------
        nodes_a, nodes_b : list-like
            Ids of the first and the last node of each path.
        imp_name : str, optional
            Name of the weight; needed if there are several.

        Returns
        -------
        list of float
            The lengths; 4294967.295, with a warning, where there is no path.
        """
        tails, heads = self._ends(nodes_a, nodes_b)
        solver = self._solver(imp_name, pairs=True)
        found = solver.pairs(tails, heads) if len(tails) else np.zeros(0, np.uint32)
        missing = np.flatnonzero(found == UNREACHABLE)
        if len(missing):
            first = self.node_ids[[tails[missing[0]], heads[missing[0]]]].tolist()
            warnings.warn(
                f"no path joins {len(missing)} of {len(found)} pairs of nodes, such as {shown(first[0])} and "
                f"{shown(first[1])}; their length is {UNREACHABLE / SCALE}",
                stacklevel=2,
            )
        lengths: list[float] = (found / SCALE).tolist()
        return lengths

    def shortest_path(self, node_a: Any, node_b: Any, imp_name: str | None = None) -> npt.NDArray[Any]:
        """Return the ids of the nodes on a shortest path, none if there is no path."""
        return self.shortest_paths([node_a], [node_b], imp_name)[0]

    def shortest_paths(self, nodes_a: Any, nodes_b: Any, imp_name: str | None = None) -> list[npt.NDArray[Any]]:
        """Return the ids of the nodes on the shortest paths from each of some nodes to its fellow; see `shortest_path`.

        Parameters
        ----------
        nodes_a, nodes_b : list-like
            Ids of the first and the last node of each path.
        imp_name : str, optional
            Name of the weight; needed if there are several.
        """
        tails, heads = self._ends(nodes_a, nodes_b)
        solver, ids = self._solver(imp_name, pairs=True), self.node_ids.to_numpy()
        paths = []
        for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
            try:
                paths.append(ids[solver.path(tail, head).nodes])
            except NoRouteError:
                paths.append(ids[:0])
        return paths

    def _ends(self, nodes_a: Any, nodes_b: Any) -> tuple[Uint32s, Uint32s]:
        for name, given in (("nodes_a", nodes_a), ("nodes_b", nodes_b)):
            if not is_many(given):
                raise QueryError(f"{name} is {shown(given)}; give a list of ids of nodes")
        if len(nodes_a) != len(nodes_b):
            raise QueryError(f"Origin and destination counts don't match: {len(nodes_a)}, {len(nodes_b)}")
        return self._positions(nodes_a, "nodes_a"), self._positions(nodes_b, "nodes_b")

    def set(self, node_ids: Any, variable: Any = None, name: str = "tmp") -> None:
        """Set values at nodes, which `aggregate` makes something of.

        Parameters
        ----------
        node_ids : pandas.Series
            The node of each value.
        variable : pandas.Series, optional
            The values, with the same index; 1 by default. Values and nodes that are missing are left out.
        name : str
            Name of the values; earlier ones of that name are replaced.
        """
        nodes = self._pandas.Series(self.node_ids.get_indexer(node_ids), getattr(node_ids, "index", None))
        values = 1.0 if variable is None else variable
        given = self._pandas.DataFrame({"value": values, "node": nodes.where(nodes >= 0)})
        known = given.dropna()
        if len(known) < len(given):
            _log.warning("%d of %d values of %r are missing or at no node", len(given) - len(known), len(given), name)
        self.variable_names.add(name)
        self._values[name] = known["node"].to_numpy(np.uint32), known["value"].to_numpy(np.float64)

    def precompute(self, distance: float) -> None:
        """Do nothing: pandana keeps the nodes in range of every node, while solvers find them anew in little time."""
        self._thousandth_limit(distance, "distance")
        _log.info("precompute(%s) does nothing: searches need no distances that are kept", distance)

    def aggregate(
        self, distance: float, type: str = "sum", decay: str = "linear", imp_name: str | None = None, name: str = "tmp"
    ) -> Any:
        """Return, for each node, what is made of the values at nodes within a distance.

        Parameters
        ----------
        distance : float
            The distance, in units of the weight.
        type : str
            ``"sum"``, ``"mean"`` ("ave", "avg", "average"), ``"std"`` ("stddev", that of all values, not of a sample),
            ``"count"``, ``"min"``, ``"25pct"``, ``"median"`` ("med"), ``"75pct"`` or ``"max"``. Quantiles are values
            that occur: of n values in rising order that of number n * share, counted from 0.
        decay : str
            What sums and means multiply values by, at the distance d: ``"flat"`` 1, ``"linear"`` 1 - d / distance,
            ``"exp"`` exp(-d / distance). Other types take values as they are.
        imp_name : str, optional
            Name of the weight; needed if there are several.
        name : str
            Name of the values.

        Returns
        -------
        pandas.Series
            A float for each node; where no value is in range 0, but -1 for quantiles.

        Notes
        -----
        Sums, means, deviations and counts are made where the distances are made, see `vkssp.Solver.accessibility`.
        Quantiles take the distances from all nodes to all nodes with values, a block at a time.
        """
        kind = choice(_SAME.get(str(type).lower(), str(type).lower()), "type", AGGREGATIONS)
        choice(decay, "decay", DECAYS)
        choice(name, "name", sorted(self.variable_names))
        solver, limit = self._solver(imp_name), self._thousandth_limit(distance, "distance")
        nodes, values = self._values[name]
        if not len(self.nodes_df):
            return self._pandas.Series(np.zeros(0), index=self.node_ids)
        make = self._quantile if kind in _SHARES else self._sums
        return self._pandas.Series(make(solver, kind, decay, distance * SCALE, limit, nodes, values), self.node_ids)

    def _sums(
        self, solver: Solver, kind: str, decay: str, distance: float, limit: int, nodes: Uint32s, values: Floats
    ) -> Floats:
        def at_nodes(weights: Floats | None) -> npt.NDArray[Any]:
            return np.bincount(nodes, weights, len(self.nodes_df))

        counts = at_nodes(None)
        if kind == "count":
            return np.asarray(solver.accessibility(counts, limit), np.float64)
        # The deviation from any number is the same; from their mean the squares lose the fewest digits.
        other = values - values.mean() if kind == "std" and len(values) else values
        columns = np.stack([counts, at_nodes(other), at_nodes(other**2)][: 3 if kind == "std" else 2], axis=1)
        decays = []
        if kind != "std" and decay != "flat" and limit > 0:
            linear = decay == "linear"
            decays.append(Decay(lambda d: 1.0 - d / distance if linear else np.exp(-d / distance), limit))
        found = solver.accessibility(columns, [limit], decays=decays)
        number = np.maximum(found[:, 0, 0], 1.0)
        if kind == "std":
            mean, square = found[:, 0, 1] / number, found[:, 0, 2] / number
            return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)), np.float64)
        return np.asarray(found[:, -1, 1] / (number if kind == "mean" else 1.0), np.float64)

    def _quantile(
        self, solver: Solver, kind: str, decay: str, distance: float, limit: int, nodes: Uint32s, values: Floats
    ) -> Floats:
        found, at = np.full(len(self.nodes_df), -1.0), 0
        targets, target, several = np.unique(nodes, return_inverse=True, return_counts=True)
        if not len(targets):
            return found
        # The values of a target, by their ranks among all values, follow each other.
        ranked = np.argsort(values, kind="stable")
        ranks = np.argsort(target[ranked], kind="stable")
        start = np.cumsum(several) - several
        for rows in self._rows(solver, np.arange(len(found)), targets, limit):
            row, column = np.nonzero(rows <= limit)
            number = several[column]
            keys = np.repeat(row, number) * len(values) + ranks[ranges(start[column], number)]
            keys.sort()
            count = np.bincount(keys // len(values), minlength=len(rows))
            first, place = np.cumsum(count) - count, np.minimum((count * _SHARES[kind]).astype(np.int64), count - 1)
            is_any = count > 0
            chosen = keys[(first + place)[is_any]] % len(values)
            found[at : at + len(rows)][is_any] = values[ranked[chosen]]
            at += len(rows)
        return found

    def _rows(self, solver: Solver, sources: npt.NDArray[Any], targets: Any, limit: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of distances from sources to targets, in thousandths, of bounded size."""
        step = max(1, _AT_ONCE // max(1, len(targets)))
        for rows in solver.table(sources, targets, limit=limit, chunked=True):
            yield from (rows[at : at + step] for at in range(0, len(rows), step))

    def nodes_in_range(self, nodes: Any, radius: float, imp_name: str | None = None) -> Any:
        """Return the nodes within a distance of each of some nodes.

        Parameters
        ----------
        nodes : list-like
            Ids of nodes.
        radius : float
            The distance, in units of the weight.
        imp_name : str, optional
            Name of the weight; needed if there are several.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``destination`` and the distance, in a column with the name of the weight; a row for each pair,
            in the order of `nodes`, each with the nearest node first.
        """
        if not is_many(nodes):
            raise QueryError(f"nodes is {shown(nodes)}; give a list of ids of nodes")
        solver, limit = self._solver(imp_name), self._thousandth_limit(radius, "radius")
        sources = self._positions(self._pandas.unique(np.asarray(nodes)), "nodes")
        parts: list[tuple[npt.NDArray[Any], ...]] = []
        at = 0
        for rows in self._rows(solver, sources, np.arange(len(self.nodes_df)), limit) if len(sources) else ():
            row, node = np.nonzero(rows <= limit)
            order = np.lexsort((node, rows[row, node], row))
            parts.append((sources[at + row[order]], node[order], rows[row, node][order]))
            at += len(rows)
        tail, head, length = (np.concatenate(part) for part in zip(*parts, strict=True)) if parts else ([], [], [])
        ids = self.node_ids.to_numpy()
        found = {
            "source": ids[tail],
            "destination": ids[head],
            self._impedance(imp_name): np.asarray(length, np.float64) / SCALE,
        }
        return self._pandas.DataFrame(found)

    def set_pois(
        self,
        category: str,
        maxdist: float | None = None,
        maxitems: int | None = None,
        x_col: Any = None,
        y_col: Any = None,
        mapping_distance: float | None = None,
    ) -> None:
        """Set places of a kind, at the nodes nearest to them, for `nearest_pois`.

        Parameters
        ----------
        category : str
            Name of the kind; earlier places of that name are replaced.
        maxdist, maxitems : float and int, optional
            Not needed.
        x_col, y_col : pandas.Series
            Coordinates of the places, whose index has their ids.
        mapping_distance : float, optional
            See `get_node_ids`.
        """
        if x_col is None or y_col is None:
            raise QueryError("x_col or y_col is missing; give the coordinates of the places")
        nodes = self.get_node_ids(x_col, y_col, mapping_distance)
        if category not in self.poi_category_names:
            self.poi_category_names.append(category)
        self._places[category] = nodes.index, self._positions(nodes, "x_col")

    def nearest_pois(
        self,
        distance: float,
        category: str,
        num_pois: int = 1,
        max_distance: float | None = None,
        imp_name: str | None = None,
        include_poi_ids: bool = False,
    ) -> Any:
        """Return the distances from each node to the places of a kind that are nearest to it.

        Parameters
        ----------
        distance : float
            How far places are looked for, in units of the weight.
        category : str
            Name of the kind.
        num_pois : int
            Number of places.
        max_distance : float, optional
            What stands where there are no more places within the distance; by default `distance`.
        imp_name : str, optional
            Name of the weight; needed if there are several.
        include_poi_ids : bool
            Whether the ids of the places are returned, too.

        Returns
        -------
        pandas.DataFrame
            A row for each node, and the columns 1, 2, ... with the distances, and ``poi1``, ``poi2``, ... with the ids
            of the places, NaN where there are no more.
        """
        choice(category, "category", self.poi_category_names)
        count = whole_number(num_pois, "num_pois", 1, 2**31 - 1, "give the number of places for each node")
        solver, limit = self._solver(imp_name), self._thousandth_limit(distance, "distance")
        ids, nodes = self._places[category]
        lengths, which = self._nearest(solver, nodes, limit, count)
        far = distance if max_distance is None else max_distance
        table = np.where(lengths == UNREACHABLE, far, lengths / SCALE)
        frame = self._pandas.DataFrame(table, index=self.node_ids, columns=range(1, count + 1))
        if not flag(include_poi_ids, "include_poi_ids"):
            return frame
        for number in range(count):
            column, none = which[:, number].astype(np.int64), which[:, number] == UNREACHABLE
            named = ids[np.where(none, 0, column)] if len(ids) else self._pandas.Index([np.nan] * len(frame))
            frame[f"poi{number + 1}"] = self._pandas.Series(named, self.node_ids).mask(none)
        return frame

    def _nearest(self, solver: Solver, nodes: Uint32s, limit: int, count: int) -> tuple[Uint32s, Uint32s]:
        """Return the lengths of paths to the nearest places at `nodes`, and their numbers, shape (nodes, count)."""
        size = (len(self.nodes_df), count)
        lengths, which = np.full(size, UNREACHABLE, np.uint32), np.full(size, UNREACHABLE, np.uint32)
        at, several = np.unique(nodes, return_counts=True)
        if not len(at):
            return lengths, which
        found = solver.nearest(at, limit=limit, count=min(count, len(at)), reverse=not self._twoway)
        # Places at one node follow each other; `passed` counts the places up to each of the nodes that are found.
        order, start = np.argsort(nodes, kind="stable"), np.cumsum(several) - several
        group = np.where(found.distance == UNREACHABLE, 0, found.source).astype(np.int64)
        passed = np.cumsum(np.where(found.distance == UNREACHABLE, 0, several[group]), axis=1)
        rows = np.arange(len(group))
        for number in range(count):
            column = np.minimum((passed <= number).sum(axis=1), group.shape[1] - 1)
            node, is_found = group[rows, column], passed[:, -1] > number
            place = start[node] + number - (passed[rows, column] - several[node])
            lengths[is_found, number] = found.distance[rows, column][is_found]
            which[is_found, number] = order[place[is_found]]
        return lengths, which

    def low_connectivity_nodes(self, impedance: float, count: int, imp_name: str | None = None) -> npt.NDArray[Any]:
        """Return the ids of nodes that have fewer than `count` nodes, themselves included, within a distance.

        As in pandana, the values "counter" are 1 at each node from then on.
        """
        self.set(self.node_ids.to_series(), name="counter")
        within = self.aggregate(impedance, "count", imp_name=imp_name, name="counter")
        return np.array(within[within < count].index)

    def _thousandth_limit(self, distance: Any, name: str) -> int:
        """Return a distance in the graph's units, a whole number that a limit may be."""
        given = number_of(distance)
        if given is None or not given >= 0:
            raise QueryError(f"{name} is {shown(distance)}; give a distance, a number from 0 on")
        # Of 0.7 * 1000 the product of floats may lie below 700.
        return int(min(np.floor(np.round(given * SCALE, 6)), UNREACHABLE - 1))
