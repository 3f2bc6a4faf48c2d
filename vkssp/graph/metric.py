"""What routes make least: the weights that a graph has, or the metres along its streets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import choice, items_of, number_of, shown
from vkssp.errors import QueryError
from vkssp.graph.csr import UNREACHABLE
from vkssp.graph.geo import haversine
from vkssp.graph.graph import Graph

#: Durations, or whatever the graph's own weights are, and distances.
METRICS = ("duration", "distance")
#: Metres that one unit of weight stands for where distances are made least; 2**32 of them go round the Earth ten times.
METRES_PER_WEIGHT = 0.1


def duration(graph: Graph, weight: int) -> float | None:
    """Return the seconds that a weight stands for, None where weights are no durations."""
    streets = graph.streets
    return weight * streets.seconds_per_weight if streets is not None and streets.seconds_per_weight > 0 else None


@dataclass(frozen=True)
class Unit:
    """What weights are.

    Attributes
    ----------
    name : str
        ``"duration"``, ``"distance"``, or ``"weight"`` where they are neither.
    per_weight : float
        Seconds or metres that one is; 1 where weights are neither.
    """

    name: str
    per_weight: float

    def values(self, weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return weights in seconds or metres, float32, NaN for UNREACHABLE; weights that are neither as uint32."""
        if self.name == "weight":
            return weight.astype(np.uint32, copy=False)
        return np.where(weight == UNREACHABLE, np.nan, weight * self.per_weight).astype(np.float32)

    def limits(self, limits: Sequence[float], name: str = "limits") -> list[int]:
        """Return limits in seconds, metres or weights as weights, rising; `name` is what they are called.

        Raises
        ------
        QueryError
            If one is not more than 0 or passes 32 bits, or there is none.
        """
        numbers = [number_of(limit) for limit in items_of(limits) or ()]
        try:
            weights = sorted({math.ceil((math.nan if one is None else one) / self.per_weight) for one in numbers})
        except (ValueError, OverflowError):
            weights = []
        if not weights or weights[0] < 1 or weights[-1] >= UNREACHABLE:
            what = "metres" if self.name == "distance" else "seconds or weights"
            told = limits if name == "limits" else limits[0]
            raise QueryError(f"{name} is {shown(told)}; give {what}, more than 0, that fit into 32 bits")
        return weights


def unit_of(graph: Graph, metric: str) -> Unit:
    """Return what the weights of a graph are when a metric is made least."""
    if metric == "distance":
        return Unit("distance", METRES_PER_WEIGHT)
    seconds = duration(graph, 1)
    return Unit("weight", 1.0) if seconds is None else Unit("duration", seconds)


def arc_lengths(graph: Graph) -> npt.NDArray[np.float64]:
    """Return the length of each arc in metres, shape (num_arcs,); along straight lines where there are no streets.

    Raises
    ------
    QueryError
        If the graph has no coordinates.
    """
    if graph.streets is not None:
        return graph.streets.length.astype(np.float64)
    if graph.lat is None or graph.lon is None:
        raise QueryError("the graph has no coordinates, so there are no metres in it; leave the metric distance out")
    tail, head = graph.tail, graph.head
    metres: npt.NDArray[np.float64] = haversine(graph.lat[tail], graph.lon[tail], graph.lat[head], graph.lon[head])
    return metres


def measured_by(graph: Graph, metric: str) -> Graph:
    """Return a graph whose weights are what routes are to make least; its arcs are those of the one given.

    Parameters
    ----------
    graph : Graph
        A graph.
    metric : str
        ``"duration"``, the weights that it has, or ``"distance"``, tenths of a metre: turns take none, but those that
        are forbidden stay so.

    Raises
    ------
    QueryError
        If there is no such metric, or no distances as the graph has no coordinates.
    """
    if choice(metric, "metric", METRICS) == "duration":
        return graph
    streets = graph.streets
    if streets is not None:
        streets = replace(streets, seconds_per_weight=0.0, turn=None)
    weight = own(np.rint(arc_lengths(graph) / METRES_PER_WEIGHT).astype(np.uint32))
    return Graph.from_csr(graph.first_out, graph.head, weight, lat=graph.lat, lon=graph.lon, streets=streets)
