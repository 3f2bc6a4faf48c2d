"""Street network that the steps of a graph's routes are made from."""

from __future__ import annotations

from functools import cached_property

from vkssp.guidance.network import GuidanceNetwork
from vkssp.routing.lines import StreetLines


class StepTables:
    """Street network of a graph for steps, whatever its weights; made for the first steps.

    Parameters
    ----------
    lines : StreetLines
        The streets.
    """

    def __init__(self, lines: StreetLines) -> None:
        graph = lines.graph
        self._parts = graph.first_out, graph.head, graph.streets, lines.lengths, lines.polylines

    @cached_property
    def network(self) -> GuidanceNetwork:
        """The street network."""
        return GuidanceNetwork(*self._parts)
