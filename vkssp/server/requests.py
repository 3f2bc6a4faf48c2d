"""Requests to the services as data, and the checks that hold for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

from vkssp.server.areas import RequestedAreas
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits

#: Annotations of a route, and those of a table.
ROUTE_ANNOTATIONS = ("duration", "nodes", "distance", "weight", "datasources", "speed")
TABLE_ANNOTATIONS = ("duration", "distance")
#: Latitudes and longitudes in degrees.
Places = tuple[tuple[float, float], ...]
#: Most degrees of a bearing, and the largest range around it.
_MOST_BEARING, _MOST_RANGE = 360, 180
#: Most places of a route, and cells of a table, that are short work.
_FEW_PLACES, _FEW_CELLS = 10, 10_000


@dataclass(frozen=True, kw_only=True)
class Network:
    """Streets that a request leaves out.

    Attributes
    ----------
    exclude : tuple of str
        Classes of streets to leave out.
    avoid : RequestedAreas or None
        Areas to avoid.
    """

    exclude: tuple[str, ...] = ()
    avoid: RequestedAreas | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all streets are there, with their own weights."""
        return not self.exclude and self.avoid is None

    def check_network(self, limits: Limits) -> None:
        """Raise `RequestError` if the areas are beyond limits."""
        if self.avoid is not None:
            self.avoid.check(limits)


@dataclass(frozen=True, kw_only=True)
class Measured(Network):
    """Streets that a request leaves out, and the metric that its routes minimize.

    Attributes
    ----------
    metric : str or None
        "duration", "distance" or "weight"; None for that of the graph, its weights.
    """

    metric: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all streets are there, with their own weights."""
        return super().is_whole and self.metric is None


@dataclass(frozen=True, kw_only=True)
class OwnRequest(Network):
    """Request to a service that OSRM does not have.

    Attributes
    ----------
    metric : str
        "duration", "distance" or "weight", which routes minimize.
    reverse : bool
        Whether trips lead to the places from which they lead otherwise.
    """

    SERVICE: ClassVar[str]

    metric: str = "duration"
    reverse: bool = False

    def is_short(self) -> bool:
        """Return false."""
        return False

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        raise NotImplementedError


def check_places(origins: Places, opportunities: Places, limits: Limits) -> None:
    """Raise `RequestError` unless there are origins and opportunities, within limits and on the Earth."""
    for name, places, most in (
        ("origins", origins, limits.origins),
        ("opportunities", opportunities, limits.opportunities),
    ):
        if not places:
            raise RequestError("InvalidOptions", f"There are no {name}; give at least one.")
        if _is_more(len(places), most):
            told = f"Number of {name} {len(places)} is higher than current maximum ({most})"
            raise RequestError("TooBig", told)
        _check_coordinates(places)


@dataclass(frozen=True)
class Request(Network):
    """Request to a service.

    Attributes
    ----------
    coordinates : tuple of (float, float)
        Latitude and longitude in degrees.
    bearings, radiuses, hints, approaches : sequence or None
        One entry for each coordinate, None where nothing is asked for: the bearing and its range in degrees, metres,
        the hint of an earlier answer, and the side of the street.
    generate_hints, skip_waypoints : bool
        Whether waypoints get hints, and whether they are left out.
    snapping : str
        "default", or "any" for streets on which the profile lets no trip begin as well.
    format : str
        "json" or "flatbuffers".
    """

    SERVICE: ClassVar[str]
    LEAST_COORDINATES: ClassVar[int] = 2

    coordinates: Places
    bearings: Sequence[tuple[int, int] | None] | None = None
    radiuses: Sequence[float | None] | None = None
    hints: Sequence[str | None] | None = None
    approaches: Sequence[str | None] | None = None
    generate_hints: bool = True
    skip_waypoints: bool = False
    snapping: str = "default"
    format: str = "json"

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        count = len(self.coordinates)
        if count < self.LEAST_COORDINATES:
            raise RequestError("InvalidOptions", "Number of coordinates needs to be at least two.")
        for name in ("hints", "bearings", "radiuses", "approaches"):
            values = getattr(self, name)
            if values is not None and len(values) != count:
                raise _unequal(name, len(values), count)
        for bearing, around in filter(None, self.bearings or ()):
            if not (0 <= bearing <= _MOST_BEARING and 0 <= around <= _MOST_RANGE):
                raise RequestError(
                    "InvalidOptions", f"Bearings are 0 to {_MOST_BEARING} degrees, their ranges 0 to {_MOST_RANGE}."
                )
        self._check_own(limits)
        self.check_network(limits)
        _check_coordinates(self.coordinates)
        self._check_values()

    def is_short(self) -> bool:
        """Return whether an answer takes some milliseconds at most, with a hierarchy."""
        return False

    def _check_own(self, limits: Limits) -> None:
        """Check what only this service has."""

    def _check_values(self) -> None:
        """Check what only this service has, after the coordinates."""

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of the parameters."""
        return frozenset(field.name for field in fields(cls)) - {"coordinates", "format"}


