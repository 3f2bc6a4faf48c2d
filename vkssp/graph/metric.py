"""Metrics that routes minimize: the graph's own weights, or the metres along its streets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import choice, items_of, number_of, shown
from vkssp.choices import METRICS as METRICS
from vkssp.errors import QueryError
from vkssp.graph.csr import UNREACHABLE
from vkssp.graph.distance_type import unreachable_in
from vkssp.graph.geo import haversine
from vkssp.graph.graph import Graph
from vkssp.graph.units import MOST_UNITS, Units

#: Metres for one unit of weight if routes minimize distance; 2**32 units are ten times the Earth's circumference.
METRES_PER_WEIGHT = 0.1
# Decimal fractions of a second over those of a weight may be too small by a few units in the last place.
_ROUNDING = 1 + 1e-12


def duration(graph: Graph, weight: int) -> float | None:
    """Return the duration of a weight in seconds, or None if weights are not durations."""
    streets = graph.streets
    return weight * streets.seconds_per_weight if streets is not None and streets.seconds_per_weight > 0 else None


def in_seconds(graph: Graph) -> Graph:
    """Return a graph with durations for weights, in tenths of a second: the graph itself if it knows no others.

    The arcs are the same. The durations are `Streets.seconds`, which are not what the graph's own weights minimize.
    """
    streets = graph.streets
    if streets is None or streets.seconds is None:
        return graph
    unit = 0.1
    of_turns = np.zeros(graph.num_arcs, np.float32) if streets.turn_seconds is None else streets.turn_seconds
    turn, pieces = np.rint(of_turns / unit), streets.piece_seconds
    weight = own(np.maximum(np.rint((streets.seconds - of_turns) / unit) + turn, 0.0).astype(np.uint32))
    streets = replace(
        streets,
        seconds_per_weight=unit,
        turn=None if streets.turn is None else own(np.maximum(turn, 0.0).astype(np.uint32)),
        turn_bonus=own(np.maximum(-turn, 0.0).astype(np.uint32)) if (turn < 0).any() else None,
        seconds=None,
        turn_seconds=None,
        piece_weight=None if pieces is None else own(np.rint(pieces / unit).astype(np.uint32)),
        piece_seconds=None,
        weight_name="duration",
    )
    timed = Graph.from_csr(graph.first_out, graph.head, weight, lat=graph.lat, lon=graph.lon, streets=streets)
    return replace(timed, names=graph.names)


@dataclass(frozen=True)
class Unit:
    """Unit of weights.

    Attributes
    ----------
    name : str
        ``"duration"``, ``"distance"``, or ``"weight"`` if weights are neither.
    per_weight : float
        Seconds or metres for one unit of weight, or the caller's units; 1 if the caller's weights are whole numbers.
    units : Units
        The caller's units of weights, in which solvers return distances.
    """

    name: str
    per_weight: float
    units: Units = field(default_factory=Units)

    def values(self, weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return weights in seconds or metres, float32, NaN where no path leads; others as `Units.values` does.

        Weights are uint64 if distances have 64 bits, and otherwise any integers that fit into uint32.
        """
        whole = weight if weight.dtype == np.uint64 else weight.astype(np.uint32, copy=False)
        if self.name == "weight":
            return self.units.values(whole)
        return np.where(whole == unreachable_in(whole), np.nan, whole * self.per_weight).astype(np.float32)

    @property
    def per_distance(self) -> float:
        """Seconds or metres for 1 of the distances that solvers return; 1 if these are neither."""
        return self.per_weight / (self.units.scale or 1.0)

    def of_solver(self, distance: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the distances that a solver has returned, in seconds or metres, as `values` does."""
        if self.units.scale is None:
            return self.values(distance)
        if self.name == "weight":
            return distance
        return np.where(np.isinf(distance), np.nan, distance * self.per_distance).astype(np.float32)

    def limit_of_solver(self, limit: float | None) -> Any:
        """Return a limit in seconds, metres or weights as a solver takes it; see `within`."""
        return None if limit is None else self.units.value(self.within(limit))

    def limits(self, limits: Sequence[float], name: str = "limits") -> list[int]:
        """Convert limits in seconds, metres or weights to ascending weights; errors call the limits `name`.

        Of real weights there is one for each limit, and limits beyond the largest distance of 32 bits are this
        distance; see `search_limit`.

        Raises
        ------
        QueryError
            If a limit is not more than 0 or, of whole weights, does not fit into 32 bits, or if there are no limits.
        """
        numbers = [number_of(limit) for limit in items_of(limits) or ()]
        try:
            given = sorted({math.nan if one is None else one for one in numbers})
            weights = list(map(self._weight, given))
            if self.units.scale is None:
                weights = sorted(set(weights))
        except (ValueError, OverflowError):
            weights = []
        if not weights or weights[0] < 1 or weights[-1] >= UNREACHABLE:
            raise self._no_limit(limits if name == "limits" else limits[0], name)
        return weights

    def within(self, limit: float, name: str = "limit") -> int:
        """Convert a limit in seconds, metres or weights to the largest weight up to it; errors call it `name`.

        Of real weights, limits beyond the largest distance of 32 bits are no limits, `UNREACHABLE`.

        Raises
        ------
        QueryError
            If the limit is not more than 0 or, of whole weights, does not fit into 32 bits.
        """
        number = number_of(limit)
        if number is None or not number > 0:
            raise self._no_limit(limit, name)
        if self.units.scale is not None and self.name == "weight":
            return self.units.limit(number)
        weight = number / self.per_weight * _ROUNDING
        if weight >= UNREACHABLE:
            if self.units.scale is None:
                raise self._no_limit(limit, name)
            return UNREACHABLE
        return math.floor(weight)

    def _no_limit(self, told: Any, name: str) -> QueryError:
        what = "metres" if self.name == "distance" else "seconds or weights"
        return QueryError(f"{name} is {shown(told)}; give {what}, more than 0, that fit into 32 bits")

    def _weight(self, limit: float) -> int:
        """Return the weight of a limit."""
        if self.units.scale is None or not limit > 0:
            return math.ceil(limit / self.per_weight)
        found = self.units.limit(limit) if self.name == "weight" else math.ceil(limit / self.per_weight)
        return min(max(1, found), MOST_UNITS)

    def search_limit(self, weight: int) -> int:
        """Return the limit of a search that finds distances up to a weight of `limits`; `UNREACHABLE` for none.

        Of real weights, distances up to a limit may not fit into 32 bits; only a search without a limit tells of them.
        """
        return UNREACHABLE if self.units.scale is not None and weight == MOST_UNITS else weight


def unit_of(graph: Graph, metric: str) -> Unit:
    """Return the unit of a graph's weights under a metric."""
    if metric == "distance":
        return Unit("distance", METRES_PER_WEIGHT)
    seconds = duration(graph, 1)
    if seconds is None:
        return Unit("weight", graph.scale or 1.0, graph.units)
    return Unit("duration", seconds, graph.units)


def arc_lengths(graph: Graph) -> npt.NDArray[np.float64]:
    """Return the length of each arc in metres, shape (num_arcs,); of straight lines if the graph has no streets.

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
    """Return a graph with the same arcs, weighted by a metric.

    Parameters
    ----------
    graph : Graph
        A graph.
    metric : str
        ``"duration"`` for the graph's own weights, or ``"distance"`` for tenths of a metre. Under ``"distance"`` turns
        cost nothing, but forbidden turns stay forbidden.

    Raises
    ------
    QueryError
        If the metric is unknown, or if it is ``"distance"`` and the graph has no coordinates.
    """
    if choice(metric, "metric", METRICS) == "duration":
        return graph
    streets = graph.streets
    if streets is not None:
        streets = replace(
            streets,
            seconds_per_weight=0.0,
            turn=None,
            turn_bonus=None,
            piece_weight=None,
            piece_seconds=None,
            weight_name="distance",
        )
    weight = own(np.rint(arc_lengths(graph) / METRES_PER_WEIGHT).astype(np.uint32))
    metres = Graph.from_csr(graph.first_out, graph.head, weight, lat=graph.lat, lon=graph.lon, streets=streets)
    return replace(metres, names=graph.names)
