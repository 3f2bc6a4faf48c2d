"""Hierarchy on a device, customized for the weights of a graph: the data of upward searches and sweeps.

The part that does not depend on weights is shared by all graphs with the same hierarchy and arcs; see
`vkssp.cch.topology`.

Basic customization goes from the supernodes of the last level up to those of the first, perfect customization back
down (Dibbelt, Strasser and Wagner, 2014). In basic customization workgroups go from node to node of a supernode. In
between, the arcs inside each supernode are closed, so that nothing in a supernode waits for anything else in it in
perfect customization. Pairs of ancestors have a dispatch of their own in levels of many supernodes. Large supernodes
are taken piece by piece, see `vkssp.cch.pieces`. Then the downward arcs that no sweep needs are left out. After a
change of few weights only what depends on them is customized; see `vkssp.cch.recustomized`.
"""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.bundled import BundledArcs, may_bundle
from vkssp.cch.fronts import COLUMNS, MOST_ROUNDS, OUTSIDE, PAIRS, make_kernel
from vkssp.cch.recustomized import PartialCustomization, Weights, saves_work
from vkssp.cch.topology import Batch, ColumnBatch, Topology, ancestor_counts, largest_array, topologies
from vkssp.engine.arrays import Array, can_split, of_arrays
from vkssp.errors import DeviceError, MemoryShortageError
from vkssp.gpu import split_buffer
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import Graph, Uint32s
from vkssp.graph.bulk import copy_to
from vkssp.graph.hierarchy import Hierarchy
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

#: Most storage buffers of the kernels that search over a hierarchy.
BINDINGS = 10
# Words of a status: whether loops were cut short, and whether a sum did not fit into 32 bits.
STATUS_WORDS = 2
# Stages of customization, in order.
_STAGES = ("weights of the graph", "basic", "perfect", "pruning", "packing")


class _Basic(NamedTuple):
    """Kernels of basic customization, bound to the buffers of some weights.

    `begin` is for the weights of the graph, `outside` for pairs of ancestors, `inside` and `whole` for parts.
    """

    begin: Bindings
    outside: Bindings
    inside: Bindings
    whole: Bindings


def check_loops(device: Device, cut_short: int) -> None:
    """Raise `DeviceError` if a status says that loops were cut short, because the results would be wrong."""
    if cut_short:
        raise DeviceError(
            f"{device.info.name} ends the long loops of phast before their time; use another device, or an algorithm "
            "that runs on the CPU, such as dijkstra"
        )


def bytes_of(device: Device, hierarchy: Hierarchy, graph: Graph) -> int:
    """Return the bytes that the hierarchy of a graph takes on a device, without those that another metric shares."""
    outside, _ = ancestor_counts(hierarchy)
    own = 12 * hierarchy.num_arcs + 8 * int(outside.sum()) + 8 * hierarchy.num_nodes + 4 * graph.num_arcs
    return own + topologies(device).missing(hierarchy, graph)


def unfit(device: Device, hierarchy: Hierarchy, graph: Graph) -> str:
    """Return why a device cannot search a hierarchy, and what to do; empty if it can, provided that memory is free."""
    name, cure = device.info.name, "use another device, or another algorithm, such as near_far"
    most, arrays = device.limits.buffer, largest_array(device, hierarchy)
    whole = 4 * max(graph.num_arcs, hierarchy.num_nodes)
    if arrays > most and not can_split(device):
        return (
            f"the hierarchy needs {arrays} bytes for one array, {name} binds {most} at most and lacks "
            f"bufferDeviceAddress; {cure}"
        )
    if device.limits.storage_buffers < BINDINGS:
        return (
            f"a kernel needs {BINDINGS} storage buffers, {name} has {device.limits.storage_buffers}; use another "
            "device, or leave algorithm out"
        )
    if whole > most:
        return f"the weights of the graph, or distances, need {whole} bytes, {name} binds {most} at most; {cure}"
    longest = int(hierarchy.num_ancestors.max(initial=0))
    if device.info.kind == "cpu" and longest > MOST_ROUNDS:
        return f"a node has {longest} ancestors, too many for the loops of {name}; {cure}"
    return ""


