"""Round trips: places in the order in which a trip through all of them is shortest.

The order of few places is the best one, by dynamic programming (Held and Karp 1962). That of many is made by farthest
insertion (Rosenkrantz, Stearns and Lewis 1977), and then improved by moving parts of the trip (Or 1976). Trips that do
not return to their beginning are round trips through one more place, which is nowhere.

Sources: M. Held, R. M. Karp, A dynamic programming approach to sequencing problems, 1962; D. J. Rosenkrantz, R. E.
Stearns, P. M. Lewis, An analysis of several heuristics for the traveling salesman problem, 1977; I. Or, Traveling
salesman-type combinatorial problems and their relation to the logistics of blood banking, 1976.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import NoRouteError
from vkssp.features.drawing import drawing
from vkssp.features.quantities import format_distance, format_duration
from vkssp.features.shaped import Shaped
from vkssp.jit import kernels
from vkssp.memory import require

if TYPE_CHECKING:
    from vkssp.features.features import Features
    from vkssp.route import Route

#: Most places, with one that is nowhere, whose best order is found.
EXACT = 12
# Passes over all parts of a tour that are tried to improve it.
_PASSES = 50
# Trips of few places are begun at several of them, of which the best one counts.
_FEW, _STARTS = 300, 16


@dataclass(frozen=True, eq=False)
class Trip(Shaped):
    """Trip through places in a good order.

    Attributes
    ----------
    route : Route
        The route through the places in this order; if it is a round trip, back to the first of them. Each leg joins two
        places.
    order : numpy.ndarray
        Numbers of the places, from 0, in the order of the trip, shape (places,), int64.
    is_best : bool
        Whether no other order makes a shorter trip; if false, there are too many places to know.
    """

    route: Route
    order: npt.NDArray[np.int64]
    is_best: bool

    def __repr__(self) -> str:
        """Return the number of places, length and duration in one line."""
        route = self.route
        told = [f"{len(self.order)} places", format_distance(route.distance_m or 0.0)]
        told += [f"weight {route.weight:,}" if route.duration_s is None else format_duration(route.duration_s)]
        return f"Trip({', '.join(told)})"

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks."""
        return drawing([self.route.features(), self.route.features("places")], repr(self))

    @property
    def position(self) -> npt.NDArray[np.int64]:
        """Position of each place in the trip, from 0, in the order in which the places were given."""
        return np.argsort(self.order)

    @property
    def geometry(self) -> Any:
        """The line of the trip; see `Route.geometry`."""
        return self.route.geometry

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of the route, and the order of the places."""
        return {**self.route.properties, "order": self.order.tolist(), "is_best": self.is_best}

    def features(self, part: str = "legs") -> Features:
        """Return legs, steps or places of the trip as features; see `Route.features`."""
        return self.route.features(part)

    def to_geodataframe(self, part: str = "legs") -> Any:
        """Return legs, steps or places of the trip as a geopandas GeoDataFrame; see `Route.to_geodataframe`."""
        return self.route.to_geodataframe(part)

    def write(self, path: str | Path) -> None:
        """Write the route of the trip to a file; see `Route.write`."""
        self.route.write(path)


def order_of_trip(
    cost: npt.NDArray[np.float64], source: str, destination: str, roundtrip: bool
) -> tuple[npt.NDArray[np.int64], bool]:
    """Return the order of places in a short trip, and whether no other order is shorter.

    Parameters
    ----------
    cost : numpy.ndarray
        Cost of the route from each place to each other, infinite if there is none, shape (n, n), float64.
    source, destination : str
        Where the trip begins and ends; see `vkssp.Router.trip`.
    roundtrip : bool
        Whether the way back from the last to the first place counts.

    Raises
    ------
    NoRouteError
        If no trip through all places was found.
    """
    count = len(cost)
    first, last = source == "first", destination == "last"
    cost = cost.copy()
    np.fill_diagonal(cost, 0.0)
    if not roundtrip:
        cost = np.pad(cost, (0, 1))
        if first:
            cost[count, 1:count] = np.inf
        if last:
            cost[: count - 1, count] = np.inf
    elif first and last and count > 1:
        cost[count - 1, 1 : count - 1] = np.inf
    is_best = len(cost) <= EXACT
    tour = _best(cost) if is_best else _good(cost)
    if np.isinf(cost[tour, np.roll(tour, -1)]).any():
        raise NoRouteError("no trip visits all places; some of them cannot be reached from the others")
    if not roundtrip:
        tour = np.roll(tour, -1 - int(np.argmax(tour == count)))[:-1]
    elif last and not first:
        tour = np.roll(tour, -1 - int(np.argmax(tour == count - 1)))
    else:
        tour = np.roll(tour, -int(np.argmax(tour == 0)))
    return tour, is_best


def _best(cost: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    tour = np.zeros(len(cost), np.int64)
    if len(cost) > 1:
        kernels("vkssp.routing.kernels.trip").best_tour(cost, np.empty((1 << len(cost) - 1, len(cost))), tour)
    return tour


def _good(cost: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    module, count = kernels("vkssp.routing.kernels.trip"), len(cost)
    known = np.isfinite(cost)
    # A leg that does not exist costs more than any trip without one.
    finite = np.where(known, cost, 1.0 + 2.0 * count * cost[known].max())
    best, least = np.arange(count), np.inf
    starts = range(0, count, 1 if count <= _STARTS else count // _STARTS) if count <= _FEW else [0]
    for first in starts:
        tour, other = np.empty(count, np.int64), np.empty(count, np.int64)
        module.insert_farthest(finite, first, np.empty(count), tour)
        module.improve(finite, tour, other, _PASSES)
        total = float(finite[tour, np.roll(tour, -1)].sum())
        if total < least:
            best, least = tour, total
    return best


def require_room(count: int) -> None:
    """Raise `MemoryShortageError` if a table between some places does not fit into memory."""
    require(40.0 * count * count, f"a table between {count:,} places", "ask for a trip through fewer places")
