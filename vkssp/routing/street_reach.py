"""Reach along streets: the weight at which each arc is entered, and the part of each arc that is open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import first_arcs, part_weight
from vkssp.routing.snap import StreetIndex

#: Weight that stands for no path; greater than any other weight.
NEVER = 1 << 62


class Begun(NamedTuple):
    """Part of a street on which paths begin, from a point on it in one direction.

    `low` and `high` are its bounds as parts of the polyline, `rises` says whether paths begin at the lower bound, and
    `weight` is the weight of the whole part.
    """

    polyline: int
    low: float
    high: float
    rises: bool
    weight: int


def begun_streets(index: StreetIndex, snap: Snap) -> list[Begun]:
    """Return the parts of streets on which paths from a point begin, up to the first area to avoid."""
    begun = set()
    for arc, at in first_arcs(index, snap):
        part = 1.0 - at
        if not index.is_open(arc, start := snap if at > 0.0 else None):
            assert index.avoided is not None
            part *= index.avoided.free_part(index.piece(arc, start))
        rises = not bool(index.backward[arc])
        span = (at, at + part) if rises else (1.0 - at - part, 1.0 - at)
        begun.add(Begun(int(index.polyline_of[arc]), *span, rises, part_weight(index.graph, arc, part)))
    return sorted(begun)


def entered_at(index: StreetIndex, distances: Uint32s) -> tuple[npt.NDArray[np.int64], Uint32s]:
    """Return the weight of the path up to and into each arc, and the weight of travelling the whole arc from there.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    distances : numpy.ndarray
        Distance of each node, UNREACHABLE if no path leads there, shape (num_nodes,), uint32.

    Returns
    -------
    entered : numpy.ndarray
        Weight of the path up to the arc, with the turn into it. `NEVER` if no path leads there, and for ferries, since
        a trip cannot end in the middle of the sea; shape (num_arcs,), int64.
    weight : numpy.ndarray
        Weight of the arc without the turn into it, which covers no length; shape (num_arcs,), uint32.
    """
    graph = index.graph
    entered = np.repeat(distances, np.diff(graph.first_out)).astype(np.int64)
    entered[entered == UNREACHABLE] = NEVER
    if graph.streets is None:
        return entered, graph.weight
    weight = graph.streets.without_turns(graph.weight)
    entered += graph.weight - weight
    entered[graph.streets.carried] = NEVER
    return entered, weight


def open_parts(index: StreetIndex) -> npt.NDArray[np.float64]:
    """Return the part of each arc before the first area to avoid, shape (num_arcs,)."""
    assert index.avoided is not None
    part = np.ones(index.graph.num_arcs)
    touched = np.flatnonzero(index.avoided.touched[index.polyline_of])
    # Several arcs may run along a street in the same direction.
    sides = index.polyline_of[touched].astype(np.int64) * 2 + index.backward[touched]
    _, one, which = np.unique(sides, return_index=True, return_inverse=True)
    free = [index.avoided.free_part(index.piece(arc)) for arc in touched[one].tolist()]
    part[touched] = np.array(free, np.float64)[which]
    return part
