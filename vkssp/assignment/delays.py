"""Delay functions: the time on an arc as a function of its flow."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.checks import number_of, real_numbers
from vkssp.errors import QueryError

Floats = npt.NDArray[np.float64]
# Least share of the capacity at which slopes are taken.
_LEAST_SHARE = 1e-9
# Largest steepness of a conical delay: with more, differences of its terms lose their digits.
_MOST_STEEP = 1e6


def dot(one: Floats, other: Floats) -> float:
    """Return the sum of products, the same on all machines; libraries for it differ, and let their threads spin."""
    return float((one * other).sum())


class Delay(Protocol):
    """Time on each arc, which must not fall when its flow rises."""

    def time(self, flow: Floats) -> Floats:
        """Return the time on each arc at a flow, shape (num_arcs,)."""

    def slope(self, flow: Floats) -> Floats:
        """Return the derivative of the time with respect to the flow, shape (num_arcs,)."""

    def integral(self, flow: Floats) -> Floats:
        """Return the integral of the time from a flow of 0 to a flow, shape (num_arcs,)."""

    def __len__(self) -> int:
        """Return the number of arcs."""


@dataclass(frozen=True, eq=False)
class BPR:
    """Delay function of the Bureau of Public Roads: free_time * (1 + b * (flow / capacity) ** power).

    U.S. Bureau of Public Roads, Traffic assignment manual, 1964.

    Parameters
    ----------
    free_time : array_like
        Time without traffic, shape (num_arcs,), in any unit.
    capacity : array_like
        Capacity, shape (num_arcs,), above 0, in the unit of flows.
    b, power : array_like
        Parameters, shape (num_arcs,), from 0 on, or one number for all arcs. With a power of 0 the time does not depend
        on the flow.

    Raises
    ------
    QueryError
        If lengths differ, or numbers are out of range.

    Examples
    --------
    >>> from vkssp.assignment.delays import BPR
    >>> BPR([10.0, 6.0], [1000, 500]).time([1000.0, 0.0]).tolist()
    [11.5, 6.0]
    """

    __repr__ = brief

    free_time: npt.ArrayLike
    capacity: npt.ArrayLike
    b: npt.ArrayLike = 0.15
    power: npt.ArrayLike = 4.0

    def __post_init__(self) -> None:
        """Check the arrays."""
        _check(self, positive=("capacity",))

    def __len__(self) -> int:
        """Return the number of arcs."""
        return len(np.asarray(self.free_time))

    def time(self, flow: Floats) -> Floats:
        """Return the time on each arc at a flow, shape (num_arcs,)."""
        free, capacity, b, power = _arrays(self)
        found: Floats = free * (1 + b * (flow / capacity) ** power)
        return found

    def slope(self, flow: Floats) -> Floats:
        """Return the derivative of the time with respect to the flow, shape (num_arcs,)."""
        free, capacity, b, power = _arrays(self)
        # With a power below 1 the derivative is infinite where there is no flow.
        share = np.maximum(flow / capacity, _LEAST_SHARE)
        found: Floats = free * b * power / capacity * share ** (power - 1)
        return found

    def integral(self, flow: Floats) -> Floats:
        """Return the integral of the time from a flow of 0 to a flow, shape (num_arcs,)."""
        free, capacity, b, power = _arrays(self)
        found: Floats = free * flow * (1 + b / (power + 1) * (flow / capacity) ** power)
        return found


@dataclass(frozen=True, eq=False)
class Conical:
    """Conical delay function, whose slope is bounded.

    H. Spiess, Conical volume-delay functions, Transportation Science 24 (2), 1990. With x = flow / capacity the time is
    free_time * (2 + sqrt(alpha**2 * (1 - x)**2 + beta**2) - alpha * (1 - x) - beta), where
    beta = (2 * alpha - 1) / (2 * alpha - 2); at capacity it is twice the free time.

    Parameters
    ----------
    free_time : array_like
        Time without traffic, shape (num_arcs,), in any unit.
    capacity : array_like
        Capacity, shape (num_arcs,), above 0, in the unit of flows.
    alpha : array_like
        Steepness, shape (num_arcs,), above 1, up to 1e6, or one number for all arcs.

    Raises
    ------
    QueryError
        If lengths differ, or numbers are out of range.

    Examples
    --------
    >>> from vkssp.assignment.delays import Conical
    >>> Conical([10.0], [1000]).time([1000.0]).tolist()
    [20.0]
    """

    __repr__ = brief

    free_time: npt.ArrayLike
    capacity: npt.ArrayLike
    alpha: npt.ArrayLike = 4.0

    def __post_init__(self) -> None:
        """Check the arrays."""
        _check(self, positive=("capacity", "alpha"))
        alpha = np.asarray(self.alpha)
        bad = (alpha <= 1) | (alpha > _MOST_STEEP)
        if bad.any():
            at = int(np.argmax(bad))
            raise QueryError(f"alpha[{at}] is {alpha[at]}; give numbers above 1, up to {_MOST_STEEP:g}, such as 4")

    def __len__(self) -> int:
        """Return the number of arcs."""
        return len(np.asarray(self.free_time))

    def time(self, flow: Floats) -> Floats:
        """Return the time on each arc at a flow, shape (num_arcs,)."""
        free, capacity, alpha = _arrays(self)
        beta, left = _beta(alpha), 1 - flow / capacity
        found: Floats = free * (2 + np.hypot(alpha * left, beta) - alpha * left - beta)
        return found

    def slope(self, flow: Floats) -> Floats:
        """Return the derivative of the time with respect to the flow, shape (num_arcs,)."""
        free, capacity, alpha = _arrays(self)
        left = 1 - flow / capacity
        found: Floats = free * alpha / capacity * (1 - alpha * left / np.hypot(alpha * left, _beta(alpha)))
        return found

    def integral(self, flow: Floats) -> Floats:
        """Return the integral of the time from a flow of 0 to a flow, shape (num_arcs,)."""
        free, capacity, alpha = _arrays(self)
        beta, share = _beta(alpha), flow / capacity

        def roots(left: Floats) -> Floats:
            """Return the integral of the square root from 0 to `left`."""
            found: Floats = left / 2 * np.hypot(alpha * left, beta) + beta**2 / (2 * alpha) * np.arcsinh(
                alpha * left / beta
            )
            return found

        linear = (2 - alpha - beta) * share + alpha * share**2 / 2
        found: Floats = free * capacity * (linear + roots(np.ones_like(share)) - roots(1 - share))
        return found


def _beta(alpha: Floats) -> Floats:
    beta: Floats = (2 * alpha - 1) / (2 * alpha - 2)
    return beta


def _arrays(delay: Any) -> tuple[Floats, ...]:
    """Return the fields of a delay."""
    return tuple(getattr(delay, one.name) for one in fields(delay))


def _check(delay: Any, positive: tuple[str, ...]) -> None:
    """Turn the fields of a delay into arrays of the same length, and check their numbers."""
    given = {}
    for one in fields(delay):
        value = getattr(delay, one.name)
        alone = number_of(value)
        array = value if alone is None else [alone]
        given[one.name] = real_numbers(array, one.name, "numbers, one for each arc", QueryError)
    length = len(given["free_time"])
    for name, values in given.items():
        if len(values) not in (1, length):
            raise QueryError(f"{name} has {len(values)} numbers for {length} arcs; give one for each arc, or one")
        bad = ~(np.isfinite(values) & (values > 0 if name in positive else values >= 0))
        if bad.any():
            at = int(np.argmax(bad))
            wanted = "above 0" if name in positive else "from 0 on"
            raise QueryError(f"{name}[{at}] is {values[at]}; give finite numbers {wanted}")
        whole = np.array(np.broadcast_to(values, length))
        whole.flags.writeable = False
        object.__setattr__(delay, name, whole)
