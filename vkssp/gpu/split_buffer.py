"""Array in several buffers, since a device can bind or allocate only a part of it at once.

Kernels bind the table of the parts' addresses instead of the array, and reach each part by its address. All parts but
the last have the same size; where that is a power of two of items, the number of the part is the upper bits of an
item's index. shaders/include/split.glsl has the other side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.device import Device
    from vkssp.gpu.recording import Recording

#: Feature of a device that arrays in several buffers need, as `DeviceInfo.features` names it.
NEEDS = "buffer_addresses"


class SplitBuffer(Resource):
    """Array in several buffers that kernels reach by their addresses.

    Parameters
    ----------
    device : Device
        Device that the array is on.
    nbytes : int
        Size of the array in bytes.
    part_bytes : int
        Bytes of each part but the last.
    name : str
        Name of the content, for error messages.
    owner : Resource, optional
        Resource that closes the array; by default the device.

    Attributes
    ----------
    parts : list of Buffer
        The parts.
    addresses : Buffer
        Table of the parts' addresses, uint64 each, which kernels bind in place of the array.

    Raises
    ------
    DeviceError
        If the device cannot give addresses of buffers to kernels, or has too little memory; nothing is allocated then.
    """

    def __init__(
        self, device: Device, nbytes: int, *, part_bytes: int, name: str = "buffer", owner: Resource | None = None
    ) -> None:
        self.device, self.name, self.nbytes, self.part_bytes = device, name, nbytes, part_bytes
        if NEEDS not in device.info.features:
            raise DeviceError(
                f"{nbytes} bytes are needed for {name}, and {device.info.name} binds {device.limits.buffer} at most "
                "and lacks bufferDeviceAddress, with which kernels could reach more; use another device, such as "
                "'cpu', or a smaller graph"
            )
        device.require(nbytes, f"room for {name}")
        super().__init__(owner or device)
        try:
            self.parts = [
                Buffer(device, min(part_bytes, nbytes - start), name=name, owner=self, addressed=True)
                for start in range(0, max(1, nbytes), part_bytes)
            ]
            table = np.array([part.address for part in self.parts], np.uint64)
            self.addresses = Buffer(device, table.nbytes, name=f"the addresses of {name}", owner=self)
            self.addresses.write(table)
        except BaseException:
            self.close()
            raise

    def pieces(self, offset: int, nbytes: int) -> Iterator[tuple[Buffer, int, int, int]]:
        """Yield for each part of a span of bytes the buffer, the first byte there, that of the span, and the size."""
        start = 0
        while start < nbytes:
            number, place = divmod(offset + start, self.part_bytes)
            size = min(self.part_bytes - place, nbytes - start)
            yield self.parts[number], place, start, size
            start += size

    def write(self, values: npt.NDArray[Any], offset: int = 0) -> None:
        """Copy an array to the parts, from byte `offset` on, and wait until the copy is complete."""
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        for part, place, start, size in self.pieces(offset, len(data)):
            part.write(data[start : start + size], place)

    def read(self, dtype: npt.DTypeLike = np.uint32, count: int = -1, offset: int = 0) -> npt.NDArray[Any]:
        """Return `count` values from byte `offset` on, by default all; wait for the work of the queue first."""
        item = np.dtype(dtype).itemsize
        count = (self.nbytes - offset) // item if count < 0 else count
        data = np.empty(count * item, np.uint8)
        for part, place, start, size in self.pieces(offset, len(data)):
            data[start : start + size] = part.read(np.uint8, size, place)
        return data.view(dtype)


def copy_to(recording: Recording, source: Buffer | SplitBuffer, target: Buffer | SplitBuffer, nbytes: int) -> None:
    """Record a copy of the first bytes of an array to another one, each in one buffer or several."""
    for part, place, start, size in _pieces(target, 0, nbytes):
        for of_source, offset, done, count in _pieces(source, start, size):
            recording.copy(of_source, part, count, offset, place + done)


def _pieces(array: Buffer | SplitBuffer, offset: int, nbytes: int) -> Iterator[tuple[Buffer, int, int, int]]:
    """Yield what `SplitBuffer.pieces` does, for an array in one buffer or several."""
    if isinstance(array, SplitBuffer):
        yield from array.pieces(offset, nbytes)
    elif nbytes:
        yield array, offset, 0, nbytes
