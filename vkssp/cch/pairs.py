"""Distances of pairs of nodes by a hierarchy: upward searches from both nodes, to the ancestors that they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy, check_loops
from vkssp.cch.path_entries import HEIGHT_CONSTANT, PathEntries, height_of
from vkssp.cch.top import TOP_CONSTANT, climb_kernel, record_climb, top_bytes
from vkssp.engine.loop import MOST_POLLED_US
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: Smallest number of pairs that a submission has room for.
LEAST = 64
#: Largest one.
MOST_AT_ONCE = 1 << 16
_PAIR_BYTES = 16
# Largest number of pairs that the device processes all at once, faster with more invocations each.
_FEW = 1024
#: Largest number of pairs, whose paths are not asked for, that phast_few_pairs searches: from both ends at once.
FEWEST = 128
# Words of a node on a path to the root, of many and of few pairs, and other bytes of shared memory of a search.
_ENTRY_WORDS, _FIXED_BYTES = (4, 6), 64
# Specialization constants of the shader: searches at once of a pair, and arcs of an invocation whose reads overlap; on
# a GPU and on a software device, which does not wait for memory.
_SIDES_CONSTANT, _AT_ONCE_CONSTANT = 6, 8
_SIDES, _SOFTWARE_SIDES = 2, 1
_AT_ONCE, _SOFTWARE_AT_ONCE = 2, 1
# Invocations that join the searches from both ends of a pair, on a GPU and on a software device.
_JOIN_SIZE, _SOFTWARE_JOIN_SIZE = 128, 64
# Largest number of pairs that many workgroups search at the top of the hierarchy; more occupy the device anyway.
_MOST_AT_TOP = 64
#: Arcs at the top that a search passes alone in the time of the dispatches for a level there, and in that which it
#: takes to unpack a path without its tracks: guesses for a large GPU.
ARCS_A_LEVEL, ARCS_A_PATH = 1 << 14, 1 << 17
#: Largest number of pairs of a search whose upward labels are kept for unpacking; words of a label.
KEPT, LABEL_WORDS = 16, 4
#: Specialization constant of the shaders: largest number of arcs that a pair's searches keep.
TRACKS_CONSTANT = 10
# Its largest values, for pairs of one search and for those of many, and the largest part of the free memory for all
# tracks; see shaders/include/tracks.glsl. Of NY a pair has up to 2,000 of them, of Porto with turn costs 2,900.
_MOST_TRACKS, _MOST_TRACKS_OF_MANY, _MOST_MEMORY = 8191, 4095, 1 / 64
#: Rank of the source, its offset, rank of the target, its offset.
Pair = tuple[int, int, int, int]


def label_bytes(hierarchy: Hierarchy, kept: int, tracks: int = 0) -> int:
    """Return the bytes of the upward labels of a number of pairs, each with so many tracks, at least."""
    return 4 * LABEL_WORDS * kept * (2 * height_of(hierarchy) + tracks + 1)


def _most_tracks(device: Device, hierarchy: Hierarchy, kept: int) -> int:
    """Return how many tracks of each pair there is room for, beside the upward labels of a number of pairs."""
    room = min(device.limits.buffer - label_bytes(hierarchy, kept), int(_MOST_MEMORY * device.free_bytes()))
    most = _MOST_TRACKS if kept <= KEPT else _MOST_TRACKS_OF_MANY
    return max(0, min(most, room // (4 * LABEL_WORDS * max(1, kept))))


def _is_few(count: int, kept: int) -> bool:
    """Return whether phast_few_pairs searches a number of pairs, given how many of their labels are kept."""
    return kept > 0 or count <= FEWEST


class Pairs(Resource):
    """Finder of distances of pairs of nodes.

    Parameters
    ----------
    device : Device
        The device of the hierarchy.
    customized : CustomizedHierarchy
        The hierarchy.
    owner : Resource
        The resource that closes this one.
    kept : int
        Largest number of pairs whose upward labels are kept for unpacking.

    Attributes
    ----------
    most_kept : int
        As given by `kept`, or fewer, even none, if the device binds less than the labels of so many pairs.
    most_tracks : int
        Largest number of tracks of a pair.
    labels : Buffer
        The upward labels of the pairs of the last call that were to be kept: for each pair and both of its nodes the
        nodes on the path to the root, by depth. Behind those of `most_kept` pairs are their tracks, see
        shaders/include/tracks.glsl.
    """

    def __init__(self, device: Device, customized: CustomizedHierarchy, owner: Resource, kept: int = KEPT) -> None:
        super().__init__(owner)
        self._device, self._customized, self._room = device, customized, 0
        self.most_kept = min(kept, device.limits.buffer // label_bytes(customized.hierarchy, 1))
        self._parts: list[Resource] = []
        # What the last submission was, and microseconds until it ended, which the next one of its kind may take, too.
        self._last: tuple[object, float] = None, 0.0
        self._kernels: dict[tuple[bool, int, int], Kernel] = {}
        self._ready: dict[tuple[bool, int, int], tuple[Bindings, Recording]] = {}
        self._kernels_at_top: tuple[Kernel, Kernel] | None = None
        self._at_top: tuple[Bindings, Bindings] | None = None
        self._join_kernel: Kernel | None = None
        self._join: Bindings | None = None
        try:
            self._status = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the status of pairs", owner=self)
            self._timestamps = Timestamps(device, 2, owner=self)
            most = min(MOST_AT_ONCE, device.limits.workgroups)
            self._entries = [PathEntries(device, customized.hierarchy, words, _FIXED_BYTES) for words in _ENTRY_WORDS]
            self._most_groups = [entries.most_groups(most) for entries in self._entries]
            self._lowest = [
                entries.buffer(groups, self) for entries, groups in zip(self._entries, self._most_groups, strict=True)
            ]
            self.most_tracks = _most_tracks(device, customized.hierarchy, self.most_kept)
            nbytes = label_bytes(customized.hierarchy, self.most_kept, self.most_tracks)
            self.labels = Buffer(device, nbytes, name="the upward labels of pairs", owner=self)
            self._most_at_top = 0
            if customized.top.levels:
                self._most_at_top = min(_MOST_AT_TOP, device.limits.buffer // top_bytes(customized.top, 2))
            room = top_bytes(customized.top, 2 * self._most_at_top)
            self._top_distances = Buffer(device, room, name="the distances of pairs at the top", owner=self)
        except BaseException:
            self.close()
            raise

    def _make_room(self, count: int) -> None:
        if count <= self._room > 0:
            return
        count = max(LEAST, count)
        for part in reversed(self._parts):
            part.close()
        self._parts, self._room = [], 0
        device, self._ready, self._at_top, self._join = self._device, {}, None, None
        room = 1 << (count - 1).bit_length()
        self._pairs = Buffer(device, _PAIR_BYTES * room, mapped=True, name="the pairs", owner=self)
        self._answers = Buffer(device, 8 * room, mapped=True, name="the distances of pairs", owner=self)
        self._parts = [self._pairs, self._answers]
        self._pair_rows: Uint32s = self._pairs.view().reshape(room, -1)
        self._answer_rows: Uint32s = self._answers.view().reshape(room, -1)
        self._room = room  # last, as an interrupt may come between

    def _ready_for(self, count: int, kept: int, has_shared: bool) -> tuple[Bindings, Recording]:
        """Return the kernel for a number of pairs, bound to its buffers, and its command buffer."""
        device, customized = self._device, self._customized
        size = device.tuned["pairs.size_for_few" if count <= _FEW else "pairs.size_for_many"]
        is_few = _is_few(count, kept)
        is_software = device.info.kind == "cpu"
        sides = (_SOFTWARE_SIDES if is_software else _SIDES) if count <= FEWEST or has_shared else 1
        sides = min(sides, device.limits.workgroup_size)
        key = is_few, sides, sides * min(size, device.limits.workgroup_size // sides)
        if key not in self._kernels:
            entries = self._entries[is_few]
            shader, constants = customized.shader("phast_few_pairs" if is_few else "phast_pairs")
            constants |= entries.constants
            if is_few:
                at_once = _SOFTWARE_AT_ONCE if is_software else _AT_ONCE
                constants |= {_SIDES_CONSTANT: sides, _AT_ONCE_CONSTANT: at_once, TRACKS_CONSTANT: self.most_tracks}
                constants[TOP_CONSTANT] = len(customized.top.nodes)
            self._kernels[key] = Kernel(
                device,
                shader,
                bindings=10 if is_few else 8,
                push_constants=6 if is_few else 1,
                workgroup_size=key[2],
                constants=constants,
                shared_bytes=entries.shared_bytes,
                owner=self,
            )
        if key not in self._ready:
            bound = self._kernels[key].on(
                *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
                *(customized.ancestor_depth, self._pairs, self._answers),
                *((self.labels, self._top_distances) if is_few else ()),
                self._lowest[is_few],
            )
            # Younger than the buffers, so that it is closed, and waited for, before them.
            self._ready[key] = bound, Recording(device, owner=self)
            self._parts += self._ready[key]
        return self._ready[key]

    def _bound_join(self) -> Bindings:
        """Return the kernel that joins the searches from the ends of pairs, if these are shared."""
        if self._join is None:
            device, height = self._device, height_of(self._customized.hierarchy)
            if self._join_kernel is None:
                size = _SOFTWARE_JOIN_SIZE if device.info.kind == "cpu" else _JOIN_SIZE
                self._join_kernel = Kernel(
                    device,
                    "phast_join",
                    bindings=3,
                    push_constants=2,
                    workgroup_size=min(size, device.limits.workgroup_size),
                    constants={HEIGHT_CONSTANT: height, TRACKS_CONSTANT: self.most_tracks},
                    shared_bytes=8,
                    owner=self,
                )
            self._join = self._join_kernel.on(self._pairs, self._answers, self.labels)
            self._parts.append(self._join)
        return self._join

    def _bound_at_top(self) -> tuple[Bindings, Bindings]:
        """Return the kernels that search at the top of the hierarchy and join both searches of pairs."""
        if self._at_top is None:
            device, customized, limits = self._device, self._customized, self._device.limits
            size = min(device.tuned["pairs.size_for_few"], limits.workgroup_size)
            hierarchy = (customized.supernodes, customized.supernode_of, self._status, customized.weights)
            if not self._kernels_at_top:
                climb = climb_kernel(customized, size, self, of_tree=False)
                shader, constants = customized.shader("phast_meet")
                constants |= {HEIGHT_CONSTANT: height_of(customized.hierarchy), TOP_CONSTANT: len(customized.top.nodes)}
                meet = Kernel(
                    device,
                    shader,
                    bindings=6,
                    push_constants=2,
                    workgroup_size=size,
                    constants=constants,
                    shared_bytes=8,
                    owner=self,
                )
                self._kernels_at_top = climb, meet
            climb, meet = self._kernels_at_top
            # Only trees write distances, and counts.
            lists = (customized.top_nodes, customized.top_ancestors)
            self._at_top = (
                climb.on(*hierarchy, *lists, self._answers, self._answers, self._top_distances),
                meet.on(*hierarchy[:3], self._answers, self.labels, self._top_distances),
            )
            self._parts += self._at_top
        return self._at_top

    def _record(
        self, recording: Recording, bound: Bindings, count: int, num_kept: int, num_tracked: int, has_shared: bool
    ) -> None:
        is_few = _is_few(count, num_kept)
        ends_at_top = is_few and count <= self._most_at_top and self._ends_at_top(is_for_paths=num_tracked > 0)
        groups = min(count, self._most_groups[is_few])
        recording.barrier("all", "all")
        recording.timestamp(self._timestamps, 0)
        if ends_at_top:
            recording.fill(self._top_distances, UNREACHABLE, top_bytes(self._customized.top, 2 * count))
            recording.barrier("transfer", "compute")
        recording.bind(bound)
        of_few = num_kept, ends_at_top, self.most_kept, num_tracked, has_shared
        recording.push(bound, count, *(of_few if is_few else ()))
        recording.dispatch(groups)
        if has_shared:
            recording.barrier()
            join = self._bound_join()
            recording.bind(join)
            recording.push(join, count, self.most_kept)
            recording.dispatch(groups)
        if ends_at_top:
            recording.barrier()
            climb, meet = self._bound_at_top()
            record_climb(recording, climb, self._customized.top, 2 * count)
            recording.bind(meet)
            recording.push(meet, count, num_kept)
            recording.dispatch(groups)
        recording.timestamp(self._timestamps, 1)
        recording.barrier("all", "all")

    def _ends_at_top(self, *, is_for_paths: bool) -> bool:
        """Return whether few searches end at the top of the hierarchy, where many workgroups go on."""
        levels = self._customized.top.levels
        arcs = sum(level.most_nodes * (level.most_nodes // 2 + level.most_ancestors) for level in levels)
        return bool(levels) and arcs > ARCS_A_LEVEL * (1 + len(levels)) + (ARCS_A_PATH if is_for_paths else 0)

    @property
    def are_tracked(self) -> bool:
        """Whether all tracks of searches whose paths are asked for are known."""
        return not self._ends_at_top(is_for_paths=True)

    @property
    def buffers(self) -> tuple[Buffer, Buffer]:
        """The pairs of the last call, and their answers; more pairs make new ones. See phast_few_pairs.comp."""
        return self._pairs, self._answers

    def search(
        self, pairs: Sequence[Pair], follow: Callable[[], Recording] | None = None
    ) -> tuple[list[int], bool, float]:
        """Do what `find` does for few pairs, for which it takes less time, and keep the upward labels of all of them.

        Parameters
        ----------
        pairs : sequence of (int, int, int, int)
            The pairs, `most_kept` at most.
        follow : callable, optional
            Returns commands that the device executes after the search, in the same submission; `buffers` are those of
            the search by then.

        Returns
        -------
        distances : list of int
            The distances of the pairs.
        overflow : bool
            Whether a sum did not fit into 32 bits.
        milliseconds : float
            Time on the device, without the commands that follow.
        """
        count = len(pairs)
        self._make_room(count)
        self._pairs.words[0 : 4 * count] = [word for pair in pairs for word in pair]
        self._submit(count, count, follow and follow())
        answers = list(self._answers.words[0 : 2 * count])
        return answers[::2], any(answers[1::2]), self._timestamps.between()

    @property
    def most_at_once(self) -> int:
        """Largest number of pairs of a submission."""
        return min(MOST_AT_ONCE, 1 << (self._device.limits.buffer // _PAIR_BYTES).bit_length() - 1)

    def mapped_pairs(self, count: int) -> Uint32s:
        """Return the mapped memory that the pairs for `search_mapped` are to be written to.

        Parameters
        ----------
        count : int
            Number of pairs, `most_at_once` at most.

        Returns
        -------
        numpy.ndarray
            Shape (count, 4), uint32, with the columns that `find` takes.
        """
        self._make_room(count)
        return self._pair_rows[:count]

    def can_share(self, count: int, kept: int) -> bool:
        """Return whether pairs with a node in common can share the upward search from it, see `search_mapped`."""
        return count == kept and self.are_tracked

    def search_mapped(
        self, count: int, kept: int, follow: Callable[[], Recording] | None = None, *, has_shared: bool = False
    ) -> Uint32s:
        """Find the distances of the pairs in `mapped_pairs` by one submission.

        Parameters
        ----------
        count : int
            Number of pairs.
        kept, follow
            See `find`.
        has_shared : bool
            Whether pairs share upward searches, if `can_share` allows it. A source or target that is `UNREACHABLE` is
            then that of an earlier pair, whose number is in place of the offset, and which has the node itself. See
            `vkssp.cch.batch_kernels.put_pairs`, which writes such pairs.

        Returns
        -------
        numpy.ndarray
            The distance of each pair, and 1 if a sum did not fit into 32 bits, shape (k, 2), uint32; valid until the
            next search.
        """
        if count:
            self._submit(count, kept, follow and follow(), has_shared=has_shared)
        return self._answer_rows[:count]

    def find(
        self, pairs: npt.NDArray[np.uint32], kept: int = 0, follow: Callable[[], Recording] | None = None
    ) -> tuple[Uint32s, npt.NDArray[np.bool_], float]:
        """Return the distances of pairs, whether a sum did not fit into 32 bits, and milliseconds on the device.

        Parameters
        ----------
        pairs : numpy.ndarray
            Rank of the source, its offset, rank of the target, its offset, shape (k, 4), uint32.
        kept : int
            Number of pairs, the first ones, whose upward labels are kept, `most_kept` at most.
        follow : callable, optional
            See `search`; its commands follow the search of the first pairs, `most_kept` at least.
        """
        found, overflow = np.empty(len(pairs), np.uint32), np.empty(len(pairs), np.bool_)
        milliseconds, most = 0.0, self.most_at_once
        for first in range(0, len(pairs), most):
            part = pairs[first : first + most]
            self.mapped_pairs(len(part))[:] = part
            if first == 0:
                self._submit(len(part), kept, follow and follow())
            else:
                self._submit(len(part), 0)
            milliseconds += self._timestamps.between()
            answers = self._answer_rows[: len(part)]
            found[first : first + len(part)] = answers[:, 0]
            overflow[first : first + len(part)] = answers[:, 1] != 0
        return found, overflow, milliseconds

    def _submit(self, count: int, kept: int, following: Recording | None = None, *, has_shared: bool = False) -> None:
        """Search the pairs in the buffer, then execute other commands."""
        self._status.words[0] = 0
        bound, recording = self._ready_for(count, kept, has_shared)
        key = count, kept, 0 if following is None else kept, has_shared
        if recording.key != key:
            with recording.record(key):
                self._record(recording, bound, *key)
        if following is None:
            recording.submit()
        else:
            following.submit(recording)
        kind, expected_us = self._last
        began = time.perf_counter()
        recording.wait(expected_us if kind == recording.key else 0.0)  # also for what follows
        self._last = recording.key, min(1e6 * (time.perf_counter() - began), MOST_POLLED_US)
        check_loops(self._device, self._status.words[0])
