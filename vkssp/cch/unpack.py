"""Unpacking of shortest paths of pairs from the arcs of a hierarchy, so that a path does not cost a sweep.

An arc of the hierarchy stands for an arc of the graph, or for two arcs over a node below both of its ends (R.
Geisberger, P. Sanders, D. Schultes, D. Delling, Contraction hierarchies, 2008). The hierarchy does not store the two
arcs. Unpacking finds all pairs of arcs with the same weight together. So of several shortest paths it finds the same
one as a walk along the distances of all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy, height_of
from vkssp.cch.pairs import KEPT
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.path import MOST_ARCS
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: The twin of the beginning of WorkBuffer in shaders/include/unpack.glsl.
HEADER = np.dtype([(name, np.uint32) for name in ("done", "num_items", "next_item", "num_found")])
_HEADER_BYTES, _NODE_WORDS = 32, 4
# Largest number of arcs, and of nodes, on a GPU and on a software device, which may end loops after 65 535 rounds;
# largest number of rounds of a dispatch, which takes some milliseconds at most.
_MOST, _SOFTWARE_MOST, _ROUNDS = 1 << 18, 1 << 15, 256
#: Largest number of storage buffers of a kernel.
BINDINGS = 8
# Invocations of a single workgroup, of each of many workgroups, and of both on a software device.
_SIZE, _SIZE_OF_MANY, _SOFTWARE_SIZE = 1024, 256, 64
# Number of arcs to be replaced from which on many workgroups continue; their number on a GPU and on a software device;
# room in the stack of each.
ENOUGH, _GROUPS, _SOFTWARE_GROUPS, _ROOM = 32, 64, 4, 1024
# Nodes that a sweep and a walk back process on a GPU in the time that unpacking takes for one arc. Software devices
# sweep more slowly.
_NODES_AN_ARC = 400
# Largest number of nodes that are copied along with the header.
_AT_ONCE = 4096


def _most(hierarchy: Hierarchy, device: Device) -> int:
    """Return the number of nodes, and of arcs, that there is room for: all that may be found, or a fixed number."""
    all_of_them = KEPT * max(1, hierarchy.num_nodes, 2 * hierarchy.num_arcs)
    return min(all_of_them, _SOFTWARE_MOST if device.info.kind == "cpu" else _MOST)


def _sizes(hierarchy: Hierarchy, device: Device) -> tuple[int, int, int]:
    """Return the bytes of the nodes and arcs found, of the marks, and of the supernodes below nodes."""
    marks = 4 * (hierarchy.num_nodes + -(-2 * hierarchy.num_arcs // 32))
    below = 4 * (hierarchy.num_nodes + 1) + 8 * len(hierarchy.ancestor)
    return _HEADER_BYTES + 12 * _NODE_WORDS * _most(hierarchy, device), marks, below


def can_unpack(graph: DeviceGraph, customized: CustomizedHierarchy) -> bool:
    """Return whether paths can be unpacked.

    They cannot if the graph has cycles of weight zero, if too many arcs enter a node, or if the device has too few
    storage buffers or too little memory.
    """
    renumbered, device, hierarchy = graph.renumbered, graph.device, customized.hierarchy
    if renumbered.contracted or device.limits.storage_buffers < BINDINGS:
        return False
    work, marks, below = _sizes(hierarchy, device)
    incoming = 4 * (renumbered.num_nodes + 1) + renumbered.arcs.nbytes
    needed = work + marks + (0 if customized.has_below else below) + graph.missing("incoming", incoming)
    if max(marks, below) > device.limits.buffer or needed > device.free_bytes():
        return False
    first_in = renumbered.reverse()[0]
    return int(np.diff(first_in.astype(np.int64)).max(initial=0)) <= MOST_ARCS


def pays(device: Device, num_nodes: int, arcs: float) -> bool:
    """Return whether unpacking a path of about `arcs` arcs is faster than a sweep over all nodes and a walk back."""
    return device.info.kind == "cpu" or num_nodes >= _NODES_AN_ARC * arcs


class Unpacker(Resource):
    """Finder of the shortest paths of pairs whose upward labels are known.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    labels, terminals : Buffer
        The upward labels, see `Pairs`; the seeds of the search.
    owner : Resource
        The resource that closes this one.
    """

    def __init__(
        self, graph: DeviceGraph, customized: CustomizedHierarchy, labels: Buffer, terminals: Buffer, owner: Resource
    ) -> None:
        super().__init__(owner)
        self._device, hierarchy = graph.device, customized.hierarchy
        self._num_nodes = hierarchy.num_nodes
        self._most = _most(hierarchy, self._device)
        work, marks, _ = _sizes(hierarchy, self._device)
        try:
            below = customized.below()
            first_in, arcs_in, self._arc_in = graph.incoming()
            self._work = self._buffer("the paths that are unpacked", work)
            self._marks = self._buffer("the marks of unpacking", marks)
            self._status = self._buffer("the status of unpacking", 4 * STATUS_WORDS)
            # The header, the first nodes, and the status.
            self._at_once = min(_AT_ONCE, self._most)
            self._copied = _HEADER_BYTES + 4 * _NODE_WORDS * self._at_once
            nbytes = self._copied + 4 * STATUS_WORDS
            self._mapped = Buffer(self._device, nbytes, mapped=True, name="the mapped paths", owner=self)
            topology = (customized.supernodes, customized.supernode_of, self._status)
            found = (customized.weights, customized.ancestor_depth, self._work, self._marks)
            height = height_of(hierarchy)
            self._mark = self._kernel("phast_mark", 8, 6, {1: height}, 16 * height + 4).on(*topology, *found, labels)
            self._unpack = self._kernel("phast_unpack", 8, 4).on(*topology, *found, below)
            many = self._kernel("phast_unpack_many", 8, 4, {1: _ROOM}, 4 * _ROOM + 4, _SIZE_OF_MANY)
            self._unpack_many = many.on(*topology, *found, below)
            parents = self._kernel("phast_parents", 5, 4, size=_SIZE_OF_MANY)
            self._parents = parents.on(first_in, arcs_in, terminals, self._work, self._marks)
            # Made last and so closed first: submitted work must end before its buffers are freed.
            self._recording = Recording(self._device, owner=self)
        except BaseException:
            self.close()
            raise
        self._is_clean = False

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self._device, nbytes, name=name, owner=self)

    def _kernel(
        self,
        name: str,
        bindings: int,
        push_constants: int,
        constants: Mapping[int, int] = MappingProxyType({}),
        shared_bytes: int = 0,
        size: int = _SIZE,
    ) -> Kernel:
        size = min(_SOFTWARE_SIZE if self._device.info.kind == "cpu" else size, self._device.limits.workgroup_size)
        return Kernel(
            self._device,
            name,
            bindings=bindings,
            push_constants=push_constants,
            workgroup_size=size,
            constants=constants,
            shared_bytes=shared_bytes,
            owner=self,
        )

    def path(
        self, pairs: Uint32s, numbers: npt.NDArray[np.int64], best: int, num_seeds: int
    ) -> tuple[Terminal, npt.NDArray[np.int64]] | None:
        """Return a shortest path of some pairs that have the same target and the same distance.

        Parameters
        ----------
        pairs : numpy.ndarray
            All pairs of the search: rank of the source, its offset, rank of the target, its offset, shape (k, 4),
            uint32.
        numbers : numpy.ndarray
            Indices of the pairs that are unpacked, shape (l,), int64.
        best : int
            Their distance.
        num_seeds : int
            Number of seeds of the search.

        Returns
        -------
        tuple of (Terminal, numpy.ndarray) or None
            The seed, by its rank and its distance, and the caller's ids of the arcs from it to the target, int64; None
            if paths have more arcs than there is room for, or if the device ends long loops early.
        """
        chosen = [(number, int(pairs[number, 0]), int(pairs[number, 2])) for number in numbers.tolist()]
        begin = True
        while True:
            self._submit(chosen, best, num_seeds, begin)
            begin, words = False, self._mapped.view()
            header = words[: HEADER.itemsize // 4].view(HEADER)[0]
            is_cut_short = bool(words[self._copied // 4])
            if header["done"] or is_cut_short:
                break
        if header["done"] != 1 or is_cut_short:
            return None
        self._is_clean = True
        count, first = int(header["num_found"]), _HEADER_BYTES // 4
        if count <= self._at_once:
            nodes = words[first : first + _NODE_WORDS * count].copy()
        else:
            nodes = self._work.read(np.uint32, _NODE_WORDS * count, _HEADER_BYTES)
        return self.follow(nodes.reshape(-1, _NODE_WORDS), chosen[0][2])

    def _submit(self, pairs: list[tuple[int, int, int]], best: int, num_seeds: int, begin: bool) -> None:
        recording, sizes = self._recording, (self._most, self._num_nodes)
        many = _SOFTWARE_GROUPS if self._device.info.kind == "cpu" else _GROUPS
        with recording.record():
            recording.barrier("all", "all")
            if begin:
                if not self._is_clean:
                    recording.fill(self._marks, 0)
                recording.fill(self._work, 0, _HEADER_BYTES)
                recording.fill(self._status, 0)
                recording.barrier("transfer", "compute")
                recording.bind(self._mark)
                for number, source, target in pairs:
                    recording.push(self._mark, number, source, target, best, *sizes)
                    recording.dispatch(1)
                    recording.barrier()
            for kernel, groups in ((self._unpack, 1), (self._unpack_many, many)):
                recording.bind(kernel)
                recording.push(kernel, *sizes, _ROUNDS, ENOUGH)
                recording.dispatch(groups)
                recording.barrier()
            recording.bind(self._parents)
            for step in range(3):
                recording.push(self._parents, *sizes, num_seeds, step)
                recording.dispatch(many)
                recording.barrier()
            recording.barrier("compute", "transfer")
            recording.copy(self._work, self._mapped, self._copied)
            recording.copy(self._status, self._mapped, 4 * STATUS_WORDS, 0, self._copied)
            recording.barrier("transfer", "host")
        self._is_clean = False
        recording.submit()
        recording.wait()

    def follow(self, nodes: Uint32s, target: int) -> tuple[Terminal, npt.NDArray[np.int64]]:
        """Return the seed and the arcs of the path to a target, which its nodes' parents give."""
        (path,) = np.nonzero(nodes[:, 0] == target)
        jump = parent = nodes[:, 3].astype(np.int64)
        for _ in range(len(nodes).bit_length()):
            # Doubles the number of nodes. The seed is its own parent.
            path, jump = np.concatenate([path, jump[path]]), jump[jump]
        (ends,) = np.nonzero(parent[path] == path)
        if not len(ends):
            raise DeviceError("the paths on the device contradict each other; the driver may be at fault")
        before_seed, seed = path[: int(ends[0])], nodes[path[ends[0]]]
        return (int(seed[0]), int(seed[1])), self._arc_in[nodes[before_seed[::-1], 2]]
