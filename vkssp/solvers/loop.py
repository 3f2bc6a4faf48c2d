"""Iterations on the device: recorded once in batches, submitted until a word of the state says that it is done.

The host does not sit inside the loop. It submits the next batch before the last has ended, and then looks at a copy of
the state in mapped memory; what a batch holds beyond the end returns at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.gpu.resource import Resource

#: Iterations of the first batches; the last two sizes alternate. Small ones first, so that a short search does not
#: wait for hundreds of empty dispatches.
BATCHES = (8, 16, 32, 64, 128, 256, 256)
#: Work (nodes and arcs) of a batch that no system should take for a hanging device, nor a person who presses Ctrl-C.
MOST_WORK = 1 << 30


class Loop(Resource):
    """Runs an iteration until a state on the device says that it is done.

    Parameters
    ----------
    device : Device
        Where it runs.
    state : Buffer
        The state on the device.
    dtype : numpy.dtype
        Its layout; the field ``done`` is 0 while there is more to do.
    iterate : callable
        Records the iteration that it is given a number of times, a barrier after each.
    trace : tuple of (Buffer, numpy.dtype, int), optional
        A ring to which the device writes a row for each iteration, the rows' layout, and their number.
    work : int
        Nodes and arcs that an iteration may look at; where they are many a batch has fewer iterations.
    owner : Resource
        What closes it.
    """

    def __init__(
        self,
        device: Device,
        state: Buffer,
        dtype: np.dtype[Any],
        iterate: Callable[[Recording, int], None],
        trace: tuple[Buffer, np.dtype[Any], int] | None,
        work: int,
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        self._device, self._state, self._iterate, self._trace = device, state, iterate, trace
        # Every batch has its own slot, for the device may write the next one's while the host reads this one's.
        self._slot_bytes = dtype.itemsize
        size = len(BATCHES) * self._slot_bytes
        self._mapped = Buffer(device, size, mapped=True, name="the mapped state", owner=self)
        self._slots = self._mapped.view(dtype)
        if trace is not None:
            ring, row, count = trace
            size = len(BATCHES) * ring.nbytes
            self._mapped_ring = Buffer(device, size, mapped=True, name="the mapped trace", owner=self)
            self._rings = self._mapped_ring.view(row).reshape(len(BATCHES), count)
        self._timestamps = Timestamps(device, len(BATCHES) + 1, owner=self)
        self._start = Recording(device, owner=self)
        self._batches = [
            self._record(slot, min(times, max(1, MOST_WORK // max(1, work)))) for slot, times in enumerate(BATCHES)
        ]

    def _record(self, slot: int, times: int) -> Recording:
        batch = Recording(self._device, owner=self)
        with batch.record():
            self._iterate(batch, times)
            batch.timestamp(self._timestamps, slot + 1)
            batch.barrier("compute", "transfer")
            batch.copy(self._state, self._mapped, self._slot_bytes, 0, slot * self._slot_bytes)
            if self._trace is not None:
                ring = self._trace[0]
                batch.copy(ring, self._mapped_ring, ring.nbytes, 0, slot * ring.nbytes)
            # The next batch goes on where this one ends, and the host reads the copy.
            batch.barrier("all", "all")
        return batch

    def _batch(self, number: int) -> tuple[int, Recording]:
        slot = number if number < len(BATCHES) else len(BATCHES) - 2 + (number - len(BATCHES)) % 2
        return slot, self._batches[slot]

    def run(self, begin: Callable[[Recording], None]) -> tuple[Any, float, list[npt.NDArray[Any]]]:
        """Carry out what `begin` records, and then the iteration until it is done.

        Returns
        -------
        state : numpy.void
            A copy of the state at the end.
        milliseconds : float
            Time on the device from the first command to the end of the batch that saw the end.
        trace : list of numpy.ndarray
            Rows of all iterations, in pieces; empty where none are written.
        """
        with self._start.record():
            self._start.barrier("all", "all")
            self._start.timestamp(self._timestamps, 0)
            begin(self._start)
        self._start.submit()
        number, seen = 0, 0
        trace: list[npt.NDArray[Any]] = []
        slot, running = self._batch(number)
        running.submit()
        while True:
            number += 1
            following_slot, following = self._batch(number)
            following.submit()
            running.wait()
            if self._trace is not None:
                # The ring holds more rows than the largest batch has iterations.
                written = int(self._slots[slot]["iterations"])
                trace.append(self._rings[slot][np.arange(seen, written) % self._rings.shape[1]])
                seen = written
            if self._slots[slot]["done"]:
                state = self._slots[slot].copy()
                following.wait()
                break
            slot, running = following_slot, following
        self._start.wait()
        began, ended = self._timestamps.read(0), self._timestamps.read(slot + 1)
        return state, ended - began, trace
