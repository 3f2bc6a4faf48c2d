"""Steps of a leg: the turns along it, and what becomes of those that are close to each other.

The intersections along a leg are found and classified by compiled code; here the few turns among them are joined and
left out, by rules of OSRM's guidance: a street crossed in two pieces is one turn, a name that returns after some metres
was none, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.manoeuvres import Manoeuvre
from vkssp.guidance.kernels.net import (
    BEARING,
    CONTINUE,
    END_OF_ROAD,
    ENTER,
    EXIT,
    FLAGS,
    FORK,
    HEAD,
    LANES,
    LEFT,
    MERGE,
    MINOR,
    MODE,
    MOST_ROADS,
    NAME,
    NEW_NAME,
    NO_TURN,
    NOTIFICATION,
    OFF_RAMP,
    ON_RAMP,
    PASS,
    REF,
    RIGHT,
    SHARP_LEFT,
    SHARP_RIGHT,
    SIDE,
    SLIGHT_LEFT,
    SLIGHT_RIGHT,
    SLIPROAD,
    STAY,
    STRAIGHT,
    SUPPRESSED,
    TURN,
    USE_LANE,
    UTURN,
    View,
)
from vkssp.guidance.lanes import lanes_of, matched, valid_lanes
from vkssp.guidance.network import GuidanceNetwork
from vkssp.jit import kernels

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Metres below which the first and the last part of a leg are left out.
_TRIM_M = 1.0
#: Degrees to whose multiples bearings at intersections are rounded, as in OSRM.
_BEARING_STEP = 15
#: Metres of a street between two turns that may be one.
_COLLAPSE_M = 30.0
#: Metres of a street between a turn and a new name that may be told with it.
_NEW_NAME_M = 1.5 * _COLLAPSE_M
#: Metres of a jog between two streets that cross a third one.
_STAGGERED_M = 3.0
#: Metres of a street whose new name is not worth an instruction.
_NAME_M = 105.0
#: Metres of a street beyond which no two manoeuvres are joined, but for slip roads.
_MOST_COLLAPSE_M = max(3 * _COLLAPSE_M, _NAME_M)
#: Intersections before one that may be passed on the lanes that lead to it.
_LANES_BEFORE = 2
DEPART, ARRIVE = -1, -2
#: Names of kinds, but for those of roundabouts, and of modifiers, as OSRM has them.
KIND_NAMES = {
    TURN: "turn",
    CONTINUE: "continue",
    NEW_NAME: "new name",
    MERGE: "merge",
    ON_RAMP: "on ramp",
    OFF_RAMP: "off ramp",
    FORK: "fork",
    END_OF_ROAD: "end of road",
    NOTIFICATION: "notification",
    USE_LANE: "use lane",
}
MODIFIERS = ("uturn", "sharp right", "right", "slight right", "straight", "slight left", "left", "sharp left")
#: Kinds whose modifier does not tell the angle.
#: Kinds of `vkssp.graph.manoeuvres.KINDS`.
_OWN_KINDS = (
    SUPPRESSED, TURN, CONTINUE, NEW_NAME, MERGE, ON_RAMP, OFF_RAMP, FORK, END_OF_ROAD, NOTIFICATION, USE_LANE
)  # fmt: skip
_KEPT = (FORK, MERGE, ON_RAMP, OFF_RAMP)
_RING_KINDS = (ENTER, EXIT, STAY, PASS)
#: Degrees by which two turns may differ from straight on, if there is nothing straighter.
_WIDE_DEGREES = 55.0
#: Degrees by which a U-turn may differ from one.
_BACK_DEGREES = 35.0


class Path(NamedTuple):
    """Intersections along a leg.

    Attributes
    ----------
    sides : numpy.ndarray
        Sides travelled.
    begin : numpy.ndarray
        Index of the arc of the leg at which each side begins.
    metres : numpy.ndarray
        Metres from the start to the beginning of each side, and to the end, shape (len(sides) + 1,).
    rows, roads, entries : numpy.ndarray
        As `vkssp.guidance.kernels.turns.find_turns` has them.
    """

    sides: Ints
    begin: Ints
    metres: Floats
    rows: Ints
    roads: Ints
    entries: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Turn:
    """Manoeuvre of a leg, and the part of the leg up to the next one.

    Attributes
    ----------
    row : int
        Row of the intersection in `Path.rows`, -1 for a departure, the number of rows for an arrival.
    kind, modifier : int
        The manoeuvre.
    label : int
        Side whose name and signs count from here on.
    begin : int
        Index of the side with which the part after the manoeuvre begins.
    exit : int
        Exit of a roundabout, counted from 1; 0 if there is none.
    ring : int
        0 for a roundabout, 1 for a rotary, 2 for a roundabout that is like an intersection.
    ring_side : int
        Side of the roundabout, -1 if there is none.
    fixed : bool
        Whether the map gives the manoeuvre itself.
    last : int
        Row of the last intersection of a manoeuvre between carriageways, -1 if it is none.
    """

    row: int
    kind: int
    modifier: int
    label: int
    begin: int
    exit: int = 0
    ring: int = 0
    ring_side: int = -1
    fixed: bool = False
    last: int = -1


class LegCrossings(NamedTuple):
    """Streets at the intersections along a leg, in the order of their bearings from north.

    Attributes
    ----------
    points : numpy.ndarray
        Latitude and longitude of each intersection in degrees, shape (k, 2).
    first : numpy.ndarray
        Offset of the streets of each intersection, shape (k + 1,).
    bearings, entry : numpy.ndarray
        Directions in which streets lead away, in degrees clockwise from north, and whether they may be entered.
    ways : numpy.ndarray
        Numbers of the streets by which the leg arrives and leaves, -1 if it does not arrive by any, shape (k, 2).
    """

    points: Floats
    first: Ints
    bearings: Ints
    entry: npt.NDArray[np.bool_]
    ways: Ints


def find_path(network: GuidanceNetwork, arcs: Ints, metres: Floats) -> Path:
    """Return the intersections along some arcs, of which `metres` are travelled on each."""
    net = network.net
    real = np.flatnonzero(net.arcs[arcs, SIDE] >= 0)
    low, high = 0, len(real)
    # What is too short to travel is neither a first nor a last street.
    total = 0.0
    while low < high - 1 and total + metres[real[low]] < _TRIM_M:
        total += metres[real[low]]
        low += 1
    total = 0.0
    while high - 1 > low and total + metres[real[high - 1]] < _TRIM_M:
        total += metres[real[high - 1]]
        high -= 1
    real = real[low:high]
    sides = net.arcs[arcs[real], SIDE]
    travelled = np.concatenate([[0.0], np.cumsum(metres)])
    bounds = np.concatenate([travelled[real], travelled[-1:]])
    if len(bounds):
        bounds[0] = 0.0
    module = kernels("vkssp.guidance.kernels.turns")
    room = 8 * len(sides) + MOST_ROADS
    while True:
        rows, roads, entries = np.zeros((len(sides), 7), np.int64), np.zeros((room, 3), np.int64), np.zeros(room, bool)
        size = module.find_turns(net, _view(), _view(), sides, rows, roads, entries)
        if size >= 0:
            break
        room *= 4
    return Path(sides, real, bounds, rows[:size], roads, entries)


def _view() -> View:
    return View(
        np.zeros(MOST_ROADS, np.int64),
        np.zeros(MOST_ROADS),
        np.zeros(MOST_ROADS),
        np.zeros(MOST_ROADS, np.bool_),
        np.zeros(MOST_ROADS, np.int64),
        np.zeros(MOST_ROADS, np.int64),
        np.zeros(MOST_ROADS, np.bool_),
    )


class LegTurns:
    """Manoeuvres along a leg.

    Parameters
    ----------
    network : GuidanceNetwork
        The streets.
    path : Path
        The intersections along the leg.

    Attributes
    ----------
    turns : list of Turn
        Departure, manoeuvres, arrival.
    taken : numpy.ndarray
        Side by which the leg leaves each intersection.
    """

    def __init__(self, network: GuidanceNetwork, path: Path) -> None:
        self.network, self.path, self.net = network, path, network.net
        sides, rows = path.sides, path.rows
        # Items of lists, which are quicker than those of arrays: there are several questions for each intersection.
        self._rows: list[list[int]] = rows.tolist()
        self._metres: list[float] = path.metres.tolist()
        self._bearing: list[float] = self.net.metric[sides, BEARING].tolist()
        self._behind: list[float] = self.net.metric[sides ^ 1, BEARING].tolist()
        self._modes: list[int] = self.net.side[sides, MODE].tolist()
        opened = np.concatenate([[0], np.cumsum(path.entries)])
        self._open: list[int] = (opened[rows[:, 3] + rows[:, 4]] - opened[rows[:, 3]]).tolist()
        lanes = self.net.side[sides, LANES]
        self._lanes: list[int] = lanes.tolist()
        # The last side up to each one that has lanes, -1 if there is none.
        self._lanes_up_to: list[int] = np.maximum.accumulate(np.where(lanes > 0, np.arange(len(lanes)), -1)).tolist()
        self._has_lanes = bool(lanes.any())
        self._names: dict[int, tuple[int, int]] = {}
        self.taken: Ints = sides[rows[:, 0] + 1]
        self.turns = [Turn(-1, DEPART, STRAIGHT, int(sides[0]), 0)]
        labels: list[int] = self.taken.tolist()
        for at in range(len(rows)) if network.manoeuvres else np.flatnonzero(rows[:, 1] != NO_TURN).tolist():
            i, kind, modifier = self._rows[at][:3]
            own = self._own_manoeuvre(i) if network.manoeuvres else None
            if own is not None:
                kind, modifier = _OWN_KINDS[own.kind], own.modifier if own.modifier >= 0 else modifier
            if kind != NO_TURN:
                self.turns.append(Turn(at, kind, modifier, labels[at], i + 1, fixed=own is not None))
        self.turns.append(Turn(len(rows), ARRIVE, STRAIGHT, int(sides[-1]), len(sides)))
        self._join_carriageways()
        self._handle_rings()
        self._collapse()
        self._check_ends_of_roads()
        self._leave_out()
        self._suppress_names()

    def length(self, at: int) -> float:
        """Return the metres from a manoeuvre to the next one."""
        return self._metres[self.turns[at + 1].begin] - self._metres[self.turns[at].begin]

    def _num_open(self, turn: Turn) -> int:
        return self._open[turn.row]

    def _alone(self, at: int) -> bool:
        """Return whether no other street meets the leg between a manoeuvre and the next one."""
        first, last = max(self.turns[at].row, self.turns[at].last) + 1, self.turns[at + 1].row
        return all(row[4] == 2 for row in self._rows[first:last])

    def _between(self, at: int) -> float:
        """Return the metres from the end of a manoeuvre, perhaps between carriageways, to the next one."""
        turn, last = self.turns[at], self.turns[at + 1].begin
        first = turn.begin if turn.last < 0 else self._rows[turn.last][0] + 1
        return self._metres[last] - self._metres[first]

    def arrives(self, turn: Turn) -> float:
        """Return the bearing at which the leg arrives at a manoeuvre."""
        return (self._behind[self._rows[turn.row][0]] + 180.0) % 360.0

    def leaves(self, turn: Turn) -> float:
        """Return the bearing at which the leg leaves a manoeuvre."""
        return self._bearing[turn.begin]

    def _mode(self, turn: Turn) -> int:
        return self._modes[min(turn.begin, len(self._modes) - 1)]

    def _same_name(self, one: Turn, two: Turn) -> bool:
        own = self._name(one.label)
        return own != (0, 0) and own == self._name(two.label)

    def _name(self, side: int) -> tuple[int, int]:
        """Return name and number of a side."""
        found = self._names.get(side)
        if found is None:
            row = self.net.side[side]
            found = self._names[side] = int(row[NAME]), int(row[REF])
        return found

    def _own_manoeuvre(self, i: int) -> Manoeuvre | None:
        """Return the manoeuvre that the map gives where a side ends, if the leg passes its ways there."""
        sides, ways = self.path.sides, self.network.way
        given = self.network.manoeuvres.get(int(self.net.side[sides[i], HEAD]))
        if given is None or ways is None:
            return None
        passed = ways[sides].tolist()
        before: list[int] = []
        for way in reversed(passed[: i + 1]):
            if not before or before[-1] != way:
                before.append(way)
        after: list[int] = []
        for way in passed[i + 1 :]:
            if way != (after[-1] if after else before[0]):
                after.append(way)
        along = [*reversed(before), *after]
        here = len(before) - 1
        for one in given:
            for k, way in enumerate(one.ways):
                first = here - k
                if way == along[here] and first >= 0 and tuple(along[first : first + len(one.ways)]) == one.ways:
                    return one
        return None

    # Roundabouts.

    def _handle_rings(self) -> None:
        """Make each roundabout one manoeuvre, perhaps with one for its exit, and count the exits."""
        kept: list[Turn] = []
        inside: Turn | None = None
        exits = 0
        for turn in self.turns:
            if turn.kind == ENTER:
                inside, exits = turn, self._exits_at(turn, PASS)
                turn.ring, turn.ring_side = self.network.ring_kind(turn.label), turn.label
            elif turn.kind == STAY:
                exits += self._exits_at(turn, EXIT) > 0
                continue
            elif turn.kind == EXIT:
                if inside is not None:
                    inside.exit, inside.label = exits + 1, turn.label
                    turn.ring, turn.ring_side = inside.ring, inside.ring_side
                    changes = self._mode_at(turn) != self.net.side[inside.ring_side, MODE]
                    if inside.ring == 2:
                        inside.modifier = _modifier(self.arrives(inside), self.leaves(turn))
                        if not changes:
                            inside = None
                            continue
                else:
                    came = int(self.path.sides[self.path.rows[turn.row, 0]])
                    turn.ring, turn.ring_side = self.network.ring_kind(came), came
                    if turn.ring == 2:
                        turn.ring = 0
                inside = None
            elif turn.kind == PASS:
                turn.kind = EXIT
            kept.append(turn)
        if inside is not None and inside.ring == 2:
            inside.ring = 0
        self.turns = kept

    def _mode_at(self, turn: Turn) -> int:
        return int(self.net.side[self.path.sides[turn.begin], MODE])

    def _exits_at(self, turn: Turn, kind: int) -> int:
        """Return how many exits of a roundabout are passed at one of its places, by which mode of travel counts."""
        path = self.path
        i, _, _, first, count, taken, _ = path.rows[turn.row].tolist()
        ring = path.sides[i + 1]
        number = 0
        for k in range(first, first + count):
            side = path.roads[k, 0]
            if not path.entries[k] or side == path.sides[i] ^ 1:
                continue
            # A street that leads through a roundabout leaves it, too.
            passes = kind == PASS and path.roads[k, 1] in (SUPPRESSED, NEW_NAME)
            if path.roads[k, 1] != kind and not passes:
                continue
            # At the entrance, an exit is passed if one has to go around it.
            if kind == PASS and k > first + taken:
                continue
            minor = self.net.side[side, FLAGS] & ~self.net.side[ring, FLAGS] & MINOR
            number += self.net.side[side, MODE] == self.net.side[ring, MODE] and not minor
        return number

    def _check_ends_of_roads(self) -> None:
        """Make the ends of roads turns, unless the leg passes an intersection before."""
        before = self.turns[0]
        for at, turn in enumerate(self.turns[1:-1], 1):
            if turn.kind == END_OF_ROAD and turn.row - before.row < 2:
                turn.kind = CONTINUE if self._same_name(self.turns[at - 1], turn) else TURN
            if turn.kind != SUPPRESSED:
                before = turn

    # Turns that are close to each other.

    def _join_carriageways(self) -> None:
        """Make the turns between the carriageways of a street one turn."""
        at = 1
        while at < len(self.turns) - 2:
            first = self.turns[at]
            if not self._rows[first.row][6] or first.kind in _RING_KINDS:
                at += 1
                continue
            last = at + 1
            while last < len(self.turns) - 1 and self._rows[self.turns[last].row][6]:
                last += 1
            leaving = self.turns[last]
            kept = any(turn.kind in _RING_KINDS or turn.fixed for turn in self.turns[at : last + 1])
            if last == len(self.turns) - 1 or kept:
                at = last
                continue
            angle = _turn_angle(self.arrives(first), self.leaves(leaving))
            same = self._same_name(self.turns[at - 1], leaving)
            first.label, first.last = leaving.label, leaving.row
            modifier = _modifier_of(angle)
            if same and _apart(angle, 0.0) < _BACK_DEGREES:
                first.kind, first.modifier = CONTINUE, UTURN
            elif leaving.kind in (*_KEPT, NOTIFICATION):
                first.kind, first.modifier = leaving.kind, modifier
            elif same and all(turn.kind in (SUPPRESSED, NEW_NAME) for turn in self.turns[at : last + 1]):
                first.kind, first.modifier = SUPPRESSED, STRAIGHT
            elif END_OF_ROAD in (first.kind, leaving.kind):
                first.kind, first.modifier = END_OF_ROAD, modifier
            elif modifier == STRAIGHT or (_apart(angle, 180.0) < _WIDE_DEGREES and self._straightest(first, leaving)):
                first.kind, first.modifier = SUPPRESSED if same else NEW_NAME, STRAIGHT
            else:
                first.kind, first.modifier = CONTINUE if same else TURN, modifier
            del self.turns[at + 1 : last + 1]
            at += 1

    def _straightest(self, first: Turn, leaving: Turn) -> bool:
        """Return whether two turns, the second right after the first, are the straightest at their intersections."""
        if leaving.row - first.row != 1:
            return False
        for turn in (first, leaving):
            angles, taken = self._open_turns(turn.row)
            if any(abs(angle - 180.0) < abs(angles[taken] - 180.0) for angle in angles):
                return False
        return True

    def _collapse(self) -> None:
        at, turns, metres = 1, self.turns, self._metres
        while at + 1 < len(turns) - 1:
            current, following = turns[at], turns[at + 1]
            # Names may change back at any distance.
            is_near = current.kind == SLIPROAD or current.kind == following.kind == NEW_NAME
            if not is_near and metres[following.begin] - metres[current.begin] > _MOST_COLLAPSE_M:
                at += 1
                continue
            rings = (ENTER, EXIT, PASS)
            if current.kind in rings or current.fixed or following.kind in rings or following.fixed:
                at += 1
                continue
            before = self._shown_before(at)
            if self._mode(before) != self._mode(current) or self._mode(current) != self._mode(following):
                at += 1
                continue
            if not self._collapse_pair(at, before, current, following):
                at += 1

    def _shown_before(self, at: int) -> Turn:
        at -= 1
        while at > 0 and self.turns[at].kind == SUPPRESSED:
            at -= 1
        return self.turns[at]

    def _collapse_pair(self, at: int, before: Turn, current: Turn, following: Turn) -> bool:
        """Join a manoeuvre with the next one, if they are one; return whether they were."""
        if current.kind == SLIPROAD:
            angle = _turn_angle(self.arrives(current), self.leaves(following))
            self._join(at)
            current.kind = CONTINUE if self._same_name(before, current) else TURN
            current.modifier = _modifier_of(angle)
            return True
        if UTURN in (current.modifier, following.modifier):
            return False
        length, alone = self._between(at), self._alone(at)
        short = length <= _COLLAPSE_M and alone
        choices = self._num_open(following)
        entering, leaving = self._angle(current), self._angle(following)
        if length <= _STAGGERED_M and alone and _is_jog(entering, leaving):
            self._join(at)
            current.kind = NEW_NAME if not self._same_name(before, current) else SUPPRESSED
            if current.kind == SUPPRESSED:
                current.label = before.label
            current.modifier = STRAIGHT
            return True
        turned_back = _apart((self.arrives(current) + 180.0) % 360.0, self.leaves(following)) < 35.0
        if turned_back and self._same_name(before, following):
            if length <= _COLLAPSE_M or (choices == 1 and alone and length < 3 * _COLLAPSE_M):
                self._join(at)
                current.kind, current.modifier = CONTINUE, UTURN
                return True
        is_named = _is_name_change(current)
        if (
            is_named
            and (_is_name_change(following) or following.kind == SUPPRESSED)
            and self._same_name(before, following)
            and (length <= _NAME_M or current.kind == following.kind == NEW_NAME)
        ):
            self._join(at)
            current.kind, current.modifier = SUPPRESSED, STRAIGHT
            current.label = before.label
            return True
        shown, next_shown = current.kind != SUPPRESSED, following.kind not in (SUPPRESSED, NO_TURN)
        same_side = _same_side(current.modifier, following.modifier)
        if (
            short
            and next_shown
            and (
                is_named
                or (
                    current.kind == SUPPRESSED
                    and following.kind != NEW_NAME
                    and current.modifier != STRAIGHT
                    and same_side
                    and self._num_open(current) > 1
                )
            )
        ):
            kind = following.kind
            modifier = _modifier_of(self._total_angle(at))
            if is_named:  # the turn is told where it is, not where the name changes before it
                del self.turns[at]
                kept = following
            else:
                self._join(at)
                kept = current
            kept.kind = kind
            kept.modifier = following.modifier if kind in _KEPT else modifier
            if kind in (TURN, CONTINUE):
                kept.kind = CONTINUE if self._same_name(before, kept) else TURN
            return True
        name_follows = _is_name_change(following)
        bend_follows = following.kind == SUPPRESSED and following.modifier != STRAIGHT and same_side
        no_choice = choices == 1 and current.modifier != STRAIGHT
        # A name that a street gets a bit after a turn onto it is told with the turn.
        gets_name = following.kind == NEW_NAME and (following.modifier == STRAIGHT or choices == 1)
        if shown and gets_name and length <= _NEW_NAME_M:
            self._adjust(at, before, current)
            return True
        if short and (
            (shown and ((name_follows and not is_named) or bend_follows))
            or (current.kind == SUPPRESSED and following.kind == NEW_NAME and length < 0.25 * _COLLAPSE_M)
            or (no_choice and shown)
        ):
            self._adjust(at, before, current)
            return True
        if (
            length <= 2 * _COLLAPSE_M
            and alone
            and current.kind in (TURN, CONTINUE)
            and current.modifier == STRAIGHT
            and choices == 1
        ):
            self._adjust(at, before, current)
            return True
        return False

    def _adjust(self, at: int, before: Turn, current: Turn) -> None:
        """Join a manoeuvre with the next one into a turn by both angles."""
        modifier = _modifier_of(self._total_angle(at))
        if modifier == STRAIGHT and current.kind != SUPPRESSED:
            modifier = current.modifier
        following = self.turns[at + 1]
        self._join(at)
        if current.kind in (TURN, CONTINUE, END_OF_ROAD):
            if current.kind != END_OF_ROAD:
                current.kind = CONTINUE if self._same_name(before, current) else TURN
            current.modifier = modifier
        elif current.kind == SUPPRESSED and following.kind not in _KEPT:
            same = self._same_name(before, current)
            turned = CONTINUE if same else TURN
            current.kind = turned if modifier != STRAIGHT else SUPPRESSED if same else NEW_NAME
            current.modifier = modifier
        elif current.kind == NEW_NAME:
            current.modifier = modifier

    def _join(self, at: int) -> None:
        """Make the part after the next manoeuvre a part of this one's, with its name."""
        self.turns[at].label = self.turns[at + 1].label
        del self.turns[at + 1]

    def _angle(self, turn: Turn) -> float:
        """Return the angle of a turn: 180 is straight, less is to the right."""
        return _turn_angle(self.arrives(turn), self.leaves(turn))

    def _total_angle(self, at: int) -> float:
        current, following = self.turns[at], self.turns[at + 1]
        entry, leave = self._angle(current), self._angle(following)
        near = self.length(at) < _COLLAPSE_M and self._alone(at)
        if near or (entry <= 185.0 and leave <= 185.0) or (entry >= 175.0 and leave >= 175.0):
            return _turn_angle(self.arrives(current), self.leaves(following))
        return leave if abs(leave - 180.0) > abs(entry - 180.0) else entry

    def _leave_out(self) -> None:
        for turn in self.turns:
            if turn.kind == SLIPROAD:
                turn.kind = TURN
        kept: list[Turn] = []
        for turn in self.turns:
            # A name that returns after a street without one is not new.
            returns = turn.kind == NEW_NAME and self._same_name(kept[-1], turn)
            if turn.kind not in (SUPPRESSED, NO_TURN) and not returns:
                kept.append(turn)
        self.turns = kept

    def _suppress_names(self) -> None:
        """Leave out new names of streets that are short."""
        at = 1
        while at < len(self.turns) - 1:
            turn = self.turns[at]
            if turn.kind == NEW_NAME and self.length(at) < _NAME_M and not self.lanes_at(turn.row):
                del self.turns[at]
            else:
                at += 1

    @cached_property
    def crossings(self) -> LegCrossings:
        """The streets at each intersection along the leg."""
        path, rows, net = self.path, self.path.rows, self.net
        count = len(rows)
        first, size = np.zeros(count + 1, np.int64), int(rows[:, 4].sum())
        points, ways = np.empty((count, 2)), np.empty((count, 2), np.int64)
        bearings, entry = np.empty(size, np.int64), np.empty(size, np.bool_)
        kernels("vkssp.guidance.kernels.crossings").find_crossings(
            *(net, path.sides, rows, path.roads, path.entries, _BEARING_STEP, np.empty(MOST_ROADS, np.int64)),
            *(points, first, bearings, entry, ways),
        )
        return LegCrossings(points, first, bearings, entry, ways)

    @property
    def rows_with_lanes(self) -> list[int]:
        """Intersections at which there may be lanes; there are none at the others."""
        if not self._has_lanes:
            return []
        rows, last = self.path.rows, np.array(self._lanes_up_to)
        # The search for lanes ends some intersections before.
        begin = np.zeros(len(rows), np.int64)
        begin[_LANES_BEFORE + 1 :] = rows[: max(0, len(rows) - _LANES_BEFORE - 1), 0] + 1
        # Where a street only continues, its own lanes do not matter; see `lanes_at`.
        matters = rows[:, 4] > 2
        matters[1:] |= last[rows[1:, 0]] <= rows[:-1, 0]
        found: list[int] = np.flatnonzero(matters & (last[rows[:, 0]] >= begin)).tolist()
        return found

    def lanes_at(self, row: int) -> list[tuple[tuple[str, ...], bool]]:
        """Return the lanes before an intersection: their directions, and whether they lead on along the leg."""
        if not self._has_lanes or row < 0 or row >= len(self._rows):
            return []
        # Where a street only continues, lanes of its own do not matter, but those before the last intersection do.
        if self._rows[row][4] < 3 and (row == 0 or self._lanes_up_to[self._rows[row][0]] > self._rows[row - 1][0]):
            return []
        text = self._lanes_before(row)
        if not text:
            return []
        turns, taken = self._open_turns(row)
        valid = valid_lanes(text, turns, taken)
        following = row + 1
        if following < len(self._rows) and matched(text, turns)[1] and self._lanes_before(following) == text:
            # Some lanes are those of the next intersection.
            later = valid_lanes(text, *self._open_turns(following))
            both = tuple(one and two for one, two in zip(valid, later, strict=True))
            valid = both if any(both) else later if not any(valid) or any(later) else valid
        if not any(valid):
            return []
        return list(zip(lanes_of(text).indications, valid, strict=True))

    def _open_turns(self, row: int) -> tuple[tuple[float, ...], int]:
        """Return the angles of the streets that may be entered at an intersection, and which of them is taken."""
        i, _, _, first, count, taken, _ = self._rows[row]
        sides: list[int] = self.path.roads[first : first + count, 0].tolist()
        bearing = self.net.metric.item
        back = self.path.sides.item(i) ^ 1
        base = bearing(back, BEARING)
        angles = [0.0 if side == back else (base - bearing(side, BEARING)) % 360.0 for side in sides]
        open_ones = [k for k, is_open in enumerate(self.path.entries[first : first + count].tolist()) if is_open]
        return tuple(round(angles[k], 2) for k in open_ones), open_ones.index(taken)

    def _lanes_before(self, row: int, depth: int = _LANES_BEFORE) -> str:
        """Return the tag of the lanes before an intersection, or of those before the one before it that go on."""
        first = self._rows[row - 1][0] + 1 if row else 0
        at = self._lanes_up_to[self._rows[row][0]]
        if at >= first:
            return self.network.texts[self._lanes[at]]
        if at < (self._rows[row - depth - 1][0] + 1 if row > depth else 0) or row == 0 or depth == 0:
            return ""
        text = self._lanes_before(row - 1, depth - 1)
        return text if text and self._rows[row - 1][4] > 2 and matched(text, self._open_turns(row - 1)[0])[1] else ""


