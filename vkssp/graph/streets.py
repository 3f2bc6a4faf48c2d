"""Attributes of the arcs of an imported map, beside weights: length, street name, OSM way and geometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief, fixed, own
from vkssp.checks import array_of, dtype_of, ids_among, number_of, shown, unmasked, whole_number, whole_numbers
from vkssp.errors import GraphError
from vkssp.graph.basemap import Basemap
from vkssp.graph.csr import ranges, within
from vkssp.graph.geo import ground_metres, haversine
from vkssp.graph.manoeuvres import is_packed
from vkssp.graph.open_areas import is_packed as is_packed_areas

#: OpenStreetMap stores coordinates as integers in 1e-7 degrees; geometry keeps this unit, without loss.
COORDINATE_SCALE = 1e-7
#: Latitude of the pole and longitude of the date line in the same unit.
LAST_LAT, LAST_LON = 900_000_000, 1_800_000_000
#: Metres of the longest street: ten times the Earth's circumference. In tenths of a metre they fit into 32 bits.
MOST_METRES = 4e8
#: Most units of `Streets.piece_weight` that profiles and files of speeds give a piece, as in OSRM.
MOST_PIECE_UNITS = 2**22 - 2
#: Seconds of the whole units of which the values of `Streets.piece_seconds` are multiples.
SECONDS_OF_PIECES = 0.1
#: Bounds of the seconds per unit of weight; within them no duration leaves the range of single precision.
_LEAST_SECONDS, _MOST_SECONDS = 1e-18, 1e9
#: Names of the modes of travel, as OSRM has them; `Streets.mode` holds indices into them.
MODES = (
    "driving",
    "cycling",
    "walking",
    "ferry",
    "train",
    "pushing bike",
    "movable bridge",
    "steps up",
    "steps down",
    "river upstream",
    "river downstream",
    "route",
)
#: Number of the parts of a trip that a node may serve; see `Streets.layer`.
_NUM_LAYERS = 3


@dataclass(frozen=True, eq=False)
class Streets:
    """Attributes of the arcs of an imported road network.

    Both arcs of a two-way street share one polyline; one of the arcs runs along it backward. Arrays that may change are
    copied, as in `vkssp.Graph.from_csr`.

    Attributes
    ----------
    length : numpy.ndarray
        Length of each arc in metres, shape (num_arcs,), float32.
    way : numpy.ndarray
        OSM way id of each arc, shape (num_arcs,), int64.
    carried : numpy.ndarray
        Whether the arc is a ferry or a train that carries the traveller; no trip begins or ends on it. Shape
        (num_arcs,), bool.
    name : numpy.ndarray
        Index into `names` for each arc, shape (num_arcs,), uint32.
    names : tuple of str
        Street names; entry 0 is the empty string.
    polyline : numpy.ndarray
        Index of the polyline that each arc runs along, shape (num_arcs,), uint32.
    backward : numpy.ndarray
        Whether the arc runs along its polyline from its end to its start, shape (num_arcs,), bool.
    polyline_first : numpy.ndarray
        Offset of each polyline's first point in `points`, shape (num_polylines + 1,), uint32.
    points : numpy.ndarray
        Latitude and longitude of the polylines' points, their two ends included, in 1e-7 degrees,
        shape (num_points, 2), int32.
    seconds_per_weight : float
        Seconds for one unit of `Graph.weight`; 0 if weights are not durations.
    junction : numpy.ndarray or None
        Number of the place of each node, shape (num_nodes,), uint32. In a graph with turns a place may have several
        nodes, for travellers who arrived by different streets; they share one number. None if each node is a place.
    turn : numpy.ndarray or None
        Part of each arc's weight that the turn into it takes, before any of its length is travelled, shape
        (num_arcs,), uint32; None if turns cost nothing.
    turn_bonus : numpy.ndarray or None
        Weight by which the turn into each arc makes the arc's weight less, as turns of less than no time do, shape
        (num_arcs,), uint32. Trips that begin on the arc weigh it without. 0 where `turn` is more than 0; None if there
        are no such turns.
    memory : numpy.ndarray or None
        In a graph with turns, what a traveller at each node remembers of the path there, as a number: 0 is nothing, and
        of two nodes at the end of one street the one that remembers more streets before it has the greater number,
        unless an older version saved the graph. Trips begin with what remembers least. Shape (num_nodes,), uint32; None
        for a graph saved by a version without this array, in which trips may begin with any.
    layer : numpy.ndarray or None
        In a graph with turns and with streets for residents and guests, the part of a trip that each node serves: 0 the
        middle, 1 the start, 2 the end. Shape (num_nodes,), uint8.
    ref : numpy.ndarray or None
        Index into `names` of each arc's road number, such as "E 15", shape (num_arcs,), uint32; None if unknown.
    roundabout, link : numpy.ndarray or None
        Whether each arc is part of a roundabout, and whether it is a slip road, shape (num_arcs,) each, bool; None if
        unknown.
    road_class : numpy.ndarray or None
        Rank of each arc among roads, 0 a motorway, to 31, with bits of ``vkssp.osm.guide.Guide``, shape (num_arcs,),
        uint8; None if unknown, as the following arrays for instructions.
    num_lanes : numpy.ndarray or None
        Number of lanes of both directions, 0 if unknown, shape (num_arcs,), uint8.
    lanes : numpy.ndarray or None
        Index into `names` of the directions of each arc's lanes, as in the tag ``turn:lanes``, shape (num_arcs,),
        uint32.
    destinations, exits, pronunciation : numpy.ndarray or None
        Indices into `names` of the places that signs name on each arc, of the numbers of the exit that it is, and of
        how its name is spoken, shape (num_arcs,) each, uint32.
    snappable : numpy.ndarray or None
        Whether places may be snapped to each arc, so that trips begin and end there, shape (num_arcs,), bool; None if
        places may be snapped to all arcs that are not `carried`.
    seconds, turn_seconds : numpy.ndarray or None
        Seconds that each arc takes with the turn into it, and those of the turn, which may be less than 0, shape
        (num_arcs,) each, float32; None if weights are durations, or if no durations are known.
    mode : numpy.ndarray or None
        Mode of travel of each arc, an index into ``MODES``, shape (num_arcs,), uint8; None if unknown.
    classes : numpy.ndarray or None
        Classes of each arc as a bit mask: the lowest bit is for the first of `class_names`. Shape (num_arcs,), uint32;
        None if unknown.
    left_hand : numpy.ndarray or None
        Whether traffic keeps left on each arc, shape (num_arcs,), bool; None if unknown.
    weight_name : str
        What weights are: "duration", "distance", or another name, such as "routability"; empty if unknown.
    ellipsoid : bool
        Whether lengths are those on the ellipsoid WGS84 by ``vkssp.graph.geo.ground_metres``, not on a sphere.
    class_names : tuple of str
        Names of classes of streets, such as "toll", 32 at most.
    node : numpy.ndarray or None
        OSM node id of each node, shape (num_nodes,), int64; several nodes have the same one in a graph with turns and
        at barriers. None if unknown, as in a graph saved by a version without this array.
    point_node : numpy.ndarray or None
        OSM node id of each point of `points`, shape (num_points,), int64; None if unknown.
    piece_weight : numpy.ndarray or None
        Weight of the piece of a polyline after each point, along the polyline and against it, shape (num_points, 2),
        uint32; 0 after the last point. Where the pieces of an arc sum up to its weight without the turn, a part of the
        arc weighs the whole units up to its ends; elsewhere, and if this is None, its share by length.
    piece_seconds : numpy.ndarray or None
        The same in seconds, float32, if weights are not durations.
    manoeuvres : numpy.ndarray or None
        Instructions that the map gives itself, as ``vkssp.graph.manoeuvres.packed`` has them, int64; None if there are
        none.
    source : numpy.ndarray or None
        Where the speed of the piece from each point to the next one of its polyline is from, along the polyline and
        against it: 0 for the profile, otherwise an index into `source_names`. Shape (num_points, 2), uint8; None if
        all speeds are the profile's.
    source_names : tuple of str
        Names of sources of speeds, the profile's first.
    open_areas : numpy.ndarray or None
        Areas that are crossed in straight lines, as ``vkssp.graph.open_areas.packed`` has them, int64; None if there
        are none.
    basemap : Basemap or None
        Coast, water and names of places that maps show beside the streets; None if there are none.
    """

    __repr__ = brief

    length: npt.NDArray[np.float32]
    way: npt.NDArray[np.int64]
    carried: npt.NDArray[np.bool_]
    name: npt.NDArray[np.uint32]
    names: tuple[str, ...]
    polyline: npt.NDArray[np.uint32]
    backward: npt.NDArray[np.bool_]
    polyline_first: npt.NDArray[np.uint32]
    points: npt.NDArray[np.int32]
    seconds_per_weight: float = 0.0
    junction: npt.NDArray[np.uint32] | None = None
    turn: npt.NDArray[np.uint32] | None = None
    memory: npt.NDArray[np.uint32] | None = None
    layer: npt.NDArray[np.uint8] | None = None
    ref: npt.NDArray[np.uint32] | None = None
    roundabout: npt.NDArray[np.bool_] | None = None
    link: npt.NDArray[np.bool_] | None = None
    snappable: npt.NDArray[np.bool_] | None = None
    road_class: npt.NDArray[np.uint8] | None = None
    num_lanes: npt.NDArray[np.uint8] | None = None
    lanes: npt.NDArray[np.uint32] | None = None
    destinations: npt.NDArray[np.uint32] | None = None
    exits: npt.NDArray[np.uint32] | None = None
    pronunciation: npt.NDArray[np.uint32] | None = None
    seconds: npt.NDArray[np.float32] | None = None
    turn_seconds: npt.NDArray[np.float32] | None = None
    mode: npt.NDArray[np.uint8] | None = None
    classes: npt.NDArray[np.uint32] | None = None
    left_hand: npt.NDArray[np.bool_] | None = None
    weight_name: str = ""
    ellipsoid: bool = False
    class_names: tuple[str, ...] = ()
    node: npt.NDArray[np.int64] | None = None
    point_node: npt.NDArray[np.int64] | None = None
    manoeuvres: npt.NDArray[np.int64] | None = None
    piece_weight: npt.NDArray[np.uint32] | None = None
    piece_seconds: npt.NDArray[np.float32] | None = None
    open_areas: npt.NDArray[np.int64] | None = None
    source: npt.NDArray[np.uint8] | None = None
    source_names: tuple[str, ...] = ("profile",)
    basemap: Basemap | None = None
    turn_bonus: npt.NDArray[np.uint32] | None = None

    #: Arrays with one entry per arc; they follow the arcs when a graph is renumbered.
    PER_ARC = ("length", "way", "carried", "name", "polyline", "backward")
    #: Optional arrays with one entry per arc, and with one entry per node.
    #: Those that are indices into `names`.
    TEXTS_OR_NONE = ("ref", "lanes", "destinations", "exits", "pronunciation")
    PER_ARC_OR_NONE = (
        *("turn", "turn_bonus", "roundabout", "link", "snappable", "road_class", "num_lanes", *TEXTS_OR_NONE),
        *("seconds", "turn_seconds", "mode", "classes", "left_hand"),
    )
    PER_NODE_OR_NONE = ("junction", "memory", "layer", "node")
    #: Arrays that belong to the map as a whole, and those of them that a map may lack.
    SHARED = ("polyline_first", "points")
    SHARED_OR_NONE = ("point_node", "manoeuvres", "piece_weight", "piece_seconds", "open_areas", "source")
    #: Types of all arrays; an array that a graph does not have is None.
    DTYPES: ClassVar[dict[str, type]] = {
        "length": np.float32,
        "way": np.int64,
        "carried": np.bool_,
        "name": np.uint32,
        "polyline": np.uint32,
        "backward": np.bool_,
        "polyline_first": np.uint32,
        "points": np.int32,
        "junction": np.uint32,
        "turn": np.uint32,
        "turn_bonus": np.uint32,
        "memory": np.uint32,
        "layer": np.uint8,
        "ref": np.uint32,
        "roundabout": np.bool_,
        "link": np.bool_,
        "snappable": np.bool_,
        "road_class": np.uint8,
        "num_lanes": np.uint8,
        "lanes": np.uint32,
        "destinations": np.uint32,
        "exits": np.uint32,
        "pronunciation": np.uint32,
        "seconds": np.float32,
        "turn_seconds": np.float32,
        "mode": np.uint8,
        "classes": np.uint32,
        "left_hand": np.bool_,
        "node": np.int64,
        "point_node": np.int64,
        "manoeuvres": np.int64,
        "piece_weight": np.uint32,
        "piece_seconds": np.float32,
        "open_areas": np.int64,
        "source": np.uint8,
    }

    def __post_init__(self) -> None:
        """Protect the arrays from changes."""
        for name in self.DTYPES:
            array: Any = getattr(self, name)
            if isinstance(array, np.ndarray):
                array = np.asarray(unmasked(array, f"streets.{name}", GraphError))
                object.__setattr__(self, name, fixed(array))
        for name in ("names", "class_names", "source_names"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks."""
        return _remade, (type(self), {field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def turns(self) -> str:
        """Kind of turns in the graph: "none", "restrictions" or "costs"."""
        return "none" if self.junction is None else "restrictions" if self.turn is None else "costs"

    @cached_property
    def turn_weight(self) -> npt.NDArray[np.int64] | npt.NDArray[np.uint32] | None:
        """Weight of the turn into each arc, `turn` less `turn_bonus`, shape (num_arcs,); None if turns cost nothing."""
        turn, bonus = self.turn, self.turn_bonus
        return turn if turn is None or bonus is None else own(turn.astype(np.int64) - bonus)

    def check(self, num_arcs: int, num_nodes: int | None = None) -> None:
        """Raise `GraphError` unless the arrays fit each other and a graph of `num_arcs` arcs and `num_nodes` nodes."""
        num_arcs = whole_number(num_arcs, "num_arcs", 0, 2**32 - 1, error=GraphError)
        if num_nodes is not None:
            num_nodes = whole_number(num_nodes, "num_nodes", 0, 2**32 - 2, error=GraphError)
        optional = self.PER_ARC_OR_NONE + self.PER_NODE_OR_NONE + self.SHARED_OR_NONE
        for name, dtype in self.DTYPES.items():
            array: Any = getattr(self, name)
            if array is None and name in optional:
                continue
            if not isinstance(array, np.ndarray):
                raise GraphError(f"streets.{name} is {shown(array)}; give an array of dtype {np.dtype(dtype)}")
            if array.dtype != dtype:
                raise GraphError(f"streets.{name} has dtype {dtype_of(array)}; give {np.dtype(dtype)}")
        if not isinstance(self.names, tuple) or not all(isinstance(name, str) for name in self.names):
            raise GraphError(f"streets.names is {shown(self.names)}; give a tuple of texts")
        arrays = {name: (num_arcs, "arc") for name in self.PER_ARC + self.PER_ARC_OR_NONE}
        if num_nodes is not None:
            arrays |= {name: (num_nodes, "node") for name in self.PER_NODE_OR_NONE}
        for name, (size, what) in arrays.items():
            array = getattr(self, name)
            if array is None:
                continue
            if array.shape != (size,):
                raise GraphError(f"streets.{name} has shape {array.shape}; give one entry per {what}, {size}")
        first, points = self.polyline_first, self.points
        if points.ndim != 2 or points.shape[1:] != (2,):
            raise GraphError(f"streets.points has shape {points.shape}; give (number of points, 2)")
        if self.point_node is not None and self.point_node.shape != (len(points),):
            raise GraphError(
                f"streets.point_node has shape {self.point_node.shape}; give one id per point, {len(points)}"
            )
        for name in ("piece_weight", "piece_seconds"):
            pieces = getattr(self, name)
            if pieces is not None and pieces.shape != (len(points), 2):
                raise GraphError(f"streets.{name} has shape {pieces.shape}; give two values per point, {len(points)}")
        # Column by column, which takes a tenth of the time of both at once.
        columns = zip(points.T, (LAST_LAT, LAST_LON), strict=True)
        if len(points) and any(column.max() > last or column.min() < -last for column, last in columns):
            raise GraphError("streets.points holds one that is not on the Earth; give 1e-7 degrees north and east")
        if first.ndim != 1 or len(first) == 0 or first[0] != 0 or int(first[-1]) != len(points):
            raise GraphError("streets.polyline_first must start at 0 and end at the number of points")
        if np.any(np.diff(first.astype(np.int64)) < 2):
            raise GraphError("streets.polyline_first gives a polyline fewer than two points")
        if num_arcs and int(self.polyline.max()) >= len(first) - 1:
            raise GraphError("streets.polyline names a polyline that does not exist")
        for label in ("name", *self.TEXTS_OR_NONE):
            index = getattr(self, label)
            if index is not None and (not self.names or (num_arcs and int(index.max()) >= len(self.names))):
                raise GraphError(f"streets.{label} holds an index outside streets.names")
        if self.names and self.names[0]:
            raise GraphError("streets.names begins with a name; its first entry is for streets without one, and empty")
        seconds = number_of(self.seconds_per_weight)
        if seconds is None or (seconds != 0 and not _LEAST_SECONDS <= seconds <= _MOST_SECONDS):
            given = shown(self.seconds_per_weight)
            raise GraphError(
                f"streets.seconds_per_weight is {given}; give {_LEAST_SECONDS:g} to {_MOST_SECONDS:g}, or 0 for none"
            )
        self._check_travel()
        wrong = ~((self.length >= 0) & (self.length <= MOST_METRES))  # NaN is neither
        if wrong.any():
            at = int(np.argmax(wrong))
            raise GraphError(f"streets.length[{at}] is {self.length[at]:g}; give metres from 0 to {MOST_METRES:.0f}")
        if self.turn_bonus is not None:
            if self.turn is None:
                raise GraphError("streets.turn_bonus is given without streets.turn; give both, or leave the bonus out")
            both = (self.turn > 0) & (self.turn_bonus > 0)
            if both.any():
                at = int(np.argmax(both))
                raise GraphError(f"streets.turn_bonus[{at}] is {self.turn_bonus[at]} though streets.turn is not 0")
        if self.layer is not None and num_nodes and int(self.layer.max()) >= _NUM_LAYERS:
            at = int(np.argmax(self.layer))
            raise GraphError(f"streets.layer[{at}] is {self.layer[at]}; give 0 to {_NUM_LAYERS - 1}")

    def _check_travel(self) -> None:
        """Raise `GraphError` unless durations, modes and classes fit each other."""
        if not isinstance(self.weight_name, str):
            raise GraphError(f"streets.weight_name is {shown(self.weight_name)}; give a text")
        if not isinstance(self.ellipsoid, bool):
            raise GraphError(f"streets.ellipsoid is {shown(self.ellipsoid)}; give True or False")
        names = self.class_names
        if not isinstance(names, tuple) or len(names) > 32 or not all(isinstance(name, str) for name in names):
            raise GraphError(f"streets.class_names is {shown(names)}; give a tuple of at most 32 texts")
        if self.manoeuvres is not None and not is_packed(self.manoeuvres):
            raise GraphError("streets.manoeuvres is no list of manoeuvres; make it by vkssp.graph.manoeuvres.packed")
        if self.open_areas is not None and not is_packed_areas(self.open_areas):
            raise GraphError("streets.open_areas is no list of areas; make it by vkssp.graph.open_areas.packed")
        sources = self.source_names
        if not isinstance(sources, tuple) or not sources or not all(isinstance(name, str) for name in sources):
            raise GraphError(f"streets.source_names is {shown(sources)}; give a tuple of texts, the profile's first")
        if self.source is not None:
            if self.source.shape != (len(self.points), 2):
                raise GraphError(
                    f"streets.source has shape {self.source.shape}; give two per point, ({len(self.points)}, 2)"
                )
            if int(self.source.max(initial=0)) >= len(sources):
                raise GraphError("streets.source holds an index outside streets.source_names")
        if self.basemap is not None and not isinstance(self.basemap, Basemap):
            raise GraphError(f"streets.basemap is {shown(self.basemap)}; give a Basemap, or leave it out")
        if self.mode is not None and self.mode.max(initial=0) >= len(MODES):
            raise GraphError(
                f"streets.mode holds {int(self.mode.max())}; give indices into MODES, 0 to {len(MODES) - 1}"
            )
        if self.classes is not None and int(self.classes.max(initial=0)) >> len(names):
            raise GraphError("streets.classes holds a class outside streets.class_names")
        for name in ("seconds", "turn_seconds", "piece_seconds"):
            array = getattr(self, name)
            least = -np.inf if name == "turn_seconds" else 0
            if array is not None and not ((array >= least) & np.isfinite(array)).all():
                raise GraphError(f"streets.{name} holds a number that is no duration; give finite seconds from 0")
        if self.seconds is not None and self.seconds_per_weight:
            raise GraphError("streets.seconds are given though weights are durations; leave one of the two out")

    def take(self, arcs: npt.NDArray[Any], nodes: npt.NDArray[Any] | None = None) -> Streets:
        """Return the attributes of the given arcs and nodes, in their order; the geometry is shared, not copied.

        Raises
        ------
        GraphError
            If an arc or node does not exist.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        kinds: list[tuple[tuple[str, ...], Any, str]] = [(self.PER_ARC + self.PER_ARC_OR_NONE, arcs, "arc")]
        if nodes is not None:
            kinds.append((self.PER_NODE_OR_NONE, nodes, "node"))
        for names, ids, kind in kinds:
            known = [name for name in names if values[name] is not None]
            if known:
                index = ids_among(ids, f"{kind}s", kind, len(values[known[0]]))
                values |= {name: own(values[name][index]) for name in known}
        return Streets(**values)

    def in_units(self, unit: float, weight: npt.NDArray[np.uint32]) -> Streets:
        """Return the attributes for weights in other units, each of which is `unit` of the present ones.

        Weights of turns are rounded, and to no more than the weights of the arcs, shape (num_arcs,), if only the
        rounding of either makes them larger.

        Raises
        ------
        GraphError
            If weights are durations, and a unit would be too short or too long.
        """
        turn, bonus = self.turn, self.turn_bonus
        if bonus is not None:
            bonus = own(np.rint(np.minimum(bonus / unit, 2.0**32 - 1)).astype(np.uint32))
        if turn is not None:
            exact = np.minimum(turn / unit, 2.0**32 - 1)
            rounded = np.rint(exact).astype(np.uint32)
            turn = own(np.where(exact - weight <= 1.0 + 0.5 / unit, np.minimum(rounded, weight), rounded))
        seconds = self.seconds_per_weight * unit
        if seconds and not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
            raise GraphError(f"a unit of weight would be {seconds:g} s; give a scale by which it is nearer to a second")
        return replace(self, turn=turn, turn_bonus=bonus, seconds_per_weight=seconds)

    def without_turns(self, weight: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """Return the weights of arcs without the turns into them, shape (num_arcs,), given the weights with turns.

        Raises
        ------
        GraphError
            If a weight is invalid, if the number of weights is not the number of arcs, or if a weight is less than the
            weight of its turn.
        """
        weights = whole_numbers(weight, "weight", "weights", 2**32 - 1)
        if len(weights) != len(self.length):
            raise GraphError(f"weight has {len(weights)} entries; give one per arc, {len(self.length)}")
        if self.turn is None:
            return weights
        if (weights < self.turn).any():
            at = int(np.argmax(weights < self.turn))
            raise GraphError(f"weight[{at}] is {weights[at]}, less than the {self.turn[at]} that the turn takes")
        if self.turn_bonus is None:
            return weights - self.turn
        driven = weights.astype(np.int64) - self.turn + self.turn_bonus
        return np.asarray(np.minimum(driven, 2**32 - 1), np.uint32)

    @property
    def measure(self) -> Callable[..., Any]:
        """Function that returns the metres between points in degrees, as lengths are measured; see `ellipsoid`."""
        return ground_metres if self.ellipsoid else haversine

    @cached_property
    def passed_weight(self) -> npt.NDArray[np.int64] | None:
        """Weight of the pieces from the start of each polyline to each of its points, and from its end, if known.

        Shape (num_points, 2), int64; computed on first access.
        """
        if self.piece_weight is None:
            return None
        first = self.polyline_first.astype(np.int64)
        count = np.diff(first)
        passed = np.zeros((len(self.points) + 1, 2), np.int64)
        np.cumsum(self.piece_weight, axis=0, dtype=np.int64, out=passed[1:])
        along = passed[:-1, 0] - np.repeat(passed[first[:-1], 0], count)
        against = np.repeat(passed[first[1:] - 1, 1], count) - passed[:-1, 1]
        return own(np.stack([along, against], axis=1))

    @cached_property
    def counted_from_end(self) -> npt.NDArray[np.bool_]:
        """Whether whole units of a part of a piece are counted from the end of each polyline, shape (num_polylines,).

        As in OSRM they are counted in the direction of one-way streets, and from the node with the lesser OSM id on
        others.
        """
        first = self.polyline_first.astype(np.int64)
        start, end = first[:-1], first[1:] - 1
        passed, ids = self.passed_weight, self.point_node
        if passed is None or ids is None:
            return own(np.zeros(len(start), np.bool_))
        along, against = passed[end, 0] > 0, passed[start, 1] > 0
        return own(against & (~along | (ids[start] > ids[end])))

    @cached_property
    def _by_way(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Arcs sorted by way, and the way of each of them; computed on first access."""
        return _sorted(self.way)

    @cached_property
    def _by_node(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """Nodes sorted by OSM id, and the id of each of them, if known; computed on first access."""
        return None if self.node is None else _sorted(self.node)

    def arcs_of_ways(self, ways: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the arcs that are parts of OSM ways.

        Parameters
        ----------
        ways : array_like
            OSM ids, integers, shape (k,).

        Returns
        -------
        arcs : numpy.ndarray
            Ids of the arcs of the first way, then of the second way and so on, ascending for each way, int64. A way
            that the graph does not have contributes no arcs.
        which : numpy.ndarray
            For each arc the index of its way in `ways`, int64.

        Raises
        ------
        GraphError
            If `ways` are not integers.
        """
        return _places_of(ways, "ways", "OSM way ids", *self._by_way)

    def polyline_points(self, polyline: int) -> npt.NDArray[np.float64]:
        """Return one polyline's points as latitude and longitude in degrees, shape (k, 2).

        Raises
        ------
        GraphError
            If the polyline does not exist.
        """
        first = self.polyline_first
        polyline = whole_number(polyline, "polyline", 0, len(first) - 2, error=GraphError)
        return np.asarray(self.points[first[polyline] : first[polyline + 1]] * COORDINATE_SCALE, np.float64)

    def points_along(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the points that arcs pass from the tail of the first to the head of the last, in degrees.

        Parameters
        ----------
        arcs : numpy.ndarray
            Arcs that follow each other, at least one, shape (k,), int64.

        Returns
        -------
        numpy.ndarray
            Latitude and longitude, shape (p, 2); a point that two arcs share appears once.

        Raises
        ------
        GraphError
            If an arc does not exist.
        """
        return np.asarray(self.points[self._places_along(arcs)] * COORDINATE_SCALE, np.float64)

    def nodes_along(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the OSM ids of the nodes that arcs pass, also of those that only give a street its shape.

        Parameters
        ----------
        arcs : numpy.ndarray
            Arcs that follow each other, at least one, shape (k,), int64.

        Returns
        -------
        numpy.ndarray
            Node ids, one for each point of `points_along`, shape (p,), int64.

        Raises
        ------
        GraphError
            If an arc does not exist, or the graph has no ids of points.
        """
        if self.point_node is None:
            raise GraphError("these streets have no OSM ids of their points; import the extract again")
        return self.point_node[self._places_along(arcs)]

    def nodes_of(self, ids: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the nodes of the graph that are OSM nodes.

        Parameters
        ----------
        ids : array_like
            OSM node ids, integers, shape (k,).

        Returns
        -------
        nodes : numpy.ndarray
            Nodes that have the first id, then those of the second id and so on, ascending for each id, int64. An OSM
            node that is no node of the graph contributes none.
        which : numpy.ndarray
            For each node the index of its id in `ids`, int64.

        Raises
        ------
        GraphError
            If `ids` are not integers, or the graph has no OSM node ids.
        """
        if self._by_node is None:
            raise GraphError("these streets have no OSM ids of their nodes; import the extract again")
        return _places_of(ids, "ids", "OSM node ids", *self._by_node)

    def _places_along(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the indices in `points` of the points that arcs pass."""
        ids = ids_among(arcs, "arcs", "arc", len(self.length))
        line, backward = self.polyline[ids].astype(np.int64), self.backward[ids]
        bounds = self.polyline_first.astype(np.int64)
        first, end = bounds[line], bounds[line + 1]
        step = np.where(backward, -1, 1)
        begun = (np.arange(len(ids)) > 0).astype(np.int64)
        count = end - first - begun
        start = np.where(backward, end - 1, first) + step * begun
        return np.asarray(np.repeat(start, count) + np.repeat(step, count) * within(count), np.int64)

    def arc_name(self, arc: int) -> str:
        """Return the street name of an arc, or "" if it has none; raise `GraphError` if the arc does not exist."""
        return self.names[int(self.name[self._arc(arc)])]

    def arc_ref(self, arc: int) -> str:
        """Return the road number of an arc, or "" if unknown; raise `GraphError` if the arc does not exist."""
        arc = self._arc(arc)
        return "" if self.ref is None else self.names[int(self.ref[arc])]

    def _arc(self, arc: int) -> int:
        return whole_number(arc, "arc", 0, len(self.length) - 1, error=GraphError)


def _sorted(ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the places of ids in the order of the ids, and the ids in this order."""
    order = np.argsort(ids, kind="stable")
    return order, ids[order]


def _places_of(
    ids: npt.ArrayLike, argument: str, what: str, order: npt.NDArray[np.int64], by_order: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the places at which sorted arrays have each of some ids, and for each place the index of its id."""
    given = array_of(ids, argument, what)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise GraphError(f"{argument} has shape {given.shape} and dtype {dtype_of(given)}; give {what}, integers")
    wanted = given.astype(np.int64)
    first, end = np.searchsorted(by_order, wanted), np.searchsorted(by_order, wanted, "right")
    count = end - first
    return order[ranges(first, count)], np.repeat(np.arange(len(wanted)), count)


def _remade(kind: type[Streets], values: dict[str, Any]) -> Streets:
    """Return streets made of the parts of copied or pickled streets."""
    streets = kind(**values)
    streets.check(np.size(streets.length))
    return streets
