"""Segments: the pieces of ways between junctions, which become the arcs of the graph.

A node of OpenStreetMap becomes a node of the graph if two ways meet there, if a way meets itself or ends there, or, if
turns count, if a restriction names the node or it has traffic signals or signs. All other nodes only give the way its
shape. A barrier cuts the street: every piece that ends at the barrier gets a node of its own, so that both sides can be
reached but no path leads through. A gate cuts the street, too, but links of zero length join the pieces. The links hold
the time that the gate takes: half on the way in and half on the way out. So only traffic through the gate waits, and
the streets on its two sides are no slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct
from vkssp.cores import num_cores, run_all
from vkssp.graph.geo import ground_metres, haversine
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.jit import kernels
from vkssp.osm.gathering import gathered
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Steps whose lengths a thread computes at once; the same on any number of cores, as are the last bits of the lengths.
_STEPS_AT_ONCE = 1 << 16
# The same for references of ways, and for polylines.
_REFERENCES_AT_ONCE, _LINES_AT_ONCE = 1 << 17, 1 << 14
# Bits of what is known of a node: that a barrier, or a gate, is there; that turns there count.
_BLOCKED, _GATE, _TURN = 1, 2, 4


@dataclass(frozen=True, eq=False)
class Segments:
    """Pieces of ways between junctions.

    Attributes
    ----------
    way : numpy.ndarray
        Index of each segment's way, shape (num_segments,), int64.
    tail, head : numpy.ndarray
        Nodes at which each segment begins and ends along its way, shape (num_segments,), int64.
    lat, lon : numpy.ndarray
        Coordinates of the nodes in 1e-7 degrees, shape (num_nodes,), int32.
    length : numpy.ndarray
        Length of each segment in metres, shape (num_segments,), float64.
    node : numpy.ndarray
        OSM ids of the nodes, shape (num_nodes,), int64; several nodes may have the same OSM id.
    wait : numpy.ndarray
        Seconds that each segment takes in addition to the drive along it, in either direction; 0 except for links of
        gates. Shape (num_segments,), float64.
    polyline_first : numpy.ndarray
        Offset of each segment's first point, shape (num_segments + 1,), uint32.
    points : numpy.ndarray
        Latitude and longitude of the segments' points in 1e-7 degrees, shape (num_points, 2), int32.
    point_node : numpy.ndarray or None
        OSM ids of the points, shape (num_points,), int64; None if unknown.
    """

    way: Indices
    tail: Indices
    head: Indices
    lat: npt.NDArray[np.int32]
    lon: npt.NDArray[np.int32]
    node: Indices
    length: Floats
    wait: Floats
    polyline_first: npt.NDArray[np.uint32]
    points: npt.NDArray[np.int32]
    point_node: Indices | None = None


def cut_ways(roads: RawRoads, report: ImportReport, *, simplify: bool = True, ellipsoid: bool = False) -> Segments:
    """Cut ways into segments.

    Parameters
    ----------
    roads : RawRoads
        The ways.
    report : ImportReport
        Receives the counts of ways used, barriers and repeated nodes.
    simplify : bool
        Whether to cut ways at junctions only; otherwise they are cut at all nodes.
    ellipsoid : bool
        Whether lengths are those on the ellipsoid WGS84; otherwise they are great-circle distances on a sphere.
    """
    found = _found_segments(roads, report, simplify=simplify)
    report.end_stage("cutting")
    size = len(found.way)
    both = np.concatenate([found.begin, found.end])

    # Each junction is one node. At a barrier or a gate, every end of a segment is a node.
    (mark,) = gathered((found.mark, both))
    own = np.flatnonzero(mark & (_BLOCKED | _GATE))
    is_junction = np.zeros(len(found.mark), np.bool_)
    is_junction[both] = True
    is_junction[both[own]] = False
    number = np.cumsum(is_junction, dtype=np.int32)
    num_junctions = int(number[-1]) if len(number) else 0
    (node_of,) = gathered((number, both))
    node_of = node_of.astype(np.int64) - 1
    node_of[own] = num_junctions + np.arange(len(own))
    links = _gate_links(both, mark & _GATE > 0, num_junctions + len(own))

    lat, lon = (np.empty(num_junctions + len(own) + len(links.gates), np.int32) for _ in range(2))
    node, first = np.empty(len(lat), np.int64), found.polyline_first
    for of_end, at in ((node_of[:size], first[:-1]), (node_of[size:], first[1:] - 1)):
        place, of_place = gathered((found.points, at), (found.point_node, at))
        lat[of_end], lon[of_end], node[of_end] = place[:, 0], place[:, 1], of_place
    near, middle = node_of[links.end], links.middle
    for values in (lat, lon, node):
        values[middle] = values[near]
    # A segment that begins at a gate is reached from the gate's middle; one that ends there continues to it.
    leaving = links.end < size
    # The polyline of a link consists of two equal points.
    of_links = np.repeat(near, 2)
    ends = first[-1] + 2 * np.arange(1, len(near) + 1)
    length = _lengths(first, found.points, ellipsoid=ellipsoid)
    joined = {
        "way": (found.way, found.way[links.end % max(size, 1)]),
        "tail": (node_of[:size], np.where(leaving, middle, near)),
        "head": (node_of[size:], np.where(leaving, near, middle)),
        "length": (length, np.zeros(len(near))),
        "wait": (np.zeros(size), _seconds_at(roads, node[near]) / 2),
        "points": (found.points, np.column_stack([lat[of_links], lon[of_links]])),
        "point_node": (found.point_node, node[of_links]),
    }
    arrays: dict[str, Any] = dict(
        zip(joined, run_all([partial(np.concatenate, pair) for pair in joined.values()]), strict=True)
    )
    ends_of_lines = np.concatenate([first, ends]).astype(np.uint32)
    return Segments(lat=lat, lon=lon, node=node, polyline_first=ends_of_lines, **arrays)


class _Found(NamedTuple):
    """Segments, before their ends become nodes.

    Attributes
    ----------
    way, begin, end : numpy.ndarray
        Index of each segment's way, and indices of its ends among the distinct nodes.
    mark : numpy.ndarray
        Bits of what is known of each distinct node, such as `_BLOCKED`.
    polyline_first, points, point_node : numpy.ndarray
        As in `Segments`, but the first has int64.
    """

    way: Indices
    begin: Indices
    end: Indices
    mark: npt.NDArray[np.uint8]
    polyline_first: Indices
    points: npt.NDArray[np.int32]
    point_node: Indices


def _found_segments(roads: RawRoads, report: ImportReport, *, simplify: bool) -> _Found:
    """Cut ways where segments end."""
    compiled, places = kernels("vkssp.osm.kernels.cutting"), roads.places
    num_places = int(places.max(initial=-1)) + 1
    if num_places < 2**31:
        places = places.astype(np.int32, copy=False)
    # Parts of about the same number of references, whatever the number of cores.
    ways = np.searchsorted(roads.first, np.arange(0, len(places), _REFERENCES_AT_ONCE))
    parts = list(pairwise(distinct(np.append(ways, len(roads.way))).tolist()))
    about, counts = np.empty(len(places), np.uint8), np.zeros((len(parts), 2), np.int64)
    of_ways = roads.node, roads.known, roads.first, about
    run_all([partial(compiled.find_pieces, *part, *of_ways, counts[number]) for number, part in enumerate(parts)])
    report.repeated_nodes, report.ways_used = counts.sum(axis=0).tolist()
    lone = len(roads.way) - report.ways_used
    if lone:
        report.ways_skipped["fewer than two nodes"] = lone
    uses, ids = np.zeros(num_places, np.uint8), np.empty(num_places, np.int64)
    # Each core goes through all references, and counts those of its own nodes.
    cuts = [num_places * at // num_cores() for at in range(num_cores() + 1)]
    of_places = roads.node, places, about, uses, ids
    run_all([partial(compiled.count_uses, *part, *of_places) for part in pairwise(cuts)])
    used = np.flatnonzero(uses)
    (ids,) = gathered((ids, used))
    blocked = _marked(ids, roads.blocked)
    report.barriers = len(blocked)
    mark = np.zeros(num_places, np.uint8)
    if roads.turns is not None:
        mark[used[_marked(ids, roads.turns.places)]] = _TURN
    mark[used[_marked(ids, roads.slow)]] |= _GATE
    mark[used[blocked]] = _BLOCKED
    del used, ids

    counted = np.zeros((len(parts), 2), np.int64)
    of_nodes = about, places, uses, mark, not simplify
    run_all(
        [
            partial(compiled.count_segments, int(roads.first[low]), int(roads.first[high]), *of_nodes, counted[number])
            for number, (low, high) in enumerate(parts)
        ]
    )
    before = np.cumsum(counted, axis=0) - counted
    num_segments, num_points = counted.sum(axis=0).tolist()
    way, begin, end, ends = (np.empty(num_segments, np.int64) for _ in range(4))
    points, point_node = np.empty((num_points, 2), np.int32), np.empty(num_points, np.int64)
    given = roads.first, *of_nodes, roads.node, roads.lat, roads.lon
    made = way, begin, end, ends, points, point_node
    run_all(
        [
            partial(compiled.fill_segments, low, high, *given, *before[number].tolist(), *made)
            for number, (low, high) in enumerate(parts)
        ]
    )
    return _Found(way, begin, end, mark, np.concatenate([[0], ends]), points, point_node)


def _lengths(first: Indices, points: npt.NDArray[np.int32], *, ellipsoid: bool) -> Floats:
    """Return the length in metres of each polyline."""
    length, compiled = np.empty(len(first) - 1), kernels("vkssp.osm.kernels.cutting")

    def measure(at: int) -> None:
        part = first[at : at + _LINES_AT_ONCE + 1]
        y, x = (np.asarray(points[part[0] : part[-1], i] * COORDINATE_SCALE, np.float64) for i in (0, 1))
        steps = (ground_metres if ellipsoid else haversine)(y[:-1], x[:-1], y[1:], x[1:])
        compiled.add_up(part, steps, length[at : at + _LINES_AT_ONCE])

    run_all([partial(measure, at) for at in range(0, len(length), _LINES_AT_ONCE)])
    return length


class _GateLinks(NamedTuple):
    """Links between the ends of segments at gates and the middles of the gates.

    Attributes
    ----------
    end : numpy.ndarray
        Index of the segment end that each link joins to the middle, shape (num_links,), int64.
    middle : numpy.ndarray
        Node in the middle of each link's gate, shape (num_links,), int64.
    gates : numpy.ndarray
        Gate of each middle node, shape (num_gates,), int64.
    """

    end: Indices
    middle: Indices
    gates: Indices


def _gate_links(at: Indices, is_gate: npt.NDArray[np.bool_], first_node: int) -> _GateLinks:
    """Return the links of gates with at least two segment ends, from the place of each end and whether it is a gate."""
    ends = np.flatnonzero(is_gate)
    gates, which, count = np.unique(at[ends], return_inverse=True, return_counts=True)
    # A gate at the end of a street leads nowhere.
    leads_on = count > 1
    node = first_node + np.cumsum(leads_on) - 1
    kept = leads_on[which]
    return _GateLinks(ends[kept], node[which[kept]], gates[leads_on])


def _seconds_at(roads: RawRoads, node: Indices) -> Floats:
    """Return the seconds that it takes to pass gates, given by their OSM ids."""
    by_id = np.argsort(roads.slow, kind="stable")
    seconds: Floats = roads.slow_seconds[by_id][np.searchsorted(roads.slow[by_id], node)]
    return seconds


def _marked(ordered: Indices, wanted: Indices) -> Indices:
    """Return the indices of those of distinct, sorted values that are wanted."""
    if len(ordered) == 0:
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return distinct(at[ordered[at] == wanted])


def steps_between(lat: npt.NDArray[np.int32], lon: npt.NDArray[np.int32], *, ellipsoid: bool) -> Floats:
    """Return the metres from each point to the next, in 1e-7 degrees, computed on all cores; see `cut_ways`."""
    steps = np.empty(max(0, len(lat) - 1))

    def compute(at: int) -> None:
        some = slice(at, at + _STEPS_AT_ONCE + 1)
        y, x = (np.asarray(all_of[some] * COORDINATE_SCALE, np.float64) for all_of in (lat, lon))
        steps[at : at + _STEPS_AT_ONCE] = (ground_metres if ellipsoid else haversine)(y[:-1], x[:-1], y[1:], x[1:])

    run_all([partial(compute, at) for at in range(0, len(steps), _STEPS_AT_ONCE)])
    return steps
