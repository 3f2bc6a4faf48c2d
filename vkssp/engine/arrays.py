"""Arrays of graphs on a device: in one buffer or, where the device binds less, in several; the shaders for both."""

from __future__ import annotations

from collections.abc import Iterable

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.split_buffer import NEEDS, SplitBuffer
from vkssp.resource import Resource

#: Array that kernels read, or write to.
Array = Buffer | SplitBuffer
#: Most arcs that kernels can number, those to pieces of nodes included: a stride over all invocations of a dispatch
#: must still fit into 32 bits after the last arc.
MOST_ARCS = 2**32 - 2**26
#: Bytes of the items that `part_bits` is meant for: a node and a weight. Parts of larger items hold fewer of them, by a
#: power of two.
PAIR_BYTES = 8

# Specialization constant of shaders/include/split.glsl, and the ending of the names of the shaders.
_PART_BITS_CONSTANT, _ENDING = 9, "_split"


def part_bits(device: Device) -> int:
    """Return the binary logarithm of the number of pairs, or of single words, in a part of a split array."""
    return max(3, (device.limits.buffer // PAIR_BYTES).bit_length() - 1)


def can_split(device: Device) -> bool:
    """Return whether kernels of a device can read arrays in several buffers."""
    return NEEDS in device.info.features


def make_array(
    device: Device, nbytes: int, name: str, owner: Resource, *, split: bool, item_bytes: int = PAIR_BYTES
) -> Array:
    """Return an array without content.

    Parameters
    ----------
    device : Device
        Device that the array is on.
    nbytes : int
        Bytes of the array.
    name : str
        Name of the content, for error messages.
    owner : Resource
        Resource that closes the array.
    split : bool
        Whether the array is in several buffers, because it or another array of its kernels does not fit into one.
    item_bytes : int
        Bytes of an item.

    Raises
    ------
    DeviceError
        If the device has no room for the array, or cannot read arrays in several buffers.
    """
    if not split:
        return Buffer(device, nbytes, name=name, owner=owner)
    part_bytes = item_bytes << part_bits(device) - ((item_bytes - 1) // PAIR_BYTES).bit_length()
    return SplitBuffer(device, nbytes, part_bytes=part_bytes, name=name, owner=owner)


def of_arrays(device: Device, name: str, arrays: Iterable[Array]) -> tuple[str, dict[int, int]]:
    """Return the name of a shader for some arrays, and further specialization constants that it takes.

    scripts/build_shaders.py lists the shaders that are compiled for split arrays. There, all arrays that can be split
    are.
    """
    if not any(isinstance(array, SplitBuffer) for array in arrays):
        return name, {}
    return f"{name}{_ENDING}", {_PART_BITS_CONSTANT: part_bits(device)}


def require_numbers(device: Device, num_arcs: int) -> None:
    """Raise `DeviceError` if a graph has more arcs than kernels can number."""
    if num_arcs > MOST_ARCS:
        raise DeviceError(
            f"this graph has {num_arcs} arcs, and searches on {device.info.name} can number {MOST_ARCS}; use the CPU, "
            "device 'cpu'"
        )
