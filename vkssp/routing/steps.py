"""Steps along a leg: an instruction at each place where a traveller has to decide, none where the route is obvious.

Angles and names decide where steps are and what they say, after OSRM's guidance
(https://github.com/Project-OSRM/osrm-backend, src/guidance): a turn is straight up to 20 degrees, slight up to 40 and
sharp from 120. The obvious continuation is along the same street, or along a street that is far straighter than all
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vkssp.graph import Graph
from vkssp.graph.geo import directions, plane_at, wrapped
from vkssp.graph.metric import duration
from vkssp.route import Place, Step
from vkssp.routing.formatting import arrival, compass, instruction, street_label
from vkssp.routing.leg_geometry import LegGeometry
from vkssp.routing.snap import StreetIndex

_STRAIGHT, _SLIGHT, _SHARP, _BACK = 20.0, 40.0, 120.0, 170.0
#: A street with the same name continues the street before it, up to this angle.
_BEND = 60.0
#: Slip roads shorter than this, in metres, are part of the turn that they serve.
_SHORT_LINK_M = 120.0
#: A place nearer to its street than this, in metres, is on neither side of it.
_ON_STREET_M = 5.0


@dataclass(frozen=True)
class _Street:
    """Arc as a traveller sees it; `leaves` and `arrives` are directions in degrees from north."""

    side: tuple[int, bool]
    name: str
    ref: str
    way: int | None
    metres: float
    leaves: float
    arrives: float
    roundabout: bool
    link: bool
    carried: bool

    @property
    def back(self) -> tuple[int, bool]:
        """The other direction of the same street."""
        return self.side[0], not self.side[1]

    def is_named_like(self, other: _Street) -> bool:
        """Return whether two streets have the same name or the same number."""
        return (self.name != "" and self.name == other.name) or (self.ref != "" and self.ref == other.ref)


@dataclass(frozen=True)
class _Manoeuvre:
    """Manoeuvre that begins a step.

    `at` is the index on the leg of the manoeuvre's first street, `onto` the index of the street that it leads onto, -1
    if that is the first street.
    """

    at: int
    type: str
    modifier: str = ""
    onto: int = -1
    exit: int | None = None


def steps_of(
    index: StreetIndex, graph: Graph, geometry: LegGeometry, destination: Place, number: int, is_last: bool
) -> tuple[Step, ...]:
    """Return the steps of a leg.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    graph : Graph
        The same graph with the weights as given.
    geometry : LegGeometry
        The geometry of the leg.
    destination : Place
        The place where the leg ends.
    number : int
        Number of the leg, from 1.
    is_last : bool
        Whether the leg is the last one.
    """
    # The links that stand for the time at gates have no length and no direction.
    real = [at for at, arc in enumerate(geometry.arcs.tolist()) if index.length(arc) > 0]
    steps = []
    if real:
        streets, others = _look(index, geometry.arcs[real].tolist())
        found = _manoeuvres(streets, others, geometry.metres[real].tolist())
        begins = [0, *(real[manoeuvre.at] for manoeuvre in found[1:]), len(geometry.arcs)]
        for manoeuvre, (begin, end) in zip(found, pairwise(begins), strict=True):
            onto = streets[max(manoeuvre.at, manoeuvre.onto)]
            # If the name is only the number, the step has the number alone.
            name = "" if onto.name == onto.ref else onto.name
            label, first = street_label(name, onto.ref), int(geometry.first[begin])
            steps.append(
                Step(
                    type=manoeuvre.type,
                    modifier="" if manoeuvre.type == "depart" else manoeuvre.modifier,
                    instruction=instruction(manoeuvre.type, manoeuvre.modifier, label, manoeuvre.exit),
                    name=name,
                    ref=onto.ref,
                    way=onto.way,
                    exit=manoeuvre.exit,
                    distance_m=float(geometry.metres[begin:end].sum()),
                    duration_s=duration(graph, int(geometry.weights[begin:end].sum())),
                    lat=float(geometry.points[first, 0]),
                    lon=float(geometry.points[first, 1]),
                    first=first,
                    last=int(geometry.first[end]),
                )
            )
    side, last = _side(geometry, destination), len(geometry.points) - 1
    arrived = Step(
        type="arrive",
        modifier=side,
        instruction=arrival(number, is_last, side),
        name=steps[-1].name if steps else destination.name,
        ref=steps[-1].ref if steps else "",
        way=steps[-1].way if steps else None,
        exit=None,
        distance_m=0.0,
        duration_s=duration(graph, 0),
        lat=float(geometry.points[last, 0]),
        lon=float(geometry.points[last, 1]),
        first=last,
        last=last,
    )
    return (*steps, arrived)


def _look(index: StreetIndex, arcs: list[int]) -> tuple[list[_Street], list[list[_Street]]]:
    """Return arcs as streets, and for each the alternative streets at its beginning, without turning round."""
    graph, streets = index.graph, index.graph.streets

    def side(arc: int) -> tuple[int, bool]:
        return int(index.polyline_of[arc]), bool(index.backward[arc])

    choices: list[list[int]] = [[]]
    for before, arc in pairwise(arcs):
        polyline, backward = side(before)
        instead = {side(a): a for a in index.arcs_out(int(graph.tail[arc])) if index.length(a) > 0}
        choices.append([a for key, a in instead.items() if key not in (side(arc), (polyline, not backward))])
    wanted = [*arcs, *(arc for choice in choices for arc in choice)]
    lines, which = np.unique(index.polyline_of[wanted].astype(np.int64), return_inverse=True)
    pieces = [index.polyline_points(line) for line in lines.tolist()]
    away = directions(np.cumsum([0, *map(len, pieces)]), np.concatenate(pieces))
    seen: dict[int, _Street] = {}
    for arc, line in zip(wanted, which.tolist(), strict=True):
        end = int(index.backward[arc])
        seen[arc] = _Street(
            side=side(arc),
            name="" if streets is None else streets.arc_name(arc),
            ref="" if streets is None else streets.arc_ref(arc),
            way=None if streets is None else int(streets.way[arc]),
            metres=index.length(arc),
            leaves=float(away[line, end]),
            arrives=float(away[line, 1 - end]) + 180.0,
            roundabout=streets is not None and streets.roundabout is not None and bool(streets.roundabout[arc]),
            link=streets is not None and streets.link is not None and bool(streets.link[arc]),
            carried=streets is not None and bool(streets.carried[arc]),
        )
    return [seen[arc] for arc in arcs], [[seen[arc] for arc in choice] for choice in choices]


def _manoeuvres(
    streets: Sequence[_Street], others: Sequence[Sequence[_Street]], metres: Sequence[float]
) -> list[_Manoeuvre]:
    """Return the manoeuvres along some streets, the departure first."""
    found = [_Manoeuvre(0, "depart", compass(streets[0].leaves))]
    current, at = streets[0], 1
    while at < len(streets):
        before, street, skipped = streets[at - 1], streets[at], 1
        if street.roundabout and not before.roundabout:
            manoeuvre: _Manoeuvre | None
            manoeuvre = _roundabout(streets, others, at)
            skipped = max(manoeuvre.onto, len(streets) if manoeuvre.exit is None else 0) - at + 1
        elif (end := _short_link(streets, metres, at)) is not None:
            manoeuvre = _turn(at, before, streets[end], others[at], current, onto=end)
            skipped = end - at + 1
        else:
            manoeuvre = _decide(at, before, street, others[at], current)
        if manoeuvre is not None:
            found.append(manoeuvre)
            current = streets[max(manoeuvre.at, manoeuvre.onto)]
        elif street.name or street.ref:
            current = street
        at += skipped
    return found


def _roundabout(streets: Sequence[_Street], others: Sequence[Sequence[_Street]], at: int) -> _Manoeuvre:
    """Return the manoeuvre through a roundabout that the street at index `at` enters."""
    exits, end = 0, at + 1
    while end < len(streets) and streets[end].roundabout:
        exits += any(not other.roundabout for other in others[end])
        end += 1
    if end == len(streets):
        return _Manoeuvre(at, "roundabout")
    return _Manoeuvre(at, "roundabout", _modifier(_angle(streets[at - 1], streets[end])), end, exits + 1)


def _short_link(streets: Sequence[_Street], metres: Sequence[float], at: int) -> int | None:
    """Return the index of the street after the slip road at `at` if that only serves a turn, else None."""
    if streets[at - 1].link or not streets[at].link:
        return None
    end = next((k for k in range(at, len(streets)) if not streets[k].link), None)
    if end is None or streets[end].roundabout or streets[end].carried or sum(metres[at:end]) > _SHORT_LINK_M:
        return None
    return end


def _decide(
    at: int, before: _Street, street: _Street, others: Sequence[_Street], current: _Street
) -> _Manoeuvre | None:
    """Return the manoeuvre from one street to the next, None if the route is obvious."""
    if before.carried != street.carried:
        return _Manoeuvre(at, "board" if street.carried else "disembark")
    if before.roundabout and street.roundabout:
        return None
    if before.roundabout:
        return _Manoeuvre(at, "exit roundabout", _modifier(_angle(before, street)))
    angle = _angle(before, street)
    if before.link and not street.link and abs(angle) < _BEND and not others:
        return _Manoeuvre(at, "merge", _modifier(angle))
    if street.link and not before.link and others:
        return _Manoeuvre(at, "ramp", _side_of(angle, [_angle(before, other) for other in others]))
    return _turn(at, before, street, others, current)


def _turn(
    at: int, before: _Street, street: _Street, others: Sequence[_Street], current: _Street, onto: int = -1
) -> _Manoeuvre | None:
    """Return the turn from one street to another, None if the route is obvious."""
    if street.side == before.back:
        return _Manoeuvre(at, "continue" if street.is_named_like(before) else "turn", "uturn", onto)
    angle = _angle(before, street)
    angles = [_angle(before, other) for other in others]
    same = street.is_named_like(before)
    rivals = [a for a, other in zip(angles, others, strict=True) if not (other.link and not street.link)]
    if same:
        rivals = [a for a, other in zip(angles, others, strict=True) if other.is_named_like(before)]
    limit = _BEND if same else _SLIGHT
    if abs(angle) < limit and all(abs(a) >= max(2.0 * abs(angle), abs(angle) + _STRAIGHT) for a in rivals):
        renamed = bool(street.name or street.ref) and not street.is_named_like(current)
        return _Manoeuvre(at, "new name", _modifier(angle), onto) if renamed else None
    if not others and onto < 0:
        renamed = bool(street.name or street.ref) and not street.is_named_like(current)
        return _Manoeuvre(at, "new name", _modifier(angle), onto) if renamed else None
    narrow = [a for a in angles if abs(a) < _SLIGHT]
    if abs(angle) < _SLIGHT and narrow:
        return _Manoeuvre(at, "fork", _side_of(angle, narrow), onto)
    return _Manoeuvre(at, "continue" if same else "turn", _modifier(angle), onto)


def _angle(before: _Street, after: _Street) -> float:
    """Return the angle of a turn in degrees, from -180 to 180; positive to the right."""
    return (after.leaves - before.arrives + 180.0) % 360.0 - 180.0


def _modifier(angle: float) -> str:
    """Return the modifier of a turn, such as "slight right"."""
    size, side = abs(angle), "right" if angle > 0 else "left"
    if size <= _STRAIGHT:
        return "straight"
    if size >= _BACK:
        return "uturn"
    return f"slight {side}" if size <= _SLIGHT else f"sharp {side}" if size >= _SHARP else side


def _side_of(angle: float, others: Sequence[float]) -> str:
    """Return the side of all other streets on which a street leaves, ``"straight"`` if it is between them."""
    if all(angle > other for other in others):
        return "slight right"
    return "slight left" if all(angle < other for other in others) else "straight"


def _side(geometry: LegGeometry, place: Place) -> str:
    """Return the side of the street on which the destination of the leg is, ``"straight"`` if on neither side."""
    if place.snapped_m < _ON_STREET_M or len(geometry.points) < 2:
        return "straight"
    points = np.array([*geometry.points[-2:], (place.lat, place.lon)])
    points[:, 1] = wrapped(points[:, 1], points[1, 1])
    before, _, aside = plane_at(points, points[[1, 1, 1]])
    (north, east), (aside_north, aside_east) = -before, aside
    # A place beyond the end of the street is ahead, on neither side.
    across, ahead = north * aside_east - east * aside_north, north * aside_north + east * aside_east
    if abs(across) <= abs(ahead) * np.tan(np.radians(_STRAIGHT)):
        return "straight"
    return "right" if across > 0 else "left"
