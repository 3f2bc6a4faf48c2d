"""Paths of searches that are known without all shortest ones, found by one dispatch after the searches of their pairs.

Most pairs of nodes of a road network have a single shortest path. Its arcs follow from each other: those of the
hierarchy from the tracks that the searches leave, and the lower arcs of each from `LowerArcs`, which has also chosen
one of several paths that a single arc stands for. Where other paths are equally short (over several highest nodes,
several ways up, or arcs for which nothing was chosen), all of them are needed in order to choose the one that all
algorithms find, see `vkssp.cch.unpack`.
"""

from __future__ import annotations

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.lower_arcs import LowerArcs
from vkssp.cch.pairs import TRACKS_CONSTANT, Pairs
from vkssp.cch.path_entries import HEIGHT_CONSTANT, height_of
from vkssp.engine.arrays import Array
from vkssp.engine.device_graph import DeviceGraph
from vkssp.errors import DeviceError, MemoryShortageError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

# Specialization constant of the shader for the words of its shared memory, the most of them, and other bytes. Arcs of a
# path, a third of the words, are numbered by 16 bits.
_ROOM_CONSTANT, _MOST_ROOM, _FIXED_BYTES = 2, 12_000, 64
# Words of shared memory for each node of the height, and the largest height, which depths in 16 bits allow.
_WORDS_A_NODE, _MOST_HEIGHT = 5, (1 << 16) - 2
# Invocations of a workgroup, also on a software device.
_SIZE, _SOFTWARE_SIZE = 512, 64
#: Submissions with several shortest paths in succession after which the next ones are not expected to have unique ones
#: only, and binary logarithm of the largest number of these.
TIES, _MOST_DOUBLED = 3, 6


def _room_on(device: Device) -> int:
    """Return the words of shared memory that a workgroup takes."""
    return min(_MOST_ROOM, (device.limits.shared_memory - _FIXED_BYTES) // 4)


def _is_unfit(device: Device, hierarchy: Hierarchy, arc_ids: Array) -> bool:
    """Return whether the limits of a device do not allow it."""
    height = height_of(hierarchy)
    return not isinstance(arc_ids, Buffer) or height > min(_MOST_HEIGHT, _room_on(device) // _WORDS_A_NODE)


class UniquePaths(Resource):
    """Finder of unique shortest paths of pairs whose upward labels and tracks are known.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    pairs : Pairs
        The finder of distances, which keeps labels and tracks.
    searches, results, num_arcs : Buffer
        Buffers of the searches, of their results, and of the number of arcs there; see shaders/cch/phast_unique.comp.
    room : int
        Number of arcs that there is room for in the results.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    bound_to : int
        Serial number of the buffer that recorded commands read; -1 before there is one.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        customized: CustomizedHierarchy,
        pairs: Pairs,
        searches: Buffer,
        results: Buffer,
        num_arcs: Buffer,
        room: int,
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        self._device, self._hierarchy, self._pairs = graph.device, customized.hierarchy, pairs
        self._buffers, self._count, self._room = (searches, results), num_arcs, room
        self._arc_ids = graph.incoming_ids()
        self._is_fit = pairs.are_tracked and not _is_unfit(self._device, self._hierarchy, self._arc_ids)
        self._lower_arcs: LowerArcs = graph.shared("lower arcs", lambda: LowerArcs(graph, customized, graph.arrays))
        self._bound: Bindings | None = None
        self.bound_to = -1
        self._recording: Recording | None = None
        # Submissions in succession with several shortest paths, and how many more of them are expected.
        self._ties = self._expected = 0

    def is_ready(self, count: int) -> bool:
        """Return whether unique paths can be found, for a number of searches more."""
        if not self._is_fit or (lower := self._lower_arcs.ready(count)) is None:
            return False
        return self.bound_to == lower.serial or self._bind(lower)

    def expects_one(self) -> bool:
        """Return whether the paths of the next submission are expected to be unique."""
        if self._expected:
            self._expected -= 1
            return False
        return True

    def follow_search(self, count: int, longest: int) -> Recording:
        """Return the commands that find the paths of some searches, to be submitted with these; see `is_ready`.

        Those that have several shortest paths get the result `HAS_TIES`.

        Parameters
        ----------
        count : int
            Number of searches.
        longest : int
            Largest distance of a path that is unpacked, less than `UNREACHABLE`.
        """
        assert self._recording is not None
        if self._recording.key != (count, longest):
            with self._recording.record((count, longest)) as recording:
                recording.barrier("all", "all")
                self.record(recording, count, longest, is_last=True)
                recording.barrier("compute", "host")
        return self._recording

    def record(self, recording: Recording, count: int, longest: int, *, is_last: bool) -> None:
        """Record the search for the unique paths of the searches in the buffer; see `is_ready`.

        Parameters
        ----------
        recording : Recording
            Recording that is being recorded.
        count, longest : int
            See `follow_search`.
        is_last : bool
            Whether nothing unpacks other paths in the same submission.
        """
        assert self._bound is not None
        if count > 1 or not is_last:
            recording.fill(self._count, 0)
            recording.barrier("transfer", "compute")
        recording.bind(self._bound)
        recording.push(self._bound, self._pairs.most_kept, longest, self._room, is_last)
        recording.dispatch(count)

    def _bind(self, lower: Buffer) -> bool:
        """Make what is needed, with the lower arcs in a buffer; return whether the device has the memory for it."""
        try:
            if self._recording is None:
                size = min(
                    _SOFTWARE_SIZE if self._device.info.kind == "cpu" else _SIZE, self._device.limits.workgroup_size
                )
                room = _room_on(self._device)
                self._kernel = Kernel(
                    self._device,
                    "phast_unique",
                    bindings=6,
                    push_constants=4,
                    workgroup_size=size,
                    constants={
                        HEIGHT_CONSTANT: height_of(self._hierarchy),
                        _ROOM_CONSTANT: room,
                        TRACKS_CONSTANT: self._pairs.most_tracks,
                    },
                    shared_bytes=4 * room + _FIXED_BYTES,
                    owner=self,
                )
                # Made last and so closed first: submitted work must end before its buffers are freed.
                self._recording = Recording(self._device, owner=self)
            elif self._bound is not None:
                self._bound.close()
            buffers = (self._buffers[0], self._pairs.labels, lower, self._arc_ids, self._buffers[1], self._count)
            self._bound = self._kernel.on(*buffers)
        except (DeviceError, MemoryShortageError):
            self._is_fit = False
            return False
        self._recording.key, self.bound_to = None, lower.serial
        return True

    def learn(self, *, has_ties: bool) -> None:
        """Take note of whether a submission had several shortest paths, so that the next one may expect this."""
        self._ties = self._ties + 1 if has_ties else 0
        if self._ties >= TIES:
            self._expected = 1 << min(_MOST_DOUBLED, self._ties - TIES)
