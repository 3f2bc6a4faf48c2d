"""Kernel of Hilbert's curve, for the order of boxes of streets."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.jit import jit


@jit
def put_hilbert_indices(across: Any, up: Any, keys: Any) -> None:
    """Write what `vkssp.graph.hilbert.hilbert_index` returns for points, whose coordinates are uint32s, as uint64s."""
    one = np.uint64(1)
    for i in range(len(keys)):
        x, y, found = np.uint64(across[i]), np.uint64(up[i]), np.uint64(0)
        for step in range(32):
            bit = np.uint64(31 - step)
            right, is_up = (x >> bit) & one, (y >> bit) & one
            found = found << np.uint64(2) | ((right + right + right) ^ is_up)
            if is_up == 0:
                # In the lower quadrants the curve is turned.
                if right != 0:
                    x, y = ~x, ~y
                x, y = y, x
        keys[i] = found
