"""Nearest of many sources, or several of them, to every node, found by one search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.checks import whole_number, whole_numbers
from vkssp.cpu.nearest import check_room, nearest_of_all
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType
from vkssp.prepared.terminals import checked_limit, least_of_each, nodes_of
from vkssp.solver.session import Session


@dataclass(frozen=True, eq=False)
class NearestSources:
    """Nearest source of every node, and the distance from it, or several nearest sources.

    The nodes that share a nearest source are its Voronoi cell in the network.

    Attributes
    ----------
    distance : numpy.ndarray
        Distance from the nearest source, including its offset; 2**32 - 1 if no path leads to the node, or none within
        the limit; shape (num_nodes,), uint32. If the solver has distances of 64 bits, uint64 and 2**64 - 1. If a number
        of sources was asked for, their distances in ascending order, shape (num_nodes, count).
    source : numpy.ndarray
        Index of the nearest source in the list of sources; the first of several that are equally near; 2**32 - 1
        where no path leads; shape as above, uint32.
    """

    __repr__ = brief

    distance: Distances
    source: Uint32s


def nearest_sources(
    session: Session, sources: npt.ArrayLike, offsets: npt.ArrayLike | None, limit: int | None
) -> NearestSources:
    """Return the distance from the nearest of some sources to every node; see `vkssp.Solver.nearest`."""
    kind = session.distance_type
    most = checked_limit(limit, kind)
    with session.holding():
        renumbered = session.renumbered
        nodes = renumbered.node[nodes_of(renumbered.graph, sources, "sources")]
        weights = _offsets(offsets, len(nodes), kind)
        best = least_of_each(nodes, weights)
        numbers = np.arange(len(nodes), dtype=np.uint32)
        seeds = np.stack([nodes, weights, numbers], axis=1)[best]  # of the type of the distances
        # Allocated before the search, so that a lack of memory wastes no search.
        voronoi = session.voronoi(len(seeds))
        outcome = session.run(seeds[:, :2].tolist(), [], most)
        distance = session.read()
        if limit is None and outcome.overflow and renumbered.overflowed(distance).any():
            raise DistanceOverflowError(kind.overflow)
        try:
            source = voronoi.find(seeds)
        except BaseException:
            session.discard()
            raise
    if limit is not None:
        beyond = distance > most
        distance[beyond], source[beyond] = kind.unreachable, UNREACHABLE
    if not renumbered.is_identity:
        distance, source = distance[renumbered.node], source[renumbered.node]
    return NearestSources(distance, source)


def several_nearest(
    graph: Graph, sources: npt.ArrayLike, offsets: npt.ArrayLike | None, limit: int | None, count: int
) -> NearestSources:
    """Return the distances from several nearest sources to every node; see `vkssp.Solver.nearest`."""
    most = checked_limit(limit)
    nodes = nodes_of(graph, sources, "sources")
    if not len(nodes):
        raise QueryError("there are no sources; give at least one")
    weights = _offsets(offsets, len(nodes), BITS_32)
    count = whole_number(count, "count", 1, UNREACHABLE - 1, "give how many sources are wanted for each node")
    check_room(graph.num_nodes, count)
    seeds = np.stack([nodes, weights, np.arange(len(nodes), dtype=np.uint32)], axis=1)
    wanted = min(count, len(nodes))
    distance, source = nearest_of_all(graph, seeds, wanted, most)
    if wanted < count:
        missing = np.full((graph.num_nodes, count - wanted), UNREACHABLE, np.uint32)
        distance, source = (np.concatenate([found, missing], axis=1) for found in (distance, source))
    return NearestSources(distance, source)


def _offsets(offsets: npt.ArrayLike | None, count: int, distance_type: DistanceType) -> Distances:
    if offsets is None:
        return np.zeros(count, distance_type.dtype)
    most, dtype = distance_type.unreachable - 1, distance_type.dtype
    weights = whole_numbers(offsets, "offsets", "weights", most, QueryError, dtype)
    if len(weights) != count:
        raise QueryError(f"there are {len(weights)} offsets for {count} sources; give one for each")
    return weights
