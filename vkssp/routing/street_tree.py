"""Packed tree of boxes around runs of pieces of streets, which kernels walk without a stack.

The runs are sorted along the Z-order curve; each box above holds `FAN` boxes (Kamel and Faloutsos 1993, "On packing
R-trees", with another curve). The boxes inside a box lie next to each other, and where they lie follows from the number
of the box, so that a kernel need not wait for one to know where the next one is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.graph.csr import bounds_of, within
from vkssp.graph.order import z_order

#: Boxes in a box.
FAN = 8
# Pieces in a run.
_RUN = 8


class StreetTree(NamedTuple):
    """Boxes around streets, level by level, those of runs first.

    `boxes` has south, west, north and east in degrees, rounded outward, shape (k, 4), float32. `runs` has for each run
    the first and the last point, the street, and the street's first point; shape (runs, 4), uint32. `first` is the
    offset of each level in `boxes`; box i of a level holds the boxes from `FAN` * i on of the level before.
    """

    boxes: npt.NDArray[np.float32]
    runs: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int64]


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
    order = z_order(*((south_west + north_east) / 2).T).node
    levels = [np.concatenate([_rounded(south_west, -np.inf), _rounded(north_east, np.inf)], axis=1)[order]]
    while len(levels[-1]) > 1:
        groups, below = np.arange(0, len(levels[-1]), FAN), levels[-1]
        low, high = np.minimum.reduceat(below[:, :2], groups), np.maximum.reduceat(below[:, 2:], groups)
        levels.append(np.concatenate([low, high], axis=1))
    of_runs = np.stack([begin, end, line, first[line]], axis=1)[order].astype(np.uint32)
    arrays = np.concatenate(levels), of_runs, bounds_of([len(level) for level in levels])
    return StreetTree(*(own(in_huge_pages(array)) for array in arrays))


def _rounded(degrees: npt.NDArray[np.float64], towards: float) -> npt.NDArray[np.float32]:
    """Return the nearest numbers of 32 bits that are no less, if `towards` is infinite, or else no greater."""
    found = degrees.astype(np.float32)
    is_inside = found > degrees if towards < 0 else found < degrees
    return np.where(is_inside, np.nextafter(found, np.float32(towards)), found)
