"""Kernel of the parts of streets that lie within a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
# The distance of a node to which no path leads.
_UNREACHABLE = 2**32 - 1


@jit
def put_reached(
    nodes: Any,
    distances: Any,
    weight: Any,
    turn: Any,
    carried: Any,
    backward: Any,
    polyline_of: Any,
    opened: Floats,
    limit: np.int64,
    reverse: bool,
    rise: Floats,
    fall: Floats,
) -> None:
    """Raise the parts of polylines that are covered from their start and from their end; see `street_reach.approach`.

    `nodes` are the tails of arcs or, if `reverse`, their heads. Turns, ferries and the parts before areas to avoid are
    empty if there are none.
    """
    for arc in range(len(nodes)):
        distance = distances[nodes[arc]]
        if distance == _UNREACHABLE or distance > limit or (len(carried) > 0 and carried[arc]):
            continue
        turned = np.int64(turn[arc]) if len(turn) > 0 else 0
        along = np.int64(weight[arc]) - turned
        left = limit - np.int64(distance) - (0 if reverse else turned)
        if left < 0:
            continue
        part = 1.0 if left >= along else left / along
        if len(opened) > 0:
            part = min(part, opened[arc])
        line = polyline_of[arc]
        if backward[arc] != reverse:
            fall[line] = max(fall[line], part)
        else:
            rise[line] = max(rise[line], part)
