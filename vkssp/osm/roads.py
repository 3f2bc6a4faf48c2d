"""Ways that a vehicle may use, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.osm.clock import Clock
from vkssp.osm.guide import Guide
from vkssp.osm.restrictions import Restriction
from vkssp.osm.turn_tags import RawTurns

#: Arrays of `RawRoads` with an entry per way.
_PER_WAY = (
    "way",
    "speed",
    "factor",
    "travel",
    "restricted",
    "duration",
    "carried",
    "snappable",
    "name",
    "ref",
    "roundabout",
    "link",
)


@dataclass(frozen=True, eq=False)
class RawRoads:
    """Ways that a vehicle may use, as in the file.

    Attributes
    ----------
    node : numpy.ndarray
        OSM ids of the ways' nodes, one way after the other, shape (num_references,), int64.
    lat, lon : numpy.ndarray
        Coordinates of these nodes in 1e-7 degrees, shape (num_references,), int32.
    known : numpy.ndarray
        Whether the file holds each of these nodes, at valid coordinates, shape (num_references,), bool.
    first : numpy.ndarray
        Offset of each way's first node, shape (num_ways + 1,), int64.
    way : numpy.ndarray
        OSM ids of the ways, shape (num_ways,), int64.
    speed : numpy.ndarray
        Speed in km/h along each way and against it, 0 where not allowed, shape (num_ways, 2), float64.
    restricted : numpy.ndarray
        Whether each direction serves only the ends of a trip, shape (num_ways, 2), bool.
    duration : numpy.ndarray
        Seconds that each way takes from end to end, NaN if only its speed is known, shape (num_ways,), float64.
    carried : numpy.ndarray
        Whether each way carries the vehicle, as ferries do, shape (num_ways,), bool.
    snappable : numpy.ndarray
        Whether a trip may begin and end on each way, shape (num_ways,), bool.
    name : numpy.ndarray
        Index into `names` of each way, shape (num_ways,), uint32.
    names : tuple of str
        Names and numbers of streets; entry 0 is the empty string.
    ref : numpy.ndarray
        Index into `names` of each way's number, shape (num_ways,), uint32.
    roundabout, link : numpy.ndarray
        Whether each way is part of a roundabout, and whether it is a slip road, shape (num_ways,) each, bool.
    guide : numpy.ndarray or None
        Index into `guides` of each way, shape (num_ways,), int64; None if instructions know names and numbers only.
    guides : tuple of Guide
        What the tags of ways tell for instructions.
    blocked : numpy.ndarray
        OSM ids of the nodes that cannot be passed, shape (num_blocked,), int64.
    slow : numpy.ndarray
        OSM ids of the nodes that take time to pass, shape (num_slow,), int64.
    slow_seconds : numpy.ndarray
        Seconds that each node of `slow` takes, shape (num_slow,), float64.
    factor : numpy.ndarray or None
        Factor of the speed for weights that are no durations, along each way and against it, shape (num_ways, 2),
        float64; None if it is 1 everywhere.
    travel : numpy.ndarray or None
        Of each way, shape (num_ways, 5), int64: index into `vkssp.graph.streets.MODES` along it and against it, classes
        in both directions as bit masks, and whether traffic keeps left. None if unknown.
    class_names : tuple of str
        Names of the classes.
    turns : RawTurns or None
        What the file says about turns; None if turns were not requested.
    place : numpy.ndarray or None
        Index of each node of `node` among the distinct ones, sorted by id, if it is known; shape (num_references,).
    """

    node: npt.NDArray[np.int64]
    lat: npt.NDArray[np.int32]
    lon: npt.NDArray[np.int32]
    known: npt.NDArray[np.bool_]
    first: npt.NDArray[np.int64]
    way: npt.NDArray[np.int64]
    speed: npt.NDArray[np.float64]
    restricted: npt.NDArray[np.bool_]
    duration: npt.NDArray[np.float64]
    carried: npt.NDArray[np.bool_]
    snappable: npt.NDArray[np.bool_]
    name: npt.NDArray[np.uint32]
    names: tuple[str, ...]
    ref: npt.NDArray[np.uint32]
    roundabout: npt.NDArray[np.bool_]
    link: npt.NDArray[np.bool_]
    blocked: npt.NDArray[np.int64]
    slow: npt.NDArray[np.int64]
    slow_seconds: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64] | None = None
    travel: npt.NDArray[np.int64] | None = None
    class_names: tuple[str, ...] = ()
    turns: RawTurns | None = None
    guide: npt.NDArray[np.int64] | None = None
    guides: tuple[Guide, ...] = ()
    place: npt.NDArray[Any] | None = None

    @property
    def places(self) -> npt.NDArray[Any]:
        """The index of each node among the distinct ones, as `place`."""
        return np.unique(self.node, return_inverse=True)[1] if self.place is None else self.place

    def without_nodes(self) -> RawRoads:
        """Return the roads without their nodes, which need most of the memory."""
        kept = {name: getattr(self, name)[:0].copy() for name in ("node", "lat", "lon", "known", "first")}
        return replace(self, **kept, place=None)

    def at_time(self, clock: Clock) -> RawRoads:
        """Return the roads with the restrictions that hold at a moment."""
        if self.turns is None or not self.turns.conditional:
            return self
        known = np.flatnonzero(self.known)
        points = known[np.unique(self.node[known], return_index=True)[1]]

        def time_at(restriction: Restriction) -> datetime | None:
            if restriction.node is not None:
                at = int(np.searchsorted(self.node[points], restriction.node))
                found = points[at : at + 1]
                found = found[self.node[found] == restriction.node]
            else:
                way = np.flatnonzero(self.way == restriction.ways[0])[:1]
                found = self.first[way]
            if len(found) == 0:
                return None
            return clock.at(float(self.lat[found[0]]) * COORDINATE_SCALE, float(self.lon[found[0]]) * COORDINATE_SCALE)

        return replace(self, turns=self.turns.at_time(time_at))

    def of_ways(self, kept: npt.NDArray[np.bool_]) -> RawRoads:
        """Return the roads with only the ways to keep."""
        size = np.diff(self.first)
        of_kept = np.repeat(kept, size)
        values = {name: getattr(self, name)[of_kept] for name in ("node", "lat", "lon", "known")}
        values["place"] = None if self.place is None else self.place[of_kept]
        values |= {name: getattr(self, name)[kept] for name in _PER_WAY}
        values["guide"] = None if self.guide is None else self.guide[kept]
        return replace(self, **values, first=np.concatenate([[0], np.cumsum(size[kept])]))


def flag_columns(flags: npt.NDArray[np.bool_]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of `RawRoads` that say yes or no, from those of the ways, shape (num_ways, 6).

    The columns are ``restricted`` along the way and against it, ``carried``, ``snappable``, ``roundabout``, ``link``.
    """
    return {
        "restricted": flags[:, :2],
        "carried": flags[:, 2],
        "snappable": flags[:, 3],
        "roundabout": flags[:, 4],
        "link": flags[:, 5],
    }
