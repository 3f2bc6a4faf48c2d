"""Rows of items, such as the arcs that leave each node, without the libraries that `vkssp.graph.csr` loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import kernels


def rows_of(row: npt.NDArray[Any], num_rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the offset of each row's first item, shape (num_rows + 1,), and the items in a stable order by their rows.

    Parameters
    ----------
    row : numpy.ndarray
        Row of each item, a whole number from 0 to below `num_rows`, shape (num_items,).
    num_rows : int
        Number of rows.
    """
    first, order = np.zeros(num_rows + 1, np.int64), np.empty(len(row), np.int64)
    kernels("vkssp.osm.kernels.rows").sort_rows(row, first, order)
    return first, order
