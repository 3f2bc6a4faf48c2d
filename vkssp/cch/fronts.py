"""Plans of the customization of supernodes in shared memory; see shaders/include/supernode_fronts.glsl.

A node of a large supernode waits for those before it. In shared memory its turn takes a fraction of what one takes in
the device's memory, so that only supernodes that are too large are customized there.
"""

from __future__ import annotations

from typing import NamedTuple

from vkssp.gpu.device import Device
from vkssp.graph.hierarchy import Indices

#: Specialization constant of the shaders: words of shared memory of a workgroup.
WORDS_CONSTANT = 1
#: Most words of shared memory that are used, so that several workgroups fit into a processor of a GPU.
MOST_WORDS = 11_264
# Invocations of a workgroup that goes from node to node, on a GPU and on a software device.
_SIZE, _SOFTWARE_SIZE = 512, 64
#: Rounds that a loop of an invocation may take on a software device; some devices end loops after 65 535 rounds.
MOST_ROUNDS = 50_000


class Front(NamedTuple):
    """Division of a workgroup: invocations and words of each supernode, and the largest number of parts of columns."""

    lanes: int
    words: int
    parts: int


def chain_size(device: Device) -> int:
    """Return the number of invocations of a workgroup that goes from node to node, a power of two."""
    size = _SOFTWARE_SIZE if device.info.kind == "cpu" else _SIZE
    return 1 << min(size, device.limits.workgroup_size).bit_length() - 1


def front_words(device: Device) -> int:
    """Return the number of words of shared memory of a workgroup."""
    return min(MOST_WORDS, device.limits.shared_memory // 4)


def front_of(device: Device, size: Indices, num_ancestors: Indices, lanes: int) -> Front | None:
    """Return how workgroups take supernodes of some sizes, each by so many invocations or more.

    The number of invocations is a power of two. If a supernode is too large for shared memory, or for the loops of a
    software device, the result is None.
    """
    workgroup, words = chain_size(device), front_words(device)
    inside = size * (size - 1)
    lanes, needed = min(lanes, workgroup), int((inside + 2 * size * num_ancestors).max())
    while lanes < workgroup and words * lanes // workgroup < needed:
        lanes *= 2
    words = words * lanes // workgroup
    columns = (words - inside) // (2 * size)  # that fit beside the arcs between nodes
    if bool((columns < (num_ancestors > 0)).any()):
        return None
    parts = -(-num_ancestors // columns.clip(min=1))
    rounds = size * parts + inside * (size + num_ancestors) // lanes
    if device.info.kind == "cpu" and int(rounds.max()) > MOST_ROUNDS:
        return None
    return Front(lanes, words, int(parts.max()))
