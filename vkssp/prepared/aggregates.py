"""Aggregates: sums that are made of each row of distances, in place of the row.

A row has the distances from one source, or from one group of seeds, to all nodes. An aggregate says what is summed up:
`width` is the number of sums of a row, and nodes beyond `limit` do not count. The aggregates `ArcLoads` and `NodeSums`
also have sums over all rows, which belong to blocks of rows. `vkssp.cpu.aggregates` makes aggregates on the CPU, and
`vkssp.batch.aggregation` on a device.

All sums are of integers, so that their order does not matter: every algorithm, device and number of threads gives the
same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CumulativeSums:
    """Sums of values at the nodes within some limits of the source.

    Attributes
    ----------
    values : numpy.ndarray
        Values of each node, shape (columns, num_nodes), int64. The sum of the magnitudes of a column is below 2**63.
    limits : numpy.ndarray
        Distances, ascending, shape (k,), uint32, at least one.
    """

    values: Int64s
    limits: Uint32s

    @cached_property
    def values_of_nodes(self) -> Int64s:
        """The values, node by node, shape (num_nodes, columns), int64."""
        return np.ascontiguousarray(self.values.T)

    @property
    def width(self) -> int:
        """Number of sums of a row: those of all columns within the first limit, then within the next."""
        return len(self.limits) * len(self.values)

    @property
    def limit(self) -> int:
        """Distance beyond which no node counts."""
        return int(self.limits[-1])


@dataclass(frozen=True, eq=False)
class DecayedSums:
    """Sums of values at nodes, each times a weight that depends on its distance.

    Attributes
    ----------
    values : numpy.ndarray
        Values of each node, shape (columns, num_nodes), int64.
    weights : numpy.ndarray
        Weights of distances, shape (t,), uint32: an entry for each one below 2**20, and for those of b + 20 bits one
        for 2**b at a time. The sum of the magnitudes of a column, times the largest weight, is below 2**63.
    limit : int
        Distance beyond which no node counts.
    """

    values: Int64s
    weights: Uint32s
    limit: int

    @cached_property
    def values_of_nodes(self) -> Int64s:
        """The values, node by node, shape (num_nodes, columns), int64."""
        return np.ascontiguousarray(self.values.T)

    @property
    def width(self) -> int:
        """Number of sums of a row, one for each column."""
        return len(self.values)


#: Columns of `Totals`.
REACHED, TOTAL, FARTHEST, FARTHEST_NODE, RECIPROCALS = range(5)


@dataclass(frozen=True, eq=False)
class Totals:
    """Number of nodes within a limit, sum of their distances, largest distance and its node, and sum of reciprocals.

    Of several nodes at the largest distance the one with the least id counts; it is 2**32 - 1 if there is none. A
    reciprocal is about 2**`bits` over the distance, see `reciprocal` in `vkssp.cpu.kernels.aggregates`; nodes at
    distance 0 have none.

    Attributes
    ----------
    bits : int
        See above; the number of nodes times 2**`bits` is at most 2**62.
    limit : int
        Distance beyond which no node counts.
    """

    bits: int
    limit: int = UNREACHABLE - 1

    @property
    def width(self) -> int:
        """Number of sums of a row."""
        return 5


#: Columns of `Straightness`.
COUNTED, STRAIGHT = range(2)


@dataclass(frozen=True, eq=False)
class Straightness:
    """Number of nodes within a limit, and sum of their straight distances from the source, each over its distance.

    Nodes at distance 0 do not count.

    Attributes
    ----------
    points : numpy.ndarray
        Places of the nodes in space, shape (num_nodes, 3), float64.
    scale : float
        Power of two by which quotients are multiplied, before they are rounded towards 0; no sum passes 2**62.
    limit : int
        Distance beyond which no node counts.
    """

    points: npt.NDArray[np.float64]
    scale: float
    limit: int = UNREACHABLE - 1

    @property
    def width(self) -> int:
        """Number of sums of a row."""
        return 2


@dataclass(frozen=True, eq=False)
class Watch:
    """What is noted along the path of each entry of a demand: sums of values, sets of arcs that it meets, and turns.

    Attributes
    ----------
    values : numpy.ndarray
        Values of each arc, shape (num_arcs, k), float64.
    marks : numpy.ndarray
        Sets that each arc belongs to, as bits, shape (num_arcs,), uint64.
    num_sets : int
        Number of sets, at most 64. For each set the block's sums get the loads of the demand whose paths meet it.
    has_turns : bool
        Whether the block's sums also get the loads of turns: for each arc, in the order of ids, an entry for each arc
        into its tail, in the order of ids.
    sums : numpy.ndarray
        Result: the sum of each value along the path of each entry of the demand, added up in the path's order; entries
        that are not reached stay as they are; shape (entries, k), float64.
    met : numpy.ndarray
        Result: the sets of which the path of each entry has an arc, as bits, shape (entries,), uint64.
    """

    values: npt.NDArray[np.float64]
    marks: npt.NDArray[np.uint64]
    num_sets: int
    has_turns: bool
    sums: npt.NDArray[np.float64]
    met: npt.NDArray[np.uint64]


#: Columns of `ArcLoads`.
SENT, MISSED = range(2)


@dataclass(frozen=True)
class ArcLoads:
    """Loads of arcs by a demand that takes shortest paths: sums over all rows, which belong to blocks.

    A row has two columns: the demand that leaves its source (`SENT`), and the demand at nodes that are not reached
    (`MISSED`). Each group of seeds is a single node, the source. The demand is that of the group. If `is_uniform`,
    groups have none, and the demand is one unit at each node within the limit except the source, which gives
    betweenness. Of several shortest paths it takes the one that `Solver.path` returns. No other aggregate can be made
    in the same pass.

    Attributes
    ----------
    limit : int
        Distance beyond which no node is reached.
    is_uniform : bool
        Whether the demand is one unit at each node.
    most : int
        Largest sum of the demand of a group, from which devices tell how many bits loads need.
    most_entries : int
        Largest number of entries of the demand of a group, for which devices make room.
    watch : Watch or None
        What is noted along paths; None if the demand is uniform.
    """

    limit: int = UNREACHABLE - 1
    is_uniform: bool = True
    most: int = 0
    most_entries: int = 0
    watch: Watch | None = None

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return 2


@dataclass(frozen=True)
class NodeSums:
    """Sums by node over all rows: how many reach it, the sum of their distances, and the sum of reciprocals.

    They belong to blocks, with shape (3, num_nodes); rows have no columns. Reciprocals are as in `Totals`. No other
    aggregate can be made in the same pass.

    Attributes
    ----------
    bits : int
        See `Totals`; the number of rows times 2**`bits` is at most 2**62.
    limit : int
        Distance beyond which no node counts.
    """

    NUM_SUMS: ClassVar[int] = 3

    bits: int
    limit: int = UNREACHABLE - 1

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return 0


Aggregate = CumulativeSums | DecayedSums | Totals | Straightness | ArcLoads | NodeSums
#: Aggregates whose results lie side by side.
Aggregates = tuple[Aggregate, ...]
