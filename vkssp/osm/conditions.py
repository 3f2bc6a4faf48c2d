"""Conditions of tags: at which times something holds, in the grammar of opening hours.

Understood are years, months, days, weeks, days of the week and times, in lists and ranges, with ``off`` and with later
rules that override earlier ones, as in ``Mo-Fr 07:00-09:30,16:00-18:30; Sa[1] off``. Times of the sun are not
understood, nor are conditions on vehicles. Holidays are not known, so that no day is one.
See https://wiki.openstreetmap.org/wiki/Opening_hours/specification and .../Conditional_restrictions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTES = 24 * 60
_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", "|".join(_MONTHS), "|".join(_DAYS)
_CLOCK = r"(\d{1,2}):(\d\d)"
_TIME = re.compile(rf"{_CLOCK}\s*(?:-\s*{_CLOCK}(\+)?|(\+))")
_YEARS = re.compile(rf"({_YEAR})(?:\s*(-)\s*({_YEAR})|(\+))?(?![\d:])(?!\s*(?:{_MONTH}))")
_DATES = re.compile(
    rf"(?:({_YEAR})\s*)?({_MONTH})(?:\s*(\d\d?)(?![\d:]))?"
    rf"(?:\s*(-)\s*(?:({_YEAR})\s*)?(?:({_MONTH})(?:\s*(\d\d?)(?![\d:]))?|(\d\d?)(?![\d:])))?"
)
_WEEKS = re.compile(r"(\d\d?)(?:\s*-\s*(\d\d?)(?:\s*/\s*(\d\d?))?)?(?![\d:])")
_WEEKDAYS = re.compile(rf"({_DAY})(?:\s*-\s*({_DAY})|\s*\[([-\d,\s]+)\])?|PH|SH")

#: Whether a day counts, and the same of a list of such tests.
_OfDay = Callable[[date], bool]


@dataclass(frozen=True)
class _Rule:
    """Days, the minutes of them from and to which the rule holds, and how it changes the rules before it."""

    days: tuple[_OfDay, ...]
    minutes: tuple[tuple[int, int], ...]
    opens: bool
    overrides: bool

    def holds(self, minute: int) -> bool:
        return any(start <= minute < end for start, end in self.minutes)

    def counts(self, day: date) -> bool:
        return all(test(day) for test in self.days)


class NotUnderstoodError(ValueError):
    """A condition is not in the grammar."""


class Condition:
    """Condition on the time.

    Parameters
    ----------
    text : str
        The condition without parentheses, such as ``Mo-Fr 07:00-10:30``; several may be joined by ``AND``.

    Raises
    ------
    NotUnderstoodError
        If it is not in the grammar, or is about something else than the time.
    """

    def __init__(self, text: str) -> None:
        self._all = [tuple(_rules(part)) for part in re.split(r"\s+AND\s+", text.strip(), flags=re.IGNORECASE)]
        if not all(self._all):
            raise NotUnderstoodError(text)

    def holds(self, local: datetime) -> bool:
        """Return whether the condition holds at a local time."""
        minute, today = local.hour * 60 + local.minute, local.date()
        # A time such as 22:00-06:00 belongs to the day on which it begins.
        return all(
            _holds(rules, today, minute) or _holds(rules, today - timedelta(1), minute + _MINUTES)
            for rules in self._all
        )


def _holds(rules: tuple[_Rule, ...], day: date, minute: int) -> bool:
    found = False
    for rule in rules:
        if rule.counts(day):
            inside = rule.holds(minute)
            if not rule.opens:
                found = found and not inside
            else:
                found = inside or (found and not rule.overrides)
    return found


class _Text:
    """Text with a place."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text.strip(), 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match at the place, and go behind it and the blanks that follow."""
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
            while self._text[self._at : self._at + 1].isspace():
                self._at += 1
        return found

    def list(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of a list with commas; a comma before something else is left."""
        found = self.take(pattern)
        while found is not None:
            yield found
            before = self._at
            found = self.take(pattern) if self.take(_COMMA) else None
            if found is None:
                self._at = before

    @property
    def done(self) -> bool:
        return self._at == len(self._text)


_COMMA, _WEEK, _OFF, _ON = (re.compile(text) for text in (",", r"week\b", r"(?:off|closed)\b", r"open\b"))
_ALWAYS, _COLON = re.compile("24/7"), re.compile(":")


def _rules(text: str) -> Iterator[_Rule]:
    """Yield the rules of a condition."""
    for whole in text.split(";"):
        if not whole.strip():
            continue
        rest, overrides = _Text(whole), True
        while True:
            yield _rule(rest, overrides=overrides)
            if rest.done:
                break
            if not rest.take(_COMMA):
                raise NotUnderstoodError(text)
            overrides = False


def _rule(rest: _Text, *, overrides: bool) -> _Rule:
    days = []
    always = rest.take(_ALWAYS) is not None
    for first, pattern, test in (
        (None, _YEARS, _in_years),
        (None, _DATES, _in_dates),
        (_WEEK, _WEEKS, _in_weeks),
        (None, _WEEKDAYS, _on_weekdays),
    ):
        if first is None or rest.take(first):
            found = [test(match) for match in rest.list(pattern)]
            if found:
                days.append(_any(found))
    rest.take(_COLON)
    minutes = [_minutes(match) for match in rest.list(_TIME)]
    off = rest.take(_OFF) is not None
    if not off:
        rest.take(_ON)
    if not (always or days or minutes or off):
        raise NotUnderstoodError
    return _Rule(tuple(days), tuple(minutes) or ((0, _MINUTES),), not off, overrides)


def _any(tests: list[_OfDay]) -> _OfDay:
    return lambda day: any(test(day) for test in tests)


def _number(text: str, low: int, high: int) -> int:
    if not low <= int(text) <= high:
        raise NotUnderstoodError
    return int(text)


def _minutes(match: re.Match[str]) -> tuple[int, int]:
    start = _number(match[1], 0, 24) * 60 + _number(match[2], 0, 59)
    if match[3] is None or match[5]:  # open end
        return start, _MINUTES
    end = _number(match[3], 0, 48) * 60 + _number(match[4], 0, 59)
    return start, end if end > start else end + _MINUTES


def _in_years(match: re.Match[str]) -> _OfDay:
    first = int(match[1])
    last = 9999 if match[4] else int(match[3] or first)
    return lambda day: first <= day.year <= last


def _in_dates(match: re.Match[str]) -> _OfDay:
    year, month, day_of, to, last_year, last_month, last_day, day_only = match.groups()
    begin = _MONTHS.index(month) + 1, _number(day_of, 1, 31) if day_of else 1
    if to is None:
        end = begin[0], begin[1] if day_of else 31
    elif day_only:
        if not day_of:
            raise NotUnderstoodError
        end = begin[0], _number(day_only, 1, 31)
    else:
        end = _MONTHS.index(last_month) + 1, _number(last_day, 1, 31) if last_day else 31
    if year:
        first = int(year), *begin
        last = int(last_year or int(year) + (end < begin)), *end
        return lambda day: first <= (day.year, day.month, day.day) <= last
    if begin <= end:
        return lambda day: begin <= (day.month, day.day) <= end
    return lambda day: begin <= (day.month, day.day) or (day.month, day.day) <= end


def _in_weeks(match: re.Match[str]) -> _OfDay:
    first = _number(match[1], 1, 53)
    last, step = _number(match[2] or match[1], 1, 53), _number(match[3] or "1", 1, 53)
    return lambda day: first <= day.isocalendar()[1] <= last and (day.isocalendar()[1] - first) % step == 0


def _on_weekdays(match: re.Match[str]) -> _OfDay:
    if match[1] is None:  # a holiday
        return lambda day: False
    first = _DAYS.index(match[1])
    if match[3]:
        return _of_month(first, match[3])
    last = _DAYS.index(match[2]) if match[2] else first
    length = (last - first) % 7
    return lambda day: (day.weekday() - first) % 7 <= length


def _of_month(weekday: int, text: str) -> _OfDay:
    """Return the test for the first, second, ... weekday of a month; negative numbers count from its end."""
    numbers: set[int] = set()
    for part in re.sub(r"\s", "", text).split(","):
        match = re.fullmatch(r"(-?[1-5])(?:-([1-5]))?", part)
        if match is None:
            raise NotUnderstoodError
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))

    def test(day: date) -> bool:
        after = (day.replace(day=28) + timedelta(4)).replace(day=1)
        from_end = -(((after - day).days - 1) // 7 + 1)
        return day.weekday() == weekday and not numbers.isdisjoint({(day.day - 1) // 7 + 1, from_end})

    return test


def conditional_values(text: str) -> list[tuple[str, Condition]]:
    """Return the values of a conditional tag and their conditions, such as ``no_left_turn @ (Mo-Fr 07:00-10:30)``.

    Values whose conditions are not understood are left out.
    """
    found = []
    for match in re.finditer(r"([^@;()]+)@\s*(?:\(([^()]*)\)|([^;()]*))", text):
        try:
            found.append((match[1].strip(), Condition(match[2] if match[2] is not None else match[3])))
        except NotUnderstoodError:
            continue
    return found
