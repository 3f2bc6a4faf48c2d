"""Distances of many pairs of nodes by labels, some pairs at a time: the host copies while the device works."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vkssp.cch.labels import MOST_PARTS, PARTS_CONSTANT, LabelRows
from vkssp.cores import num_cores, run_all
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import Uint32s
from vkssp.resource import Resource

#: Specialization constant of the shader: invocations that walk along a pair of rows.
LANES_CONSTANT = 1
#: Largest number of invocations that walk along a pair of rows together; a power of two.
MOST_LANES = 64
#: Largest number of pairs of a piece, and least number that is worth one.
PIECE, LEAST_PIECE = 1 << 19, 1 << 16
# Largest number of pieces that are copied, searched and read at the same time.
_MOST_SLOTS = 8
# Bytes of a pair: both nodes.
_PAIR_BYTES = 8
#: Storage buffers of the kernel.
PAIR_BINDINGS = 4 + 2 * MOST_PARTS
# Bytes of shared memory that an invocation takes.
_SHARED_BYTES = 24


def label_pairs_kernel(device: Device, num_parts: int, owner: Resource) -> Kernel:
    """Return the kernel that finds distances of pairs by rows of labels in so many different buffers."""
    size, limits = device.tuned["label_pairs.workgroup_size"], device.limits
    size = 1 << min(size, limits.workgroup_size, limits.shared_memory // _SHARED_BYTES).bit_length() - 1
    return Kernel(
        device,
        "label_pairs",
        bindings=PAIR_BINDINGS,
        push_constants=3,
        workgroup_size=size,
        constants={LANES_CONSTANT: min(device.tuned["label_pairs.lanes"], size), PARTS_CONSTANT: num_parts},
        shared_bytes=_SHARED_BYTES * size,
        owner=owner,
    )


class _Slot(Resource):
    """Buffers of a submission, which one thread at a time uses, and the recording that finds its distances.

    The device reads pairs and writes distances once each, where the host sees them: without copies of its own.
    """

    def __init__(self, room: int, row_length: int, kernel: Kernel, rows: LabelRows, owner: Resource) -> None:
        super().__init__(owner)
        self.room, self._row_length = room, row_length
        device = kernel.device
        try:
            self._pairs = Buffer(device, _PAIR_BYTES * room, mapped=True, name="the pairs of labels", owner=self)
            self._answers = Buffer(device, 4 * room, mapped=True, name="the distances of pairs", owner=self)
            self._timestamps = Timestamps(device, 2, owner=self)
            buffers = rows.records, rows.shared_nodes, self._pairs, self._answers
            self._bound = kernel.on(*buffers, *rows.upward, *rows.downward, owner=self)
            self._recorded = 0
            # Younger than the buffers and the bindings, so that it is closed, and waited for, before them.
            self._recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise

    def _record(self, count: int) -> None:
        self._recorded = 0
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.bind(self._bound)
            recording.push(self._bound, count, self.room, self._row_length)
            recording.dispatch_for(self._bound, count)
            recording.timestamp(self._timestamps, 1)
            recording.barrier("all", "all")
        self._recorded = count

    def find(self, sources: Uint32s, targets: Uint32s, found: Uint32s) -> float:
        """Write the distances of at most `room` pairs to an array, and return the milliseconds on the device."""
        count, words = len(sources), self._pairs.view()
        words[:count], words[self.room : self.room + count] = sources, targets
        if self._recorded != count:
            self._record(count)
        self._recording.submit()
        self._recording.wait()
        found[:] = self._answers.view()[:count]
        return self._timestamps.between()


class LabelPairs(Resource):
    """Finder of distances of pairs by labels.

    Parameters
    ----------
    rows : LabelRows
        The labels. Their owner may close them before this finder, which then must not be asked.
    num_supernodes : int
        Number of supernodes of their hierarchy.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    rows : LabelRows
        As given.
    device_ms : float
        Milliseconds on the device of the last call.
    """

    def __init__(self, rows: LabelRows, num_supernodes: int, owner: Resource) -> None:
        super().__init__(owner)
        self.rows, self._num_supernodes, self._device, self.device_ms = rows, num_supernodes, rows.device, 0.0
        self._slots: list[_Slot] = []
        try:
            self._kernel = label_pairs_kernel(self._device, rows.num_parts, self)
        except BaseException:
            self.close()
            raise

    def find(self, sources: Uint32s, targets: Uint32s) -> Uint32s:
        """Return the distances of pairs of nodes, by the ids of the graph, shape (k,), uint32."""
        most = min(num_cores(), _MOST_SLOTS)
        bound = 1 << (self._device.limits.buffer // _PAIR_BYTES).bit_length() - 1
        size = min(PIECE, bound, max(LEAST_PIECE, -(-len(sources) // most)))
        parts = [slice(first, first + size) for first in range(0, len(sources), size)]
        count = min(most, len(parts))
        if self._slots and self._slots[0].room < size:
            for slot in self._slots:
                slot.close()
            self._slots = []
        room = self._slots[0].room if self._slots else 1 << (size - 1).bit_length()
        while len(self._slots) < count:
            self._slots.append(_Slot(room, self._num_supernodes, self._kernel, self.rows, self))
        found = np.empty(len(sources), np.uint32)

        def work(slot: _Slot, parts: Sequence[slice]) -> float:
            return sum(slot.find(sources[part], targets[part], found[part]) for part in parts)

        tasks = [partial(work, slot, parts[number::count]) for number, slot in enumerate(self._slots[:count])]
        self.device_ms = sum(run_all(tasks))
        return found
