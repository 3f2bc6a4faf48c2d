"""Tables of a graph that its steps are made from: directions, names and kinds of streets."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.graph.geo import directions
from vkssp.routing.lines import StreetLines


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
    def rows(self) -> npt.NDArray[np.uint32]:
        """What is known of each arc, so that it lies in one line of the processor's cache, shape (num_arcs, 8), uint32.

        Its side, twice the polyline that it runs along, plus 1 if it runs from the polyline's end; the indices of its
        name and of its number, 0 if there is none, equal if these are equal; the sum of 1 for a part of a roundabout, 2
        for a slip road, 4 for a ferry or train, and 8 for an arc without length; the first of the arcs that leave its
        tail, and the end of these; and the bits of two float32s, the direction in which it leaves its tail, and in
        which one leaves its head that turns round there; see `vkssp.graph.geo.directions`. Made for the first steps.
        """
        first, points, polyline_of, backward = self._polylines
        table = np.zeros((len(polyline_of), 8), np.uint32)
        side, name, ref, flags = table.T[:4]
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
        degree = np.diff(self._first_out)
        table[:, 4], table[:, 5] = (np.repeat(bound, degree) for bound in (self._first_out[:-1], self._first_out[1:]))
        away = directions(first, points).astype(np.float32).reshape(-1)
        table[:, 6], table[:, 7] = (away[sides].view(np.uint32) for sides in (side, side ^ 1))
        return own(in_huge_pages(table))

    @cached_property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The columns of `rows`, the last two as float32s."""
        return *self.rows.T[:6], *self.rows.view(np.float32).T[6:]
