"""Partial customization on a device: the weights of a hierarchy after few weights of the graph have changed.

Basic customization is about the supernodes of the changed arcs and all above them. What paths over other supernodes
contribute to their arcs is gathered at once; the rest goes level by level, as with all supernodes. Perfect
customization begins with the same supernodes. Wherever the weight of an arc differs from the one before, the supernodes
below it are listed for which it matters, and only these are customized, pruned and packed again. The results are those
of customizing everything. All of it is recorded once: the device counts the supernodes itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.fronts import (
    COLUMNS,
    MOST_ROUNDS,
    OUTSIDE,
    PAIRS,
    Blocks,
    Front,
    blocks_of,
    chain_size,
    front_of,
    make_kernel,
    power_of_two,
    whole_front_of,
    whole_rounds,
    workgroup_size,
)
from vkssp.cch.topology import Topology, splits_of
from vkssp.engine.arrays import Array
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import Graph
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.resource import Resource

#: Fewest arcs of a hierarchy that is customized partly; below, customizing everything takes as long. Largest share
#: of the work for the supernodes above a sample of nodes.
FEWEST_ARCS, MOST_WORK, _SAMPLE = 1 << 22, 0.5, 128
#: Most changed arcs, as a share of the supernodes and at all; with more, everything is customized.
SHARE, MOST_CHANGED = 1 / 64, 4096
# Most supernodes above them, and most chunks of the lists below their nodes. A chunk has at most so many entries, see
# shaders/cch/recustomize_gather.comp.
_MOST_GIVEN, _MOST_CHUNKS, _CHUNK = 1 << 15, 1 << 19, 16
# Supernodes from which on those that are there twice are left out.
_MANY = 256
#: Share of the arcs whose weights may be kept while they change, and fewest of them.
ROOM_SHARE, LEAST_ROOM = 1 / 4, 1 << 16
# Words of a change before its lists, and of the state before the counts of steps; see shaders/include.
_HEAD, _STATE = 10, 2
# Workgroups of a dispatch at most, on a GPU and on a software device; parts of a step that they are meant for.
_MOST_GROUPS, _SOFTWARE_GROUPS, _LISTED = 2112, 64, 128
# Invocations of a part at least, at most where its arcs are copied, and at most for its pairs of ancestors.
_LANES, _MOST_COPYING, _MOST_LANES = 64, 1 << 12, 1 << 16
# Most workgroups that share the nodes of a supernode, and the supernodes below a node; fewest of these for each.
_MOST_SHARES, _MOST_SLICES = 32, 8
SLICE = 64
# Parts that are listed in a step, mostly.
_FEW = 32
# Invocations of a step that keep a GPU busy, in perfect customization.
_INVOCATIONS = 1 << 16


class Weights(NamedTuple):
    """Buffers of a customized hierarchy that a change concerns.

    `given` has the weights of the graph, and `mapped` is where the host reads the status.
    """

    status: Buffer
    mapped: Buffer
    given: Buffer
    weights: Array
    marks: Array
    arc_ranges: Array
    arcs: Array


class _Step(NamedTuple):
    """Dispatches for the listed parts of a step, of which there are `length` or few more from the place `first` on.

    `copying` is how many invocations copy the arcs of a part, `outside` how many process its pairs of ancestors, if it
    has any, of which `splits` share the nodes of a part.
    """

    first: int
    length: int
    copying: int
    outside: int
    splits: int
    front: Front | None
    whole: Front | None
    blocks: Blocks | None
    size: int
    shares: int
    slices: int


def saves_work(hierarchy: Hierarchy) -> bool:
    """Return whether customizing few arcs takes much less work than customizing all.

    It does in large hierarchies, unless most triangles have their lowest nodes in supernodes above any change, as the
    largest separators of grids do.
    """
    if hierarchy.num_arcs < max(1, FEWEST_ARCS):
        return False
    nodes = np.random.default_rng(0).integers(0, hierarchy.num_nodes, _SAMPLE)
    above = _with_all_above(hierarchy.supernode[nodes].astype(np.int64), _supernodes_above(hierarchy))
    outside: npt.NDArray[np.float64] = hierarchy.num_ancestors.astype(np.float64)
    triangles = (outside + hierarchy.size) ** 3 - outside**3  # six for each, nearly
    return bool(triangles[above].sum() <= MOST_WORK * triangles.sum())


def _supernodes_above(hierarchy: Hierarchy) -> npt.NDArray[np.int32]:
    """Return the supernode of the lowest ancestor of each supernode, or -1."""
    parent = hierarchy.parent
    return np.where(parent >= 0, hierarchy.supernode[parent].astype(np.int32), np.int32(-1))


def _with_all_above(groups: Indices, above: npt.NDArray[np.int32]) -> Indices:
    """Return some supernodes and all above them, each once."""
    found = [np.zeros(0, np.int64)]
    while len(groups):
        found.append(groups)
        groups = above[groups].astype(np.int64)
        groups = groups[groups >= 0]
        if len(groups) > _MANY:  # most of them soon meet
            groups = np.unique(groups)
    return np.unique(np.concatenate(found))


class PartialCustomization(Resource):
    """Customization of few arcs of a hierarchy on a device.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy.
    topology : Topology
        The same on a device.
    weights : Weights
        Its weights there.
    timestamps : Timestamps
        Times of the stages, of which there are five.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    basic : Buffer or SplitBuffer
        Weights of basic customization, which each customization of all arcs writes here, too.
    given : Buffer
        Weights of the graph, which that copies here.

    Raises
    ------
    DeviceError
        If the device has too little memory.
    """

    def __init__(
        self, hierarchy: Hierarchy, topology: Topology, weights: Weights, timestamps: Timestamps, owner: Resource
    ) -> None:
        super().__init__(owner)
        self.device, self._hierarchy, self._topology = topology.device, hierarchy, topology
        self._timestamps = timestamps
        try:
            self._make(weights)
        except BaseException:
            self.close()
            raise

    def _make(self, weights: Weights) -> None:
        device, hierarchy, topology = self.device, self._hierarchy, self._topology
        below_node = np.bincount(hierarchy.ancestor, minlength=hierarchy.num_nodes)
        first_node = hierarchy.first_node[:-1].astype(np.int64)
        # The lists below the nodes of a supernode follow each other.
        chunks = -(-np.add.reduceat(below_node, first_node) // _CHUNK)
        self._num_chunks: npt.NDArray[np.uint32] = chunks.astype(np.uint32)
        self._above = _supernodes_above(hierarchy)
        self._number = 0
        most = min(hierarchy.num_arcs, device.limits.buffer // 8)
        self._room = min(most, max(LEAST_ROOM, int(ROOM_SHARE * hierarchy.num_arcs)))
        pieces = topology.pieces
        self._first_level = _HEAD + pieces.num_steps
        self._first_list = self._first_level + hierarchy.num_levels
        self.basic = topology.array("the weights of basic customization", 8 * hierarchy.num_arcs, 8, self)
        before = Buffer(device, 8 * self._room, name="the weights before a change", owner=self)
        num_parts = len(pieces.part)
        listed = Buffer(device, 8 * (num_parts + hierarchy.num_supernodes), name="the listed supernodes", owner=self)
        state = Buffer(device, 4 * (_STATE + pieces.num_steps), name="the state of a change", owner=self)
        words = self._first_list + 2 * min(_MOST_GIVEN, hierarchy.num_supernodes) + 2 * MOST_CHANGED
        # The device reads both often, which takes long where the host has them.
        self.given = Buffer(device, weights.given.nbytes, name="the weights of the graph on the device", owner=self)
        change = Buffer(device, 4 * words, name="the change on the device", owner=self)
        self._change = Buffer(device, 4 * words, mapped=True, name="the change", owner=self)
        self._ended = Buffer(device, 4 * _STATE, mapped=True, name="the end of a change", owner=self)
        below, status = topology.below(), weights.status
        marks = np.zeros((hierarchy.num_supernodes, 2), np.uint32)
        # In descending order, so that the first piece of each supernode is the last one that is written.
        marks[pieces.supernode[::-1], 1] = hierarchy.num_supernodes + np.arange(len(pieces.supernode))[::-1]
        listed.write(marks, 8 * num_parts)
        of_basic = (topology.supernodes, topology.supernode_of, status, self.basic)
        of_perfect = (topology.supernodes, topology.supernode_of, status, weights.weights)
        lists = (topology.ancestors, listed, state)
        begin = make_kernel(self.basic, "recustomize_begin", 9, 0, self).on(*of_basic, *lists, change, self.given)
        given = make_kernel(self.basic, "customize_weights", 3, 1, self).on(self.given, topology.places, self.basic)
        gather = make_kernel(self.basic, "recustomize_gather", 9, 1, self).on(*of_basic, *lists, change, below)
        basic_fronts, closure = (
            make_kernel(self.basic, name, 7, 7, self, is_chain=True).on(*values, *lists)
            for name, values in (("customize_basic_fronts_listed", of_basic), ("customize_closure_listed", of_basic))
        )
        perfect = make_kernel(self.basic, "customize_perfect_listed", 8, 7, self, is_chain=True).on(
            *of_perfect, *lists, weights.marks
        )
        basic_outside = make_kernel(self.basic, "customize_basic_outside_listed", 7, 3, self).on(*of_basic, *lists)
        restore = make_kernel(self.basic, "recustomize_restore", 9, 3, self).on(
            *(*of_perfect, self.basic, listed, state, change, before)
        )
        spread = make_kernel(self.basic, "recustomize_spread", 10, 4, self).on(
            *(topology.supernodes, self.basic, status, weights.weights), *lists, change, before, below
        )
        prune = make_kernel(self.basic, "customize_prune_listed", 8, 3, self).on(*of_perfect, *lists, weights.marks)
        pack = make_kernel(self.basic, "recustomize_pack", 10, 3, self).on(
            *of_perfect, *lists, weights.marks, weights.arc_ranges, weights.arcs
        )
        steps, num_given = self._plan(below_node), weights.given.nbytes // 4
        self._recording = Recording(device, owner=self)
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(status, 0)
            recording.fill(state, 0)
            recording.copy(self._change, change, self._change.nbytes)
            recording.barrier("transfer", "compute")
            recording.bind(begin)
            recording.dispatch(self._most_groups)
            recording.barrier()
            recording.bind(given)
            recording.push(given, num_given)
            recording.dispatch_for(given, num_given)
            recording.bind(gather)
            recording.push(gather, hierarchy.num_nodes)
            recording.dispatch(self._most_groups)
            recording.barrier()
            recording.timestamp(self._timestamps, 1)
            for number, step in reversed(list(enumerate(steps))):
                self._record_fronts(basic_fronts, number, step)
                if step.outside and step.whole is None:
                    self._record_outside(basic_outside, number, step)
                    recording.barrier()
            for number, step in enumerate(steps):  # in any order
                self._record_closure(closure, number, step)
            recording.barrier()
            recording.timestamp(self._timestamps, 2)
            for number, step in enumerate(steps):
                self._record(restore, number, step, step.copying)
            recording.barrier()
            for number, step in enumerate(steps):
                if step.blocks is not None:
                    self._record_perfect(perfect, number, step)
                    recording.barrier()
                recording.bind(spread)
                recording.push(spread, step.first, number, step.slices, hierarchy.num_nodes)
                recording.dispatch(self._groups(step.shares * step.slices * step.length))
                recording.barrier()
            recording.timestamp(self._timestamps, 3)
            for number, step in enumerate(steps):  # in any order, once no kernel adds to the lists any more
                if step.outside:
                    self._record_outside(prune, number, step)
            recording.barrier()
            recording.timestamp(self._timestamps, 4)
            for number, step in enumerate(steps):
                self._record(pack, number, step, _LANES)
            recording.timestamp(self._timestamps, 5)
            recording.barrier("compute", "transfer")
            recording.copy(state, self._ended, 4 * _STATE)
            recording.copy(status, weights.mapped, weights.mapped.nbytes)
            recording.barrier("all", "all")

    def _plan(self, below_node: Indices) -> list[_Step]:
        """Return the dispatches of all steps, for the number of supernodes below each node."""
        hierarchy, pieces = self._hierarchy, self._topology.pieces
        by_step = np.argsort(pieces.step, kind="stable")
        bounds = np.searchsorted(pieces.step[by_step], np.arange(pieces.num_steps + 1))
        whole = pieces.part[: len(pieces.part) - len(pieces.supernode)]
        most_below = np.maximum.reduceat(below_node, hierarchy.first_node[:-1].astype(np.int64))
        most_below = np.concatenate([most_below[whole], most_below[pieces.supernode]])
        self._first_of_step, steps = bounds[:-1], []
        for number in range(pieces.num_steps):
            first, end = int(bounds[number]), int(bounds[number + 1])
            which = by_step[first:end]
            size, count = pieces.size[which], pieces.num_ancestors[which]
            largest, arcs = int(size.max()), int((size * count + size * (size - 1) // 2).max())
            pairs, copying = int((count * (count - 1) // 2).max()), _LANES
            splits = splits_of(self.device, largest, pairs)
            if self.device.info.kind != "cpu":
                copying = power_of_two(min(max(arcs, _LANES), _MOST_COPYING))
            front = front_of(self.device, size, count, chain_size(self.device))
            at_once = self._whole_front(size, count)
            blocks = None
            if (above := count > 0).any():
                blocks = blocks_of(self.device, size[above], count[above], _INVOCATIONS, MOST_ROUNDS)
            steps.append(
                _Step(
                    first,
                    min(end - first, _LISTED),
                    copying,
                    min(_MOST_LANES, pairs * splits),
                    splits,
                    front if largest > 1 else None,
                    at_once,
                    blocks,
                    largest,
                    power_of_two(min(_MOST_SHARES, largest)),
                    power_of_two(min(_MOST_SLICES, int(most_below[which].max()) // SLICE)),
                )
            )
        return steps

    def _whole_front(self, size: Indices, count: Indices) -> Front | None:
        """Return how workgroups take parts for all of basic customization, or None if some do not fit."""
        most_rounds = MOST_ROUNDS * chain_size(self.device)
        if self.device.info.kind == "cpu" and whole_rounds(size, count).max() > most_rounds:
            return None
        return whole_front_of(self.device, size, count, _FEW)

    def _record(self, kernel: Bindings, number: int, step: _Step, lanes: int, *more: int) -> None:
        """Record a dispatch for the listed parts of a step with so many invocations each."""
        self._recording.bind(kernel)
        self._recording.push(kernel, step.first, number, lanes, *more)
        self._recording.dispatch(self._groups(-(-step.length * lanes // workgroup_size(self.device))))

    def _record_outside(self, kernel: Bindings, number: int, step: _Step) -> None:
        """Record a dispatch for the pairs of ancestors of listed parts of a step."""
        self._recording.bind(kernel)
        self._recording.push(kernel, step.first, number, step.splits)
        self._recording.dispatch(self._groups(-(-step.length * step.outside // workgroup_size(self.device))))

    def _record_fronts(self, kernel: Bindings, number: int, step: _Step) -> None:
        """Record dispatches of basic customization for the nodes of listed parts of a step, and barriers."""
        if step.whole is not None:
            self._record_front(kernel, number, step, step.whole, step.whole.parts, PAIRS | COLUMNS | OUTSIDE)
            self._recording.barrier()
        elif step.front is not None:
            for parts, stages in step.front.passes():
                self._record_front(kernel, number, step, step.front, parts, stages)
                self._recording.barrier()

    def _record_closure(self, kernel: Bindings, number: int, step: _Step) -> None:
        if step.front is not None and step.size > 2:
            self._record_front(kernel, number, step, step.front, 1, PAIRS)

    def _record_front(self, kernel: Bindings, number: int, step: _Step, front: Front, parts: int, stages: int) -> None:
        lanes, words, _ = front
        self._recording.bind(kernel)
        self._recording.push(kernel, step.first, number, lanes, words, step.size - 1, parts, stages)
        self._recording.dispatch(self._groups(-(-step.length * parts * lanes // chain_size(self.device))))

    def _record_perfect(self, kernel: Bindings, number: int, step: _Step) -> None:
        """Record the dispatch of perfect customization for listed parts of a step."""
        blocks = step.blocks
        assert blocks is not None
        self._recording.bind(kernel)
        self._recording.push(kernel, step.first, number, *blocks)
        items = step.length * blocks.parts * blocks.lanes
        self._recording.dispatch(self._groups(-(-items // chain_size(self.device))))

    @property
    def _most_groups(self) -> int:
        most = _SOFTWARE_GROUPS if self.device.info.kind == "cpu" else _MOST_GROUPS
        return min(most, self.device.limits.workgroups)

    def _groups(self, wanted: int) -> int:
        return min(max(1, wanted), self._most_groups)

    def customize(self, graph: Graph, changed: Indices) -> bool:
        """Customize what hangs on changed arcs of a graph, and wait for it.

        Returns
        -------
        bool
            Whether it was done. If not, the hierarchy must not be searched before all of it has been customized.
        """
        if len(changed) > min(MOST_CHANGED, SHARE * self._hierarchy.num_supernodes):
            return False
        given = self._given_supernodes(graph, changed)
        if given is None:
            return False
        chunks = np.cumsum(self._num_chunks[given], dtype=np.int64)
        num_chunks = int(chunks[-1]) if len(given) else 0
        if num_chunks > _MOST_CHUNKS:
            return False
        words = self._change.view()
        first_chunk = self._first_list + len(given)
        first_changed = first_chunk + len(given)
        self._number += 1
        words[:_HEAD] = (
            *(self._number, self._room, len(self._topology.pieces.part)),
            *(len(given), self._first_list - _HEAD, num_chunks, first_chunk - _HEAD),
            *(len(changed), first_changed - _HEAD, self._first_level - _HEAD),
        )
        if self._number == 1:
            words[_HEAD : self._first_level] = self._first_of_step
            words[self._first_level : self._first_list] = self._topology.pieces.first_step[:-1]
        words[self._first_list : first_chunk] = given
        words[first_chunk:first_changed] = chunks
        words[first_changed : first_changed + 2 * len(changed) : 2] = changed
        words[first_changed + 1 : first_changed + 2 * len(changed) : 2] = graph.weight[changed]
        self._recording.submit()
        self._recording.wait()
        _, gave_up = self._ended.view().tolist()
        return not gave_up

    def _given_supernodes(self, graph: Graph, changed: Indices) -> Indices | None:
        """Return the supernodes of arcs and all above them, or None if they are many."""
        hierarchy = self._hierarchy
        # Of the same type as the offsets, all of which would be converted otherwise.
        arcs = changed.astype(graph.first_out.dtype)
        tail = hierarchy.rank[np.searchsorted(graph.first_out, arcs, "right") - 1]
        head = hierarchy.rank[graph.head[changed]]
        groups = hierarchy.supernode[np.maximum(tail, head)[tail != head]].astype(np.int64)
        given = _with_all_above(groups, self._above)
        return given if len(given) <= _MOST_GIVEN else None
