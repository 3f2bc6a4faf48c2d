"""Types of distances: 32 bits, or 64 bits where paths are so heavy that 32 bits would not hold their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

#: Array of distances, uint32 or uint64.
Distances = npt.NDArray[Any]


@dataclass(frozen=True)
class DistanceType:
    """Type of the distances of a search, all of them unsigned integers; weights of arcs always have 32 bits.

    Attributes
    ----------
    bits : int
        32 or 64.
    """

    bits: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of arrays of distances."""
        return np.dtype(f"u{self.nbytes}")

    @property
    def nbytes(self) -> int:
        """Bytes of a distance."""
        return self.bits // 8

    @property
    def unreachable(self) -> int:
        """Distance of nodes that no path reaches: the largest number, which is no distance."""
        return int(2**self.bits - 1)

    @property
    def overflow(self) -> str:
        """Message of the error that a shortest distance does not fit."""
        # Only offsets can make 64 bits overflow: no path has as many arcs as it would take.
        cure = "give smaller offsets"
        if self.bits == 32:
            cure = "divide the weights by a common factor, or ask a Solver that has distance_bits=64"
        return f"a shortest distance passes 2**{self.bits} - 2, the most that {self.bits} bits hold; {cure}"


BITS_32, BITS_64 = DistanceType(32), DistanceType(64)
#: Types of distances by their bits.
DISTANCE_TYPES = {kind.bits: kind for kind in (BITS_32, BITS_64)}


def unreachable_in(distances: Distances) -> int:
    """Return the distance of unreachable nodes in an array of distances."""
    return int(np.iinfo(distances.dtype).max)
