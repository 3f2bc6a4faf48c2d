"""Types of the arguments of kernels, for type checkers; numba does not read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Uint8s = npt.NDArray[np.uint8]
Uint32s = npt.NDArray[Any]  # kernels assign uint64 values, which numba narrows
Uint64s = npt.NDArray[np.uint64]
Distances = npt.NDArray[Any]  # uint32 or uint64
Heap = npt.NDArray[np.uint64]  # see `vkssp.cpu.kernels.entries`
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Int32s = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]
Rows = Any  # an array of dtype ROW, whose records have attributes in compiled code
Flag = bool
Index = Any  # an int64 or an integer of the interpreter
#: Iterations; visited, worked, relaxed, improved; overflow. numba returns them as Python integers.
Totals = tuple[int, int, int, np.uint64, int, bool]
