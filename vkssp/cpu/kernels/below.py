"""Lists of the supernodes below each node, which have it among their ancestors.

If a supernode has two nodes among its ancestors, all supernodes between it and that of the lower node have both, too:
the ancestors of a supernode are nodes or ancestors of its parent. So the lists are in preorder, and a search for those
that have another node as well leaves out what lies below one that does not.
"""

from __future__ import annotations

from typing import NamedTuple

from vkssp.cpu.kernels.phast import ANCESTOR, Tree
from vkssp.cpu.kernels.types import Int32s, Int64s
from vkssp.jit import jit

# Columns of `Below.preorder`.
GROUP, BEGIN, BEYOND = range(3)


class Below(NamedTuple):
    """Supernodes that have each rank among their ancestors: the first of each rank, and all of them.

    `number` has their numbers in preorder, and `place` the places of the rank among the ancestors of all supernodes. A
    row of `preorder` has the supernode with a number, its first entry in `Tree.ancestor`, and the first number behind
    those below it.
    """

    first: Int64s
    number: Int32s
    place: Int32s
    preorder: Int32s


@jit
def list_below(tree: Tree, first: Int64s, number: Int32s, place: Int32s, preorder: Int32s) -> None:
    """Write `first`, `number` and `place` of `Below`; `first` is longer by one entry, and zero at first."""
    for entry in range(len(tree.ancestor)):
        first[tree.ancestor[entry] + 2] += 1
    for rank in range(2, len(first)):
        first[rank] += first[rank - 1]
    for lower in range(len(preorder)):
        group = preorder[lower, GROUP]
        for entry in range(tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR]):
            following = tree.ancestor[entry] + 1
            number[first[following]] = lower
            place[first[following]] = entry
            first[following] += 1
