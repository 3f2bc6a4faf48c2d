"""Opportunities within reach of places, or in whose reach places are: sums over them, and the nearest of them.

An opportunity is a place, such as a shop or a building with jobs. In a copy of the graph each point that opportunities
are snapped to is a node to which arcs lead from the nodes that reach it, and none from it. So the sums are those of
nodes. An origin is the seeds of a search: the nodes that it reaches first, and the opportunities on its own street.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.arrays import brief, own
from vkssp.checks import flag, items_of, named, number_of, whole_number
from vkssp.cpu.nearest import check_room, nearest_of_all
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.features.frames import dataframe
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import ranges
from vkssp.graph.metric import Unit
from vkssp.hierarchy.attached import with_attached
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource
from vkssp.routing.lines import Snap
from vkssp.routing.many_phantoms import many_direct, many_goals, many_starts
from vkssp.routing.places import LatLon, ending_points, listed_places, starting_points
from vkssp.routing.snap import StreetIndex
from vkssp.solver.accessibility import backward, checked_decays, checked_values, shaped, sums_of_groups
from vkssp.solver.decay import Decay
from vkssp.solver.phantom_node import PhantomNodes
from vkssp.solver.pool import SolverPool
from vkssp.solver.row_maker import OVERFLOW
from vkssp.solver.solver import Solver
from vkssp.solver.table_file import COLUMNS

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NearestOpportunities:
    """The opportunities that are nearest to each origin, the nearest first.

    Attributes
    ----------
    opportunity : numpy.ndarray
        Their numbers in the list, the lesser ones first if they are equally near; 2**32 - 1 where there are no more;
        shape (origins, count), uint32.
    values : numpy.ndarray
        The values of the paths: seconds or metres, float32, NaN where there are no more opportunities, or weights if
        the graph's weights are no durations, uint32, 2**32 - 1 where there are no more; shape (origins, count).
    column : str
        What the values are: ``"duration_s"``, ``"distance_m"`` or ``"weight"``.
    """

    __repr__ = brief

    opportunity: Uint32s
    values: npt.NDArray[Any]
    column: str = "duration_s"

    def to_dataframe(
        self,
        origins: Sequence[int] | Sequence[str] | None = None,
        opportunities: Sequence[int] | Sequence[str] | None = None,
    ) -> Any:
        """Return a pandas DataFrame with a row for each origin and each of the opportunities nearest to it.

        Parameters
        ----------
        origins, opportunities : sequence of int or str, optional
            Names of origins and opportunities; their numbers from 0 on by default.

        Returns
        -------
        pandas.DataFrame
            ``origin_id``, ``rank`` (from 1), ``opportunity_id``, and one of ``duration_s``, ``distance_m`` and
            ``weight``. Where there are no more opportunities there are no rows.

        Raises
        ------
        QueryError
            If pandas is not installed (``pip install 'vkssp[pandas]'``), or if there are not enough names.
        """
        count = len(self.opportunity)
        rows, ranks = np.nonzero(self.opportunity != UNREACHABLE)
        which = self.opportunity[rows, ranks].astype(np.int64)
        begin = np.arange(count) if origins is None else np.array(named(origins, "origins"))
        end = None if opportunities is None else np.array(named(opportunities, "opportunities"))
        for name, known, needed in (("origins", begin, count), ("opportunities", end, int(which.max(initial=-1)) + 1)):
            if known is not None and len(known) < needed:
                raise QueryError(f"{name} has {len(known)} names, and {needed} are needed; give one for each")
        columns = {"origin_id": begin[rows], "rank": ranks + 1, "opportunity_id": which if end is None else end[which]}
        return dataframe({**columns, self.column: self.values[rows, ranks]})


class _Points:
    """Points of opportunities on streets, for trips to them or, if `reverse`, from them.

    Attributes
    ----------
    index : StreetIndex
        The streets.
    reverse : bool
        Whether trips lead from the opportunities to origins.
    point_of : numpy.ndarray
        Point of each opportunity, shape (opportunities,), int64.
    snaps : list of Snap
        Different points of opportunities.
    ends : PhantomNodes
        Connections of the points to nodes.
    """

    def __init__(self, index: StreetIndex, opportunities: Sequence[LatLon], reverse: bool) -> None:
        self.index, self.reverse = index, flag(reverse, "reverse")
        where = listed_places(index, opportunities, "opportunity", "opportunities")
        find = starting_points if self.reverse else ending_points
        found = find(index, where, [f"opportunity {row}" for row in range(len(where))])
        numbers: dict[tuple[int, float], int] = {}
        self.point_of: Indices = np.array(
            [numbers.setdefault((snap.polyline, snap.fraction), len(numbers)) for snap in found], np.int64
        )
        _, first_of_point = np.unique(self.point_of, return_index=True)
        self.snaps = [found[row] for row in first_of_point.tolist()]
        self.ends = (many_starts if self.reverse else many_goals)(index, self.snaps)


class _Origins:
    """Points of origins on streets.

    Attributes
    ----------
    snaps : list of Snap
        The points.
    ends : PhantomNodes
        Connections of the origins to nodes.
    direct : numpy.ndarray
        Paths between places that pass no node: origin, point and weight, in the order of origins, shape (k, 3), int64.
    """

    def __init__(self, points: _Points, origins: Sequence[LatLon], first: int) -> None:
        index, reverse = points.index, points.reverse
        where = listed_places(index, origins, "origin", first=first)
        find = ending_points if reverse else starting_points
        self.snaps = find(index, where, [f"origin {first + row}" for row in range(len(where))])
        self.ends: PhantomNodes = (many_goals if reverse else many_starts)(index, self.snaps)
        if reverse:
            point, origin, weight, *_ = many_direct(index, points.snaps, self.snaps)
            direct = np.stack([origin, point, weight], axis=1)
            self.direct: Indices = direct[np.argsort(origin, kind="stable")]
        else:
            self.direct = np.stack(many_direct(index, self.snaps, points.snaps)[:3], axis=1)


class OpportunitySums(Resource):
    """Sums over opportunities for sets of origins: opportunities are snapped once, and one solver makes all searches.

    Parameters
    ----------
    solver : Solver or SolverPool
        Names the algorithm and the devices.
    index : StreetIndex
        The streets.
    unit : Unit
        The unit of weights.
    opportunities, weights, limits, decays, reverse
        See `vkssp.Router.accessibility`.
    """

    def __init__(
        self,
        solver: Solver | SolverPool,
        index: StreetIndex,
        unit: Unit,
        opportunities: Sequence[LatLon],
        weights: npt.ArrayLike | None,
        limits: Any,
        decays: Decay | Sequence[Decay] | None,
        reverse: bool,
    ) -> None:
        super().__init__()
        self._solver = solver
        self._joined: Solver | SolverPool | None = None
        is_one = number_of(limits) is not None
        each = [] if limits is None else [limits] if is_one else items_of(limits)
        self._within = [unit.within(one, "limits") for one in ([limits] if each is None else each)]
        self._decays = [decay.scaled(unit.per_weight) for decay in checked_decays(decays)]
        if not self._within and not self._decays:
            raise QueryError("there are neither limits nor decays; give limits=[...], such as seconds, or decays")
        self._points = points = _Points(index, opportunities, reverse)
        given = np.ones(len(points.point_of), np.int64) if weights is None else weights
        self._table, is_flat = checked_values(given, "weights", len(points.point_of), "opportunities")
        self._form = is_one and not self._decays, is_flat
        self._graph = backward(index.searched) if points.reverse else index.searched

    def of_nodes(self, nodes: Indices | None = None) -> npt.NDArray[Any]:
        """Return the sums of some nodes, by default of all."""
        chosen = np.arange(self._graph.num_nodes) if nodes is None else nodes
        rows = np.arange(len(chosen))
        return self._sums(len(chosen), np.stack([rows, chosen, np.zeros(len(chosen), np.int64)], axis=1), [])

    def of(self, origins: Sequence[LatLon], first: int = 0) -> npt.NDArray[Any]:
        """Return the sums of some places, the first of which has the number `first` in errors."""
        found, num_nodes = _Origins(self._points, origins, first), self._graph.num_nodes
        ends, direct = found.ends, found.direct
        seeds = np.stack([ends.owner, ends.node, ends.weight], axis=1).astype(np.int64)
        to_points = np.stack([direct[:, 0], num_nodes + direct[:, 1], direct[:, 2]], axis=1)
        seeds = np.concatenate([seeds, to_points])
        return self._sums(len(found.snaps), seeds[np.argsort(seeds[:, 0], kind="stable")], found.snaps)

    def _sums(self, count: int, seeds: Indices, snaps: Sequence[Snap]) -> npt.NDArray[Any]:
        """Return the sums of origins by their seeds: origin, node and weight, in the order of origins."""
        # An origin with more seeds than a search may have is a node itself, and they are the heads of its arcs.
        many = np.flatnonzero(np.bincount(seeds[:, 0], minlength=count) > MAX_TERMINALS)
        if len(many):
            num_nodes = self._graph.num_nodes + len(self._points.snaps)
            node_of = np.full(count, -1, np.int64)
            node_of[many] = num_nodes + np.arange(len(many))
            is_arc = node_of[seeds[:, 0]] >= 0
            arcs, lone = seeds[is_arc], np.stack([many, node_of[many], np.zeros(len(many), np.int64)], axis=1)
            seeds = np.concatenate([seeds[~is_arc], lone])
            seeds = seeds[np.argsort(seeds[:, 0], kind="stable")]
            arcs[:, 0] = node_of[arcs[:, 0]]
            graph = self._with_points([snaps[row] for row in many.tolist()], arcs)
            with self._solver.for_graph(graph) as joined:
                return self._sums_by(joined, count, seeds)
        if self._joined is None:
            self._joined = self._solver.for_graph(self._with_points([], np.zeros((0, 3), np.int64)))
        return self._sums_by(self._joined, count, seeds)

    def _with_points(self, snaps: Sequence[Snap], arcs: Indices) -> Graph:
        """Return the graph with nodes for points, and for some origins with their arcs: tail, head and weight."""
        ends, num_nodes = self._points.ends, self._graph.num_nodes
        to_points = np.stack([ends.node, num_nodes + ends.owner, ends.weight], axis=1).astype(np.int64)
        return _with_nodes(self._graph, [*self._points.snaps, *snaps], np.concatenate([to_points, arcs]))

    def _sums_by(self, joined: Solver | SolverPool, count: int, seeds: Indices) -> npt.NDArray[Any]:
        """Return the sums of origins by a solver of the graph with points."""
        rows, first = np.unique(seeds[:, 0], return_index=True)
        ends = np.append(first, len(seeds)).astype(np.int64)
        groups = Groups(ends, seeds[:, 1].astype(np.uint32), seeds[:, 2].astype(np.uint32))
        values = np.zeros((joined.graph.num_nodes, self._table.shape[1]), self._table.dtype)
        np.add.at(values, self._graph.num_nodes + self._points.point_of, self._table)
        sums = sums_of_groups(joined, groups, values, self._within, self._decays)
        found = np.zeros((count, *sums.shape[1:]), sums.dtype)
        found[rows] = sums
        return shaped(found, *self._form)

    def _release(self) -> None:
        """Close the solver of the graph with points."""
        if self._joined is not None:
            self._joined.close()


def _with_nodes(graph: Graph, snaps: Sequence[Snap], arcs: Indices) -> Graph:
    """Return a graph with nodes added at points, and with arcs, and with a hierarchy if the graph has one."""
    tail, head, weight = (
        own(np.concatenate([old, new.astype(np.uint32)]))
        for old, new in zip((graph.tail, graph.head, graph.weight), arcs.T, strict=True)
    )
    assert graph.lat is not None and graph.lon is not None
    lat = np.concatenate([graph.lat, [snap.lat for snap in snaps]])
    lon = np.concatenate([graph.lon, [snap.lon for snap in snaps]])
    made = Graph.from_edges(tail, head, weight, lat=own(lat), lon=own(lon))
    return made if graph.hierarchy is None else with_attached(made, graph.hierarchy)


class NearestSearch:
    """Opportunities that are nearest to each node, found by one search, for any number of sets of origins.

    The search goes from the opportunities, against the direction of the trips. Each node keeps as many as are asked
    for. So an origin needs only those of the nodes that it reaches first, and those on its own street.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    unit : Unit
        The unit of weights.
    opportunities, count, limit, reverse
        See `vkssp.Router.nearest_opportunities`.
    """

    def __init__(
        self,
        index: StreetIndex,
        unit: Unit,
        opportunities: Sequence[LatLon],
        count: int,
        limit: float | None,
        reverse: bool,
    ) -> None:
        self._unit, self._most = unit, UNREACHABLE if limit is None else unit.within(limit)
        cure = "give how many opportunities are wanted for each origin"
        self._wanted = whole_number(count, "count", 1, UNREACHABLE - 1, cure)
        self._points = points = _Points(index, opportunities, reverse)
        self._kept = min(self._wanted, len(points.point_of))
        check_room(index.graph.num_nodes, self._kept)
        # A point with several opportunities is a seed for each of them.
        ends = points.ends
        length = np.diff(ends.first)[points.point_of]
        at, owner = ranges(ends.first[:-1][points.point_of], length), np.repeat(np.arange(len(length)), length)
        seeds = np.stack([ends.node[at], ends.weight[at], owner.astype(np.uint32)], axis=1)
        facing = index.searched if points.reverse else backward(index.searched)
        self._distance, self._number = nearest_of_all(facing, seeds, self._kept, self._most)

    def of_nodes(self, nodes: Indices | None = None) -> NearestOpportunities:
        """Return the opportunities that are nearest to some nodes, by default to all."""
        chosen: Any = slice(None) if nodes is None else nodes
        return self._told(self._distance[chosen], self._number[chosen])

    def of(self, origins: Sequence[LatLon], first: int = 0) -> NearestOpportunities:
        """Return the opportunities that are nearest to some places, the first of which is number `first` in errors."""
        found = _Origins(self._points, origins, first)
        check_room(len(found.snaps), self._wanted)
        point_of = self._points.point_of
        return self._told(*_of_origins(found, point_of, self._distance, self._number, self._kept, self._most))

    def _told(self, distance: Uint32s, number: Uint32s) -> NearestOpportunities:
        check_room(len(distance), self._wanted)
        if self._kept < self._wanted:
            missing = np.full((len(distance), self._wanted - self._kept), UNREACHABLE, np.uint32)
            distance, number = (np.concatenate([found, missing], axis=1) for found in (distance, number))
        return NearestOpportunities(number, self._unit.values(distance), COLUMNS[self._unit.name])


def _of_origins(
    places: _Origins, point_of: Indices, distance: Uint32s, number: Uint32s, count: int, most: int
) -> tuple[Uint32s, Uint32s]:
    """Return the distances and numbers of the opportunities that are nearest to places, from those of nodes."""
    origins, direct = places.ends, places.direct
    through = distance[origins.node].astype(np.int64) + origins.weight[:, None]
    is_known = number[origins.node] != UNREACHABLE
    # All opportunities at a point that is reached directly count.
    by_point = np.argsort(point_of, kind="stable")
    first = np.searchsorted(point_of[by_point], np.arange(int(point_of.max(initial=-1)) + 2))
    length = np.diff(first)[direct[:, 1]]
    at = ranges(first[:-1][direct[:, 1]], length)
    row = np.concatenate([np.repeat(origins.owner, is_known.sum(axis=1)), np.repeat(direct[:, 0], length)])
    far = np.concatenate([through[is_known], np.repeat(direct[:, 2], length)])
    which = np.concatenate([number[origins.node][is_known].astype(np.int64), by_point[at]])
    fits = far <= min(most, UNREACHABLE - 1)
    beyond = np.unique(row[~fits])
    row, far, which = row[fits], far[fits], which[fits]
    # The least distance of each opportunity, and then the nearest opportunities.
    order = np.lexsort((far, which, row))
    row, far, which = row[order], far[order], which[order]
    is_first = np.ones(len(row), np.bool_)
    is_first[1:] = (row[1:] != row[:-1]) | (which[1:] != which[:-1])
    row, far, which = row[is_first], far[is_first], which[is_first]
    order = np.lexsort((which, far, row))
    row, far, which = row[order], far[order], which[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    is_near = place < count
    found, names = (np.full((len(places.snaps), count), UNREACHABLE, np.uint32) for _ in range(2))
    found[row[is_near], place[is_near]] = far[is_near]
    names[row[is_near], place[is_near]] = which[is_near]
    if most == UNREACHABLE and (found[beyond] == UNREACHABLE).any():
        raise DistanceOverflowError(OVERFLOW)
    return found, names
