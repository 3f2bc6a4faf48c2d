"""Packed tree of boxes around runs of pieces of streets.

The runs are sorted along Hilbert's curve; each box above holds `FAN` boxes (Kamel and Faloutsos 1993, "On packing
R-trees"). The boxes inside a box lie next to each other, their southern sides first, so that a
kernel compares all of them at once by vectors. Where they lie follows from the number of the box, so that a kernel need
not wait for one to know where the next ones are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.cores import run_parts
from vkssp.graph.csr import bounds_of, within
from vkssp.jit import kernels

#: Boxes in a box.
FAN = 8
# Pieces in a run.
_RUN = 8
# Cells of Hilbert's curve on a side, but one; degrees of the least side; and runs that are worth another thread.
_CELLS, _LEAST_SIDE, _RUNS_EACH = 2**32 - 1, 1e-9, 1 << 14


class StreetTree(NamedTuple):
    """Boxes around streets, level by level, those of runs first.

    `boxes` has south, west, north and east in degrees, rounded outward, of groups of boxes, shape (k, 4, `FAN`),
    float32; those that are missing in the last group of a level are near to nothing. `runs` has for each run the first
    and the last point, the street, and the street's first point; shape (runs, 4), uint32. `first` is the offset of each
    level in `boxes`; box i of a level holds the boxes of group i of the level before.
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
    order = _along_hilbert((south_west + north_east) / 2)
    levels = [np.concatenate([_rounded(south_west, -np.inf), _rounded(north_east, np.inf)], axis=1)[order]]
    while len(levels[-1]) > 1:
        groups, below = np.arange(0, len(levels[-1]), FAN), levels[-1]
        low, high = np.minimum.reduceat(below[:, :2], groups), np.maximum.reduceat(below[:, 2:], groups)
        levels.append(np.concatenate([low, high], axis=1))
    of_runs = np.stack([begin, end, line, first[line]], axis=1)[order].astype(np.uint32)
    grouped = [_grouped(level) for level in levels]
    arrays = np.concatenate(grouped), of_runs, bounds_of([len(level) for level in grouped])
    return StreetTree(*(own(in_huge_pages(array)) for array in arrays))


def _along_hilbert(points: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the stable order of points along Hilbert's curve over their bounding square."""
    low, high = points.min(axis=0), points.max(axis=0)
    # A degree of longitude is shorter than one of latitude.
    width = np.cos(np.radians(np.clip((low[0] + high[0]) / 2, -89.0, 89.0)))
    sides = (high - low) * (1.0, width)
    scale = _CELLS / sides.max() if sides.max() > _LEAST_SIDE else 0.0
    keys, compiled = np.empty(len(points), np.uint64), kernels("vkssp.routing.kernels.hilbert")

    def compute(begin: int, end: int) -> None:
        up, across = ((points[begin:end] - low) * (scale, width * scale)).astype(np.uint32).T
        compiled.put_hilbert_indices(across, up, keys[begin:end])

    run_parts(compute, len(points), _RUNS_EACH)
    return np.argsort(keys, kind="stable")


def _grouped(boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return boxes, shape (k, 4), in groups."""
    groups = -(-len(boxes) // FAN)
    every = np.empty((groups * FAN, 4), np.float32)
    every[: len(boxes)] = boxes
    every[len(boxes) :] = np.inf, np.inf, -np.inf, -np.inf
    return np.ascontiguousarray(every.reshape(groups, FAN, 4).transpose(0, 2, 1))


def _rounded(degrees: npt.NDArray[np.float64], towards: float) -> npt.NDArray[np.float32]:
    """Return the nearest numbers of 32 bits that are no less, if `towards` is infinite, or else no greater."""
    found = degrees.astype(np.float32)
    is_inside = found > degrees if towards < 0 else found < degrees
    return np.where(is_inside, np.nextafter(found, np.float32(towards)), found)
