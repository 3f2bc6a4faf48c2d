"""A route: what was asked, what was found, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.checks import real_numbers
from vkssp.errors import QueryError
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


@dataclass(frozen=True)
class Step:
    """What to do at a place along a route, and the way from there to the next step.

    Attributes
    ----------
    type : str
        "depart", "turn", "continue" (a road bends where others leave it), "new name", "fork", "ramp", "merge",
        "roundabout", "exit roundabout" (of one that the route begins in), "uturn", "board" and "disembark" (a ferry
        or train), "arrive".
    modifier : str
        Where to: "straight", "slight right", "right", "sharp right", "uturn", "sharp left", "left" or "slight left";
        of an arrival the side of the street that the place is on; empty where it says nothing.
    instruction : str
        The same as an English sentence.
    name, ref : str
        Name and number of the street from here on; empty where there is none.
    way : int or None
        OSM way id of the first street from here on; None where the graph does not know.
    exit : int or None
        Which exit of the roundabout to take, counted from 1.
    distance_m : float
        Metres to the next step.
    duration_s : float or None
        Seconds to the next step, the turn here included; None where weights are no durations.
    lat, lon : float
        The place, in degrees.
    first, last : int
        Where the way to the next step begins and ends in the points of the leg, both included.
    """

    type: str
    modifier: str
    instruction: str
    name: str
    ref: str
    way: int | None
    exit: int | None
    distance_m: float
    duration_s: float | None
    lat: float
    lon: float
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Leg:
    """The part of a route between two of the places that it was asked to pass.

    Attributes
    ----------
    nodes, arcs, parts, weight, points, distance_m, duration_s, origin, destination
        As those of `Route`, of this part alone.
    steps : tuple of Step
        What to do along it, from the departure to the arrival; empty unless it was asked for.
    """

    nodes: npt.NDArray[np.uint32]
    arcs: npt.NDArray[np.int64]
    parts: npt.NDArray[np.float64]
    weight: int
    points: npt.NDArray[np.float64]
    distance_m: float
    duration_s: float | None
    origin: Place
    destination: Place
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class Route:
    """A shortest path, and what the graph knows of it.

    Attributes
    ----------
    nodes : numpy.ndarray
        Ids of the nodes passed, shape (k,), uint32.
    arcs : numpy.ndarray
        Ids of the arcs travelled, in order, int64; between two places on streets the first and the last of them may be
        travelled only in part, and the turn into the first, where turns cost something, not at all. One with a via
        point on it is there twice.
    weight : int
        Its length in units of the weight that was made least.
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
    parts : numpy.ndarray or None
        How much of each arc is travelled, by length, shape (len(arcs),), float64; None where it is all of each.
    legs : tuple of Leg
        The parts of the route from the origin over the via points to the destination; none where it was asked for by
        nodes.
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
    parts: npt.NDArray[np.float64] | None = None
    legs: tuple[Leg, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """What to do along the route, of all legs; empty unless it was asked for."""
        return tuple(step for leg in self.legs for step in leg.steps)

    @property
    def vias(self) -> tuple[Place, ...]:
        """The places between origin and destination that the route was asked to pass."""
        return tuple(leg.destination for leg in self.legs[:-1])

    def sum(self, values: npt.ArrayLike) -> float:
        """Return the sum of some figure along the route, such as energy, tolls or metres of ascent.

        Of arcs that are travelled in part the same part of the figure counts.

        Parameters
        ----------
        values : array_like
            The figure of every arc of the graph, shape (num_arcs,).

        Raises
        ------
        QueryError
            If it is not one number per arc.
        """
        array = real_numbers(values, "values", error=QueryError)
        if len(array) <= self.arcs.max(initial=-1):
            raise QueryError(f"values has shape {array.shape}; give one number for each arc of the graph")
        along = array[self.arcs]
        return float((along if self.parts is None else along * self.parts).sum())


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
    return graph.streets.points_along(arcs)
