"""Files of features in the format that the ending of the name says."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import path_of
from vkssp.errors import FormatError
from vkssp.features.endings import ending_of
from vkssp.features.geojson import features_of, write_features
from vkssp.features.geoparquet import NEEDS, write_geoparquet
from vkssp.features.gpx_file import write_gpx
from vkssp.features.kml_file import write_kml
from vkssp.features.ogr_file import OGR_ENDINGS, pyogrio_for, write_ogr
from vkssp.features.text_file import write_csv, write_npy
from vkssp.files import is_nameless

if TYPE_CHECKING:
    from vkssp.features.features import Features

#: Endings of files with shapes, the same but for areas, and endings of files without shapes.
GEOJSON_ENDINGS = (".geojson", ".json")
AREA_ENDINGS = (*GEOJSON_ENDINGS, *OGR_ENDINGS, ".parquet", ".kml")
SHAPE_ENDINGS = (*AREA_ENDINGS, ".gpx")
VALUE_ENDINGS = (".csv", ".npy", ".parquet")
_NOT_GPX = {"Polygon", "MultiPolygon", "GeometryCollection"}


def check_ending(path: str | Path, endings: Sequence[str], what: str) -> str:
    """Return the ending of a file's name if it is one of some, and what writes such files is installed.

    Devices and pipes, such as /dev/stdout, get GeoJSON if their name has no ending of these.

    Parameters
    ----------
    path : str or Path
        The file.
    endings : sequence of str
        The endings of files that can hold the content.
    what : str
        The content, in errors.

    Raises
    ------
    FormatError
        If the name has another ending, or is empty.
    QueryError
        If a library that writes the format is not installed.
    """
    ending = ending_of(path_of(path))
    if not os.fspath(path):
        raise FormatError(f"the name of the file for {what} is empty; give one")
    if ending not in endings:
        if not is_nameless(path) or GEOJSON_ENDINGS[0] not in endings:
            raise FormatError(f"cannot write {what} to {path}: its name must end in one of {', '.join(endings)}")
        return GEOJSON_ENDINGS[0]
    if ending == ".shp" and not str(path).endswith(ending):
        # GDAL would write r.shp for r.SHP, and so perhaps over another file.
        raise FormatError(f"cannot write {what} to {path}: its name must end in .shp, in lower case")
    if ending == ".parquet":
        pyarrow_for(*NEEDS)
    elif ending in OGR_ENDINGS:
        pyogrio_for(path)
    return ending


def check_features_ending(path: str | Path, kinds: Collection[str], has_shapes: bool = True) -> str:
    """Return the ending of a file's name if features with shapes of some types, or without any, fit in; see above."""
    if not has_shapes:
        if ending_of(path_of(path)) in (*SHAPE_ENDINGS, *VALUE_ENDINGS) and ending_of(path) not in VALUE_ENDINGS:
            raise FormatError(
                f"cannot write {path}: the graph has no coordinates; write one of {', '.join(VALUE_ENDINGS)}"
            )
        return check_ending(path, VALUE_ENDINGS, "features without shapes")
    endings = AREA_ENDINGS if _NOT_GPX & set(kinds) else SHAPE_ENDINGS
    return check_ending(path, tuple(dict.fromkeys((*endings, *VALUE_ENDINGS))), "features")


def write_layers(path: str | Path, layers: Sequence[Features], route: Features | None = None) -> None:
    """Write layers of features to a file, which appears only when it is complete.

    GeoPackage, KML and GPX hold all layers, other files only the first one. The ending has been checked.

    Parameters
    ----------
    path : str or Path
        The file.
    layers : sequence of Features
        The layers, at least one.
    route : Features, optional
        Points that become the route of a GPX file.

    Raises
    ------
    FormatError
        If the file cannot be written, or the format cannot hold the features.
    """
    ending, first = ending_of(path), layers[0]
    if ending in OGR_ENDINGS:
        write_ogr(path, layers, ending)
    elif ending == ".parquet":
        write_geoparquet(path, [(first.table(), first.shapes)])
    elif ending == ".gpx":
        write_gpx(path, layers, route)
    elif ending == ".kml":
        write_kml(path, layers)
    elif ending == ".csv":
        write_csv(path, [first.table()])
    elif ending == ".npy":
        write_npy(path, first.columns)
    else:
        write_features(path, features_of(first.columns, first.shapes))
