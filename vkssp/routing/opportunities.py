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


class _Trips:
    """Trips from origins to opportunities, or if `reverse`, from opportunities to origins.

    Attributes
    ----------
    num_origins : int
        Number of origins, which are all nodes of the graph if no places are given.
    places : list of Snap
        Points of the origins; empty if they are all nodes.
    origins : PhantomNodes or None
        Connections of the origins to nodes; None if they are all nodes.
    points : list of Snap
        Different points of opportunities.
    point_of : numpy.ndarray
        Point of each opportunity, shape (opportunities,), int64.
    ends : PhantomNodes
        Connections of the points to nodes.
    direct : numpy.ndarray
        Paths between places that pass no node: origin, point and weight, in the order of origins, shape (k, 3), int64.
    """

    def __init__(
        self, index: StreetIndex, origins: Sequence[LatLon] | None, opportunities: Sequence[LatLon], reverse: bool
    ) -> None:
        to, out = (starting_points, ending_points) if reverse else (ending_points, starting_points)
        find_to, find_out = (many_starts, many_goals) if reverse else (many_goals, many_starts)
        where = listed_places(index, opportunities, "opportunity", "opportunities")
        from_where = None if origins is None else listed_places(index, origins, "origin")
        snaps = to(index, where, [f"opportunity {row}" for row in range(len(where))])
        numbers: dict[tuple[int, float], int] = {}
        self.point_of: Indices = np.array(
            [numbers.setdefault((snap.polyline, snap.fraction), len(numbers)) for snap in snaps], np.int64
        )
        _, first_of_point = np.unique(self.point_of, return_index=True)
        self.points = [snaps[row] for row in first_of_point.tolist()]
        self.ends = find_to(index, self.points)
        self.direct: Indices = np.zeros((0, 3), np.int64)
        self.origins: PhantomNodes | None = None
        self.num_origins, self.places = index.graph.num_nodes, list[Snap]()
        if from_where is not None:
            self.places = out(index, from_where, [f"origin {row}" for row in range(len(from_where))])
            self.num_origins = len(self.places)
            self.origins = find_out(index, self.places)
            if reverse:
                point, origin, weight, *_ = many_direct(index, self.points, self.places)
                direct = np.stack([origin, point, weight], axis=1)
                self.direct = direct[np.argsort(origin, kind="stable")]
            else:
                self.direct = np.stack(many_direct(index, self.places, self.points)[:3], axis=1)


def sums_of_opportunities(
    solver: Solver | SolverPool,
    index: StreetIndex,
    unit: Unit,
    origins: Sequence[LatLon] | None,
    opportunities: Sequence[LatLon],
    weights: npt.ArrayLike | None,
    limits: Any,
    decays: Decay | Sequence[Decay] | None,
    reverse: bool,
) -> npt.NDArray[Any]:
    """Return the sums of the weights of opportunities; see `vkssp.Router.accessibility`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Names the algorithm and the devices.
    index : StreetIndex
        The streets.
    unit : Unit
        The unit of weights.
    origins, opportunities, weights, limits, decays, reverse
        See `vkssp.Router.accessibility`.
    """
    is_one = number_of(limits) is not None
    each = [] if limits is None else [limits] if is_one else items_of(limits)
    within = [unit.within(one, "limits") for one in ([limits] if each is None else each)]
    shapes = [decay.scaled(unit.per_weight) for decay in checked_decays(decays)]
    if not within and not shapes:
        raise QueryError("there are neither limits nor decays; give limits=[...], such as seconds, or decays")
    trips = _Trips(index, origins, opportunities, flag(reverse, "reverse"))
    given = np.ones(len(trips.point_of), np.int64) if weights is None else weights
    table, is_flat = checked_values(given, "weights", len(trips.point_of), "opportunities")
    graph, groups, rows = _joined(backward(index.searched) if reverse else index.searched, trips)
    values = np.zeros((graph.num_nodes, table.shape[1]), table.dtype)
    np.add.at(values, index.graph.num_nodes + trips.point_of, table)
    with solver.for_graph(graph) as joined:
        sums = sums_of_groups(joined, groups, values, within, shapes)
    found = np.zeros((trips.num_origins, *sums.shape[1:]), sums.dtype)
    found[rows] = sums
    return shaped(found, is_one and not shapes, is_flat)


