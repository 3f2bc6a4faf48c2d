"""The two lower arcs that each arc of a hierarchy stands for, kept on a device for many paths with the same weights.

An arc of the hierarchy stands for an arc of the graph, or for two arcs over a node below both of its ends (R.
Geisberger, P. Sanders, D. Schultes, D. Delling, Contraction hierarchies, 2008). Customization does not need to know
them, and a few paths find them sooner where they pass. After that all of them are found at once, and paths read them
from then on. Both directions of an arc have two words each, so that they take twice the memory of the weights.

Perfect customization loses which arcs stand for a path below their ends: others have the weight of a path above. So
basic customization is done again, into a buffer of its own.

An arc may stand for several paths that are equally short. All of them are listed, and then the one is chosen that other
algorithms find, arc by arc from the lowest ones up.
"""

from __future__ import annotations

import contextlib

import numpy as np

from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy
from vkssp.cch.path_entries import HEIGHT_CONSTANT, height_of
from vkssp.engine.device_graph import DeviceGraph
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

# Storage buffers of the kernel, and its specialization constant for the invocations of a supernode below a node.
_BINDINGS, _LANES_CONSTANT = 12, 2
# Bytes of an arc, in one array and with the weights, and largest part of the free memory that they may take.
_ARC_BYTES, _ALL_BYTES, _MOST_MEMORY = 16, 24, 0.25
# Bytes of one of several paths that an arc stands for, and how many there is room for: so many, and one more for so
# many arcs.
_TIE_BYTES, _TIES = 20, (1 << 12, 16)
#: Stages of the choice of ties, the twins of those in shaders/cch/lower_ties.comp.
LINK, CHOOSE, WRITE = 0, 1, 2
# How often the last two follow each other, and workgroups and invocations of each.
_ROUNDS, _TIE_GROUPS, _TIE_SIZE = 8, 256, 64
# Invocations of a workgroup, and those that share a supernode below a node: of nodes that are ancestors of many
# supernodes, which are the first ones, and of the others.
_SIZES, _LANES = (256, 32), (4, 4)
# Mean number of supernodes below the nodes of a level from which on they are many.
_MANY = 32
# Paths after which finding all of them pays: so many, and one more for so many arcs; on a GPU and on a software device.
_PATHS, _SOFTWARE_PATHS = (4, 1 << 18), (64, 1 << 10)
# Largest number of arcs, whose words have to leave two numbers free.
_MOST_ARCS = (1 << 31) - 2


def enough_paths(device: Device, num_arcs: int) -> int:
    """Return after how many paths with the same weights it pays to find the lower arcs of so many arcs."""
    least, arcs_a_path = _SOFTWARE_PATHS if device.info.kind == "cpu" else _PATHS
    return least + num_arcs // arcs_a_path


def _room_for_ties(num_arcs: int) -> int:
    least, arcs_a_tie = _TIES
    return least + num_arcs // arcs_a_tie


