"""Best paths between the two points of each of many pairs, in arrays; the same as `vkssp.routing.legs` finds for one.

All pairs are searched together. Paths that pass no node are looked for where both points are on one street, or at one
junction, which few pairs are. Points inside open areas are looked at one by one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.csr import bounds_of, ranges
from vkssp.jit import kernels
from vkssp.prepared.seed_groups import Groups
from vkssp.routing.legs import LegPath, find_many_leg_paths
from vkssp.routing.many_phantoms import ends_and_places, many_goals, many_starts
from vkssp.routing.phantoms import ViaState, find_direct
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps
from vkssp.solver.phantom_node import PhantomNode, PhantomNodes
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Weight of a pair without a path.
NO_PATH = -1
_ANY_STATE = ViaState([], [])


class PairPaths(NamedTuple):
    """Paths of pairs; arrays have an entry for each pair unless said otherwise.

    Attributes
    ----------
    weight : numpy.ndarray
        Weight of the path, `NO_PATH` if there is none, int64.
    node, arc : numpy.ndarray
        Node and arc, -1 for none, of the phantom nodes at both ends, shape (k, 2), int64.
    at : numpy.ndarray
        Shares of these arcs before the points, shape (k, 2), float64.
    end_weight : numpy.ndarray
        Weights of the phantom nodes at both ends, shape (k, 2), int64.
    is_direct : numpy.ndarray
        Whether the path stays on one arc, or at one junction, bool.
    first : numpy.ndarray
        Offset of each path's first arc in `arcs`, shape (k + 1,), int64.
    arcs : numpy.ndarray
        Arcs between the phantom nodes, path by path, int64.
    by_number : dict of int to list of LegPath
        Paths of routes that arrays do not describe: through open areas, or with via points, a path for each leg. Arrays
        have only their weights.
    """

    weight: Indices
    node: Indices
    arc: Indices
    at: Floats
    end_weight: Indices
    is_direct: npt.NDArray[np.bool_]
    first: Indices
    arcs: Indices
    by_number: dict[int, list[LegPath]]

    @classmethod
    def none_of(cls, count: int) -> PairPaths:
        """Return the paths of pairs that have none."""
        nothing, offsets = np.zeros((2, count, 2)), np.zeros(count + 1, np.int64)
        weight, ends = np.empty(count, np.int64), np.empty((2, count, 2), np.int64)
        weight.fill(NO_PATH)
        ends.fill(-1)
        (at, zeros), (node, arc), is_direct = nothing, ends, np.zeros(count, np.bool_)
        return cls(weight, node, arc, at, zeros.view(np.int64), is_direct, offsets, np.zeros(0, np.int64), {})

    def leg_paths(self, number: int) -> list[LegPath]:
        """Return the paths of the legs of a pair that has one."""
        if number in self.by_number:
            return self.by_number[number]
        columns = zip(*(of[number].tolist() for of in (self.node, self.end_weight, self.arc, self.at)), strict=True)
        first, last = (PhantomNode(*each) for each in columns)
        inner = self.arcs[int(self.first[number]) : int(self.first[number + 1])]
        return [LegPath(int(self.weight[number]), first, inner, last, bool(self.is_direct[number]))]

    def put(self, number: int, leg_paths: list[LegPath]) -> None:
        """Keep the paths of the legs of a pair that arrays do not describe."""
        self.by_number[number] = leg_paths
        self.weight[number] = sum(path.weight for path in leg_paths)

    def merged(self, numbers: Indices, others: PairPaths) -> PairPaths:
        """Return the paths of all pairs, with others for those with some ascending numbers, which had none."""
        if len(numbers) == len(self.weight):
            return others
        for name in self._fields[:6]:
            getattr(self, name)[numbers] = getattr(others, name)
        counts, parts, end = np.diff(self.first), list[Indices](), 0
        counts[numbers] = np.diff(others.first)
        for at, ends in zip(self.first[numbers].tolist(), pairwise(others.first.tolist()), strict=True):
            parts += [self.arcs[end:at], others.arcs[slice(*ends)]]
            end = at
        first, arcs = bounds_of(counts), np.concatenate([*parts, self.arcs[end:]])
        own = {int(numbers[row]): path for row, path in others.by_number.items()}
        return self._replace(first=first, arcs=arcs, by_number=self.by_number | own)


def find_pair_paths(solver: Solver | SolverPool, index: StreetIndex, starts: Snaps, goals: Snaps) -> PairPaths:
    """Return the best path from each start to the goal of the same number.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`, and keeps its weights until this returns.
    index : StreetIndex
        The streets.
    starts, goals : Snaps
        The points, as many goals as starts.
    """
    paths = PairPaths.none_of(len(starts))
    if not len(starts):
        return paths
    is_inside = starts.is_inside | goals.is_inside
    here, there = many_starts(index, starts), many_goals(index, goals)
    own_kernels, numbers = kernels("vkssp.routing.kernels.pairs"), np.empty((2, len(starts)), np.int64)
    num_searched, num_direct = own_kernels.sort_pairs(
        *(starts.polyline, goals.polyline, starts.fraction, goals.fraction, starts.has_arcs | goals.has_arcs),
        *(is_inside, here.first, there.first, *ends_and_places(index)[:2], numbers),
    )
    searched = numbers[0, :num_searched]
    if num_searched:
        found = solver.search_paths(_groups(here, searched), _groups(there, searched))
        own_kernels.put_paths(
            *(searched, found.seed, found.target, found.weight.astype(np.int64), found.first, here.first, there.first),
            *(here.node, there.node, here.weight, there.weight, here.arc, there.arc, here.at, there.at),
            *(paths.weight, paths.node, paths.arc, paths.at, paths.end_weight, paths.first),
        )
        arcs = found.arcs if index.avoided is None else index.avoided.arc_ids[found.arcs]
        paths = paths._replace(arcs=arcs)
    if num_direct:
        paths = _with_direct(index, starts, goals, numbers[1, :num_direct].tolist(), paths)
    if not is_inside.any():
        return paths
    apart = np.flatnonzero(is_inside).tolist()
    others = find_many_leg_paths(solver, index, [[starts.at(row), goals.at(row)] for row in apart], False)
    for row, other in zip(apart, others, strict=True):
        if not isinstance(other, int):
            paths.put(row, other)
    return paths


def _groups(ends: PhantomNodes, numbers: Indices) -> Groups:
    """Return the phantom nodes of some points as seeds or targets."""
    if len(numbers) == len(ends):
        return Groups(ends.first, ends.node, ends.weight)
    counts = np.diff(ends.first)[numbers]
    rows = ranges(ends.first[numbers], counts)
    return Groups(bounds_of(counts), ends.node[rows], ends.weight[rows])


def _with_direct(index: StreetIndex, starts: Snaps, goals: Snaps, rows: list[int], paths: PairPaths) -> PairPaths:
    """Return paths with those of some pairs that pass no node in place of others that are not shorter."""
    dropped = []
    for row in rows:
        way = find_direct(index, starts.at(row), goals.at(row), _ANY_STATE, _ANY_STATE)
        if way is None or 0 <= paths.weight[row] < way[0]:
            continue
        if paths.weight[row] != NO_PATH:
            dropped.append(row)
        paths.weight[row], paths.is_direct[row] = way[0], True
        for side, end in enumerate(way[1:]):
            paths.node[row, side], paths.end_weight[row, side] = end.node, end.weight
            paths.arc[row, side], paths.at[row, side] = end.arc, end.at
    if not dropped:
        return paths
    counts = np.diff(paths.first)
    is_kept = np.ones(len(counts), np.bool_)
    is_kept[dropped] = False
    arcs = paths.arcs[np.repeat(is_kept, counts)]
    return paths._replace(first=bounds_of(counts * is_kept), arcs=arcs)
