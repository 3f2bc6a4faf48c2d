"""How far one gets along streets: when one is at the beginning of each, and how much of it is open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import first_arcs, part_weight
from vkssp.routing.snap import StreetIndex

#: When one is where no way leads: later than anything.
NEVER = 1 << 62


class Begun(NamedTuple):
    """A street that the way begins on, from a point on it in one direction.

    `low` and `high` are the parts of its polyline between which it runs, `rises` whether it begins at the lower one,
    and `weight` is that of all of it.
    """

    polyline: int
    low: float
    high: float
    rises: bool
    weight: int


def begun_streets(index: StreetIndex, snap: Snap) -> list[Begun]:
    """Return the streets that a way begins on at a point, as far as no area to avoid is in the way."""
    begun = set()
    for arc, at in first_arcs(index, snap):
        part = 1.0 - at
        if not index.is_open(arc, start := snap if at > 0.0 else None):
            assert index.avoided is not None
            part *= index.avoided.free_part(index.piece(arc, start))
        rises = not bool(index.backward[arc])
        span = (at, at + part) if rises else (1.0 - at - part, 1.0 - at)
        begun.add(Begun(int(index.polyline_of[arc]), *span, rises, part_weight(index, arc, part)))
    return sorted(begun)


def entered_at(index: StreetIndex, distances: Uint32s) -> tuple[npt.NDArray[np.int64], Uint32s]:
    """Return when one has turned into each arc, and what it takes to travel all of it from there.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    distances : numpy.ndarray
        Distance of each node, UNREACHABLE where no way leads, shape (num_nodes,), uint32.

    Returns
    -------
    entered : numpy.ndarray
        Weight of the way up to there, `NEVER` where none leads, and for ferries: nobody gets off in the middle of the
        sea; shape (num_arcs,), int64.
    weight : numpy.ndarray
        Weight of the arc without the turn into it, in which one does not get on; shape (num_arcs,), uint32.
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
    """Return how much of each arc is before the first area to avoid, shape (num_arcs,)."""
    assert index.avoided is not None
    part = np.ones(index.graph.num_arcs)
    touched = np.flatnonzero(index.avoided.touched[index.polyline_of])
    # Several arcs may run along a street in the same direction.
    sides = index.polyline_of[touched].astype(np.int64) * 2 + index.backward[touched]
    _, one, which = np.unique(sides, return_index=True, return_inverse=True)
    free = [index.avoided.free_part(index.piece(arc)) for arc in touched[one].tolist()]
    part[touched] = np.array(free, np.float64)[which]
    return part
