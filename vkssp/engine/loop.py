"""Iterations on the device: recorded once in batches, submitted until a word of the state says that it is done.

The host does not sit inside the loop. It submits the next batch before the last has ended, and then looks at a copy of
the state in mapped memory; what a batch holds beyond the end returns at once. Nobody waits for a batch that was
submitted in vain: the queue carries out what comes next after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import timed
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.resource import Resource

#: Iterations of batches. The first ones are small, so that a short search does not wait for many empty dispatches.
SIZES = (8, 16, 32, 64, 128, 256)
#: Milliseconds that a batch should take: many times those that the host needs to submit the next one.
BATCH_MS = 0.5
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
    finish : callable, optional
        Records what follows the last iteration of every batch, in vain as long as the state does not say that it is
        done.

    Attributes
    ----------
    sizes : list of int
        Iterations of a batch of each size.
    batches : list of Recording
        The batches, two of each size.
    recorded : set of int
        Which of the batches have been recorded.
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
        finish: Callable[[Recording], None] | None = None,
    ) -> None:
        super().__init__(owner)
        self._device, self._state, self._iterate, self._trace = device, state, iterate, trace
        self._finish = finish
        self.sizes = [min(size, max(1, MOST_WORK // max(1, work))) for size in SIZES]
        # Of each size there are two, for one runs while the next is submitted. Each has its own slot, for the device
        # may write the next one's while the host reads this one's.
        self._slot_bytes, count = dtype.itemsize, 2 * len(SIZES)
        self._mapped = Buffer(device, count * self._slot_bytes, mapped=True, name="the mapped state", owner=self)
        self._slots = self._mapped.view(dtype)
        if trace is not None:
            ring, row, rows = trace
            self._mapped_ring = Buffer(device, count * ring.nbytes, mapped=True, name="the mapped trace", owner=self)
            self._rings = self._mapped_ring.view(row).reshape(count, rows)
        # Of the start, of the end of each batch, and, for a trace, of the beginning and the end of its iterations.
        ends = np.repeat(self.sizes, 2) + 1 if trace is not None else np.zeros(count, np.int64)
        self._stamps = (count + 1 + np.cumsum(ends) - ends).tolist()
        self._timestamps = Timestamps(device, count + 1 + int(ends.sum()), owner=self)
        self._start = Recording(device, owner=self)
        # After all that they use, because what is made last is closed first, and closing waits for them. They are
        # recorded when they are first needed.
        self.batches = [Recording(device, owner=self) for _ in range(count)]
        self.recorded: set[int] = set()
        self._key: object = None

    def _submit(self, slot: int, first: Recording | None = None) -> Recording:
        batch = self.batches[slot]
        if slot not in self.recorded:
            self._record(batch, slot)
            self.recorded.add(slot)
        batch.submit(first)
        return batch

    def _record(self, batch: Recording, slot: int) -> None:
        with batch.record():
            self._record_iterations(batch, slot)
            if self._finish is not None:
                self._finish(batch)
            batch.timestamp(self._timestamps, slot + 1)
            batch.barrier("compute", "transfer")
            batch.copy(self._state, self._mapped, self._slot_bytes, 0, slot * self._slot_bytes)
            if self._trace is not None:
                ring = self._trace[0]
                batch.copy(ring, self._mapped_ring, ring.nbytes, 0, slot * ring.nbytes)
            # The next batch goes on where this one ends, and the host reads the copy.
            batch.barrier("all", "all")

    def _record_iterations(self, batch: Recording, slot: int) -> None:
        times = self.sizes[slot // 2]
        if self._trace is None:
            self._iterate(batch, times)
            return
        batch.timestamp(self._timestamps, self._stamps[slot])
        for number in range(times):
            self._iterate(batch, 1)
            batch.timestamp(self._timestamps, self._stamps[slot] + 1 + number)

    def _rows(self, slot: int, seen: int) -> npt.NDArray[Any]:
        """Return the rows of the trace that a batch has added to those that were seen before."""
        count = int(self._slots[slot]["iterations"]) - seen
        rows = self._rings[slot][np.arange(seen, seen + count) % self._rings.shape[1]]
        if not self._timestamps.period:
            return timed(rows, np.nan)
        return timed(rows, 1e3 * np.diff(self._timestamps.read_all(self._stamps[slot], count + 1)))

    def run(self, begin: Callable[[Recording], None], key: object) -> tuple[Any, float, list[npt.NDArray[Any]]]:
        """Carry out what `begin` records, and then the iteration until it is done.

        Parameters
        ----------
        begin : callable
            Records how a search begins.
        key : object
            What that depends on. It is recorded again where this is another than in the last run.

        Returns
        -------
        state : numpy.void
            A copy of the state at the end.
        milliseconds : float
            Time on the device from the first command to the end of the batch that saw the end.
        trace : list of numpy.ndarray
            Rows of all iterations, of dtype `TRACE`, in pieces; empty where none are written.
        """
        if self._key != key:
            self._key = None
            with self._start.record():
                self._start.barrier("all", "all")
                self._start.timestamp(self._timestamps, 0)
                begin(self._start)
            self._key = key
        seen, began, last = 0, None, 0.0
        trace: list[npt.NDArray[Any]] = []
        slot, following = 0, 2
        running = self._submit(slot, self._start)
        while True:
            next_running = self._submit(following)
            running.wait()
            if began is None:
                began = last = self._timestamps.read(0)
            now = self._timestamps.read(slot + 1)
            if self._trace is not None:
                # The ring holds more rows than the largest batch has iterations.
                trace.append(self._rows(slot, seen))
                seen += len(trace[-1])
            if self._slots[slot]["done"]:
                ended = np.frombuffer(self._slots[slot : slot + 1].tobytes(), self._slots.dtype)  # a copy
                return ended[0], now - began, trace
            each = (now - last) / self.sizes[slot // 2]
            last, running = now, next_running
            slot, following = following, self._after(following, each)

    def _after(self, slot: int, each: float) -> int:
        """Return the slot of the batch to submit while that of a slot runs, where an iteration takes so many ms."""
        size = slot // 2
        if each * self.sizes[size] > BATCH_MS:
            size = max(size - 1, 0)
        elif size + 1 < len(SIZES) and each * self.sizes[size + 1] <= BATCH_MS:
            size += 1
        return 2 * size + (1 - slot % 2 if size == slot // 2 else 0)  # of one size, they take turns
