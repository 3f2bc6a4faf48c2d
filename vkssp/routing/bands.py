"""Bands: the areas within some metres of lines, for several sets of lines each of which holds the one before."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.graph.geo import EARTH_RADIUS
from vkssp.jit import kernels

# Cells of the grid for the width of a band, at the most. Between nodes the round end of a band is farther from its
# line by less than a 72nd of the width.
_CELLS = 3.0
#: Lines may be simplified by up to this part of the width.
LINE_TOLERANCE = 0.02
#: Rings may be simplified by up to this part of the width.
RING_TOLERANCE = 0.01
# Most blocks that lines come near to, times lines; a block of one line takes some microseconds and 16 bytes.
_MOST_BLOCKS = 1 << 25

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def bands(pieces: Floats, levels: int, width_m: float, is_mercator: bool) -> list[tuple[Floats, Ints]]:
    """Return the rings around the bands of pieces of lines, for each level.

    Parameters
    ----------
    pieces : numpy.ndarray
        Both ends of each piece on a plane, and the first level whose band is around it, shape (k, 5), float64.
    levels : int
        Number of levels.
    width_m : float
        Metres to either side.
    is_mercator : bool
        Whether the plane is that of `vkssp.graph.mercator`, not one in metres.

    Returns
    -------
    list of tuple of (numpy.ndarray, numpy.ndarray)
        For each level the points of the rings on the plane, shape (p, 2), and the offset of each ring's first point.
        The band is on the left of the rings.

    Raises
    ------
    QueryError
        If the lines are too long for the width.
    """
    module = kernels("vkssp.routing.kernels.bands")
    if not len(pieces):
        return [(np.zeros((0, 2)), np.zeros(1, np.int64)) for _ in range(levels)]
    low, high, length = module.extent(pieces)
    if is_mercator:
        # The cells are largest in metres where the plane is closest to the equator.
        near = 0.0 if low[1] <= 0.0 <= high[1] else float(np.abs([low[1], high[1]]).min())
        far = float(np.abs([low[1], high[1]]).max())
        cell = width_m / _CELLS * math.cosh(near) / EARTH_RADIUS
        reach = (
            (width_m + 1.5 * width_m / _CELLS)
            * math.cosh(far + width_m / EARTH_RADIUS * math.cosh(far + 1e-2))
            / EARTH_RADIUS
        )
    else:
        cell = width_m / _CELLS
        reach = width_m + 1.5 * cell
    west, south = (low - reach - cell).tolist()
    block = module.BLOCK * cell
    columns, rows = (math.ceil(float(size + 2 * (reach + cell)) / block) + 1 for size in high - low)
    # Before anything is allocated, by a bound that is quick to compute and cannot be too low.
    if not length / block < _MOST_BLOCKS:
        raise _too_many(width_m)
    grid = (west, south, cell)
    blocks, first, members = module.find_blocks(pieces, *grid, reach, columns, rows, _MOST_BLOCKS)
    if not len(blocks):
        raise _too_many(width_m)
    points, begin, first_ring = module.trace(
        *(pieces, blocks, first, members, columns, *grid, width_m, is_mercator, levels)
    )
    found = []
    for some, end in pairwise(first_ring.tolist()):
        offsets = begin[some : end + 1]
        found.append((points[offsets[0] : offsets[-1]], offsets - offsets[0]))
    return found


def _too_many(width_m: float) -> QueryError:
    return QueryError(
        f"the streets that are reached are too long for an area that extends {width_m:g} m to either side of them; "
        "give a greater width, or lower limits"
    )
