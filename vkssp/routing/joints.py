"""Joints: places where two streets meet and no third one, so that travellers only go on.

Where nothing about the street changes either, the two are one street to OSRM.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vkssp.routing.lines import Bools, StreetLines

Indices = npt.NDArray[np.int64]


def joints(lines: StreetLines, exists: Bools) -> tuple[Indices, Indices]:
    """Return the ends of the two polylines that meet at each joint, two arrays of shape (k,).

    The end of a polyline is a number: twice that of the polyline, and one more if it is the last point. The street that
    begins there has the same number: streets along polylines have even numbers, those against them odd ones.

    Parameters
    ----------
    lines : StreetLines
        The polylines.
    exists : numpy.ndarray
        Mask of the streets, shape (2 * num_polylines,); polylines without one are left out.
    """
    nodes, junctions = lines.nodes_at_ends, lines.junctions
    place = (nodes if junctions is None else junctions.place[nodes]).reshape(-1).astype(np.int64)
    end = np.flatnonzero(np.repeat(exists.reshape(-1, 2).any(axis=1), 2))
    end = end[np.argsort(place[end], kind="stable")]
    at = place[end]
    first = np.flatnonzero(np.bincount(at)[at] == 2)[::2]
    one, other = end[first], end[first + 1]
    is_loop = one // 2 == other // 2
    return one[~is_loop], other[~is_loop]


def alike(lines: StreetLines, one: Indices, other: Indices, names: Sequence[str]) -> Bools:
    """Return whether the polylines with these ends do not differ in arrays of arcs of `Streets`, as far as known."""
    found, streets = np.ones(len(one), np.bool_), lines.graph.streets
    if streets is None:
        return found
    arc = np.zeros(lines.num_polylines, np.int64)
    arc[lines.polyline_of] = np.arange(lines.graph.num_arcs)
    for name in names:
        values = getattr(streets, name)
        if values is not None:
            found &= values[arc[one // 2]] == values[arc[other // 2]]
    return found


def before_signals(lines: StreetLines) -> Indices:
    """Return for each end of a polyline at signals in the middle of a street the end of the part before the signals.

    To OSRM such a street is one piece, whose parts are in the order in which they were drawn. Of parts that were drawn
    towards each other, or away from each other, either one is before the signals. At other ends it is -1.
    """
    graph, found = lines.graph, np.full(2 * lines.num_polylines, -1, np.int64)
    streets = graph.streets
    if streets is None or streets.turn is None:
        return found
    exists = np.zeros(2 * lines.num_polylines, np.bool_)
    exists[2 * lines.polyline_of.astype(np.int64) + lines.backward] = True
    one, other = joints(lines, exists)
    takes_time = np.zeros(2 * lines.num_polylines, np.bool_)
    takes_time[_beginnings(lines, np.flatnonzero(streets.turn > 0))] = True
    chosen = (takes_time[one] | takes_time[other]) & alike(lines, one, other, ("name", "ref", "mode"))
    one, other = one[chosen], other[chosen]
    # The way leads from the part that ends at the signals to the one that begins there, unless it is one-way backward.
    last = np.where(exists[one & ~1] | exists[other & ~1], 1, 0)
    of_one, of_other = one % 2 == last, other % 2 == last
    found[one] = np.where(of_one == of_other, one, np.where(of_one, one, other))
    found[other] = np.where(of_one == of_other, other, np.where(of_one, one, other))
    return found


def _beginnings(lines: StreetLines, arcs: Indices) -> Indices:
    """Return the ends of polylines at which arcs begin."""
    return 2 * lines.polyline_of[arcs].astype(np.int64) + lines.backward[arcs]
