"""Description of the services in the format OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkssp.server.fbresult import CONTENT_TYPE
from vkssp.server.own import ACCESSIBILITY, CONTOURS, ISOCHRONE, OPPORTUNITIES
from vkssp.server.parsing import WITH_BODY
from vkssp.server.requests import REQUESTS, ROUTE_ANNOTATIONS, TABLE_ANNOTATIONS

_WHAT = {
    "route": "Best routes through coordinates in the given order",
    "nearest": "Points on streets that are nearest to coordinates",
    "table": "Durations and distances between all coordinates",
    "match": "Routes along which a trace leads",
    "trip": "Short trip through all coordinates",
}
_JSON, _GEOJSON = "application/json", {"type": "object", "description": "GeoJSON with polygons"}
_ERRORS = {
    "400": {"description": "The request cannot be answered: the members code and message tell why"},
    "503": {"description": "Too many requests wait; the header Retry-After tells when to come back"},
}
_ANSWERS: dict[str, Any] = {
    "200": {"description": "The answer; its member code is Ok", "content": {_JSON: {"schema": {"type": "object"}}}},
    **_ERRORS,
}
_BASEMAP = "Coast, water, glaciers, rivers and names of places, as the live map draws them"
_KEPT: dict[str, Any] = {
    "200": {"description": "The basemap; the header ETag names it", "content": {_JSON: {"schema": {"type": "object"}}}},
    "204": {"description": "The graph has no basemap"},
    "304": {"description": "The basemap is the one that If-None-Match names"},
    **_ERRORS,
}
#: What the server tells about itself, and the media type of it.
_OF_SERVER = {
    "/health": ("Whether the process answers", _JSON),
    "/ready": ("Whether requests are taken", _JSON),
    "/metrics": ("Figures of the server in the text format of Prometheus", "text/plain"),
    "/openapi.json": ("This description", _JSON),
}
_CONTENT = {_JSON: {"schema": {"type": "object"}}, CONTENT_TYPE: {"schema": {}}}
_OSRM_ANSWERS = {**_ANSWERS, "200": {**_ANSWERS["200"], "content": _CONTENT}}
_FLAG, _NUMBER, _COUNT = {"type": "boolean"}, {"type": "number"}, {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}


def _word(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _array(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _each(of: dict[str, Any]) -> dict[str, Any]:
    return _array({"oneOf": [of, {"type": "null"}]})


_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_PLACES = {"oneOf": [_array(_PAIR), _TEXT], "description": "[LON, LAT] of each place, or an encoded polyline"}
#: What parameters mean, and what they are in a body; in a URL lists are texts, with ; or , between their entries.
_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bearings": ("Direction of the street at each coordinate and its range, in degrees", _each(_PAIR)),
    "radiuses": (
        "Largest distance of the street from each coordinate in metres, or unlimited",
        _each({"oneOf": [_NUMBER, _word("unlimited")]}),
    ),
    "hints": ("Hints of earlier answers, for each coordinate", _each(_TEXT)),
    "approaches": ("Side of the street of each coordinate", _each(_word("unrestricted", "curb", "opposite"))),
    "exclude": ("Classes of streets to leave out, separated by commas", _array(_TEXT)),
    "avoid": ("Areas to avoid: rings LON,LAT,LON,LAT,... or polyline6(...), separated by semicolons", _GEOJSON),
    "metric": ("What routes minimize; by default the weights of the graph", _word("duration", "distance", "weight")),
    "generate_hints": ("Whether waypoints have hints", _FLAG),
    "skip_waypoints": ("Whether waypoints are left out", _FLAG),
    "snapping": ("any for streets on which no trip begins, such as ferries, too", _word("default", "any")),
    "number": ("Number of results", _COUNT),
    "steps": ("Whether legs have instructions", _FLAG),
    "annotations": (
        f"Figures of pieces of legs: true, false or some of {', '.join(ROUTE_ANNOTATIONS)}; of tables "
        f"{', '.join(TABLE_ANNOTATIONS)}",
        {"oneOf": [_FLAG, _array(_word(*ROUTE_ANNOTATIONS))]},
    ),
    "geometries": ("Format of lines", _word("polyline", "polyline6", "geojson")),
    "overview": ("How exact the line of the whole route is", _word("simplified", "full", "by_legs", "false")),
    "alternatives": ("Number of alternatives", {"oneOf": [_FLAG, _COUNT]}),
    "continue_straight": ("Whether routes go on straight at waypoints", {"oneOf": [_FLAG, _word("default")]}),
    "waypoints": ("Numbers of the coordinates at which legs begin and end", _array(_COUNT)),
    "sources": ("Numbers of the coordinates that are sources", _array(_COUNT)),
    "destinations": ("Numbers of the coordinates that are destinations", _array(_COUNT)),
    "fallback_speed": ("Speed along a straight line where no route leads", _NUMBER),
    "fallback_coordinate": ("Ends of that line", _word("input", "snapped")),
    "scale_factor": ("Factor of durations", _NUMBER),
    "timestamps": ("Seconds since 1970 of each coordinate", _array(_COUNT)),
    "gaps": ("What is done where the trace has a gap", _word("split", "ignore")),
    "tidy": ("Whether coordinates that add nothing are left out", _FLAG),
    "source": ("Where the trip begins", _word("any", "first")),
    "destination": ("Where the trip ends", _word("any", "last")),
    "roundtrip": ("Whether the trip returns to where it began", _FLAG),
    "reverse": ("Whether trips lead in the other direction", _FLAG),
    "contours_minutes": ("Limits in minutes, separated by commas", _TEXT),
    "contours_meters": ("Limits in metres, along the shortest routes", _TEXT),
    "contours_weights": ("Limits in weights of the graph", _TEXT),
    "width": ("Metres to either side of a road that are part of the area", _NUMBER),
    "coordinates": (
        "LON,LAT;LON,LAT or polyline(...) or polyline6(...); .flatbuffers after them for that format",
        _PLACES,
    ),
    "format": ("Format of the answer", _word("json", "flatbuffers")),
    "origins": ("Where trips begin", _PLACES),
    "opportunities": ("Where trips lead", _PLACES),
    "weights": (
        "A number for each opportunity, or an array of numbers; 1 by default",
        _array({"oneOf": [_NUMBER, _array(_NUMBER)]}),
    ),
    "limits": ("Limits in seconds, in metres if the metric is distance, or in weights", _array(_NUMBER)),
    "limit": ("Limit in seconds, in metres if the metric is distance, or in weights", _NUMBER),
    "decays": (
        "Decays with the same",
        _array(
            {
                "type": "object",
                "required": ["function"],
                "properties": {
                    "function": _word("exponential", "gaussian", "power", "linear", "table"),
                    **{name: _NUMBER for name in ("scale", "exponent", "least", "limit")},
                    **{name: _array(_NUMBER) for name in ("distances", "weights")},
                },
            }
        ),
    ),
}


def description(profiles: Sequence[str], *, has_live_map: bool) -> dict[str, Any]:
    """Return the description of a server that has some profiles, and perhaps the live map."""
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
        operation = {"summary": _WHAT[service], "responses": _OSRM_ANSWERS}
        given = [profile, _parameter("coordinates", "path"), *(_parameter(name, "query") for name in names)]
        paths[f"/{service}/v1/{{profile}}/{{coordinates}}"] = {"get": {**operation, "parameters": given}}
        if service in WITH_BODY:
            body = _body(("coordinates", "format", *names), "coordinates")
            paths[f"/{service}/v1/{{profile}}"] = {"post": {**operation, "parameters": [profile], **body}}
    tile: dict[str, Any] = {
        "200": {"description": "The tile", "content": {"application/x-protobuf": {"schema": {}}}},
        **_ERRORS,
    }
    numbers: list[Any] = [
        {"name": name, "in": "path", "required": True, "schema": _COUNT} for name in ("x", "y", "zoom")
    ]
    paths["/tile/v1/{profile}/tile({x},{y},{zoom}).mvt"] = {
        "get": {
            "summary": "Vector tile of the streets, at zooms 12 to 19",
            "parameters": [profile, *numbers],
            "responses": tile,
        }
    }
    isochrone = {
        "summary": "Areas that can be reached within some minutes or metres, as GeoJSON",
        "responses": _ANSWERS,
    }
    place = {"name": "place", "in": "path", "required": True, "description": "LON,LAT", "schema": _TEXT}
    options = [_parameter(name, "query") for name in ISOCHRONE]
    needed = f"One of {', '.join(CONTOURS)} is required"
    paths["/isochrone/v1/{profile}/{place}"] = {
        "get": {**isochrone, "description": needed, "parameters": [profile, place, *options]}
    }
    valhalla = {"type": "object", "required": ["locations", "contours"]}
    paths["/isochrone"] = {"post": {**isochrone, "description": "As Valhalla takes it", **_content(valhalla)}}
    for service, summary, members in (
        ("accessibility", "How much can be reached from places: sums over opportunities", ACCESSIBILITY),
        ("opportunities", "Opportunities that are nearest to places", OPPORTUNITIES),
    ):
        body = _body(members, "origins", "opportunities")
        asked: dict[str, Any] = {"summary": summary, "parameters": [profile], "responses": _ANSWERS, **body}
        paths[f"/{service}/v1/{{profile}}"] = {"post": asked}
    if has_live_map:
        paths["/map/basemap/{profile}"] = {"get": {"summary": _BASEMAP, "parameters": [profile], "responses": _KEPT}}
    for path, (summary, media) in _OF_SERVER.items():
        told = {"description": summary, "content": {media: {"schema": {}}}}
        unready = {"503": _ERRORS["503"]} if path == "/ready" else {}
        paths[path] = {"get": {"summary": summary, "responses": {"200": told, **unready}}}
    speeds = {
        "type": "object",
        "required": ["speeds"],
        "properties": {"profile": _TEXT, "speeds": {"type": "object", "additionalProperties": _NUMBER}},
    }
    paths["/speeds"] = {
        "post": {
            "summary": "Change the speeds of OSM ways, in km/h",
            "security": [{"token": []}],
            "responses": {**_ANSWERS, "401": {"description": "The token is missing, or not the right one"}},
            **_content(speeds),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "vkssp", "version": "1"},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _parameter(name: str, place: str) -> dict[str, Any]:
    told, schema = _PARAMETERS[name]
    is_one = schema.get("type") in ("boolean", "number", "integer", "string")
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": told,
        "schema": schema if is_one else _TEXT,
    }


def _body(names: Sequence[str], *required: str) -> dict[str, Any]:
    members = {name: {"description": told, **schema} for name in names for told, schema in [_PARAMETERS[name]]}
    return _content({"type": "object", "required": list(required), "properties": members})


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {_JSON: {"schema": schema}}}}
