"""Answers in flatbuffers, by OSRM's schema ``osrm.engine.api.fbresult``.

The format is described at https://flatbuffers.dev/internals/. Tables are made of the values of JSON answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from vkssp.extras import optional

#: Type of the content in answers over HTTP.
CONTENT_TYPE = "application/x-flatbuffers;schema=osrm.engine.api.fbresult"
#: Fields of tables in the order of their numbers. A type is that of a number, "text", "position", a "pair" of whole
#: numbers, or the name of a table; in brackets, a vector of it.
_TABLES: dict[str, dict[str, str]] = {
    "Result": {
        "error": "bool",
        "code": "Error",
        "data_version": "text",
        "waypoints": "[Waypoint]",
        "routes": "[Route]",
        "table": "Table",
        "groups": "[Group]",
    },
    "Error": {"code": "text", "message": "text"},
    "Group": {"is_known": "bool", "waypoints": "[Waypoint]", "error": "Error"},
    "Waypoint": {
        "hint": "text",
        "distance": "float32",
        "name": "text",
        "location": "position",
        "nodes": "pair",
        "matchings_index": "uint32",
        "waypoint_index": "uint32",
        "alternatives_count": "uint32",
        "trips_index": "uint32",
    },
    "Table": {
        "durations": "[float32]",
        "rows": "uint16",
        "cols": "uint16",
        "distances": "[float32]",
        "destinations": "[Waypoint]",
        "fallback_speed_cells": "[uint32]",
    },
    "Route": {
        "distance": "float32",
        "duration": "float32",
        "weight": "float32",
        "weight_name": "text",
        "confidence": "float32",
        "polyline": "text",
        "coordinates": "[position]",
        "legs": "[Leg]",
    },
    "Leg": {
        "distance": "float64",
        "duration": "float64",
        "weight": "float64",
        "summary": "text",
        "annotations": "Annotation",
        "steps": "[Step]",
        "polyline": "text",
        "coordinates": "[position]",
    },
    "Annotation": {
        "distance": "[uint32]",
        "duration": "[uint32]",
        "datasources": "[uint32]",
        "nodes": "[uint64]",
        "weight": "[uint32]",
        "speed": "[float32]",
        "metadata": "Metadata",
    },
    "Metadata": {"datasource_names": "[text]"},
    "Step": {
        "distance": "float32",
        "duration": "float32",
        "polyline": "text",
        "coordinates": "[position]",
        "weight": "float32",
        "name": "text",
        "ref": "text",
        "pronunciation": "text",
        "destinations": "text",
        "exits": "text",
        "mode": "text",
        "maneuver": "Maneuver",
        "intersections": "[Intersection]",
        "rotary_name": "text",
        "rotary_pronunciation": "text",
        "is_left_hand": "bool",
    },
    "Maneuver": {
        "location": "position",
        "bearing_before": "uint16",
        "bearing_after": "uint16",
        "type": "int8",
        "modifier": "int8",
        "exit": "uint8",
    },
    "Intersection": {
        "location": "position",
        "bearings": "[int16]",
        "classes": "[text]",
        "entry": "[bool]",
        "in": "uint32",
        "out": "uint32",
        "lanes": "[Lane]",
    },
    "Lane": {"indications": "[int8]", "valid": "bool"},
}
#: Types of manoeuvres and modifiers by their numbers.
_TYPES = (
    *("turn", "new name", "depart", "arrive", "merge", "on ramp", "off ramp", "fork", "end of road", "continue"),
    *("roundabout", "rotary", "roundabout turn", "notification", "exit roundabout", "exit rotary"),
)
_MODIFIERS = (
    *("none", "uturn", "sharp right", "right", "slight right", "straight", "slight left", "left", "sharp left"),
)
#: Index of a street of an intersection that there is not, and what a number of 16 bits can hold at the most.
_NONE, _MOST_SHORT = 2**32 - 1, 2**16 - 1


@cache
def is_installed() -> bool:
    """Return whether there is the package that is needed."""
    return find_spec("flatbuffers") is not None


def encoded(answer: Mapping[str, Any]) -> bytes:
    """Return an answer that would otherwise be written as JSON.

    Parameters
    ----------
    answer : mapping
        The answer of `vkssp.server.answers.answer` to a request for a route, a trip, a table, a trace or the nearest
        streets.
    """
    made: dict[str, Any] = {"data_version": answer.get("data_version")}
    routes = next((answer[name] for name in ("routes", "trips", "matchings") if name in answer), None)
    if routes is not None:
        made["routes"] = [_route(one) for one in routes]
    waypoints = next((answer[name] for name in ("waypoints", "tracepoints", "sources") if name in answer), None)
    if waypoints and "tracepoints" not in answer and not isinstance(waypoints[0], dict):
        made["groups"] = [*map(_group, waypoints)]
    elif waypoints is not None:
        made["waypoints"] = [{} if one is None else _waypoint(one) for one in waypoints]
    if "durations" in answer or "distances" in answer:
        made["table"] = _table(answer)
    return _written(made)


def encoded_error(code: str, message: str) -> bytes:
    """Return the answer of an error."""
    return _written({"error": True, "code": {"code": code, "message": message}})


def _waypoint(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "location": [one["location"]]}


def _group(found: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Return the streets near one of several coordinates, or the error where there are none."""
    if found is None:
        return {"error": {"code": "NoSegment", "message": "Could not find a matching segment for coordinate"}}
    return {"is_known": True, "waypoints": [*map(_waypoint, found)]}


