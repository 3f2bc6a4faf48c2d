"""Rows of distances from many groups of seeds to the same nodes, computed on all cores at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import FinishedRows
from vkssp.cores import num_cores, run_ahead
from vkssp.cpu.aggregates import aggregated, aggregated_near, node_sums, node_sums_near
from vkssp.cpu.customized import customized_of
from vkssp.cpu.device import CpuDevice, CpuGraph, all_read_only, array_bytes, read_only
from vkssp.cpu.dijkstra import Dijkstra, GivenUpError, empty_heap
from vkssp.cpu.phast import NumberedLabels, ranks_of
from vkssp.cpu.tree_sweeps import tree_numbering
from vkssp.cpu.trees import Trees, wanted_of
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import ranges, within
from vkssp.graph.distance_type import BITS_32, BITS_64, DistanceType
from vkssp.jit import kernels
from vkssp.memory import SMALL
from vkssp.prepared.aggregates import Aggregates, ArcLoads, NodeSums
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Largest part of the free memory that rows take before they are handed over.
MOST_MEMORY = 0.5
# Rows of a sweep, for many rows and for few.
_WIDTH, _NARROW = 16, 8
# Nodes and arcs, of all its trees, that a task of loads passes: of fewer the task's start would be a large part.
_WORK = 1 << 18
# Most rows of a task of searches, and tasks of a core, of which one is under way.
_MOST_ROWS, _AHEAD = 16, 2
#: Columns, of all its rows, that a thread takes together to make aggregates.
MOST_NEAR = 1 << 14
# Tasks of rows whose aggregates are made in less than this many seconds become larger, up to so many rows, and smaller
# if they take four times as long.
_SHORT_S, _MOST_SUMS = 0.01, 4096
# Arcs of a hierarchy that a sweep passes, sums included, in the time in which a search settles a node, and number of
# searches that tell whether they take less time.
_ARCS_OF_A_NODE, _SAMPLES = 100, 16


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
    like : Rows, optional
        Closed maker of the same class, whose workspaces are taken over if they fit, for instance after a change of
        weights: new memory takes the system longer than small searches.

    Attributes
    ----------
    device : CpuDevice
        The CPU.
    """

    #: Bytes that a core needs for each node of the graph, and in addition for loads.
    NODE_BYTES = LOAD_BYTES = 0
    #: Type of the distances.
    DISTANCE_TYPE: ClassVar[DistanceType] = BITS_32

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int, like: Rows | None = None) -> None:
        super().__init__(graph)
        self.device: CpuDevice = graph.device
        self._graph, self._nodes, self._limit = graph, nodes, limit
        self._spare: list[Any] = []  # workspaces that no thread uses
        if like is not None and self.can_take(like):
            self._spare, like._spare = like._spare, []

    def can_take(self, like: Rows) -> bool:
        """Return whether the workspaces of another maker are as large as those of this one, before it has any."""
        return like._graph.num_nodes == self._graph.num_nodes

    def _own_bytes(self) -> int:
        return array_bytes(self) + sum(map(array_bytes, self._spare))

    def suits(self, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None) -> bool:
        """Return whether this makes rows of the given nodes up to the given limit."""
        return limit == self._limit and np.array_equal(nodes, self._nodes) and not self.closed

    def rows_of_task(self, total: int, aggregates: Aggregates | None) -> int:
        """Return the number of rows, of a total, or of their aggregates, that a thread makes at once from now on."""
        raise NotImplementedError

    def task(self, groups: Groups, aggregates: Aggregates | None) -> Callable[[int, int], FinishedRows]:
        """Return a function that makes the rows, or their aggregates, from one group of seeds up to another."""
        if aggregates is None:
            return partial(self.make, groups)
        return partial(self.sums, groups, aggregates)

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds."""
        raise NotImplementedError

    def sums(self, groups: Groups, aggregates: Aggregates, first: int, end: int) -> FinishedRows:
        """Make the aggregates of the rows of some groups of seeds."""
        made, sums = self.make(groups, first, end), None
        overflow = made.overflow if self._limit == UNREACHABLE else np.zeros_like(made.overflow)
        if isinstance(aggregates[0], NodeSums):
            found, sums = np.zeros((end - first, 0), np.int64), node_sums(aggregates[0], made.read()[~overflow])
        elif isinstance(aggregates[0], ArcLoads):
            found, sums = self._trees().loads(aggregates[0], groups.between(first, end), made.read(), overflow)
        else:
            found = aggregated(aggregates, groups.between(first, end).sources, made.read())
        return FinishedRows(made.overflow, lambda: found, sums)

    def _trees(self) -> Trees:
        trees: Trees = self._graph.shared("trees", lambda: Trees(self._graph.renumbered))
        return trees

    def rows(self, groups: Groups, aggregates: Aggregates | None = None) -> Generator[FinishedRows, None, None]:
        """Compute rows of distances, or their aggregates, in order.

        If the overflow of a row is set, only a separate search tells whether it matters.
        """
        make = self.task(groups, aggregates)

        def tasks() -> Iterator[Callable[[], FinishedRows]]:
            total, first = len(groups), 0
            while first < total:
                end = min(first + self.rows_of_task(total, aggregates), total)
                yield partial(make, first, end)
                first = end

        yield from run_ahead(tasks(), _AHEAD * num_cores())


def rows_at_once(kind: type[Rows], graph: CpuGraph, wanted: int, aggregates: Aggregates | None = None) -> int:
    """Return the number of rows that fit into memory at once; less than 2 if they must be made one after the other."""
    cores, loads = num_cores(), 0
    if aggregates is not None and isinstance(aggregates[0], ArcLoads):
        loads = kind.LOAD_BYTES
    each = (kind.NODE_BYTES + loads) * graph.renumbered.graph.num_nodes
    each += kind.DISTANCE_TYPE.nbytes * _WIDTH * _AHEAD * wanted
    # The question for free memory takes longer than a small table.
    is_small = each * cores <= MOST_MEMORY * SMALL
    return cores * _WIDTH if is_small or each * cores <= MOST_MEMORY * graph.device.free_bytes() else 1


def settled_nodes(graph: CpuGraph, groups: Groups, limit: int, most: float) -> float:
    """Return how many nodes searches up to a limit settle on average, as some of them tell; infinite beyond `most`."""
    sample = np.linspace(0, len(groups) - 1, min(len(groups), _SAMPLES)).astype(np.int64)
    settled, enough = 0, math.ceil(len(sample) * min(most, graph.num_nodes)) + 1
    with Dijkstra(graph) as search:
        for number in sample:
            try:
                outcome = search.search(groups[number], (), limit, partial(int, enough - settled))
            except GivenUpError:
                return math.inf
            settled += outcome.counters["iterations"]
            if settled >= enough:
                return math.inf
    return settled / max(1, len(sample))


def searches_suit(graph: CpuGraph, groups: Groups, limit: int) -> bool:
    """Return whether searches up to a limit take less time than sweeps over the hierarchy, for aggregates of rows."""
    hierarchy = graph.renumbered.hierarchy
    if hierarchy is None or limit == UNREACHABLE:
        return False
    return settled_nodes(graph, groups, limit, hierarchy.num_arcs / _ARCS_OF_A_NODE) < math.inf


class _SweepWorkspace:
    """Buffers of the rows of one thread."""

    def __init__(self, rows: SweepRows, num_nodes: int) -> None:
        self.numbered = NumberedLabels(rows.layout)
        self.dist = np.empty(_WIDTH * num_nodes, np.uint32)
        self.begun = np.zeros(rows.layout.num_supernodes, np.uint32)
        self.most = np.empty(_WIDTH, np.uint32)
        self.nothing = np.empty((_WIDTH, 0), np.uint32)
        self._trees: tuple[npt.NDArray[Any], ...] = ()

    def trees(self, num_nodes: int) -> tuple[npt.NDArray[Any], ...]:
        """Return room for trees: the arcs into nodes, and what they wait for and hand over."""
        if not self._trees:
            room = np.empty(_WIDTH * num_nodes, np.uint32)
            self._trees = room, np.zeros(num_nodes, np.uint32), np.zeros(num_nodes, np.int64)
        return self._trees


class SweepRows(Rows):
    """Maker of rows by sweeps over a hierarchy; the distances of a node for all rows of a sweep are side by side.

    If few nodes are wanted, only these and their ancestors are swept (RPHAST: D. Delling, A. Goldberg, R. Werneck,
    Faster batched shortest paths in road networks, 2011).

    Attributes
    ----------
    layout : Layout
        The hierarchy.
    """

    NODE_BYTES, LOAD_BYTES = 4 * (_WIDTH + 4), 4 * (_WIDTH + 3)

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int, like: Rows | None = None) -> None:
        self._kernels = kernels("vkssp.cpu.kernels.phast")
        self._customized = customized_of(graph)
        self.layout = self._customized.layout
        self._rank = ranks_of(graph.renumbered)
        self._part, self._num_nodes = self._needed(self._ranks(nodes))
        super().__init__(graph, nodes, limit, like)

    def can_take(self, like: Rows) -> bool:
        """Return whether the workspaces of another maker fit; see `Rows.can_take`."""
        return isinstance(like, SweepRows) and like.layout is self.layout and like._num_nodes == self._num_nodes

    def _ranks(self, nodes: Uint32s) -> Uint32s:
        return self._rank[nodes] if len(self._rank) else nodes

    def _needed(self, wanted: Uint32s) -> tuple[Any, int]:
        """Return the part of the hierarchy that nodes need, given by their ranks, and its number of nodes."""
        layout, tree, bounds = self.layout, self.layout.tree, self.layout.first_of_level
        is_needed = np.zeros(layout.num_supernodes, np.bool_)
        is_needed[tree.supernode[wanted]] = True
        if is_needed.all():  # places are ranks
            return self._kernels.Part(*layout.whole, read_only(wanted)), layout.num_nodes
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

    def rows_of_task(self, total: int, aggregates: Aggregates | None) -> int:
        """Return the number of rows of a sweep, or of a task of several sweeps."""
        if self._sums_loads(aggregates):
            graph = self._graph.renumbered
            return _WIDTH * max(1, _WORK // (_WIDTH * (graph.num_nodes + graph.num_arcs + 1)))
        return _WIDTH if total > _NARROW * num_cores() else _NARROW

    def _sums_loads(self, aggregates: Aggregates | None) -> bool:
        """Return whether the aggregates are loads that are made where the distances are."""
        is_plain = not self._graph.renumbered.contracted and len(self._part.groups) == self.layout.num_supernodes
        loads = None if aggregates is None else aggregates[0]
        return is_plain and isinstance(loads, ArcLoads) and loads.watch is None and not self._customized.saturated

    def task(self, groups: Groups, aggregates: Aggregates | None) -> Callable[[int, int], FinishedRows]:
        """Return a function that makes the rows, or their aggregates; see `Rows.task`."""
        if aggregates is None or not self._sums_loads(aggregates):
            return super().task(groups, aggregates)
        first_in, arcs_in, _ = self._graph.incoming()
        numbers, customized = tree_numbering(self._graph), self._customized
        trees = kernels("vkssp.cpu.kernels.trees")
        # Some tasks take less than a millisecond, so that all that they share is made before.
        part = self._part._replace(wanted=read_only(np.empty(0, np.uint32)))
        hierarchy = self.layout.tree, customized.up, customized.down, part
        seeds = all_read_only(groups.first, groups.node, groups.offset, groups.given)
        limits = np.uint64(customized.heaviest), self._limit != UNREACHABLE, np.uint32(aggregates[0].limit)
        graph = trees.Incoming(first_in, arcs_in), numbers.numbering, wanted_of(groups)
        load = kernels("vkssp.cpu.kernels.tree_sweeps").sweep_loads

        def loads(first: int, end: int) -> FinishedRows:
            space = self._space()
            mark = self._mark(space, end - first)
            sums, out = np.zeros(len(numbers.arc), np.int64), np.empty((end - first, aggregates[0].width), np.int64)
            overflow = np.empty(end - first, np.bool_)
            searches = space.dist, space.begun, space.most, space.nothing, *space.trees(self._num_nodes)
            load(
                *hierarchy, space.numbered.labels, mark, first, *seeds, *limits, *graph, *searches, sums, overflow, out
            )
            self._spare.append(space)
            by_arc = np.empty_like(sums)
            by_arc[numbers.arc] = sums
            return FinishedRows(overflow, lambda: out, by_arc)

        return loads

    def _space(self) -> _SweepWorkspace:
        try:
            space: _SweepWorkspace = self._spare.pop()
        except IndexError:
            space = _SweepWorkspace(self, self._num_nodes)
        return space

    def _mark(self, space: _SweepWorkspace, number: int) -> np.uint32:
        """Return the number before those of some searches."""
        mark = space.numbered.begin(number)
        if mark == 0:
            space.begun[:] = 0  # the numbers of searches begin anew
        return mark

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds by one sweep."""
        space, number, customized = self._space(), end - first, self._customized
        width, mark = _WIDTH if number > _NARROW else _NARROW, self._mark(space, number)
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

    def __init__(self, num_nodes: int, distance_type: DistanceType) -> None:
        self._num_nodes = num_nodes
        self.arrays = (
            np.empty(num_nodes, distance_type.dtype),
            np.empty(num_nodes, np.uint32),
            empty_heap(num_nodes, distance_type),
            np.empty(num_nodes, np.uint32),
            np.array([2**32 - 1], np.uint32),
        )
        self._near: tuple[Uint32s, Uint32s] | None = None
        self._state: npt.NDArray[np.int64] | None = None

    def state(self) -> npt.NDArray[np.int64]:
        """Return room for the states of nodes of a tree; see `vkssp.cpu.kernels.trees.load_tree`."""
        if self._state is None:
            self._state = np.empty((self._num_nodes, 2), np.int64)
        return self._state

    def near(self, num_columns: int) -> tuple[Uint32s, Uint32s]:
        """Return room for the columns that rows of so many columns reach, and for their distances."""
        size = max(num_columns, MOST_NEAR)
        if self._near is None or len(self._near[0]) < size:
            self._near = np.empty(size, np.uint32), np.empty(size, np.uint32)
        return self._near


