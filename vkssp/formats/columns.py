"""Columns of numbers in a file: conversion and checks of node ids, weights and coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkssp.checks import number_of, shown
from vkssp.errors import QueryError
from vkssp.formats.numeric_text import Array
from vkssp.generate.checks import MOST_NODES, draw_weights, stream, weight_range
from vkssp.graph import UNREACHABLE, Uint32s


@dataclass(frozen=True)
class Ids:
    """Column of node ids from 1 to a number that the file gives."""

    count: int
    said: str
    real: bool = False

    def convert(self, values: Array) -> Uint32s:
        """Return ids counted from 0."""
        low, high = values.min(), values.max()
        if low < 1 or high > self.count:
            node = low if low < 1 else high
            raise ValueError(f"node {node:.0f} is out of range; {self.said} {self.count} nodes, 1 to {self.count}")
        ids: Uint32s = values.astype(np.uint32)
        ids -= np.uint32(1)
        return ids


@dataclass(frozen=True)
class AnyIds:
    """Column of node ids that may be any whole numbers from 0 to a given number."""

    most: int
    real: bool = False

    def convert(self, values: Array) -> Array:
        """Return the ids unchanged, as uint32 if they fit, else as int64."""
        low, high = values.min(), values.max()
        if low < 0 or high > self.most:
            raise ValueError(f"node {low if low < 0 else high:.0f} is out of range; ids go from 0 to {self.most}")
        return values.astype(np.uint32 if high < 2**32 else np.int64)


@dataclass(frozen=True)
class Weights:
    """Column of whole weights; a `scale` multiplies them and rounds to the nearest whole number, halves to even."""

    scale: float | None
    real: bool = True

    def convert(self, values: Array) -> Uint32s:
        """Return weights that a graph can hold."""
        if values.dtype.kind == "i" and values.max() == np.iinfo(np.int64).max:  # it stands for all larger numbers
            raise ValueError("there is a number that is too large")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"weight {values[~np.isfinite(values)][0]} is not finite")
        if self.scale is not None:
            with np.errstate(over="ignore"):  # infinite products are refused below as too large
                scaled = np.rint(values * self.scale)
        else:
            scaled = values
            if values.dtype.kind == "f" and (values != np.trunc(values)).any():
                raise ValueError(
                    f"weight {values[values != np.trunc(values)][0]} is not whole; "
                    "give a scale (--scale), such as 1000, by which all are multiplied before they are rounded"
                )
        if values.min() < 0:  # also weights that would be rounded to 0
            raise ValueError(f"weight {values.min()} is negative; shortest paths need weights of 0 and more")
        if scaled.max() >= UNREACHABLE:
            smaller = "a scale that makes" if self.scale is None else "a smaller scale, so that it makes"
            raise ValueError(
                f"weight {values.max()} is too large; the largest is {UNREACHABLE - 1}: give {smaller} all smaller"
            )
        return scaled.astype(np.uint32)


@dataclass(frozen=True)
class AnyWeights:
    """Column of finite weights from 0 on, whole or real."""

    real: bool = True

    def convert(self, values: Array) -> Array:
        """Return the weights as float64."""
        if values.dtype.kind == "i" and values.max() == np.iinfo(np.int64).max:  # it stands for all larger numbers
            raise ValueError("there is a number that is too large; write it with a point, or as 1e30")
        found = values.astype(np.float64)
        if not np.isfinite(found).all():
            raise ValueError(f"weight {found[~np.isfinite(found)][0]} is not finite")
        if found.min() < 0:
            raise ValueError(f"weight {values.min()} is negative; shortest paths need weights of 0 and more")
        return found


@dataclass(frozen=True)
class Millionths:
    """Column of millionths of degrees, with a limit of the absolute value."""

    limit: float
    real: bool = False

    def convert(self, values: Array) -> Array:
        """Return the values in degrees."""
        degrees: Array = values / 1e6
        if (np.abs(degrees) > self.limit).any():
            at = int(np.argmax(np.abs(degrees)))
            raise ValueError(f"{values[at]} millionths of a degree are more than {self.limit:g} degrees")
        return degrees


@dataclass(frozen=True)
class Reals:
    """Column of any finite numbers."""

    real: bool = True

    def convert(self, values: Array) -> Array:
        """Return the numbers as float64."""
        if not np.isfinite(values).all():
            raise ValueError(f"{values[~np.isfinite(values)][0]} is not finite")
        return values.astype(np.float64)


@dataclass(frozen=True)
class Rule:
    """Rule for the weights of a file without weights.

    Parameters
    ----------
    low, high : int
        Smallest and largest weight; weights are uniformly distributed between them.
    seed : int
        Seed of the random choices.
    """

    low: int = 1
    high: int = 1
    seed: int = 1

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Parse a rule: ``unit`` or ``random:LOW-HIGH``, the latter optionally followed by ``,seed=S``.

        Raises
        ------
        QueryError
            If the text is not a rule.
        """
        wrong = QueryError(
            f"weights is {shown(text)}; give 'unit' or 'random:LOW-HIGH,seed=S', such as random:1-100,seed=7"
        )
        if not isinstance(text, str) or not (text == "unit" or text.startswith("random:")):
            raise wrong
        if text == "unit":
            return cls()
        span, comma, seed = text.removeprefix("random:").partition(",")
        low, _, high = span.partition("-")
        if comma and not seed.startswith("seed="):
            raise wrong
        try:
            rule = cls(int(low), int(high), int(seed.removeprefix("seed=")) if comma else 1)
        except ValueError:
            raise wrong from None
        weight_range((rule.low, rule.high))
        stream(rule.seed)
        return rule

    def draw(self, count: int) -> Uint32s:
        """Return the weights of `count` edges, in the sequence of the file."""
        if self.low == self.high:
            return np.full(count, self.low, np.uint32)
        return draw_weights(stream(self.seed), (self.low, self.high), count)


def check_scale(scale: Any) -> float | None:
    """Return a scale as a float, or None for None; raise `QueryError` unless it is positive and finite."""
    if scale is None:
        return None
    number = number_of(scale)
    if number is None or not 0 < number < math.inf:
        raise QueryError(f"scale is {shown(scale)}; give a number above 0, by which weights are multiplied")
    return number


def sizes(words: list[bytes]) -> list[int]:
    """Return the numbers of a header; raise a `ValueError` that names a word that is not a number of nodes or edges."""
    result = []
    for word in words:
        if not word.isdigit() or len(word) > 18:
            raise ValueError(f"'{word.decode('ascii', 'backslashreplace')}' is no number of nodes or edges")
        result.append(int(word))
    if result and result[0] > MOST_NODES:
        raise ValueError(f"{result[0]} nodes are more than the {MOST_NODES} that can be read")
    return result
