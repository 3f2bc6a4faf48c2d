"""Instructions that a map gives itself, at certain turns, as a flat array of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Kinds of manoeuvres, and modifiers; the array has their indices, -1 for a modifier that is not given.
KINDS = (
    "suppress", "turn", "continue", "new name", "merge", "on ramp", "off ramp", "fork", "end of road", "notification",
    "use lane",
)  # fmt: skip
MODIFIERS = ("uturn", "sharp right", "right", "slight right", "straight", "slight left", "left", "sharp left")


class Manoeuvre(NamedTuple):
    """Instruction for a traveller who passes some OSM ways one after the other.

    Attributes
    ----------
    node : int
        OSM node of the instruction.
    kind, modifier : int
        Indices into `KINDS` and `MODIFIERS`; -1 for a modifier that is not given.
    ways : tuple of int
        OSM ways passed, at least two.
    """

    node: int
    kind: int
    modifier: int
    ways: tuple[int, ...]


def packed(manoeuvres: tuple[Manoeuvre, ...]) -> npt.NDArray[np.int64]:
    """Return manoeuvres as an array: for each its node, kind, modifier, number of ways, and ways."""
    rows = [(one.node, one.kind, one.modifier, len(one.ways), *one.ways) for one in manoeuvres]
    return np.array([number for row in rows for number in row], np.int64)


def is_packed(array: npt.NDArray[np.int64]) -> bool:
    """Return whether an array holds manoeuvres as `packed` writes them."""
    if array.ndim != 1:
        return False
    at, numbers = 0, array.tolist()
    while at + 4 <= len(numbers):
        _, kind, modifier, size = numbers[at : at + 4]
        if not (0 <= kind < len(KINDS) and -1 <= modifier < len(MODIFIERS) and size >= 2):
            return False
        at += 4 + size
    return at == len(numbers)


def unpacked(array: npt.NDArray[np.int64]) -> tuple[Manoeuvre, ...]:
    """Return the manoeuvres of an array; see `packed`."""
    numbers, found, at = array.tolist(), [], 0
    while at + 4 <= len(numbers):
        node, kind, modifier, size = numbers[at : at + 4]
        found.append(Manoeuvre(node, kind, modifier, tuple(numbers[at + 4 : at + 4 + size])))
        at += 4 + size
    return tuple(found)
