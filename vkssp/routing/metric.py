"""What routes make least: the weights that a graph has, or the metres along its streets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.geo import haversine
from vkssp.graph import Graph
from vkssp.rows import own

#: Durations, or whatever the graph's own weights are, and distances.
METRICS = ("duration", "distance")
#: Metres that one unit of weight stands for where distances are made least; 2**32 of them go round the Earth ten times.
METRES_PER_WEIGHT = 0.1


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
    if metric not in METRICS:
        raise QueryError(f"metric is {metric!r}; choose one of {', '.join(METRICS)}")
    if metric == "duration":
        return graph
    streets = graph.streets
    if streets is not None:
        streets = replace(streets, seconds_per_weight=0.0, turn=None)
    weight = own(np.rint(arc_lengths(graph) / METRES_PER_WEIGHT).astype(np.uint32))
    return Graph.from_csr(graph.first_out, graph.head, weight, lat=graph.lat, lon=graph.lon, streets=streets)
