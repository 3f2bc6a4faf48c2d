"""GeoJSON (RFC 7946): positions, lines and numbers as it has them, and files of features."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vkssp.checks import items_of, number_of, path_of
from vkssp.errors import FormatError
from vkssp.features.columns import Columns, plain
from vkssp.features.places import LatLon
from vkssp.features.shapes import DECIMALS, Floats, Shapes, cut_line, jumps, positions
from vkssp.files import atomic_write, check_ending

if TYPE_CHECKING:
    from pathlib import Path

_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def position(lat: float, lon: float) -> list[float]:
    """Return a position, rounded."""
    # Adding zero turns -0.0 into 0.0.
    return [round(float(lon), DECIMALS) + 0.0, round(float(lat), DECIMALS) + 0.0]


def degrees_of(given: Any) -> LatLon:
    """Return latitude and longitude of a position of a GeoJSON object, or raise `ValueError` if they are no numbers."""
    lon, lat = (number_of(one) for one in (*(items_of(given) or ()), None, None)[:2])
    if lon is None or lat is None or not (math.isfinite(lon) and math.isfinite(lat)):
        raise ValueError
    return lat, lon


def number(value: float | None) -> float | None:
    """Return a value as a float that JSON can hold; None for NaN and infinity, which JSON does not have."""
    return None if value is None or not math.isfinite(value) else float(value)


def line_of(points: Floats) -> dict[str, Any]:
    """Return a line as a geometry, cut at the 180th meridian, as RFC 7946 requires (section 3.1.9)."""
    if len(points) > 1 and not jumps(points):
        return {"type": "LineString", "coordinates": positions(points).tolist()}
    lines = [part.tolist() for part in cut_line(points)]
    if len(lines) > 1:
        return {"type": "MultiLineString", "coordinates": lines}
    # GeoJSON requires two positions for a line, so a line of one point gets that point twice.
    return {"type": "LineString", "coordinates": lines[0] * 2 if len(lines[0]) == 1 else lines[0]}


def features_of(columns: Columns, shapes: Shapes | None) -> Iterator[dict[str, Any]]:
    """Yield features with columns as properties, and rounded shapes; None where there is no value, or no shape."""
    import shapely

    if shapes is not None:
        shapes = shapely.transform(shapes, lambda points: points.round(DECIMALS) + 0.0)
    names, told = list(columns), [plain(column).told() for column in columns.values()]
    rows = zip(*told, strict=True) if told else iter([()] * (0 if shapes is None else len(shapes)))
    for at, row in enumerate(rows):
        shape = None if shapes is None else shapes[at]
        geometry = None if shape is None else shapely.geometry.mapping(shape)
        properties = {
            name: number(value) if isinstance(value, float) else value for name, value in zip(names, row, strict=True)
        }
        yield {"type": "Feature", "properties": properties, "geometry": geometry}


def read_json(path: str | Path) -> Any:
    """Return the content of a GeoJSON file, which may be any JSON value.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no JSON.
    """
    path = path_of(path)
    try:
        with open(path, "rb") as stream:
            return json.load(stream)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{path} is no GeoJSON file ({error}); give a FeatureCollection, a Feature or a geometry"
        ) from error


def write_collection(path: str | Path, collection: dict[str, Any]) -> None:
    """Write a GeoJSON object to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .geojson or .json.
    collection : dict
        The object.

    Raises
    ------
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "GeoJSON")
    with atomic_write(path) as stream:
        stream.write(packed(collection) + b"\n")


def write_features(path: str | Path, features: Iterable[dict[str, Any]]) -> None:
    """Write features to a file, one after the other, so that they need not be in memory together.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .geojson or .json; it appears only when it is complete.
    features : iterable of dict
        The features.

    Raises
    ------
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "GeoJSON")
    with atomic_write(path) as stream:
        stream.write(b'{"type":"FeatureCollection","features":[')
        for at, feature in enumerate(features):
            stream.write(b",\n" if at else b"\n")
            stream.write(packed(feature))
        stream.write(b"\n]}\n")


def packed(value: Any) -> bytes:
    """Return a value as JSON without spaces."""
    # ASCII only: names may hold bytes that are no UTF-8, and \u escapes carry them through any reader.
    return _ENCODER.encode(value).encode("ascii")
