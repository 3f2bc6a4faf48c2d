"""Traces in files: positions with their times and radiuses."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from vkssp.checks import path_of
from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError
from vkssp.features.places import LatLon
from vkssp.routing.file_lines import FileLines
from vkssp.routing.places_file import read_ends


class TraceFile(NamedTuple):
    """Positions of a trace: latitudes and longitudes in degrees, seconds and radiuses in metres, None if not known.

    The file has each of them in one of `lines`.
    """

    places: list[LatLon]
    seconds: list[float] | None
    radiuses: list[float | None] | None
    lines: FileLines


def read_trace(path: str | Path) -> TraceFile:
    """Read a trace from a file.

    Parameters
    ----------
    path : str or Path
        The track points of a GPX file (.gpx), with their times; comma-separated values (.csv) with columns ``lat`` and
        ``lon`` in degrees, and optionally ``time`` (seconds, or date and time in ISO 8601) and ``radius`` (metres); or
        any other file of points that `vkssp.routing.places_file.read_ends` reads, without times. Times count only if
        all positions have them.

    Raises
    ------
    FormatError
        If the file cannot be read or holds no positions.
    QueryError
        If a library that reads the format is not installed.
    """
    path = path_of(path)
    ending = path.suffix.lower()
    if ending == ".gpx":
        found = _from_gpx(path)
    elif ending == ".csv":
        found = _from_csv(path)
    else:
        ends = read_ends(path)
        if ends.places is None:
            raise FormatError(f"{path} has nodes; give positions, with columns lat and lon")
        found = TraceFile(ends.places, None, None, ends.lines)
    if not found.places:
        raise FormatError(f"{path} has no positions in it; give a track of two or more")
    return found


def _from_gpx(path: Path) -> TraceFile:
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (ElementTree.ParseError, ValueError) as error:
        raise FormatError(f"{path} is no GPX file: {error}") from None
    places, times = [], []
    for number, point in enumerate(root.iterfind(".//{*}trkpt"), 1):
        where = f"{path}, track point {number}"
        places.append(_place(point.get("lat"), point.get("lon"), where))
        time = point.findtext("{*}time")
        times.append(None if not time else _seconds(time, where))
    return TraceFile(places, _known(times), None, FileLines(path, "track point", range(1, len(places) + 1)))


def _from_csv(path: Path) -> TraceFile:
    places, times, radiuses, numbers = [], [], [], []
    with csv_lines(path) as lines:
        first = [word.strip() for word in next(lines, [])]
        header = [word.lower() for word in first]
        if not {"lat", "lon"} <= set(header):
            raise no_columns(path, "lat,lon", first)
        for line in lines:
            if not line:
                continue
            row: dict[str, Any] = dict(zip(header, line, strict=False))
            numbers.append(lines.line_num)
            where = f"{path}, line {lines.line_num}"
            places.append(_place(row.get("lat"), row.get("lon"), where))
            times.append(_seconds(row["time"], where) if row.get("time", "").strip() else None)
            radiuses.append(_number(row["radius"], "radius", where) if row.get("radius", "").strip() else None)
    known = radiuses if any(radius is not None for radius in radiuses) else None
    return TraceFile(places, _known(times), known, FileLines(path, "line", numbers))


def _known(times: list[float | None]) -> list[float] | None:
    """Return times if all are known."""
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else None


def _place(lat: str | None, lon: str | None, where: str) -> LatLon:
    return _number(lat or "", "lat", where), _number(lon or "", "lon", where)


def _number(text: str, name: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(f"{where}: {name} is {text[:60]!r}; give a number")
    return number


def _seconds(text: str, where: str) -> float:
    """Return a time as seconds; one without a time zone is in UTC."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise FormatError(f"{where}: time is {text[:60]!r}; give seconds, or 2026-05-01T12:00:00Z") from None
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
