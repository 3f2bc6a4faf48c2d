"""Speeds of streets between OSM nodes, and times of turns over OSM nodes, as services of traffic data give them.

The rules are those of OSRM's files of segment speeds and turn penalties.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import array_of, shown
from vkssp.errors import QueryError
from vkssp.graph.closed_pieces import without_pieces
from vkssp.graph.csr import UNREACHABLE, within
from vkssp.graph.graph import Graph, checked_graph
from vkssp.graph.streets import COORDINATE_SCALE, MOST_PIECE_UNITS, SECONDS_OF_PIECES, Streets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Most names of sources of speeds.
_MOST_SOURCES = 255
#: Fastest speed, in km/h.
_MOST_SPEED = 1000.0


def with_segment_speeds(
    graph: Graph,
    segments: npt.ArrayLike,
    speeds: npt.ArrayLike,
    rates: npt.ArrayLike | None = None,
    *,
    source: str = "speeds",
) -> Graph:
    """Return a graph with other speeds between OSM nodes.

    Arcs keep the time of the turn into them. Streets are cut where a piece is closed; the nodes at which they are cut
    have numbers after all others (``vkssp.graph.closed_pieces``).

    Parameters
    ----------
    graph : Graph
        A graph of an extract.
    segments : array_like
        OSM ids of successive nodes of ways, in the direction of travel, integers, shape (k, 2). Pairs that the graph
        does not have are skipped; of equal pairs, the last counts.
    speeds : array_like
        Speed of each, in km/h, from 0, which closes it, to 1000; shape (k,).
    rates : array_like, optional
        Metres for one unit of weight of each, more than 0 unless it is closed; infinity leaves the weight as it is, and
        NaN takes the duration for the weight. Shape (k,). By default all weights are durations.
    source : str
        Name of the source of these speeds, for `Streets.source_names`.

    Returns
    -------
    Graph
        With rates, a graph whose weights are no longer its durations (`Streets.seconds`).

    Raises
    ------
    QueryError
        If the graph has no OSM nodes and durations, or an argument is invalid.
    """
    checked_graph(graph)
    if not isinstance(source, str):
        raise QueryError(f"source is {shown(source)}; give a name, a text")
    streets = _known(graph)
    pairs = _ids(segments, "segments", 2)
    given = _numbers(speeds, "speeds", len(pairs))
    if not ((given >= 0) & (given <= _MOST_SPEED)).all():
        raise QueryError(f"speeds hold one that is not from 0 to {_MOST_SPEED:.0f}; give km/h, 0 for closed")
    paces = np.full(len(pairs), np.nan) if rates is None else _numbers(rates, "rates", len(pairs))
    if not (np.isnan(paces) | (paces > 0) | (given == 0)).all():
        raise QueryError("rates hold one that is not more than 0; give metres for one unit of weight")
    if not np.isnan(paces).all():
        graph = _with_seconds(graph)
        streets = _known(graph)
    pieces = _Pieces(streets, pairs)
    weight, turn, seconds, of_turn, unit = _amounts(graph)
    drive, weigh = seconds - of_turn, weight - turn
    arc, share, which, at = pieces.of_arcs(streets)
    with np.errstate(divide="ignore", invalid="ignore"):  # closed pieces, perhaps of length 0
        taken = streets.length[arc] * share * 3.6 / given[which]
        weighed = np.where(np.isnan(paces[which]), taken, streets.length[arc] * share / paces[which])
    weighed = np.where(np.isinf(paces[which]), share * weigh[arc], weighed)
    is_open = given[which] > 0
    side = streets.backward[arc].astype(np.int64)
    new: dict[str, Any] = {}
    for name, amounts, values, whole in (
        ("piece_weight", weigh, weighed, unit),
        ("piece_seconds", drive, taken, SECONDS_OF_PIECES),
    ):
        known = getattr(streets, name)
        before = share * amounts[arc]
        if known is not None:  # whole units, at least one
            size = 1.0 if name == "piece_seconds" else unit
            before = known[at, side] * size
            values = np.where(is_open, np.clip(np.rint(values / whole), 1.0, MOST_PIECE_UNITS) * whole, values)
            new[name] = known.copy()
            new[name][at[is_open], side[is_open]] = (values if size == 1.0 else np.rint(values / size))[is_open]
        amounts += np.bincount(arc[is_open], (values - before)[is_open], graph.num_arcs)
    changed = _changed(graph, weigh, turn, drive, of_turn, unit)
    if new:
        assert changed.streets is not None
        new = {name: own(values.astype(getattr(streets, name).dtype)) for name, values in new.items()}
        changed = replace(changed, streets=replace(changed.streets, **new))
    changed = replace(changed, streets=pieces.told(_known(changed), source))
    if is_open.all():
        return changed
    closed = np.zeros((len(streets.points), 2), np.bool_)
    closed[at[~is_open], side[~is_open]] = True
    return without_pieces(changed, closed)


def with_turn_penalties(
    graph: Graph, turns: npt.ArrayLike, seconds: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Graph:
    """Return a graph in which turns over OSM nodes take other times.

    Parameters
    ----------
    graph : Graph
        A graph of an extract with costs of turns.
    turns : array_like
        OSM ids of the nodes before, at and after each turn, integers, shape (k, 3). Turns that the graph does not have
        are skipped.
    seconds : array_like
        Seconds that each takes, shape (k,). Turns of less than 0 take time off the street after them, at most what it
        and the street before take.
    weights : array_like, optional
        Weights of the turns; by default, and where NaN, the seconds. Shape (k,).

    Raises
    ------
    QueryError
        If the graph has no OSM nodes, durations and costs of turns, or an argument is invalid.
    """
    checked_graph(graph)
    streets = _known(graph)
    if streets.turn is None or streets.node is None:
        raise QueryError("turns take no time in this graph; import the extract with turns='costs'")
    triples = _ids(turns, "turns", 3)
    given = _numbers(seconds, "seconds", len(triples))
    if not np.isfinite(given).all():
        raise QueryError("seconds hold a number that is not finite")
    weighs = np.full(len(triples), np.nan) if weights is None else _numbers(weights, "weights", len(triples))
    if not np.isnan(weighs).all():
        graph = _with_seconds(graph)
        streets = _known(graph)
    assert streets.point_node is not None and streets.node is not None
    first = streets.polyline_first.astype(np.int64)
    begin, end = first[streets.polyline], first[streets.polyline.astype(np.int64) + 1]
    second = streets.point_node[np.where(streets.backward, end - 2, begin + 1)]
    last_but_one = streets.point_node[np.where(streets.backward, begin + 1, end - 2)]
    before = np.full(graph.num_nodes, -1, np.int64)
    before[graph.head] = last_but_one  # all arcs to a node come by the same street
    tail = graph.tail.astype(np.int64)
    which = _matched(np.column_stack([before[tail], streets.node[tail], second]), triples)
    arc = np.flatnonzero(which >= 0)
    taken = given[which[arc]]
    weighed = np.where(np.isnan(weighs[which[arc]]), taken, weighs[which[arc]])
    weight, turn, duration, of_turn, unit = _amounts(graph)
    drive, weigh = duration - of_turn, weight - turn
    # As in OSRM no turn takes more off than the street before it takes, but for a unit for each of its points. Nor more
    # than the street after it takes, because each arc weighs a unit at least.
    points = end - begin
    for amounts, of_turns, new, size in ((drive, of_turn, taken, SECONDS_OF_PIECES), (weigh, turn, weighed, unit)):
        left = np.zeros(graph.num_nodes)
        left[graph.head] = amounts - points * size
        most = np.maximum(np.minimum(left[tail[arc]], amounts[arc] - size), 0.0)
        of_turns[arc] = np.maximum(new, -most)
    return _changed(graph, weigh, turn, drive, of_turn, unit)


def _known(graph: Graph) -> Streets:
    streets = graph.streets
    if streets is None or streets.point_node is None or not (streets.seconds_per_weight or streets.seconds is not None):
        raise QueryError("the graph has no OSM nodes with durations between them; import an extract")
    return streets


def _ids(given: npt.ArrayLike, name: str, columns: int) -> Ints:
    found = array_of(given, name, "OSM node ids")
    if found.size == 0:
        return np.zeros((0, columns), np.int64)
    if found.ndim != 2 or found.shape[1] != columns or found.dtype.kind not in "iu":
        raise QueryError(f"{name} is {shown(given)}; give OSM node ids, integers, shape (k, {columns})")
    return found.astype(np.int64)


def _numbers(given: npt.ArrayLike, name: str, count: int) -> Floats:
    found = array_of(given, name, "numbers")
    if found.shape != (count,) or (count and found.dtype.kind not in "iuf"):
        raise QueryError(f"{name} is {shown(given)}; give numbers, shape ({count},)")
    return found.astype(np.float64)


def _matched(rows: Ints, wanted: Ints) -> Ints:
    """Return for each row the last of the wanted rows that equals it, -1 if there is none."""
    result = np.full(len(rows), -1, np.int64)
    if len(wanted) == 0 or len(rows) == 0:
        return result
    near = np.flatnonzero(np.isin(rows[:, 0], wanted[:, 0]))
    _, number = np.unique(np.concatenate([rows[near], wanted]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    place = np.full(int(number.max()) + 1, -1, np.int64)
    place[number[len(near) :]] = np.arange(len(wanted))
    result[near] = place[number[: len(near)]]
    return result


class _Pieces:
    """Pieces of polylines between successive nodes that have new speeds, in both directions.

    Attributes
    ----------
    line, which : numpy.ndarray
        For each direction, the polyline of each piece, and the index of its speed.
    share : numpy.ndarray
        For each direction, the piece's part of its polyline by length.
    at : numpy.ndarray
        For each direction, the first point of each piece.
    """

    def __init__(self, streets: Streets, pairs: Ints) -> None:
        assert streets.point_node is not None
        first = streets.polyline_first.astype(np.int64)
        count = np.diff(first) - 1
        line = np.repeat(np.arange(len(count)), count)
        at = first[:-1][line] + within(count)
        here, there = streets.point_node[at], streets.point_node[at + 1]
        lat, lon = (streets.points[:, side] * COORDINATE_SCALE for side in (0, 1))
        metres = streets.measure(lat[at], lon[at], lat[at + 1], lon[at + 1])
        total = np.bincount(line, metres, len(count))[line]
        share = np.divide(metres, total, out=1.0 / count[line], where=total > 0)
        found = [_matched(np.column_stack(ends), pairs) for ends in ((here, there), (there, here))]
        kept = [np.flatnonzero(which >= 0) for which in found]
        self.line = [line[some] for some in kept]
        self.share = [share[some] for some in kept]
        self.at = [at[some] for some in kept]
        self.which = [which[some] for which, some in zip(found, kept, strict=True)]

    def told(self, streets: Streets, name: str) -> Streets:
        """Return streets that know the source of the speeds of these pieces."""
        names = streets.source_names
        if name in names[1:]:
            number = names.index(name, 1)
        elif len(names) > _MOST_SOURCES:
            raise QueryError(f"the speeds of this graph have {_MOST_SOURCES} sources; give one of their names")
        else:
            number, names = len(names), (*names, name)
        source = np.zeros((len(streets.points), 2), np.uint8) if streets.source is None else streets.source.copy()
        for side in (0, 1):
            source[self.at[side], side] = number
        return replace(streets, source=own(source), source_names=names)

    def of_arcs(self, streets: Streets) -> tuple[Ints, Floats, Ints, Ints]:
        """Return the arc, the share, the index of the speed and the first point of each piece of each arc."""
        parts = []
        for side in (0, 1):
            arcs = np.flatnonzero(streets.backward == bool(side))
            by_line = arcs[np.argsort(streets.polyline[arcs], kind="stable")]
            lines = streets.polyline[by_line]
            low, high = (np.searchsorted(lines, self.line[side], end) for end in ("left", "right"))
            count = high - low
            piece = np.repeat(np.arange(len(count)), count)
            columns = (values[side][piece] for values in (self.share, self.which, self.at))
            parts.append((by_line[low[piece] + within(count)], *columns))
        arc, share, which, first = (np.concatenate(column) for column in zip(*parts, strict=True))
        return arc, share, which, first


def _amounts(graph: Graph) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Return weights and those of turns, seconds and those of turns, of all arcs, and the unit of weights."""
    streets = _known(graph)
    unit = streets.seconds_per_weight or graph.scale or 1.0
    none: Floats = np.zeros(graph.num_arcs)
    weight: Floats = graph.weight.astype(np.float64) * unit
    turns = streets.turn_weight
    turn: Floats = none.copy() if turns is None else turns.astype(np.float64) * unit
    if streets.seconds is None:
        return weight, turn, weight.copy(), turn.copy(), unit
    of_turn: Floats = none if streets.turn_seconds is None else streets.turn_seconds.astype(np.float64)
    return weight, turn, streets.seconds.astype(np.float64), of_turn.copy(), unit


