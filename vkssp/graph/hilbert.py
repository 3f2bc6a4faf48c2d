"""Order of points along Hilbert's curve, which passes neighbours soon after each other."""

from __future__ import annotations

_BITS = 32


def hilbert_index(x: int, y: int) -> int:
    """Return the position of a point along Hilbert's curve over a square of whole numbers of 32 bits."""
    found = 0
    for bit in range(_BITS - 1, -1, -1):
        right, up = x >> bit & 1, y >> bit & 1
        found = found << 2 | (3 * right ^ up)
        if not up:
            # In the lower quadrants the curve is turned.
            if right:
                x, y = ~x, ~y
            x, y = y, x
    return found
