"""Files of the points on streets that are nearest to a place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vkssp.checks import listed
from vkssp.features.features import Features
from vkssp.features.files import GEOJSON_ENDINGS, SHAPE_ENDINGS, check_ending, write_layers
from vkssp.features.geojson import write_collection
from vkssp.route import Place
from vkssp.routing.geojson import checked_snapped, places_geojson


def check_nearest_ending(path: str | Path) -> str:
    """Return the ending of a file's name if points on streets can be written to it; see `write_nearest`.

    Raises
    ------
    FormatError
        If the ending is not known.
    QueryError
        If a library that writes the format is not installed.
    """
    return check_ending(path, (*SHAPE_ENDINGS, ".csv"), "points on streets")


def write_nearest(path: str | Path, places: Sequence[Place]) -> None:
    """Write points on streets, as `Router.nearest` returns them, to a file.

    Parameters
    ----------
    path : str or Path
        The file, which appears only when it is complete. Its ending says what is written: .geojson or .json; .gpkg
        (GeoPackage), .fgb (FlatGeobuf), .shp or .shp.zip (Shapefile), .parquet (GeoParquet), .kml, .gpx or .csv.
    places : sequence of Place
        The points.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError
        If `places` are no such points, or a library that writes the format is not installed.
    """
    if check_nearest_ending(path) in GEOJSON_ENDINGS:
        write_collection(path, places_geojson(places))
        return
    given = listed(places, "places", "places that Router.nearest returns")
    write_layers(path, [Features.of([checked_snapped(place) for place in given], "nearest")])
