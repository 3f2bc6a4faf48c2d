"""Numbering of places in which each block of consecutive ids is a compact part of the map.

The Z-order curve of all nodes of a graph has blocks that are squares, or nearly so. Once some nodes have left the
graph, consecutive ids of the others cut through such squares, and a search crosses more borders of blocks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Least number of ids that form a compact part by themselves, a power of two.
LEAST_BLOCK = 128

_Int64s = npt.NDArray[np.int64]


def block_order(lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64]) -> _Int64s:
    """Return the places in their new sequence, for blocks of any power of two from `LEAST_BLOCK` on.

    The places are cut in two across the longer side, so that the first part has as many ids as the largest power of two
    that leaves any for the second, and both parts are cut likewise (J. L. Bentley, "Multidimensional Binary Search
    Trees Used for Associative Searching", 1975, with cuts at other ranks than the median).

    Parameters
    ----------
    lat, lon : numpy.ndarray
        Coordinates in degrees, shape (k,) each.
    """
    x = lon * np.cos(np.radians(lat.mean())) if len(lat) else lon
    order = np.arange(len(lat))
    parts = [(0, len(lat))]
    while parts:
        low, high = parts.pop()
        count = high - low
        if count <= LEAST_BLOCK:
            continue
        nodes = order[low:high]
        along, across = x[nodes], lat[nodes]
        values = along if np.ptp(along) >= np.ptp(across) else across
        cut = 1 << (count - 1).bit_length() - 1
        order[low:high] = nodes[np.argpartition(values, cut)]
        parts += [(low, low + cut), (low + cut, high)]
    return order
