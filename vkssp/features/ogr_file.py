"""GeoPackage, FlatGeobuf and Shapefile, written by pyogrio, which is an extra."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vkssp.arrays import objects
from vkssp.checks import shown
from vkssp.errors import FormatError
from vkssp.extras import optional
from vkssp.features.columns import plain, text_of
from vkssp.features.endings import ending_of
from vkssp.files import atomic_files, atomic_write

if TYPE_CHECKING:
    from vkssp.features.features import Features

#: Endings of files that are written here.
OGR_ENDINGS = (".gpkg", ".fgb", ".shp", ".shp.zip")
_SYSTEM = "EPSG:4326"
# Indices of an older Shapefile, and the journals of an older database.
_INDICES, _JOURNALS = (".qix", ".sbn", ".sbx", ".qpj", ".idm", ".ind"), ("-journal", "-wal", "-shm")
# Most bytes of a column's name and of a text in a Shapefile.
_NAME_BYTES, _TEXT_BYTES = 10, 254


def pyogrio_for(path: str | Path) -> Any:
    """Return pyogrio, or raise `QueryError` that says how to install it."""
    needs = f"{ending_of(path)} files need", "maps"
    pyogrio = optional("pyogrio", *needs)
    optional("pyogrio.raw", *needs)
    return pyogrio


def write_ogr(path: str | Path, layers: Sequence[Features], ending: str) -> None:
    """Write features to a file with one of `OGR_ENDINGS`, which appears only when it is complete.

    Several layers go into a GeoPackage; other files get the first one. In a Shapefile names of columns are cut to 10
    bytes, with numbers where they would be the same, and texts to 254 bytes, in UTF-8.

    Raises
    ------
    FormatError
        If the file cannot be written, or the format cannot hold the features.
    QueryError
        If pyogrio is not installed.
    """
    raw = pyogrio_for(path).raw
    if ending == ".fgb":
        # In memory, since GDAL overlooks some errors of full disks.
        made = io.BytesIO()
        first = layers[0]
        is_empty = any(shape is None or shape.is_empty for shape in first.shapes.tolist())
        _write(raw, path, made, first, "FlatGeobuf", SPATIAL_INDEX="NO" if is_empty or not len(first) else "YES")
        with atomic_write(path) as stream:
            stream.write(made.getbuffer())
    elif ending == ".gpkg":
        with atomic_files(path, _JOURNALS) as aside:
            for at, layer in enumerate(layers):
                taken = {name.lower() for name in layer.columns}
                options = {"FID": _unlike("fid", taken), "GEOMETRY_NAME": _unlike("geom", taken)}
                _write(raw, path, aside, layer, "GPKG", append=at > 0, **options)
    elif ending == ".shp":
        with atomic_files(path, _INDICES) as aside:
            _write_shapefile(raw, path, aside, layers[0])
    else:
        with atomic_files(path) as aside:
            inner = aside.with_name(f"{aside.name[: -len('.shp.zip')]}.shp")
            _write_shapefile(raw, path, inner, layers[0])
            parts = sorted(inner.parent.iterdir())
            with zipfile.ZipFile(aside, "x", zipfile.ZIP_DEFLATED) as archive:
                for part in parts:
                    archive.write(part, part.name)
            for part in parts:
                part.unlink()


def _unlike(name: str, taken: set[str]) -> str:
    """Return a name like another one that is not taken."""
    while name in taken:
        name += "_"
    return name


def _write(raw: Any, path: str | Path, to: Any, layer: Features, driver: str, **options: Any) -> None:
    """Write a layer; texts of columns and names as UTF-8 can hold them."""
    import shapely

    read = [plain(column).cleaned() for column in layer.columns.values()]
    names = [text_of(name) for name in layer.columns]
    folded = [name.lower() for name in names]
    if driver == "GPKG" and len(set(folded)) < len(folded):
        twice = next(name for name, low in zip(names, folded, strict=True) if folded.count(low) > 1)
        raise FormatError(f"cannot write {path}: several columns are called {shown(twice)} but for case; rename them")
    if driver == "ESRI Shapefile":
        names = short_names(names)
        read = [one._replace(values=_cut_texts(one.values)) if one.kind == "text" else one for one in read]
    kind, is_mixed = _kind_of(layer)
    if is_mixed and driver == "ESRI Shapefile":
        raise FormatError(f"cannot write {path}: its features are {' and '.join(sorted(layer.kinds))}; write .gpkg")
    masks = [one.missing if one.kind in ("bool", "int") else None for one in read]
    given = {"field_mask": masks, "geometry_type": kind, "promote_to_multi": kind.startswith("Multi")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            raw.write(
                *(to if isinstance(to, io.BytesIO) else str(to), shapely.to_wkb(layer.shapes, flavor="iso")),
                *([one.values for one in read], names),
                **given,
                layer=text_of(layer.name),
                driver=driver,
                crs=_SYSTEM,
                **options,
            )
    except (OSError, ValueError, RuntimeError, UnicodeError, Warning) as error:  # pyogrio's errors are among them
        raise FormatError(f"cannot write {path}: {reason_of(error)}") from error


def reason_of(error: BaseException) -> str:
    """Return the text of a library's error as one line of bounded length."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _kind_of(layer: Features) -> tuple[str, bool]:
    """Return the type of shapes for a layer, of several if there are both, and whether there are different ones."""
    kinds = layer.kinds
    single = {kind.removeprefix("Multi") for kind in kinds}
    if not kinds:
        return "Point", False
    if len(single) > 1:
        return "Unknown", True
    return (f"Multi{min(single)}" if any(kind.startswith("Multi") for kind in kinds) else min(single)), False


def _write_shapefile(raw: Any, path: str | Path, aside: Path, layer: Features) -> None:
    _write(raw, path, aside, layer, "ESRI Shapefile", ENCODING="UTF-8")
    # GDAL overlooks some errors of full disks, so each file is compared with the length that it tells.
    for ending in (".shp", ".shx", ".dbf"):
        with open(aside.with_suffix(ending), "rb") as stream:
            head, size = stream.read(100), stream.seek(0, io.SEEK_END)
        told = 2 * int.from_bytes(head[24:28], "big")
        if ending == ".dbf":
            rows, start, width = (int.from_bytes(head[at:to], "little") for at, to in ((4, 8), (8, 10), (10, 12)))
            told = start + rows * width
            size = min(size, told) if rows == len(layer) else 0
        if size != told or not size:
            raise FormatError(f"cannot write {path}: the disk may be full; choose a place that has room")


def short_names(names: Sequence[str]) -> list[str]:
    """Return names of columns for a Shapefile: each at most 10 bytes, and no two the same but for case."""
    found: list[str] = []
    for name in names:
        short, number = _cut(re.sub(r"\s", "_", name), _NAME_BYTES), 0
        while short.lower() in [one.lower() for one in found]:
            number += 1
            short = f"{_cut(name, _NAME_BYTES - 1 - len(str(number)))}_{number}"
        found.append(short)
    return found


def _cut(text: str, size: int) -> str:
    """Return as much of a text as fits into some bytes of UTF-8."""
    return text.encode()[:size].decode(errors="ignore")


def _cut_texts(texts: Any) -> Any:
    return objects([None if text is None else _cut(text, _TEXT_BYTES) for text in texts.tolist()])
