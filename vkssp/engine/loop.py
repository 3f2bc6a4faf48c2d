"""Loop of iterations on the device: recorded once in batches, submitted until the field ``done`` of the state is set.

A batch is a group of iterations in one submission; each batch has its own slot, the place of its copy of the state.

The host submits the next batch before the current one has ended, and then reads a copy of the state in mapped memory.
Iterations after the end of the search return at once. The host does not wait for a batch that was submitted needlessly:
the queue executes later submissions after it.

Searches for all nodes of a graph take about as many iterations each. So if some have run, the first batch of the next
one has as many iterations as the longest of them, and no other batch is submitted before it has ended. In most cases
one submission is a whole search, and the next search finds the device idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import timed
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.resource import Resource

#: Iterations of a batch. The first numbers are small, so that a short search does not wait for many empty dispatches.
SIZES = (8, 16, 32, 64, 128, 256)
#: Maximum work (nodes and arcs) of a batch: else a watchdog may think that the device hangs; and Ctrl-C must act soon.
MOST_WORK = 1 << 30
#: Searches that predict the iterations of the next one, most milliseconds of theirs for a prediction, and the multiple
#: that predictions are rounded up to, so that few batches of different length are recorded.
REMEMBERED, MOST_PREDICTED_MS, ROUNDED_TO = 8, 10.0, 4
#: Factor by which the longest of these searches exceeds one of the shortest at most: iterations in vain cost time, too.
MOST_SPREAD = 2
# Most batches of different length for predictions that are kept.
_MOST_KEPT = 8
#: Microseconds for which a thread polls for the end of a predicted search, beside the usual ones; then it sleeps.
MOST_POLLED_US = 2000


class Loop(Resource):
    """Loop of iterations on a device, which ends when the state on the device says so.

    Parameters
    ----------
    device : Device
        Device that runs the iterations.
    state : Buffer
        State of the search on the device.
    dtype : numpy.dtype
        Layout of the state; the field ``done`` is 0 until the search ends.
    iterate : callable
        Function of a recording and a number, which records this number of iterations with a barrier after each.
    trace : tuple of (Buffer, numpy.dtype, int), optional
        Ring buffer to which the device writes a record for each iteration, layout of a record, and number of records.
    work : int
        Nodes and arcs that an iteration may read; if they are many, a batch has fewer iterations.
    owner : Resource
        Resource that closes the loop.
    finish : callable, optional
        Function of a recording, which records the work after the last iteration of every batch. Only its result after
        the state says "done" counts.

    Attributes
    ----------
    sizes : list of int
        Number of iterations of a batch of each size.
    batches : list of Recording
        The batches, two of each size.
    recorded : set of int
        Indices of the batches that have been recorded.
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
        # There are two batches of each size, since one runs while the next is submitted. Each has its own slot, since
        # the device may write the slot of the next batch while the host reads the slot of this one.
        # One more slot is for batches of predicted length, of which only one is under way.
        self._slot_bytes, count = dtype.itemsize, 2 * len(SIZES)
        self._predicted_slot = count
        nbytes = (count + 1) * self._slot_bytes
        self._mapped = Buffer(device, nbytes, mapped=True, name="the mapped state", owner=self, bound=False)
        self._slots = self._mapped.view(dtype)
        if trace is not None:
            ring, row, rows = trace
            nbytes = count * ring.nbytes
            self._mapped_ring = Buffer(device, nbytes, mapped=True, name="the mapped trace", owner=self, bound=False)
            self._rings = self._mapped_ring.view(row).reshape(count, rows)
        # Timestamps of the start, of the end of each batch, and, for a trace, of the beginning and end of iterations.
        ends = np.repeat(self.sizes, 2) + 1 if trace is not None else np.zeros(count, np.int64)
        self._stamps = (count + 2 + np.cumsum(ends) - ends).tolist()
        self._timestamps = Timestamps(device, count + 2 + int(ends.sum()), owner=self)
        self._start = Recording(device, owner=self)
        # Batches are made after all objects that they use: objects close in reverse order, and wait for the device.
        # A batch is recorded when it is first submitted.
        self.batches = [Recording(device, owner=self) for _ in range(count)]
        self.recorded: set[int] = set()
        self._key: object = None
        self._of_predicted: dict[int, Recording] = {}
        self._history: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)

    def _submit(self, slot: int, first: Recording | None = None) -> Recording:
        batch = self.batches[slot]
        if slot not in self.recorded:
            self._record(batch, slot)
            self.recorded.add(slot)
        batch.submit(first)
        return batch

    def _predicted(self) -> int:
        """Return the number of iterations that a search for all nodes is expected to have at most; 0 if not known."""
        if self._trace is not None or len(self._history) < REMEMBERED // 2:
            return 0
        counts, times = zip(*self._history, strict=True)
        most = -(-max(counts) // ROUNDED_TO) * ROUNDED_TO
        # A quarter may be shorter by far, such as searches in small components.
        are_alike = max(counts) <= MOST_SPREAD * sorted(counts)[len(counts) // 4]
        return most if are_alike and most <= self.sizes[-1] and max(times) <= MOST_PREDICTED_MS else 0

    def _submit_predicted(self, times: int) -> Recording:
        """Submit the start and a batch of `times` iterations, and return the batch."""
        batch = self._of_predicted.pop(times, None)
        if batch is None:
            if len(self._of_predicted) == _MOST_KEPT:  # the one that was used longest ago is recorded anew
                batch = self._of_predicted.pop(next(iter(self._of_predicted)))
            else:
                batch = Recording(self._device, owner=self)
            self._record(batch, self._predicted_slot, times)
        self._of_predicted[times] = batch  # behind those that were used before it
        batch.submit(self._start)
        return batch

    def _record(self, batch: Recording, slot: int, times: int = 0) -> None:
        with batch.record():
            if times:
                self._iterate(batch, times)
            else:
                self._record_iterations(batch, slot)
            if self._finish is not None:
                self._finish(batch)
            batch.timestamp(self._timestamps, slot + 1)
            batch.barrier("compute", "transfer")
            batch.copy(self._state, self._mapped, self._slot_bytes, 0, slot * self._slot_bytes)
            if self._trace is not None:
                ring = self._trace[0]
                batch.copy(ring, self._mapped_ring, ring.nbytes, 0, slot * ring.nbytes)
            # The next batch reads the state that this one writes, and the host reads the copy.
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
        """Return the records of the trace that a batch has added to the first `seen` ones."""
        count = int(self._slots[slot]["iterations"]) - seen
        rows = self._rings[slot][np.arange(seen, seen + count) % self._rings.shape[1]]
        if not self._timestamps.period:
            return timed(rows, np.nan)
        return timed(rows, 1e3 * np.diff(self._timestamps.read_all(self._stamps[slot], count + 1)))

    def run(
        self, begin: Callable[[Recording], None], key: object, *, to_all: bool = False
    ) -> tuple[Any, float, list[npt.NDArray[Any]]]:
        """Run the commands that `begin` records, then the iterations until the search is done.

        Parameters
        ----------
        begin : callable
            Function of a recording, which records the beginning of a search.
        key : object
            Value that the beginning depends on. If it differs from that of the last run, `begin` is called again.
        to_all : bool
            Whether the search is for all nodes, so that the last ones predict its length.

        Returns
        -------
        state : numpy.void
            Copy of the state at the end.
        milliseconds : float
            Time on the device from the first command to the end of the batch in which the search ended.
        trace : list of numpy.ndarray
            Records of all iterations, of dtype `TRACE`, in pieces; empty without a trace.
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
        times = self._predicted() if to_all else 0
        if times:
            slot, following = self._predicted_slot, 0
            running = self._submit_predicted(times)
        else:
            running = self._submit(slot, self._start)
        while True:
            is_predicted = slot == self._predicted_slot
            if is_predicted:
                expected_us = 1000 * max(milliseconds for _, milliseconds in self._history)
                running.wait(min(expected_us, MOST_POLLED_US))
            next_running = None if is_predicted and self._slots[slot]["done"] else self._submit(following)
            running.wait()
            if began is None:
                began = last = self._timestamps.read(0)
            now = self._timestamps.read(slot + 1)
            if self._trace is not None:
                # The ring holds more records than the largest batch has iterations.
                trace.append(self._rows(slot, seen))
                seen += len(trace[-1])
            if self._slots[slot]["done"]:
                ended = np.frombuffer(self._slots[slot : slot + 1].tobytes(), self._slots.dtype)  # a copy
                if to_all:
                    self._history.append((int(ended[0]["iterations"]), now - began))
                return ended[0], now - began, trace
            assert next_running is not None
            each = (now - last) / (times if is_predicted else self.sizes[slot // 2])
            last, running = now, next_running
            slot, following = following, self._after(following, each)

    def _after(self, slot: int, each: float) -> int:
        """Return the slot of the batch after that in `slot`, if an iteration takes `each` milliseconds."""
        size = slot // 2
        batch_ms = self._device.tuned["loop.batch_us"] / 1000
        if each * self.sizes[size] > batch_ms:
            size = max(size - 1, 0)
        elif size + 1 < len(SIZES) and each * self.sizes[size + 1] <= batch_ms:
            size += 1
        return 2 * size + (1 - slot % 2 if size == slot // 2 else 0)  # the two batches of a size alternate
