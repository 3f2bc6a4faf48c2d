"""Points along each arc in the order of travel, so that those of whole arcs are copied without looking at each one."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.memory import free_bytes
from vkssp.routing.lines import StreetLines

#: Points that are copied at once, perhaps more than an arc has.
AT_ONCE = 4
# Bytes of a point and of an arc, with copies and room for the computation, and the largest part of the free
# memory that all may take.
_POINT_BYTES, _ARC_BYTES, _MOST_MEMORY = 72, 16, 0.5
_NO_ARCS, _NO_POINTS = own(np.zeros((0, 2), np.uint32)), own(np.zeros((0, 2)))


class ArcPoints:
    """Points along the arcs of a graph, whatever its weights; made for the first routes of many pairs.

    Parameters
    ----------
    lines : StreetLines
        The streets.
    """

    def __init__(self, lines: StreetLines) -> None:
        self._parts = lines.first, lines.points, lines.along, lines.graph.first_out, lines.graph.head

    @cached_property
    def arrays(self) -> tuple[Uint32s, npt.NDArray[np.float64]]:
        """The span of each arc among the points of all streets, and these points.

        A span is the row of the arc's second point, and the number of the arc's points without the first one, which is
        the last point of the arc before; shape (num_arcs, 2), uint32. The points are those of all polylines, and then
        the same in reverse, for arcs that run against their polyline: latitude and longitude in degrees, shape (p, 2),
        float64. Successive points of an arc differ. Both arrays are empty if arcs that follow each other do not meet in
        one point, or if too little memory is free.
        """
        first, points, along, first_out, head = self._parts
        count, num_nodes = len(points), len(first_out) - 1
        needed, free = _POINT_BYTES * count + _ARC_BYTES * len(along), free_bytes()
        if 2 * (count + AT_ONCE) >= 2**32 or (free is not None and needed > _MOST_MEMORY * free):
            return _NO_ARCS, _NO_POINTS
        spans, directed = np.empty((len(along), 2), np.uint32), np.zeros((2 * (count + AT_ONCE), 2))
        room = np.empty(count, np.int64), np.full(num_nodes, -1, np.int64)
        made = kernels("vkssp.routing.kernels.leg").put_arc_points(
            *(first, points, along, first_out, head, *room, AT_ONCE, spans, directed)
        )
        return (own(in_huge_pages(spans)), own(in_huge_pages(directed))) if made else (_NO_ARCS, _NO_POINTS)
