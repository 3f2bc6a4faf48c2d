"""Description of the services in the format OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkssp.server.parsing import WITH_BODY
from vkssp.server.requests import REQUESTS

_WHAT = {
    "route": "Best routes through coordinates in the given order",
    "nearest": "Points on streets that are nearest to coordinates",
    "table": "Durations and distances between all coordinates",
    "match": "Routes along which a trace leads",
    "trip": "Short trip through all coordinates",
}
_JSON = "application/json"
_ANSWERS = {
    "200": {"description": "The answer; its member code is Ok", "content": {_JSON: {"schema": {"type": "object"}}}},
    "400": {"description": "The request cannot be answered: the members code and message tell why"},
    "503": {"description": "Too many requests wait; the header Retry-After tells when to come back"},
}


def description(profiles: Sequence[str]) -> dict[str, Any]:
    """Return the description of a server that has some profiles."""
    profile = {
        "name": "profile",
        "in": "path",
        "required": True,
        "description": "How one travels" if len(profiles) > 1 else "Any name: the server has one profile",
        "schema": {"type": "string", **({"enum": list(profiles)} if len(profiles) > 1 else {})},
    }
    paths: dict[str, Any] = {}
    for service, kind in REQUESTS.items():
        names = sorted(kind.names())
        coordinates = _parameter("coordinates", "path", "LON,LAT;LON,LAT or polyline(...) or polyline6(...)")
        query = [_parameter(name, "query", f"See the guide on the server, {service}") for name in names]
        operation = {"summary": _WHAT[service], "responses": _ANSWERS}
        paths[f"/{service}/v1/{{profile}}/{{coordinates}}"] = {
            "get": {**operation, "parameters": [profile, coordinates, *query]}
        }
        if service in WITH_BODY:
            members: dict[str, dict[str, str]] = {name: {} for name in ("coordinates", *names)}
            schema = {"type": "object", "required": ["coordinates"], "properties": members}
            paths[f"/{service}/v1/{{profile}}"] = {"post": {**operation, "parameters": [profile], **_body(schema)}}
    isochrone = {"summary": "Areas that can be reached within some minutes, as GeoJSON", "responses": _ANSWERS}
    place = _parameter("place", "path", "LON,LAT")
    options = [
        _parameter("contours_minutes", "query", "Limits, separated by commas", required=True),
        _parameter("width", "query", "Metres to either side of a road that are part of the area"),
        _parameter("reverse", "query", "true for the area from which the place can be reached"),
    ]
    paths["/isochrone/v1/{profile}/{place}"] = {"get": {**isochrone, "parameters": [profile, place, *options]}}
    paths["/isochrone"] = {"post": {**isochrone, **_body({"type": "object", "required": ["locations", "contours"]})}}
    speeds = {"type": "object", "required": ["speeds"]}
    paths["/speeds"] = {
        "post": {
            "summary": "Change the speeds of OSM ways, in km/h",
            "security": [{"token": []}],
            "responses": {**_ANSWERS, "401": {"description": "The token is missing, or not the right one"}},
            **_body(speeds),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "vkssp", "version": "1"},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _parameter(name: str, place: str, told: str, *, required: bool | None = None) -> dict[str, Any]:
    is_required = place == "path" if required is None else required
    return {"name": name, "in": place, "required": is_required, "description": told, "schema": {"type": "string"}}


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {_JSON: {"schema": schema}}}}
