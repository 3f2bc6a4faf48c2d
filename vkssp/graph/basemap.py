"""Basemap: coast, water, ice and names of places that maps show beside the streets, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief, fixed
from vkssp.checks import dtype_of, shown
from vkssp.errors import GraphError

#: Latitude of the pole and longitude of the date line in 1e-7 degrees.
_LAST = (900_000_000, 1_800_000_000)
#: Kinds of shapes: sea, land in the sea, lakes and wide rivers, glaciers, further rings of the shape before (islands
#: of a lake, or its other parts), and rivers. Rivers are lines, all others are rings.
SEA, LAND, WATER, ICE, RING, RIVER = range(6)
#: Values of the tag ``place`` of which maps show the names, the most important first.
PLACES = ("city", "town", "borough", "suburb", "village", "island", "quarter", "hamlet", "neighbourhood")


@dataclass(frozen=True, eq=False)
class Basemap:
    """Coast, water, ice and names of places.

    Shapes are painted in their order. A shape of the kinds `WATER` or `ICE` consists of its ring and of those of the
    kind `RING` that follow it: what lies within an odd number of them.

    Attributes
    ----------
    kind : numpy.ndarray
        Kind of each ring or line, shape (num_shapes,), uint8.
    first : numpy.ndarray
        Offset of each shape's first point in `points`, shape (num_shapes + 1,), uint32.
    points : numpy.ndarray
        Latitude and longitude in 1e-7 degrees, shape (num_points, 2), int32. The last point of a ring is its first one.
    surrounded : bool
        Whether there is sea wherever no shape says otherwise, as around islands.
    place : numpy.ndarray
        Latitude and longitude of places in 1e-7 degrees, shape (num_places, 2), int32; the most important first.
    place_kind : numpy.ndarray
        Index into ``PLACES`` of each place, shape (num_places,), uint8.
    population : numpy.ndarray
        Number of inhabitants of each place, 0 if unknown, shape (num_places,), uint32.
    place_names : tuple of str
        Names of the places.
    """

    __repr__ = brief

    kind: npt.NDArray[np.uint8]
    first: npt.NDArray[np.uint32]
    points: npt.NDArray[np.int32]
    surrounded: bool
    place: npt.NDArray[np.int32]
    place_kind: npt.NDArray[np.uint8]
    population: npt.NDArray[np.uint32]
    place_names: tuple[str, ...]

    #: Types of all arrays.
    DTYPES: ClassVar[dict[str, type]] = {
        "kind": np.uint8,
        "first": np.uint32,
        "points": np.int32,
        "place": np.int32,
        "place_kind": np.uint8,
        "population": np.uint32,
    }

    def __post_init__(self) -> None:
        """Protect the arrays from changes, and check that they fit each other.

        Raises
        ------
        GraphError
            If they do not.
        """
        for name, dtype in self.DTYPES.items():
            array: Any = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype:
                given = dtype_of(array) if isinstance(array, np.ndarray) else shown(array)
                raise GraphError(f"basemap.{name} is {given}; give an array of dtype {np.dtype(dtype)}")
            object.__setattr__(self, name, fixed(array))
        if not isinstance(self.surrounded, bool):
            raise GraphError(f"basemap.surrounded is {shown(self.surrounded)}; give True or False")
        names = self.place_names
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise GraphError(f"basemap.place_names is {shown(names)}; give a tuple of texts")
        self._check_shapes()
        for name, shape in (("place", (len(names), 2)), ("place_kind", (len(names),)), ("population", (len(names),))):
            if getattr(self, name).shape != shape:
                raise GraphError(
                    f"basemap.{name} has shape {getattr(self, name).shape}; give one entry per name, {shape}"
                )
        if self.place_kind.max(initial=0) >= len(PLACES):
            raise GraphError(f"basemap.place_kind holds {int(self.place_kind.max())}; give 0 to {len(PLACES) - 1}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks."""
        return Basemap, tuple(getattr(self, field.name) for field in fields(self))

    def _check_shapes(self) -> None:
        first, kind = self.first.astype(np.int64), self.kind
        if first.ndim != 1 or kind.ndim != 1 or len(first) != len(kind) + 1:
            raise GraphError("basemap.first must have one entry more than basemap.kind")
        for name in ("points", "place"):
            array = getattr(self, name)
            if array.ndim != 2 or array.shape[1] != 2:
                raise GraphError(f"basemap.{name} has shape {array.shape}; give one row of two numbers per point")
            if len(array) and not ((array.max(axis=0) <= _LAST) & (array.min(axis=0) >= np.negative(_LAST))).all():
                raise GraphError(f"basemap.{name} holds one that is not on the Earth; give 1e-7 degrees north and east")
        if first[0] != 0 or int(first[-1]) != len(self.points):
            raise GraphError("basemap.first must start at 0 and end at the number of points")
        if kind.max(initial=0) > RIVER:
            raise GraphError(f"basemap.kind holds {int(kind.max())}; give 0 to {RIVER}")
        size, is_ring = np.diff(first), kind != RIVER
        if (size < np.where(is_ring, 4, 2)).any():
            raise GraphError("basemap.first gives a line fewer than two points, or a ring fewer than four")
        if (self.points[first[:-1]] != self.points[first[1:] - 1])[is_ring].any():
            raise GraphError("basemap.points ends a ring elsewhere than where it begins")
        further = np.flatnonzero(kind == RING)
        if len(further) and (further[0] == 0 or not np.isin(kind[further - 1], (WATER, ICE, RING)).all()):
            raise GraphError("basemap.kind has a further ring of a shape that has none")
