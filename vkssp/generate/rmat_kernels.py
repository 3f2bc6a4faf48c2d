"""Compiled kernel of the generator of recursive-matrix graphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

_Uint32s = npt.NDArray[np.uint32]


@jit
def add_bits(words: _Uint32s, to_a: int, to_b: int, to_c: int, tails: _Uint32s, heads: _Uint32s) -> None:
    """Append a bit to both ends of each edge for each row of random words, shape (bits, edges).

    Words below `to_a` mean the upper left quarter of the matrix, those below `to_b` the upper right one, and those
    below `to_c` the lower left one.
    """
    for bit in range(words.shape[0]):
        for i in range(words.shape[1]):
            word = np.int64(words[bit, i])
            below = word >= to_b
            right = (word >= to_a) ^ below ^ (word >= to_c)
            tails[i] = (tails[i] << np.uint32(1)) | np.uint32(below)
            heads[i] = (heads[i] << np.uint32(1)) | np.uint32(right)
