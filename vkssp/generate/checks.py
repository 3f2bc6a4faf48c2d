"""Checks of the generators' arguments, before any memory is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.checks import index_of, is_many, items_of, number_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import MOST_ARCS
from vkssp.memory import require

#: Smallest and largest weight, both inclusive.
Weights = tuple[int, int]

#: Largest number of nodes; ids stay below 2**31, so that scipy's signed 32-bit indices can hold them.
MOST_NODES = 2**31 - 1
# Least memory in bytes per node and per arc while a graph is made.
_NODE_BYTES, _ARC_BYTES = 12, 8


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return an argument that must be a whole number from `low` to `high`."""
    kind = "a whole number from " if index_of(value) is None else ""
    return whole_number(value, name, low, high, f"give {kind}{low} to {high}")


def fraction(name: str, value: Any) -> float:
    """Return an argument that must be a number from 0 to 1."""
    number = number_of(value)
    if number is None:
        raise QueryError(f"{name} is {shown(value)}; give a number from 0 to 1")
    if not 0 <= number <= 1:  # also catches NaN
        raise QueryError(f"{name} is {number}; give 0 to 1")
    return number


def stream(seed: Any) -> np.random.Generator:
    """Return the random number generator of a seed."""
    return np.random.default_rng(whole("seed", seed, 0, 2**64 - 1))


def nodes(num_nodes: Any, low: int = 1) -> int:
    """Return an argument that must be a number of nodes from `low` to `MOST_NODES`."""
    return whole("num_nodes", num_nodes, low, MOST_NODES)


def fits(num_nodes: int, num_arcs: int, what: str, cure: str) -> None:
    """Refuse a graph with more than `MOST_ARCS` arcs, or that needs too much memory.

    Raises
    ------
    QueryError
        If no graph can hold so many arcs.
    MemoryShortageError
        If there is not enough memory.
    """
    if num_arcs > MOST_ARCS:
        raise QueryError(f"{what} makes {num_arcs} arcs, more than the {MOST_ARCS} that a graph holds; give {cure}")
    size = _NODE_BYTES * num_nodes + _ARC_BYTES * num_arcs
    require(size, f"a graph of {num_nodes:,} nodes and {num_arcs:,} arcs", f"give {cure}, or use a machine with more")


def weight_range(weights: Any) -> Weights:
    """Return the smallest and the largest weight."""
    bounds = [index_of(bound) for bound in items_of(weights) or ()] if is_many(weights) else []
    low, high = bounds if len(bounds) == 2 else (None, None)
    if low is None or high is None:
        raise QueryError(f"weights is {shown(weights)}; give the smallest and the largest, like (1, 100)")
    if not 0 <= low <= high < UNREACHABLE:
        raise QueryError(
            f"weights is {shown((low, high))}; give smallest and largest with 0 <= smallest <= largest < 2**32-1"
        )
    return low, high


def draw_weights(rng: np.random.Generator, weights: Weights, size: int) -> Uint32s:
    """Return `size` weights, uniformly distributed in the range."""
    return rng.integers(*weights, size, np.uint32, endpoint=True)
