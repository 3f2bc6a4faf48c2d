"""DataFrames of pandas and GeoDataFrames of geopandas."""

from __future__ import annotations

from typing import Any

from vkssp.extras import optional
from vkssp.features.columns import Columns, plain
from vkssp.features.shapes import Shapes


def pandas_for(what: str) -> Any:
    """Return pandas, or raise `QueryError` that says how to install it; `what` needs it."""
    return optional("pandas", what, "pandas")


def dataframe(columns: Columns) -> Any:
    """Return columns as a pandas DataFrame; texts as objects, and integers some of which are missing as Int64."""
    pandas = pandas_for("DataFrames need")
    found = {}
    for name, column in columns.items():
        read = plain(column)
        if read.missing is not None and read.kind in ("int", "bool"):
            array = pandas.arrays.IntegerArray if read.kind == "int" else pandas.arrays.BooleanArray
            found[name] = array(read.values, read.missing)
        else:
            found[name] = read.values if column.dtype.kind in "OU" else column
    return pandas.DataFrame(found)


def geodataframe(columns: Columns, shapes: Shapes) -> Any:
    """Return columns and shapes as a GeoDataFrame in EPSG:4326; the shapes are the column ``geometry``."""
    geopandas = optional("geopandas", "GeoDataFrames need", "pandas")
    return geopandas.GeoDataFrame(dataframe(columns), geometry=shapes, crs="EPSG:4326")
