"""Groups of seeds for many searches, in arrays, because loops over thousands of groups would be slow."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, Terminal
from vkssp.checks import listed
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import bounds_of, ranges, within
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.terminals import terminals


@dataclass(frozen=True, eq=False)
class Demand:
    """Demand of groups of seeds, such as trips, at nodes.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of each group's first entry, shape (groups + 1,), int64.
    node : numpy.ndarray
        Nodes by the caller's ids, group by group, shape (entries,), uint32.
    amount : numpy.ndarray
        What each of them demands, shape (entries,), int64.
    """

    first: npt.NDArray[np.int64]
    node: Uint32s
    amount: npt.NDArray[np.int64]


class Groups:
    """Groups of seeds, each a node and an offset.

    Parameters
    ----------
    first : numpy.ndarray
        Offset of each group's first seed, shape (groups + 1,), int64.
    node, offset : numpy.ndarray
        Nodes, uint32, and offsets, uint32 or uint64, of the seeds, group by group, shape (seeds,).
    demand : Demand, optional
        What the groups' loads are made of; see `vkssp.prepared.aggregates.ArcLoads`.
    """

    def __init__(
        self, first: npt.NDArray[np.int64], node: Uint32s, offset: Distances, demand: Demand | None = None
    ) -> None:
        self.first, self.node, self.offset, self.demand = first, node, offset, demand
        self.given = node  # nodes by the caller's ids, also after `moved`

    @classmethod
    def of(cls, groups: Sequence[Sequence[Terminal]]) -> Groups:
        """Return groups that are given as lists, which are not checked."""
        first = bounds_of([len(group) for group in groups])
        ends = np.array([seed for group in groups for seed in group], np.uint32).reshape(-1, 2)
        node, offset = np.ascontiguousarray(ends.T)
        return cls(first, node, offset)

    @classmethod
    def of_nodes(cls, nodes: Uint32s) -> Groups:
        """Return one group for each node."""
        return cls(np.arange(len(nodes) + 1), nodes, np.zeros(len(nodes), np.uint32))

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.first) - 1

    def __getitem__(self, number: int) -> list[Terminal]:
        """Return the seeds of a group."""
        here = slice(int(self.first[number]), int(self.first[number + 1]))
        return list(zip(self.node[here].tolist(), self.offset[here].tolist(), strict=True))

    @property
    def sources(self) -> Uint32s:
        """First node of each group by the caller's ids, if no group is empty, shape (groups,), uint32."""
        return self.given[self.first[:-1]]

    def since(self, number: int) -> Groups:
        """Return the groups from `number` on."""
        return self.between(number, len(self))

    def between(self, begin: int, end: int) -> Groups:
        """Return the groups from `begin` up to, but not including, `end`."""
        demand = self.demand
        if demand is not None:
            demand = replace(demand, first=demand.first[begin : end + 1])
        groups = Groups(self.first[begin : end + 1], self.node, self.offset, demand)
        groups.given = self.given
        return groups

    def wanting(self, demand: Demand | None) -> Groups:
        """Return the groups with a demand."""
        groups = Groups(self.first, self.node, self.offset, demand)
        groups.given = self.given
        return groups

    def moved(self, node: Uint32s) -> Groups:
        """Return the groups, with the same demand, for another numbering of nodes, in which node i is `node[i]`."""
        groups = Groups(self.first, node[self.node], self.offset, self.demand)
        groups.given = self.given
        return groups

    def put(self, begin: int, end: int, places: npt.NDArray[np.uint32]) -> None:
        """Write groups into a ring buffer; UNREACHABLE as a node marks unused seeds.

        Parameters
        ----------
        begin, end : int
            First group and end of the groups.
        places : numpy.ndarray
            Ring buffer, shape (places, most seeds, 2), uint32.
        """
        groups = np.arange(begin, end)
        first, count = self.first[begin:end], self.first[begin + 1 : end + 1] - self.first[begin:end]
        here = groups % len(places)
        places[here, :, 0] = UNREACHABLE
        seed, at = ranges(first, count), (np.repeat(here, count), within(count))
        places[(*at, 0)], places[(*at, 1)] = self.node[seed], self.offset[seed]


def checked_groups(
    renumbered: RenumberedGraph, seeds: Groups | Sequence[Sequence[Terminal]], distance_type: DistanceType = BITS_32
) -> Groups:
    """Return checked groups of seeds by the caller's ids; a group may be empty.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    seeds : Groups or sequence of sequences of (int, int)
        Seeds by the caller's ids; `Groups` are not checked.
    distance_type : DistanceType
        Type of the distances, which bounds offsets.

    Raises
    ------
    QueryError
        See `terminals`.
    """
    if isinstance(seeds, Groups):
        return seeds
    pairs = "pairs of a node id and a weight"
    seeds = [listed(group, "a group of seeds", pairs) for group in listed(seeds, "seeds", f"lists of {pairs}")]
    count = np.fromiter(map(len, seeds), np.int64, len(seeds))
    first = bounds_of(count)
    try:
        flat = np.array([seed for group in seeds for seed in group] or np.empty((0, 2), np.int64))
    except ValueError:
        flat = np.empty(0)  # has no two columns, so the seeds are checked one by one
    most, dtype = (renumbered.graph.num_nodes, distance_type.unreachable), distance_type.dtype
    is_good = flat.shape == (first[-1], 2) and flat.dtype.kind in "iu" and int(count.max(initial=0)) <= MAX_TERMINALS
    if is_good and bool(((flat >= 0) & (flat < most)).all()):
        return Groups(first, flat[:, 0].astype(np.uint32), flat[:, 1].astype(dtype))
    for group in seeds:
        if len(group):
            # Raises for the first invalid group.
            terminals(renumbered, group, "source", distance_type=distance_type)
    found = [(operator.index(node), operator.index(offset)) for group in seeds for node, offset in group]
    checked = np.array(found, np.uint64).reshape(-1, 2)
    return Groups(first, checked[:, 0].astype(np.uint32), checked[:, 1].astype(dtype))
