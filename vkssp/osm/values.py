"""Values of OpenStreetMap tags as numbers: speeds, durations, lengths and weights.

Every function here returns None for text that it does not understand, so that the caller can count the text and treat
the tag as absent. People write tags by hand, in the units of their country.
"""

from __future__ import annotations

import math
import re

_MILE = 1.609  # kilometres; the value that OSRM uses, 0.02% below the exact one
_KNOT = 1.852

#: Speed that "no limit" stands for, in km/h.
_UNLIMITED = 140.0

#: Highest limit on road signs in km/h; a higher value is a typing error.
_HIGHEST_LIMIT = 250.0

#: Lowest limit on road signs in km/h.
_LOWEST_LIMIT = 1.0

#: Longest duration, a week, in seconds; no ferry takes longer.
_LONGEST = 7 * 86400.0

#: Limits that hold in most countries, in km/h.
_IMPLICIT = {"urban": 50.0, "rural": 90.0, "trunk": 110.0, "motorway": 130.0}

#: Countries (and regions) that differ; 0 if the law sets no limit, so that the road's class gives the speed.
_IMPLICIT_EXCEPTIONS = {
    "ar": {"urban": 40.0, "rural": 110.0},
    "at": {"rural": 100.0, "trunk": 100.0},
    "be": {"motorway": 120.0},
    "be-bru": {"rural": 70.0, "urban": 30.0},
    "be-vlg": {"rural": 70.0},
    "bg": {"motorway": 140.0},
    "by": {"urban": 60.0, "motorway": 110.0},
    "ca-on": {"rural": 80.0},
    "ch": {"rural": 80.0, "trunk": 100.0, "motorway": 120.0},
    "de": {"living_street": 7.0, "rural": 100.0, "motorway": 0.0},
    "dk": {"rural": 80.0},
    "es": {"trunk": 90.0},
    "fr": {"rural": 80.0},
    "gb": {"nsl_single": 60 * _MILE, "nsl_dual": 70 * _MILE, "motorway": 70 * _MILE},
    "lv": {"living_street": 20.0},
    "nl": {"rural": 80.0, "trunk": 100.0},
    "no": {"rural": 80.0, "motorway": 110.0},
    "ph": {"urban": 40.0, "rural": 80.0, "motorway": 100.0},
    "pl": {"rural": 100.0, "expressway": 120.0, "motorway": 140.0},
    "ro": {"trunk": 100.0},
    "ru": {"living_street": 20.0, "urban": 60.0, "motorway": 110.0},
    "uk": {"nsl_single": 60 * _MILE, "nsl_dual": 70 * _MILE, "motorway": 70 * _MILE},
    "za": {"urban": 60.0, "rural": 100.0},
}

_SPEED_WORDS = {
    "none": _UNLIMITED,
    "walk": 5.0,
    # There is a limit, but its value is unknown.
    "signals": 0.0,
    "variable": 0.0,
    "sign": 0.0,
}

_SPEED_UNITS = {"mph": _MILE, "mp/h": _MILE, "knots": _KNOT, "knot": _KNOT, "kn": _KNOT}
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*(km/h|kmh|kph|kmph|mph|mp/h|knots?|kn)?")
_PLACE = re.compile(r"([a-z]{2}(?:-[a-z0-9]{1,3})?):(?:zone:?)?(.+)")

_CLOCK = re.compile(r"(\d+):([0-5]?\d)(?::([0-5]?\d))?")
_MINUTES = re.compile(r"\d+(?:\.\d+)?")
_ISO = re.compile(r"p(?=\d|t\d)(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?")

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_METRES = {"m": 1.0, "": 1.0, "cm": 0.01, "ft": 0.3048, "'": 0.3048, "in": 0.0254, '"': 0.0254}
_LENGTH = re.compile(_NUMBER + r"\s*(m|cm|ft|in|'|\"|)(?:\s*" + _NUMBER + r"\s*(?:in|\"))?")
_KILOGRAMS = {"": 1000.0, "t": 1000.0, "kg": 1.0, "lbs": 0.45359237, "lb": 0.45359237, "st": 907.18474}
_WEIGHT = re.compile(_NUMBER + r"\s*(t|kg|lbs|lb|st|)")
_NO_LIMIT = frozenset({"none", "no", "default", "unsigned", "no_sign", "no_indications", "below_default"})


