"""Files of pairs of places, read some at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vkssp.arrow_file import batches, pyarrow_for
from vkssp.checks import path_of
from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError
from vkssp.features.endings import ending_of
from vkssp.features.geojson import read_json
from vkssp.routing.places import LatLon

#: Columns of the latitudes and longitudes of a pair.
COLUMNS = ("from_lat", "from_lon", "to_lat", "to_lon")
_ID = "id"


class Pairs(NamedTuple):
    """Some pairs of places.

    Attributes
    ----------
    origins, destinations : list of (float, float)
        Latitude and longitude in degrees.
    ids : list of str or list of int
        Names of the pairs: texts of the column ``id``, or numbers from 0 on if the file has none.
    """

    origins: list[LatLon]
    destinations: list[LatLon]
    ids: list[str] | list[int]


def read_pairs(path: str | Path, rows: int) -> Iterator[Pairs]:
    """Yield the pairs of a file, `rows` at a time.

    Parameters
    ----------
    path : str or Path
        Comma-separated values with a first line that names the columns ``from_lat``, ``from_lon``, ``to_lat`` and
        ``to_lon``, in degrees, and optionally ``id``; Parquet (.parquet) with these columns; or GeoJSON (.json,
        .geojson) of lines, which lead from their first position to their last one, perhaps with an ``id``.
    rows : int
        Most pairs at a time, at least 1.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such columns, or has no pairs; also during iteration.
    QueryError
        If a library that reads the format is not installed.
    """
    path = path_of(path)
    ending = ending_of(path)
    read = _from_geojson if ending in (".json", ".geojson") else _from_parquet if ending == ".parquet" else _from_csv
    given, begin = read(path), 0
    while some := list(islice(given, rows)):
        names = [name for *_, name in some if name is not None]
        ids: list[str] | list[int] = names if names else list(range(begin, begin + len(some)))
        yield Pairs([origin for origin, *_ in some], [destination for _, destination, _ in some], ids)
        begin += len(some)
    if begin == 0:
        raise FormatError(f"{path} has no pairs in it; give at least one")


_Row = tuple[LatLon, LatLon, "str | None"]


def _from_csv(path: Path) -> Iterator[_Row]:
    with csv_lines(path) as lines:
        header = [name.strip().lower() for name in next(lines, [])]
        if not set(COLUMNS) <= set(header):
            raise no_columns(path, ",".join(COLUMNS), header)
        at, name = [header.index(column) for column in COLUMNS], header.index(_ID) if _ID in header else None
        for line in lines:
            if not any(map(str.strip, line)):
                continue
            try:
                row = _row([line[column] for column in at], None if name is None else line[name])
            except (ValueError, IndexError):
                told = ",".join(line)[:60]
                raise FormatError(
                    f"{path}, line {lines.line_num}: {told!r} has not two latitudes and longitudes; correct it"
                ) from None
            yield row


def _from_parquet(path: Path) -> Iterator[_Row]:
    pyarrow = pyarrow_for("Parquet files of pairs need", "give .csv")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            has_names = _ID in file.schema_arrow.names
    except (OSError, pyarrow.ArrowException) as error:
        raise FormatError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    number = 0
    for table in batches(path, (*COLUMNS, _ID) if has_names else COLUMNS, 1 << 16):
        columns = [table.column(name).to_pylist() for name in (*COLUMNS, *[_ID] * has_names)]
        for values in zip(*columns, strict=True):
            try:
                name = ("" if values[4] is None else str(values[4])) if has_names else None
                row = _row(values[:4], name)
            except (ValueError, TypeError):
                raise FormatError(
                    f"{path}, row {number} has not two latitudes and longitudes, but {list(values[:4])}; correct it"
                ) from None
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
            if geometry["type"] != "LineString":
                raise ValueError
            (from_lon, from_lat, *_), *_, (to_lon, to_lat, *_) = geometry["coordinates"]
            row = _row([from_lat, from_lon, to_lat, to_lon], str(_name_of(feature)) if has_names else None)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(
                f"{path}: feature {number} is no GeoJSON line; give LineStrings of two positions lon,lat each"
            ) from None
        yield row


def _name_of(feature: dict[str, Any]) -> Any:
    properties = feature.get("properties")
    return feature.get(_ID, properties.get(_ID) if isinstance(properties, dict) else None)


def _row(values: Any, name: str | None) -> _Row:
    """Return a row of a file; raise `ValueError` if it has no two places."""
    degrees = [float(value) for value in values]
    if not all(map(math.isfinite, degrees)):
        raise ValueError
    return (degrees[0], degrees[1]), (degrees[2], degrees[3]), name
