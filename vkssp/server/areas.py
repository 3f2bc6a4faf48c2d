"""Areas that requests avoid: as rings in a URL, or as GeoJSON in a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkssp.errors import QueryError
from vkssp.routing.areas import read_areas
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.polyline import decoded

#: Members of GeoJSON objects that hold other objects.
_INSIDE = {"Feature": "geometry", "FeatureCollection": "features", "GeometryCollection": "geometries"}
_MOST_DEPTH = 8


@dataclass(frozen=True)
class RequestedAreas:
    """Areas as they were requested; not checked, apart from their size.

    Attributes
    ----------
    geojson : dict
        A GeoJSON object.
    areas, points : int
        Number of polygons in it, and of their corners.
    """

    geojson: dict[str, Any]
    areas: int
    points: int

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` if there are too many areas or corners."""
        for count, most, what in (
            (self.areas, limits.avoid_areas, "areas to avoid"),
            (self.points, limits.avoid_points, "corners of areas to avoid"),
        ):
            if 0 <= most < count:
                raise RequestError("TooBig", f"Number of {what} {count} is higher than current maximum ({most})")

    def read(self) -> Any:
        """Return the union of the areas, a shapely.Polygon or shapely.MultiPolygon.

        Raises
        ------
        RequestError
            If one of them is not valid.
        """
        try:
            return read_areas(self.geojson)
        except QueryError as error:
            raise RequestError("InvalidValue", str(error)) from error


def areas_of_text(text: str) -> RequestedAreas:
    """Return the areas of a URL: rings separated by ``;``, each an encoded polyline or ``LON,LAT,LON,LAT,...``."""
    rings = []
    for part in text.split(";"):
        if part.startswith("polyline"):
            precision, _, points = part[len("polyline") : -1].partition("(")
            rings.append(decoded(points, 6 if precision else 5)[:, ::-1].tolist())
        else:
            numbers = list(map(float, part.split(",")))
            rings.append([list(pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)])
    return areas_of_rings(rings)


def areas_of_rings(rings: list[list[list[float]]]) -> RequestedAreas:
    """Return areas without holes by the positions along their borders, of which the first need not be repeated."""
    closed = [ring if ring[:1] == ring[-1:] and len(ring) > 1 else [*ring, *ring[:1]] for ring in rings]
    geojson = {"type": "MultiPolygon", "coordinates": [[ring] for ring in closed]}
    return RequestedAreas(geojson, len(closed), sum(map(len, closed)))


def areas_of_geojson(name: str, value: Any) -> RequestedAreas:
    """Return the areas of a member of a JSON body, which is called `name`.

    Raises
    ------
    RequestError
        If the member is no GeoJSON object, or one that is nested more deeply than any with areas.
    """
    if not isinstance(value, dict):
        raise RequestError("InvalidQuery", f"{name} must be a GeoJSON object of polygons")
    areas, points = _size(name, value, 0)
    return RequestedAreas(value, areas, points)


def _size(name: str, value: object, depth: int) -> tuple[int, int]:
    """Return the number of polygons in a GeoJSON object and of their corners; what is malformed counts for little."""
    if depth > _MOST_DEPTH:
        raise RequestError("InvalidQuery", f"{name} is nested too deeply")
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str):
        return 0, 0
    if kind in _INSIDE:
        inside = value.get(_INSIDE[kind])
        sizes = [_size(name, one, depth + 1) for one in (inside if isinstance(inside, list) else [inside])]
        return sum(areas for areas, _ in sizes), sum(points for _, points in sizes)
    coordinates = value.get("coordinates")
    polygons = _items(coordinates) if kind == "MultiPolygon" else [coordinates]
    return len(polygons), sum(len(_items(ring)) for polygon in polygons for ring in _items(polygon))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
