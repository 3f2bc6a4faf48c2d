"""Shortest paths of many searches, in arrays, because loops over thousands of paths would be slow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.csr import bounds_of
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType

#: Weight of a path, the indices of its seed and its target, and the ids of its arcs, int64.
Shortest = tuple[int, int, int, npt.NDArray[np.int64]]


class FoundPaths(NamedTuple):
    """Shortest paths of searches, each from some seeds to some targets.

    Attributes
    ----------
    weight : numpy.ndarray
        Weight of each path, that of unreachable nodes if there is none, shape (k,), uint32 or uint64.
    seed, target : numpy.ndarray
        Index of its seed and of its target among those of the search, -1 without a path, shape (k,), int64.
    first : numpy.ndarray
        Offset of each path's first arc in `arcs`, shape (k + 1,), int64.
    arcs : numpy.ndarray
        The caller's ids of the arcs, path by path, from seed to target, int64.
    """

    weight: Distances
    seed: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    arcs: npt.NDArray[np.int64]

    @classmethod
    def of(cls, paths: Iterable[Shortest | None], distance_type: DistanceType = BITS_32) -> FoundPaths:
        """Return paths that were found one by one; None is no path."""
        rows = [(distance_type.unreachable, -1, -1, _NO_ARCS) if path is None else path for path in paths]
        weight, seed, target, arcs = zip(*rows, strict=True) if rows else ((), (), (), ())
        first, every = np.cumsum([0, *map(len, arcs)]), np.concatenate(arcs) if arcs else _NO_ARCS
        numbers = np.array(seed, np.int64), np.array(target, np.int64)
        return cls(np.array(weight, distance_type.dtype), *numbers, first.astype(np.int64), every)

    @classmethod
    def joined(cls, parts: Sequence[FoundPaths]) -> FoundPaths:
        """Return the paths of several parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        weight, seed, target, _, arcs = map(np.concatenate, zip(*parts, strict=True))
        counts = np.concatenate([np.diff(part.first) for part in parts])
        return cls(weight, seed, target, bounds_of(counts), arcs)

    def path(self, number: int) -> Shortest:
        """Return a path; without one only the weight counts."""
        arcs = self.arcs[int(self.first[number]) : int(self.first[number + 1])]
        return int(self.weight[number]), int(self.seed[number]), int(self.target[number]), arcs


_NO_ARCS = np.zeros(0, np.int64)
