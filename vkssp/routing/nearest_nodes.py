"""Nodes that stand for places, such as the centres of zones: where trips of a demand between nodes begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import flag
from vkssp.errors import QueryError
from vkssp.prepared.terminals import named
from vkssp.routing.many_phantoms import many_goals, many_starts
from vkssp.routing.places import LatLon, about, ending_points, listed_places, starting_points, text
from vkssp.routing.snap import StreetIndex


def nearest_nodes(index: StreetIndex, places: Sequence[LatLon], arriving: bool) -> npt.NDArray[Any]:
    """Return a node for each place; see `vkssp.Router.nearest_nodes`."""
    snap, connect = (ending_points, many_goals) if flag(arriving, "arriving") else (starting_points, many_starts)
    where = listed_places(index, places, "place")
    ends = connect(index, snap(index, where, [f"place {row}" for row in range(len(where))]))
    count = np.diff(ends.first)
    if not count.all():
        row = int(np.argmin(count))
        told = "no trip ends" if arriving else "no trip begins"
        problem = f"place {row} is {text(where[row])}, on a street where {told}; give another place"
        raise about(f"place {row}", QueryError(problem))
    # The end of the street with the least weight, of equal ones that with the least id.
    order = np.lexsort((ends.node, ends.weight, ends.owner))
    return named(index.graph, ends.node[order[ends.first[:-1]]])
