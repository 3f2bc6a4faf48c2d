"""GPX 1.1 (https://www.topografix.com/GPX/1/1/): points as waypoints, lines as tracks, instructions as a route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vkssp.errors import FormatError
from vkssp.features.xml_text import degrees, named_rows, xml_text
from vkssp.files import atomic_write

if TYPE_CHECKING:
    from vkssp.features.features import Features

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="vkssp" '
    'xmlns="http://www.topografix.com/GPX/1/1">\n'
)
# The last longitude before 180 degrees, which GPX does not have, at the same place within a centimetre.
_LAST = 179.9999999


def write_gpx(path: str | Path, layers: Sequence[Features], route: Features | None = None) -> None:
    """Write features, which appear only when the file is complete.

    Parameters
    ----------
    path : str or Path
        The file.
    layers : sequence of Features
        Points become waypoints and lines tracks, with a segment for each part. Their columns are told in descriptions.
    route : Features, optional
        Points that become one route.

    Raises
    ------
    FormatError
        If the file cannot be written, or there are other shapes.
    """
    kinds = set().union(*(layer.kinds for layer in layers))
    if others := kinds - {"Point", "MultiPoint", "LineString", "MultiLineString"}:
        raise FormatError(f"cannot write {path}: GPX has points and lines, and no {min(others)}; write .kml or .gpkg")
    with atomic_write(path) as stream:
        stream.write(_HEAD.encode())
        # In this order, which GPX prescribes.
        for layer in layers:
            stream.writelines(one.encode() for one in _waypoints(layer))
        if route is not None:
            stream.write(b"<rte>\n")
            stream.writelines(one.encode() for one in _waypoints(route, "rtept"))
            stream.write(b"</rte>\n")
        for layer in layers:
            stream.writelines(one.encode() for one in _tracks(layer))
        stream.write(b"</gpx>\n")


def _told(name: str, values: dict[str, Any]) -> str:
    """Return the elements of name and description."""
    rounded = {key: f"{value:.7g}" if isinstance(value, float) else str(value) for key, value in values.items()}
    others = "; ".join(f"{key}: {value}" for key, value in rounded.items() if value not in ("", name))
    found = f"<name>{xml_text(name)}</name>" if name else ""
    return found + (f"<desc>{xml_text(others)}</desc>" if others else "")


def _at(lon: float, lat: float) -> str:
    return f'lat="{degrees(lat)}" lon="{degrees(min(lon, _LAST))}"'


def _waypoints(layer: Features, tag: str = "wpt") -> Iterator[str]:
    import shapely

    for name, values, shape in named_rows(layer):
        if shape is not None and shape.geom_type in ("Point", "MultiPoint"):
            for lon, lat in shapely.get_coordinates(shape).tolist():
                yield f"<{tag} {_at(lon, lat)}>{_told(name, values)}</{tag}>\n"


def _tracks(layer: Features) -> Iterator[str]:
    import shapely

    for name, values, shape in named_rows(layer):
        if shape is None or shape.is_empty or shape.geom_type not in ("LineString", "MultiLineString"):
            continue
        yield f"<trk>{_told(name, values)}"
        for part in shapely.get_parts(shape).tolist():
            yield "<trkseg>\n"
            yield "\n".join(f"<trkpt {_at(lon, lat)}/>" for lon, lat in shapely.get_coordinates(part).tolist())
            yield "\n</trkseg>"
        yield "</trk>\n"
