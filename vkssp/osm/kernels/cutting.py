"""Kernels that cut ways into segments; see `vkssp.osm.segments`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[Any]

#: What is known of a reference of a way to a node: whether it is kept, and whether it begins or ends a piece.
KEPT, START, END = 1, 2, 4


@jit
def find_pieces(low: int, high: int, node: Ints, known: Any, first: Ints, about: Bytes, counts: Ints) -> None:
    """Split ways at missing nodes; drop immediate repetitions of a node, then pieces with a single node.

    Parameters
    ----------
    low, high : int
        The first way, and the one after the last.
    node, known, first : numpy.ndarray
        The ways; see `vkssp.osm.roads.RawRoads`.
    about : numpy.ndarray
        Receives what is known of each reference: see `KEPT`.
    counts : numpy.ndarray
        Receives the numbers of dropped repetitions, and of ways of which something is left.
    """
    repeated = ways = np.int64(0)
    for way in range(low, high):
        at, end = first[way], first[way + 1]
        is_used = False
        while at < end:
            if not known[at]:
                about[at] = 0
                at += 1
                continue
            begin, last, count = at, at, 1
            about[at] = KEPT | START
            at += 1
            while at < end and known[at]:
                if node[at] == node[at - 1]:
                    about[at] = 0
                    repeated += 1
                else:
                    about[at] = KEPT
                    last = at
                    count += 1
                at += 1
            if count == 1:
                about[begin] = 0
                continue
            about[last] |= END
            is_used = True
        ways += is_used
    counts[0], counts[1] = repeated, ways


@jit
def count_uses(low: int, high: int, node: Ints, place: Ints, about: Bytes, uses: Bytes, ids: Ints) -> None:
    """Count how often each of some distinct nodes is kept, up to twice, and find its id.

    Parameters
    ----------
    low, high : int
        Index of the first of the nodes among the distinct ones, and of the one after the last.
    node, about : numpy.ndarray
        Ids of nodes, and what `find_pieces` found, for each reference.
    place : numpy.ndarray
        Index of each reference's node among the distinct ones.
    uses, ids : numpy.ndarray
        Receive the numbers, all of them 0 at first, and the ids.
    """
    for i in range(len(place)):
        at = place[i]
        if low <= at < high:
            ids[at] = node[i]
            if about[i] and uses[at] < 2:
                uses[at] += 1


@jit_part
def _is_stop(about: Any, uses: Any, mark: Any, all_nodes: Any) -> Any:
    """Return whether a segment begins or ends at a reference that is kept."""
    return all_nodes or about & (START | END) != 0 or uses > 1 or mark != 0


@jit
def count_segments(
    low: int, high: int, about: Bytes, place: Ints, uses: Bytes, mark: Bytes, all_nodes: bool, counts: Ints
) -> None:
    """Count the segments, and their points, of references from one up to another.

    `mark` says of which nodes segments end, whatever their use.
    """
    segments = points = np.int64(0)
    for i in range(low, high):
        if about[i]:
            points += 1
            if not about[i] & START and _is_stop(about[i], uses[place[i]], mark[place[i]], all_nodes):
                segments += 1
                if not about[i] & END:
                    points += 1
    counts[0], counts[1] = segments, points


@jit
def fill_segments(
    way: int,
    high: int,
    first: Ints,
    about: Bytes,
    place: Ints,
    uses: Bytes,
    mark: Bytes,
    all_nodes: bool,
    node: Ints,
    lat: Ints,
    lon: Ints,
    segment: int,
    point: int,
    of_way: Ints,
    begin_place: Ints,
    end_place: Ints,
    polyline_end: Ints,
    points: Ints,
    point_node: Ints,
) -> None:
    """Write the segments of ways from one up to another.

    Parameters
    ----------
    way, high : int
        The first way, and the one after the last.
    segment, point : int
        Where its first segment and its first point go.
    of_way, begin_place, end_place, polyline_end : numpy.ndarray
        Receive each segment's way, its nodes' indices among the distinct ones, and where its points end.
    points, point_node : numpy.ndarray
        Receive latitude and longitude, and the id, of each point.
    """
    for i in range(first[way], first[high]):
        while first[way + 1] <= i:
            way += 1
        if not about[i]:
            continue
        points[point, 0], points[point, 1], point_node[point] = lat[i], lon[i], node[i]
        point += 1
        if about[i] & START:
            begin_place[segment] = place[i]
            continue
        if not _is_stop(about[i], uses[place[i]], mark[place[i]], all_nodes):
            continue
        of_way[segment], end_place[segment], polyline_end[segment] = way, place[i], point
        segment += 1
        if not about[i] & END:
            begin_place[segment] = place[i]
            points[point, 0], points[point, 1], point_node[point] = lat[i], lon[i], node[i]
            point += 1


@jit
def add_up(first: Ints, steps: Any, length: Any) -> None:
    """Add up the steps within each polyline: `first` has the offset of each one's first point, from the first one's."""
    for line in range(len(length)):
        total = 0.0
        for at in range(first[line] - first[0], first[line + 1] - first[0] - 1):
            total += steps[at]
        length[line] = total
