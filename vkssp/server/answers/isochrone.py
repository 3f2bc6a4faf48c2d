"""Answers of the service ``isochrone``, which OSRM does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
import shapely

from vkssp.choices import DEFAULT_WIDTH_M
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits

#: Seconds of a minute; most places of one request.
_MINUTE_S = 60.0


@dataclass(frozen=True)
class IsochroneRequest:
    """Request for isochrones.

    Attributes
    ----------
    coordinates : tuple of (float, float)
        Latitude and longitude in degrees.
    minutes : tuple of float
        Limits.
    width_m : float
        Metres to either side of a road that are part of the area.
    reverse : bool
        Whether trips end at the place.
    """

    SERVICE: ClassVar[str] = "isochrone"

    coordinates: tuple[tuple[float, float], ...]
    minutes: tuple[float, ...]
    width_m: float = DEFAULT_WIDTH_M
    reverse: bool = False

    def is_short(self) -> bool:
        """Return false."""
        return False

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        if len(self.coordinates) != 1:
            raise RequestError("InvalidOptions", f"There are {len(self.coordinates)} places; give one.")
        if not self.minutes or not all(0 < minutes < 1e6 for minutes in self.minutes):
            raise RequestError("InvalidOptions", "contours_minutes is empty, or not more than 0.")
        if 0 <= limits.contours < len(self.minutes):
            told = f"Number of contours {len(self.minutes)} is higher than current maximum ({limits.contours})"
            raise RequestError("TooBig", told)
        if 0 <= limits.contour_minutes < max(self.minutes):
            told = f"A contour of {max(self.minutes):g} minutes is beyond the maximum ({limits.contour_minutes:g})"
            raise RequestError("TooBig", told)
        if not 1 <= self.width_m <= 10_000:
            raise RequestError("InvalidOptions", "width is not from 1 to 10,000 metres.")


def isochrone(dataset: Dataset, request: IsochroneRequest) -> dict[str, Any]:
    """Return a collection of GeoJSON features, the largest area first."""
    seconds = [_MINUTE_S * minutes for minutes in request.minutes]
    found = dataset.router.isochrones(request.coordinates[0], seconds, request.width_m, reverse=request.reverse)
    features = []
    for one in reversed(found):
        area = one.area.geoms[0] if len(one.area.geoms) == 1 else one.area
        contour = None if one.seconds is None else one.seconds / _MINUTE_S
        properties = {"contour": contour, "metric": "time", "road_m": one.road_m}
        # Written by shapely at once: as objects of Python the rounded coordinates take as long as the search.
        geometry = orjson.Fragment(shapely.to_geojson(area))
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "features": features}
