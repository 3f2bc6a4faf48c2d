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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import numbered
from vkssp.cores import run_all
from vkssp.graph.geo import ground_metres, haversine
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Steps whose lengths a thread computes at once; the same on any number of cores, as are the last bits of the lengths.
_STEPS_AT_ONCE = 1 << 16


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
    way, at, start, end = _pieces(roads, report)
    node, lat, lon = roads.node[at], roads.lat[at], roads.lon[at]
    places = roads.places
    _, index = numbered(places[at], int(places.max(initial=-1)) + 1)
    uses = np.bincount(index)
    first_seen = np.empty(len(uses), np.int64)
    first_seen[index[::-1]] = np.arange(len(index))[::-1]  # of equal indices, the last counts
    unique = node[first_seen]
    blocked = _marked(unique, roads.blocked)[index]
    gate = _marked(unique, roads.slow)[index] & ~blocked
    turns = _marked(unique, roads.turns.places)[index] if roads.turns is not None else False
    stops = np.flatnonzero((uses[index] > 1) | start | end | blocked | gate | turns | (not simplify))
    goes_on = ~end[stops]
    begins, ends = stops[goes_on], stops[np.flatnonzero(goes_on) + 1]

    # Each junction is one node. At a barrier or a gate, every end of a segment is a node.
    both = np.concatenate([begins, ends])
    own = blocked[both] | gate[both]
    junctions, ids = numbered(index[both][~own], len(unique))
    node_of = np.empty(len(both), np.int64)
    node_of[~own] = ids
    node_of[own] = len(junctions) + np.arange(int(own.sum()))
    position = first_seen[np.concatenate([junctions, index[both][own]])]
    links = _gate_links(index[both], gate[both], len(position))

    # Gaps between pieces count 0, because no segment spans them; so the sums stay small and therefore exact.
    travelled = _running_sum(np.where(end[:-1], 0.0, steps_between(lat, lon, ellipsoid=ellipsoid)))
    # The polyline of a link consists of two equal points.
    size = np.concatenate([ends - begins + 1, np.full(len(links.end), 2)])
    polyline_first = np.concatenate([[0], np.cumsum(size)])
    shape = np.arange(polyline_first[len(begins)]) + np.repeat(
        begins - polyline_first[: len(begins)], size[: len(begins)]
    )
    shape = np.concatenate([shape, np.repeat(both[links.end], 2)])

    report.barriers = len(np.unique(index[blocked]))
    report.ways_used = _runs(way)
    position = np.concatenate([position, first_seen[links.gates]])
    # A segment that begins at a gate is reached from the gate's middle; one that ends there continues to it.
    leaving, near, middle = links.end < len(begins), node_of[links.end], links.middle
    return Segments(
        way=np.concatenate([way[begins], way[both[links.end]]]),
        tail=np.concatenate([node_of[: len(begins)], np.where(leaving, middle, near)]),
        head=np.concatenate([node_of[len(begins) :], np.where(leaving, near, middle)]),
        lat=lat[position],
        lon=lon[position],
        node=node[position],
        length=np.concatenate([travelled[ends] - travelled[begins], np.zeros(len(links.end))]),
        wait=np.concatenate([np.zeros(len(begins)), _seconds_at(roads, node[both[links.end]]) / 2]),
        polyline_first=polyline_first.astype(np.uint32),
        points=np.column_stack([lat[shape], lon[shape]]),
        point_node=node[shape],
    )


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


def _pieces(roads: RawRoads, report: ImportReport) -> tuple[Indices, Indices, npt.NDArray[Any], npt.NDArray[Any]]:
    """Split ways at missing nodes; drop immediate repetitions of a node, then pieces with a single node.

    Returns for each remaining reference its way, its position in `roads.node`, and whether it starts and whether it
    ends a piece.
    """
    at = np.flatnonzero(roads.known)
    way = np.repeat(np.arange(len(roads.way)), np.diff(roads.first))[at]
    start = np.ones(len(at), np.bool_)
    start[1:] = (np.diff(way) != 0) | (np.diff(at) > 1)
    again = ~start
    again[1:] &= roads.node[at][1:] == roads.node[at][:-1]
    report.repeated_nodes = int(again.sum())
    at, way, start = at[~again], way[~again], start[~again]
    piece = np.cumsum(start) - 1
    stays = np.bincount(piece, minlength=1)[piece] > 1
    at, way, start = at[stays], way[stays], start[stays]
    end = np.ones(len(at), np.bool_)
    end[:-1] = start[1:]
    lone = len(roads.way) - _runs(way)
    if lone:
        report.ways_skipped["fewer than two nodes"] = lone
    return way, at, start, end


def _runs(values: Indices) -> int:
    """Return the number of distinct values of sorted ones."""
    return int(np.count_nonzero(np.diff(values))) + (len(values) > 0)


def _marked(ordered: Indices, wanted: Indices) -> npt.NDArray[np.bool_]:
    """Return whether each of distinct, sorted values is wanted."""
    marks = np.zeros(len(ordered), np.bool_)
    if len(ordered):
        at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        marks[at[ordered[at] == wanted]] = True
    return marks


def steps_between(lat: npt.NDArray[np.int32], lon: npt.NDArray[np.int32], *, ellipsoid: bool) -> Floats:
    """Return the metres from each point to the next, in 1e-7 degrees, computed on all cores; see `cut_ways`."""
    steps = np.empty(max(0, len(lat) - 1))

    def compute(at: int) -> None:
        some = slice(at, at + _STEPS_AT_ONCE + 1)
        y, x = (np.asarray(all_of[some] * COORDINATE_SCALE, np.float64) for all_of in (lat, lon))
        steps[at : at + _STEPS_AT_ONCE] = (ground_metres if ellipsoid else haversine)(y[:-1], x[:-1], y[1:], x[1:])

    run_all([partial(compute, at) for at in range(0, len(steps), _STEPS_AT_ONCE)])
    return steps


def _running_sum(values: Floats) -> Floats:
    """Return the sums of the values before each position, shape (len(values) + 1,)."""
    total: Floats = np.concatenate([[0.0], np.cumsum(values)])
    return total
