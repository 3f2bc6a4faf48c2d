"""Graphs with turns: a node is a junction and what a traveller there remembers of the path to it.

With restrictions only, few travellers remember anything, and a junction becomes several nodes only if a restriction
requires it. With costs, every arc is remembered, and a junction has a node for each arc that leads to it: the graph of
arcs and turns. In both cases an arc of the graph runs along a street, after the turn into it. So lengths, names and
geometry are the same as without turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct
from vkssp.cores import run_all
from vkssp.graph.geo import directions
from vkssp.graph.streets import COORDINATE_SCALE, MODES
from vkssp.jit import kernels
from vkssp.memory import require
from vkssp.osm.gathering import gathered
from vkssp.osm.layers import Layered
from vkssp.osm.memory import Memory, make_memory
from vkssp.osm.profile import Profile, TurnRules
from vkssp.osm.report import ImportReport
from vkssp.osm.restrictions import CONDITIONAL, LIFTED, NEEDLESS, NO_WAY, OBEYED, OTHERS, Pieces, find_paths
from vkssp.osm.roads import RawRoads
from vkssp.osm.roundabouts import turns_against
from vkssp.osm.rows import rows_of
from vkssp.osm.segments import Segments

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: Degrees from north at which arcs leave their tails, and arrive at their heads.
Bearings = tuple[Floats, Floats]

_KERNELS = "vkssp.osm.kernels.turning"
#: Largest distance of a stop sign from its junction, in metres.
_SIGN_M = 20.0
#: Turns that a thread computes at once; the same on any number of cores, as are the last bits of results.
_TURNS_AT_ONCE = 1 << 16
# Turns to the left of more degrees than this are U-turns.
_BACK_DEGREES = 178.5
#: Bytes of memory per turn while a graph is made of turns.
_TURN_BYTES = 100


@dataclass(frozen=True, eq=False)
class Arcs:
    """Directed pieces of streets.

    Attributes
    ----------
    segment, direction : numpy.ndarray
        Segment of each arc, and whether the arc runs along the segment's way (0) or against it (1).
    tail, head : numpy.ndarray
        Tail and head of each arc, as nodes of the segments.
    """

    segment: Indices
    direction: Indices
    tail: Indices
    head: Indices


@dataclass(frozen=True, eq=False)
class Expanded:
    """Graph whose nodes are pairs of a layered node and a state of the memory.

    Attributes
    ----------
    tail, head : numpy.ndarray
        Nodes of the graph's arcs, shape (num_turns,), int64.
    arc : numpy.ndarray
        Layered arc of each arc of the graph, shape (num_turns,), int64.
    before : numpy.ndarray
        Piece of a street travelled before each arc, -1 if not remembered, shape (num_turns,), int64.
    node : numpy.ndarray
        Layered node of each node of the graph, shape (num_nodes,), int64.
    state : numpy.ndarray
        State of the memory at each node of the graph, shape (num_nodes,), int64.
    """

    tail: Indices
    head: Indices
    arc: Indices
    before: Indices
    node: Indices
    state: Indices


@dataclass(frozen=True, eq=False)
class Turning:
    """Graph with turns.

    Attributes
    ----------
    tail, head : numpy.ndarray
        Nodes of the graph's arcs, shape (num_turns,), int64.
    arc : numpy.ndarray
        Piece of a street that each arc runs along, shape (num_turns,), int64.
    node : numpy.ndarray
        Node of the segments that each node of the graph stands for, shape (num_nodes,), int64.
    memory : numpy.ndarray
        State of the memory at each node of the graph, shape (num_nodes,), int64.
    layer : numpy.ndarray
        Part of a trip that each node serves, as in `Layered`, shape (num_nodes,), uint8.
    seconds : numpy.ndarray or None
        Seconds of the turn into each arc, shape (num_turns,), float64; None if turns cost nothing.
    weights : numpy.ndarray or None
        Weight of the turn into each arc if weights are no durations, shape (num_turns,), float64.
    """

    tail: Indices
    head: Indices
    arc: Indices
    node: Indices
    memory: Indices
    layer: npt.NDArray[np.uint8]
    seconds: Floats | None
    weights: Floats | None


def with_turns(
    roads: RawRoads,
    segments: Segments,
    arcs: Arcs,
    layers: Callable[[], Layered],
    profile: Profile,
    report: ImportReport,
    bearings_of_arcs: Callable[[], Bearings] | None,
) -> Turning:
    """Return the graph with the turns that the report asks for: restrictions, or restrictions and costs.

    Parameters
    ----------
    roads : RawRoads
        The ways, and the file's data about turns.
    segments : Segments
        The pieces of the ways.
    arcs : Arcs
        The directed pieces of the ways.
    layers : callable
        Returns the graph without turns; its arcs are copies of `arcs`.
    profile : Profile
        The vehicle.
    report : ImportReport
        Receives the number of restrictions by outcome.
    bearings_of_arcs : callable or None
        Returns what `bearings` does, if turns cost something.
    """
    assert roads.turns is not None
    restrictions = roads.turns.restrictions
    wanted = {key for r in restrictions for key in (*r.origins, *r.ways, *r.targets)}
    keys = np.fromiter(wanted, np.int64, len(wanted))
    is_named = np.isin(roads.way, keys)
    used, closed = set(roads.way[is_named].tolist()), set(np.intersect1d(roads.turns.closed, keys).tolist())
    pieces = _named_pieces(roads, segments, arcs, is_named)
    count = roads.turns.count.copy()
    forbidden, commanded = find_paths(restrictions, pieces, used, closed, count)
    for reason, number in count.most_common():
        whole = (OBEYED, OTHERS, NEEDLESS, CONDITIONAL, LIFTED)
        (report.restrictions if reason in whole else report.broken_restrictions)[reason] = number
    report.end_stage("restrictions")
    all_arcs = bearings_of_arcs is not None
    found_bearings = None if bearings_of_arcs is None else bearings_of_arcs()
    if found_bearings is None:  # with costs, no path turns round there anyway
        forbidden += pieces.turns_in_gates((*forbidden, *commanded))
    else:
        leaves, arrives = found_bearings
        on_ring = roads.roundabout[segments.way[arcs.segment]]
        forbidden += turns_against(arcs.tail, arcs.head, arcs.segment, on_ring, leaves, arrives - 180.0)
    report.end_stage("bearings")
    memory = make_memory(forbidden, commanded, arcs.tail, arcs.head, all_arcs=all_arcs)
    report.end_stage("memory of turns")
    layered = layers()
    report.end_stage("layers")
    found = expand(layered, arcs, memory, all_arcs=all_arcs)
    arc = layered.arc[found.arc]
    report.end_stage("turns")
    seconds = None
    if found_bearings is not None:
        seconds = turn_seconds(found.before, arc, arcs, segments, roads, profile.turns, found_bearings)
    node, layer = layered.node[found.node], layered.layer[found.node]
    weights = None if seconds is None else _turn_weights(seconds, found.before, arc, arcs, segments, roads, profile)
    report.end_stage("costs of turns")
    return Turning(found.tail, found.head, arc, node, found.state, layer, seconds, weights)


def _named_pieces(roads: RawRoads, segments: Segments, arcs: Arcs, is_named: Bools) -> Pieces:
    """Return the arcs of named ways, and the links of gates."""
    (way,) = gathered((segments.way, arcs.segment))
    of_named, is_link = gathered((is_named, way), (segments.wait > 0, arcs.segment))
    arc = np.flatnonzero(of_named | is_link)
    tail, head = arcs.tail[arc], arcs.head[arc]
    key = np.where(is_link[arc], NO_WAY, roads.way[way[arc]])
    return Pieces(arc, key, arcs.direction[arc] > 0, tail, head, segments.node[tail], segments.node[head])


def _turn_weights(
    seconds: Floats, before: Indices, arc: Indices, arcs: Arcs, segments: Segments, roads: RawRoads, profile: Profile
) -> Floats:
    """Return the weights of turns that take so many seconds, between the given arcs, if weights are no durations."""
    rules = profile.weight
    if rules.name == "distance":
        return np.zeros(len(seconds))
    weights = seconds if rules.turns_count else np.zeros(len(seconds))
    if rules.dismount and roads.travel is not None:
        rides = roads.travel[segments.way[arcs.segment], arcs.direction] == MODES.index(profile.mode)
        weights = weights + np.where((before >= 0) & rides[before] & ~rides[arc], rules.dismount, 0.0)
    return weights


def expand(layered: Layered, arcs: Arcs, memory: Memory, *, all_arcs: bool) -> Expanded:
    """Return the graph of pairs of a junction and a state of the memory.

    If all arcs are remembered, a U-turn is allowed only if no other turn is allowed, or at a junction to which only one
    arc leads. Otherwise U-turns are allowed everywhere, as without turns.

    Parameters
    ----------
    layered : Layered
        The graph without turns; its arcs are copies of `arcs`.
    arcs : Arcs
        The pieces of streets.
    memory : Memory
        The memory of a traveller.
    all_arcs : bool
        Whether every arc is remembered.
    """
    num_memories = len(memory.last)
    first_out, leaving = rows_of(layered.tail, len(layered.node))
    # A state with a last arc occurs only at the heads of the copies of this arc; state 0 may occur at every node.
    keys = _remembering(layered, memory) if num_memories > 1 else np.zeros(0, np.int64)
    if not all_arcs:
        keys = np.concatenate([keys, np.arange(len(layered.node)) * num_memories])
    keys = distinct(keys)
    turns = _Turns(layered, arcs, memory, keys, first_out, leaving, all_arcs=all_arcs)
    tail, head, copy, before = turns.found()
    node, state = turns.pairs()
    if not all_arcs:
        return Expanded(tail, head, copy, before, node, state)

    # A trip may begin in the middle of an arc to which no turn leads; such an arc gets a tail of its own.
    own = turns.keys_of(layered.head, *gathered((memory.after, layered.arc)))
    reached = np.zeros(len(keys), np.bool_)
    reached[head] = True
    lone = np.flatnonzero(~reached[own])
    origins, of_lone = np.unique(layered.tail[lone], return_inverse=True)
    order = np.argsort(of_lone, kind="stable")
    further = (
        (tail, len(keys) + of_lone[order]),
        (head, own[lone[order]]),
        (copy, lone[order]),
        (before, np.full(len(lone), -1)),
        (node, origins),
        (state, np.zeros(len(origins), np.int64)),
    )
    return Expanded(*run_all([partial(np.concatenate, pair) for pair in further]))


class _Turns:
    """Turns of a graph of pairs of a junction and a state, found by compiled code on all cores; see `expand`.

    Parameters
    ----------
    layered, arcs, memory, all_arcs
        As for `expand`.
    keys : numpy.ndarray
        The pairs, as junction * num_states + state, sorted.
    first_out, leaving : numpy.ndarray
        The copies of arcs that leave each junction.
    """

    def __init__(
        self,
        layered: Layered,
        arcs: Arcs,
        memory: Memory,
        keys: Indices,
        first_out: Indices,
        leaving: Indices,
        *,
        all_arcs: bool,
    ) -> None:
        self._kernels = kernels(_KERNELS)
        self._keys, self._num_states = keys, len(memory.last)
        self._node_first = np.empty(len(layered.node) + 1, np.int64)
        self._kernels.find_nodes(keys, self._num_states, self._node_first)
        num_arcs, arc = len(memory.after), layered.arc[leaving]
        forbids, steps = (self._states_of(values, num_arcs) for values in (memory.forbidden, memory.steps))
        roads_in = np.bincount(arcs.head, minlength=int(max(arcs.head.max(initial=0), arcs.tail.max(initial=0))) + 1)
        goes_on = np.zeros(self._num_states, np.bool_)
        lasting = memory.last, forbids, memory.forbidden, num_arcs
        if all_arcs:
            there = keys, self._num_states, first_out, arc, *lasting, arcs.segment, arcs.direction, goes_on
            self._in_parts(len(keys), self._kernels.find_ways_on, there)
        self._given = (
            *(keys, self._num_states, first_out, leaving, arc, *lasting, all_arcs, arcs.segment, arcs.direction),
            *(goes_on, roads_in[arcs.tail] <= 1, memory.after, steps, memory.steps, memory.steps_to),
            *(layered.head, self._node_first),
        )

    def found(self) -> tuple[Indices, Indices, Indices, Indices]:
        """Return key before, key after, copy of the arc, and arc before each turn, sorted by key before."""
        count, nothing = np.empty(len(self._keys), np.int64), np.zeros(0, np.int64)
        self._in_parts(len(count), self._kernels.find_turns, (*self._given, count, *[nothing] * 4))
        first = np.cumsum(count) - count
        num_turns = int(count.sum())
        require(_TURN_BYTES * num_turns, f"a graph of {num_turns} turns")
        tail, head, copy, before = (np.empty(num_turns, np.int64) for _ in range(4))
        if num_turns:
            self._in_parts(len(first), self._kernels.find_turns, (*self._given, first, tail, head, copy, before))
        return tail, head, copy, before

    def pairs(self) -> tuple[Indices, Indices]:
        """Return the junction and the state of each key."""
        node, state = (np.empty(len(self._keys), np.int64) for _ in range(2))
        self._in_parts(len(node), self._kernels.split_keys, (self._keys, self._num_states, node, state))
        return node, state

    def keys_of(self, node: Indices, state: Indices) -> Indices:
        """Return the index of each pair of a junction and a state among the keys."""
        at = np.empty(len(node), np.int64)
        there = node, state, self._keys, self._num_states, self._node_first, at
        self._in_parts(len(node), self._kernels.find_keys, there)
        return at

    def _states_of(self, pairs: Indices, num_arcs: int) -> Bools:
        """Return whether each state is in some pairs of a state and an arc."""
        found = np.zeros(self._num_states, np.bool_)
        found[pairs // max(num_arcs, 1)] = True
        return found

    @staticmethod
    def _in_parts(size: int, kernel: Callable[..., None], others: tuple[Any, ...]) -> None:
        """Call a kernel for parts of a range on all cores."""
        parts = [(low, min(size, low + _TURNS_AT_ONCE)) for low in range(0, size, _TURNS_AT_ONCE)]
        run_all([partial(kernel, *part, *others) for part in parts])


def _remembering(layered: Layered, memory: Memory) -> Indices:
    """Return the possible pairs of layered node and state, as node * num_states + state, some more than once."""
    first, by_arc = rows_of(layered.arc, len(memory.after))
    last = memory.last[1:]
    low, count = gathered((first, last), (np.diff(first), last))
    which = np.repeat(np.arange(len(last)), count)
    copy = by_arc[(low - (np.cumsum(count) - count))[which] + np.arange(len(which))]
    keys: Indices = layered.head[copy] * len(memory.last) + which + 1
    return keys


def turn_seconds(
    before: Indices, arc: Indices, arcs: Arcs, segments: Segments, roads: RawRoads, rules: TurnRules, bearings: Bearings
) -> Floats:
    """Return the seconds of turns, by the functions of OSRM's car.lua or bicycle.lua, with those of signals and signs.

    Parameters
    ----------
    before, arc : numpy.ndarray
        The arcs before and after each turn; -1 before stands for no turn, which costs nothing.
    arcs : Arcs
        The pieces of streets.
    segments : Segments
        The geometry of the arcs.
    roads : RawRoads
        The ways, signals and signs.
    rules : TurnRules
        Rules for the costs of turns.
    bearings : tuple of numpy.ndarray
        Degrees from north at which each arc leaves its tail and arrives at its head, shape (num_arcs,) each.
    """
    assert roads.turns is not None
    way = segments.way[arcs.segment]
    roundabout, carried = roads.roundabout[way], roads.carried[way]
    number_of_roads = np.bincount(segments.tail, minlength=len(segments.node)) + np.bincount(
        segments.head, minlength=len(segments.node)
    )
    leaves, arrives = bearings
    waits, undirected_stop = _waits(arcs, segments, roads)
    length = segments.length[arcs.segment]
    kind = _kinds(roads)[way] if rules.everywhere else way
    result = np.empty(len(arc))

    def compute(first: int) -> None:
        some = slice(first, first + _TURNS_AT_ONCE)
        here, there = before[some], arc[some]
        busy = number_of_roads[arcs.tail[there]] > 2
        turns_round = (arcs.segment[here] == arcs.segment[there]) & (arcs.direction[here] != arcs.direction[there])
        angle = (leaves[there] - arrives[here] + 180.0) % 360.0 - 180.0
        # The links of gates have no direction.
        angle[(length[here] == 0) | (length[there] == 0)] = 0.0
        # To OSRM, a turn to the left that leads back beside the street of the arrival is a U-turn.
        turns_round |= angle < -_BACK_DEGREES
        angle[turns_round] = 180.0
        right, sharpness = angle >= 0, np.abs(angle) / 180.0
        bias = np.where(right, rules.bias, 1.0 / rules.bias)
        if rules.squared:
            penalty = rules.penalty * (2.0 * sharpness) ** 2 / bias
        elif rules.linear:
            penalty = rules.penalty * 2.0 * sharpness / bias
        else:
            penalty = rules.penalty / (1.0 + np.exp(6.5 * bias - 13.0 / bias * sharpness))
        # A left turn crosses oncoming traffic if traffic keeps right, which a bias of 1 or more means, and vice versa.
        crossing = busy & (right == (rules.bias < 1.0)) & (angle != 0.0) & ~turns_round
        crossing &= ~roundabout[here] & ~roundabout[there]
        penalty += np.where(crossing, rules.oncoming / (1.0 + np.exp(3.25 - 13.0 * sharpness)), 0.0)
        changes = carried[here] != carried[there]
        counts = busy | changes | turns_round
        if rules.everywhere:
            counts |= kind[here] != kind[there]
        seconds = np.where(counts, penalty, 0.0) + np.where(turns_round, rules.u_turn, 0.0)
        # Signs stand before junctions. A stop sign without a direction does not stop traffic that comes from the
        # junction.
        leaves_junction = undirected_stop[here] & ~busy & (length[here] < _SIGN_M) & (length[there] > _SIGN_M)
        seconds += np.where(leaves_junction, 0.0, waits[here])
        result[some] = np.where(here >= 0, seconds, 0.0)

    run_all([partial(compute, first) for first in range(0, len(arc), _TURNS_AT_ONCE)])
    return result


def _kinds(roads: RawRoads) -> Indices:
    """Return a number for each way; ways with the same one are one street to travellers."""
    columns = [roads.name, roads.ref, roads.roundabout, roads.link, roads.carried, roads.snappable]
    if roads.guide is not None:
        columns.append(roads.guide)
    if roads.travel is not None:
        columns += list(roads.travel.T)
    _, found = np.unique(np.stack([column.astype(np.int64) for column in columns]), axis=1, return_inverse=True)
    return found.reshape(-1)


def _waits(arcs: Arcs, segments: Segments, roads: RawRoads) -> tuple[Floats, Bools]:
    """Return the seconds of the obstacle at each arc's head, and whether it is a stop sign without a direction."""
    assert roads.turns is not None
    obstacles, speed = roads.turns.obstacles, roads.speed[segments.way[arcs.segment], arcs.direction]
    if len(obstacles.node) == 0:
        return np.zeros(len(arcs.head)), np.zeros(len(arcs.head), np.bool_)
    which = obstacles.at(segments.node)[arcs.head]
    fastest = np.zeros(len(segments.node))
    for end in (arcs.tail, arcs.head):
        kernels(_KERNELS).find_largest(end, speed, fastest)
    counts = (which >= 0) & (~obstacles.minor[which] | (fastest[arcs.head] > speed))
    return np.where(counts, obstacles.seconds[which, arcs.direction], 0.0), counts & obstacles.undirected_stop[which]


def bearings(arcs: Arcs, segments: Segments, *, ellipsoid: bool) -> Bearings:
    """Return the bearings at which each arc leaves its tail and arrives at its head.

    Parameters
    ----------
    arcs : Arcs
        The pieces of streets.
    segments : Segments
        Their geometry.
    ellipsoid : bool
        Whether the bearings are those on the ellipsoid WGS84, not on a sphere.

    Returns
    -------
    leaves, arrives : numpy.ndarray
        Degrees from north, shape (num_arcs,) each, float64.
    """
    away = directions(segments.polyline_first, segments.points, COORDINATE_SCALE, ellipsoid=ellipsoid).reshape(-1)
    at = 2 * arcs.segment + arcs.direction
    leaves, arrives = gathered((away, at), (away + 180.0, at ^ 1))
    return leaves, arrives