def _changed(graph: Graph, weigh: Floats, turn: Floats, drive: Floats, of_turn: Floats, unit: float) -> Graph:
    """Return a graph with other weights and durations; those of turns are apart."""
    streets = _known(graph)
    turns = np.rint(turn / unit)
    weight = np.maximum(np.maximum(np.rint(weigh / unit), 1.0) + turns, 1.0)
    if weight.max(initial=0.0) >= UNREACHABLE:
        raise QueryError("a street is so slow that its weight does not fit into 32 bits; give it the speed 0")
    if streets.turn is not None:
        bonus = own(np.maximum(-turns, 0.0).astype(np.uint32)) if (turns < 0).any() else None
        streets = replace(streets, turn=own(np.maximum(turns, 0.0).astype(np.uint32)), turn_bonus=bonus)
    if streets.seconds is not None:
        streets = replace(streets, seconds=own((drive + of_turn).astype(np.float32)))
        if streets.turn_seconds is not None:
            streets = replace(streets, turn_seconds=own(of_turn.astype(np.float32)))
    return replace(graph, weight=own(weight.astype(np.uint32)), streets=streets)


def _with_seconds(graph: Graph) -> Graph:
    """Return a graph that keeps its durations apart from its weights."""
    streets = _known(graph)
    if streets.seconds is not None:
        return graph
    _, _, seconds, of_turn, unit = _amounts(graph)
    apart = replace(
        streets,
        seconds=own(seconds.astype(np.float32)),
        turn_seconds=None if streets.turn is None else own(of_turn.astype(np.float32)),
        piece_seconds=None if streets.piece_weight is None else own((streets.piece_weight * unit).astype(np.float32)),
        seconds_per_weight=0.0,
    )
    return replace(graph, streets=apart, scale=unit)
