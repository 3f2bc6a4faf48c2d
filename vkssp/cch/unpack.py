"""Unpacking of shortest paths of pairs from the arcs of a hierarchy, so that a path does not cost a sweep.

An arc of the hierarchy stands for an arc of the graph, or for two arcs over a node below both of its ends (R.
Geisberger, P. Sanders, D. Schultes, D. Delling, Contraction hierarchies, 2008). The hierarchy does not store the two
arcs. Unpacking finds all pairs of arcs with the same weight together. So of several shortest paths it finds the same
one as a walk along the distances of all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy
from vkssp.cch.pairs import KEPT, Pair
from vkssp.cch.path_entries import PathEntries
from vkssp.engine.arrays import Array, can_split, of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.path import MOST_ARCS
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: The twins of Header, MOST_SLOTS and MOST_JOBS in shaders/include/unpack.glsl.
HEADER = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("done", "num_items", "next_item", "num_found", "is_split", "split_end", "has_no_room"),
            *("first_job", "num_jobs", "first_seed", "num_seeds", "unused"),
        )
    ]
)
MOST_SLOTS, MOST_JOBS = 128, 512
#: Values of `done`: the path is unpacked, or was not chosen, see shaders/cch/phast_choose.comp; another is an error.
_DONE, LEFT = 1, 3
_JOB_WORDS, _NODE_WORDS = 4, 4
_HEADERS_BYTES, _JOBS_BYTES = HEADER.itemsize * MOST_SLOTS, 4 * _JOB_WORDS * MOST_JOBS
_LISTS_AT = _HEADERS_BYTES + _JOBS_BYTES
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
# Nodes that a sweep and a walk back process on a GPU in the time that unpacking takes for one arc. Software devices
# sweep more slowly.
_NODES_AN_ARC = 400
# Words of a node on a path to the root, and other bytes of shared memory, of the search for marks.
_ENTRY_WORDS, _FIXED_BYTES = 4, 4
# Largest number of nodes that are copied along with the headers, of one path and of each of many.
_AT_ONCE, _AT_ONCE_OF_MANY = 4096, 1024
_CONTRADICTION = "the paths on the device contradict each other; the driver may be at fault"
# Fewest workgroups of each of many paths on a GPU.
_LEAST_GROUPS = 16


def _most(hierarchy: Hierarchy, device: Device) -> int:
    """Return the number of nodes, and of arcs, that there is room for: all that may be found, or a fixed number."""
    all_of_them = KEPT * max(1, hierarchy.num_nodes, 2 * hierarchy.num_arcs)
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
    return max(1, min(MOST_SLOTS, fitting))


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


class PathJob(NamedTuple):
    """Path that is to be unpacked.

    Attributes
    ----------
    numbers : numpy.ndarray
        Indices of pairs that have the same target and the same distance, shape (k,), int64.
    best : int
        Their distance.
    first_seed, num_seeds : int
        Where the seeds of the search begin among the terminals, and their number.
    """

    numbers: npt.NDArray[np.int64]
    best: int
    first_seed: int
    num_seeds: int


#: The seed of a path, by its rank and its distance, and the caller's ids of the arcs from it to the target, int64.
Unpacked = tuple[Terminal, npt.NDArray[np.int64]]


class Unpacker(Resource):
    """Finder of the shortest paths of pairs whose upward labels are known.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    labels, terminals : Buffer
        The upward labels, see `Pairs`; the seeds of the searches.
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
        labels: Buffer,
        terminals: Buffer,
        owner: Resource,
        slots: int = 1,
        most: int | None = None,
    ) -> None:
        super().__init__(owner)
        self._device, hierarchy = graph.device, customized.hierarchy
        self._most = min(_most(hierarchy, self._device), most or UNREACHABLE)
        self._sizes = self._most, hierarchy.num_nodes, _marks_each(hierarchy)
        self.slots, self._count = slots, 0  # number of paths of the last submission
        self._choose: Bindings | None = None
        self._answers: Buffer | None = None
        work, marks, _ = _sizes(hierarchy, self._most, slots)
        try:
            below = customized.below()
            first_in, arcs_in, self._arc_in = graph.incoming()
            self._work = self._buffer("the paths that are unpacked", work)
            self._marks = self._buffer("the marks of unpacking", marks)
            self._status = self._buffer("the status of unpacking", 4 * STATUS_WORDS)
            self._given = Buffer(self._device, _LISTS_AT, mapped=True, name="the paths to unpack", owner=self)
            # The headers, the first nodes of each slot, and the status.
            self._at_once = min(_AT_ONCE if slots == 1 else _AT_ONCE_OF_MANY, self._most)
            self._copied = _HEADERS_BYTES + slots * 4 * _NODE_WORDS * self._at_once
            nbytes = self._copied + 4 * STATUS_WORDS
            self._mapped = Buffer(self._device, nbytes, mapped=True, name="the mapped paths", owner=self)
            self._found = self._mapped.view()
            self._headers = self._found[: _HEADERS_BYTES // 4].view(HEADER)
            self._choosing = self._kernel("phast_choose", [], 5, 3, size=_SIZE_OF_CHOICE)
            topology = (customized.supernodes, customized.supernode_of, self._status)
            found = (customized.weights, customized.ancestor_depth, self._work, self._marks)
            weights, entries = [customized.weights], PathEntries(self._device, hierarchy, _ENTRY_WORDS, _FIXED_BYTES)
            mark = self._kernel("phast_mark", weights, 9, 4, entries.constants, entries.shared_bytes)
            self._mark = mark.on(*topology, *found, labels, entries.buffer(slots, self))
            self._unpack = self._kernel("phast_unpack", weights, 8, 5).on(*topology, *found, below)
            many = self._kernel("phast_unpack_many", weights, 8, 5, {1: _ROOM}, 4 * _ROOM + 4, _SIZE_OF_MANY)
            self._unpack_many = many.on(*topology, *found, below)
            parents = self._kernel("phast_parents", [arcs_in], 5, 4, size=_SIZE_OF_MANY)
            self._parents = parents.on(first_in, arcs_in, terminals, self._work, self._marks)
            # Made last and so closed first: submitted work must end before its buffers are freed.
            self._recording = Recording(self._device, owner=self)
        except BaseException:
            self.close()
            raise

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self._device, nbytes, name=name, owner=self)

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
        size = min(_SOFTWARE_SIZE if self._device.info.kind == "cpu" else size, self._device.limits.workgroup_size)
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

    def follow_search(
        self, num_seeds: int, num_targets: int, longest: int, pairs: Buffer, answers: Buffer
    ) -> Recording:
        """Return the commands that unpack the path which a search finds, for the submission of the search.

        Parameters
        ----------
        num_seeds, num_targets : int
            Numbers of seeds and targets of the search.
        longest : int
            Largest distance of a path that is unpacked, less than `UNREACHABLE`.
        pairs, answers : Buffer
            All pairs of a seed and a target, and their distances; see `Pairs.search`.
        """
        if self._answers is not answers:
            if self._choose is not None:
                self._choose.close()
            self._choose = self._choosing.on(pairs, answers, self._status, self._work, self._marks)
            self._answers = answers
        assert self._choose is not None
        key = answers.serial, num_seeds, num_targets, longest, self._is_clean
        if self._recording.key != key:
            with self._recording.record(key) as recording:
                self._record_begin(recording)
                recording.bind(self._choose)
                recording.push(self._choose, num_seeds, num_targets, longest)
                recording.dispatch(1)
                recording.barrier()
                self._record_paths(recording, 1, num_seeds)
        self._expect(1)
        return self._recording

    def path(
        self, pairs: Sequence[Pair], numbers: Sequence[int], best: int, num_seeds: int, is_begun: bool = False
    ) -> Unpacked | None:
        """Return a shortest path of some pairs that have the same target and the same distance.

        Parameters
        ----------
        pairs : sequence of (int, int, int, int)
            All pairs of the search.
        numbers : sequence of int
            Indices of the pairs that are unpacked.
        best : int
            Their distance.
        num_seeds : int
            Number of seeds of the search, the first terminals.
        is_begun : bool
            Whether the search was submitted with what `follow_search` returns.

        Returns
        -------
        tuple of (Terminal, numpy.ndarray) or None
            The path; None if paths have more arcs than there is room for, or if the device ends long loops early.
        """
        if not is_begun or self._done(1) == [LEFT]:
            self._begin(np.array(pairs, np.uint32), [PathJob(np.array(numbers), best, 0, num_seeds)])
        return self._end([pairs[numbers[0]][2]])[0]

    def paths(self, pairs: Uint32s, jobs: Sequence[PathJob]) -> list[Unpacked | None]:
        """Return a shortest path of each of some jobs, `slots` at most; see `path`.

        Together they have at most `MOST_JOBS` pairs that are unpacked.

        Parameters
        ----------
        pairs : numpy.ndarray
            All pairs of the searches: rank of the source, its offset, rank of the target, its offset, shape (k, 4),
            uint32.
        jobs : sequence of PathJob
            The paths.
        """
        self._begin(pairs, jobs)
        return self._end([int(pairs[job.numbers[0], 2]) for job in jobs])

    def _begin(self, pairs: Uint32s, jobs: Sequence[PathJob]) -> None:
        """Submit the beginning of some jobs."""
        most_pairs = max(len(job.numbers) for job in jobs)
        self._put(pairs, jobs)
        key = len(jobs), most_pairs, self._is_clean
        if self._recording.key != key:
            with self._recording.record(key) as recording:
                self._record_begin(recording)
                recording.copy(self._given, self._work, _LISTS_AT)
                recording.fill(self._status, 0)
                recording.barrier("transfer", "compute")
                self._record_paths(recording, len(jobs), most_pairs)
        self._submit(len(jobs))

    def _end(self, targets: Sequence[int]) -> list[Unpacked | None]:
        """Return the paths to some targets; submit more rounds until all of them are unpacked."""
        count = len(targets)
        while not all(done := self._done(count)) and not self._is_cut_short:
            if self._recording.key != count:
                with self._recording.record(count) as recording:
                    recording.barrier("all", "all")
                    self._record_rounds(recording, count)
            self._submit(count)
        if self._is_cut_short:
            return [None] * count
        slots = enumerate(targets)
        return [self.follow(self._nodes(slot), target) if done[slot] == _DONE else None for slot, target in slots]

    def _done(self, count: int) -> list[int]:
        """Return how far the last paths are, as their headers tell."""
        done: list[int] = self._headers["done"][:count].tolist()
        return done

    @property
    def _is_cut_short(self) -> bool:
        """Whether the device has ended a long loop of the last submission early."""
        return bool(self._mapped.words[self._copied // 4])

    @property
    def _is_clean(self) -> bool:
        """Whether all marks are zero, as the last paths leave them if nothing went wrong."""
        return self._count > 0 and {*self._done(self._count)} <= {_DONE, LEFT} and not self._is_cut_short

    def _expect(self, count: int) -> None:
        """Forget what was known of paths, before a submission for a number of them."""
        self._count, self._headers["done"][:count] = count, 0

    def _submit(self, count: int) -> None:
        self._expect(count)
        self._recording.submit()
        self._recording.wait()

    def _put(self, pairs: Uint32s, jobs: Sequence[PathJob]) -> None:
        """Write what is to be unpacked into the mapped buffer."""
        given = self._given.view()
        headers, of_jobs = given[: _HEADERS_BYTES // 4].view(HEADER), given[_HEADERS_BYTES // 4 :].reshape(-1, 4)
        rows = np.zeros(len(jobs), HEADER)
        rows["num_jobs"] = [len(job.numbers) for job in jobs]
        rows["first_job"] = np.cumsum(rows["num_jobs"]) - rows["num_jobs"]
        rows["first_seed"], rows["num_seeds"] = [job.first_seed for job in jobs], [job.num_seeds for job in jobs]
        numbers = np.concatenate([job.numbers for job in jobs])
        best = np.repeat(np.array([job.best for job in jobs], np.uint32), rows["num_jobs"])
        headers[: len(jobs)] = rows
        columns = (numbers.astype(np.uint32), pairs[numbers, 0], pairs[numbers, 2], best)
        of_jobs[: len(numbers)] = np.stack(columns, axis=1)

    def _nodes(self, slot: int) -> Uint32s:
        """Return the nodes on the shortest paths of a slot: rank, distance, arc from the parent, place of that."""
        count = int(self._headers["num_found"][slot])
        if count <= self._at_once:
            first = _HEADERS_BYTES // 4 + slot * _NODE_WORDS * self._at_once
            found = self._found[first : first + _NODE_WORDS * count]
        else:
            offset = _LISTS_AT + slot * 12 * _NODE_WORDS * self._most
            found = self._work.read(np.uint32, _NODE_WORDS * count, offset)
        return found.reshape(-1, _NODE_WORDS)

    def _record_begin(self, recording: Recording) -> None:
        recording.barrier("all", "all")
        if not self._is_clean:
            recording.fill(self._marks, 0)
            recording.barrier("transfer", "compute")

    def _record_paths(self, recording: Recording, count: int, most_pairs: int) -> None:
        """Record the search for the arcs of some paths, of so many pairs at most, and rounds of unpacking them."""
        recording.bind(self._mark)
        for number in range(most_pairs):
            recording.push(self._mark, number, *self._sizes)
            recording.dispatch(1, count)
            recording.barrier()
        self._record_rounds(recording, count)

    def _record_rounds(self, recording: Recording, count: int) -> None:
        """Record rounds of unpacking some paths, most often all that they need, and a copy of what is found."""
        many = _SOFTWARE_GROUPS if self._device.info.kind == "cpu" else max(_LEAST_GROUPS, _GROUPS // count)
        for kernel, groups in ((self._unpack, 1), (self._unpack_many, many)):
            recording.bind(kernel)
            recording.push(kernel, *self._sizes, _ROUNDS, ENOUGH)
            recording.dispatch(groups, count)
            recording.barrier()
        recording.bind(self._parents)
        for step in range(3):
            recording.push(self._parents, *self._sizes, step)
            recording.dispatch(many, count)
            recording.barrier()
        recording.barrier("compute", "transfer")
        recording.copy(self._work, self._mapped, _HEADERS_BYTES)
        nbytes = 4 * _NODE_WORDS * self._at_once
        for slot in range(count):
            offset = _LISTS_AT + slot * 12 * _NODE_WORDS * self._most
            recording.copy(self._work, self._mapped, nbytes, offset, _HEADERS_BYTES + slot * nbytes)
        recording.copy(self._status, self._mapped, 4 * STATUS_WORDS, 0, self._copied)
        recording.barrier("transfer", "host")

    def follow(self, nodes: Uint32s, target: int) -> Unpacked:
        """Return the seed and the arcs of the path to a target, which the parents of nodes give."""
        there, parents = np.flatnonzero(nodes[:, 0] == target).tolist(), nodes[:, 3].tolist()
        if len(there) != 1:
            raise DeviceError(_CONTRADICTION)
        # A loop takes less time than pointer doubling by arrays. The seed is its own parent.
        path, (at,) = list[int](), there
        for _ in parents:
            if parents[at] == at:
                break
            path.append(at)
            at = parents[at]
        else:
            raise DeviceError(_CONTRADICTION)
        rank, distance = nodes[at, :2].tolist()
        return (rank, distance), self._arc_in[nodes[path[::-1], 2]]
