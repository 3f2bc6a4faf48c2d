"""The time at a place: time zones by name, or as regions of a GeoJSON file."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from vkssp.checks import shown
from vkssp.errors import FormatError, QueryError

Ring = npt.NDArray[np.float64]


class Clock:
    """Clock that shows the local time of one moment at every place.

    Parameters
    ----------
    at : datetime, int or float
        The moment: a local time everywhere if it is a datetime without a time zone, else a point in time, of numbers in
        seconds since 1970 in UTC.
    time_zone : str or Path, optional
        Name of a time zone, such as ``Europe/Berlin``, or a GeoJSON file of regions with such names in the property
        ``TZID``. By default that of `at`, UTC for a number.

    Raises
    ------
    FormatError
        If the file of time zones is missing or damaged.
    QueryError
        If an argument is invalid.
    """

    def __init__(self, at: datetime | float, time_zone: str | Path | None = None) -> None:
        self._zones: list[tuple[list[Ring], tzinfo]] = []
        self._zone: tzinfo | None = None
        if isinstance(at, datetime):
            self._moment = at
        elif isinstance(at, bool) or not isinstance(at, int | float):
            raise QueryError(f"at is {shown(at)}; give a datetime, or seconds since 1970 in UTC")
        else:
            try:
                self._moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
            except (OverflowError, ValueError) as error:
                raise QueryError(f"at is {shown(at)} s, which is beyond the calendar") from error
        if time_zone is None:
            return
        if self._moment.tzinfo is None:
            raise QueryError("at has no time zone, so that it is a local time everywhere; leave time_zone out")
        if isinstance(time_zone, Path) or str(time_zone).endswith((".geojson", ".json")):
            self._zones = _read_zones(Path(time_zone))
        else:
            self._zone = _named(time_zone)

    def at(self, lat: float, lon: float) -> datetime | None:
        """Return the local time at a place in degrees, None if it is in none of the regions."""
        if self._zones:
            zone = next((zone for rings, zone in self._zones if _inside(rings, lat, lon)), None)
            return None if zone is None else self._moment.astimezone(zone)
        return self._moment if self._zone is None else self._moment.astimezone(self._zone)


def clock_of(at: datetime | float | None, time_zone: str | Path | None) -> Clock | None:
    """Return the clock of arguments of these names, None if there is no moment."""
    if at is not None:
        return Clock(at, time_zone)
    if time_zone is not None:
        raise QueryError("time_zone has no effect without at, the moment")
    return None


def _named(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise QueryError(
            f"time_zone is {shown(name)}; give a name such as 'Europe/Berlin', or a .geojson file of time zones "
            "(systems without time zones need the package tzdata)"
        ) from error


def _read_zones(path: Path) -> list[tuple[list[Ring], tzinfo]]:
    """Return the rings and the time zone of each region of a GeoJSON file."""
    try:
        content = json.loads(path.read_bytes())
        features = content["features"] if content["type"] == "FeatureCollection" else [content]
        found: list[tuple[list[Ring], tzinfo]] = []
        for feature in features:
            properties = {key.lower(): value for key, value in feature["properties"].items()}
            geometry = feature["geometry"]
            polygons = {"Polygon": [geometry["coordinates"]], "MultiPolygon": geometry["coordinates"]}[geometry["type"]]
            rings = [np.array(ring, np.float64)[:, :2] for polygon in polygons for ring in polygon]
            found.append((rings, _named(properties["tzid"])))
    except OSError as error:
        raise FormatError(f"cannot read the time zones in {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{path} is no GeoJSON file of time zones: polygons with names of zones in the property TZID"
        ) from error
    if not found:
        raise FormatError(f"{path} holds no time zone")
    return found


def _inside(rings: list[Ring], lat: float, lon: float) -> bool:
    """Return whether a place is inside of rings; holes are rings, too, so that an even number of them is outside."""
    crossings = 0
    for ring in rings:
        x, y = ring.T
        x_next, y_next = np.roll(x, -1), np.roll(y, -1)
        spans = (y > lat) != (y_next > lat)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = x + (lat - y) / (y_next - y) * (x_next - x)
        crossings += int(np.count_nonzero(spans & (lon < at)))
    return crossings % 2 == 1
