"""Parameters of requests: how each is written in a URL, and in a JSON body.

Both become the same values, so that a request has the same answer either way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from vkssp.server.areas import areas_of_geojson, areas_of_text
from vkssp.server.errors import RequestError
from vkssp.server.requests import ROUTE_ANNOTATIONS, TABLE_ANNOTATIONS

#: A number, which has no exponent. The point that follows it may be that of a format.
NUMBER = r"-?(?:\d+(?:\.\d+|\.(?![jf]))?|\.\d+)"
#: Bounds of the whole numbers in bearings, of indices, and of seconds since 1970.
_SHORT, _INDEX = 2**15, 2**32


class Parameter(NamedTuple):
    """Parameter of a request.

    Attributes
    ----------
    pattern : re.Pattern
        What its value in a URL begins with.
    read : callable
        Makes a value of the text that the pattern matches; raises `ValueError` if it is out of bounds.
    take : callable
        Makes a value of that in a JSON body, whose name is its first argument; raises `RequestError`.
    begun : re.Pattern or None
        What may follow the part that the pattern matches if an entry of a list is not complete.
    """

    pattern: re.Pattern[str]
    read: Callable[[str], Any]
    take: Callable[[str, Any], Any]
    begun: re.Pattern[str] | None = None


def _refused(told: str) -> RequestError:
    return RequestError("InvalidQuery", told)


def _whole(text: str, bound: int) -> int:
    if len(text) > 11 or not -bound <= (value := int(text)) < bound:
        raise ValueError
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flag() -> Parameter:
    def take(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise _refused(f"{name} must be a boolean")
        return value

    return Parameter(re.compile("true|false"), "true".__eq__, take)


def _word(*words: str) -> Parameter:
    def take(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise _refused(f"{name} must be a string")
        if value not in words:
            raise _refused(f"invalid {name} value")
        return value

    longest_first = sorted(words, key=len, reverse=True)
    return Parameter(re.compile("|".join(longest_first)), str, take)


def _number() -> Parameter:
    def take(name: str, value: Any) -> float:
        if not _is_number(value) or not math.isfinite(number := float(value)):
            raise _refused(f"{name} must be a number")
        return number

    return Parameter(re.compile(NUMBER), float, take)


def _count() -> Parameter:
    def take(name: str, value: Any) -> int:
        if not _is_whole(value) or not 0 <= value < _INDEX:
            raise _refused(f"{name} must be a non-negative integer")
        return int(value)

    return Parameter(re.compile(r"\d+"), lambda text: _whole(text, _INDEX), take)


def _indices(all_word: str | None = None) -> Parameter:
    def read(text: str) -> tuple[int, ...] | None:
        return None if text == all_word else tuple(_whole(part, _INDEX) for part in text.split(";"))

    def take(name: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list):
            raise _refused(f"{name} must be an array of indices")
        if not all(_is_whole(index) and 0 <= index < _INDEX for index in value):
            raise _refused(f"{name} entries must be non-negative integers")
        if not value:
            raise _refused(f"{name} must have at least one entry")
        return tuple(value)

    some = r"\d+(?:;\d+)*"
    return Parameter(re.compile(some if all_word is None else f"{all_word}|{some}"), read, take)


def _each(entry: str, read: Callable[[str], Any], take: Callable[[Any], Any], begun: str | None = None) -> Parameter:
    """Return a parameter that is a list with an entry for each coordinate, which may be empty."""

    def read_all(text: str) -> list[Any]:
        return [read(part) if part else None for part in text.split(";")]

    def take_all(name: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _refused(f"{name} must be an array")
        return [None if part is None else take(part) for part in value]

    return Parameter(
        re.compile(f"(?:{entry})?(?:;(?:{entry})?)*"), read_all, take_all, None if begun is None else re.compile(begun)
    )


def _bearings() -> Parameter:
    def read(text: str) -> tuple[int, int]:
        bearing, _, around = text.partition(",")
        return _whole(bearing, _SHORT), _whole(around, _SHORT)

    def take(value: Any) -> tuple[int, int]:
        if not (isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))):
            raise _refused("each bearing must be null or an array of two integers")
        return value[0], value[1]

    return _each(r"-?\d{1,5},-?\d{1,5}(?!\d)", read, take, r"-?\d{1,5}(?!\d),?")


def _radiuses() -> Parameter:
    def read(text: str) -> float:
        return math.inf if text == "unlimited" else float(text)

    def take(value: Any) -> float:
        if value == "unlimited":
            return math.inf
        if not _is_number(value):
            raise _refused('each radius must be null, a number or "unlimited"')
        return float(value)

    return _each(f"unlimited|{NUMBER}", read, take)


def _hints() -> Parameter:
    def take(value: Any) -> str:
        if not isinstance(value, str):
            raise _refused("each hint must be null or a string")
        return value

    return _each(r"[A-Za-z0-9_-]{16,}={0,2}", str, take)


def _approaches() -> Parameter:
    words = ("unrestricted", "curb", "opposite")

    def take(value: Any) -> str:
        if value not in words:
            raise _refused("invalid approach value")
        return str(value)

    return _each("|".join(words), str, take)


def _exclude() -> Parameter:
    def take(name: str, value: Any) -> tuple[str, ...]:
        if not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            raise _refused("exclude must be an array of strings")
        return tuple(value)

    return Parameter(re.compile(r"[A-Za-z0-9]+(?:,[A-Za-z0-9]+)*"), lambda text: tuple(text.split(",")), take)


def _areas() -> Parameter:
    corner = f"{NUMBER},{NUMBER}"
    ring = rf"polyline6?\([?-~]*\)|{corner}(?:,{corner}){{2,}}"
    return Parameter(re.compile(f"(?:{ring})(?:;(?:{ring}))*"), areas_of_text, areas_of_geojson)


def _annotations(words: tuple[str, ...], *, or_flag: bool) -> Parameter:
    def read(text: str) -> tuple[str, ...]:
        return {"true": words, "false": ()}.get(text, tuple(text.split(","))) if or_flag else tuple(text.split(","))

    def take(name: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, bool) and or_flag:
            return words if value else ()
        if not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            raise _refused(f"annotations must be {'a boolean or ' * or_flag}an array of strings")
        if not set(value) <= set(words):
            raise _refused("invalid annotation value")
        return tuple(value)

    one = "|".join(words)
    return Parameter(re.compile(f"{'true|false|' * or_flag}(?:{one})(?:,(?:{one}))*"), read, take)


def _alternatives() -> Parameter:
    def read(text: str) -> int:
        return {"true": 1, "false": 0}[text] if text in ("true", "false") else _whole(text, _INDEX)

    def take(name: str, value: Any) -> int:
        if isinstance(value, bool):
            return int(value)
        if not _is_whole(value) or not 0 <= value < _INDEX:
            raise _refused("alternatives must be a boolean or a non-negative integer")
        return int(value)

    return Parameter(re.compile(r"true|false|\d+"), read, take)


def _flag_or_default() -> Parameter:
    def take(name: str, value: Any) -> bool | None:
        if isinstance(value, bool):
            return value
        if value != "default":
            raise _refused(f'{name} must be a boolean or "default"')
        return None

    return Parameter(
        re.compile("default|true|false"), {"default": None, "true": True, "false": False}.__getitem__, take
    )


#: All parameters by name, and those of tables that differ.
PARAMETERS: dict[str, Parameter] = {
    "bearings": _bearings(),
    "radiuses": _radiuses(),
    "hints": _hints(),
    "approaches": _approaches(),
    "exclude": _exclude(),
    "avoid": _areas(),
    "metric": _word("duration", "distance", "weight"),
    "generate_hints": _flag(),
    "skip_waypoints": _flag(),
    "snapping": _word("default", "any"),
    "number": _count(),
    "steps": _flag(),
    "annotations": _annotations(ROUTE_ANNOTATIONS, or_flag=True),
    "geometries": _word("polyline", "polyline6", "geojson"),
    "overview": _word("simplified", "full", "by_legs", "false"),
    "alternatives": _alternatives(),
    "continue_straight": _flag_or_default(),
    "waypoints": _indices(),
    "sources": _indices("all"),
    "destinations": _indices("all"),
    "fallback_speed": _number(),
    "fallback_coordinate": _word("input", "snapped"),
    "scale_factor": _number(),
    "timestamps": _indices(),
    "gaps": _word("split", "ignore"),
    "tidy": _flag(),
    "source": _word("any", "first"),
    "destination": _word("any", "last"),
    "roundtrip": _flag(),
}
_OF_TABLES = {"annotations": _annotations(TABLE_ANNOTATIONS, or_flag=False)}


def parameters_of(service: str, names: frozenset[str]) -> dict[str, Parameter]:
    """Return the parameters of a service that has those with some names."""
    differing = _OF_TABLES if service == "table" else {}
    return {name: differing.get(name, PARAMETERS[name]) for name in names}
