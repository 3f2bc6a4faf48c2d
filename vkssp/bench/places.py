"""Random places near the junctions of a street map, for comparisons of routers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Floats, Graph
from vkssp.graph.geo import METRES_PER_DEGREE, haversine
from vkssp.routing.places import LatLon

#: Standard deviation of a place from a junction, in metres.
SPREAD_M = 30.0
# Side of the cells in degrees of latitude whose junctions are counted, and radius in metres of a town.
_CELL, _TOWN_M = 0.01, 3000.0
# Distances between places within a town, in metres.
_LEAST_APART_M, _MOST_APART_M = 1000.0, 2000.0


def places_near(graph: Graph, nodes: npt.NDArray[np.integer[Any]], random: np.random.Generator) -> Floats:
    """Return a random place near each node: latitude and longitude in degrees, to five digits, shape (..., 2)."""
    lat, lon = _coordinates(graph)
    metres = random.normal(0.0, SPREAD_M, (2, *nodes.shape))
    north = lat[nodes] + metres[0] / METRES_PER_DEGREE
    east = lon[nodes] + metres[1] / METRES_PER_DEGREE / np.cos(np.radians(lat[nodes]))
    return np.round(np.stack([north, east], axis=-1), 5)


def sample(graph: Graph, count: int, seed: int) -> list[tuple[LatLon, LatLon]]:
    """Return pairs of random places near junctions."""
    random = np.random.default_rng(seed)
    return _pairs(places_near(graph, random.integers(0, graph.num_nodes, (count, 2)), random))


def town_sample(graph: Graph, count: int, seed: int) -> list[tuple[LatLon, LatLon]]:
    """Return pairs of random places within a town, the densest part of the map, 1 to 2 km apart as the crow flies.

    Returns
    -------
    list of pairs of (float, float)
        Latitude and longitude of two places each; fewer than `count` if the town is too small.
    """
    lat, lon = _coordinates(graph)
    centre = densest_place(graph)
    nodes = np.flatnonzero(haversine(*centre, lat, lon) <= _TOWN_M)
    random = np.random.default_rng(seed)
    ends = places_near(graph, random.choice(nodes, (50 * count, 2)), random)
    apart = haversine(ends[:, 0, 0], ends[:, 0, 1], ends[:, 1, 0], ends[:, 1, 1])
    return _pairs(ends[(_LEAST_APART_M <= apart) & (apart <= _MOST_APART_M)][:count])


def densest_place(graph: Graph) -> tuple[float, float]:
    """Return the middle of the cell with the most nodes, cells of a hundredth of a degree of latitude."""
    lat, lon = _coordinates(graph)
    width = _CELL / np.cos(np.radians(np.median(lat)))
    cells = np.stack([np.floor(lat / _CELL), np.floor(lon / width)])
    found, count = np.unique(cells, axis=1, return_counts=True)
    south, west = found[:, np.argmax(count)]
    return float((south + 0.5) * _CELL), float((west + 0.5) * width)


def _coordinates(graph: Graph) -> tuple[Floats, Floats]:
    assert graph.lat is not None and graph.lon is not None
    return graph.lat, graph.lon


def _pairs(ends: Floats) -> list[tuple[LatLon, LatLon]]:
    return [((a[0], a[1]), (b[0], b[1])) for a, b in ends.tolist()]