def parse_speed(text: str) -> float | None:
    """Read a speed limit.

    Parameters
    ----------
    text : str
        A number in km/h or with a unit (``30 mph``), a list of which the first number counts (``50;30``), a word
        (``none``, ``walk``), or a place and a kind of road (``DE:urban``, ``IT:zone:30``).

    Returns
    -------
    float or None
        Limit in km/h; 0 if there is a limit of unknown value; None if the text makes no sense.
    """
    text = text.strip().lower()
    if text in _SPEED_WORDS:
        return _SPEED_WORDS[text]
    place = _PLACE.fullmatch(text)
    if place:
        country, kind = place.groups()
        limit = _IMPLICIT_EXCEPTIONS.get(country, {}).get(kind, _IMPLICIT.get(kind))
        if limit is not None:
            return limit
        if kind == "living_street":
            return 0.0
        text = kind
    items = [_SPEED.fullmatch(item.strip()) for item in text.split(";")]
    first, last = items[0], items[-1]
    if first is None:
        return None
    # In "30;20 mph" the unit applies to the whole list.
    unit = first[2] or (last[2] if last else None) or ""
    speed = float(first[1]) * _SPEED_UNITS.get(unit, 1.0)
    return speed if _LOWEST_LIMIT <= speed <= _HIGHEST_LIMIT else None


def parse_duration(text: str) -> float | None:
    """Read a duration: ``HH:MM``, ``HH:MM:SS``, minutes as a plain number, or ISO 8601 as in ``PT1H30M``.

    Returns
    -------
    float or None
        Seconds, above 0; None if the text makes no sense.
    """
    text = text.strip().lower()
    clock = _CLOCK.fullmatch(text)
    iso = _ISO.fullmatch(text)
    if clock:
        hours, minutes, rest = (float(part or 0) for part in clock.groups())
        seconds = hours * 3600 + minutes * 60 + rest
    elif _MINUTES.fullmatch(text):
        seconds = float(text) * 60
    elif iso:
        days, hours, minutes, rest = (float(part or 0) for part in iso.groups())
        seconds = days * 86400 + hours * 3600 + minutes * 60 + rest
    else:
        return None
    return seconds if 0 < seconds <= _LONGEST else None


def parse_length(text: str) -> float | None:
    """Read a length such as ``2.5``, ``2,5 m``, ``250 cm``, ``8 ft`` or ``6'7"``.

    Returns
    -------
    float or None
        Metres; infinity for words that say there is no limit; None if the text makes no sense.
    """
    text = text.strip().lower().replace("''", '"')
    if text in _NO_LIMIT:
        return math.inf
    match = _LENGTH.fullmatch(text)
    if match is None:
        return None
    number, unit, inches = match.groups()
    if inches and unit not in ("ft", "'"):
        return None
    return _decimal(number) * _METRES[unit] + _decimal(inches or "0") * _METRES["in"]


def parse_weight(text: str) -> float | None:
    """Read a weight such as ``3.5``, ``3.5 t``, ``2800 kg``, ``6000 lbs`` or ``8 st`` (short tons).

    Returns
    -------
    float or None
        Kilograms; infinity for words that say there is no limit; None if the text makes no sense.
    """
    text = text.strip().lower()
    if text in _NO_LIMIT:
        return math.inf
    match = _WEIGHT.fullmatch(text)
    return None if match is None else _decimal(match[1]) * _KILOGRAMS[match[2]]


def _decimal(number: str) -> float:
    return float(number.replace(",", "."))
