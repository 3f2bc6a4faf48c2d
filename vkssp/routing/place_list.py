"""Many places without conditions, as an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from vkssp.features.places import LatLon


class PlaceList(Sequence[LatLon]):
    """Places, each a pair of latitude and longitude, which is made when it is asked for.

    Attributes
    ----------
    array : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2), float64.
    """

    def __init__(self, array: npt.NDArray[np.float64]) -> None:
        self.array = array

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.array)

    @overload
    def __getitem__(self, number: int) -> LatLon: ...
    @overload
    def __getitem__(self, number: slice) -> PlaceList: ...
    def __getitem__(self, number: int | slice) -> LatLon | PlaceList:
        """Return a place, or some places."""
        if isinstance(number, slice):
            return PlaceList(self.array[number])
        lat, lon = self.array[number].tolist()
        return lat, lon
