"""Units of weights and distances: between the caller's numbers and the whole numbers that searches add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import Error, column_of, dtype_of, number_of, shown, whole_number, whole_numbers
from vkssp.errors import DistanceOverflowError, GraphError, QueryError
from vkssp.graph.csr import UNREACHABLE, Floats
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType, unreachable_in

#: Largest weight, and largest distance of 32 bits, in units.
MOST_UNITS = UNREACHABLE - 1
#: Largest unit, so that no distance passes the largest float.
MOST_SCALE = float(np.finfo(np.float64).max) / UNREACHABLE
# A quotient that differs from a whole number by a smaller part is this number, rounded.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
# Reciprocals of larger whole numbers are not told from other units.
_MOST_PARTS = 2.0**52


@dataclass(frozen=True)
class Units:
    """Conversion between weights and distances of the caller and those in whole units.

    Attributes
    ----------
    scale : float or None
        The caller's units for one whole unit; None if the caller's weights are whole numbers, which stay as they are.
    distance_type : DistanceType
        Type of distances in whole units.
    """

    scale: float | None = None
    distance_type: DistanceType = BITS_32

    def typed(self, distance_type: DistanceType) -> Units:
        """Return the units for distances of a type."""
        return self if distance_type is self.distance_type else replace(self, distance_type=distance_type)

    @cached_property
    def _parts(self) -> float | None:
        """Number of units for 1 of the caller's, if that is whole: a quotient is rounded once, and 3 of 0.1 are 0.3."""
        if self.scale is None or not 1.0 / _MOST_PARTS < self.scale < 1.0:
            return None
        parts = float(np.rint(1.0 / self.scale))
        return parts if 1.0 / parts == self.scale else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of distances for the caller: float64, or that of the whole numbers."""
        return self.distance_type.dtype if self.scale is None else np.dtype(np.float64)

    def sums(self, whole: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return sums of weights, in units, as the caller's numbers: float64, or as they are for whole numbers."""
        if self.scale is None:
            return whole
        found: Floats = whole.astype(np.float64)
        if self._parts is None:
            found *= self.scale
        else:
            found /= self._parts
        return found

    def values(self, whole: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return distances as the caller's numbers: float64, infinite where no path leads; or whole as they are."""
        if self.scale is None:
            return whole
        found = self.sums(whole)
        found[whole == unreachable_in(whole)] = np.inf
        return found

    def value(self, whole: int) -> Any:
        """Return a distance as the caller's number: a float, infinite where no path leads, or the whole number."""
        if self.scale is None:
            return whole
        if whole == self.distance_type.unreachable:
            return math.inf
        return whole * self.scale if self._parts is None else whole / self._parts

    def whole(self, values: npt.NDArray[Any]) -> Floats:
        """Return the caller's numbers in units, not rounded, float64; infinite if they pass the largest float."""
        assert self.scale is not None
        with np.errstate(over="ignore"):
            found: Floats = values / self.scale if self._parts is None else values * self._parts
        return found

    def limit(self, limit: Any, name: str = "limit") -> int:
        """Return the largest distance, in units, that is at most a limit, or that of unreachable nodes if all are.

        The limit None is none.

        Raises
        ------
        QueryError
            If the limit is no distance.
        """
        unreachable = self.distance_type.unreachable
        if limit is None:
            return unreachable
        if self.scale is None:
            most = unreachable - 1
            return whole_number(limit, name, 0, most, f"give a weight, 0 to {most}, or leave it out")
        number = number_of(limit)
        if number is None or not number >= 0:
            raise QueryError(f"{name} is {shown(limit)}; give a distance, a number from 0 on, or leave it out")
        units = float(self.whole(np.array([number]))[0])
        if units >= unreachable:
            return unreachable
        near = round(units)
        return near if abs(near - units) <= _ROUNDING * units else math.floor(units)

    def offsets(self, offsets: npt.ArrayLike, name: str) -> Distances:
        """Return weights that are added to those of a path, in units, rounded to the nearest, of the type of distances.

        Raises
        ------
        QueryError
            If one is no weight.
        DistanceOverflowError
            If one does not fit into the bits of distances.
        """
        unreachable, dtype = self.distance_type.unreachable, self.distance_type.dtype
        if self.scale is None:
            return whole_numbers(offsets, name, "weights", unreachable - 1, QueryError, dtype)
        units = np.rint(self.whole(real_weights(offsets, name, QueryError)))
        if float(units.max(initial=0.0)) >= unreachable:
            bits = self.distance_type.bits
            raise DistanceOverflowError(f"{name} has a weight of more than 2**{bits} - 2 units of {self.scale:g}")
        found: Distances = units.astype(dtype)
        return found


def real_weights(weights: npt.ArrayLike, name: str, error: Error = GraphError) -> Floats:
    """Return weights as float64, not copied if they are of this type, or raise an error that names an invalid entry."""
    array = column_of(weights, name, "weights", error)
    if array.size == 0:
        return np.zeros(0)
    if array.dtype.kind == "O":  # decimals, fractions, or numbers of several types
        numbers = [number_of(value) for value in array.tolist()]
        if None in numbers:
            raise error(f"{name}[{numbers.index(None)}] is {shown(array[numbers.index(None)])}; give numbers")
        array = np.array(numbers, np.float64)
    if array.dtype.kind not in "iuf":
        raise error(f"{name} has dtype {dtype_of(array)}; give numbers, such as np.asarray({name}, float)")
    with np.errstate(over="ignore"):  # longer floats; infinity is refused
        found: Floats = array.astype(np.float64, copy=False)
    least, most = float(found.min()), float(found.max())  # NaN if there is one
    if least >= 0 and most < math.inf:
        return found
    at = int(np.argmax(~((found >= 0) & (found < math.inf))))
    if found[at] < 0:
        raise error(f"{name}[{at}] is {found[at]}; weights must not be negative: add up costs of 0 and more only")
    raise error(f"{name}[{at}] is {found[at]}; give finite weights, and leave out arcs that cannot be used")
