"""Nearest of many sources, or several of them, to every node, found by one search."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.checks import whole_number
from vkssp.cpu.nearest import check_room, nearest_of_all
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import Distances, DistanceType
from vkssp.graph.units import Units
from vkssp.prepared.terminals import least_of_each, nodes_of
from vkssp.solver.session import Session


@dataclass(frozen=True, eq=False)
class NearestSources:
    """Nearest source of every node, and the distance from it, or several nearest sources.

    The nodes that share a nearest source are its Voronoi cell in the network.

    Attributes
    ----------
    distance : numpy.ndarray
        Distance from the nearest source, including its offset, shape (num_nodes,), of the type of
        `Solver.distances`; as there where no path leads to the node, or none within the limit. If a number of sources
        was asked for, their distances in ascending order, shape (num_nodes, count).
    source : numpy.ndarray
        Index of the nearest source in the list of sources; the first of several that are equally near; 2**32 - 1
        where there is none; shape as above, uint32.
    """

    __repr__ = brief

    distance: Distances
    source: Uint32s


class NearestSearch(Protocol):
    """Solver of searches from the nearest of many seeds."""

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""

    @property
    def distance_type(self) -> DistanceType:
        """Type of the distances."""

    def holding(self) -> AbstractContextManager[object]:
        """Keep the weights as they are for several questions."""

    def search_nearest(self, nodes: Uint32s, offsets: Distances, limit: int | None = None) -> NearestSources:
        """Find the nearest of some seeds; see `vkssp.Solver.search_nearest`."""


def nearest_sources(
    solver: NearestSearch, sources: npt.ArrayLike, offsets: npt.ArrayLike | None, limit: float | None
) -> NearestSources:
    """Return the distance from the nearest of some sources to every node; see `vkssp.Solver.nearest`."""
    with solver.holding():
        graph = solver.graph
        units = graph.units.typed(solver.distance_type)
        nodes = nodes_of(graph, sources, "sources")
        weights = _offsets(units, offsets, len(nodes))
        found = solver.search_nearest(nodes, weights, units.limit(limit))
    return NearestSources(units.values(found.distance), found.source)


def nearest_seeds(session: Session, nodes: Uint32s, weights: Distances, limit: int | None) -> NearestSources:
    """Return the distance from the nearest of some seeds to every node; see `vkssp.Solver.search_nearest`."""
    kind = session.distance_type
    most = kind.unreachable if limit is None else limit
    with session.holding():
        renumbered = session.renumbered
        nodes = renumbered.node[nodes]
        best = least_of_each(nodes, weights)
        numbers = np.arange(len(nodes), dtype=np.uint32)
        seeds = np.stack([nodes, weights, numbers], axis=1)[best]  # of the type of the distances
        # Allocated before the search, so that a lack of memory wastes no search.
        voronoi = session.voronoi(len(seeds))
        outcome = session.run(seeds[:, :2].tolist(), [], most)
        distance = session.read()
        if most == kind.unreachable and outcome.overflow and renumbered.overflowed(distance).any():
            raise DistanceOverflowError(kind.overflow)
        try:
            source = voronoi.find(seeds)
        except BaseException:
            session.discard()
            raise
    if most != kind.unreachable:
        beyond = distance > most
        distance[beyond], source[beyond] = kind.unreachable, UNREACHABLE
    if not renumbered.is_identity:
        distance, source = distance[renumbered.node], source[renumbered.node]
    return NearestSources(distance, source)


def several_nearest(
    graph: Graph, sources: npt.ArrayLike, offsets: npt.ArrayLike | None, limit: float | None, count: int
) -> NearestSources:
    """Return the distances from several nearest sources to every node; see `vkssp.Solver.nearest`."""
    most = graph.units.limit(limit)
    nodes = nodes_of(graph, sources, "sources")
    if not len(nodes):
        raise QueryError("there are no sources; give at least one")
    weights = _offsets(graph.units, offsets, len(nodes))
    count = whole_number(count, "count", 1, UNREACHABLE - 1, "give how many sources are wanted for each node")
    check_room(graph.num_nodes, count)
    seeds = np.stack([nodes, weights, np.arange(len(nodes), dtype=np.uint32)], axis=1)
    wanted = min(count, len(nodes))
    distance, source = nearest_of_all(graph, seeds, wanted, most)
    if wanted < count:
        missing = np.full((graph.num_nodes, count - wanted), UNREACHABLE, np.uint32)
        distance, source = (np.concatenate([found, missing], axis=1) for found in (distance, source))
    return NearestSources(graph.units.values(distance), source)


def _offsets(units: Units, offsets: npt.ArrayLike | None, count: int) -> Distances:
    if offsets is None:
        return np.zeros(count, units.distance_type.dtype)
    weights = units.offsets(offsets, "offsets")
    if len(weights) != count:
        raise QueryError(f"there are {len(weights)} offsets for {count} sources; give one for each")
    return weights
