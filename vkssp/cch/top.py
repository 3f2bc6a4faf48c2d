"""The top of a hierarchy: supernodes with so many arcs that many workgroups search upward in them together.

An upward search passes few supernodes, and one workgroup does so without waiting for others. The separators at the top
of a large graph may have thousands of nodes, and supernodes there a million arcs, which take one workgroup
milliseconds. A search therefore ends where it meets the first supernode with many arcs. From there on each level of all
searches is a dispatch. Nodes at the top are numbered in the order of their ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.cch.customized import CustomizedHierarchy

#: Specialization constant of the shaders: the number of nodes at the top.
TOP_CONSTANT = 5
# Those of phast_climb alone.
_IS_TREE_CONSTANT, _COUNTING_CONSTANT = 3, 4
# Words of a search after the distances of the nodes at the top; see shaders/include/top.glsl.
_EXTRA_WORDS = 3
# Arcs of a node for each invocation.
_ARCS_EACH = 4


def many_arcs(device: Device) -> int:
    """Return from how many arcs of a supernode on many workgroups search it; no number of them on a software device."""
    return device.tuned["top.many_arcs"]


@dataclass(frozen=True)
class TopLevel:
    """Nodes at the top that are in one level of a hierarchy.

    Attributes
    ----------
    begin, end : int
        The first of them, and the first of the next level.
    most_nodes, most_ancestors : int
        Largest number of nodes, and of ancestors, of their supernodes.
    """

    begin: int
    end: int
    most_nodes: int
    most_ancestors: int


@dataclass(frozen=True)
class Top:
    """The top of a hierarchy.

    Attributes
    ----------
    first : numpy.ndarray
        Of each supernode the place of its first node among those at the top, 2**32 - 1 if it is not there, shape
        (num_supernodes,), uint32.
    nodes : numpy.ndarray
        Of each node at the top its rank, its place in its supernode, the first of its ancestors in `ancestors`, and 0,
        shape (num_top, 4), uint32.
    ancestors : numpy.ndarray
        Places at the top of the ancestors of all supernodes there, shape (k,), uint32.
    levels : list of TopLevel
        The levels, from below.
    """

    first: Uint32s
    nodes: Uint32s
    ancestors: Uint32s
    levels: list[TopLevel]

    @property
    def nbytes(self) -> int:
        """Bytes on a device."""
        return max(4, self.nodes.nbytes) + max(4, self.ancestors.nbytes)


def top_of(hierarchy: Hierarchy, least: int) -> Top:
    """Return the top of a hierarchy: the supernodes with at least `least` arcs, and all of their ancestors."""
    arcs, size = np.diff(hierarchy.first_arc), hierarchy.size
    is_top = arcs >= least
    # The parents of parents are the supernodes on the path to the root.
    above = np.flatnonzero(is_top)
    while len(above):
        parent = hierarchy.parent[above]
        above = np.unique(hierarchy.supernode[parent[parent >= 0]]).astype(np.int64)
        above = above[~is_top[above]]
        is_top[above] = True
    there = np.flatnonzero(is_top)
    first = np.full(hierarchy.num_supernodes, UNREACHABLE, np.uint32)
    first[there] = np.cumsum(size[there]) - size[there]
    rank = np.repeat(hierarchy.first_node[there].astype(np.int64) - first[there], size[there])
    rank += np.arange(len(rank))
    place_of = np.zeros(0, np.uint32)
    if len(there):
        place_of = np.full(int(rank[-1]) + 1, UNREACHABLE, np.uint32)
        place_of[rank] = np.arange(len(rank), dtype=np.uint32)
    count = hierarchy.num_ancestors[there]
    first_own = hierarchy.first_ancestor[there].astype(np.int64)
    own = np.repeat(first_own - (np.cumsum(count) - count), count) + np.arange(count.sum())
    supernode = hierarchy.supernode[rank].astype(np.int64)
    nodes = np.zeros((len(rank), 4), np.uint32)
    nodes[:, 0] = rank
    nodes[:, 1] = rank - hierarchy.first_node[supernode]
    nodes[:, 2] = np.repeat(np.cumsum(count) - count, size[there])
    level = np.searchsorted(hierarchy.first_of_level, there, "right") - 1
    levels = []
    for number in np.unique(level)[::-1]:
        of_level = there[level == number]
        begin, last = int(first[of_level[0]]), of_level[-1]
        end = int(first[last]) + int(size[last])
        levels.append(
            TopLevel(begin, end, int(size[of_level].max()), int(hierarchy.num_ancestors[of_level].max(initial=0)))
        )
    return Top(first, nodes, place_of[hierarchy.ancestor[own]], levels)


def top_on(device: Device, hierarchy: Hierarchy) -> Top:
    """Return the top of a hierarchy on a device: a smaller one, if an array of it were larger than what it binds."""
    least = many_arcs(device)
    top = top_of(hierarchy, least)
    while len(top.nodes) and max(top.nodes.nbytes, top.ancestors.nbytes, top_bytes(top, 1)) > device.limits.buffer:
        least = 2 * max(1, least)
        top = top_of(hierarchy, least)
    return top


def top_bytes(top: Top, num_searches: int) -> int:
    """Return the bytes of the distances of searches at the top."""
    return 4 * num_searches * (len(top.nodes) + _EXTRA_WORDS)


def climb_kernel(
    customized: CustomizedHierarchy, size: int, owner: Resource, *, of_tree: bool, counting: bool = False
) -> Kernel:
    """Return the kernel of one level of the searches at the top, of a tree or of pairs, in workgroups of a size."""
    shader, constants = customized.shader("phast_climb")
    constants |= {_IS_TREE_CONSTANT: int(of_tree), _COUNTING_CONSTANT: int(counting)}
    constants |= {TOP_CONSTANT: len(customized.top.nodes)}
    return Kernel(
        customized.device, shader, bindings=9, push_constants=5, workgroup_size=size, constants=constants, owner=owner
    )


def record_climb(recording: Recording, climb: Bindings, top: Top, num_searches: int) -> None:
    """Record the levels of a number of searches at the top, with a barrier after each dispatch.

    The kernel is phast_climb.
    """
    recording.bind(climb)
    for level in top.levels:
        # The last step also writes the distances of a tree.
        for to_ancestors, arcs in ((0, level.most_nodes - 1), (1, level.most_ancestors)):
            if not to_ancestors and not arcs:
                continue
            lanes = 1 << (min(climb.kernel.workgroup_size, max(1, arcs // _ARCS_EACH)).bit_length() - 1)
            recording.push(climb, level.begin, level.end, lanes, num_searches, to_ancestors)
            recording.dispatch_for(climb, (level.end - level.begin) * num_searches * lanes)
            recording.barrier()
