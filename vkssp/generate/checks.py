"""The arguments of the generators, checked before anything is allocated."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Uint32s

#: Smallest and largest weight, both of which occur.
Weights = tuple[int, int]

#: Ids stay below 2**31, so that scipy's signed 32-bit indices hold them.
MOST_NODES = 2**31 - 1
MOST_ARCS = 2**32 - 1


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return an argument that has to be a whole number from `low` to `high`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise QueryError(f"{name} is {value!r}; give a whole number from {low} to {high}") from None
    if not low <= number <= high:
        raise QueryError(f"{name} is {number}; give {low} to {high}")
    return number


def fraction(name: str, value: Any) -> float:
    """Return an argument that has to be a number from 0 to 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QueryError(f"{name} is {value!r}; give a number from 0 to 1") from None
    if not 0 <= number <= 1:  # also catches NaN
        raise QueryError(f"{name} is {number}; give 0 to 1")
    return number


def stream(seed: Any) -> np.random.Generator:
    """Return the source of the random choices of a seed."""
    return np.random.default_rng(whole("seed", seed, 0, 2**64 - 1))


def nodes(num_nodes: Any, low: int = 1) -> int:
    """Return a number of nodes that a generator can make."""
    return whole("num_nodes", num_nodes, low, MOST_NODES)


def fits(num_arcs: int, what: str, cure: str) -> None:
    """Refuse a graph of more arcs than one can have."""
    if num_arcs > MOST_ARCS:
        raise QueryError(f"{what} makes {num_arcs} arcs, more than the {MOST_ARCS} that a graph holds; give {cure}")


def weight_range(weights: Any) -> Weights:
    """Return the smallest and the largest weight."""
    try:
        low, high = (operator.index(bound) for bound in weights)
    except (TypeError, ValueError):
        raise QueryError(f"weights is {weights!r}; give the smallest and the largest, like (1, 100)") from None
    if not 0 <= low <= high < UNREACHABLE:
        raise QueryError(
            f"weights is ({low}, {high}); give smallest and largest with 0 <= smallest <= largest < 2**32-1"
        )
    return low, high


def draw_weights(rng: np.random.Generator, weights: Weights, size: int) -> Uint32s:
    """Return `size` weights, each of the range with the same probability."""
    return rng.integers(*weights, size, np.uint32, endpoint=True)
