"""Routes as data: places, legs, steps and geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from vkssp.checks import choice, real_numbers
from vkssp.errors import QueryError
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.features.geojson import number
from vkssp.features.quantities import format_distance, format_duration
from vkssp.features.shaped import Shaped
from vkssp.features.shapes import dots, line
from vkssp.graph.streets import Streets
from vkssp.route_file import PARTS, points_of, route_features, write_route

if TYPE_CHECKING:
    from pathlib import Path


_Made = TypeVar("_Made")


def made(kind: type[_Made], **known: Any) -> _Made:
    """Return an object of a frozen dataclass with all of its fields; its own constructor takes three times as long."""
    new = object.__new__(kind)
    object.__setattr__(new, "__dict__", known)
    return new


class _Deferred:
    """Base of dataclasses that may make fields when they are first asked for.

    Such a field has no default that is an attribute of the class, which would hide that it is missing.
    """

    @classmethod
    def deferring(cls, makers: dict[str, Callable[[], Any]], **known: Any) -> Self:
        """Return an object with the `known` fields, and with a function for each of the others."""
        return made(cls, _makers=makers, **known)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            known = self.__dict__
            make = known.get("_makers", {}).get(name)
            if make is not None:
                known[name] = make()
                known["_makers"].pop(name, None)  # with what it refers to
            elif name not in known:  # another thread may have made it in the meantime
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return known[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, all made, so that copies and pickles do not need what makes them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Place(_Deferred, Shaped):
    """End of a route.

    Attributes
    ----------
    lat, lon : float
        The place asked for, in degrees.
    snapped_lat, snapped_lon : float
        The nearest point of the road network in degrees; the route begins or ends there.
    snapped_m : float
        Metres between the two points.
    name : str
        Name of the street there, empty if it has none.
    hint : str
        Text that names the piece of the street there, for `Stop.hint`; empty for a place of no answer.
    nodes : tuple of (int, int) or None
        OSM ids of the two ends of this piece, in the direction of travel on a one-way street; None if unknown.
    position : tuple of (int, int, float) or None
        The point on the streets of the graph: the polyline, the piece of it that begins at its point of this number,
        and the part of the piece before the point, from 0 to 1; None for a place of no answer.
    """

    lat: float
    lon: float
    snapped_lat: float
    snapped_lon: float
    snapped_m: float
    name: str = ""
    hint: str = field(default_factory=str, compare=False, repr=False)
    nodes: tuple[int, int] | None = field(default_factory=lambda: None, compare=False, repr=False)
    position: tuple[int, int, float] | None = field(default=None, compare=False, repr=False)

    @property
    def geometry(self) -> Any:
        """The point of the road network, as a shapely Point."""
        return dots(np.array([self.snapped_lat]), np.array([self.snapped_lon]))[0]

    @property
    def properties(self) -> dict[str, Any]:
        """Name of the street, metres between the two points, and the place asked for."""
        asked = {"asked_lat": float(self.lat), "asked_lon": float(self.lon)}
        return {"name": self.name, "snapped_m": number(self.snapped_m), **asked}


@dataclass(frozen=True)
class Lane:
    """Lane before an intersection.

    Attributes
    ----------
    indications : tuple of str
        Directions that are marked on the lane: "left", "slight left", "straight", "uturn", ..., or "none".
    valid : bool
        Whether the lane leads on along the route.
    """

    indications: tuple[str, ...]
    valid: bool


@dataclass(frozen=True)
class Intersection:
    """Place along a route where streets meet.

    Attributes
    ----------
    lat, lon : float
        The place, in degrees.
    bearings : tuple of int
        Directions of the streets that leave it, in degrees clockwise from north, ascending; as in OSRM multiples of 15,
        but at a departure and an arrival.
    entry : tuple of bool
        Whether each of these streets may be entered from where the route comes.
    came, out : int or None
        Index of the street that the route comes from, None at a departure, and of the one that it takes, None at an
        arrival.
    lanes : tuple of Lane
        Lanes of the street before the intersection, from left to right; empty if they are not known.
    classes : tuple of str
        Classes of the street that the route takes.
    """

    lat: float
    lon: float
    bearings: tuple[int, ...]
    entry: tuple[bool, ...]
    came: int | None
    out: int | None
    lanes: tuple[Lane, ...] = ()
    classes: tuple[str, ...] = ()


class Crossings(NamedTuple):
    """Intersections along a leg as arrays, with one entry for each of them unless said otherwise.

    Attributes
    ----------
    points : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2), float64.
    first : numpy.ndarray
        Offset of the streets of each intersection, shape (k + 1,), int64.
    bearings, entry : numpy.ndarray
        As in `Intersection`, for all streets, int64 and bool.
    ways : numpy.ndarray
        Index of the street that the route comes from, and of the one that it takes, -1 for none, shape (k, 2), int64.
    lanes : dict of int to tuple of Lane
        Lanes before the intersections that have any.
    classes : numpy.ndarray
        Classes of the street that the route takes, bits by the position of their names in `class_names`, int64.
    class_names : tuple of str
        Names of the classes.
    """

    points: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]
    bearings: npt.NDArray[np.int64]
    entry: npt.NDArray[np.bool_]
    ways: npt.NDArray[np.int64]
    lanes: dict[int, tuple[Lane, ...]]
    classes: npt.NDArray[np.int64]
    class_names: tuple[str, ...]

    def names_of(self, bits: int) -> tuple[str, ...]:
        """Return the names of some classes."""
        return tuple(name for bit, name in enumerate(self.class_names) if bits >> bit & 1)


class Intersections(Sequence[Intersection]):
    """Intersections of a step, which are made of the arrays of the leg when they are asked for.

    It equals any other sequence of the same intersections.

    Parameters
    ----------
    crossings : Crossings
        The intersections along the leg.
    begin, end : int
        The part of them that belongs to the step, without `end`.

    Attributes
    ----------
    crossings, begin, end
        As given.
    """

    def __init__(self, crossings: Crossings, begin: int, end: int) -> None:
        self.crossings, self.begin, self.end = crossings, begin, end

    def __len__(self) -> int:
        """Return how many there are."""
        return self.end - self.begin

    @overload
    def __getitem__(self, index: int) -> Intersection: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Intersection, ...]: ...
    def __getitem__(self, index: int | slice) -> Intersection | tuple[Intersection, ...]:
        """Return an intersection, or some of them."""
        numbers = range(self.begin, self.end)[index]
        return self._one(numbers) if isinstance(numbers, int) else tuple(map(self._one, numbers))

    def _one(self, number: int) -> Intersection:
        all_of_them = self.crossings
        low, high = all_of_them.first[number : number + 2].tolist()
        lat, lon = all_of_them.points[number].tolist()
        came, out = (None if way < 0 else way for way in all_of_them.ways[number].tolist())
        return Intersection(
            *(lat, lon, tuple(all_of_them.bearings[low:high].tolist()), tuple(all_of_them.entry[low:high].tolist())),
            *(came, out, all_of_them.lanes.get(number, ()), all_of_them.names_of(int(all_of_them.classes[number]))),
        )

    def __eq__(self, other: object) -> bool:
        """Return whether the other object is a sequence of equal intersections."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the tuple of the intersections."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the number of intersections."""
        return f"Intersections({len(self)})"


@dataclass(frozen=True)
class Step(_Deferred, Shaped):
    """Instruction at a place along a route, and the part of the route from there to the next step.

    Attributes
    ----------
    type : str
        Kind of manoeuvre, as OSRM names them: "depart", "turn", "continue" (the street turns), "new name", "merge",
        "on ramp", "off ramp", "fork", "end of road", "roundabout", "rotary" (a large roundabout with a name),
        "roundabout turn" (a small one, like an intersection), "exit roundabout", "exit rotary", "use lane",
        "notification" (the mode of travel changes), "arrive".
    modifier : str
        Direction: "straight", "slight right", "right", "sharp right", "uturn", "sharp left", "left" or "slight left".
        For an arrival, the side of the street that the place is on. Empty if there is no direction.
    instruction : str
        The same as an English sentence.
    name, ref : str
        Name and number of the street from here on; empty if there is none.
    way : int or None
        OSM way id of the first street from here on; None if unknown.
    exit : int or None
        Exit of the roundabout to take, counted from 1.
    distance_m : float
        Metres to the next step.
    duration_s : float or None
        Seconds to the next step, the turn here included; None if weights are not durations.
    lat, lon : float
        The place, in degrees.
    first, last : int
        First and last index, both included, of the points of the leg on the part to the next step.
    weight : int
        Weight of the part to the next step, the turn here included, in units of the weights of the graph.
    bearing_before, bearing_after : int
        Directions of travel before and after the manoeuvre, in degrees clockwise from north; 0 before a departure and
        after an arrival.
    pronunciation, destinations, exits, rotary_name : str
        How the name is spoken, places that signs name, numbers of the motorway's exit, and the name of the roundabout;
        empty if there are none.
    mode : str
        Mode of travel from here on, such as "driving" or "ferry".
    driving_side : str
        Side of the street on which traffic keeps: "right" or "left".
    intersections : sequence of Intersection
        Intersections from here on, the place of the step first, without that of the next step.
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
    weight: int = 0
    bearing_before: int = field(default=0, repr=False)
    bearing_after: int = field(default=0, repr=False)
    pronunciation: str = field(default="", repr=False)
    destinations: str = ""
    exits: str = ""
    rotary_name: str = field(default="", repr=False)
    mode: str = "driving"
    driving_side: str = "right"
    intersections: Sequence[Intersection] = field(default_factory=tuple, repr=False)

    @property
    def geometry(self) -> Any:
        """The place, as a shapely Point; `Route.features` has the line to the next step."""
        return dots(np.array([self.lat]), np.array([self.lon]))[0]

    @property
    def properties(self) -> dict[str, Any]:
        """The attributes but for the place, the indices, the weight, the bearings and the intersections."""
        return {name: getattr(self, name) for name in _STEP_PROPERTIES}


