"""Tables of a graph that its steps are made from: directions, names and kinds of streets."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.graph.geo import directions
from vkssp.routing.lines import StreetLines


class StepArrays(NamedTuple):
    """Arrays that the kernel of steps reads.

    Attributes
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc.
    table : numpy.ndarray
        What is known of each arc, shape (num_arcs, 4), uint32, so that it lies in one line of the processor's cache:
        its side, twice the polyline that it runs along, plus 1 if it runs from the polyline's end; the indices of its
        name and of its number, 0 if there is none, equal if these are equal; and the sum of 1 for a part of a
        roundabout, 2 for a slip road, 4 for a ferry or train, and 8 for an arc without length.
    directions : numpy.ndarray
        Direction in which each arc leaves its tail, and in which one leaves its head that turns round there, shape
        (num_arcs, 2), float32; see `vkssp.graph.geo.directions`.
    """

    first_out: npt.NDArray[np.uint32]
    table: npt.NDArray[np.uint32]
    directions: npt.NDArray[np.float32]


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
        """The arrays for the kernel, 24 bytes for each arc; made for the first steps."""
        first, points, polyline_of, backward = self._polylines
        table = np.zeros((len(polyline_of), 4), np.uint32)
        side, name, ref, flags = table.T
        side[:] = 2 * polyline_of + backward
        flags[self._lengths <= 0] = 8
        streets = self._streets
        if streets is not None:
            seen: dict[str, int] = {}
            same = np.array([seen.setdefault(text, at) for at, text in enumerate(streets.names)], np.uint32)
            name[:] = same[streets.name]
            if streets.ref is not None:
                ref[:] = same[streets.ref]
            for bit, mask in enumerate((streets.roundabout, streets.link, streets.carried)):
                if mask is not None:
                    flags |= mask.astype(np.uint32) << bit
        away = directions(first, points).astype(np.float32).reshape(-1)
        return StepArrays(
            self._first_out,
            own(in_huge_pages(table)),
            own(in_huge_pages(np.stack([away[side], away[side ^ 1]], axis=1))),
        )
