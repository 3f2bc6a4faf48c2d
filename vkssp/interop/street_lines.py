"""Lines of streets, made of the edges or features of other libraries, and the graph that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import choice, listed, number_of, shown
from vkssp.errors import GraphError
from vkssp.features.columns import text_of
from vkssp.graph import Graph
from vkssp.graph.csr import ranges, within
from vkssp.graph.geo import haversine
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.osm.assembly import assemble, directed, graph_of
from vkssp.osm.profile import TURNS, profile_named
from vkssp.osm.report import ImportReport
from vkssp.osm.restrictions import Restriction, read_restriction
from vkssp.osm.roads import RawRoads
from vkssp.osm.segments import Segments
from vkssp.osm.turn_tags import TurnCollector

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

#: Seconds per unit of weight in a graph with turns.
SECONDS_PER_WEIGHT = 0.001


@dataclass(frozen=True, eq=False)
class StreetLines:
    """Lines between nodes, with a weight for each direction.

    Attributes
    ----------
    tail, head : numpy.ndarray
        Nodes at the beginning and at the end of each line, shape (num_lines,), int64.
    lat, lon : numpy.ndarray
        Coordinates of the nodes in 1e-7 degrees, shape (num_nodes,), int32.
    first : numpy.ndarray
        Offset of each line's first point, shape (num_lines + 1,), int64.
    points : numpy.ndarray
        Latitude and longitude of the lines' points in 1e-7 degrees, their ends included, shape (num_points, 2), int32.
    metres : numpy.ndarray
        Length of each line, shape (num_lines,), float64.
    weights : numpy.ndarray
        Weight along each line and against it, infinity if not allowed, shape (num_lines, 2), float64.
    ways : sequence of tuple of int
        OSM ways that each line is part of; empty if unknown.
    name : list of str
        Street name of each line.
    ref : list of str or None
        Road number of each line; None if they have none.
    roundabout, link, carried : numpy.ndarray or None
        Whether each line is part of a roundabout, a slip road, and a ferry, bool; None if no line is.
    node : numpy.ndarray or None
        OSM ids of the nodes, shape (num_nodes,), int64; None if they have none.
    """

    tail: Int64s
    head: Int64s
    lat: npt.NDArray[np.int32]
    lon: npt.NDArray[np.int32]
    first: Int64s
    points: npt.NDArray[np.int32]
    metres: Floats
    weights: Floats
    ways: Sequence[tuple[int, ...]]
    name: list[str]
    ref: list[str] | None = None
    roundabout: npt.NDArray[np.bool_] | None = None
    link: npt.NDArray[np.bool_] | None = None
    carried: npt.NDArray[np.bool_] | None = None
    node: Int64s | None = None

    def graph(self, seconds: float, scale: Any, names: npt.NDArray[Any] | None = None) -> Graph:
        """Return the graph of these lines, without turns, whose nodes are all nodes in their order.

        Parameters
        ----------
        seconds : float
            Seconds for one unit of weight, 0 if weights are not durations.
        scale : float, "auto" or None
            Unit for real weights; see `vkssp.Graph.from_csr`.
        names : numpy.ndarray, optional
            Names of the nodes, shape (num_nodes,).
        """
        segments, roads = self._parts()
        arcs, nodes = directed(segments, self.weights), np.arange(len(self.lat))
        weight = self.weights[arcs.segment, arcs.direction]
        return graph_of(roads, segments, arcs, nodes, weight, seconds, {"node": self.node}, scale=scale, names=names)

    def graph_with_turns(
        self,
        seconds: float,
        turns: str,
        profile: str | Path,
        node_tags: Mapping[int, Mapping[str, str]],
        relations: Iterable[Any],
    ) -> Graph:
        """Return the graph of these lines in which turns are restricted, or cost time; weights are milliseconds.

        Parameters
        ----------
        seconds : float
            Seconds for one unit of `weights`.
        turns : str
            ``"restrictions"`` or ``"costs"``.
        profile : str or Path
            The vehicle, whose rules hold for turns.
        node_tags : mapping of int to mapping
            Tags of nodes, by position, such as traffic signals.
        relations : iterable
            Turn restrictions as the Overpass API writes relations: dicts with ``tags`` and ``members``.
        """
        vehicle, ids = profile_named(profile), np.arange(len(self.lat)) if self.node is None else self.node
        collector = TurnCollector(vehicle.turns, turns == "costs")
        for at, tags in node_tags.items():
            collector.add_obstacle(int(ids[at]), collector.obstacle(tags))
        found = replace(
            collector.finish(np.zeros(0, np.int64)), restrictions=self._restrictions(relations, vehicle.turns, ids)
        )
        segments, roads = self._parts()
        duration = self.weights * seconds
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.nan_to_num(self.metres[:, None] * 3.6 / duration)  # only the faster of two roads matters
        # Each line is a way of its own, so that restrictions name lines.
        roads = replace(roads, way=np.arange(len(self.tail)), speed=speed, turns=found)
        report = ImportReport(source="", profile=str(profile), turns=choice(turns, "turns", TURNS))
        graph = assemble(roads, segments, duration, vehicle, report, order="z", seconds_per_weight=SECONDS_PER_WEIGHT)
        streets = graph.streets
        assert streets is not None
        node = None if self.node is None else streets.node
        return replace(graph, streets=replace(streets, way=own(self._way()[streets.way]), node=node))

    def _parts(self) -> tuple[Segments, RawRoads]:
        """Return the lines as pieces of streets, and as ways, one for each line."""
        count = len(self.tail)
        names: dict[str, int] = {"": 0}
        name, ref = (
            np.array([names.setdefault(text_of(text), len(names)) for text in texts], np.uint32)
            for texts in (self.name, [""] * count if self.ref is None else self.ref)
        )
        roundabout, link, carried = (
            np.zeros(count, np.bool_) if some is None else some for some in (self.roundabout, self.link, self.carried)
        )
        nothing, no_ids = np.zeros(count), np.zeros(0, np.int64)
        roads = RawRoads(
            node=no_ids,
            lat=np.zeros(0, np.int32),
            lon=np.zeros(0, np.int32),
            known=np.zeros(0, np.bool_),
            first=np.zeros(count + 1, np.int64),
            way=self._way(),
            speed=np.zeros((count, 2)),
            restricted=np.zeros((count, 2), np.bool_),
            duration=nothing,
            carried=carried,
            snappable=np.ones(count, np.bool_),
            name=name,
            ref=ref,
            names=tuple(names),
            roundabout=roundabout,
            link=link,
            blocked=no_ids,
            slow=no_ids,
            slow_seconds=np.zeros(0),
        )
        segments = Segments(
            way=np.arange(count),
            tail=self.tail,
            head=self.head,
            lat=self.lat,
            lon=self.lon,
            node=np.arange(len(self.lat)) if self.node is None else self.node,
            length=self.metres,
            wait=nothing,
            polyline_first=self.first.astype(np.uint32),
            points=self.points,
        )
        return segments, roads

    def _way(self) -> Int64s:
        """Return the first OSM way of each line, 0 if it has none."""
        return np.array([ways[0] if ways else 0 for ways in self.ways], np.int64).reshape(-1)

    def _restrictions(self, relations: Iterable[Any], rules: Any, ids: Int64s) -> tuple[Restriction, ...]:
        """Return the restrictions that hold for the vehicle, with lines instead of ways.

        A line of several ways begins and ends with one of them, and does not tell which. So a way stands for the only
        line of it at the node; a restriction that this leaves open is left out, as one with several lines between is.
        """
        lines_of: dict[int, list[int]] = {}
        for line, ways in enumerate(self.ways):
            for way in ways:
                lines_of.setdefault(way, []).append(line)
        ends = np.stack([ids[self.tail], ids[self.head]], axis=1).tolist()
        found = []
        for at, relation in enumerate(listed(relations, "restrictions", "relations of the Overpass API")):
            restriction, _ = read_restriction(*_relation(relation, f"restrictions[{at}]"), rules)
            if restriction is None:
                continue
            between = [lines_of.get(way, []) for way in restriction.ways]
            if any(len(lines) != 1 for lines in between):
                continue
            chain = [lines[0] for lines in between]
            near = [ends[chain[0]], ends[chain[-1]]] if chain else [[restriction.node]] * 2
            origins, targets = (
                [[line for line in lines_of.get(way, []) if set(ends[line]) & set(nodes)] for way in ways]
                for ways, nodes in ((restriction.origins, near[0]), (restriction.targets, near[1]))
            )
            if all(len(lines) == 1 for lines in (*origins, *targets)):
                begin, end = (tuple(lines[0] for lines in side) for side in (origins, targets))
                found.append(Restriction(restriction.only, begin, end, restriction.node, tuple(chain)))
        return tuple(found)


def _relation(relation: Any, name: str) -> tuple[dict[str, str], list[tuple[str, str, int]]]:
    """Return tags and members of a relation, or raise `GraphError`."""
    try:
        tags = {str(key): str(value) for key, value in relation["tags"].items()}
        return tags, [(str(one["role"]), str(one["type"])[:1], int(one["ref"])) for one in relation["members"]]
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        what = "a dict with tags, and members with role, type and ref"
        raise GraphError(f"{name} is {shown(relation)}; give {what}, as the Overpass API writes relations") from error


def checked_seconds(seconds: Any) -> float:
    """Return the seconds for one unit of weight, 0 for none, or raise `GraphError`."""
    given = number_of(seconds)
    if given is None or not 0 <= given < np.inf:
        raise GraphError(f"seconds is {shown(seconds)}; give the seconds for one unit of weight, 0 for none")
    return given


def points_of(shapes: npt.NDArray[Any]) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return the points of lines of shapely in degrees, None for a line without points; see `joined_points`."""
    import shapely

    coordinates, which = shapely.get_coordinates(shapes, return_index=True)
    first = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(shapes)))])
    return first, np.rint(coordinates[:, ::-1] / COORDINATE_SCALE).astype(np.int32)


