"""A route: what was asked, what was found, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph


@dataclass(frozen=True)
class Place:
    """An end of a route.

    Attributes
    ----------
    lat, lon : float
        The place asked for, in degrees.
    snapped_lat, snapped_lon : float
        The nearest point of the road network, where the route begins or ends, in degrees.
    snapped_m : float
        Metres between the two.
    name : str
        Name of the street there, empty where it has none.
    """

    lat: float
    lon: float
    snapped_lat: float
    snapped_lon: float
    snapped_m: float
    name: str = ""


@dataclass(frozen=True, eq=False)
class Route:
    """A shortest path, and what the graph knows of it.

    Attributes
    ----------
    nodes : numpy.ndarray
        Ids of the nodes passed, shape (k,), uint32.
    arcs : numpy.ndarray
        Ids of the arcs travelled, in order, int64; between two places on streets the first and the last of them may be
        travelled only in part, and the turn into the first, where turns cost something, not at all.
    weight : int
        Its length in units of weight.
    points : numpy.ndarray or None
        Latitude and longitude of the points along it in degrees, shape (p, 2), both ends included; None for a graph
        without coordinates.
    distance_m : float or None
        Its length in metres; None where the graph does not know.
    duration_s : float or None
        Its duration in seconds; None where weights are no durations.
    origin, destination : Place or None
        The places that it joins, where it was asked for by coordinates.
    device : str
        Name of the device that found it.
    algorithm : str
        Name of the algorithm that found it.
    query_ms : float
        Milliseconds from the question to the answer, snapping and path included.
    """

    nodes: npt.NDArray[np.uint32]
    arcs: npt.NDArray[np.int64]
    weight: int
    points: npt.NDArray[np.float64] | None
    distance_m: float | None
    duration_s: float | None
    origin: Place | None
    destination: Place | None
    device: str
    algorithm: str
    query_ms: float


def duration(graph: Graph, weight: int) -> float | None:
    """Return the seconds that a weight stands for, None where weights are no durations."""
    streets = graph.streets
    return weight * streets.seconds_per_weight if streets is not None and streets.seconds_per_weight > 0 else None


def along(graph: Graph, nodes: npt.NDArray[np.uint32], arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
    """Return the points along whole arcs that follow each other.

    Parameters
    ----------
    graph : Graph
        The graph that the ids are of.
    nodes : numpy.ndarray
        The nodes passed, at least one.
    arcs : numpy.ndarray
        The arcs between them, one fewer.

    Returns
    -------
    numpy.ndarray or None
        Latitude and longitude in degrees, shape (p, 2); None for a graph without coordinates.
    """
    if graph.lat is None or graph.lon is None:
        return None
    if graph.streets is None or len(arcs) == 0:
        return np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1)
    # Consecutive arcs share a point; it is kept once.
    pieces = [graph.streets.arc_points(int(arc)) for arc in arcs]
    return np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
