"""Names for the types of arrays that kernels take, which numba does not read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Uint8s = npt.NDArray[np.uint8]
Uint32s = npt.NDArray[Any]  # what is written are uint64s, which numba narrows
Uint64s = npt.NDArray[np.uint64]
Rows = Any  # an array of dtype ROW, whose rows have attributes in compiled code
Flag = bool
#: Iterations; visited, worked, relaxed, improved; overflow. Python gets integers of its own.
Totals = tuple[int, int, int, np.uint64, int, bool]