def _check_coordinates(places: Places) -> None:
    for lat, lon in places:
        if abs(lat) > 90.0 or abs(lon) > 180.0:
            raise RequestError("InvalidValue", "Invalid coordinate value.")


def _unequal(name: str, count: int, coordinates: int) -> RequestError:
    told = f"Number of elements in {name} size {count} does not match coordinate size {coordinates}"
    return RequestError("InvalidOptions", told)


def _check_indices(name: str, indices: Sequence[int], count: int) -> None:
    if any(index >= count for index in indices):
        raise RequestError("InvalidOptions", f"{name} has an index that is not below {count}.")


def _check_waypoints(waypoints: Sequence[int] | None, count: int) -> None:
    if waypoints is not None:
        _check_indices("waypoints", waypoints, count)


def in_order(waypoints: Sequence[int] | None) -> list[int] | None:
    """Return the numbers of waypoints in ascending order, each once; None for None."""
    return None if waypoints is None else sorted(set(waypoints))


def _check_ends(waypoints: Sequence[int] | None, count: int) -> None:
    if waypoints is not None and (waypoints[0] != 0 or waypoints[-1] != count - 1):
        raise RequestError("InvalidValue", "First and last coordinates must be specified as waypoints.")


def _is_more(count: float, limit: float) -> bool:
    return 0 <= limit < count


@dataclass(frozen=True)
class Shown:
    """How routes are shown.

    Attributes
    ----------
    steps : bool
        Whether legs have steps.
    annotations : tuple of str
        Annotations of legs, some of `ROUTE_ANNOTATIONS`.
    geometries : str
        "polyline", "polyline6" or "geojson".
    overview : str
        "simplified", "full", "by_legs" or "false".
    """

    steps: bool = False
    annotations: tuple[str, ...] = ()
    geometries: str = "polyline"
    overview: str = "simplified"


@dataclass(frozen=True)
class NearestRequest(Request):
    """Request for the nearest streets.

    Attributes
    ----------
    number : int
        Number of streets.
    """

    SERVICE = "nearest"
    LEAST_COORDINATES = 1

    number: int = 1

    def is_short(self) -> bool:
        """Return true."""
        return True

    def _check_own(self, limits: Limits) -> None:
        if self.number < 1:
            raise RequestError("InvalidOptions", "number is 0; give 1 or more.")
        if _is_more(self.number, limits.nearest):
            told = f"Number of results {self.number} is higher than current maximum ({limits.nearest})"
            raise RequestError("TooBig", told)
        if _is_more(len(self.coordinates), limits.nearest_coordinates):
            most, count = limits.nearest_coordinates, len(self.coordinates)
            raise RequestError("TooBig", f"Number of coordinates {count} is higher than current maximum ({most})")


@dataclass(frozen=True)
class RouteRequest(Shown, Measured, Request):
    """Request for a route.

    Attributes
    ----------
    alternatives : int
        Number of alternatives.
    continue_straight : bool or None
        Whether the route goes on straight at waypoints; None for the default of the profile.
    waypoints : tuple of int or None
        Coordinates that are waypoints; the others only shape the route.
    """

    SERVICE = "route"

    alternatives: int = 0
    continue_straight: bool | None = None
    waypoints: tuple[int, ...] | None = None

    def is_short(self) -> bool:
        """Return whether the request is for one route through few places."""
        return self.alternatives == 0 and self.is_whole and len(self.coordinates) <= _FEW_PLACES

    def _check_own(self, limits: Limits) -> None:
        count = len(self.coordinates)
        _check_waypoints(self.waypoints, count)
        if _is_more(count, limits.coordinates):
            told = f"Number of entries {count} is higher than current maximum ({limits.coordinates})"
            raise RequestError("TooBig", told)
        if _is_more(self.alternatives, limits.alternatives):
            most = limits.alternatives
            told = f"Requested number of alternatives is higher than current maximum ({most})"
            raise RequestError("TooBig", told)

    def _check_values(self) -> None:
        _check_ends(self.waypoints, len(self.coordinates))


