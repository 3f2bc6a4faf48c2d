"""Points on streets as arrays, because thousands of objects take longer to make than the points to be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from vkssp.routing.lines import Snap

Indices = npt.NDArray[np.int64]
#: Makes the point of a row of the arrays that were found.
Make = Callable[[int], Snap]
_NONE = Snap(-1, 0.5, 0, 0.0, 0.0, 0.0)
_COLUMNS = ("polyline", "fraction", "segment", "lat", "lon", "share", "is_inside", "has_arcs")


class Snaps(Sequence["Snap | None"]):
    """Points on streets, each a `Snap`, which is made when it is asked for, or None.

    Parameters
    ----------
    columns : sequence of numpy.ndarray
        The attributes from `polyline` to `share`.
    make : callable
        Makes the point of a row.

    Attributes
    ----------
    polyline, segment : numpy.ndarray
        As in `Snap`, int64; the polyline of no point is -1.
    fraction, lat, lon, share : numpy.ndarray
        As in `Snap`, float64; the fraction of no point is 0.5.
    is_inside, has_arcs : numpy.ndarray
        Whether each point is inside an open area, and whether conditions rule out arcs, bool.
    """

    def __init__(self, columns: Sequence[npt.NDArray[Any]], make: Make) -> None:
        self.polyline, self.fraction, self.segment, self.lat, self.lon, self.share = columns
        self.is_inside, self.has_arcs = np.zeros((2, len(self.polyline)), np.bool_)
        self._rows = np.arange(len(self.polyline))  # what `make` takes
        self._make, self._known = make, dict[int, Snap | None]()

    @classmethod
    def of(cls, snaps: Sequence[Snap | None]) -> Snaps:
        """Return points, as they are if they have arrays."""
        if isinstance(snaps, Snaps):
            return snaps
        rows = [_NONE if snap is None else snap for snap in snaps]
        types = (np.int64, np.float64, np.int64, np.float64, np.float64, np.float64)
        names = zip(_COLUMNS, types, strict=False)
        columns = [np.array([getattr(one, name) for one in rows], dtype) for name, dtype in names]
        found = cls(columns, rows.__getitem__)
        found.is_inside = np.array([one.inside is not None for one in rows], np.bool_)
        found.has_arcs = np.array([one.arcs is not None for one in rows], np.bool_)
        found._known = dict(enumerate(snaps))
        return found

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.polyline)

    @overload
    def __getitem__(self, number: int) -> Snap | None: ...
    @overload
    def __getitem__(self, number: slice) -> Snaps: ...
    def __getitem__(self, number: int | slice) -> Snap | Snaps | None:
        """Return a point, or some points."""
        if isinstance(number, slice):
            found = self._like(lambda values: values[number].copy())
            if self._known:
                rows = range(len(self))[number]
                found._known = {at: self._known[row] for at, row in enumerate(rows) if row in self._known}
            return found
        number = range(len(self))[number]
        if number not in self._known:
            self._known[number] = None if self.polyline[number] < 0 else self._make(int(self._rows[number]))
        return self._known[number]

    def at(self, number: int) -> Snap:
        """Return a point that is known not to be None."""
        found = self[number]
        assert found is not None
        return found

    def take(self, numbers: Indices) -> Snaps:
        """Return the points with some numbers."""
        found = self._like(lambda values: values[numbers])
        if self._known:
            rows = zip(range(len(numbers)), numbers.tolist(), strict=True)
            found._known = {row: self._known[number] for row, number in rows if number in self._known}
        return found

    def halves(self) -> tuple[Snaps, Snaps]:
        """Return the first and the second half of the points, which share arrays with them; these are given up."""
        count, kind = len(self) // 2, type(self)
        first, second = object.__new__(kind), object.__new__(kind)
        for name in (*_COLUMNS, "_rows"):
            values = getattr(self, name)
            first.__dict__[name], second.__dict__[name] = values[:count], values[count:]
        first._make = second._make = self._make
        first._known, second._known = {}, {}
        for row, snap in self._known.items():
            (first if row < count else second)._known[row % count] = snap
        return first, second

    def without(self, is_dropped: npt.NDArray[np.bool_]) -> Snaps:
        """Return the points with None in place of some of them."""
        found = self.copy()
        found.polyline[is_dropped], found.fraction[is_dropped] = -1, 0.5
        found.is_inside[is_dropped] = found.has_arcs[is_dropped] = False
        found._known |= dict.fromkeys(np.flatnonzero(is_dropped).tolist())
        return found

    def copy(self) -> Snaps:
        """Return a copy, to which other points may be put."""
        found = self._like(lambda values: values.copy())
        found._known = dict(self._known)
        return found

    def put(self, number: int, snap: Snap) -> None:
        """Replace a point."""
        self._known[number] = snap
        for name in _COLUMNS[:6]:
            getattr(self, name)[number] = getattr(snap, name)
        self.is_inside[number], self.has_arcs[number] = snap.inside is not None, snap.arcs is not None

    def _like(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Self:
        found = object.__new__(type(self))
        for name in (*_COLUMNS, "_rows"):
            setattr(found, name, change(getattr(self, name)))
        found._make, found._known = self._make, {}
        return found
