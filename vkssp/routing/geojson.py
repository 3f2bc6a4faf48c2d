"""Routes and places as GeoJSON (RFC 7946)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkssp.checks import instance, listed
from vkssp.features.geojson import number, position
from vkssp.route import Place
from vkssp.route_file import route_geojson, route_json, write_geojson

__all__ = ["places_geojson", "route_geojson", "route_json", "write_geojson"]


def places_geojson(places: Sequence[Place]) -> dict[str, Any]:
    """Return the points on streets that `Router.nearest` finds as a GeoJSON FeatureCollection.

    Parameters
    ----------
    places : sequence of Place
        The points.

    Returns
    -------
    dict
        A point on a street for each place, with `name` (the name of the street), `asked` (the position of the given
        place) and `snapped_m` (the distance between the two in metres).
    """
    features = [
        {
            "type": "Feature",
            "properties": {
                "name": place.name,
                "snapped_m": number(place.snapped_m),
                "asked": position(place.lat, place.lon),
            },
            "geometry": {"type": "Point", "coordinates": position(place.snapped_lat, place.snapped_lon)},
        }
        for place in map(checked_snapped, listed(places, "places", "places that Router.nearest returns"))
    ]
    return {"type": "FeatureCollection", "features": features}


def checked_snapped(place: object) -> Place:
    """Return an argument that must be a `Place`."""
    return instance(place, Place, "a place", "give places that Router.nearest returns")
