"""Virtual warps: lanes that walk the arcs of a node together (S. Hong, S. Kim, T. Oguntebi, K. Olukotun, 2011).

The width of a virtual warp and the number of nodes that it takes at once are parameters, since the best values depend
on the degrees of the nodes. By default a virtual warp is as wide as a subgroup of the device.
"""

from __future__ import annotations

from collections.abc import Mapping

from vkssp.algorithm import Parameter
from vkssp.errors import QueryError
from vkssp.gpu.device import Device

LANES = Parameter("lanes", 1, 1024, None, "width of a virtual warp; the device's subgroup size", power_of_two=True)
CHUNK = Parameter("chunk", 1, 4096, 2, "nodes that a virtual warp takes at once")

#: Specialization constants of shaders/include/virtual_warp.glsl.
_LANES_CONSTANT, _CHUNK_CONSTANT = 2, 3


def virtual_warps(
    name: str, device: Device, size: int, parameters: Mapping[str, int | None]
) -> tuple[dict[int, int], int, int]:
    """Return the constants, shared memory and block size of a kernel with virtual warps.

    Returns
    -------
    constants : dict of int to int
        Specialization constants.
    shared_bytes : int
        Bytes of shared memory.
    block : int
        Nodes that a workgroup takes at once.

    Raises
    ------
    QueryError
        If the workgroup is not a number of whole virtual warps.
    """
    lanes = parameters["lanes"]
    if lanes is None:
        # The largest part of the workgroup that is no wider than a subgroup.
        lanes = min(device.limits.subgroup_size, size & -size)
    if size % lanes:
        raise QueryError(f"lanes is {lanes}; {name} with workgroups of {size} takes a power of two that divides {size}")
    chunk = parameters["chunk"] or 2
    block = size // lanes * chunk
    return {_LANES_CONSTANT: lanes, _CHUNK_CONSTANT: chunk}, 4 * (2 * block + 1), block