@dataclass(frozen=True)
class TableRequest(Measured, Request):
    """Request for a table.

    Attributes
    ----------
    sources, destinations : tuple of int or None
        Coordinates that are sources and destinations; None for all.
    annotations : tuple of str
        Some of `TABLE_ANNOTATIONS`.
    fallback_speed : float or None
        Metres per second of a straight line where no route leads.
    fallback_coordinate : str
        "input" or "snapped", the ends of that line.
    scale_factor : float
        Factor of durations.
    """

    SERVICE = "table"

    sources: tuple[int, ...] | None = None
    destinations: tuple[int, ...] | None = None
    annotations: tuple[str, ...] = ("duration",)
    fallback_speed: float | None = None
    fallback_coordinate: str = "input"
    scale_factor: float = 1.0

    def is_short(self) -> bool:
        """Return whether the table has few cells."""
        sides = [len(self.coordinates if one is None else one) for one in (self.sources, self.destinations)]
        return self.is_whole and sides[0] * sides[1] < _FEW_CELLS

    def _check_own(self, limits: Limits) -> None:
        count = len(self.coordinates)
        _check_indices("sources", self.sources or (), count)
        _check_indices("destinations", self.destinations or (), count)
        if self.fallback_speed is not None and self.fallback_speed <= 0:
            raise RequestError("InvalidOptions", "fallback_speed must be > 0")
        if self.scale_factor <= 0:
            raise RequestError("InvalidOptions", "scale_factor must be > 0")
        rows = count if self.sources is None else len(self.sources)
        columns = count if self.destinations is None else len(self.destinations)
        if limits.table >= 0 and rows * columns > limits.table**2:
            raise RequestError("TooBig", "Too many table coordinates")


@dataclass(frozen=True)
class MatchRequest(Shown, Request):
    """Request to match a trace.

    Attributes
    ----------
    timestamps : tuple of int or None
        Seconds since 1970, one for each coordinate.
    gaps : str
        "split" where the trace has gaps, or "ignore".
    tidy : bool
        Whether points that add nothing are left out.
    waypoints : tuple of int or None
        Coordinates at which legs end; all by default.
    """

    SERVICE = "match"

    timestamps: tuple[int, ...] | None = None
    gaps: str = "split"
    tidy: bool = False
    waypoints: tuple[int, ...] | None = None

    def _check_own(self, limits: Limits) -> None:
        count = len(self.coordinates)
        _check_waypoints(self.waypoints, count)
        if self.timestamps is not None and len(self.timestamps) != count:
            raise _unequal("timestamps", len(self.timestamps), count)
        if _is_more(count, limits.matching):
            raise RequestError("TooBig", "Too many trace coordinates")
        if limits.matching_radius_m >= 0 and self.radiuses is not None:
            # A radius that is not given has a default; an unlimited one is infinite.
            if any(radius is not None and radius > limits.matching_radius_m for radius in self.radiuses):
                raise RequestError("TooBig", "Radius search size is too large for map matching.")

    def _check_values(self) -> None:
        _check_ends(in_order(self.waypoints), len(self.coordinates))
        if any(after < before for before, after in pairwise(self.timestamps or ())):
            raise RequestError("InvalidValue", "Timestamps need to be monotonically increasing.")


@dataclass(frozen=True)
class TripRequest(Shown, Measured, Request):
    """Request for a trip.

    Attributes
    ----------
    source, destination : str
        "any", or "first" for the source and "last" for the destination.
    roundtrip : bool
        Whether the trip returns to its source.
    waypoints : tuple of int or None
        Accepted without effect.
    """

    SERVICE = "trip"

    source: str = "any"
    destination: str = "any"
    roundtrip: bool = True
    waypoints: tuple[int, ...] | None = None

    def _check_own(self, limits: Limits) -> None:
        _check_waypoints(self.waypoints, len(self.coordinates))
        if _is_more(len(self.coordinates), limits.trip):
            raise RequestError("TooBig", "Too many trip coordinates")


@dataclass(frozen=True)
class TileRequest:
    """Request for a vector tile.

    Attributes
    ----------
    x, y, zoom : int
        Number of the tile.
    """

    SERVICE: ClassVar[str] = "tile"

    x: int
    y: int
    zoom: int

    def is_short(self) -> bool:
        """Return false."""
        return False

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless there is such a tile."""
        if not (12 <= self.zoom <= 19 and max(self.x, self.y) < 2**self.zoom):
            raise RequestError("InvalidOptions", "Invalid coodinates. Only zoomlevel 12+ is supported")


#: Requests with coordinates, by the names of the services.
REQUESTS: dict[str, type[Any]] = {
    kind.SERVICE: kind for kind in (RouteRequest, NearestRequest, TableRequest, MatchRequest, TripRequest)
}
