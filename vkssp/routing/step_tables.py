"""Tables of a graph that its steps are made from: directions, names and kinds of streets."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.geo import directions
from vkssp.routing.lines import StreetLines


class StepArrays(NamedTuple):
    """Arrays that the kernels of steps read, one entry for each arc unless said otherwise.

    Attributes
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc.
    lengths : numpy.ndarray
        Metres.
    side : numpy.ndarray
        Twice the polyline that the arc runs along, plus 1 if it runs from the polyline's end.
    away : numpy.ndarray
        Direction of each polyline at its two ends, shape (2 * num_polylines,); see `vkssp.graph.geo.directions`. An arc
        leaves in the direction ``away[side]``, and turning round at its end leads to ``away[side ^ 1]``.
    name, ref : numpy.ndarray
        Index into the names of streets; 0 if there is none. Equal names have equal indices.
    flags : numpy.ndarray
        1 for a part of a roundabout, 2 for a slip road and 4 for a ferry or train, added up.
    """

    first_out: npt.NDArray[np.uint32]
    lengths: npt.NDArray[Any]
    side: npt.NDArray[np.uint32]
    away: npt.NDArray[np.float64]
    name: npt.NDArray[np.uint32]
    ref: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint8]


class StepTables:
    """Tables of a graph for steps, whatever its weights.

    Parameters
    ----------
    lines : StreetLines
        The streets.

    Attributes
    ----------
    names : tuple of str
        Names and numbers of streets.
    way : numpy.ndarray or None
        OSM way of each arc.
    """

    def __init__(self, lines: StreetLines) -> None:
        self._streets, self._first_out = lines.graph.streets, lines.graph.first_out
        self._polylines, self._lengths = lines.polylines, lines.lengths
        self.names = ("",) if self._streets is None else self._streets.names
        self.way = None if self._streets is None else self._streets.way

    @cached_property
    def arrays(self) -> StepArrays:
        """The arrays for kernels; made when the first steps are asked for."""
        first, points, polyline_of, backward = self._polylines
        none = own(np.zeros(len(polyline_of), np.uint32))
        name = ref = none
        flags = np.zeros(len(polyline_of), np.uint8)
        streets = self._streets
        if streets is not None:
            name, ref = streets.name, none if streets.ref is None else streets.ref
            if len(set(streets.names)) < len(streets.names):
                seen: dict[str, int] = {}
                same = np.array([seen.setdefault(text, at) for at, text in enumerate(streets.names)], np.uint32)
                name, ref = own(same[name]), own(same[ref])
            for bit, mask in enumerate((streets.roundabout, streets.link, streets.carried)):
                if mask is not None:
                    flags |= mask.astype(np.uint8) << bit
        side = own(2 * polyline_of + backward)
        away = own(directions(first, points).reshape(-1))
        return StepArrays(self._first_out, self._lengths, side, away, name, ref, own(flags))