class LowerArcs(Resource):
    """Lower arcs of the arcs of a hierarchy for its present weights, found when enough paths have been asked for.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    device_ms : float
        Milliseconds on the device that it took to find them last.
    """

    def __init__(self, graph: DeviceGraph, customized: CustomizedHierarchy, owner: Resource) -> None:
        super().__init__(owner)
        self._graph, self._customized, self._device = graph, customized, graph.device
        self._lock, self._version, self._paths, self._is_known = ReentrantLock(), -1, 0, False
        self._is_fit, self._is_refused = not self._is_unfit(), False
        self._recording: Recording | None = None
        self.device_ms = 0.0

    def _is_unfit(self) -> bool:
        """Return whether the limits of the device do not allow it."""
        hierarchy, limits = self._customized.hierarchy, self._device.limits
        height, num_arcs = height_of(hierarchy), hierarchy.num_arcs
        return (
            4 * height > limits.shared_memory
            or _ARC_BYTES * max(1, num_arcs) > limits.buffer
            or num_arcs > _MOST_ARCS
            or limits.storage_buffers < _BINDINGS
        )

    def ready(self, paths: int) -> Buffer | None:
        """Return the lower arcs for the present weights, which the caller keeps unchanged, for some more paths.

        Parameters
        ----------
        paths : int
            Number of paths that are asked for now.

        Returns
        -------
        Buffer or None
            For each word of the weights two words, see shaders/cch/lower_arcs.comp. None if too few paths have been
            asked for, or if the device has no room.
        """
        # Most often no lock is needed. In this order: another thread may be about to begin with other weights.
        if self._version == self._customized.version and self._is_known:
            return self._lower
        if not self._is_fit:
            return None
        with self._lock.held():
            if self._version != self._customized.version:
                self._is_known = self._is_refused = False
                self._version, self._paths = self._customized.version, 0
            self._paths += paths
            enough = enough_paths(self._device, self._customized.hierarchy.num_arcs)
            if not self._is_known and not self._is_refused and self._paths >= enough:
                self._find()
                self._is_refused = not self._is_known
            return self._lower if self._is_known else None

    def _find(self) -> None:
        """Find the lower arcs for the present weights, if there is memory and the device ends no loop early."""
        with contextlib.suppress(DeviceError):  # memory may be in pieces; a lost device raises an error elsewhere, too
            if self._recording is None and not self._make():
                return
            assert self._recording is not None
            self._recording.submit()
            self._recording.wait()
            self.device_ms = self._timestamps.between()
            self._is_known = not self._status.words[0]

    def _make(self) -> bool:
        """Make the buffers, and record the search; return whether there is memory for them."""
        device, customized = self._device, self._customized
        hierarchy, topology = customized.hierarchy, customized.topology
        assert topology is not None
        num_arcs = max(1, hierarchy.num_arcs)
        if _ALL_BYTES * num_arcs + _TIE_BYTES * _room_for_ties(num_arcs) > _MOST_MEMORY * device.free_bytes():
            return False
        first_in, arcs_in, _ = self._graph.incoming()
        arrays = (customized.weights, customized.supernodes, customized.ancestor_depth, topology.ancestors)
        if not all(isinstance(array, Buffer) for array in (*arrays, customized.below(), arcs_in)):
            return False
        parts = Resource(self)  # closed at once after an error or interrupt: no recording may outlive its buffers
        try:
            lower = Buffer(device, _ARC_BYTES * num_arcs, name="the lower arcs", owner=parts)
            room = _room_for_ties(num_arcs)
            self._ties = Buffer(device, 4 + _TIE_BYTES * room, name="the ties of lower arcs", owner=parts)
            self._basic = Buffer(device, customized.weights.nbytes, name="the weights of lower arcs", owner=parts)
            self._status = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the status of lower arcs", owner=parts)
            self._timestamps = Timestamps(device, 2, owner=parts)
            bound = []
            for size, lanes in zip(_SIZES, _LANES, strict=True):
                size = min(size, device.limits.workgroup_size)
                constants = {HEIGHT_CONSTANT: height_of(hierarchy), _LANES_CONSTANT: min(size, lanes)}
                kernel = Kernel(
                    device,
                    "lower_arcs",
                    bindings=_BINDINGS,
                    push_constants=4,
                    workgroup_size=size,
                    constants=constants,
                    shared_bytes=4 * height_of(hierarchy),
                    owner=parts,
                )
                of_hierarchy = (customized.supernodes, customized.supernode_of, self._status, self._basic)
                lists = (customized.ancestor_depth, customized.below())
                of_graph = (first_in, arcs_in, topology.ancestors)
                bound.append(kernel.on(*of_hierarchy, *lists, *of_graph, lower, customized.weights, self._ties))
            size = min(_TIE_SIZE, device.limits.workgroup_size)
            ties = Kernel(device, "lower_ties", bindings=2, push_constants=2, workgroup_size=size, owner=parts)
            self._lower = lower
            self._recording = self._recorded(bound, ties.on(lower, self._ties), room, parts)
        except BaseException:
            self._recording = None
            parts.close()
            raise
        return True

    def _recorded(self, bound: list[Bindings], ties: Bindings, room: int, owner: Resource) -> Recording:
        device, num_nodes = self._device, self._customized.hierarchy.num_nodes
        recording = Recording(device, owner=owner)
        with recording.record():
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(self._status, 0)
            recording.fill(self._ties, 0, 4)
            recording.fill(self._basic, UNREACHABLE)
            recording.barrier("transfer", "compute")
            self._customized.record_basic_into(recording, self._basic, self._status, owner)
            begin = 0
            for kernel, end in zip(bound, (self._num_high(), num_nodes), strict=True):
                if begin < end:
                    recording.bind(kernel)
                    recording.push(kernel, num_nodes, begin, end, room)
                    recording.dispatch(min(end - begin, device.limits.workgroups))
                begin = end
            recording.bind(ties)
            for stage in (LINK, *(CHOOSE, WRITE) * _ROUNDS):
                recording.barrier()
                recording.push(ties, stage, room)
                recording.dispatch(_TIE_GROUPS)
            recording.timestamp(self._timestamps, 1)
            recording.barrier("all", "all")
        return recording

    def _num_high(self) -> int:
        """Return how many nodes, the first ones, are in levels whose nodes are ancestors of many supernodes."""
        hierarchy = self._customized.hierarchy
        bounds = hierarchy.first_node[hierarchy.first_of_level].astype(np.int64)
        before = np.searchsorted(np.sort(hierarchy.ancestor), bounds)
        has_many = np.diff(before) >= _MANY * np.diff(bounds)
        return int(bounds[1:][has_many].max(initial=0))
