"""Kernel that numbers the nodes of an elimination tree in preorder."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit


@jit
def number(
    first_node: npt.NDArray[Any], parent: npt.NDArray[Any], size: npt.NDArray[Any], place: npt.NDArray[Any]
) -> None:
    """Write the place of each rank in preorder.

    `first_node` has the first rank of each supernode, and the number of ranks; `parent` the rank above each supernode,
    or a negative number. `size`, of each rank, is 1 at first.
    """
    num_supernodes = len(first_node) - 1
    for group in range(num_supernodes - 1, -1, -1):  # all nodes below a node have larger ranks
        begin = np.int64(first_node[group])
        for rank in range(np.int64(first_node[group + 1]) - 1, begin, -1):
            size[rank - 1] += size[rank]
        if parent[group] >= 0:
            size[parent[group]] += size[begin]
    behind = np.uint32(0)  # the nodes of the trees so far
    for group in range(num_supernodes):
        above = parent[group]
        for rank in range(np.int64(first_node[group]), np.int64(first_node[group + 1])):
            below = size[rank]
            if above < 0:
                place[rank] = behind
                behind += below
            else:
                # A node whose place is known counts up the places that its children have taken, in its `size`.
                place[rank] = size[above]
                size[above] += below
            size[rank] = place[rank] + np.uint32(1)
            above = rank
