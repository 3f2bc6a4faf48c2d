"""Cells that cover the streets of a map, squares or hexagons, each with a place in it: origins of accessibility."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.checks import number_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.features.columns import Columns
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.features.shapes import cut_areas
from vkssp.graph.geo import METRES_PER_DEGREE, haversine
from vkssp.routing.places import LatLon
from vkssp.routing.snap import StreetIndex

# Widths of squares in metres.
_LEAST_M, _MOST_M = 10.0, 500_000.0
#: Finest and coarsest resolution of H3.
_RESOLUTIONS = 0, 15

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells with streets on which trips may begin and end, and a place on such a street in each.

    Attributes
    ----------
    ids : list of str
        Names of the cells, the same on every map: H3's, or the row and the column of a square, from the South Pole and
        the 180th meridian on.
    places : list of (float, float)
        Latitude and longitude in degrees of the point on a street that is nearest to the middle of the cell.
    shapes : numpy.ndarray
        The cells as shapely polygons, longitude and latitude in degrees, shape (k,). Longitudes of cells at the 180th
        meridian may exceed 180 degrees.
    """

    __repr__ = brief

    ids: list[str]
    places: list[LatLon]
    shapes: npt.NDArray[Any]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.ids)

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks; `features` draws values."""
        return drawing([self.features()], repr(self))

    def features(self, columns: Columns | None = None) -> Features:
        """Return the cells as features with values, such as their accessibility; cut at the 180th meridian.

        Parameters
        ----------
        columns : mapping of str to array_like, optional
            Values of each cell by the names of columns.

        Returns
        -------
        Features
            With the names of the cells in the column ``id``.

        Raises
        ------
        QueryError
            If a column has not a number or a text for each cell.
        """
        return Features.of_places(self.places, columns, self.ids, shapes=cut_areas(self.shapes), name="cells")

    def to_geodataframe(self, columns: Columns | None = None) -> Any:
        """Return the cells with values as a geopandas GeoDataFrame in EPSG:4326; see `features`.

        Raises
        ------
        QueryError
            As `features`, or if geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return self.features(columns).to_geodataframe()

    def write(self, path: str | Path, columns: Columns | None = None) -> None:
        """Write the cells with values to a file; see `features` and `Features.write`."""
        self.features(columns).write(path)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The cells as a GeoJSON FeatureCollection."""
        return self.features().__geo_interface__


def grid(index: StreetIndex, metres: float) -> Cells:
    """Return the squares of a grid that has streets in it; see `vkssp.Router.grid`."""
    import shapely

    width = number_of(metres)
    if width is None or not _LEAST_M <= width <= _MOST_M:
        raise QueryError(f"metres is {shown(metres)}; give the width of squares, {_LEAST_M:g} to {_MOST_M:g}")
    rows = round(180.0 * METRES_PER_DEGREE / width)
    height = 180.0 / rows

    def columns_of(row: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        # As many squares as go round the Earth in the middle of the row, at least one.
        middle = np.cos(np.radians((row + 0.5) * height - 90.0))
        found: npt.NDArray[np.int64] = np.maximum(1, np.rint(360.0 * middle / height)).astype(np.int64)
        return found

    def cell_of(points: Floats) -> Ids:
        row = np.clip(np.floor((points[:, 0] + 90.0) / height), 0, rows - 1).astype(np.int64)
        columns = columns_of(row)
        column = np.floor((points[:, 1] + 180.0) % 360.0 / 360.0 * columns).astype(np.int64)
        return row << 32 | np.minimum(column, columns - 1)

    def bounds(ids: Ids) -> tuple[Ids, Ids, npt.NDArray[Any], npt.NDArray[Any]]:
        row, column = (ids >> 32).astype(np.int64), (ids & 0xFFFFFFFF).astype(np.int64)
        return row, column, row * height - 90.0, 360.0 / columns_of(row)

    def middle_of(ids: Ids) -> Floats:
        _, column, south, span = bounds(ids)
        return np.stack([south + height / 2, (column + 0.5) * span - 180.0], axis=1)

    ids, places = _nearest_points(index.points_along(width / 4), cell_of, middle_of)
    row, column, south, span = bounds(ids)
    west = column * span - 180.0
    shapes = shapely.box(west, south, west + span, south + height)
    return Cells([f"{a}/{b}" for a, b in zip(row.tolist(), column.tolist(), strict=True)], places, shapes)


def hexagons(index: StreetIndex, resolution: int) -> Cells:
    """Return the hexagons of H3 that have streets in them; see `vkssp.Router.hexagons`."""
    import shapely

    level = whole_number(resolution, "resolution", *_RESOLUTIONS, "give a resolution of H3, 0 to 15, such as 8")
    h3 = optional("h3.api.basic_int", "hexagons need", "hexagons", "take squares, which need nothing")

    def cell_of(points: Floats) -> Ids:
        return np.array([h3.latlng_to_cell(lat, lon, level) for lat, lon in points.tolist()], np.int64)

    def middle_of(ids: Ids) -> Floats:
        return np.array([h3.cell_to_latlng(cell) for cell in ids.tolist()], np.float64).reshape(-1, 2)

    edge = h3.average_hexagon_edge_length(level, "m")
    ids, places = _nearest_points(index.points_along(edge / 2), cell_of, middle_of)
    rings = []
    for cell, (_, middle) in zip(ids.tolist(), middle_of(ids).tolist(), strict=True):
        ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
        rings.append([(lon + 360.0 * round((middle - lon) / 360.0), lat) for lon, lat in ring])
    shapes = np.array([shapely.Polygon(ring) for ring in rings], object)
    return Cells([h3.int_to_str(cell) for cell in ids.tolist()], places, shapes)


def _nearest_points(
    points: Floats, cell_of: Callable[[Floats], Ids], middle_of: Callable[[Ids], Floats]
) -> tuple[Ids, list[LatLon]]:
    """Return the cells of points, ascending, and in each the point that is nearest to its middle."""
    cells = cell_of(points)
    ids, which = np.unique(cells, return_inverse=True)
    metres = haversine(*points.T, *middle_of(ids)[which].T)
    order = np.lexsort((metres, which))
    first = order[np.searchsorted(which[order], np.arange(len(ids)))]
    return ids, [(lat, math.remainder(lon, 360.0)) for lat, lon in points[first].tolist()]