class SearchRows(Rows):
    """Maker of rows by Dijkstra's algorithm, which ends as soon as all wanted nodes are settled."""

    NODE_BYTES, LOAD_BYTES = 32, 16

    def __init__(self, graph: CpuGraph, nodes: Uint32s, limit: int, like: Rows | None = None) -> None:
        super().__init__(graph, nodes, limit, like)
        self._kernels = kernels("vkssp.cpu.kernels.dijkstra")
        column = np.full(graph.num_nodes, UNREACHABLE, np.uint32)
        column[nodes] = np.arange(len(nodes), dtype=np.uint32)
        is_wanted = column != UNREACHABLE
        self._num_wanted = int(is_wanted.sum())
        self._rows_of_sums = _MOST_ROWS
        self._wanted, self._is_wanted, self._column = all_read_only(nodes, is_wanted.view(np.uint8), column)
        # The other columns of each column's node: nodes on a cycle of weight zero are one node of the graph.
        same = column[nodes]
        others = np.flatnonzero(same != np.arange(len(nodes)))
        self._others = others[np.argsort(same[others], kind="stable")].astype(np.uint32)
        self._num_others = np.bincount(same[others], minlength=len(nodes))
        self._first_other = np.cumsum(self._num_others) - self._num_others

    def rows_of_task(self, total: int, aggregates: Aggregates | None) -> int:
        """Return the number of searches of a task."""
        most = _MOST_ROWS if aggregates is None else self._rows_of_sums
        return max(1, min(most, total // (_AHEAD * num_cores())))

    def _space(self) -> _SearchWorkspace:
        try:
            space: _SearchWorkspace = self._spare.pop()
        except IndexError:
            space = _SearchWorkspace(self._graph.num_nodes, self.DISTANCE_TYPE)
        return space

    def _seeds(self, groups: Groups, first: int, end: int) -> tuple[Any, ...]:
        """Return what kernels take of some groups of seeds, and of what is looked for."""
        bounds = groups.first[first : end + 1]
        seeds = slice(int(bounds[0]), int(bounds[-1]))
        offset = groups.offset[seeds].astype(self.DISTANCE_TYPE.dtype, copy=False)
        arrays = all_read_only(bounds - bounds[0], groups.node[seeds], offset)
        return *arrays, self._is_wanted, self._num_wanted, np.uint64(self._limit)

    def make(self, groups: Groups, first: int, end: int) -> FinishedRows:
        """Make the rows of some groups of seeds, one after the other."""
        space = self._space()
        found = np.empty((end - first, len(self._wanted)), self.DISTANCE_TYPE.dtype)
        overflow = np.empty(end - first, np.uint8)
        self._kernels.rows(
            *(self._graph.first_out, self._graph.arcs, *space.arrays),
            *(*self._seeds(groups, first, end), self._wanted, found, overflow),
        )
        self._spare.append(space)
        return FinishedRows(overflow.astype(np.bool_), lambda: found)

    def sums(self, groups: Groups, aggregates: Aggregates, first: int, end: int) -> FinishedRows:
        """Make the aggregates of the rows of some groups of seeds, in a time that depends on the nodes reached only."""
        if isinstance(aggregates[0], ArcLoads):
            return self._loads(groups, first, end, aggregates[0])
        space, seeds, began = self._space(), self._seeds(groups, first, end), time.perf_counter()
        first_near, overflow, parts, row = np.zeros(end - first + 1, np.int64), np.empty(end - first, np.uint8), [], 0
        columns, distances = space.near(self._num_wanted)
        of_nodes = aggregates[0] if isinstance(aggregates[0], NodeSums) else None
        sums = None if of_nodes is None else np.zeros((of_nodes.NUM_SUMS, len(self._wanted)), np.int64)
        while row < end - first:
            next_row = self._kernels.near(
                *(self._graph.first_out, self._graph.arcs, *space.arrays, *seeds, self._column),
                *(row, row > 0, first_near, columns, distances, overflow),
            )
            near = self._with_others(first_near[: next_row - row + 1], columns, distances)
            if of_nodes is not None and sums is not None:
                left_out = overflow[row:next_row] * np.uint8(self._limit == UNREACHABLE)
                node_sums_near(of_nodes, *near, left_out, sums)
                parts.append(np.zeros((next_row - row, 0), np.int64))
            else:
                here = groups.between(first + row, first + next_row)
                parts.append(aggregated_near(aggregates, here.sources, *near))
            row = next_row
        self._spare.append(space)
        self._set_pace(end - first, time.perf_counter() - began)
        found = np.concatenate(parts)
        return FinishedRows(overflow.astype(np.bool_), lambda: found, sums)

    def _with_others(
        self, first: npt.NDArray[np.int64], columns: Uint32s, distances: Uint32s
    ) -> tuple[npt.NDArray[np.int64], Uint32s, Uint32s]:
        """Return near rows, see `aggregated_near`, with all columns of each node that is reached."""
        if not len(self._others):
            return first, columns, distances
        columns, distances = columns[: int(first[-1])], distances[: int(first[-1])]
        more = self._num_others[columns]
        if not more.any():
            return first, columns, distances
        found, offset = np.repeat(columns, more + 1), np.concatenate([[0], np.cumsum(more + 1)])
        found[within(more + 1) > 0] = self._others[ranges(self._first_other[columns], more)]
        return offset[first], found, np.repeat(distances, more + 1)

    def _loads(self, groups: Groups, first: int, end: int, aggregate: ArcLoads) -> FinishedRows:
        """Make the loads of the rows of some groups of seeds."""
        if self._graph.renumbered.contracted or aggregate.watch is not None:
            return super().sums(groups, (aggregate,), first, end)
        space, began, renumbered = self._space(), time.perf_counter(), self._graph.renumbered
        module = kernels("vkssp.cpu.kernels.trees")
        first_in, arcs_in, arc_in = self._graph.incoming()
        load, out = np.zeros(len(arc_in), np.int64), np.zeros((end - first, aggregate.width), np.int64)
        overflow, is_limited = np.empty(end - first, np.uint8), self._limit != UNREACHABLE
        module.search_loads(
            *(self._graph.first_out, self._graph.arcs, *space.arrays, *self._seeds(groups, first, end), is_limited),
            *(module.Incoming(first_in, arcs_in), wanted_of(groups.between(first, end), renumbered.node)),
            *(space.state(), load, overflow, out),
        )
        self._spare.append(space)
        self._set_pace(end - first, time.perf_counter() - began)
        loads = np.zeros_like(load)
        loads[arc_in] = load
        return FinishedRows(overflow.astype(np.bool_), lambda: out, loads)

    def _set_pace(self, rows: int, spent: float) -> None:
        """Choose the number of rows of the next tasks, given those of a task and its seconds."""
        if spent < _SHORT_S and self._rows_of_sums <= rows < _MOST_SUMS:
            self._rows_of_sums = 2 * rows
        elif spent > 4 * _SHORT_S and _MOST_ROWS < rows <= self._rows_of_sums:
            self._rows_of_sums = max(_MOST_ROWS, rows // 4)


class WideSearchRows(SearchRows):
    """Maker of rows by Dijkstra's algorithm with distances of 64 bits; it makes no aggregates."""

    NODE_BYTES, DISTANCE_TYPE = 40, BITS_64
