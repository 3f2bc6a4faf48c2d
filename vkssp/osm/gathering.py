"""Look-ups of what arrays hold at many places, on all cores."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import run_all

# Places that a thread looks up at once.
_AT_ONCE = 1 << 17


def gathered(*pairs: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return what each array holds at the places that come with it, of which none is outside of the array."""
    found, tasks = [], []
    for values, places in pairs:
        out = np.empty((len(places), *values.shape[1:]), values.dtype)
        found.append(out)
        for at in range(0, len(places), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            # NumPy copies what it has found once more in its other modes.
            tasks.append(partial(np.take, values, places[some], axis=0, out=out[some], mode="clip"))
    run_all(tasks)
    return found
