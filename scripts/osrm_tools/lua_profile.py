"""Profiles of vkssp for the profiles of OSRM, which are Lua programs.

A program is not run. The profile that it is based on is known by name, and assignments of constants in its text, such
as ``profile.turn_penalty = 10``, become keys of a profile that extends this one. Everything else is left out.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).with_name("profiles")
_BUILT_IN = Path(__file__).parents[2] / "vkssp" / "osm" / "profiles"
_TOKEN = re.compile(
    r"--\[\[.*?\]\]|--[^\n]*|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<mark>==|~=|<=|>=|\.\.\.?|[^\s\w])",
    re.DOTALL,
)
_REQUIRED = re.compile(r"require\s*\(?\s*[\"'](\w+)[\"']")
_FUNCTION = re.compile(r"function\s+(?:functions\.)?(\w+)|functions\.(\w+)\s*=\s*function")


class NoEdgesError(ValueError):
    """A profile gives no way a weight, so that no graph is left."""


class _NotConstantError(Exception):
    """A value is not a constant."""


class _Tokens:
    """Tokens of a program, with a place."""

    def __init__(self, text: str) -> None:
        self._all = [(m.lastgroup, m.group()) for m in _TOKEN.finditer(text) if m.lastgroup]
        self.at = 0

    def next_is(self, *texts: str) -> bool:
        found = [text for _, text in self._all[self.at : self.at + len(texts)]]
        return found == list(texts)

    def take(self) -> tuple[str | None, str]:
        if self.at >= len(self._all):
            raise _NotConstantError
        self.at += 1
        return self._all[self.at - 1]

    @property
    def done(self) -> bool:
        return self.at >= len(self._all)


def _primary(tokens: _Tokens) -> Any:
    kind, text = tokens.take()
    if kind == "text":
        return text[1:-1]
    if kind == "number":
        return float(text) if re.search(r"[.eE]", text) else int(text)
    if text == "-":
        return -_primary(tokens)
    if text in ("true", "false", "nil"):
        return {"true": True, "false": False, "nil": None}[text]
    if text in ("Set", "Sequence") and tokens.next_is("{"):
        return _primary(tokens)
    if text == "{":
        return _table(tokens)
    raise _NotConstantError


def _value(tokens: _Tokens) -> Any:
    found = _primary(tokens)
    while isinstance(found, (int, float)) and any(tokens.next_is(mark) for mark in "*/+-"):
        _, mark = tokens.take()
        other = _primary(tokens)
        found = {"*": found * other, "/": found / other, "+": found + other, "-": found - other}[mark]
    return found


def _table(tokens: _Tokens) -> Any:
    items: list[Any] = []
    keyed: dict[str, Any] = {}
    while not tokens.next_is("}"):
        start = tokens.at
        kind, name = tokens.take()
        if name == "[":
            key = str(_primary(tokens))
            if tokens.take()[1] != "]" or tokens.take()[1] != "=":
                raise _NotConstantError
            keyed[key] = _value(tokens)
        elif kind == "name" and tokens.next_is("="):
            tokens.take()
            keyed[name] = _value(tokens)
        else:
            tokens.at = start
            items.append(_value(tokens))
        if tokens.next_is(",") or tokens.next_is(";"):
            tokens.take()
    tokens.take()
    if not keyed:
        return items
    for item in items:  # as in Sequence { highway = {...} }, or in lists of tables
        keyed |= item if isinstance(item, dict) else {str(item): True}
    return keyed


def _assignments(text: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the targets and values of assignments of constants to fields, as in ``profile.size.height = 2``."""
    tokens = _Tokens(text)
    while not tokens.done:
        kind, name = tokens.take()
        if kind != "name":
            continue
        path = [name]
        while tokens.next_is(".") or tokens.next_is("["):
            _, mark = tokens.take()
            kind, part = tokens.take()
            if mark == "[" and not (kind == "text" and tokens.next_is("]")):
                break
            path.append(part.strip("\"'"))
            if mark == "[":
                tokens.take()
        if len(path) > 1 and tokens.next_is("="):
            tokens.take()
            start = tokens.at
            try:
                yield tuple(path), _value(tokens)
            except _NotConstantError:
                tokens.at = start


