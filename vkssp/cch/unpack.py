"""Unpacking of shortest paths of pairs from the arcs of a hierarchy, so that a path does not cost a sweep.

An arc of the hierarchy stands for an arc of the graph, or for two arcs over a node below both of its ends (R.
Geisberger, P. Sanders, D. Schultes, D. Delling, Contraction hierarchies, 2008). Unpacking finds all pairs of arcs with
the same weight together. So of several shortest paths it finds the same one as a walk along the distances of all nodes.
After some paths with the same weights, those searches whose path is known without all shortest ones take a shorter way,
see `vkssp.cch.unique_paths`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy
from vkssp.cch.pairs import KEPT, Pairs
from vkssp.cch.path_entries import HEIGHT_CONSTANT, PathEntries
from vkssp.cch.unique_paths import UniquePaths
from vkssp.engine.arrays import Array, can_split, of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.path import MOST_ARCS
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: The twins of Header, MOST_SLOTS and MOST_JOBS in shaders/include/unpack.glsl, and of results[] in
#: shaders/cch/phast_path.comp.
HEADER = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("done", "num_items", "next_item", "num_found", "is_split", "split_end", "has_no_room", "num_jobs"),
            *("first_pair", "num_seeds", "num_targets", "weight", "target", "num_fitting", "all_arcs"),
        )
    ]
)
RESULT = np.dtype([(name, np.uint32) for name in ("done", "weight", "seed", "target", "length", "first")])
MOST_SLOTS, MOST_JOBS = 128, 1024
#: Values of `done`: the path is unpacked; has more arcs than there is room for; was not chosen; begins at no seed; is
#: one of several shortest paths, which are yet to be unpacked.
DONE, FAILED, LEFT, CONTRADICTED, HAS_TIES = 1, 2, 3, 4, 5
_JOB_WORDS, _NODE_WORDS, _SEARCH_WORDS = 4, 4, 4
# After which the marks are zero.
_CLEAN = DONE, LEFT, CONTRADICTED
_LISTS_AT = HEADER.itemsize * MOST_SLOTS + 4 * _JOB_WORDS * MOST_JOBS
_RESULTS_WORDS = RESULT.itemsize // 4 * MOST_SLOTS
# Largest number of arcs, and of nodes, on a GPU and on a software device, which may end loops after 65,535 rounds;
# largest number of rounds of a dispatch, which takes some milliseconds at most.
_MOST, _SOFTWARE_MOST, _ROUNDS = 1 << 18, 1 << 15, 256
#: Largest number of storage buffers of a kernel.
BINDINGS = 9
# Invocations of a single workgroup, of each of many workgroups, and of both on a software device.
_SIZE, _SIZE_OF_MANY, _SOFTWARE_SIZE = 1024, 256, 64
# Invocations of the choice among a few pairs.
_SIZE_OF_CHOICE = 32
# Number of arcs to be replaced from which on many workgroups continue; their number on a GPU and on a software device;
# room in the stack of each.
ENOUGH, _GROUPS, _SOFTWARE_GROUPS, _ROOM = 32, 64, 4, 1024
# Bytes of an arc in the stack.
_ENTRY_BYTES = 28
# Nodes that a sweep and a walk back process on a GPU in the time that unpacking takes for one arc. Software devices
# sweep more slowly.
_NODES_AN_ARC = 400
# Words of a node on a path to the root, and other bytes of shared memory, of the search for marks.
_ENTRY_WORDS, _FIXED_BYTES = 2, 16
# Invocations that share the arcs of a node on a path to the root, on a GPU and on a software device.
_LANES, _SOFTWARE_LANES = 32, 8
# Nodes whose pointers to ancestors are in shared memory, and the largest number of arcs of the paths of a submission.
_POINTERS, _MOST_RESULTS = 1024, MOST_SLOTS << 14
_CONTRADICTION = "the paths on the device contradict each other; the driver may be at fault"
# Fewest workgroups of each of many paths on a GPU.
_LEAST_GROUPS = 16


def _most(hierarchy: Hierarchy, device: Device) -> int:
    """Return the number of nodes, and of arcs, that there is room for: all that may be found, or a fixed number."""
    all_of_them = 2 * KEPT * max(1, hierarchy.num_nodes, 2 * hierarchy.num_arcs)
    return min(all_of_them, _SOFTWARE_MOST if device.info.kind == "cpu" else _MOST)


def _sizes(hierarchy: Hierarchy, most: int, slots: int = 1) -> tuple[int, int, int]:
    """Return the bytes of the nodes and arcs found, of the marks, and of the supernodes below nodes."""
    below = 4 * (hierarchy.num_nodes + 1) + 8 * len(hierarchy.ancestor)
    return _LISTS_AT + slots * 12 * _NODE_WORDS * most, slots * 4 * _marks_each(hierarchy), below


def _marks_each(hierarchy: Hierarchy) -> int:
    """Return the words of marks for one path."""
    return hierarchy.num_nodes + -(-2 * hierarchy.num_arcs // 32)


def slots_for(hierarchy: Hierarchy, device: Device, most: int, part: float) -> int:
    """Return how many paths of at most so many nodes and arcs can be unpacked at once in a part of the free memory."""
    fixed = _sizes(hierarchy, most, 0)[0]
    work, marks, _ = _sizes(hierarchy, most)
    each = work - fixed, marks
    free = int(part * device.free_bytes())
    fitting = min((device.limits.buffer - fixed) // each[0], device.limits.buffer // each[1], free // sum(each))
    entries = PathEntries(device, hierarchy, _ENTRY_WORDS, _FIXED_BYTES)
    return entries.most_groups(max(1, min(MOST_SLOTS, fitting)))


def can_unpack(graph: DeviceGraph, customized: CustomizedHierarchy) -> bool:
    """Return whether paths can be unpacked.

    They cannot if the graph has cycles of weight zero, if too many arcs enter a node, or if the device has too few
    storage buffers, too small ones or too little memory.
    """
    renumbered, device, hierarchy = graph.renumbered, graph.device, customized.hierarchy
    if renumbered.contracted or device.limits.storage_buffers < BINDINGS:
        return False
    work, marks, below = _sizes(hierarchy, _most(hierarchy, device))
    incoming = 4 * (renumbered.num_nodes + 1) + 8 * renumbered.num_arcs
    needed = work + marks + (0 if customized.has_below else below) + graph.missing("incoming", incoming)
    needed += graph.missing("incoming ids", 4 * renumbered.num_arcs)
    whole = () if can_split(device) else (below, 8 * renumbered.num_arcs)
    if max(work, marks, *whole) > device.limits.buffer or needed > device.free_bytes():
        return False
    return int(renumbered.num_arcs_in.max(initial=0)) <= MOST_ARCS


def longest_path(device: Device, num_nodes: int, mean_weight: float) -> int:
    """Return up to which weight unpacking a path is faster than a sweep over all nodes and a walk back.

    The number of its arcs is estimated from the mean weight of an arc.
    """
    if device.info.kind == "cpu":
        return UNREACHABLE - 1
    return min(int(num_nodes / _NODES_AN_ARC * max(1.0, mean_weight)), UNREACHABLE - 1)


#: For each search the number of its first pair, and its numbers of seeds and targets, shape (k, 3).
Searches = Sequence[tuple[int, int, int]] | npt.NDArray[np.int64]
#: Indices of the seed and the target of a path, and the caller's ids of its arcs, int64.
Unpacked = tuple[int, int, npt.NDArray[np.int64]]


class UnpackedPaths(NamedTuple):
    """Paths of the searches of a submission.

    Attributes
    ----------
    results : numpy.ndarray
        For each search a `RESULT`: how far it is, and, if it is `DONE`, the weight of the path, the indices of its seed
        and target, the number of its arcs, and the place of the first one in `arcs`.
    arcs : numpy.ndarray
        The caller's ids of the arcs of all paths, uint32; valid until the next submission.
    """

    results: npt.NDArray[Any]
    arcs: npt.NDArray[np.uint32]


class Unpacker(Resource):
    """Finder of the shortest paths of pairs whose upward labels are known.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    pairs : Pairs
        The finder of distances, which keeps upward labels.
    owner : Resource
        The resource that closes this one.
    slots : int
        Number of paths that are unpacked at once, `MOST_SLOTS` at most.
    most : int, optional
        Number of nodes, and of arcs, of a path that there is room for; by default that of a single path.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        customized: CustomizedHierarchy,
        pairs: Pairs,
        owner: Resource,
        slots: int = 1,
        most: int | None = None,
    ) -> None:
        super().__init__(owner)
        self._device, hierarchy = graph.device, customized.hierarchy
        self._is_software = graph.device.info.kind == "cpu"
        self._most = min(_most(hierarchy, self._device), most or UNREACHABLE)
        self._sizes = self._most, hierarchy.num_nodes, _marks_each(hierarchy)
        self._pairs, self._searched = pairs, (-1, -1)  # the buffers that are bound
        self.slots, self._count = slots, 0  # number of paths of the last submission
        # Whether that looked for unique paths, and whether all marks were zero before.
        self._is_unique, self._was_clean = False, False
        self._bound: list[Bindings] = []
        work, marks, _ = _sizes(hierarchy, self._most, slots)
        try:
            below = customized.below()
            self._first_in, self._arcs_in, _ = graph.incoming()
            self._arc_ids = graph.incoming_ids()
            self._work = self._buffer("the paths that are unpacked", work)
            self._marks = self._buffer("the marks of unpacking", marks)
            self._status = self._buffer("the status of unpacking", 4 * STATUS_WORDS, mapped=True)
            nbytes = 4 * _SEARCH_WORDS * MOST_SLOTS
            self._searches = self._buffer("the searches whose paths are unpacked", nbytes, mapped=True)
            self._search_rows = self._searches.view().reshape(-1, _SEARCH_WORDS)[:, :3]
            fitting = self._device.limits.buffer // 4 - _RESULTS_WORDS
            self._room = min(_MOST_RESULTS, slots * self._most, fitting)
            nbytes = 4 * (_RESULTS_WORDS + self._room)
            self._results = self._buffer("the unpacked paths", nbytes, mapped=True)
            words = self._results.view()
            self._found, self._arcs = words[:_RESULTS_WORDS].view(RESULT), words[_RESULTS_WORDS:]
            self._done = self._found["done"]
            self._num_arcs = self._buffer("the number of arcs of unique paths", 4)
            self._choose = self._kernel("phast_choose", [], 7, 2, size=_SIZE_OF_CHOICE)
            topology = (customized.supernodes, customized.supernode_of, self._status)
            found = (customized.weights, customized.ancestor_depth, self._work, self._marks)
            weights, entries = [customized.weights], PathEntries(self._device, hierarchy, _ENTRY_WORDS, _FIXED_BYTES)
            height = {HEIGHT_CONSTANT: entries.constants[HEIGHT_CONSTANT]}
            fit = self._kernel("phast_fit", weights, 8, 4, height, size=_SIZE_OF_MANY)
            self._fit = fit.on(*topology, *found, pairs.labels)
            mark = self._kernel("phast_mark", weights, 9, 3, entries.constants, entries.shared_bytes)
            self._mark = mark.on(*topology, *found, pairs.labels, entries.buffer(slots, self))
            self._unpack = self._kernel("phast_unpack", weights, 8, 5).on(*topology, *found, below)
            room = min(_ROOM, (self._device.limits.shared_memory - 4) // _ENTRY_BYTES)
            shared = _ENTRY_BYTES * room + 4
            many = self._kernel("phast_unpack_many", weights, 8, 5, {1: room}, shared, _SIZE_OF_MANY)
            self._unpack_many = many.on(*topology, *found, below)
            shared = 8 * _POINTERS + 4 * (_POINTERS // 32 + 1) + 16
            self._path = self._kernel("phast_path", [self._arcs_in], 6, 4, {1: _POINTERS}, shared)
            shared_buffers = (self._searches, self._results, self._num_arcs)
            self._unique = UniquePaths(graph, customized, pairs, *shared_buffers, self._room, self)
            # Made last and so closed first: submitted work must end before its buffers are freed.
            self._recording = Recording(self._device, owner=self)
        except BaseException:
            self.close()
            raise

    def _buffer(self, name: str, nbytes: int, *, mapped: bool = False) -> Buffer:
        return Buffer(self._device, nbytes, mapped=mapped, name=name, owner=self)

    def _kernel(
        self,
        name: str,
        arrays: Sequence[Array],
        bindings: int,
        push_constants: int,
        constants: Mapping[int, int] = MappingProxyType({}),
        shared_bytes: int = 0,
        size: int = _SIZE,
    ) -> Kernel:
        size = min(_SOFTWARE_SIZE if self._is_software else size, self._device.limits.workgroup_size)
        shader, of_split = of_arrays(self._device, name, arrays)
        return Kernel(
            self._device,
            shader,
            bindings=bindings,
            push_constants=push_constants,
            workgroup_size=size,
            constants={**of_split, **constants},
            shared_bytes=shared_bytes,
            owner=self,
        )

    def follow_search(self, searches: Searches, longest: int) -> Recording:
        """Return the commands that unpack the paths which searches find, for the submission of the searches.

        Most paths are unique ones, found first. If others are expected, all shortest paths of their searches are
        unpacked next; otherwise `paths` does this if need be.

        Parameters
        ----------
        searches : sequence of (int, int, int), or numpy.ndarray
            See `Searches`; `slots` at most. Pairs are those of the first seed first.
        longest : int
            Largest distance of a path that is unpacked, less than `UNREACHABLE`.
        """
        self._search_rows[: len(searches)] = searches
        return self._follow(len(searches), longest)

    def follow_single_search(self, num_seeds: int, num_targets: int, longest: int) -> Recording:
        """Return the commands that unpack the path which one search finds; see `follow_search`."""
        self._searches.words[0:3] = 0, num_seeds, num_targets
        return self._follow(1, longest)

    def _follow(self, count: int, longest: int) -> Recording:
        """Return the commands that unpack the paths of the searches in the buffer."""
        if not self._unique.is_ready(count):
            return self._follow_with_all(count, longest)
        if not self._unique.expects_one():
            # A single search that has several paths is not faster if a unique one is looked for.
            return self._follow_with_all(count, longest, finds_unique=count > 1)
        self._was_clean, self._is_unique = self._is_clean, True
        self._expect(count)
        return self._unique.follow_search(count, longest)

    def _follow_with_all(
        self, count: int, longest: int, *, finds_unique: bool = False, has_unique: bool = False
    ) -> Recording:
        """Return the commands that unpack all shortest paths of the searches in the buffer, and choose one of them.

        Perhaps they do so only for the searches of which no unique path is found first, or was found before.
        """
        buffers = self._pairs.buffers
        serials = buffers[0].serial, buffers[1].serial
        if self._searched != serials:
            for bound in self._bound:
                bound.close()
            found = self._work, self._marks
            choose = self._choose.on(*buffers, self._searches, *found, self._results, self._num_arcs)
            path = self._path.on(self._first_in, self._arcs_in, self._results, *found, self._arc_ids)
            self._bound, self._searched = [choose, path], serials
        bound_to = self._unique.bound_to if finds_unique else None
        key = serials, count, longest, self._is_clean, bound_to, has_unique
        if self._recording.key != key:
            with self._recording.record(key) as recording:
                recording.barrier("all", "all")
                if not self._is_clean:
                    recording.fill(self._marks, 0)
                    recording.barrier("transfer", "compute")
                if finds_unique:
                    self._unique.record(recording, count, longest, is_last=False)
                    recording.barrier()
                recording.bind(self._bound[0])
                recording.push(self._bound[0], longest, finds_unique or has_unique)
                recording.dispatch(1, count)
                recording.barrier()
                groups, lanes = self._groups(count), _SOFTWARE_LANES if self._is_software else _LANES
                recording.bind(self._fit)
                recording.push(self._fit, *self._sizes, lanes)
                recording.dispatch(groups, count)
                recording.barrier()
                recording.bind(self._mark)
                recording.push(self._mark, *self._sizes)
                recording.dispatch(1, count)
                recording.barrier()
                self._record_rounds(recording, count)
        self._is_unique = False
        if has_unique:
            self._done[:count][self._done[:count] == HAS_TIES] = 0
        else:
            self._expect(count)
        return self._recording

    def _settle_ties(self, count: int, longest: int, *, has_ties: bool) -> None:
        """Take note of whether searches of which unique paths were looked for have several, which are then unpacked."""
        self._unique.learn(has_ties=has_ties)
        if has_ties:
            self._submit(self._follow_with_all(count, longest, has_unique=count > 1))

    def path(self, num_seeds: int, num_targets: int, longest: int, is_begun: bool) -> Unpacked | None:
        """Return the path of the last search of the pairs of some seeds and targets.

        Parameters
        ----------
        num_seeds, num_targets : int
            Numbers of seeds and targets of the search.
        longest : int
            See `follow_search`.
        is_begun : bool
            Whether the search was submitted with what `follow_single_search` returned.

        Returns
        -------
        tuple of (int, int, numpy.ndarray) or None
            The indices of its seed and target, and the ids of its arcs; None if paths have more arcs than there is room
            for, if the path is longer, or if the device ends long loops early.
        """
        if not is_begun or self._results.words[0] == LEFT:
            self._submit(self.follow_single_search(num_seeds, num_targets, longest))
        if self._is_unique and self._results.words[0] != LEFT:
            self._settle_ties(1, longest, has_ties=self._results.words[0] != DONE)
        self._end(1)
        done, _, seed, target, length, first = self._results.words[0 : RESULT.itemsize // 4]
        if done == CONTRADICTED:
            raise DeviceError(_CONTRADICTION)
        if done != DONE or self._is_cut_short:
            return None
        return seed, target, self._arcs[first : first + length].astype(np.int64)

    def paths(self, searches: Searches, longest: int, is_begun: bool) -> UnpackedPaths:
        """Return the paths of some searches, `slots` at most; see `path`."""
        if not is_begun:
            self._submit(self.follow_search(searches, longest))
        count = len(searches)
        if self._is_unique:
            self._settle_ties(count, longest, has_ties=bool((self._done[:count] == HAS_TIES).any()))
        self._end(count)
        results = self._found[:count].copy()
        if (results["done"] == CONTRADICTED).any():
            raise DeviceError(_CONTRADICTION)
        if self._is_cut_short:  # also the weights may be those of an earlier submission
            results["done"], results["weight"] = FAILED, 0
        return UnpackedPaths(results, self._arcs)

    def _end(self, count: int) -> None:
        """Submit more rounds until the paths of all slots are unpacked."""
        while not self._is_ended(count) and not self._is_cut_short:
            if self._recording.key != count:
                with self._recording.record(count) as recording:
                    recording.barrier("all", "all")
                    self._record_rounds(recording, count)
            self._submit(self._recording)

    def _submit(self, recording: Recording) -> None:
        recording.submit()
        recording.wait()

    def _is_ended(self, count: int) -> bool:
        """Return whether the paths of all slots are unpacked, or will not be."""
        return self._results.words[0] != 0 if count == 1 else bool(self._done[:count].all())

    @property
    def _is_cut_short(self) -> bool:
        """Whether the device has ended a long loop of the last submission early."""
        return bool(self._status.words[0])

    @property
    def _is_clean(self) -> bool:
        """Whether all marks are zero, as the last paths leave them if nothing went wrong."""
        if self._is_unique:
            return self._was_clean
        if self._count == 1:
            is_clean = self._results.words[0] in _CLEAN
        else:
            done = self._done[: self._count]
            is_clean = self._count > 0 and bool(((done == DONE) | (done == LEFT) | (done == CONTRADICTED)).all())
        return is_clean and not self._is_cut_short

    def _expect(self, count: int) -> None:
        """Forget what was known of paths, before a submission for a number of them."""
        self._count, self._status.words[0] = count, 0
        if count == 1:
            self._results.words[0] = 0
        else:
            self._done[:count] = 0

    def _groups(self, count: int) -> int:
        """Return the number of workgroups of each of some paths, where there are many."""
        return _SOFTWARE_GROUPS if self._is_software else max(_LEAST_GROUPS, _GROUPS // count)

    def _record_rounds(self, recording: Recording, count: int) -> None:
        """Record rounds of unpacking some paths, most often all that they need, and what puts them in order."""
        for kernel, groups in ((self._unpack, 1), (self._unpack_many, self._groups(count))):
            recording.bind(kernel)
            recording.push(kernel, *self._sizes, _ROUNDS, ENOUGH)
            recording.dispatch(groups, count)
            recording.barrier()
        recording.bind(self._bound[1])
        recording.push(self._bound[1], *self._sizes, self._room)
        recording.dispatch(1, count)
        recording.barrier("compute", "host")
