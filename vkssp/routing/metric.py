"""What routes make least: the weights that a graph has, or the metres along its streets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vkssp.errors import QueryError
from vkssp.geo import haversine
from vkssp.graph import Graph
from vkssp.rows import own

#: Durations, or whatever the graph's own weights are, and distances.
METRICS = ("duration", "distance")
#: Metres that one unit of weight stands for where distances are made least; 2**32 of them go round the Earth ten times.
METRES_PER_WEIGHT = 0.1


def measured_by(graph: Graph, metric: str) -> Graph:
    """Return a graph whose weights are what routes are to make least; its arcs are those of the one given.

    Parameters
    ----------
    graph : Graph
        A graph; one without coordinates has no distances, and stays as it is.
    metric : str
        ``"duration"``, the weights that it has, or ``"distance"``, tenths of a metre: turns take none, but those that
        are forbidden stay so.

    Raises
    ------
    QueryError
        If there is no such metric.
    """
    if metric not in METRICS:
        raise QueryError(f"metric is {metric!r}; choose one of {', '.join(METRICS)}")
    if metric == "duration" or graph.lat is None or graph.lon is None:
        return graph
    streets = graph.streets
    if streets is not None:
        length = streets.length.astype(np.float64)
        streets = replace(streets, seconds_per_weight=0.0, turn=None)
    else:
        ends = (graph.lat[graph.tail], graph.lon[graph.tail], graph.lat[graph.head], graph.lon[graph.head])
        length = haversine(*ends)
    weight = own(np.rint(length / METRES_PER_WEIGHT).astype(np.uint32))
    return Graph.from_csr(graph.first_out, graph.head, weight, lat=graph.lat, lon=graph.lon, streets=streets)
