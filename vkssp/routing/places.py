"""Places on a map: checks that they are on it, and the points on streets that they may be snapped to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp.checks import items_of, listed, number_of, shown, whole_number
from vkssp.errors import NoStreetError, QueryError, VksspError
from vkssp.features.places import LatLon as LatLon
from vkssp.features.places import pair_of, pairs_of
from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.route import Place
from vkssp.routing.lines import Snap
from vkssp.routing.place_list import PlaceList
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps
from vkssp.routing.stops import CheckedStop, Stop, with_snapping

Floats = npt.NDArray[np.float64]
_Error = TypeVar("_Error", bound=VksspError)
#: A place more than this many metres outside the bounds of a map is not on it, even if a road is near enough to snap,
#: unless roads may be at any distance.
_MARGIN_M = 1000.0
# Maximum number of streets that a caller may ask for; no place has more near it.
_MOST_STREETS = 2**20
#: What errors call the places of pairs, each with its number.
PAIR_NAMES = "origin", "destination"


def about(name: str, error: _Error) -> _Error:
    """Return an error that knows what it calls the place that it is about."""
    error.place = name
    return error


def text(place: LatLon) -> str:
    """Return a place as a text, latitude and longitude."""
    return f"{place[0]:.6g},{place[1]:.6g}" if max(map(abs, place)) >= 1000 else f"{place[0]:.5f},{place[1]:.5f}"


def checked_place(index: StreetIndex, place: LatLon, name: str) -> LatLon:
    """Return a place as two floats, or raise `QueryError` if it is off the map or in an area to avoid.

    `name` is the place's name in errors. The place of a `Stop` is a `CheckedStop`.
    """
    if type(place) is tuple and len(place) == 2 and type(place[0]) is type(place[1]) is float:
        if _is_inside(index, *place) and (index.avoided is None or not index.avoided.has_areas):
            return place
    if isinstance(place, CheckedStop):
        return place
    if isinstance(place, Stop):
        place.check(name)
        checked_place(index, (place.lat, place.lon), name)
        return CheckedStop(place, any_street=False)
    lat, lon = _pair(pair_of(place)) or (None, None)
    if lat is None or lon is None:
        raise about(name, QueryError(f"{name} is {shown(place)}; give a pair of latitude and longitude in degrees"))
    place = lat, lon
    if not (math.isfinite(lat) and math.isfinite(lon) and abs(lat) <= 90 and abs(lon) <= 180):
        problem = f"{name} is {text(place)}; give LAT,LON in degrees, such as 42.5075,1.5218"
        raise about(name, QueryError(problem))

    def inside(lat: float, lon: float) -> bool:
        high = _MARGIN_M / METRES_PER_DEGREE
        return index.south - high <= lat <= index.north + high and bool(index.near(lat, lon, _MARGIN_M))

    if index.radius_m < math.inf and not inside(lat, lon):
        hint = "; latitude and longitude are swapped" if inside(lon, lat) else ""
        problem = (
            f"{name} is {text(place)}, which is not on this map{hint}; it reaches from LAT,LON "
            f"{index.south:.4f},{index.west:.4f} to {index.north:.4f},{index.east:.4f}"
        )
        raise about(name, QueryError(problem))
    if index.avoided is not None and index.avoided.covers(lat, lon):
        problem = f"{name} is {text(place)}, which lies in an area to avoid; give a place outside of it"
        raise about(name, QueryError(problem))
    return place


def _is_inside(index: StreetIndex, lat: float, lon: float) -> bool:
    """Return whether a place is within the bounds of a map."""
    return bool(index.south <= lat <= index.north and max(index.west, -180.0) <= lon <= min(index.east, 180.0))


def _pair(place: object) -> tuple[float | None, float | None] | None:
    """Return the two items of a pair, None for an item that is no number; None if `place` is no pair."""
    # A set has two items in no order.
    pair = None if isinstance(place, Set) else items_of(place)
    return (number_of(pair[0]), number_of(pair[1])) if pair is not None and len(pair) == 2 else None


def listed_places(
    index: StreetIndex, places: Sequence[LatLon], name: str, names: str | None = None, first: int = 0
) -> list[LatLon]:
    """Return places as pairs of floats, or raise `QueryError`.

    Errors call each place `name` with its number, from `first` on, and all of them `names`, by default the name with an
    s.
    """
    names = names or f"{name}s"
    given = pairs_of(places, names)
    if not given:
        raise QueryError(f"there are no {names}; give at least one")
    # An array has become pairs of floats.
    array: Any = places
    is_array = isinstance(array, np.ndarray) and array.shape[1:] == (2,) and array.dtype.kind in "iuf"
    if not is_array and not all(type(one) is tuple and len(one) == 2 and {*map(type, one)} == {float} for one in given):
        return [checked_place(index, place, f"{name} {row}") for row, place in enumerate(given, first)]
    _check_places(index, np.array(given), name, first)
    return list(given)


def _check_places(index: StreetIndex, array: Floats, name: str, first: int) -> None:
    """Raise `QueryError` if one of some places, shape (k, 2), is off the map or in an area to avoid."""
    low, high = index.bounds
    is_inside = (array >= low) & (array <= high)
    has_areas = index.avoided is not None and index.avoided.has_areas
    if is_inside.all() and not has_areas:
        return
    is_good = is_inside[:, 0] & is_inside[:, 1]
    if index.avoided is not None and has_areas:
        is_good[is_good] = ~index.avoided.covers(*array[is_good].T)
    for row in np.flatnonzero(~is_good).tolist():
        lat, lon = array[row].tolist()
        checked_place(index, (lat, lon), f"{name} {first + row}")


def places_of_pairs(index: StreetIndex, places: Any, name: str, first: int = 0) -> Sequence[LatLon]:
    """Return what `listed_places` does; of an array, places that are made when they are asked for."""
    if type(places) is np.ndarray and places.shape[1:] == (2,) and places.dtype.kind in "iuf" and len(places):
        array = np.array(places, np.float64, order="C")
        _check_places(index, array, name, first)
        return PlaceList(array)
    return listed_places(index, places, name, first=first)


def no_road(index: StreetIndex, place: LatLon, name: str) -> NoStreetError:
    """Return the error for a place that is far from any road that meets its conditions."""
    if isinstance(place, CheckedStop):
        near = "" if place.stop.radius_m is None else f" within {place.stop.radius_m:g} m"
        problem = (
            f"and no street{near} meets its conditions; give a larger radius or range of bearings, or another approach"
        )
    else:
        problem = f"over {index.radius_m / 1000:g} km from any road of this map that a trip may begin on"
    return about(name, NoStreetError(f"{name} is {text(place)}, {problem}"))


def street_name(index: StreetIndex, snap: Snap) -> str:
    """Return the name of the street at a point, empty if it has none."""
    streets = index.graph.streets
    return "" if streets is None else streets.names[streets.name.item(index.arcs(snap.polyline).item(0))]


def place_of(index: StreetIndex, place: LatLon, snap: Snap) -> Place:
    """Return a place with the point on a street that it was snapped to."""
    hints = index.hints  # which keep no weights
    return Place.deferring(
        {"hint": lambda: hints.encode(*place, snap), "nodes": lambda: hints.nodes(snap)},
        lat=place[0],
        lon=place[1],
        snapped_lat=snap.lat,
        snapped_lon=snap.lon,
        snapped_m=snap.metres,
        name=street_name(index, snap),
        position=(snap.polyline, snap.segment, snap.share),
    )


def nearest_places(index: StreetIndex, place: LatLon, number: int = 1, snapping: str = "default") -> list[Place]:
    """Return the points on streets that are nearest to a place, one for each street; see `Router.nearest`."""
    count = whole_number(number, "number", 1, _MOST_STREETS, f"give how many streets are wanted, 1 to {_MOST_STREETS}")
    place = with_snapping(checked_place(index, place, "place"), snapping)
    if count == 1:
        return nearest_place_of_each(index, [place])
    asked = count
    while True:
        if isinstance(place, CheckedStop):
            snaps = index.nearest_for(place, asked)
        else:
            snaps = index.nearest_streets(*place, asked)
        if not snaps:
            raise no_road(index, place, "place")
        one_of_each: dict[tuple[int, ...], Snap] = {}
        for snap in snaps:
            one_of_each.setdefault(_street(index, snap), snap)
        if len(one_of_each) >= count or len(snaps) < asked:
            return [place_of(index, place, snap) for snap in list(one_of_each.values())[:count]]
        asked *= 2


def nearest_place_of_each(index: StreetIndex, places: Sequence[LatLon]) -> list[Place]:
    """Return the point on a street that is nearest to each of some checked places."""
    snaps = nearest_of_each(index, places, leaving=False, reached=False)
    return [place_of(index, place, _known(index, place, snap)) for place, snap in zip(places, snaps, strict=True)]


def first_places(index: StreetIndex, places: Sequence[LatLon]) -> list[Place]:
    """Return the points that some checked places are snapped to first, if they are those of one query."""
    snaps = first_points(index, places, [f"place {row}" for row in range(len(places))])
    return [place_of(index, place, snap) for place, snap in zip(places, snaps, strict=True)]


def _known(index: StreetIndex, place: LatLon, snap: Snap | None) -> Snap:
    if snap is None:
        raise no_road(index, place, "place")
    return snap


def _street(index: StreetIndex, snap: Snap) -> tuple[int, ...]:
    """Return a key of the street that a point lies on.

    If the graph has no streets, all arcs between two nodes are one street, in either direction.
    """
    if index.graph.streets is not None:
        return (snap.polyline,)
    ends = index.graph.tail[snap.polyline], index.graph.head[snap.polyline]
    return tuple(sorted(map(int, ends)))


def nearest_of_each(index: StreetIndex, places: Sequence[LatLon], *, leaving: bool, reached: bool) -> list[Snap | None]:
    """Return what `StreetIndex.nearest_of_each` returns, also for places with conditions."""
    found = index.points_near(np.array(places, np.float64).reshape(-1, 2), leaving=leaving, reached=reached)
    for row, place in enumerate(places):
        if type(place) is CheckedStop:
            found[row] = next(iter(index.nearest_for(place, leaving=leaving, reached=reached)), None)
    return found


def snapped(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str]) -> list[Snap]:
    """Return the points that places are snapped to first; see `StreetIndex.trip_ends`."""
    found: list[Snap] = []
    ends = index.ends_of_trips(np.array(places, np.float64).reshape(-1, 2))
    for row, place in enumerate(places):
        if isinstance(place, CheckedStop):
            ends[row] = next(iter(index.nearest_for(place)), None)
    for place, name, snap in zip(places, names, ends, strict=True):
        if snap is None:
            raise no_road(index, place, name)
        found.append(snap)
    return found


def inside_areas(index: StreetIndex, places: Sequence[LatLon], snaps: Sequence[Snap]) -> list[Snap]:
    """Return the points of places, but the places themselves where they are inside open areas."""
    if len(index.open_areas) == 0:
        return list(snaps)
    found = [None if isinstance(place, CheckedStop) else index.inside(*place) for place in places]
    return [inside or snap for inside, snap in zip(found, snaps, strict=True)]


def past_small_components(index: StreetIndex, places: Sequence[LatLon], snaps: Sequence[Snap]) -> list[Snap]:
    """Return the points of the places of a query, those in small components replaced as the index wants it."""
    found, components = list(snaps), index.small_components
    if components is None:
        return found
    for row in components.to_replace(index, found):
        place = places[row]
        if isinstance(place, CheckedStop):
            other = next(iter(index.nearest_for(place, among=components.large)), None)
        else:
            (other,) = index.nearest_among([place], components.large)
        found[row] = other or found[row]
    return [_before_signals(index, snap) for snap in found]


def _before_signals(index: StreetIndex, snap: Snap) -> Snap:
    """Return a point at signals in the middle of a street as a point on the part of the street before them."""
    if snap.arcs is not None or not snap.is_end:
        return snap
    end = index.before_signals.item(2 * snap.polyline + (snap.fraction == 1.0))
    if end < 0:
        return snap
    line, last, at = end // 2, int(index.first[end // 2 + 1] - index.first[end // 2]) - 2, float(end % 2)
    moved = snap._replace(polyline=line, fraction=at, segment=last if at else 0, share=at)
    return moved._replace(arcs=tuple(index.arcs(line).tolist()))


def starting_points(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str]) -> list[Snap]:
    """Return the points that places are snapped to if trips only begin there.

    A point on an island, or on a street that leads nowhere, is replaced by the nearest point on a street from which the
    network's core can be reached, if there is one.
    """
    return _useful_points(index, places, names, leaving=True)


def ending_points(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str]) -> list[Snap]:
    """Return the points that places are snapped to if trips only end there; see `starting_points`."""
    return _useful_points(index, places, names, leaving=False)


def _useful_points(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str], *, leaving: bool) -> list[Snap]:
    found, is_useful = snapped(index, places, names), index.leaves if leaving else index.is_reached
    away = [i for i, snap in enumerate(found) if index.on_island(snap) or not is_useful(snap)]
    others = nearest_of_each(index, [places[i] for i in away], leaving=leaving, reached=not leaving)
    for i, other in zip(away, others, strict=True):
        found[i] = other or found[i]
    return found


def first_points(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str]) -> list[Snap]:
    """Return the points that the places of a query are snapped to first."""
    return inside_areas(index, places, past_small_components(index, places, snapped(index, places, names)))


class ViaPoints(list[LatLon]):
    """Via points of a pair, with what errors call each of them.

    Parameters
    ----------
    places : iterable of (float, float)
        The points, in the order of travel.
    labels : sequence of str, optional
        What errors call them, such as their columns; by default they are numbered from 1 on.
    """

    def __init__(self, places: Iterable[LatLon], labels: Sequence[str] | None = None) -> None:
        super().__init__(places)
        self.labels = [f"via point {at}" for at in range(1, len(self) + 1)] if labels is None else labels

    def names(self, number: int) -> list[str]:
        """Return what errors call all places of a pair of some number, its ends included."""
        begin, end = (f"{name} {number}" for name in PAIR_NAMES)
        return [begin, *(f"{label} of pair {number}" for label in self.labels), end]


def listed_vias(index: StreetIndex, vias: Any, count: int, snapping: str, first: int) -> dict[int, ViaPoints]:
    """Return the checked via points of `count` pairs by the numbers of those that have any; errors count from `first`.

    Raises
    ------
    QueryError
        If there are not as many lists of places as pairs, or a place is not on the map.
    """
    given, found = listed(vias, "via", "lists of places, one for each pair"), dict[int, ViaPoints]()
    if len(given) != count:
        raise QueryError(f"via has {len(given)} lists of places for {count} pairs; give one for each")
    for row, some in enumerate(given):
        if places := pairs_of(some, f"via[{row}]"):
            points = ViaPoints(places, some.labels if isinstance(some, ViaPoints) else None)
            names = points.names(first + row)[1:-1]
            checked = [checked_place(index, *each) for each in zip(points, names, strict=True)]
            found[row] = ViaPoints([with_snapping(place, snapping) for place in checked], points.labels)
    return found


def first_points_of_pairs(
    index: StreetIndex, origins: Sequence[LatLon], destinations: Sequence[LatLon], first: int = 0
) -> tuple[Snaps, Snaps]:
    """Return the points that the places of many routes are snapped to first: those of origins and of destinations.

    Errors call the first pair `first`.
    """
    count = len(origins)
    if index.small_components is None and len(index.open_areas) == 0:
        arrays = [_array_of(places) for places in (origins, destinations)]
        if not any(array is None for array in arrays):
            found = index.snaps_of_trips(np.concatenate(arrays))  # type: ignore[arg-type]
            if found.polyline.min() < 0:
                row = int(np.argmin(found.polyline))
                raise no_road(
                    index, (*origins, *destinations)[row], f"{PAIR_NAMES[row // count]} {first + row % count}"
                )
            return found.halves()
    places = [*origins, *destinations]
    names = [f"{name} {row}" for name in PAIR_NAMES for row in range(first, first + count)]
    snaps = snapped(index, places, names)
    if index.small_components is not None:
        for row in range(count):
            pair = [row, count + row]
            both = past_small_components(index, [places[at] for at in pair], [snaps[at] for at in pair])
            snaps[row], snaps[count + row] = both
    snaps = inside_areas(index, places, snaps)
    return Snaps.of(snaps[:count]), Snaps.of(snaps[count:])


def _array_of(places: Sequence[LatLon]) -> Floats | None:
    """Return checked places as an array, shape (k, 2); None if some of them have conditions."""
    if isinstance(places, PlaceList):
        return places.array
    return None if CheckedStop in set(map(type, places)) else np.array(places, np.float64)


def leg_apart(index: StreetIndex, places: Sequence[LatLon]) -> int:
    """Return the number of the first leg of a route between two parts of the network; 0 if there is none."""
    parts = [index.part(snap) for snap in first_points(index, places, [*map(text, places)])]
    return next((leg for leg, (part, other) in enumerate(pairwise(parts)) if part != other), 0)


def candidates(index: StreetIndex, places: Sequence[LatLon], names: Sequence[str]) -> Iterator[list[Snap]]:
    """Return an iterator of the points that the places of a route may be snapped to, in the order to try them."""
    return candidates_after(index, places, first_points(index, places, names))


def candidates_after(index: StreetIndex, places: Sequence[LatLon], nearest: list[Snap]) -> Iterator[list[Snap]]:
    """Yield what `candidates` does, given the points that the places are snapped to first."""
    if index.small_components is not None:
        yield nearest
        if not index.farther_streets:
            return
    useful = nearest_of_each(index, places[1:-1], leaving=True, reached=True) if len(places) > 2 else []
    for start, end in _ends(index, places[0], places[-1], nearest[0], nearest[-1]):
        tried: list[list[Snap]] = []
        for vias in (nearest[1:-1], useful):
            between = [snap for snap in vias if snap is not None and index.part(snap) == index.part(start)]
            # No path leads from one part of the network to another.
            if len(between) == len(vias) and between not in tried:
                tried.append(between)
                yield [start, *between, end]


def _ends(
    index: StreetIndex, origin: LatLon, destination: LatLon, start: Snap, end: Snap
) -> Iterator[tuple[Snap, Snap]]:
    """Yield the points that origin and destination may be snapped to, the nearest first if a path may join them."""
    same_part = index.part(start) == index.part(end)
    if same_part:
        yield start, end
    # A place on a real island without a connection stays there; a place on a few stray nodes does not.
    leaving: Snap | None = start
    reached: Snap | None = end
    if not index.leaves(start):
        (leaving,) = nearest_of_each(index, [origin], leaving=True, reached=False)
    if not index.is_reached(end):
        (reached,) = nearest_of_each(index, [destination], leaving=False, reached=True)
    other_start = leaving if same_part or index.on_island(start) else start
    other_end = reached if same_part or index.on_island(end) else end
    if other_start is not None and other_end is not None and (other_start, other_end) != (start, end):
        yield other_start, other_end
        # After an island is passed over, the other end may still lie on a street that cannot reach the core, or cannot
        # be reached from it.
        meet = not same_part and index.part(other_start) == index.part(other_end)
        if meet and leaving is not None and reached is not None and (leaving, reached) != (other_start, other_end):
            yield leaving, reached
