"""Answers of the service ``isochrone``, which OSRM does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkssp.choices import DEFAULT_WIDTH_M
from vkssp.server.answers.places import router_of
from vkssp.server.answers.polygons import polygons
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.requests import OwnRequest, Places

#: Units of contours in the unit of limits, such as seconds of a minute, by metrics; what answers call the metrics.
_UNITS = {"duration": 60.0, "distance": 1.0, "weight": 1.0}
_NAMES = {"duration": "time", "distance": "distance", "weight": "weight"}
#: Largest contour in metres for a minute of the limit: 3 km/min are 180 km/h.
_METRES_OF_MINUTE = 3000.0


@dataclass(frozen=True)
class IsochroneRequest(OwnRequest):
    """Request for isochrones.

    Attributes
    ----------
    coordinates : tuple of (float, float)
        Latitude and longitude in degrees.
    contours : tuple of float
        Limits: minutes, metres or weights, by the metric.
    width_m : float
        Metres to either side of a road that are part of the area.
    unit : float
        What the answer calls 1: such as 1000 for contours of metres that it tells in kilometres.
    """

    SERVICE = "isochrone"

    coordinates: Places
    contours: tuple[float, ...]
    width_m: float = DEFAULT_WIDTH_M
    unit: float = 1.0

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        if len(self.coordinates) != 1:
            raise RequestError("InvalidOptions", f"There are {len(self.coordinates)} places; give one.")
        if not self.contours or not all(0 < contour < 1e6 for contour in self.contours):
            told = "There are no contours, or some are not more than 0; give contours_minutes, such as 5,10."
            raise RequestError("InvalidOptions", told)
        if 0 <= limits.contours < len(self.contours):
            told = f"Number of contours {len(self.contours)} is higher than current maximum ({limits.contours})"
            raise RequestError("TooBig", told)
        largest, is_long = max(self.contours), self.metric == "distance"
        most = limits.contour_minutes * (_METRES_OF_MINUTE if is_long else 1.0)
        if self.metric != "weight" and 0 <= most < largest:
            what = "metres" if is_long else "minutes"
            raise RequestError("TooBig", f"A contour of {largest:g} {what} is beyond the maximum ({most:g})")
        if not 1 <= self.width_m <= 10_000:
            raise RequestError("InvalidOptions", "width is not from 1 to 10,000 metres.")
        self.check_network(limits)


def isochrone(dataset: Dataset, request: IsochroneRequest) -> dict[str, Any]:
    """Return a collection of GeoJSON features, the largest area first."""
    router, unit = router_of(dataset, request), _UNITS[request.metric]
    limits = [unit * contour for contour in request.contours]
    found = router.isochrones(request.coordinates[0], limits, request.width_m, reverse=request.reverse)
    features = []
    for one in reversed(found):
        # In the units of the request: weights that are durations or distances are told as those.
        limit = next(told for told in (one.seconds, one.metres, one.limit) if told is not None)
        properties = {"contour": limit / unit / request.unit, "metric": _NAMES[request.metric], "road_m": one.road_m}
        features.append({"type": "Feature", "properties": properties, "geometry": polygons(one.area)})
    return {"type": "FeatureCollection", "features": features}