_STEP_PROPERTIES = (
    *("type", "modifier", "instruction", "name", "ref", "way", "exit", "distance_m", "duration_s"),
    *("destinations", "exits", "mode"),
)


@dataclass(frozen=True, eq=False)
class Leg(_Deferred, Shaped):
    """Part of a route between two consecutive places of the query.

    Attributes
    ----------
    nodes, arcs, parts, weight, points, distance_m, duration_s, origin, destination, osm_nodes
        As in `Route`, for this part alone.
    steps : tuple of Step
        Instructions along the leg, from the departure to the arrival; empty unless requested.

    Notes
    -----
    Points and steps are made when they are first asked for. They are those of the query, whatever happens to the router
    and its weights.
    """

    nodes: npt.NDArray[Any]
    arcs: npt.NDArray[np.int64]
    parts: npt.NDArray[np.float64]
    weight: float
    points: npt.NDArray[np.float64]
    distance_m: float
    duration_s: float | None
    origin: Place
    destination: Place
    steps: tuple[Step, ...] = field(default_factory=tuple)
    osm_nodes: npt.NDArray[np.int64] | None = field(default_factory=lambda: None)

    def __repr__(self) -> str:
        """Return length, duration and streets in one line."""
        return _short(self)

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks."""
        ends = Features({"role": ["from", "to"]}, [self.origin.geometry, self.destination.geometry])
        return drawing([Features.of(self), ends], repr(self))

    @property
    def geometry(self) -> Any:
        """The line of the leg, as a shapely LineString, or MultiLineString if it crosses the 180th meridian."""
        return line(self.points)

    @property
    def properties(self) -> dict[str, Any]:
        """Metres, seconds and weight, and the names of the streets at both ends."""
        return _figures(self)


@dataclass(frozen=True, eq=False)
class Route(_Deferred, Shaped):
    """Shortest path, with the attributes that the graph has for it.

    Attributes
    ----------
    nodes : numpy.ndarray
        Nodes passed, by id, shape (k,), uint32; or by name, int64 or object, if the graph has names.
    arcs : numpy.ndarray
        Ids of the arcs travelled, in order, int64. Between two places on streets the first and the last arc may be
        travelled only in part, and the turn into the first arc is not taken (if turns have costs). An arc with a via
        point on it appears twice.
    weight : int or float
        Weight of the route in the unit that was minimized; a float if the weights of the graph are real numbers.
    points : numpy.ndarray or None
        Latitude and longitude of the points along the route in degrees, shape (p, 2), both ends included; None for a
        graph without coordinates.
    distance_m : float or None
        Length of the route in metres; None if unknown.
    duration_s : float or None
        Duration of the route in seconds; None if weights are not durations.
    origin, destination : Place or None
        The places that the route joins; None if the query had nodes instead of coordinates.
    device : str
        Name of the device that found the route.
    algorithm : str
        Name of the algorithm that found the route.
    query_ms : float
        Milliseconds from the query to the result, snapping and path included.
    parts : numpy.ndarray or None
        Share of each arc that is travelled, by length, shape (len(arcs),), float64; None if all arcs are travelled
        whole.
    legs : tuple of Leg
        The parts of the route from the origin over the via points to the destination; empty if the query had nodes
        instead of coordinates.
    osm_nodes : numpy.ndarray or None
        OSM ids of the nodes passed, of which successive ones differ, shape (m,), int64; None if the graph has none.
        `Streets.nodes_along` has those between them, which only give streets their shape.
    """

    nodes: npt.NDArray[Any]
    arcs: npt.NDArray[np.int64]
    weight: float
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
    osm_nodes: npt.NDArray[np.int64] | None = field(default_factory=lambda: None)

    def __repr__(self) -> str:
        """Return length, duration and streets in one line."""
        return _short(self)

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks; None for a graph without coordinates, for the short text."""
        return None if self.points is None else drawing([self.features(), self.features("places")], repr(self))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Instructions of all legs; empty unless requested."""
        return tuple(step for leg in self.legs for step in leg.steps)

    @property
    def vias(self) -> tuple[Place, ...]:
        """Places between origin and destination that the query asked to pass."""
        return tuple(leg.destination for leg in self.legs[:-1])

    @property
    def places(self) -> tuple[Place, ...]:
        """Places that the route joins, with via points; for a route between nodes its first and last point."""
        if self.origin is not None and self.destination is not None:
            return (self.origin, *self.vias, self.destination)
        first, last = (Place(lat, lon, lat, lon, 0.0) for lat, lon in points_of(self)[[0, -1]].tolist())
        return (self.origin or first, *self.vias, self.destination or last)

    @property
    def geometry(self) -> Any:
        """The line of the route, as a shapely LineString, or MultiLineString if it crosses the 180th meridian.

        Raises
        ------
        QueryError
            If the graph has no coordinates.
        """
        return line(points_of(self))

    @property
    def properties(self) -> dict[str, Any]:
        """Metres, seconds and weight, and the names of the streets at both ends."""
        return _figures(self)

    def features(self, part: str = "legs") -> Features:
        """Return the route as features.

        Parameters
        ----------
        part : str
            ``"legs"``: a line for each leg, with ``leg`` (its number from 1), ``distance_m``, ``duration_s``,
            ``weight``, ``from_name`` and ``to_name`` (streets); ``"steps"``: a line to the next step for each step,
            and a point for an arrival, with the attributes of `Step`; ``"places"``: the places asked for, with
            ``role`` ("from", "via" or "to"), and ``name``, ``snapped_m``, ``snapped_lat`` and ``snapped_lon`` of the
            point on a street.

        Raises
        ------
        QueryError
            If there is no such part, or the graph has no coordinates.
        """
        return route_features(self, choice(part, "part", PARTS))

    def to_geodataframe(self, part: str = "legs") -> Any:
        """Return legs, steps or places as a geopandas GeoDataFrame in EPSG:4326; see `features`.

        Raises
        ------
        QueryError
            As `features`, or if geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return self.features(part).to_geodataframe()

    def write(self, path: str | Path) -> None:
        """Write the route to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file. Its ending says what is written: .geojson or .json as
            `vkssp.routing.geojson.route_geojson` has it; .gpkg (GeoPackage) or .kml with the layers ``legs``,
            ``places`` and, if the route has them, ``steps``; .fgb (FlatGeobuf), .parquet (GeoParquet), .shp or
            .shp.zip (Shapefile) with the legs; .gpx with the places as waypoints, a track, and the steps as a route.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError
            If the graph has no coordinates, or a library that writes the format is not installed.
        """
        write_route(path, self)

    def sum(self, values: npt.ArrayLike) -> float:
        """Return the sum of a quantity along the route, such as energy, tolls or metres of ascent.

        An arc that is travelled in part counts in proportion.

        Parameters
        ----------
        values : array_like
            The quantity of every arc of the graph, shape (num_arcs,).

        Raises
        ------
        QueryError
            If `values` is not one number per arc.
        """
        array = real_numbers(values, "values", error=QueryError)
        if len(array) <= self.arcs.max(initial=-1):
            raise QueryError(f"values has shape {array.shape}; give one number for each arc of the graph")
        along = array[self.arcs]
        return float((along if self.parts is None else along * self.parts).sum())


