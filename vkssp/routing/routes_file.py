"""Files of the routes of many pairs, written some at a time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from vkssp.features.endings import ending_of
from vkssp.features.features import Features
from vkssp.features.files import GEOJSON_ENDINGS, SHAPE_ENDINGS, check_ending, write_layers
from vkssp.features.geojson import features_of, write_features
from vkssp.features.geoparquet import write_geoparquet
from vkssp.features.text_file import write_csv

_KINDS = ("LineString", "MultiLineString")


def check_routes_ending(path: str | Path) -> str:
    """Return the ending of a file's name if routes can be written to it; see `write_routes`.

    Raises
    ------
    FormatError
        If the ending is not known.
    QueryError
        If a library that writes the format is not installed.
    """
    return check_ending(path, (*SHAPE_ENDINGS, ".csv"), "routes")


def write_routes(path: str | Path, blocks: Iterable[Features]) -> None:
    """Write the features of routes to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file. .geojson, .parquet (GeoParquet) and .csv, which has the columns without the lines, are written while
        blocks are made, so that memory holds one block; .gpkg, .fgb, .shp, .shp.zip, .kml and .gpx at the end.
    blocks : iterable of Features
        Features with the same columns, as `Routes.features` returns them, at least one block.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError
        If a library that writes the format is not installed.
    """
    check_routes_ending(path)
    ending = ending_of(path)
    if ending in GEOJSON_ENDINGS:
        write_features(path, chain.from_iterable(features_of(block.columns, block.shapes) for block in blocks))
    elif ending == ".parquet":
        write_geoparquet(path, ((block.columns, block.shapes) for block in blocks), _KINDS)
    elif ending == ".csv":
        write_csv(path, (block.columns for block in blocks))
    else:
        write_layers(path, [_joined(list(blocks))])


def _joined(blocks: list[Features]) -> Features:
    """Return the features of blocks, one block after the other."""
    columns = {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}
    return Features(columns, np.concatenate([block.shapes for block in blocks]), blocks[0].name)