class CustomizedHierarchy(Resource):
    """Hierarchy on a device, customized for the weights of a graph.

    Parameters
    ----------
    device : Device
        The device.
    hierarchy : Hierarchy
        The hierarchy of the graph.
    graph : Graph
        The graph.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    weights : Buffer or SplitBuffer
        The upward and the downward weight of each arc.
    arc_ranges, arcs : Buffer or SplitBuffer
        For each rank the index of the first downward arc to it that sweeps need, and the number of these arcs. For each
        of these arcs the rank of the ancestor, and the weight.
    supernodes, ancestor_depth : Buffer or SplitBuffer
    supernode_of : Buffer
        The hierarchy, see `Topology`.
    top : Top
        The top of the hierarchy, where many workgroups search upward.
    top_nodes, top_ancestors : Buffer
        Its nodes and their ancestors.
    version : int
        Number of customizations. Other data for the weights are current if they were made for the same number.

    Raises
    ------
    DeviceError
        If the device's limits do not allow it, before anything is allocated; or if the device ends long loops early.
    """

    def __init__(self, device: Device, hierarchy: Hierarchy, graph: Graph, owner: Resource) -> None:
        self.device, self.hierarchy = device, hierarchy
        self._lock, self._is_begun, self._is_read, self.version = ReentrantLock(), False, False, 0
        self._cut_short, self._overflow, self._times = 0, 0, [0.0] * (len(_STAGES) + 1)
        # Made when few weights change for the first time; it needs memory.
        self._partial: PartialCustomization | None = None
        self._may_be_partial = True
        # Made when they are asked for first.
        self._bundled: BundledArcs | None = None
        self._may_be_bundled = may_bundle(device, hierarchy)
        ranges = np.zeros((hierarchy.num_nodes, 2), np.uint32)
        lengths, _ = ancestor_counts(hierarchy)
        ranges[:, 0] = np.cumsum(lengths) - lengths
        self.num_downward = int(lengths.sum())
        if reason := unfit(device, hierarchy, graph):
            raise DeviceError(reason)
        self._topologies = topologies(device)
        self.topology: Topology | None = None
        super().__init__(owner)
        try:
            self.topology = self._topologies.hold(hierarchy, graph, self._made)
            self._make(self.topology, graph.num_arcs, ranges)
            self.customize(graph)
            self._finish()
        except BaseException:
            self.close()
            raise

    def _make(self, topology: Topology, num_given: int, ranges: Uint32s) -> None:
        num_arcs = self.hierarchy.num_arcs
        self.supernodes, self.supernode_of = topology.supernodes, topology.supernode_of
        self.ancestor_depth = topology.ancestor_depth
        self.top, self.top_nodes, self.top_ancestors = topology.top, topology.top_nodes, topology.top_ancestors
        self.arc_ranges = topology.array("the ranges of downward arcs", ranges.nbytes, 8, self)
        if ranges.nbytes:
            self.arc_ranges.write(ranges)
        # The host writes to it and the device reads it once, without a copy of the device's own.
        self._given = Buffer(self.device, 4 * num_given, mapped=True, name="the weights of the graph", owner=self)
        self.weights = topology.array("the weights of the hierarchy", 8 * num_arcs, 8, self)
        marks = topology.array("the marks of arcs", 4 * num_arcs, 4, self)
        self.arcs = topology.array("the downward arcs", 8 * self.num_downward, 8, self)
        status = Buffer(self.device, 4 * STATUS_WORDS, name="the status of customization", owner=self)
        self._status = Buffer(self.device, 4 * STATUS_WORDS, mapped=True, name="the mapped status", owner=self)
        self._timestamps = Timestamps(self.device, len(_STAGES) + 1, owner=self)
        parts = (self.supernodes, self.supernode_of, status, self.weights, topology.ancestors)
        begin = make_kernel(self.weights, "customize_weights", 3, 1, self).on(
            self._given, topology.places, self.weights
        )
        pack = make_kernel(self.weights, "customize_pack", 8, 1, self).on(*parts, marks, self.arc_ranges, self.arcs)
        outside, inside = topology.outside, topology.inside
        basic_outside, perfect_outside = (
            make_kernel(self.weights, name, 6, 4, self).on(*parts, outside.order)
            for name in ("customize_basic_outside", "customize_perfect_outside")
        )
        self._clear = make_kernel(self.weights, "customize_clear", 2, 1, self).on(self.weights, marks)
        prune = make_kernel(self.weights, "customize_prune", 7, 4, self).on(*parts, outside.order, marks)
        basic_fronts, closure, perfect = (
            make_kernel(self.weights, name, 6, 7, self, is_chain=True)
            for name in ("customize_basic_fronts", "customize_closure", "customize_perfect")
        )
        self._outside = (perfect_outside, prune)
        fronts = (basic_fronts.on(*parts, inside.order), basic_fronts.on(*parts, topology.whole.order))
        self._basic = _Basic(begin, basic_outside, *fronts)
        self._closure, self._perfect = closure.on(*parts, inside.order), perfect.on(*parts, topology.columns.order)
        self._pack = pack
        self._concerned = Weights(status, self._status, self._given, self.weights, marks, self.arc_ranges, self.arcs)
        self._recording = Recording(self.device, owner=self)
        self._record()

    def _record(self) -> None:
        """Record the customization of all arcs."""
        assert self.topology is not None
        pack, topology = self._pack, self.topology
        perfect_outside, prune = self._outside
        outside, inside = topology.outside.steps, topology.inside.steps
        status, mapped, given, weights, *_ = self._concerned
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(status, 0)
            recording.bind(self._clear)
            recording.push(self._clear, self.hierarchy.num_arcs)
            recording.dispatch_for(self._clear, self.hierarchy.num_arcs)
            if self._partial is not None:
                recording.copy(given, self._partial.given, given.nbytes)
            recording.barrier("all", "compute")
            self._record_given(recording, self._basic)
            recording.timestamp(self._timestamps, 1)
            self._record_basic(recording, self._basic)
            for of_inside in inside:  # in any order
                self._record_closure(of_inside)
            recording.barrier()
            if self._partial is not None:
                recording.barrier("compute", "transfer")
                split_buffer.copy_to(recording, weights, self._partial.basic, weights.nbytes)
                recording.barrier("transfer", "compute")
            recording.timestamp(self._timestamps, 2)
            for of_outside, of_columns, is_narrow in zip(
                outside, topology.columns.steps, topology.are_narrow, strict=True
            ):
                if of_outside and not is_narrow:
                    self._record_outside(recording, perfect_outside, of_outside)
                    recording.barrier()
                if of_columns:
                    self._record_perfect(of_columns)
                    recording.barrier()
            recording.timestamp(self._timestamps, 3)
            for of_outside in outside:  # in any order
                self._record_outside(recording, prune, of_outside)
            recording.barrier()
            recording.timestamp(self._timestamps, len(_STAGES) - 1)
            recording.bind(pack)
            recording.push(pack, self.hierarchy.num_nodes)
            recording.dispatch_for(pack, self.hierarchy.num_nodes)
            recording.timestamp(self._timestamps, len(_STAGES))
            recording.barrier("compute", "transfer")
            recording.copy(status, mapped, 4 * STATUS_WORDS)
            recording.barrier("all", "all")

    def _record_given(self, recording: Recording, basic: _Basic) -> None:
        """Record that arcs of the hierarchy take the weights of the graph, and a barrier after it."""
        num_given = self._given.nbytes // 4
        recording.bind(basic.begin)
        recording.push(basic.begin, num_given)
        recording.dispatch_for(basic.begin, num_given)
        recording.barrier()

    def _record_basic(self, recording: Recording, basic: _Basic) -> None:
        """Record basic customization, and barriers after it."""
        assert self.topology is not None
        steps = (self.topology.inside.steps, self.topology.outside.steps, self.topology.whole.steps)
        for of_inside, of_outside, of_whole in reversed(list(zip(*steps, strict=True))):
            if of_whole:
                self._record_whole(recording, basic.whole, of_whole)
                recording.barrier()
                continue
            self._record_inside(recording, basic.inside, of_inside)
            self._record_outside(recording, basic.outside, of_outside)
            if of_outside:
                recording.barrier()

    def record_basic_into(self, recording: Recording, weights: Buffer, status: Buffer, owner: Resource) -> None:
        """Record basic customization of weights in a buffer of their own.

        Parameters
        ----------
        recording : Recording
            Recording that is being recorded. Before it the status and the weights have been filled, with 0 and with
            `UNREACHABLE`.
        weights, status : Buffer
            The weights, as many as of this hierarchy, which are in one buffer; and `STATUS_WORDS` words.
        owner : Resource
            Resource that closes the kernels; it must be closed before this one.
        """
        topology = self.topology
        assert topology is not None
        parts = (self.supernodes, self.supernode_of, status, weights, topology.ancestors)
        begin = make_kernel(weights, "customize_weights", 3, 1, owner).on(self._given, topology.places, weights)
        outside = make_kernel(weights, "customize_basic_outside", 6, 4, owner).on(*parts, topology.outside.order)
        fronts = make_kernel(weights, "customize_basic_fronts", 6, 7, owner, is_chain=True)
        inside, whole = (fronts.on(*parts, stages.order) for stages in (topology.inside, topology.whole))
        basic = _Basic(begin, outside, inside, whole)
        self._record_given(recording, basic)
        self._record_basic(recording, basic)

    def _record_outside(self, recording: Recording, kernel: Bindings, batches: list[Batch]) -> None:
        """Record the dispatches for pairs of ancestors of supernodes."""
        if batches:
            recording.bind(kernel)
        for batch in batches:
            recording.push(kernel, batch.begin, batch.end, batch.lanes, batch.splits)
            recording.dispatch_for(kernel, (batch.end - batch.begin) * batch.lanes)

    def _record_inside(self, recording: Recording, kernel: Bindings, batches: list[Batch]) -> None:
        """Record the dispatches of basic customization for nodes of parts, and barriers after them."""
        passes = [batch.front.passes() for batch in batches]
        for number in range(max(map(len, passes), default=0)):
            recording.bind(kernel)
            for batch, dispatches in zip(batches, passes, strict=True):
                if number < len(dispatches):
                    self._record_fronts(recording, kernel, batch, *dispatches[number])
            recording.barrier()

    def _record_whole(self, recording: Recording, kernel: Bindings, batches: list[Batch]) -> None:
        """Record the dispatches for all of basic customization of parts."""
        recording.bind(kernel)
        for batch in batches:
            self._record_fronts(recording, kernel, batch, batch.front.parts, PAIRS | COLUMNS | OUTSIDE)

    def _record_closure(self, batches: list[Batch]) -> None:
        self._recording.bind(self._closure)
        for batch in batches:
            if batch.size > 2:  # two nodes have no other node to pass
                self._record_fronts(self._recording, self._closure, batch, 1, PAIRS)

    def _record_fronts(self, recording: Recording, kernel: Bindings, batch: Batch, parts: int, stages: int) -> None:
        begin, end, _, _, largest, front = batch
        recording.push(kernel, begin, end, front.lanes, front.words, largest - 1, parts, stages)
        recording.dispatch_for(kernel, (end - begin) * parts * front.lanes)

    def _record_perfect(self, batches: list[ColumnBatch]) -> None:
        """Record the dispatches for perfect customization of parts."""
        self._recording.bind(self._perfect)
        for batch in batches:
            self._recording.push(self._perfect, batch.begin, batch.end, *batch.blocks)
            items = (batch.end - batch.begin) * batch.blocks.parts * batch.blocks.lanes
            self._recording.dispatch_for(self._perfect, items)

    def shader(self, name: str) -> tuple[str, dict[int, int]]:
        """Return the name of a shader for the arrays of the hierarchy, and further constants that it takes."""
        return of_arrays(self.device, name, [self.weights])

    @property
    def has_below(self) -> bool:
        """Whether the buffer of `below` is on the device already."""
        return self.topology is not None and self.topology.has_below

    def below(self) -> Array:
        """Return the supernodes below each node, which unpacking needs; see `Topology.below`."""
        assert self.topology is not None
        return self.topology.below()

    def bundled(self) -> BundledArcs | None:
        """Return the downward arcs by bundles, up to date with the weights; None if they do not suit the device."""
        with self._lock.held():
            if self._bundled is None and self._may_be_bundled:
                self._may_be_bundled = False
                with contextlib.suppress(DeviceError, MemoryShortageError):
                    self._bundled = BundledArcs(self)
        if self._bundled is not None:
            self._bundled.update()
        return self._bundled

    def customize(self, graph: Graph, changed: npt.NDArray[np.int64] | None = None) -> None:
        """Begin to customize the hierarchy for the weights of a graph with the same arcs.

        The device does so before all that is submitted later. If few weights have changed, only what hangs on them is
        customized, from the second time on, and the call waits for it.

        Parameters
        ----------
        graph : Graph
            The graph.
        changed : numpy.ndarray, optional
            Arcs whose weights may differ from those of the last call, int64; by default all.

        Raises
        ------
        DeviceError
            If the device is lost. The hierarchy must not be searched until a later call succeeds.
        """
        with self._lock.held():
            self._recording.wait()  # the device reads the weights until then
            if self._is_begun and not self._is_read:
                self._read()
            if graph.num_arcs:
                given = self._given.view()
                if changed is None:
                    copy_to(given, graph.weight)
                else:
                    given[changed] = graph.weight[changed]
            # A sum that did not fit may depend on other arcs.
            is_known = self._is_read and not self._overflow and not self._cut_short
            self._is_read = False
            self.version += 1
            if changed is not None and is_known and self._partial is not None:
                if self._partial.customize(graph, changed):
                    self._read()
                    if not self._cut_short:
                        return
                    self._is_read = False
            elif changed is not None and self._partial is None and self._may_be_partial:
                self._begin_partial()
            self._recording.submit()
            self._is_begun = True

    def _begin_partial(self) -> None:
        """Keep from now on what partial customization needs, if the device has the memory for it."""
        assert self.topology is not None
        self._may_be_partial = False
        if not saves_work(self.hierarchy):
            return
        with contextlib.suppress(DeviceError, MemoryShortageError):
            partial = PartialCustomization(self.hierarchy, self.topology, self._concerned, self._timestamps, self)
            try:
                # All weights cross the bus once.
                begin = self._basic.begin.kernel.on(partial.given, self.topology.places, self.weights)
                # Younger than the buffers that it uses from now on, so that it is closed, and waited for, before them.
                recording = Recording(self.device, owner=self)
            except BaseException:
                partial.close()
                raise
            self._partial, self._basic = partial, self._basic._replace(begin=begin)
            self._recording.close()
            self._recording = recording
        if self._partial is not None:
            self._record()

    def _finish(self) -> None:
        """Wait until the device has customized the hierarchy, and read the status.

        Raises
        ------
        DeviceError
            If the device is lost, or ends long loops early.
        """
        if not self._is_read:  # each search asks, and no customization begins during a search
            with self._lock.held():
                if not self._is_read:
                    self._recording.wait()
                    self._read()
        check_loops(self.device, self._cut_short)

    def _read(self) -> None:
        """Read the status and the times."""
        self._cut_short, self._overflow = self._status.view().tolist()
        self._times = self._timestamps.read_all(0, len(_STAGES) + 1)
        self._is_read = True

    @property
    def saturated(self) -> bool:
        """Whether a sum of weights did not fit into 32 bits."""
        self._finish()
        return bool(self._overflow)

    @property
    def customize_ms(self) -> float:
        """Time on the device of the last customization."""
        self._finish()
        return self._times[-1] - self._times[0]

    @property
    def stages_ms(self) -> dict[str, float]:
        """The same by stages."""
        self._finish()
        return {name: end - begin for name, (begin, end) in zip(_STAGES, pairwise(self._times), strict=True)}

    def downward_arcs(self) -> tuple[Uint32s, Uint32s]:
        """Return `arc_ranges` and `arcs` as they are on the device, shape (num_nodes, 2) and (k, 2), uint32."""
        return self.arc_ranges.read().reshape(-1, 2), self.arcs.read(np.uint32, 2 * self.num_downward).reshape(-1, 2)

    def _own_bytes(self) -> int:
        """Return the bytes of the shared topology if this hierarchy, its oldest holder, accounts for it, else 0."""
        return self.topology.memory_bytes if self.topology and self.topology.payer == self._made else 0

    def _release(self) -> None:
        self._topologies.let_go(self._made)
