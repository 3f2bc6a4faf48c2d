"""Steps along a leg, as objects and as English sentences; `vkssp.guidance` decides what they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.guidance.kernels.net import DESTINATIONS, ENTER, EXIT, EXITS, NAME, REF, SIDE, SPOKEN
from vkssp.guidance.leg_steps import ARRIVE, DEPART, KIND_NAMES, MODIFIERS, LegTurns, find_path
from vkssp.jit import kernels
from vkssp.route import Crossings, Intersections, Lane, Place, Step
from vkssp.routing.formatting import CARRIERS, arrival, compass, instruction, street_label
from vkssp.routing.leg_geometry import LegGeometry
from vkssp.routing.step_tables import StepTables

#: A place nearer to its street than this, in metres, is on neither side of it.
_ON_STREET_M = 5.0
#: A place ahead of the end of its leg, up to this angle in degrees, is on neither side of it.
_AHEAD = 20.0
_RINGS = ("roundabout", "rotary", "roundabout turn")
_EXITS = ("exit roundabout", "exit rotary", "exit roundabout")


def steps_of(
    tables: StepTables,
    geometry: LegGeometry,
    destination: Place,
    seconds_per_weight: float | None,
    number: int,
    is_last: bool,
) -> tuple[Step, ...]:
    """Return the steps of a leg.

    Parameters
    ----------
    tables : StepTables
        The tables of the graph.
    geometry : LegGeometry
        The geometry of the leg.
    destination : Place
        The place where the leg ends.
    seconds_per_weight : float, optional
        Seconds for one unit of the weights of the geometry; None if weights are not durations.
    number : int
        Number of the leg, from 1.
    is_last : bool
        Whether the leg is the last one.
    """
    network = tables.network
    points, first_points = geometry.shape
    path = find_path(network, geometry.arcs, geometry.metres)
    if len(path.sides) == 0:
        return _without_streets(tables, geometry, destination, seconds_per_weight, number, is_last)
    leg = LegTurns(network, path)
    texts, net = network.texts, network.net
    weights, times = (np.concatenate([[0], np.cumsum(amounts)]) for amounts in (geometry.weighed, geometry.weights))
    outside = _outside(geometry, seconds_per_weight)
    begins = [turn.begin for turn in leg.turns]
    arcs = [0, *path.begin[begins[1:-1]].tolist(), len(geometry.arcs)]
    places = first_points[arcs].tolist()
    turns_of = [_turns_into(of_turns, arcs) for of_turns in (geometry.turns_weighed, geometry.turns)]
    crossings = cache(partial(_crossings, leg, geometry))
    steps = []
    for at, turn in enumerate(leg.turns):
        is_end = turn.kind == ARRIVE
        low, high = (places[at], places[at]) if is_end else (places[at], places[at + 1])
        weight, time = (0 if is_end else int(sums[arcs[at + 1]] - sums[arcs[at]]) for sums in (weights, times))
        if not is_end:  # a turn belongs to the step that leads there
            weight += turns_of[0][at + 1] - turns_of[0][at]
            time += turns_of[1][at + 1] - turns_of[1][at]
        metres = 0.0 if is_end else leg.length(at)
        for is_beside, own_m, own in zip((at == 0, at == len(leg.turns) - 2), geometry.outside_m, outside, strict=True):
            if is_beside:
                metres, weight, time = metres + own_m, weight + own, time + own
        side = turn.label
        name, ref = texts[net.side[side, NAME]], texts[net.side[side, REF]]
        before, after = _bearings(leg, at, geometry)
        kind, modifier = KIND_NAMES.get(turn.kind, ""), MODIFIERS[turn.modifier]
        if turn.kind == ENTER:
            kind = _RINGS[turn.ring]
        elif turn.kind == EXIT:
            kind = _EXITS[turn.ring]
        mode = network.mode_name(side)
        destinations = texts[net.side[side, DESTINATIONS]]
        if is_end:
            kind, modifier = "arrive", _side(points, destination)
            text = arrival(number, is_last, modifier)
        else:
            if turn.kind == DEPART:
                kind, modifier = "depart", ""
            toward = compass(float(after)) if turn.kind == DEPART else modifier
            said = kind
            if kind == "notification":
                was = network.mode_name(leg.turns[at - 1].label)
                said = "board" if mode in CARRIERS else "disembark" if was in CARRIERS else kind
            text = instruction(said, toward, street_label(name, ref), turn.exit or None, destinations, mode)
        steps.append(
            Step.deferring(
                {"intersections": partial(_intersections, leg, at, crossings)},
                type=kind,
                modifier=modifier,
                instruction=text,
                name=name,
                ref=ref,
                way=None if network.way is None else network.way_of(side),
                exit=turn.exit or None,
                distance_m=metres,
                duration_s=None if seconds_per_weight is None else time * seconds_per_weight,
                lat=float(points[low, 0]),
                lon=float(points[low, 1]),
                first=low,
                last=high,
                weight=weight,
                bearing_before=before,
                bearing_after=after,
                pronunciation=texts[net.side[side, SPOKEN]],
                destinations=destinations,
                exits=texts[net.side[side, EXITS]],
                rotary_name=texts[net.side[turn.ring_side, NAME]] if turn.ring == 1 else "",
                mode=mode,
                driving_side=network.driving_side(side),
            )
        )
    return tuple(steps)


def _turns_into(of_turns: npt.NDArray[np.int64], begins: list[int]) -> list[int]:
    """Return the weights of the turns into the first arcs of steps, 0 for the first step and for the arrival."""
    middle = of_turns[begins[1:-1]].tolist() if len(of_turns) else [0] * (len(begins) - 2)
    return [0, *middle, 0]


def _outside(geometry: LegGeometry, seconds_per_weight: float | None) -> tuple[int, ...]:
    """Return the weights of the parts of a leg through open areas, at its beginning and at its end."""
    return tuple(0 if seconds_per_weight is None else round(s / seconds_per_weight) for s in geometry.outside_s)


def _without_streets(
    tables: StepTables, geometry: LegGeometry, destination: Place, seconds: float | None, number: int, is_last: bool
) -> tuple[Step, ...]:
    """Return the steps of a leg that stays at a junction, or inside an open area, named as the street at its end."""
    points, network = geometry.shape[0], tables.network
    side = network.net.arcs[geometry.arc_at_end, SIDE]
    mode, driving_side = network.mode_name(side), network.driving_side(side)
    texts, of_side = network.texts, network.net.side[side]
    name, ref = (texts[of_side[NAME]], texts[of_side[REF]]) if side >= 0 else (destination.name, "")
    if len(points) > 1:
        bearings = [_rounded(_along(*points[row : row + 2])) for row in (0, len(points) - 2)]
    else:
        bearings = 2 * [_rounded(geometry.heading)]
    weight = sum(_outside(geometry, seconds))
    text = instruction("depart", compass(float(bearings[0])), street_label(name, ref), None, "", mode)
    known: dict[str, Any] = {
        "name": name,
        "ref": ref,
        "way": None,
        "exit": None,
        "mode": mode,
        "driving_side": driving_side,
    }
    (lat, lon), (to_lat, to_lon) = points[[0, -1]].tolist()
    last = len(points) - 1
    crossings = Crossings(
        *(points[[0, -1]], np.arange(3), np.array([bearings[0], (bearings[1] + 180) % 360]), np.ones(2, np.bool_)),
        *(np.array([[-1, 0], [0, -1]]), {}, np.zeros(2, np.int64), network.class_names),
    )
    depart = Step(
        type="depart",
        modifier="",
        instruction=text,
        distance_m=sum(geometry.outside_m),
        duration_s=None if seconds is None else weight * seconds,
        lat=lat,
        lon=lon,
        first=0,
        last=last,
        weight=weight,
        bearing_after=bearings[0],
        intersections=Intersections(crossings, 0, 1),
        **known,
    )
    to = _side(points, destination)
    arrive = Step(
        type="arrive",
        modifier=to,
        instruction=arrival(number, is_last, to),
        distance_m=0.0,
        duration_s=None if seconds is None else 0.0,
        lat=to_lat,
        lon=to_lon,
        first=last,
        last=last,
        bearing_before=bearings[1],
        intersections=Intersections(crossings, 1, 2),
        **known,
    )
    return depart, arrive


def _bearings(leg: LegTurns, at: int, geometry: LegGeometry) -> tuple[int, int]:
    """Return the directions before and after a manoeuvre."""
    turn, points = leg.turns[at], geometry.shape[0]
    if turn.kind in (DEPART, ARRIVE):
        heading = geometry.headings[turn.kind == ARRIVE]
        if heading is None:
            ends = points[-2:] if turn.kind == ARRIVE else points[:2]
            heading = _along(*ends) if len(points) > 1 else 0.0
        return (_rounded(heading), 0) if turn.kind == ARRIVE else (0, _rounded(heading))
    return _rounded(leg.arrives(turn)), _rounded(leg.leaves(turn))


def _along(one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> float:
    """Return the bearing from a point to another, in the millionths of a degree that answers have."""
    ends = np.round([*one, *two], 6).tolist()
    return float(kernels("vkssp.guidance.kernels.shape").bearing_between(*ends))


def _rounded(degrees: float) -> int:
    return round(degrees) % 360


def _crossings(leg: LegTurns, geometry: LegGeometry) -> Crossings:
    """Return the intersections along a leg, its departure and its arrival included."""
    found, network, last, points = leg.crossings, leg.network, len(leg.turns) - 1, geometry.shape[0]
    before, after = _bearings(leg, 0, geometry)[1], (_bearings(leg, last, geometry)[0] + 180) % 360
    begins, ends = np.zeros((1, 2), np.int64), np.zeros((1, 2), np.int64)
    begins[0, 0] = ends[0, 1] = -1
    sides = np.concatenate([leg.path.sides[:1], leg.taken])
    lanes = {row + 1: tuple(Lane(*one) for one in leg.lanes_at(row)) for row in leg.rows_with_lanes}
    return Crossings(
        np.concatenate([points[:1], found.points, points[-1:]]),
        np.concatenate([[0], found.first + 1, found.first[-1:] + 2]),
        np.concatenate([[before], found.bearings, [after]]),
        np.concatenate([[True], found.entry, [True]]),
        np.concatenate([begins, found.ways, ends]),
        {row: some for row, some in lanes.items() if some},
        np.append(network.classes_of(sides), 0),
        network.class_names,
    )


def _intersections(leg: LegTurns, at: int, crossings: Callable[[], Crossings]) -> Intersections:
    """Return the intersections of a step."""
    number = 0 if at == 0 else leg.turns[at].row + 1
    return Intersections(crossings(), number, leg.turns[at + 1].row + 1 if at + 1 < len(leg.turns) else number + 1)


def _side(points: npt.NDArray[np.float64], place: Place) -> str:
    """Return the side on which a place is of the street along some points, ``"straight"`` if on neither side."""
    if place.snapped_m < _ON_STREET_M or len(points) < 2:
        return "straight"
    (lat0, lon0), (lat1, lon1) = points[-2:].tolist()
    width, plane_at = math.cos(math.radians(lat1)), kernels("vkssp.routing.kernels.snap").plane_at
    # The street before its end, and the place, as seen from the end.
    (south, west), (north, east) = (
        plane_at(lat, lon + 360.0 * round((lon1 - lon) / 360.0), lat1, lon1, width)
        for lat, lon in ((lat0, lon0), (place.lat, place.lon))
    )
    # A place beyond the end of the street is ahead, on neither side.
    across, ahead = west * north - south * east, -(south * north + west * east)
    if abs(across) <= abs(ahead) * math.tan(math.radians(_AHEAD)):
        return "straight"
    return "right" if across > 0 else "left"
