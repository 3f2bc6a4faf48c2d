"""Files of pairs of places, read some at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vkssp.arrow_file import batches, check_columns, pyarrow_for
from vkssp.checks import path_of, shown
from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError
from vkssp.features.endings import ending_of
from vkssp.features.geojson import degrees_of, read_json
from vkssp.routing.file_lines import FileLines
from vkssp.routing.places import LatLon, ViaPoints

#: Columns of the latitudes and longitudes of a pair.
COLUMNS = ("from_lat", "from_lon", "to_lat", "to_lon")
_ID = "id"
# A column of a via point, with its number in the order of travel; the only one may have none.
_VIA = re.compile(r"via([1-9][0-9]{0,8})?_(lat|lon)")
# What looks like such a column: the word, perhaps more between signs that are no letters, and a coordinate; or the word
# without other letters.
_COORDINATE = "lat|lon|lng|long|latitude|longitude|x|y|latlon|latlng|lonlat|lnglat|coords|coordinates|point"
_LIKE_VIA = re.compile(rf"via(([^a-z](.*[^a-z])?)?({_COORDINATE})|[^a-z]*)", re.DOTALL)


class Pairs(NamedTuple):
    """Some pairs of places.

    Attributes
    ----------
    origins, destinations : list of (float, float)
        Latitude and longitude in degrees.
    ids : list of str or list of int
        Names of the pairs: texts of the column ``id``, or numbers from 0 on if the file has none.
    vias : list of ViaPoints, or None
        The via points of each pair, in the order of travel, called by their columns; None if the file has no such
        columns.
    lines : FileLines
        Where the file has each pair.
    """

    origins: list[LatLon]
    destinations: list[LatLon]
    ids: list[str] | list[int]
    vias: list[ViaPoints] | None
    lines: FileLines


def read_pairs(path: str | Path, rows: int) -> Iterator[Pairs]:
    """Yield the pairs of a file, `rows` at a time.

    Parameters
    ----------
    path : str or Path
        Comma-separated values, of which lines may end early, with a first line that names the columns ``from_lat``,
        ``from_lon``, ``to_lat`` and ``to_lon``, in degrees, and optionally ``id`` and those of via points:
        ``via1_lat``, ``via1_lon``, ``via2_lat`` and so on, in the order of travel, or ``via_lat`` and ``via_lon``, both
        empty for a pair without that point. Other columns are not read; one that looks like a via point or a coordinate
        of it, such as ``via1`` or ``via1_x``, is an error. Parquet (.parquet) with these columns; or GeoJSON (.json,
        .geojson) of lines, which lead from their first position to their last one, perhaps with an ``id``.
    rows : int
        Most pairs at a time, at least 1.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such columns, one of them twice, one without the other of a via point, or no
        pairs; also during iteration.
    QueryError
        If a library that reads the format is not installed.
    """
    path = path_of(path)
    readers = {".parquet": (_from_parquet, "row"), ".json": (_from_geojson, "feature")}
    readers[".geojson"] = readers[".json"]
    read, kind = readers.get(ending_of(path), (_from_csv, "line"))
    given, begin = read(path), 0
    while some := list(islice(given, rows)):
        names = [row.name for row in some if row.name is not None]
        ids: list[str] | list[int] = names if names else list(range(begin, begin + len(some)))
        vias = [row.vias for row in some if row.vias is not None] or None
        lines = FileLines(path, kind, [row.line for row in some])
        yield Pairs([row.origin for row in some], [row.destination for row in some], ids, vias, lines)
        begin += len(some)
    if begin == 0:
        raise FormatError(f"{path} has no pairs in it; give at least one")


# What `float` raises for values that are no numbers, or too large.
_ERRORS = (ValueError, TypeError, OverflowError)


class _Row(NamedTuple):
    origin: LatLon
    destination: LatLon
    name: str | None
    vias: ViaPoints | None
    line: int


def _plain(names: Iterable[str]) -> list[str]:
    """Return the names of columns without regard to case and to spaces around them."""
    return [name.strip().lower() for name in names]


def _columns_of(path: Path, names: Sequence[str]) -> list[str]:
    """Return the columns of the places of a pair: its ends, then its via points in the order of travel.

    Raise `FormatError` if a column is missing or there twice, or looks like one of a via point that would not be read.
    """
    found = {name: match for name in names if (match := _VIA.fullmatch(name)) is not None}
    for name in names:
        if name not in found and _LIKE_VIA.fullmatch(name) is not None:
            raise FormatError(
                f"{path} has a column {shown(name)}, which is not read; name columns of via points via1_lat,via1_lon,"
                "via2_lat and so on"
            )
    for name, match in found.items():
        other = f"via{match[1] or ''}_{'lon' if match[2] == 'lat' else 'lat'}"
        if other not in found:
            raise FormatError(f"{path} has a column {name}, but no {other}; give both for each via point")
    if "via_lat" in found and len(found) > 2:
        raise FormatError(f"{path} has columns via_lat,via_lon beside numbered ones; number all via points, from 1 on")
    wanted = [*COLUMNS, *sorted(found, key=lambda name: (int(found[name][1] or 0), name))]
    check_columns(path, [*wanted, *[_ID] * (_ID in names)], names)
    return wanted


def _field(line: list[str], at: int) -> str:
    """Return a field of a line, which may end early: fields that it lacks are empty."""
    return line[at] if at < len(line) else ""


def _from_csv(path: Path) -> Iterator[_Row]:
    with csv_lines(path) as lines:
        header = _plain(next(lines, []))
        if not set(COLUMNS) <= set(header):
            raise no_columns(path, ",".join(COLUMNS), header)
        columns = _columns_of(path, header)
        at = [header.index(column) for column in columns]
        name = header.index(_ID) if _ID in header else None
        for line in lines:
            if not any(map(str.strip, line)):
                continue
            values = [_field(line, column) for column in at]
            try:
                row = _row(columns, values, None if name is None else _field(line, name), lines.line_num)
            except _ERRORS:
                raise FormatError(f"{path}, line {lines.line_num}: {_wrong(columns, values)}") from None
            yield row


def _from_parquet(path: Path) -> Iterator[_Row]:
    pyarrow = pyarrow_for("Parquet files of pairs need", "give .csv")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
    except (OSError, pyarrow.ArrowException) as error:
        raise FormatError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    known = _plain(names)
    number, wanted, has_names = 0, _columns_of(path, known), _ID in known
    columns = [names[known.index(name)] for name in [*wanted, *[_ID] * has_names]]
    for table in batches(path, columns, 1 << 16):
        *given, ids = [table.column(name).to_pylist() for name in columns] + [[None] * len(table)] * (not has_names)
        for name, *values in zip(ids, *given, strict=True):
            try:
                row = _row(wanted, values, ("" if name is None else str(name)) if has_names else None, number)
            except _ERRORS:
                raise FormatError(f"{path}, row {number}: {_wrong(wanted, values)}") from None
            yield row
            number += 1


def _from_geojson(path: Path) -> Iterator[_Row]:
    content = read_json(path)
    features = content.get("features", [content]) if isinstance(content, dict) else None
    given = features if isinstance(features, list) else [None]
    has_names = all(isinstance(one, dict) and _name_of(one) is not None for one in given)
    for number, feature in enumerate(given):
        try:
            geometry: Any = feature.get("geometry", feature)
            if geometry["type"] != "LineString" or not isinstance(geometry["coordinates"], list):
                raise ValueError
            begin, *_, end = geometry["coordinates"]
            name = str(_name_of(feature)) if has_names else None
            row = _Row(degrees_of(begin), degrees_of(end), name, None, number)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(
                f"{path}: feature {number} is no GeoJSON line; give LineStrings of two positions lon,lat each"
            ) from None
        yield row


def _name_of(feature: dict[str, Any]) -> Any:
    properties = feature.get("properties")
    return feature.get(_ID, properties.get(_ID) if isinstance(properties, dict) else None)


def _row(columns: Sequence[str], values: Sequence[Any], name: str | None, line: int) -> _Row:
    """Return a row of a file, given latitudes and longitudes of the ends, and of via points if there are columns.

    Raise one of `_ERRORS` if there are not two places, or half of a via point.
    """
    at = [first for first in range(len(COLUMNS), len(values), 2) if not all(map(_is_empty, values[first : first + 2]))]
    vias = ViaPoints(
        [_place(values[first : first + 2]) for first in at], [",".join(columns[first : first + 2]) for first in at]
    )
    has_vias = len(columns) > len(COLUMNS)
    return _Row(_place(values[:2]), _place(values[2:4]), name, vias if has_vias else None, line)


def _wrong(columns: Sequence[str], values: Sequence[Any]) -> str:
    """Return what is wrong with a row that `_row` refuses: the first field that is no number of degrees."""
    for at, (column, value) in enumerate(zip(columns, values, strict=True)):
        other = at ^ 1  # of the same place
        if not _is_empty(value):
            try:
                _place((value, value))
            except _ERRORS:
                return f"{column} is {shown(value)}; give degrees, such as 42.5075"
        elif not _is_empty(values[other]):
            return f"{column} is empty, but {columns[other]} is not; give both"
        elif at < len(COLUMNS):
            return f"{column} is empty; give degrees, such as 42.5075"
    raise AssertionError("all fields are right")


def _is_empty(value: Any) -> bool:
    """Return whether a field has nothing, NaN included, as tables of floating-point numbers have it."""
    return value is None or (isinstance(value, str) and not value.strip()) or value != value


def _place(values: Any) -> LatLon:
    lat, lon = float(values[0]), float(values[1])
    if not (math.isfinite(lat) and math.isfinite(lon)):
        raise ValueError
    return lat, lon