def _joined(graph: Graph, trips: _Trips) -> tuple[Graph, Groups, Indices]:
    """Return a graph with nodes for points, seeds of the origins that have any, and the numbers of these origins."""
    points = trips.ends
    num_nodes, num_points = graph.num_nodes, len(trips.points)
    tail, head, weight = points.node, num_nodes + points.owner, points.weight
    snaps = list(trips.points)
    if trips.origins is None:
        seeds = np.stack([np.arange(num_nodes), np.arange(num_nodes), np.zeros(num_nodes, np.int64)], axis=1)
    else:
        origins, direct = trips.origins, trips.direct
        seeds = np.stack([origins.owner, origins.node, origins.weight], axis=1).astype(np.int64)
        to_points = np.stack([direct[:, 0], num_nodes + direct[:, 1], direct[:, 2]], axis=1)
        seeds = np.concatenate([seeds, to_points])
        seeds = seeds[np.argsort(seeds[:, 0], kind="stable")]
        # An origin with more seeds than a search may have is a node itself, and they are the heads of its arcs.
        many = np.flatnonzero(np.bincount(seeds[:, 0], minlength=trips.num_origins) > MAX_TERMINALS)
        node_of = np.full(trips.num_origins, -1, np.int64)
        node_of[many] = num_nodes + num_points + np.arange(len(many))
        is_arc = node_of[seeds[:, 0]] >= 0
        arcs, lone = seeds[is_arc], np.stack([many, node_of[many], np.zeros(len(many), np.int64)], axis=1)
        seeds = np.concatenate([seeds[~is_arc], lone])
        seeds = seeds[np.argsort(seeds[:, 0], kind="stable")]
        tail, head = np.concatenate([tail, node_of[arcs[:, 0]]]), np.concatenate([head, arcs[:, 1]])
        weight = np.concatenate([weight, arcs[:, 2]])
        snaps += [trips.places[row] for row in many.tolist()]
    rows, first = np.unique(seeds[:, 0], return_index=True)
    ends = np.append(first, len(seeds)).astype(np.int64)
    groups = Groups(ends, seeds[:, 1].astype(np.uint32), seeds[:, 2].astype(np.uint32))
    return _with_nodes(graph, snaps, (tail, head, weight)), groups, rows


def _with_nodes(graph: Graph, snaps: Sequence[Snap], arcs: tuple[npt.NDArray[Any], ...]) -> Graph:
    """Return a graph with nodes added at points, and with arcs, and with a hierarchy if the graph has one."""
    tail, head, weight = (
        own(np.concatenate([old, new.astype(np.uint32)]))
        for old, new in zip((graph.tail, graph.head, graph.weight), arcs, strict=True)
    )
    assert graph.lat is not None and graph.lon is not None
    lat = np.concatenate([graph.lat, [snap.lat for snap in snaps]])
    lon = np.concatenate([graph.lon, [snap.lon for snap in snaps]])
    made = Graph.from_edges(tail, head, weight, lat=own(lat), lon=own(lon))
    return made if graph.hierarchy is None else with_attached(made, graph.hierarchy)


def nearest_of_opportunities(
    index: StreetIndex,
    unit: Unit,
    origins: Sequence[LatLon] | None,
    opportunities: Sequence[LatLon],
    count: int,
    limit: float | None,
    reverse: bool,
) -> NearestOpportunities:
    """Return the opportunities that are nearest to origins; see `vkssp.Router.nearest_opportunities`.

    The search goes from the opportunities, against the direction of the trips. Each node keeps as many as are asked
    for. So an origin needs only those of the nodes that it reaches first, and those on its own street.
    """
    most = UNREACHABLE if limit is None else unit.within(limit)
    wanted = whole_number(count, "count", 1, UNREACHABLE - 1, "give how many opportunities are wanted for each origin")
    trips = _Trips(index, origins, opportunities, flag(reverse, "reverse"))
    check_room(trips.num_origins, wanted)
    kept = min(wanted, len(trips.point_of))
    # A point with several opportunities is a seed for each of them.
    ends = trips.ends
    length = np.diff(ends.first)[trips.point_of]
    at, owner = ranges(ends.first[:-1][trips.point_of], length), np.repeat(np.arange(len(trips.point_of)), length)
    seeds = np.stack([ends.node[at], ends.weight[at], owner.astype(np.uint32)], axis=1)
    facing = index.searched if reverse else backward(index.searched)
    distance, number = nearest_of_all(facing, seeds, kept, most)
    if trips.origins is not None:
        distance, number = _of_origins(trips, distance, number, kept, most)
    if kept < wanted:
        missing = np.full((len(distance), wanted - kept), UNREACHABLE, np.uint32)
        distance, number = (np.concatenate([found, missing], axis=1) for found in (distance, number))
    return NearestOpportunities(number, unit.values(distance), COLUMNS[unit.name])


def _of_origins(trips: _Trips, distance: Uint32s, number: Uint32s, count: int, most: int) -> tuple[Uint32s, Uint32s]:
    """Return the distances and numbers of the opportunities that are nearest to places, from those of nodes."""
    origins = trips.origins
    assert origins is not None
    through = distance[origins.node].astype(np.int64) + origins.weight[:, None]
    is_known = number[origins.node] != UNREACHABLE
    # All opportunities at a point that is reached directly count.
    by_point = np.argsort(trips.point_of, kind="stable")
    first = np.searchsorted(trips.point_of[by_point], np.arange(len(trips.points) + 1))
    length = np.diff(first)[trips.direct[:, 1]]
    at = ranges(first[:-1][trips.direct[:, 1]], length)
    row = np.concatenate([np.repeat(origins.owner, is_known.sum(axis=1)), np.repeat(trips.direct[:, 0], length)])
    far = np.concatenate([through[is_known], np.repeat(trips.direct[:, 2], length)])
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
    found, names = (np.full((trips.num_origins, count), UNREACHABLE, np.uint32) for _ in range(2))
    found[row[is_near], place[is_near]] = far[is_near]
    names[row[is_near], place[is_near]] = which[is_near]
    if most == UNREACHABLE and (found[beyond] == UNREACHABLE).any():
        raise DistanceOverflowError(OVERFLOW)
    return found, names
