"""Places of the nodes of a hierarchy in the order of a depth-first search down the elimination tree.

The nodes below any node have consecutive places. So nodes that share much of their paths to the root are near each
other, and of any two nodes the shared ancestors are as many as the least number that neighbours between them share.
"""

from __future__ import annotations

import weakref

import numpy as np

from vkssp.arrays import own
from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.jit import kernels
from vkssp.locks import ReentrantLock

_places: weakref.WeakKeyDictionary[Hierarchy, Uint32s] = weakref.WeakKeyDictionary()
_making = ReentrantLock()  # which a fork does not inherit


def preorder_of(hierarchy: Hierarchy) -> Uint32s:
    """Return the place of each rank in preorder, shape (num_nodes,), uint32; it lives as long as the hierarchy."""
    with _making.held():
        if hierarchy not in _places:
            place = np.empty(hierarchy.num_nodes, np.uint32)
            parent = hierarchy.parent.astype(np.int64, copy=False)
            compiled = kernels("vkssp.hierarchy.preorder_kernels")
            compiled.number(hierarchy.first_node, parent, np.ones(hierarchy.num_nodes, np.uint32), place)
            _places[hierarchy] = own(place)
        return _places[hierarchy]
