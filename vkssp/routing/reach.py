"""Isochrones around one place, or around each of many places whose searches share the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vkssp.algorithm import Terminal
from vkssp.checks import number_of, shown
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.metric import unit_of
from vkssp.routing.isochrone import WIDTHS_M, Isochrone, isochrones
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_starts
from vkssp.routing.places import LatLon, checked_place, place_of, starting_points
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import begun_streets
from vkssp.solver.tables import RowSource, rows


def isochrones_around(
    solver: RowSource,
    index: StreetIndex,
    metric: str,
    origins: Sequence[LatLon],
    names: Sequence[str],
    limits: Sequence[float],
    width_m: float,
) -> Iterator[list[Isochrone]]:
    """Return the isochrones around each of some places; see `vkssp.Router.isochrones`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`.
    index : StreetIndex
        The streets.
    metric : str
        The metric that paths minimize; see `vkssp.Router`.
    origins : sequence of (float, float)
        Latitude and longitude of the places in degrees.
    names : sequence of str
        Names of the places in errors.
    limits : sequence of float
        Limits in seconds, metres or weights.
    width_m : float
        Metres to either side of a road.
    """
    places = [checked_place(index, origin, name) for origin, name in zip(origins, names, strict=True)]
    unit = unit_of(index.graph, metric)
    weights = unit.limits(limits)
    metres = unit.per_weight if metric == "distance" else None
    width = number_of(width_m)
    if width is None or not WIDTHS_M[0] <= width <= WIDTHS_M[1]:
        raise QueryError(f"width is {shown(width_m)}; give metres, from {WIDTHS_M[0]:,.0f} to {WIDTHS_M[1]:,.0f}")
    starts = starting_points(index, places, names)
    seeds = [[(end.node, end.weight) for end in find_starts(index, start)] for start in starts]

    def make() -> Iterator[list[Isochrone]]:
        rows = _distances(solver, index, seeds, weights[-1])
        for place, start, distances in zip(places, starts, rows, strict=True):
            found = isochrones(index, distances, begun_streets(index, start), weights, width)
            yield [_around(one, index, place, start, metres) for one in found]

    return make()


def _distances(
    solver: RowSource, index: StreetIndex, seeds: Sequence[Sequence[Terminal]], limit: int
) -> Iterator[Uint32s]:
    """Yield the distances of all nodes from each of some groups of seeds."""
    num_nodes = index.graph.num_nodes
    if len(seeds) > 1:
        for block in rows(solver, index.searched, seeds, np.arange(num_nodes, dtype=np.uint32), limit=limit):
            yield from block
        return
    # There are no seeds if areas to avoid shut the place in.
    (group,) = seeds
    yield solver.distances_from(group, limit=limit) if group else np.full(num_nodes, UNREACHABLE, np.uint32)


def _around(one: Isochrone, index: StreetIndex, origin: LatLon, start: Snap, metres: float | None) -> Isochrone:
    return replace(one, origin=place_of(index, origin, start), metres=one.limit * metres if metres else None)
