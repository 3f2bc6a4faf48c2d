"""Packed tree of boxes around runs of pieces of streets, which kernels walk without a stack.

The runs are sorted along the Z-order curve; each box above holds `_FAN` boxes (Kamel and Faloutsos 1993, "On packing
R-trees", with another curve). The boxes lie in the order of a depth-first walk, each with the number of the box to go
on with if its inside is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.csr import within
from vkssp.graph.order import z_order

# Boxes in a box, and pieces in a run.
_FAN, _RUN = 8, 8


class StreetTree(NamedTuple):
    """Boxes around streets in the order of a depth-first walk.

    `boxes` has south, west, north and east in degrees, shape (k, 4), float64. `nodes` has for each box the next box
    outside of it and, for a run of pieces, the first and the last point, the street, and the street's first point;
    shape (k, 5), uint32.
    """

    boxes: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.uint32]


def street_tree(first: npt.NDArray[np.int64], points: npt.NDArray[np.float64]) -> StreetTree:
    """Return the tree of lines, given by the offset of each line's first point, and latitudes and longitudes."""
    pieces = np.diff(first) - 1
    runs = -(-pieces // _RUN)
    line = np.repeat(np.arange(len(runs)), runs)
    begin = first[line] + _RUN * within(runs)
    end = np.minimum(begin + _RUN, first[line + 1] - 1)
    # reduceat leaves out the point at the end of each group, but a run and the next one of its line share that point.
    south_west = np.minimum(np.minimum.reduceat(points, begin), points[end])
    north_east = np.maximum(np.maximum.reduceat(points, begin), points[end])
    middle = (south_west + north_east) / 2
    order = z_order(*middle.T).node
    levels = [np.concatenate([south_west, north_east], axis=1)[order]]
    while len(levels[-1]) > 1:
        groups, below = np.arange(0, len(levels[-1]), _FAN), levels[-1]
        low, high = np.minimum.reduceat(below[:, :2], groups), np.maximum.reduceat(below[:, 2:], groups)
        levels.append(np.concatenate([low, high], axis=1))
    total = sum(map(len, levels))
    boxes, nodes = np.empty((total, 4)), np.zeros((total, 5), np.uint32)
    for level, here in enumerate(levels):
        edge = np.minimum(np.arange(len(here) + 1) * _FAN**level, len(order))
        # The boxes that begin before each edge; those above that begin there come first.
        before = sum(-(-edge // _FAN**k) for k in range(len(levels)))
        above = sum((edge[:-1] % _FAN**k == 0).astype(np.int64) for k in range(level + 1, len(levels)))
        at = before[:-1] + above
        boxes[at], nodes[at, 0] = here, before[1:]
        if level == 0:
            nodes[at, 1:] = np.stack([begin, end, line, first[line]], axis=1)[order]
    boxes.flags.writeable = nodes.flags.writeable = False
    return StreetTree(boxes, nodes)
