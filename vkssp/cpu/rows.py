"""Rows of distances from many groups of seeds to the same nodes, computed on all cores at once."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np

from vkssp.algorithm import FinishedRows
from vkssp.cpu.aggregates import aggregated
from vkssp.cpu.cores import num_cores, run_ahead
from vkssp.cpu.customized import customized_of
from vkssp.cpu.device import CpuDevice, CpuGraph, all_read_only, array_bytes, read_only
from vkssp.cpu.dijkstra import empty_heap
from vkssp.cpu.phast import NumberedLabels, ranks_of
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import ranges
from vkssp.jit import kernels
from vkssp.memory import SMALL
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Largest part of the free memory that rows take before they are handed over.
MOST_MEMORY = 0.5
# Rows of a sweep, for many rows and for few.
_WIDTH, _NARROW = 16, 8
# Most rows of a task of searches, and tasks of a core, of which one is under way.
_MOST_ROWS, _AHEAD = 16, 2


class Rows(Resource):
    """Maker of rows of distances to some nodes; a subclass makes those of consecutive groups of seeds.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    limit : int
        Distances beyond it count as unreachable.

    Attributes
    ----------
    device : CpuDevice
        The CPU.
    """

    #: Bytes that a core needs for each node of the graph.
    NODE_BYTES = 0

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int) -> None:
        super().__init__(graph)
        self.device: CpuDevice = graph.device
        self._graph, self._nodes, self._limit = graph, nodes, limit
        self._spare: list[Any] = []  # workspaces that no thread uses

    def _own_bytes(self) -> int:
        return array_bytes(self) + sum(map(array_bytes, self._spare))

    def suits(self, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None) -> bool:
        """Return whether this makes rows of the given nodes up to the given limit."""
        return limit == self._limit and np.array_equal(nodes, self._nodes) and not self.closed

    def rows_of_task(self, total: int) -> int:
        """Return the number of rows that a thread makes at once, of a total number of rows."""
        raise NotImplementedError

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds."""
        raise NotImplementedError

    def rows(self, groups: Groups, aggregates: Aggregates | None = None) -> Generator[FinishedRows, None, None]:
        """Compute rows of distances, or their aggregates, in order.

        If the overflow of a row is set, only a separate search tells whether it matters.
        """
        step = self.rows_of_task(len(groups))

        def task(first: int) -> FinishedRows:
            made = self.make(groups, first, min(first + step, len(groups)))
            if aggregates is None:
                return made
            sums = aggregated(aggregates, made.read())
            return FinishedRows(made.overflow, lambda: sums)

        yield from run_ahead((partial(task, first) for first in range(0, len(groups), step)), _AHEAD * num_cores())


def rows_at_once(kind: type[Rows], graph: CpuGraph, wanted: int) -> int:
    """Return the number of rows that fit into memory at once; less than 2 if they must be made one after the other."""
    cores = num_cores()
    each = kind.NODE_BYTES * graph.renumbered.graph.num_nodes + 4 * _WIDTH * _AHEAD * wanted
    # The question for free memory takes longer than a small table.
    is_small = each * cores <= MOST_MEMORY * SMALL
    return cores * _WIDTH if is_small or each * cores <= MOST_MEMORY * graph.device.free_bytes() else 1


class _SweepWorkspace:
    """Buffers of the rows of one thread."""

    def __init__(self, rows: SweepRows, num_nodes: int) -> None:
        self.numbered = NumberedLabels(rows.layout)
        self.dist = np.empty(_WIDTH * num_nodes, np.uint32)
        self.begun = np.zeros(rows.layout.num_supernodes, np.uint32)
        self.most = np.empty(_WIDTH, np.uint32)


