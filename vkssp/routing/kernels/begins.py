"""Kernel of the nodes that trips may reach first."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Bools = npt.NDArray[np.bool_]


@jit
def find_begins(
    first_out: Any,
    head: Any,
    memory: Any,
    layer: Any,
    polyline_of: Any,
    backward: Any,
    is_short: Bools,
    least: Any,
    begins: Bools,
) -> None:
    """Find the nodes that remember no more than the last street; see `vkssp.routing.begins`.

    `memory` and `layer` are those of `Streets`, the second one empty if there is none. `is_short` has an entry for each
    number of a memory, False at first, and `least` one for each layer of each direction of each polyline, as large as
    can be at first. `begins` receives the result, and is True at first.
    """
    is_short[0] = True
    for node in range(len(first_out) - 1):
        if memory[node] == 0:
            for arc in range(np.int64(first_out[node]), np.int64(first_out[node + 1])):
                is_short[memory[head[arc]]] = True
    for is_last in range(2):
        for arc in range(len(head)):
            there = np.int64(head[arc])
            group = 6 * np.int64(polyline_of[arc])
            if backward[arc]:
                group += 3
            if len(layer) > 0:
                group += np.int64(layer[there])
            number = np.uint32(memory[there])
            if is_short[number]:
                number = np.uint32(0)
            if is_last:
                begins[there] = number == least[group]
            elif number < least[group]:
                least[group] = number
