"""Waypoints: the points on streets that coordinates are snapped to."""

from __future__ import annotations

from typing import Any

from vkssp.route import Place
from vkssp.server.answers.numbers import digits, location
from vkssp.server.requests import Request


def waypoint(place: Place, request: Request) -> dict[str, Any]:
    """Return a waypoint."""
    made: dict[str, Any] = {
        "location": location(place.snapped_lat, place.snapped_lon),
        "name": place.name,
        "distance": digits(place.snapped_m),
    }
    if request.generate_hints:
        made["hint"] = place.hint
    return made
