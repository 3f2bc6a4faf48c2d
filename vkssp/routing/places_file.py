"""Files of the sources or targets of a table: places or nodes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError
from vkssp.memory import require
from vkssp.npy_file import read_npy
from vkssp.routing.geojson import read_json
from vkssp.routing.places import LatLon

if TYPE_CHECKING:
    from _csv import Reader


#: Bytes of Python objects for each byte of an array: 250 bytes for a place of 16 bytes, 50 bytes for a node of 4 bytes.
_BYTES_OF_A_BYTE = 16


@dataclass(frozen=True, eq=False)
class Ends:
    """Sources or targets of a table, as read from a file.

    Attributes
    ----------
    places : list of (float, float) or None
        Latitude and longitude in degrees; None if the file has nodes.
    nodes : numpy.ndarray or None
        Node ids, int64; None if the file has places.
    ids : list of int or list of str
        Names from the file. If it has none: numbers from 0 for places, node ids for nodes.
    """

    places: list[LatLon] | None
    nodes: npt.NDArray[np.int64] | None
    ids: list[int] | list[str]


def read_ends(path: str | Path) -> Ends:
    """Read places or nodes from a file.

    Parameters
    ----------
    path : str or Path
        GeoJSON of points (.json, .geojson), with an ``id`` or a property of that name; a NumPy array (.npy) of
        integers, which are nodes, or of shape (k, 2), with latitudes and longitudes; any other ending: comma-separated
        values with a first line that names the columns ``lat`` and ``lon`` in degrees, or ``node``, and optionally
        ``id``, or with one integer in each line, a node.

    Raises
    ------
    FormatError
        If the file cannot be read, has another format, or holds no places or nodes.
    """
    readers = {".npy": _from_npy, ".json": _from_geojson, ".geojson": _from_geojson}
    try:
        ends = readers.get(Path(path).suffix.lower(), _from_csv)(path)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except OverflowError as error:
        raise FormatError(f"{path} holds no places or nodes that can be read ({error})") from None
    if not ends.ids:
        raise FormatError(f"{path} has no places or nodes in it; give at least one")
    return ends


def _from_npy(path: str | Path) -> Ends:
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        require(_BYTES_OF_A_BYTE * size, f"{path}: places or nodes in an array of {size / 2**30:.1f} GiB")
        try:
            array = read_npy(stream, size)
        except ValueError as error:
            raise FormatError(f"{path} is no NumPy array of places or nodes: it {error}") from None
    if array.ndim == 1 and array.dtype.kind in "iu":
        if int(array.max(initial=0)) >= 2**63:
            raise FormatError(f"{path}: entry {int(np.argmax(array))} is {array.max()}, no node id; correct it")
        nodes = array.astype(np.int64)
        return Ends(None, nodes, nodes.tolist())
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iuf":
        return Ends([(float(lat), float(lon)) for lat, lon in array.tolist()], None, list(range(len(array))))
    raise FormatError(f"{path} holds neither integers, for nodes, nor two columns of latitude and longitude")


def _from_geojson(path: str | Path) -> Ends:
    content = read_json(path)
    features = content.get("features", [content]) if isinstance(content, dict) else None
    places, ids = [], []
    for number, feature in enumerate(features if isinstance(features, list) else [None]):
        try:
            geometry = feature.get("geometry", feature)
            if geometry["type"] != "Point":
                raise ValueError
            lon, lat = map(float, geometry["coordinates"][:2])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(f"{path}: feature {number} is no GeoJSON point; give points, lon,lat each") from None
        places.append((lat, lon))
        name = feature.get("id", (feature.get("properties") or {}).get("id"))
        ids.append(number if name is None else name)
    return Ends(places, None, _named(ids))


def _from_csv(path: str | Path) -> Ends:
    with csv_lines(path) as lines:
        return _from_lines(path, lines)


def _from_lines(path: str | Path, lines: Reader) -> Ends:
    first = [word.strip() for word in next(lines, [])]
    header = [word.lower() for word in first]
    if len(first) == 1 and first[0].lstrip("+-").isdigit():
        columns, rows = ["node"], [(1, first)]
    else:
        columns = ["node"] if "node" in header else ["lat", "lon"]
        if not set(columns) <= set(header):
            raise no_columns(path, "lat,lon or node", first)
        rows = []
    rows += [(lines.line_num, line) for line in lines if line]
    at = [header.index(name) for name in columns] if not rows or rows[0][1] is not first else [0]
    read: type[int] | type[float] = int if columns == ["node"] else float
    values = []
    for number, line in rows:
        try:
            values.append([read(line[place]) for place in at])
            if not all(map(math.isfinite, values[-1])):
                raise ValueError
        except (ValueError, IndexError):
            what = "a node id" if read is int else "a latitude and a longitude"
            raise FormatError(f"{path}, line {number}: {','.join(line)[:60]!r} has not {what}") from None
    ids = None
    if "id" in header:
        ids = _named([line[header.index("id")] if len(line) > header.index("id") else "" for _, line in rows])
    if read is int:
        nodes = np.array([value[0] for value in values], np.int64)
        return Ends(None, nodes, ids or nodes.tolist())
    places = [(float(lat), float(lon)) for lat, lon in values]
    return Ends(places, None, ids or list(range(len(places))))


def _named(ids: Sequence[Any]) -> list[int] | list[str]:
    """Return names as integers if all of them are integers of 64 bits, else as texts."""
    if all(isinstance(name, int) and not isinstance(name, bool) and abs(name) < 2**63 for name in ids):
        return list(ids)
    return [str(name) for name in ids]
