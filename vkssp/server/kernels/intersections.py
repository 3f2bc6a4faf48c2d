"""Compiled part of `vkssp.server.answers.intersections`: intersections as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkssp.jit import jit, jit_part

#: Bytes of an intersection without its streets and notes, and of a street, at the most.
MOST, MOST_OF_STREET = 110, 11
_MICRO = 1e6
_ZERO, _MINUS, _POINT, _COMMA, _E, _SIX = 48, 45, 46, 44, 101, 54
# Splits a double into two of half its digits (Dekker 1971).
_SPLIT = 134217729.0


@jit_part
def put_text(text: Any, letters: Any, size: Any) -> Any:
    """Write a text; return the size after it."""
    for at in range(len(text)):
        letters[size + at] = text[at]
    return size + len(text)


@jit_part
def put_whole(value: Any, letters: Any, size: Any) -> Any:
    """Write a whole number, which is not negative; return the size after it."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for at in range(size + digits - 1, size - 1, -1):
        letters[at] = _ZERO + value % 10
        value //= 10
    return size + digits


@jit_part
def micro(degrees: Any) -> Any:
    """Return the absolute value of degrees in microdegrees, rounded as `round` of Python does with six decimals."""
    degrees = abs(degrees)
    product = degrees * _MICRO
    low = math.floor(product)
    if product - low != 0.5:
        return np.int64(math.floor(product + 0.5)) if product - low > 0.5 else np.int64(low)
    # The exact product is not the middle, but rounded to it: the error tells the side.
    high = degrees * _SPLIT - (degrees * _SPLIT - degrees)
    error = high * _MICRO - product + (degrees - high) * _MICRO
    if error == 0.0:
        return np.int64(low) + np.int64(low) % 2
    return np.int64(low) + (error > 0.0)


@jit_part
def put_degrees(degrees: Any, letters: Any, size: Any) -> Any:
    """Write degrees with six decimals, without zeros at the end; return the size after them."""
    if degrees < 0.0 or (degrees == 0.0 and math.copysign(1.0, degrees) < 0.0):
        letters[size] = _MINUS
        size += 1
    value = micro(degrees)
    if 0 < value < 10:  # as the JSON of other numbers has it
        letters[size], letters[size + 1], letters[size + 2] = _ZERO + value, _E, _MINUS
        letters[size + 3] = _SIX
        return size + 4
    size = put_whole(value // 1000000, letters, size)
    letters[size] = _POINT
    rest, digits = value % 1000000, 6
    while digits > 1 and rest % 10 == 0:
        rest //= 10
        digits -= 1
    for at in range(size + digits, size, -1):
        letters[at] = _ZERO + rest % 10
        rest //= 10
    return size + 1 + digits


@jit
def put_intersections(
    points: Any,
    first: Any,
    bearings: Any,
    entry: Any,
    ways: Any,
    notes: Any,
    note_first: Any,
    note_text: Any,
    words: Any,
    word_first: Any,
    letters: Any,
    begin: Any,
) -> int:
    """Write intersections as objects of JSON, a comma after each; return the number of bytes.

    `notes` has for each intersection the number of a text in `note_text`, from `note_first` on, that ends the object.
    `words` are the texts between the values, from `word_first` on. `begin` gets where each object begins, and the end.
    """
    location = words[word_first[0] : word_first[1]]
    after_location = words[word_first[1] : word_first[2]]
    after_bearings = words[word_first[2] : word_first[3]]
    came, out = words[word_first[3] : word_first[4]], words[word_first[4] : word_first[5]]
    true, false = words[word_first[5] : word_first[6]], words[word_first[6] : word_first[7]]
    size = 0
    for row in range(len(points)):
        begin[row] = size
        size = put_text(location, letters, size)
        size = put_degrees(points[row, 1], letters, size)
        letters[size] = _COMMA
        size = put_degrees(points[row, 0], letters, size + 1)
        size = put_text(after_location, letters, size)
        for at in range(first[row], first[row + 1]):
            if at > first[row]:
                letters[size] = _COMMA
                size += 1
            size = put_whole(bearings[at], letters, size)
        size = put_text(after_bearings, letters, size)
        for at in range(first[row], first[row + 1]):
            if at > first[row]:
                letters[size] = _COMMA
                size += 1
            size = put_text(true if entry[at] else false, letters, size)
        letters[size] = 93
        size += 1
        for side in range(2):
            if ways[row, side] >= 0:
                size = put_text(out if side else came, letters, size)
                size = put_whole(ways[row, side], letters, size)
        note = notes[row]
        size = put_text(note_text[note_first[note] : note_first[note + 1]], letters, size)
    begin[len(points)] = size
    return size