def joined_points(
    first: Int64s, points: npt.NDArray[np.int32], begin: npt.NDArray[np.int32], end: npt.NDArray[np.int32]
) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return lines that begin and end at given places.

    Parameters
    ----------
    first : numpy.ndarray
        Offset of each line's first point, shape (num_lines + 1,), int64; a line may have no points.
    points : numpy.ndarray
        Points of the lines, shape (num_points, 2), int32.
    begin, end : numpy.ndarray
        Places, shape (num_lines, 2) each, int32.

    Returns
    -------
    first, points
        Lines of two points or more; those that were drawn from `end` to `begin` are turned round.
    """
    count = np.diff(first)
    some = count > 0
    drawn = points[first[:-1][some]], points[first[1:][some] - 1]
    gaps = [
        sum(haversine(*_degrees(a), *_degrees(b)) for a, b in zip(drawn, ends, strict=True))
        for ends in ((begin[some], end[some]), (end[some], begin[some]))
    ]
    is_turned = np.zeros(len(count), np.bool_)
    is_turned[some] = gaps[1] < gaps[0]
    if is_turned.any():
        start = np.where(is_turned, first[1:] - 1, first[:-1])
        points = points[np.repeat(start, count) + np.repeat(np.where(is_turned, -1, 1), count) * within(count)]
    early, late = np.ones(len(count), np.bool_), np.ones(len(count), np.bool_)
    early[some] = (points[first[:-1][some]] != begin[some]).any(axis=1)
    late[some] = (points[first[1:][some] - 1] != end[some]).any(axis=1)
    late |= count + early < 2
    new_first = np.concatenate([[0], np.cumsum(early + count + late)])
    found = np.empty((int(new_first[-1]), 2), np.int32)
    found[new_first[:-1][early]] = begin[early]
    found[np.repeat(new_first[:-1] + early, count) + within(count)] = points
    found[new_first[1:][late] - 1] = end[late]
    return new_first, found


def metres_along(first: Int64s, points: npt.NDArray[np.int32]) -> Floats:
    """Return the length of each line in metres, shape (num_lines,)."""
    lat, lon = _degrees(points)
    steps = np.concatenate([haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]), [0.0]])[: len(points)]
    steps[first[1:] - 1] = 0.0
    return np.asarray(np.add.reduceat(steps, first[:-1]) if len(first) > 1 else np.zeros(0), np.float64)


def _degrees(points: npt.NDArray[np.int32]) -> Floats:
    return np.asarray(points * COORDINATE_SCALE, np.float64).T


def paired(
    tail: Int64s, head: Int64s, first: Int64s, points: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.bool_], Int64s]:
    """Find edges that are the two directions of one street: the same points in opposite order.

    Parameters
    ----------
    tail, head : numpy.ndarray
        Nodes of each edge, shape (num_edges,), int64.
    first, points : numpy.ndarray
        Lines of the edges; see `joined_points`.

    Returns
    -------
    flipped : numpy.ndarray
        Whether each edge is the second direction of its street, shape (num_edges,), bool.
    other : numpy.ndarray
        The edge of the other direction, -1 if there is none, shape (num_edges,), int64.
    """
    count = np.diff(first)
    second, last_but_one = points[first[:-1] + 1].astype(np.int64), points[first[1:] - 2].astype(np.int64)
    keys = [np.dot(place, [2**32, 1]) for place in (second, last_but_one)]
    flipped = np.where(tail == head, keys[0] > keys[1], tail > head)
    # The points of each edge in the same order for both directions, and a number that depends on all of them.
    inside = within(count)
    step = np.repeat(np.where(flipped, -1, 1), count)
    places = np.repeat(np.where(flipped, first[1:] - 1, first[:-1]), count) + step * inside
    ordered = points[places].view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (ordered[:, 0] * np.uint64(0x9E3779B97F4A7C15) + ordered[:, 1]) * (
            inside.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03) | np.uint64(1)
        )
        sums = np.add.reduceat(mixed, first[:-1]) if len(count) else np.zeros(0, np.uint64)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((flipped, sums, count, high, low))
    same = [np.diff(key[order]) == 0 for key in (low, high, count, sums, flipped)]
    is_street = np.logical_and.reduce(same[:4]) if len(order) else np.zeros(0, np.bool_)
    street = np.cumsum(np.concatenate([[True], ~is_street])[: len(order)])
    run = np.concatenate([[True], ~(is_street & same[4])])[: len(order)]
    rank = np.arange(len(order)) - np.maximum.accumulate(np.where(run, np.arange(len(order)), 0))
    # Parallel streets with the same points are paired one by one.
    key = street * (len(order) + 1) + rank
    forward, backward = order[~flipped[order]], order[flipped[order]]
    of_forward, of_backward = key[~flipped[order]], key[flipped[order]]
    _, left, right = np.intersect1d(of_forward, of_backward, assume_unique=True, return_indices=True)
    one, two = forward[left], backward[right]
    # Numbers may be equal by chance.
    wrong = (ordered[ranges(first[one], count[one])] != ordered[ranges(first[two], count[two])]).any(axis=1)
    is_same = np.bincount(np.repeat(np.arange(len(one)), count[one])[wrong], minlength=len(one)) == 0
    other = np.full(len(tail), -1, np.int64)
    other[one[is_same]], other[two[is_same]] = two[is_same], one[is_same]
    return flipped & (other >= 0), other
