"""Plans of the customization of supernodes in shared memory; see shaders/include/supernode_fronts.glsl.

A node of a large supernode waits for those before it. In shared memory its turn takes a fraction of what one takes in
the device's memory, so that large supernodes are divided into pieces that fit; see `vkssp.cch.pieces`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.engine.arrays import Array, of_arrays
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.graph.hierarchy import Indices
from vkssp.resource import Resource

#: Specialization constant of the shaders: words of shared memory of a workgroup.
WORDS_CONSTANT = 1
#: Stages of the shaders: arcs between the nodes of a piece, arcs to its ancestors, and arcs between these.
PAIRS, COLUMNS, OUTSIDE = 1, 2, 4
#: Most words of shared memory that are used, so that several workgroups fit into a processor of a GPU.
MOST_WORDS = 11_264
# Further words of shared memory, see shaders/include/saturated.glsl.
_OTHER_WORDS = 4
#: Most nodes of a piece of a supernode, and fewest columns that fit beside them.
MOST_NODES, _FEWEST_COLUMNS = 64, 8
#: Entries of columns that an invocation takes in a turn, if there are workgroups for the others.
COLUMNS_EACH = 4
# Ancestors of a part of them in perfect customization at most, and those that others are reached over at a time if
# there is room.
_WIDTH, _SOFTWARE_WIDTH, _CHUNK = 8, 16, 32
# Triangles over pairs of ancestors for each invocation, and most workgroups that share these pairs, each of which also
# does what they have to wait for; workgroups of a dispatch up to which more cost nothing.
_TRIANGLES_EACH, _MOST_SHARES, _FREE_GROUPS = 64, 8, 264
#: The same on a software device.
SOFTWARE_SHARES = 1
#: Rounds that a loop of an invocation may take on a software device; some devices end loops after 65,535 rounds.
MOST_ROUNDS = 50_000


class Front(NamedTuple):
    """Division of a workgroup: invocations and words of each supernode, and the largest number of parts of columns.

    Each part has invocations of its own.
    """

    lanes: int
    words: int
    parts: int

    def passes(self) -> list[tuple[int, int]]:
        """Return the parts and the stages of dispatches that wait for each other."""
        return [(1, PAIRS | COLUMNS)] if self.parts == 1 else [(1, PAIRS), (self.parts, COLUMNS)]


class Blocks(NamedTuple):
    """Division of perfect customization, see shaders/cch/customize_perfect.comp.

    Invocations and words for a part of the ancestors of a supernode, ancestors of a part, the largest number of parts,
    and the largest number of chunks of ancestors that others are reached over, or 0 if they have been reached before.
    """

    lanes: int
    words: int
    width: int
    parts: int
    chunks: int


def chain_size(device: Device) -> int:
    """Return the number of invocations of a workgroup that goes from node to node, a power of two."""
    return _size_on(device, "customization.chain_size")


def workgroup_size(device: Device) -> int:
    """Return the number of invocations of the other workgroups of customization, a power of two."""
    return _size_on(device, "customization.workgroup_size")


def _size_on(device: Device, name: str) -> int:
    return 1 << min(device.tuned[name], device.limits.workgroup_size).bit_length() - 1


def front_words(device: Device) -> int:
    """Return the number of words of shared memory of a workgroup."""
    return min(MOST_WORDS, device.limits.shared_memory // 4 - _OTHER_WORDS)


def make_kernel(
    weights: Array, name: str, bindings: int, push_constants: int, owner: Resource, *, is_chain: bool = False
) -> Kernel:
    """Return a kernel of customization, with workgroups that go from node to node in shared memory or not."""
    device = weights.device
    words = front_words(device) if is_chain else 0
    shader, constants = of_arrays(device, name, [weights])
    return Kernel(
        device,
        shader,
        bindings=bindings,
        push_constants=push_constants,
        workgroup_size=chain_size(device) if is_chain else workgroup_size(device),
        constants={**constants, **({WORDS_CONSTANT: words} if is_chain else {})},
        shared_bytes=4 * (words + _OTHER_WORDS) if is_chain else 0,
        owner=owner,
    )


def piece_size(device: Device) -> int:
    """Return the most nodes of a piece of a supernode, a power of two, such that some columns fit beside its nodes."""
    nodes, words = MOST_NODES, front_words(device)
    while nodes > 1 and nodes * (nodes - 1) + 2 * nodes * _FEWEST_COLUMNS > words:
        nodes //= 2
    return nodes


def front_of(device: Device, size: Indices, num_ancestors: Indices, lanes: int) -> Front:
    """Return how workgroups take pieces of supernodes of some sizes, each by so many invocations or more.

    The number of invocations is a power of two.
    """
    workgroup, words = chain_size(device), front_words(device)
    inside = size * (size - 1)
    lanes, needed = min(lanes, workgroup), int((inside + 2 * size * num_ancestors).max())
    while lanes < workgroup and words * lanes // workgroup < needed:
        lanes *= 2
    words = words * lanes // workgroup
    if lanes == workgroup:  # others take the columns beyond those that it takes at once
        words = min(words, int((inside + 2 * size * -(-COLUMNS_EACH * lanes // size)).max()))
    columns = ((words - inside) // (2 * size)).clip(min=1)
    return Front(lanes, words, int((-(-num_ancestors // columns)).max(initial=1)))


def whole_rounds(size: Indices, num_ancestors: Indices) -> Indices:
    """Return the rounds of all of basic customization of pieces, by one invocation each."""
    longest = num_ancestors + size
    # A pair of ancestors is looked for in some 32 rounds.
    made: Indices = size * longest * longest // 2 + 32 * num_ancestors * num_ancestors // 2
    return made


def whole_front_of(device: Device, size: Indices, num_ancestors: Indices, count: int) -> Front | None:
    """Return the same for `count` pieces, each with a workgroup and all of its columns; None if these do not fit.

    The parts are the workgroups that share the pairs of ancestors.
    """
    lanes, words = chain_size(device), front_words(device)
    if int((size * (size - 1) + 2 * size * num_ancestors).max()) > words:
        return None
    parts = SOFTWARE_SHARES
    if device.info.kind != "cpu":
        triangles = int((size * num_ancestors * (num_ancestors - 1) // 2).max())
        parts = max(1, min(_MOST_SHARES, -(-triangles // (_TRIANGLES_EACH * lanes)), _FREE_GROUPS // count))
    return Front(lanes, words, parts)


def blocks_of(device: Device, size: Indices, num_ancestors: Indices, invocations: int, most_rounds: int) -> Blocks:
    """Return how perfect customization takes pieces of supernodes of some sizes, with so many invocations or more."""
    workgroup, all_words = chain_size(device), front_words(device)
    is_software = device.info.kind == "cpu"
    most, inside = int(num_ancestors.max()), size * (size - 1)
    width = min(_SOFTWARE_WIDTH if is_software else _WIDTH, most)

    def rounds() -> int:
        # A pair of ancestors is looked for in some 40 rounds.
        each = num_ancestors * (40 * width + size + width * size) + 2 * size * size * width
        return int(each.max())

    def room(words: int) -> Indices:
        own = np.minimum(width, num_ancestors)
        made: Indices = (words - inside - 2 * size * own) // (2 * (size + own))
        return made

    # The results need the room of so many of a chunk.
    while width > 1 and (
        (room(all_words) < np.minimum(width, num_ancestors)).any()
        or (is_software and rounds() > most_rounds * workgroup)
    ):
        width //= 2
    parts = -(-most // width)
    lanes = most * width
    lanes = min(lanes, max(lanes // 4, invocations // (len(size) * parts)))
    if is_software:
        lanes = -(-rounds() // most_rounds)
    lanes = power_of_two(min(workgroup, lanes))
    wanted = np.minimum(num_ancestors, max(width, _CHUNK))
    while lanes < workgroup and (room(all_words * lanes // workgroup) < wanted).any():
        lanes *= 2
    words = all_words * lanes // workgroup
    chunk = np.minimum(room(words), num_ancestors)
    return Blocks(lanes, words, width, parts, int((-(-num_ancestors // chunk)).max()))


def blocks_without_chunks(
    device: Device, size: Indices, num_ancestors: Indices, invocations: int, most_rounds: int
) -> Blocks:
    """Return the same where paths over ancestors have been found before; the columns of each part must fit."""
    workgroup, all_words = chain_size(device), front_words(device)
    columns, inside = size * num_ancestors, size * (size - 1)
    needed, work = int((inside + 2 * columns).max()), int(np.maximum(columns, inside // 2).max())
    lanes = min(work, max(work // 4, invocations // len(size)))
    if device.info.kind == "cpu":
        lanes = -(-int((2 * columns * (size + 2)).max()) // most_rounds)
    lanes = power_of_two(min(workgroup, lanes))
    while lanes < workgroup and all_words * lanes // workgroup < needed:
        lanes *= 2
    words = all_words * lanes // workgroup
    return Blocks(lanes, words, int(num_ancestors.max()), 1, 0)


def power_of_two(count: int) -> int:
    """Return the smallest power of two that is not less than a number."""
    return 1 << max(0, count - 1).bit_length()
