"""Rows of distances to few nodes of a hierarchy, where the upward searches from both ends meet.

An upward search from each end, and the least sum over the ancestors that both have, is a query by the labels of
ancestors (I. Abraham, D. Delling, A. Goldberg, R. Werneck, A hub-based labeling algorithm for shortest paths in road
networks, 2011). The labels are made anew for each table.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import FinishedRows
from vkssp.cores import num_cores, run_all
from vkssp.cpu.customized import customized_of, layout_of
from vkssp.cpu.device import CpuGraph, all_read_only
from vkssp.cpu.phast import NumberedLabels, ranks_of
from vkssp.cpu.rows import Rows
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import kernels
from vkssp.memory import SMALL
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.seed_groups import Groups

# Least part of the nodes, and of the rows, to which these rows are slower than sweeps.
_PART_OF_NODES, _PART_OF_ROWS = 1 / 32, 16
# Most and fewest rows of a task, or nodes at first, and tasks of a core.
_MOST, _FEWEST, _TASKS_A_CORE = 64, 8, 2
# Ends of the paths of rows and of nodes, which are not equal.
_END_OF_ROW, _END_OF_NODE = np.int32(-1), np.int32(-2)


def meetings_suit(graph: CpuGraph, nodes: int, rows: int) -> bool:
    """Return whether rows to so many nodes take less time where searches meet than by sweeps."""
    hierarchy = graph.renumbered.hierarchy
    if hierarchy is None or nodes > _PART_OF_NODES * graph.num_nodes or nodes > _PART_OF_ROWS * rows:
        return False
    layout = layout_of(hierarchy)
    return 4 * nodes * (layout.num_levels + int(layout.stops.max(initial=0))) <= SMALL


class MeetingRows(Rows):
    """Maker of rows to few nodes: sums of the distances from a row's seeds to ancestors, and from there to each node.

    Where the searches from the nodes lead is found once.
    """

    NODE_BYTES = 12

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int, like: Rows | None = None) -> None:
        self._customized = customized_of(graph)
        self._layout, self._rank = self._customized.layout, ranks_of(graph.renumbered)
        self._kernels = kernels("vkssp.cpu.kernels.root_paths")
        super().__init__(graph, nodes, limit, like)
        first, offsets = np.arange(len(nodes) + 1), np.zeros(len(nodes), np.uint32)
        self._columns, most = self._room(len(nodes)), np.empty(len(nodes), np.uint32)

        def climb(begin: int, end: int) -> None:
            bounds, found = first[begin : end + 1], most[begin:end]
            self._climb(self._customized.down, bounds, nodes, offsets, _END_OF_NODE, self._columns, found)

        size = max(_MOST, -(-len(nodes) // num_cores()))
        run_all([partial(climb, *bounds) for bounds in pairwise([*range(0, len(nodes), size), len(nodes)])])
        self._farthest = int(most.max(initial=0))

    def can_take(self, like: Rows) -> bool:
        """Return whether the workspaces of another maker fit; see `Rows.can_take`."""
        return isinstance(like, MeetingRows) and like._layout is self._layout

    def _room(self, count: int) -> Any:
        """Return room for some paths."""
        layout = self._layout
        groups = np.empty((count, layout.num_levels + 1), np.int32)
        dist = np.empty((count, int(layout.stops.max(initial=0))), np.uint32)
        return self._kernels.RootPaths(groups, dist, np.empty(count, np.int64))

    def _climb(
        self,
        weights: Uint32s,
        first: npt.NDArray[np.int64],
        nodes: Uint32s,
        offsets: Uint32s,
        end: np.int32,
        paths: Any,
        most: Uint32s,
    ) -> None:
        """Search upward from groups of seeds; see `vkssp.cpu.kernels.root_paths.climb_all`."""
        layout = self._layout
        try:
            numbered: NumberedLabels = self._spare.pop()
        except IndexError:
            numbered = NumberedLabels(layout)
        seeds = all_read_only(first, self._rank[nodes] if len(self._rank) else nodes, offsets)
        self._kernels.climb_all(
            *(layout.tree, weights, layout.level, layout.stops, numbered.labels, numbered.begin(len(most))),
            *(*seeds, end, paths, most),
        )
        self._spare.append(numbered)

    def rows_of_task(self, total: int, aggregates: Aggregates | None) -> int:
        """Return the number of rows of a task."""
        tasks = _TASKS_A_CORE * num_cores() if num_cores() > 1 else 1
        return max(_FEWEST, min(_MOST, -(-total // tasks)))

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds."""
        bounds, count = groups.first[first : end + 1], end - first
        seeds, bounds = slice(int(bounds[0]), int(bounds[-1])), bounds - bounds[0]
        paths, most = self._room(int(bounds[-1])), np.empty(count, np.uint32)
        self._climb(self._customized.up, bounds, groups.node[seeds], groups.offset[seeds], _END_OF_ROW, paths, most)
        row = np.repeat(np.arange(count), np.diff(bounds))
        found = np.full((count, len(self._nodes)), UNREACHABLE, np.uint32)
        self._kernels.meet(self._layout.stops, paths, row, self._columns, np.uint32(self._limit), found)
        farthest = np.maximum(most, self._farthest).astype(np.int64)
        overflow = farthest + np.maximum(farthest, self._customized.heaviest) >= UNREACHABLE
        overflow |= self._customized.saturated
        return FinishedRows(overflow & (found == UNREACHABLE).any(axis=1), lambda: found)
