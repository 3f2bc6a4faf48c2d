"""Entries of workgroups for the nodes on paths to the root: in shared memory, or beyond it in a buffer.

A workgroup that searches upward keeps some words for each node on the path, by depth. Where the longest path is too
long for shared memory, those of its lowest nodes lie in the device's memory: few nodes lie so deep, and have few arcs.
See shaders/include/path_entries.glsl.
"""

from __future__ import annotations

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: Specialization constants of the shaders: most nodes on a path, and those of them with entries in shared memory.
HEIGHT_CONSTANT, _SHARED_CONSTANT = 1, 7
#: Bytes of the entries of all workgroups in the device's memory; more workgroups take turns.
MOST_BYTES = 32 << 20


def height_of(hierarchy: Hierarchy) -> int:
    """Return the number of nodes on the longest path to the root of the elimination tree, at least 1."""
    return max(1, hierarchy.tree_height)


class PathEntries:
    """Entries of the workgroups of a kernel.

    Parameters
    ----------
    device : Device
        The device.
    hierarchy : Hierarchy
        The hierarchy, whose height is that of the longest path.
    words : int
        Words of an entry.
    fixed_bytes : int
        Bytes of shared memory that the kernel takes besides.

    Attributes
    ----------
    constants : dict of int to int
        Specialization constants that the kernel takes.
    shared_bytes : int
        Bytes of shared memory that it takes.
    """

    def __init__(self, device: Device, hierarchy: Hierarchy, words: int, fixed_bytes: int = 0) -> None:
        self._device, height = device, height_of(hierarchy)
        shared = max(1, min(height, (device.limits.shared_memory - fixed_bytes) // (4 * words)))
        self.constants = {HEIGHT_CONSTANT: height, _SHARED_CONSTANT: shared}
        self.shared_bytes = 4 * words * shared + fixed_bytes
        self._bytes_each = 4 * words * (height - shared)

    def most_groups(self, wanted: int) -> int:
        """Return the largest number of workgroups at once, which is not more than is wanted."""
        most = min(MOST_BYTES, self._device.limits.buffer)
        return min(wanted, max(1, most // max(1, self._bytes_each)))

    def buffer(self, groups: int, owner: Resource) -> Buffer:
        """Return the buffer of a number of workgroups, which has one word if all entries are in shared memory."""
        return Buffer(self._device, groups * self._bytes_each, name="the lowest nodes of long paths", owner=owner)