def _table(answer: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in ("durations", "distances"):
        if name in answer:
            cells = np.asarray(answer[name], np.float64)
            made["rows"], made["cols"] = cells.shape
            made[name] = np.nan_to_num(cells).reshape(-1)  # where no route leads it is 0
    if "destinations" in answer:
        made["destinations"] = [*map(_waypoint, answer["destinations"])]
    if "fallback_speed_cells" in answer:
        made["fallback_speed_cells"] = np.asarray(answer["fallback_speed_cells"]).reshape(-1)
    return made


def _geometry(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of a route, a leg or a step, if it has any."""
    line = one.get("geometry")
    if line is None:
        return {}
    return {"polyline": line} if isinstance(line, str) else {"coordinates": line["coordinates"]}


def _route(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **_geometry(one), "legs": [_leg(leg) for leg in one["legs"]]}


def _leg(one: Mapping[str, Any]) -> dict[str, Any]:
    made = {**one, **_geometry(one), "summary": one["summary"] or None, "steps": [*map(_step, one["steps"])]}
    if "annotation" in one:
        made["annotations"] = one["annotation"]  # figures are whole numbers, but for speeds
    return made


def _step(one: Mapping[str, Any]) -> dict[str, Any]:
    maneuver = dict(one["maneuver"])
    maneuver |= {"location": [maneuver["location"]], "type": _TYPES.index(maneuver["type"])}
    maneuver["modifier"] = _modifier(maneuver.get("modifier"))
    return {
        **one,
        **_geometry(one),
        "maneuver": maneuver,
        "intersections": [*map(_intersection, orjson.loads(orjson.dumps(one["intersections"])))],  # written as JSON
        "is_left_hand": one["driving_side"] == "left",
    }


def _modifier(word: str | None) -> int:
    return _MODIFIERS.index(word) if word in _MODIFIERS else 0


def _intersection(one: Mapping[str, Any]) -> dict[str, Any]:
    lanes = [{**lane, "indications": [*map(_modifier, lane["indications"])]} for lane in one.get("lanes", ())]
    known = {"classes": (), "in": _NONE, "out": _NONE, **one}
    return {**known, "location": [one["location"]], "lanes": lanes}


def _written(result: Mapping[str, Any]) -> bytes:
    flatbuffers = optional("flatbuffers", "answers in flatbuffers need", "server")
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table_at(builder, "Result", result))
    return bytes(builder.Output())


def _table_at(builder: Any, name: str, values: Mapping[str, Any]) -> int:
    """Write a table of some values, without those that it has no fields for; return where it is."""
    fields = [(slot, kind, values.get(field)) for slot, (field, kind) in enumerate(_TABLES[name].items())]
    known = [(slot, kind, value) for slot, kind, value in fields if value is not None]
    # What tables refer to is written before them, and lies behind them; vectors of numbers lie next to them.
    others = sorted((one for one in known if not _is_inside(one[1])), key=lambda one: _is_inside(one[1][1:-1]))
    offsets = {slot: _offset(builder, kind, value) for slot, kind, value in others}
    builder.StartObject(len(fields))
    # The widest first, so that little is lost for alignment; a struct lies in the table.
    for slot, kind, value in sorted(known, key=lambda one: -_width(one[1])):
        if slot in offsets:
            builder.PrependUOffsetTRelativeSlot(slot, offsets[slot], 0)
        elif kind in ("position", "pair"):
            builder.PrependStructSlot(slot, _struct(builder, kind, value), 0)
        else:
            _put(builder, slot, kind, value)
    return int(builder.EndObject())


def _is_inside(kind: str) -> bool:
    return kind in ("position", "pair", "bool") or kind.startswith(("int", "uint", "float"))


def _width(kind: str) -> int:
    if kind in ("pair", "position", "float64"):
        return 16 if kind == "pair" else 8
    return np.dtype(kind).itemsize if _is_inside(kind) else 4


def _struct(builder: Any, kind: str, value: Any) -> int:
    if kind == "pair":
        builder.Prep(8, 16)
        for number in reversed(value):
            builder.PrependUint64(int(number))
    else:
        ((lon, lat),) = value
        builder.Prep(4, 8)
        builder.PrependFloat32(lat)
        builder.PrependFloat32(lon)
    return int(builder.Offset())


def _put(builder: Any, slot: int, kind: str, value: Any) -> None:
    put = getattr(builder, f"Prepend{kind.capitalize()}Slot")
    if kind == "bool":
        put(slot, bool(value), False)
    elif kind.startswith("float"):
        put(slot, float(value), 0.0)
    else:
        put(slot, min(int(value), _MOST_SHORT) if kind == "uint16" else int(value), 0)


def _offset(builder: Any, kind: str, value: Any) -> int:
    """Write what a field refers to; return where it is."""
    if kind == "text":
        return int(builder.CreateString(value))
    if kind in _TABLES:
        return _table_at(builder, kind, value)
    inside = kind[1:-1]
    if inside == "position":
        return _numbers(builder, _packed(value))
    if inside == "text":
        return _references(builder, [builder.CreateString(one) for one in value])
    if inside in _TABLES:
        return _references(builder, [_table_at(builder, inside, one) for one in value])
    return _numbers(builder, _as(inside, value))


def _packed(positions: Sequence[Any]) -> npt.NDArray[np.uint64]:
    """Return positions as numbers of 64 bits, whose halves are longitude and latitude."""
    pairs = np.ascontiguousarray(np.asarray(positions, "<f4").reshape(-1, 2))
    return pairs.view("<u8").reshape(-1)


def _as(kind: str, value: Any) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind == "f" and not kind.startswith("float"):
        array = np.floor(array)
    return np.ascontiguousarray(array.astype(np.dtype(kind).newbyteorder("<")))


def _numbers(builder: Any, array: npt.NDArray[Any]) -> int:
    return int(builder.CreateNumpyVector(array))


def _references(builder: Any, offsets: Iterable[int]) -> int:
    known = list(offsets)
    builder.StartVector(4, len(known), 4)
    for offset in reversed(known):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
