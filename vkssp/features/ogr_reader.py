"""Reader of GeoPackage, FlatGeobuf, Shapefile, GPX and KML files by pyogrio, which is an extra."""

from __future__ import annotations

import io
import re
import sqlite3
import warnings
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from vkssp.checks import no_file, shown
from vkssp.errors import FormatError, VksspError
from vkssp.features.columns import BYTES_OF_A_BYTE
from vkssp.features.endings import ending_of
from vkssp.features.ogr_file import pyogrio_for, reason_of
from vkssp.features.shapes import Shapes, in_degrees
from vkssp.memory import require

#: Endings of files that are read here.
READ_ENDINGS = (".gpkg", ".fgb", ".shp", ".shp.zip", ".gpx", ".kml")
# What files begin with; GDAL, which would open any file by its content, is asked only for those.
_SIGNS = {".gpkg": b"SQLite format 3\0", ".fgb": b"fgb\x03", ".shp": b"\0\0\x27\x0a", ".shp.zip": b"PK"}
# Bytes of a file that are searched for its first XML element.
_HEAD = 1 << 16


def read_ogr(
    path: Path, columns: Sequence[str], optionally: Sequence[str], kinds: Sequence[str]
) -> tuple[dict[str, list[Any]], Shapes]:
    """Read columns and shapes of a file with one of `READ_ENDINGS`.

    Parameters
    ----------
    path : Path
        The file.
    columns, optionally : sequence of str
        Columns that it must have, and columns that are read if it has them; names in any case.
    kinds : sequence of str
        Types of shapes that are wanted, such as "Point". Of several layers the one is read that has them.

    Returns
    -------
    table : dict of str to list
        The columns.
    shapes : numpy.ndarray
        The shapes, in degrees.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such column or layer, or coordinates of a system that is not known.
    QueryError
        If pyogrio is not installed, or pyproj and the coordinates are of another system than degrees.
    MemoryShortageError
        If the content does not fit into memory.
    """
    import shapely

    pyogrio = pyogrio_for(path)
    size = _checked_size(path)
    require(BYTES_OF_A_BYTE * size, f"{path}: places in a file of {size / 2**30:.1f} GiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = _layer_of(path, pyogrio.list_layers(path).tolist(), kinds)
            if ending_of(path) == ".gpkg":
                _check_table(path, layer)
            about = pyogrio.read_info(path, layer=layer, force_feature_count=True)
            if about["features"] > size:
                raise FormatError(f"{path} says that it has {about['features']:,} features, and is too short for them")
            named = _named(path, list(map(str, about["fields"])), columns, optionally)
            wanted = list(dict.fromkeys(named.values()))
            meta, _, shapes, data = pyogrio.raw.read(path, layer=layer, columns=wanted)
            found = shapely.from_wkb(shapes)
    except (VksspError, MemoryError):
        raise
    except Exception as error:  # of many kinds, if a file is damaged
        raise FormatError(f"cannot read {path}: {reason_of(error)}") from error
    read = dict(zip(map(str, meta["fields"]), data, strict=True))
    table = {name: read[one].tolist() for name, one in named.items()}
    return table, in_degrees(found, meta["crs"], str(path))


def _checked_size(path: Path) -> int:
    """Return the bytes of a file's content, or raise `FormatError` if it does not begin like a file of its ending."""
    ending = ending_of(path)
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
            size = stream.seek(0, io.SEEK_END)
        if ending == ".shp.zip" and head.startswith(_SIGNS[ending]):
            with zipfile.ZipFile(path) as archive:
                size = sum(part.file_size for part in archive.infolist())
        if ending == ".shp":
            size += sum(
                part.stat().st_size for part in path.parent.glob(f"{re.sub(r'[][*?]', '?', path.stem)}.[dD][bB][fF]")
            )
    except FileNotFoundError:
        raise no_file(path) from None
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if ending in _SIGNS:
        is_right = head.startswith(_SIGNS[ending])
    else:
        first = re.search(rb"<([A-Za-z_][\w.-]*)", re.sub(rb"<!--.*?-->", b"", head, flags=re.DOTALL))
        is_right = first is not None and first[1].lower() == ending[1:].encode() and b"<OGRVRT" not in head
    if not is_right:
        raise FormatError(f"{path} is no {ending} file; does its name have the right ending?")
    return size


def _layer_of(path: Path, layers: Sequence[Sequence[Any]], kinds: Sequence[str]) -> str:
    """Return the name of the only layer that may have shapes of some types."""
    found = [str(name) for name, kind in layers if str(kind).split(" ")[0].replace("2.5D", "") in (*kinds, "Unknown")]
    exact = [str(name) for name, kind in layers if str(kind).split(" ")[0] in kinds] or found
    if path.suffix.lower() == ".gpx":
        exact = [name for name in exact if name == "waypoints"]
    if len(exact) != 1:
        told = ", ".join(shown(str(name)) for name, _ in layers[:9])
        what = "several layers" if exact else "no layer"
        raise FormatError(f"{path} has {what} of {' or '.join(kinds)} among {told or 'none'}; give a file with one")
    return exact[0]


def _check_table(path: Path, layer: str) -> None:
    """Raise `FormatError` if a layer of a GeoPackage is a view, which may compute rows without end."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        kinds = connection.execute("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE", (layer,)).fetchall()
    if ("table",) not in kinds:
        raise FormatError(f"{path} computes the layer {shown(layer)} by a view; save its rows as a table")


def _named(path: Path, there: Sequence[str], columns: Sequence[str], optionally: Sequence[str]) -> dict[str, str]:
    """Return the names in a file of some columns; a name in other case will do if none is the same."""
    folded = {name.lower(): name for name in reversed(there)}
    found = {}
    for name in (*columns, *optionally):
        if name in there or name.lower() in folded:
            found[name] = name if name in there else folded[name.lower()]
        elif name in columns:
            raise FormatError(f"{path} has no column {name!r}, only {shown(list(there))}; name its columns")
    return found
