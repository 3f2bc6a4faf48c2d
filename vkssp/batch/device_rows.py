"""Rows of distances that stay on the device, in memory that other libraries read in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import FinishedRows
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.device_array import DeviceArray
from vkssp.gpu.exporting import SharedBlocks
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource

# Copies that the device may have left to do while the host goes on.
_MOST_RECORDINGS = 16


class DeviceRows(Resource):
    """Array on a device that rows are written to there, in order: by kernels, or copied as soon as they are found.

    The copies go to the queue of the searches, and so before later searches write to the same place again.

    Parameters
    ----------
    device : Device
        The device.
    shape : tuple of int
        Shape of the array; rows are along the first dimension of two, or there is one row.
    dtype : dtype_like
        Type of the distances.
    blocks : SharedBlocks
        Memory of the device that other libraries read.
    name : str
        What the array holds, for error messages.

    Attributes
    ----------
    buffer : Buffer
        The array as Vulkan sees it.
    next_row : int
        Place of the next row.

    Raises
    ------
    DeviceError
        If the array does not fit into one allocation, or into the free memory of the device.
    """

    def __init__(
        self, device: Device, shape: tuple[int, ...], dtype: npt.DTypeLike, blocks: SharedBlocks, name: str
    ) -> None:
        self.device, self._shape, self._dtype = device, shape, np.dtype(dtype)
        self._row_bytes = self._dtype.itemsize * shape[-1]
        self.next_row, self._copied = 0, 0
        self._num_rows = shape[0] if len(shape) > 1 else 1
        self._recordings: list[Recording] = []
        self._is_given = False
        self._blocks = blocks
        memory = blocks.memory(self._dtype.itemsize * math.prod(shape), name)
        self._memory, self.buffer = memory, memory.buffer
        super().__init__(device)

    @property
    def can_be_bound(self) -> bool:
        """Whether kernels can write to the array; a binding may span less than an allocation."""
        return self.buffer.nbytes <= self.device.limits.buffer

    def ends_after(self, count: int) -> bool:
        """Return whether the next rows, so many, are the last ones."""
        return self.next_row + count == self._num_rows

    def record_written(self, recording: Recording, count: int) -> None:
        """Record that kernels have written the next rows; see `give_away` of recordings."""
        self.next_row += count
        self._record_end(recording)

    def note_written(self, count: int) -> None:
        """Note that a recording from before writes the next rows, as `record_written` does."""
        self.next_row += count
        self._is_given = self.next_row == self._num_rows

    def _record_end(self, recording: Recording) -> None:
        if self.next_row == self._num_rows:
            recording.give_away(self.buffer)
            self._is_given = True

    def put(self, rows: FinishedRows, *, waits: bool) -> npt.NDArray[Any]:
        """Copy rows that have been found to the next places.

        Parameters
        ----------
        rows : FinishedRows
            The rows.
        waits : bool
            Whether to wait for the copy, since the memory of the rows is not used by later work of the queue alone.

        Returns
        -------
        numpy.ndarray
            An array of as many rows, without columns, in the place of their distances.
        """
        count = len(rows.overflow)
        if rows.place is None:
            self.put_values(rows.read())
        else:
            source, spans = rows.place
            self._copy(source, [(self._row_bytes * begin, self._row_bytes * end) for begin, end in spans], count)
            if waits:
                self.wait()
        return np.zeros((count, 0), self._dtype)

    def put_buffer(self, source: Buffer, after: Recording) -> None:
        """Copy the next row from the begin of a buffer that commands write to, and wait for these and the copy."""
        self._copy(source, [(0, self._row_bytes)], 1, after)
        self.wait()
        after.wait()  # else it would wait for the copy's recording later, which may be another thread's by then

    def put_values(self, values: npt.NDArray[Any]) -> None:
        """Write the next row, or rows, from memory of the host."""
        self.write(self.next_row, values)
        self.next_row += values.size // max(1, self._shape[-1])

    def write(self, row: int, values: npt.NDArray[Any]) -> None:
        """Write rows from memory of the host, the first of them to a place that is given."""
        if self._is_given:
            self._change_owner(takes=True)
        if values.size:
            self.buffer.write(values.astype(self._dtype, copy=False), self._row_bytes * row)

    def _copy(self, source: Buffer, spans: list[tuple[int, int]], count: int, after: Recording | None = None) -> None:
        if len(self._recordings) < _MOST_RECORDINGS:
            self._recordings.append(self._blocks.recording())
        recording = self._recordings[self._copied % len(self._recordings)]
        self._copied += 1
        at = self._row_bytes * self.next_row
        with recording.record():
            recording.barrier("all", "transfer")
            for begin, end in spans:
                if begin < end:
                    recording.copy(source, self.buffer, end - begin, begin, at)
                    at += end - begin
            self.next_row += count
            self._record_end(recording)
            recording.barrier("transfer", "all")
        recording.submit(after)

    def _change_owner(self, *, takes: bool = False) -> None:
        recording = self._blocks.recording()
        self._recordings.append(recording)
        with recording.record():
            recording.barrier("all", "all")
            recording.give_away(self.buffer, takes_back=takes)
        recording.submit()
        recording.wait()
        self._is_given = not takes

    def wait(self) -> None:
        """Wait until all rows have been copied, so that what they were copied from may be freed."""
        for recording in self._recordings:
            recording.wait()

    def _release(self) -> None:
        for recording in self._recordings:
            self._blocks.take_back_recording(recording)

    def finish(self, scale: float | None = None) -> DeviceArray:
        """Return the array, whose rows are all there, and close this object.

        Parameters
        ----------
        scale : float, optional
            Weight of a unit of distances, see `DeviceArray`.

        Raises
        ------
        DeviceError
            If the device is lost.
        """
        self.wait()
        if not self._is_given:
            self._change_owner()
        memory = self._memory
        self.close()
        return DeviceArray.over(memory, self._shape, self._dtype, scale)