def _functions(text: str) -> dict[str, str]:
    """Return the texts of the functions that are named like those of a profile, from each name to the next."""
    found = list(_FUNCTION.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match[1] or match[2]: text[match.end() : end] for match, end in zip(found, ends, strict=True)}


Tables = dict[str, Any]


def _names(value: Any) -> list[str]:
    return list(value) if isinstance(value, (list, dict)) else []


def _put(tables: Tables, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        tables = tables.setdefault(parent, {})
    tables[last] = value


def _avoid(value: Any) -> Iterator[tuple[str, Any]]:
    names = _names(value)
    known = {"area", "reversible", "impassable", "hov_lanes", "construction", "proposed", "toll", "motorroad"}
    yield "areas", "area" not in names
    yield "access.carpool_roads_restricted", "hov_lanes" in names
    yield "closed.highway", [name for name in names if name not in known]
    for key in ("toll", "motorroad"):
        if key in names:
            yield f"closed.{key}", ["yes"]


def _whole(key: str) -> Callable[[Any], Iterator[tuple[str, Any]]]:
    """Return what makes a key of the value; `nil` takes the key away."""

    def make(value: Any) -> Iterator[tuple[str, Any]]:
        yield key, value

    return make


def _texts(key: str) -> Callable[[Any], Iterator[tuple[str, Any]]]:
    def make(value: Any) -> Iterator[tuple[str, Any]]:
        yield key, _names(value)

    return make


def _weight_name(value: Any) -> Iterator[tuple[str, Any]]:
    yield "weight.name", value


#: What constants that functions give to ways and to pieces of them are in the profiles of vkssp.
_FIXED: Mapping[tuple[str, str], str] = {
    ("result", "duration"): "way_seconds",
    ("result", "weight"): "way_weight",
    ("result", "forward_rate"): "rate",
    ("result", "backward_rate"): "rate_back",
    ("segment", "duration"): "piece_seconds",
    ("segment", "weight"): "piece_weight",
}

#: What fields of OSRM's profiles are in those of vkssp; tables replace those of the profile that is extended.
_FIELDS: Mapping[str, Callable[[Any], Iterator[tuple[str, Any]]]] = {
    "properties.weight_name": _weight_name,
    "properties.weight_precision": _whole("weight.precision"),
    "properties.traffic_signal_penalty": _whole("turns.seconds.traffic_signals"),
    "properties.u_turn_penalty": _whole("turns.u_turn"),
    "properties.left_hand_driving": _whole("left_hand"),
    "properties.mode_change_penalty": _whole("weight.dismount"),
    "turn_penalty": _whole("turns.penalty"),
    "turn_bias": _whole("turns.bias"),
    "default_speed": _whole("default_speed"),
    "vehicle_max_speed": _whole("highest_speed"),
    "vehicle_height": _whole("size.height"),
    "vehicle_width": _whole("size.width"),
    "vehicle_length": _whole("size.length"),
    "vehicle_weight": _whole("size.weight"),
    "speed_reduction": _whole("limits.share"),
    "side_road_multiplier": _whole("weight.factors.side_road.yes"),
    "lane_markings_penalty": _whole("weight.two_way.lane_markings.no"),
    "service_penalties": _whole("weight.factors.service"),
    "route_speeds": _whole("route_speeds"),
    "bridge_speeds": _whole("bridge_speeds"),
    "surface_speeds": _whole("caps.surface"),
    "tracktype_speeds": _whole("caps.tracktype"),
    "smoothness_speeds": _whole("caps.smoothness"),
    "bicycle_speeds": _whole("speeds.highway"),
    "barrier_penalties": _whole("barriers.seconds"),
    "barrier_whitelist": _texts("barriers.open"),
    "barrier_blacklist": _texts("barriers.blocked"),
    "access_tags_hierarchy": _texts("access.keys"),
    "access_tag_whitelist": _texts("access.open"),
    "restrictions": _texts("turns.vehicles"),
    "construction_whitelist": _texts("harmless_construction"),
    "avoid": _avoid,
    "speeds": _whole("speeds"),
    "classes": _whole("classes"),
}


def _tables_of(text: str, base: Tables) -> Tables:
    """Return the tables that a program changes in a profile; `without` are the keys that it takes away."""
    found: Tables = {}
    without: list[str] = []
    functions = _functions(text)
    setup = functions.get("setup", "")

    def has(key: str) -> bool:
        at: Any = base
        for part in key.split("."):
            at = at.get(part) if isinstance(at, dict) else None
        return at is not None

    for (owner, *path), value in _assignments(setup):
        if owner != "profile":
            continue
        name = ".".join(path)
        for key, made in _FIELDS[name](value) if name in _FIELDS else ():
            if key == "classes":
                kept = set(_names(made))
                without += [f"classes.{one}" for one in base.get("classes", {}) if one not in kept]
                for one in _names(made):
                    if one not in base.get("classes", {}):
                        _put(found, f"classes.{one}", {})
                continue
            if (made is None or isinstance(made, dict)) and has(key):
                without.append(key)
            if made is not None:
                _put(found, key, made)
    way = functions.get("process_way", "")
    if not re.search(r"\bif\b|\bprocess_way", way):  # nothing depends on tags
        if "result.name" not in way and way:
            found["named"] = False
        _put_fixed(found, way, "result")
    _put_fixed(found, text, "segment")
    name = found.get("weight", {}).get("name", "duration")
    weighs = {"way_weight", "rate", "rate_back", "piece_weight"} & set(found.get("fixed", {}))
    # Of other names, weights do not follow from speeds; `setup` alone does not give them.
    if way and "result" in way and not re.search(r"\bif\b|\bprocess_way", way):
        if name not in ("duration", "distance") and not weighs:
            raise NoEdgesError("There are no edges remaining after parsing.")
    if without:
        found["without"] = without
    return found


def _put_fixed(tables: Tables, text: str, owner: str) -> None:
    """Put in the constants that a function gives to each way, or to each piece of a way."""
    for (name, *path), value in _assignments(text):
        key = _FIXED.get((owner, path[-1])) if name == owner else None
        if key is not None:
            _put(tables, f"fixed.{key}", value)


def _base_of(path: Path, text: str) -> str | None:
    """Return the name of the profile that a program is, or is based on."""
    names = [path.stem, *_REQUIRED.findall(text)]
    return next((name for name in names if (_FOLDER / f"{name}.toml").exists()), None)


def _read(path: Path) -> Tables:
    """Return the tables of a profile with those that it extends."""
    tables = tomllib.loads(path.read_text())
    base = tables.get("extends")
    if base is None:
        return tables
    here = path.parent / base if (path.parent / base).exists() else _BUILT_IN / f"{base}.toml"
    return _merge(_read(here), tables)


def _merge(base: Tables, over: Tables) -> Tables:
    both = {
        key: _merge(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in over.items()
    }
    return base | both


def _lines(tables: Tables, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield tables as lines of TOML."""
    if path:
        yield f"[{'.'.join(map(_quoted, path))}]"
    for key, value in tables.items():
        if not isinstance(value, dict):
            yield f"{_quoted(key)} = {_written(value)}"
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _lines(value, (*path, key))


def _quoted(text: Any) -> str:
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_written, value)) + "]"
    return str(value) if isinstance(value, (int, float)) else _quoted(value)


def profile_of(path: Path) -> Path:
    """Return the file of a profile of vkssp that does what a Lua profile does, as far as data can say it."""
    text = path.read_text()
    name = _base_of(path, text)
    if name is None:
        raise ValueError(f"{path} is based on none of the profiles that are known")
    base = _FOLDER / f"{name}.toml"
    if name == path.stem:
        return base
    tables = {"extends": str(base), **_tables_of(text, _read(base))}
    written = "\n".join(_lines(tables)) + "\n"
    folder = Path(tempfile.gettempdir()) / "vkssp-lua-profiles"
    folder.mkdir(exist_ok=True)
    made = folder / f"{name}-{hashlib.sha256(written.encode()).hexdigest()[:16]}.toml"
    made.write_text(written)
    return made
