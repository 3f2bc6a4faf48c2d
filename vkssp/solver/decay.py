"""Decay of the weight of opportunities with their distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.checks import array_of, dtype_of, number_of, real_numbers, shown
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Uint32s

Floats = npt.NDArray[np.float64]
#: Weights are multiples of 2 to the power of -`BITS`.
BITS = 24
# Distances of more bits, by one, share entries of a table of weights.
_BIN_BITS = 19
# Smaller weights are 0 when they are rounded.
_LEAST = 2.0 ** -(BITS + 1)


@dataclass(frozen=True)
class Decay:
    """Weight of an opportunity, from 0 to 1, as a function of its distance.

    Make one by `exponential`, `gaussian`, `power`, `linear` or `table`. Distances are in the caller's units of weights
    for `Solver.accessibility`, and in the unit of limits, such as seconds, for `Router.accessibility`.

    Attributes
    ----------
    function : callable
        Takes distances, float64, and returns their weights.
    limit : float
        Distance beyond which the weight is 0.

    Examples
    --------
    >>> from vkssp import Decay
    >>> Decay.exponential(600.0)([0, 600]).round(3).tolist()
    [1.0, 0.368]
    """

    function: Callable[[Floats], Floats]
    limit: float

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not callable(self.function):
            raise QueryError(f"function is {shown(self.function)}; {_FUNCTION}")
        limit = number_of(self.limit)
        if limit is None or not limit >= 0:
            raise QueryError(f"limit is {shown(self.limit)}; give a distance, a number from 0 on")

    @classmethod
    def exponential(cls, scale: float, limit: float | None = None) -> Decay:
        """Return the decay exp(-d / scale), up to a limit; by default as far as the weight exceeds 2**-25."""
        scale = _positive(scale, "scale")
        return cls(lambda d: np.exp(-d / scale), _limit(limit, -scale * math.log(_LEAST)))

    @classmethod
    def gaussian(cls, scale: float, limit: float | None = None) -> Decay:
        """Return the decay exp(-d² / (2 scale²)), up to a limit; by default as far as the weight exceeds 2**-25."""
        scale = _positive(scale, "scale")
        return cls(lambda d: np.exp(-0.5 * (d / scale) ** 2), _limit(limit, scale * math.sqrt(-2 * math.log(_LEAST))))

    @classmethod
    def power(cls, exponent: float, least: float, limit: float) -> Decay:
        """Return the decay (d / least)**-exponent up to a limit; distances below `least` count as `least`."""
        exponent, least = _positive(exponent, "exponent"), _positive(least, "least")
        return cls(lambda d: (np.maximum(d, least) / least) ** -exponent, _limit(limit, limit))

    @classmethod
    def linear(cls, limit: float) -> Decay:
        """Return the decay 1 - d / limit."""
        far = _positive(limit, "limit")
        return cls(lambda d: 1.0 - d / far, far)

    @classmethod
    def table(cls, distances: npt.ArrayLike, weights: npt.ArrayLike) -> Decay:
        """Return the decay that leads through some points in straight lines, and is 0 beyond the last of them.

        Parameters
        ----------
        distances : array_like
            Ascending distances, shape (k,); nearer opportunities have the first weight.
        weights : array_like
            Their weights, from 0 to 1, shape (k,).
        """
        at, value = (
            real_numbers(given, name, name, QueryError)
            for given, name in ((distances, "distances"), (weights, "weights"))
        )
        if not len(at) or len(at) != len(value):
            raise QueryError(
                f"there are {len(at)} distances and {len(value)} weights; give one weight for each distance"
            )
        if not (np.isfinite(at).all() and at[0] >= 0 and (np.diff(at) > 0).all()):
            raise QueryError("distances are not ascending numbers from 0 on; sort them, and leave out equal ones")
        if not ((value >= 0) & (value <= 1)).all():
            raise QueryError("weights are not all between 0 and 1; divide them by the largest")
        return cls(lambda d: np.interp(d, at, value), _limit(float(at[-1]), 0.0))

    def scaled(self, unit: float) -> Decay:
        """Return the same decay of distances in other units, each of which is `unit` of the present ones."""
        unit, function = _positive(unit, "unit"), self.function
        return Decay(lambda d: function(d * unit), self.limit / unit)

    def __call__(self, distances: npt.ArrayLike) -> Floats:
        """Return the weights of distances, float64, of the same shape.

        Raises
        ------
        QueryError
            If the function returns something else than a finite number for each distance.
        """
        is_one = number_of(distances) is not None
        given = np.asarray(distances) if is_one else array_of(distances, "distances", "distances", QueryError)
        if given.dtype.kind not in "biuf":
            raise QueryError(f"distances has dtype {dtype_of(given)}; give numbers")
        given = given.astype(np.float64)
        try:
            found = np.asarray(self.function(given), np.float64)
        except (TypeError, ValueError) as error:
            raise QueryError(f"function returns no numbers ({error}); {_FUNCTION}") from None
        if found.shape != given.shape or not np.isfinite(found[given <= self.limit]).all():
            raise QueryError(f"function does not return a finite number for each distance; {_FUNCTION}")
        weights: Floats = np.where(given <= self.limit, np.clip(found, 0.0, 1.0), 0.0)
        return weights

    def weights(self) -> tuple[Uint32s, int]:
        """Return the weights of whole distances, as multiples of 2**-24.

        Returns
        -------
        weights : numpy.ndarray
            The table, shape (t,), uint32: an entry for each distance below 2**20, and then for two, four and more at a
            time, whose weight is that of the middle one.
        limit : int
            Largest distance in the table.
        """
        limit = int(min(self.limit, UNREACHABLE - 1))
        width = max(0, limit.bit_length() - 1 - _BIN_BITS)
        # The entries of distances of each number of bits beyond the first; the last number has only those up to the
        # limit.
        parts = [np.arange(min(limit + 1, 1 << (_BIN_BITS + 1)), dtype=np.float64)]
        for wide in range(1, width + 1):
            last = min(limit >> wide, (1 << (_BIN_BITS + 1)) - 1)
            parts.append((np.arange(1 << _BIN_BITS, last + 1, dtype=np.float64) + 0.5) * 2**wide - 0.5)
        weights = [np.rint(self(np.minimum(part, self.limit)) * 2**BITS).astype(np.uint32) for part in parts]
        return np.concatenate(weights), limit


_FUNCTION = "give a function of an array of distances"


def _positive(value: float, name: str) -> float:
    number = number_of(value)
    if number is None or not 0 < number < math.inf:
        raise QueryError(f"{name} is {shown(value)}; give a number above 0")
    return number


def _limit(limit: float | None, default: float) -> float:
    if limit is None:
        return default
    number = number_of(limit)
    if number is None or not 0 <= number < math.inf:
        raise QueryError(f"limit is {shown(limit)}; give a distance, a number from 0 on")
    return number
