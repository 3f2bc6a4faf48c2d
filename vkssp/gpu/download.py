"""Large downloads in pieces: the device copies a piece while it computes and while the host reads earlier pieces."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.host_memory import LEAST_BYTES, Place, host_blocks
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.device import Device

#: Size of a piece in bytes, and most and fewest pieces: some are being filled while the host reads others.
PIECE_BYTES, MOST_PIECES, LEAST_PIECES = 4 << 20, 16, 4


def read_values(source: Buffer, dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
    """Return the first values of a buffer, after the work of the queue so far; many of them by several threads.

    Parameters
    ----------
    source : Buffer
        Any buffer.
    dtype : dtype_like
        Type of the values.
    count : int
        Number of values.

    Returns
    -------
    numpy.ndarray
        Shape (count,).
    """
    nbytes = np.dtype(dtype).itemsize * count
    if nbytes < LEAST_BYTES:
        return source.read(dtype, count)
    device = source.device
    with device.lock:
        download = device.caches.get("download")
    if download is None:
        made = Download(device, MOST_PIECES * PIECE_BYTES, device, copies=False)
        with device.lock:
            download = device.caches.setdefault("download", made)
        if download is not made:
            made.close()
    with download.lock:
        return download.read(source, [(0, nbytes)]).view(dtype)


def _pieces(most_bytes: int) -> tuple[int, int]:
    """Return the bytes of a piece, and the number of pieces, of downloads of so many bytes at most."""
    size, most = max(4, min(PIECE_BYTES, most_bytes)), min(MOST_PIECES, max(LEAST_PIECES, os.cpu_count() or 1))
    return size, max(1, min(most, -(-most_bytes // size)))


def staging_bytes(device: Device, most_bytes: int) -> int:
    """Return the bytes of a device's own memory that a `Download` of so many bytes at most takes.

    Most discrete GPUs have other memory for buffers that the host sees.
    """
    size, count = _pieces(most_bytes)
    return size * count if device.maps_own_memory else 0


class Download(Resource):
    """Download of bytes of buffers to the host.

    Parameters
    ----------
    device : Device
        Device of the buffers.
    most_bytes : int
        Largest number of bytes of one `read`; if it is small, the pieces are fewer or smaller.
    owner : Resource
        Resource that closes this object.
    copies : bool
        Whether the buffers are shared, and copied by the queue that only copies, while the other computes.

    Attributes
    ----------
    lock : threading.Lock
        For several threads that use the object; one at a time may.
    """

    def __init__(self, device: Device, most_bytes: int, owner: Resource, *, copies: bool = True) -> None:
        self.lock = threading.Lock()
        self._device = device
        self._piece_bytes, count = _pieces(most_bytes)
        # A single thread copies more slowly than the bus delivers.
        self._threads = ThreadPoolExecutor(min(count, os.cpu_count() or 1), "vkssp-download")
        super().__init__(owner)
        try:
            self._pieces = [
                Buffer(
                    device,
                    self._piece_bytes,
                    mapped=True,
                    name="the pieces of a download",
                    owner=self,
                    shared=True,
                    bound=False,
                )
                for _ in range(count)
            ]
            self._recordings = [Recording(device, self, copies=copies) for _ in range(count)]
            self._direct = Recording(device, self, copies=copies)
        except BaseException:
            self.close()
            raise

    def read(
        self, source: Buffer, spans: Sequence[tuple[int, int]], into: npt.NDArray[np.uint8] | None = None
    ) -> npt.NDArray[np.uint8]:
        """Return bytes of a buffer, which must not be written to in the meantime.

        Parameters
        ----------
        source : Buffer
            The buffer; the device must have finished writing to it, or the same queue copies it.
        spans : sequence of (int, int)
            First byte and end of each span; the spans are concatenated.
        into : numpy.ndarray, optional
            Where to write the bytes, shape (bytes,), uint8; by default a new array.

        Returns
        -------
        numpy.ndarray
            Shape (bytes,), uint8.
        """
        found = host_blocks.array(sum(end - begin for begin, end in spans)) if into is None else into
        place = host_blocks.place_of(found, self._device)
        if place is None:
            self._read_in_pieces(source, spans, found)
        else:
            self._read_directly(source, spans, found, place)
        return found

    def read_rows(
        self,
        source: Buffer,
        spans: Sequence[tuple[int, int]],
        shape: tuple[int, int],
        into: npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[Any]:
        """Return bytes of a buffer as rows of words, uint32; see `read`.

        Parameters
        ----------
        source, spans
            See `read`.
        shape : tuple of (int, int)
            Number of rows, and of words in each.
        into : numpy.ndarray, optional
            Array of this shape to write to, uint32, used if its items are contiguous.
        """
        place = None
        if into is not None and into.dtype == np.uint32 and into.shape == shape and into.flags.c_contiguous:
            place = into.reshape(-1).view(np.uint8)
        return self.read(source, spans, place).view(np.uint32).reshape(shape)

    def _read_directly(
        self, source: Buffer, spans: Sequence[tuple[int, int]], found: npt.NDArray[np.uint8], place: Place
    ) -> None:
        """Let the device copy bytes of a buffer to an array."""
        recording, at = self._direct, 0
        with recording.record():
            recording.barrier("all", "transfer")
            for begin, end in spans:
                place.record_copy(recording, source, begin, end, at)
                at += end - begin
            recording.barrier("transfer", "host")
        try:
            recording.submit()
            recording.wait()
        except BaseException:
            self._device.settle()  # it may still write, also after Ctrl-C
            if self._device.is_abandoned:
                host_blocks.lose(found)
            raise

    def _read_in_pieces(self, source: Buffer, spans: Sequence[tuple[int, int]], found: npt.NDArray[np.uint8]) -> None:
        """Copy bytes of a buffer to an array by way of the pieces."""
        taken: list[Future[None] | None] = [None] * len(self._pieces)
        place = number = 0
        try:
            for begin, end in spans:
                for start in range(begin, end, self._piece_bytes):
                    size = min(self._piece_bytes, end - start)
                    slot = number % len(self._pieces)
                    before = taken[slot]
                    if before is not None:
                        before.result()
                    self._copy(slot, source, start, size)
                    taken[slot] = self._threads.submit(self.take, slot, found[place : place + size])
                    place, number = place + size, number + 1
            for one in taken:
                if one is not None:
                    one.result()
        except BaseException:
            self._device.settle()  # copies that nobody has waited for may still read the source
            raise
        finally:
            # No thread may write after this method has ended, even if Ctrl-C ended it.
            for one in taken:
                if one is not None:
                    one.exception()

    def _copy(self, slot: int, source: Buffer, start: int, size: int) -> None:
        recording = self._recordings[slot]
        with recording.record():
            recording.barrier("all", "transfer")
            recording.copy(source, self._pieces[slot], size, start)
            recording.barrier("transfer", "host")
        recording.submit()

    def take(self, slot: int, where: npt.NDArray[np.uint8]) -> None:
        """Wait for the copy of a piece to the host, and write the piece to an array."""
        self._recordings[slot].wait()
        np.copyto(where, self._pieces[slot].view(np.uint8)[: len(where)])

    def close(self) -> None:
        """Release the buffers and recordings after the threads that wait for copies or read pieces have ended."""
        if not self.inherited:
            self._threads.shutdown()
        super().close()
