"""KML 2.2 (OGC 07-147r2): layers as folders, features as placemarks with their columns as typed data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vkssp.features.columns import Plain, plain
from vkssp.features.xml_text import degrees, named_rows, xml_text
from vkssp.files import atomic_write

if TYPE_CHECKING:
    from vkssp.features.features import Features

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2">\n<Document>\n'
_TYPES = {"bool": "bool", "int": "int", "float": "double", "text": "string"}
# Column of colours, as `vkssp service-areas` writes them.
_COLOUR = "stroke"


def write_kml(path: str | Path, layers: Sequence[Features]) -> None:
    """Write layers of features, which appear only when the file is complete.

    Raises
    ------
    FormatError
        If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(_HEAD.encode())
        for number, layer in enumerate(layers):
            stream.writelines(one.encode() for one in _schema(layer, number))
        for number, layer in enumerate(layers):
            stream.writelines(one.encode() for one in _folder(layer, number))
        stream.write(b"</Document>\n</kml>\n")


def _schema(layer: Features, number: int) -> Iterator[str]:
    yield f'<Schema name="{xml_text(layer.name)}" id="layer{number}">\n'
    for name, column in layer.columns.items():
        yield f'<SimpleField type="{_type_of(plain(column))}" name="{xml_text(name)}"/>\n'
    yield "</Schema>\n"


def _type_of(column: Plain) -> str:
    is_long = column.kind == "int" and len(column.values) and abs(column.values).max() >= 2**31
    return "string" if is_long else _TYPES[column.kind]  # int has 32 bits


def _folder(layer: Features, number: int) -> Iterator[str]:
    yield f"<Folder><name>{xml_text(layer.name)}</name>\n"
    for name, values, shape in named_rows(layer):
        yield "<Placemark>"
        if name:
            yield f"<name>{xml_text(name)}</name>"
        colour = re.fullmatch("#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", str(values.get(_COLOUR, "")))
        if colour is not None:
            bgr = f"<color>ff{colour[3]}{colour[2]}{colour[1]}</color>"
            yield f"<Style><LineStyle>{bgr}<width>3</width></LineStyle></Style>"
        yield f'<ExtendedData><SchemaData schemaUrl="#layer{number}">'
        for key, value in values.items():
            yield f'<SimpleData name="{xml_text(key)}">{xml_text(value)}</SimpleData>'
        yield "</SchemaData></ExtendedData>"
        if shape is not None and not shape.is_empty:
            yield from _geometry(shape)
        yield "</Placemark>\n"
    yield "</Folder>\n"


def _geometry(shape: Any) -> Iterator[str]:
    kind = shape.geom_type
    if kind.startswith("Multi") or kind == "GeometryCollection":
        yield "<MultiGeometry>"
        for part in shape.geoms:
            yield from _geometry(part)
        yield "</MultiGeometry>"
    elif kind == "Polygon":
        yield "<Polygon><outerBoundaryIs>"
        yield f"<LinearRing>{_coordinates(shape.exterior)}</LinearRing></outerBoundaryIs>"
        for ring in shape.interiors:
            yield f"<innerBoundaryIs><LinearRing>{_coordinates(ring)}</LinearRing></innerBoundaryIs>"
        yield "</Polygon>"
    elif kind == "Point":
        yield f"<Point>{_coordinates(shape)}</Point>"
    else:  # a line, which follows the ground
        yield f"<LineString><tessellate>1</tessellate>{_coordinates(shape)}</LineString>"


def _coordinates(shape: Any) -> str:
    import shapely

    positions = " ".join(f"{degrees(lon)},{degrees(lat)}" for lon, lat in shapely.get_coordinates(shape).tolist())
    return f"<coordinates>{positions}</coordinates>"