def _turn_angle(arrives: float, leaves: float) -> float:
    return (540.0 - (leaves - arrives)) % 360.0


def _modifier_of(angle: float) -> int:
    return int(kernels("vkssp.guidance.kernels.net").modifier_of(angle))


def _modifier(arrives: float, leaves: float) -> int:
    return _modifier_of(_turn_angle(arrives, leaves))


def _apart(one: float, two: float) -> float:
    return abs((one - two + 180.0) % 360.0 - 180.0)


def _is_jog(entering: float, leaving: float) -> bool:
    """Return whether two turns are a right one and a left one, or the other way round."""
    right_left = 45.0 < entering < 135.0 and 225.0 < leaving < 315.0
    return right_left or (225.0 < entering < 315.0 and 45.0 < leaving < 135.0)


def _is_name_change(turn: Turn) -> bool:
    return turn.kind == NEW_NAME or (turn.kind in (TURN, CONTINUE) and turn.modifier == STRAIGHT)


def _same_side(one: int, two: int) -> bool:
    rights, lefts = (SHARP_RIGHT, RIGHT, SLIGHT_RIGHT), (SLIGHT_LEFT, LEFT, SHARP_LEFT)
    return STRAIGHT in (one, two) or (one in rights and two in rights) or (one in lefts and two in lefts)
