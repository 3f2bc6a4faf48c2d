"""Places as other libraries hold them: GeoDataFrames, DataFrames with latitudes and longitudes, shapely's points."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.checks import listed, shown, unmasked
from vkssp.errors import QueryError
from vkssp.features.shapes import in_degrees

#: Latitude and longitude in degrees.
LatLon = tuple[float, float]
#: Forms in which a place, and many places, may be given; see `pair_of` and `pairs_of`.
PlaceLike = Any
PlacesLike = Any
_PAIRS = "pairs of latitude and longitude"


def pairs_of(places: Any, name: str = "places") -> list[Any]:
    """Return places as a list of pairs of latitude and longitude.

    Parameters
    ----------
    places : object
        A list or an iterator of pairs, shapely Points or objects with ``lat`` and ``lon``, such as `Place`; an array
        with two columns; a GeoDataFrame or GeoSeries of points in any coordinate system, degrees if it has none; a
        DataFrame of pandas or polars, or a pyarrow Table, with columns ``lat`` and ``lon``; or an object with a list
        ``places``, such as `Cells`.
    name : str
        Name of the argument in errors.

    Returns
    -------
    list
        Pairs of floats; an item that is no place in any of these forms as it is.

    Raises
    ------
    QueryError
        If there is no list of places, if a table has no such columns, or if a shape is no point.
    FormatError
        If a coordinate system is not known.
    """
    if type(places) is list and all(type(place) is tuple for place in places):
        return list(places)
    places = unmasked(places, name, QueryError)
    within = getattr(places, "places", None)
    if isinstance(within, list | tuple):
        places = within
    if hasattr(places, "geometry") and hasattr(places, "crs"):
        return _of_shapes(in_degrees(np.array(list(places.geometry), object), places.crs, name), name)
    columns = getattr(places, "column_names", None) or getattr(places, "columns", None)
    if columns is not None and hasattr(places, "__getitem__") and not isinstance(places, np.ndarray):
        lacking = [column for column in ("lat", "lon") if column not in list(columns)]
        if lacking:
            raise QueryError(
                f"{name} has no column {lacking[0]}, only {shown([str(one) for one in columns])}; name them lat and lon"
            )
        return _of_columns(places["lat"], places["lon"], name)
    if isinstance(places, np.ndarray) and places.ndim == 2 and places.shape[1] == 2 and places.dtype.kind in "iuf":
        return _of_columns(places[:, 0], places[:, 1], name)
    return [pair_of(place) for place in listed(places, name, _PAIRS)]


def pair_of(place: Any) -> Any:
    """Return a shapely Point, or an object with ``lat`` and ``lon``, as a pair; anything else as it is.

    A place with conditions on its street, a `Stop`, also stays as it is.
    """
    if type(place) is tuple or place is None or hasattr(place, "approach"):
        return place
    kind = getattr(place, "geom_type", None)  # a Series of a GeoDataFrame has several
    if isinstance(kind, str) and kind == "Point":
        return place if place.is_empty else (float(place.y), float(place.x))
    lat, lon = getattr(place, "lat", None), getattr(place, "lon", None)
    return (lat, lon) if isinstance(lat, float) and isinstance(lon, float) else place


def _of_shapes(shapes: Any, name: str) -> list[LatLon]:
    for at, shape in enumerate(shapes.tolist()):
        if getattr(shape, "geom_type", None) != "Point" or shape.is_empty:
            kind = getattr(shape, "geom_type", "nothing")
            raise QueryError(f"{name}[{at}] is {'an empty ' * (kind == 'Point')}{kind}; give points")
    return [(float(shape.y), float(shape.x)) for shape in shapes.tolist()]


def _of_columns(lat: Any, lon: Any, name: str) -> list[LatLon]:
    try:
        pairs = zip(np.asarray(lat, np.float64).tolist(), np.asarray(lon, np.float64).tolist(), strict=True)
        return list(pairs)
    except (TypeError, ValueError) as error:
        raise QueryError(f"{name} has lat and lon that are no numbers ({error}); give degrees") from error
