"""Arrays of weights that are written to again, so that a change of few weights need not copy all of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.bulk import copied
from vkssp.graph.csr import Uint32s

# Most arrays that wait to be used again, and the largest share of weights that such an array may lack.
_MOST, _BEHIND = 2, 1 / 64

_Changes = list[tuple[npt.NDArray[np.int64], Uint32s]]


def _references(entry: tuple[Any, Any]) -> int:
    """Return the number of references to the first of two objects; one more for each view of an array."""
    return sys.getrefcount(entry[0]) if hasattr(sys, "getrefcount") else sys.maxsize


#: What `_references` returns of an array that nothing else refers to.
_UNUSED = _references((np.empty(1), None))


class WeightArrays:
    """Arrays that were made for the changes of a graph's weights, one after the other.

    An array is written to again if nothing refers to it any more, neither the graph that had it nor a view. It lacks
    the changes since then.
    """

    def __init__(self) -> None:
        self._current: Uint32s | None = None
        self._waiting: list[tuple[Uint32s, _Changes]] = []

    def changed(self, weight: Uint32s, arcs: npt.NDArray[np.int64], values: Uint32s) -> Uint32s:
        """Return the weights of the last call, or others on the first call, with other weights for some arcs.

        Nothing else can write to the array. An arc that is named twice has the same weight both times.
        """
        found = self._unused(len(weight))
        if found is None:
            found = copied(weight)
        found[arcs] = values
        for _, changes in self._waiting:
            changes.append((arcs, values))
        if self._current is not None:
            self._waiting.append((self._current, [(arcs, values)]))
            del self._waiting[:-_MOST]
        self._current = own(found)
        return self._current

    def _unused(self, count: int) -> Uint32s | None:
        """Take an array that nothing refers to out of those that wait, and make the changes that it lacks."""
        for number in range(len(self._waiting)):
            if _references(self._waiting[number]) > _UNUSED:
                continue
            array, changes = self._waiting.pop(number)
            if sum(len(arcs) for arcs, _ in changes) > _BEHIND * count:
                return None
            array.flags.writeable = True
            for arcs, values in changes:
                array[arcs] = values
            return array
        return None