def _short(part: Route | Leg) -> str:
    """Return the short text of a route or a leg."""
    told = [] if part.distance_m is None else [format_distance(part.distance_m)]
    told += [f"weight {part.weight:,}" if part.duration_s is None else format_duration(part.duration_s)]
    told += [f"{len(part.nodes):,} nodes"]
    places = (("from", part.origin), ("to", part.destination))
    told += [f"{word} {place.name!r}" for word, place in places if place is not None and place.name]
    return f"{type(part).__name__}({', '.join(told)})"


def _figures(part: Route | Leg) -> dict[str, Any]:
    """Return the properties of a route or a leg."""
    names = {"from_name": part.origin, "to_name": part.destination}
    return {
        "distance_m": number(part.distance_m),
        "duration_s": number(part.duration_s),
        "weight": int(part.weight),
        **{key: "" if place is None else place.name for key, place in names.items()},
    }


def osm_nodes(streets: Streets | None, nodes: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64] | None:
    """Return the OSM ids of nodes passed, of which successive ones differ; None if streets have no such ids."""
    return None if streets is None or streets.node is None else without_repeats(streets.node[nodes])


def without_repeats(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return ids without those that equal the one before them."""
    different: npt.NDArray[np.int64] = ids[np.diff(ids, prepend=~ids[:1]) != 0]
    return different


def along(
    lat: npt.NDArray[np.float64] | None,
    lon: npt.NDArray[np.float64] | None,
    streets: Streets | None,
    nodes: npt.NDArray[np.uint32],
    arcs: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64] | None:
    """Return the points along whole consecutive arcs.

    Parameters
    ----------
    lat, lon, streets
        As in the graph.
    nodes : numpy.ndarray
        Ids of the nodes passed, at least one.
    arcs : numpy.ndarray
        Ids of the arcs between them, one fewer.

    Returns
    -------
    numpy.ndarray or None
        Latitude and longitude in degrees, shape (p, 2); None for a graph without coordinates.
    """
    if lat is None or lon is None:
        return None
    if streets is None or len(arcs) == 0:
        return np.stack([lat[nodes], lon[nodes]], axis=1)
    return streets.points_along(arcs)
