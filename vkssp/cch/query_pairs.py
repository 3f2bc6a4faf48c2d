"""Distances of many pairs of nodes by labels of their nodes alone, which are made for each call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.label_pairs import PAIR_BINDINGS, label_pairs_kernel
from vkssp.cch.labels import MOST_PARTS
from vkssp.cch.query_labels import Placed, QueryPlaces, QueryRows, may_overflow, most_rows
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.double_buffering import double_buffered
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.hierarchy.preorder import preorder_of
from vkssp.resource import Resource

#: Most pairs of a submission.
MOST_PAIRS = 1 << 14
# Largest part of the free memory that the labels of a direction take.
_MOST_MEMORY = 1 / 16
_LEAST_ROOM = 1 << 10


def pays(device: Device, hierarchy: Hierarchy, pairs: int) -> bool:
    """Return whether so many pairs take less time by labels of their nodes than by searches."""
    fewest = {name: device.tuned[f"query_pairs.fewest_{name}"] for name in ("pairs", "arcs", "arcs_of_all")}
    if pairs < fewest["pairs"]:
        return False
    each = hierarchy.upward_work
    return each >= fewest["arcs"] and 2 * pairs * each >= fewest["arcs_of_all"]


def room_of(customized: CustomizedHierarchy) -> int:
    """Return the largest number of pairs of a submission; 0 if the device's limits or its memory allow none."""
    if customized.device.limits.storage_buffers < PAIR_BINDINGS:
        return 0
    most = min(MOST_PAIRS, most_rows(customized, int(_MOST_MEMORY * customized.device.free_bytes())))
    return most if most >= customized.device.tuned["query_pairs.fewest_pairs"] else 0


class _Slot(Resource):
    """Buffers of a submission, and its recording."""

    def __init__(self, kernel: Kernel, customized: CustomizedHierarchy, room: int, owner: Resource) -> None:
        super().__init__(owner)
        self.room = room
        device = kernel.device
        try:
            self._upward = QueryRows(customized, room, self, is_forward=True)
            self._downward = QueryRows(customized, room, self, is_forward=False)
            self._places = QueryPlaces(customized, 2 * room, self)
            self._pairs = Buffer(device, 8 * room, mapped=True, name="the pairs", owner=self)
            self._answers = Buffer(device, 4 * room, mapped=True, name="the distances of pairs", owner=self)
            self._timestamps = Timestamps(device, 2, owner=self)
            labels = [self._upward.labels] * MOST_PARTS + [self._downward.labels] * MOST_PARTS
            places = self._places.records, self._places.shared_nodes
            self._bound = kernel.on(*places, self._pairs, self._answers, *labels, owner=self)
            # Younger than the buffers and the bindings, so that it is closed, and waited for, before them.
            self._recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise

    def submit(self, sources: Uint32s, targets: Uint32s, key: Uint32s) -> Recording:
        """Submit the work for at most `room` pairs of ranks, and return the recording."""
        count, pairs = len(sources), self._pairs.view()
        (upward, self._source_rows), (downward, self._target_rows) = _distinct(sources, key), _distinct(targets, key)
        pairs[:count], pairs[self.room : self.room + count] = self._source_rows, self._target_rows + len(upward.keys)
        self._upward.put(upward.ranks, 0)
        self._downward.put(downward.ranks, 0)
        self._places.put(upward, downward)
        with self._recording.record() as recording:
            self._record(recording, count)
        self._recording.submit()
        return self._recording

    def _record(self, recording: Recording, count: int) -> None:
        recording.barrier("all", "all")
        recording.timestamp(self._timestamps, 0)
        self._upward.record_fill(recording)
        self._downward.record_fill(recording)
        self._places.record_copy(recording)
        recording.barrier("transfer", "compute")
        self._upward.record(recording)
        self._downward.record(recording)
        self._places.record(recording)
        recording.barrier()
        recording.bind(self._bound)
        recording.push(self._bound, count, self.room, self._places.row_length)
        recording.dispatch_for(self._bound, count)
        recording.timestamp(self._timestamps, 1)
        recording.barrier("all", "all")

    def read(self, found: Uint32s, may: npt.NDArray[np.bool_]) -> float:
        """Write the distances, and whether each may be unreachable only by overflow; return milliseconds.

        The device has executed the recording.
        """
        self._places.check()
        found[:] = self._answers.view()[: len(found)]
        may[:] = False
        if may_overflow(self._upward.extremes().max(axis=0), self._downward.extremes().max(axis=0)):
            of_sources = self._upward.extremes_of_rows()[self._source_rows]
            of_targets = self._downward.extremes_of_rows()[self._target_rows]
            may[:] = may_overflow(of_sources, of_targets) & (found == UNREACHABLE)
        return self._timestamps.between()


class QueryPairs(Resource):
    """Finder of distances of many pairs of nodes, some at a time: the host sorts the next ones while the device works.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    most : int
        Largest number of pairs of a submission, see `room_of`.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    device_ms : float
        Milliseconds on the device of the last call.
    """

    def __init__(self, customized: CustomizedHierarchy, most: int, owner: Resource) -> None:
        super().__init__(owner)
        self._customized, self._most, self._slots = customized, most, list[_Slot]()
        self.device_ms = 0.0
        try:
            # Older than the recordings, so that it is closed after them.
            self._kernel = label_pairs_kernel(customized.device, 1, self)
        except BaseException:
            self.close()
            raise

    def _make_slots(self, pairs: int) -> None:
        """Make slots with room for some pairs, one if they are a single submission."""
        size = min(pairs, self._most)
        if self._slots and self._slots[0].room < size:
            for slot in self._slots:
                slot.close()
            self._slots = []
        room = self._slots[0].room if self._slots else min(self._most, max(_LEAST_ROOM, 1 << (size - 1).bit_length()))
        while len(self._slots) < (1 if pairs <= self._most else 2):
            self._slots.append(_Slot(self._kernel, self._customized, room, self))

    def find(self, sources: Uint32s, targets: Uint32s) -> tuple[Uint32s, npt.NDArray[np.bool_]]:
        """Return the distances of pairs of ranks, and whether each may be unreachable only by overflow, shape (k,)."""
        found, may = np.empty(len(sources), np.uint32), np.empty(len(sources), np.bool_)
        self.device_ms, key = 0.0, preorder_of(self._customized.hierarchy)
        self._make_slots(len(sources))

        def submitted() -> Iterator[tuple[Recording, tuple[_Slot, slice]]]:
            for number, first in enumerate(range(0, len(sources), self._most)):
                slot, part = self._slots[number % 2], slice(first, first + self._most)
                yield slot.submit(sources[part], targets[part], key), (slot, part)

        with closing(double_buffered(submitted())) as executed:
            for slot, part in executed:
                self.device_ms += slot.read(found[part], may[part])
        return found, may


def _distinct(ranks: Uint32s, key: Uint32s) -> tuple[Placed, npt.NDArray[np.int64]]:
    """Return rows of the different ones of some ranks, sorted in preorder, and the row of each."""
    keys = key[ranks]
    order = np.argsort(keys)
    keys = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    row = np.empty(len(keys), np.int64)
    row[order] = np.cumsum(is_new) - 1
    different = ranks[order[is_new]]
    return Placed(keys[is_new], different, np.zeros(len(different), np.uint32)), row