class SweepRows(Rows):
    """Maker of rows by sweeps over a hierarchy; the distances of a node for all rows of a sweep are side by side.

    If few nodes are wanted, only these and their ancestors are swept (RPHAST: D. Delling, A. Goldberg, R. Werneck,
    Faster batched shortest paths in road networks, 2011).

    Attributes
    ----------
    layout : Layout
        The hierarchy.
    """

    NODE_BYTES = 4 * (_WIDTH + 4)

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int) -> None:
        super().__init__(graph, nodes, limit)
        self._kernels = kernels("vkssp.cpu.kernels.phast")
        self._customized = customized_of(graph)
        self.layout = self._customized.layout
        self._rank = ranks_of(graph.renumbered)
        self._part, self._num_nodes = self._needed(self._ranks(nodes))

    def _ranks(self, nodes: Uint32s) -> Uint32s:
        return self._rank[nodes] if len(self._rank) else nodes

    def _needed(self, wanted: Uint32s) -> tuple[Any, int]:
        """Return the part of the hierarchy that nodes need, given by their ranks, and its number of nodes."""
        layout, tree, bounds = self.layout, self.layout.tree, self.layout.first_of_level
        is_needed = np.zeros(layout.num_supernodes, np.bool_)
        is_needed[tree.supernode[wanted]] = True
        for first, end in zip(bounds[-2:0:-1].tolist(), bounds[:1:-1].tolist(), strict=True):
            is_needed[layout.parent[first + np.flatnonzero(is_needed[first:end])]] = True
        groups = np.flatnonzero(is_needed)
        first_node, first_ancestor = layout.first_node.astype(np.int64), layout.first_ancestor.astype(np.int64)
        size, count = np.diff(first_node)[groups], np.diff(first_ancestor)[groups]
        base = np.full(layout.num_supernodes, -1, np.int64)
        base[groups] = np.cumsum(size) - size
        ancestor = tree.ancestor[ranges(first_ancestor[groups], count)]

        def places(ranks: Uint32s) -> Uint32s:
            group = tree.supernode[ranks]
            found: Uint32s = (base[group] + ranks - first_node[group]).astype(np.uint32)
            return found

        arrays = groups.astype(np.int32), np.cumsum(count) - count, places(ancestor), base, places(wanted)
        return self._kernels.Part(*all_read_only(*arrays)), int(size.sum())

    def rows_of_task(self, total: int) -> int:
        """Return the number of rows of a sweep."""
        return _WIDTH if total > _NARROW * num_cores() else _NARROW

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds by one sweep."""
        try:
            space = self._spare.pop()
        except IndexError:
            space = _SweepWorkspace(self, self._num_nodes)
        number, customized = end - first, self._customized
        width = _WIDTH if number > _NARROW else _NARROW
        mark = space.numbered.begin(number)
        if mark == 0:
            space.begun[:] = 0  # the numbers of searches begin anew
        bounds = groups.first[first : end + 1]
        seeds = slice(int(bounds[0]), int(bounds[-1]))
        found = np.empty((number, len(self._nodes)), np.uint32)
        self._kernels.sweep_rows(
            *(self.layout.tree, customized.up, customized.down, self._part, space.numbered.labels, mark),
            *all_read_only(bounds - bounds[0], self._ranks(groups.node[seeds]), groups.offset[seeds]),
            *(np.uint64(width), space.dist, space.begun, space.most, np.uint32(self._limit), found),
        )
        overflow = space.most[:number].astype(np.int64) + customized.heaviest >= UNREACHABLE
        self._spare.append(space)
        return FinishedRows(overflow | customized.saturated, lambda: found)


class _SearchWorkspace:
    """Buffers of the searches of one thread."""

    def __init__(self, num_nodes: int) -> None:
        self.arrays = (
            *(np.empty(num_nodes, np.uint32) for _ in range(2)),
            empty_heap(num_nodes),
            np.empty(num_nodes, np.uint32),
            np.array([2**32 - 1], np.uint32),
        )


class SearchRows(Rows):
    """Maker of rows by Dijkstra's algorithm, which ends as soon as all wanted nodes are settled."""

    NODE_BYTES = 24

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int) -> None:
        super().__init__(graph, nodes, limit)
        self._kernels = kernels("vkssp.cpu.kernels.dijkstra")
        self._is_wanted = np.zeros(graph.num_nodes, np.uint8)
        self._is_wanted[nodes] = 1
        self._wanted = read_only(nodes)

    def rows_of_task(self, total: int) -> int:
        """Return the number of searches of a task."""
        return max(1, min(_MOST_ROWS, total // (_AHEAD * num_cores())))

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds, one after the other."""
        try:
            space = self._spare.pop()
        except IndexError:
            space = _SearchWorkspace(self._graph.num_nodes)
        bounds = groups.first[first : end + 1]
        seeds = slice(int(bounds[0]), int(bounds[-1]))
        found = np.empty((end - first, len(self._wanted)), np.uint32)
        overflow = np.empty(end - first, np.uint8)
        self._kernels.rows(
            *(self._graph.first_out, self._graph.arcs, *space.arrays),
            *all_read_only(bounds - bounds[0], groups.node[seeds], groups.offset[seeds], self._is_wanted),
            *(self._wanted, np.uint64(self._limit), found, overflow),
        )
        self._spare.append(space)
        return FinishedRows(overflow.astype(np.bool_), lambda: found)
