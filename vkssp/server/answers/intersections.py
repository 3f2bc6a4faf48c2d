"""Intersections of steps as OSRM's answers have them, written by compiled code: a route has hundreds of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import orjson

from vkssp.jit import kernels
from vkssp.route import Crossings, Intersection, Intersections, Lane
from vkssp.server.answers.numbers import location

#: Texts between the values of an intersection, and its truth values.
_WORDS = (b'{"location":[', b'],"bearings":[', b'],"entry":[', b',"in":', b',"out":', b"true", b"false")
_WORD_FIRST = np.cumsum([0, *map(len, _WORDS)])
_ALL_WORDS = np.frombuffer(b"".join(_WORDS), np.uint8)


class IntersectionsJson:
    """JSON of intersections; those along a leg are written at once, when the first of its steps is asked for."""

    def __init__(self) -> None:
        self._of: Crossings | None = None
        self._text, self._begin = b"", list[int]()

    def of(self, intersections: Sequence[Intersection]) -> orjson.Fragment:
        """Return the JSON of the intersections of a step."""
        if not isinstance(intersections, Intersections):
            return orjson.Fragment(b"[%b]" % b",".join(map(_one, intersections)))
        if intersections.crossings is not self._of:
            self._of = intersections.crossings
            self._text, self._begin = _written(self._of)
        low, high = self._begin[intersections.begin], self._begin[intersections.end]
        return orjson.Fragment(b"[%b]" % self._text[low : max(low, high - 1)])


def _written(crossings: Crossings) -> tuple[bytes, list[int]]:
    """Return the intersections, a comma after each, and where each of them begins."""
    notes, texts = _notes(crossings)
    begin = np.empty(len(crossings.points) + 1, np.int64)
    note_first = np.cumsum([0, *map(len, texts)])
    module = kernels("vkssp.server.kernels.intersections")
    most = module.MOST * len(crossings.points) + module.MOST_OF_STREET * len(crossings.bearings)
    letters = np.empty(most + int(np.diff(note_first)[notes].sum()), np.uint8)
    size = module.put_intersections(
        *(crossings.points, crossings.first, crossings.bearings, crossings.entry, crossings.ways),
        *(notes, note_first, np.frombuffer(b"".join(texts), np.uint8), _ALL_WORDS, _WORD_FIRST, letters, begin),
    )
    return letters[:size].tobytes(), begin.tolist()


def _notes(crossings: Crossings) -> tuple[npt.NDArray[np.int64], list[bytes]]:
    """Return what ends the object of each intersection, as numbers of texts, and the texts."""
    notes, texts, numbers = np.zeros(len(crossings.points), np.int64), [b"},"], dict[object, int]()
    for row in sorted({*crossings.lanes, *np.flatnonzero(crossings.classes).tolist()}):
        lanes, bits = crossings.lanes.get(row, ()), int(crossings.classes[row])
        number = numbers.setdefault((lanes, bits), len(texts))
        if number == len(texts):
            told = orjson.dumps(_note(lanes, crossings.names_of(bits)))
            texts.append(b",%b," % told[1:])
        notes[row] = number
    return notes, texts


def _note(lanes: tuple[Lane, ...], classes: tuple[str, ...]) -> dict[str, object]:
    made: dict[str, object] = {}
    if lanes:
        made["lanes"] = [{"indications": lane.indications, "valid": lane.valid} for lane in lanes]
    if classes:
        made["classes"] = classes
    return made


def _one(one: Intersection) -> bytes:
    """Return the JSON of an intersection that is an object."""
    made: dict[str, object] = {"location": location(one.lat, one.lon), "bearings": one.bearings, "entry": one.entry}
    for name, index in (("in", one.came), ("out", one.out)):
        if index is not None:
            made[name] = index
    return orjson.dumps(made | _note(one.lanes, one.classes))
