"""Classes of values in rising order, for the colours and the legends of maps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Largest number of classes; maps have as many colours.
MOST_CLASSES = 7
#: Digits of the bounds of classes: the fewest that tell the bounds apart.
_FEWEST_DIGITS, _MOST_DIGITS = 3, 12
# Columns with magnitudes below this one have powers of ten in their labels.
_SMALL = 1e-4


@dataclass(frozen=True)
class Classes:
    """Classes of values in rising order.

    Attributes
    ----------
    low, high : numpy.ndarray
        Least and greatest value of each class, shape (k,), float64. No two classes have a value in common.
    """

    low: Floats
    high: Floats

    def numbers(self, values: Floats) -> Ints:
        """Return the class of each value, -1 for NaN and infinity; shape (n,), int64."""
        return np.where(np.isfinite(values), np.searchsorted(self.low, values, side="right") - 1, -1).astype(np.int64)

    @property
    def colours(self) -> list[int]:
        """Number of each class's colour; fewer classes have colours from the whole scale."""
        count = len(self.low)
        return [3] if count == 1 else np.rint(np.linspace(0, MOST_CLASSES - 1, count)).astype(int).tolist()

    def labels(self) -> list[str]:
        """Return the bounds of each class as a text, all of them with powers of ten if some are small."""
        magnitudes = np.abs(np.concatenate([self.low, self.high]))
        least = float(magnitudes.min(initial=1.0, where=magnitudes > 0))
        for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
            low, high = (
                [_number(value, digits, powers=least < _SMALL) for value in bounds.tolist()]
                for bounds in (self.low, self.high)
            )
            told = np.array(low) != np.array(high)
            if len(set(low)) == len(low) and (told == (self.low != self.high)).all():
                break
        return [start if start == end else f"{start} to {end}" for start, end in zip(low, high, strict=True)]


def _number(value: float, digits: int, *, powers: bool) -> str:
    """Return a number with as many significant digits, whole numbers below 10**15 with all of theirs."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if powers or exponent >= 15:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def classes_of(values: Floats) -> Classes:
    """Divide values into at most `MOST_CLASSES` classes of about equally many values.

    Equal values are in one class. A value that as many rows have as an equal share, such as zero in many columns, has a
    class of its own. If there are at most `MOST_CLASSES` different values, each has a class.

    Parameters
    ----------
    values : numpy.ndarray
        Values, shape (n,), float64; NaN and infinity belong to no class.
    """
    different, count = np.unique(values[np.isfinite(values)] + 0.0, return_counts=True)
    first = np.array(_first_of_classes(count), np.int64)
    return Classes(different[first], different[np.append(first[1:], len(different))[: len(first)] - 1])


def _first_of_classes(count: Ints) -> list[int]:
    """Return where classes begin among different values in rising order, of which there are `count` each."""
    if len(count) <= MOST_CLASSES:
        return list(range(len(count)))
    is_frequent = count * MOST_CLASSES >= count.sum()
    frequent = np.append(np.flatnonzero(is_frequent), len(count))
    passed = np.concatenate([[0], np.cumsum(np.where(is_frequent, 0, count))])
    starts = [0]
    while len(starts) < MOST_CLASSES:
        at = starts[-1]
        ahead = frequent[np.searchsorted(frequent, at) :]
        if ahead[0] == at:
            end = at + 1
        else:
            # The classes that are left, less those of frequent values, share the rows that are left.
            shares = max(1, MOST_CLASSES - len(starts) + 1 - (len(ahead) - 1))
            target = passed[at] + (passed[-1] - passed[at]) / shares
            end = int(np.searchsorted(passed, target))
            if end > at + 1 and target - passed[end - 1] < passed[end] - target:
                end -= 1
            end = min(max(end, at + 1), int(ahead[0]))
        if end >= len(count):
            break
        starts.append(end)
    return starts
