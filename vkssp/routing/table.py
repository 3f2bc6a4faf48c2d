"""Tables: from each of many places, or nodes, to each of many others; rows are made as they are asked for.

A row is one search from all arcs that its place lies on. What a target adds to it is known beforehand: the nodes from
which one gets to it without passing another, each with what is left then. The few targets that may be reached without
passing any node, on the same street or at the same junction, are found by the streets and junctions of targets.
Which streets places are snapped to is decided for each pair as for a route, so that a table holds what routes would.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.routing.ends import End, find_direct, find_goals, find_starts
from vkssp.routing.lengths import Lengths
from vkssp.routing.places import LatLon, check_place, no_road
from vkssp.routing.route import duration
from vkssp.routing.snap import Snap, StreetIndex
from vkssp.solvers.session import OVERFLOW, Session
from vkssp.solvers.terminals import nodes_of

#: What a table may hold: seconds and metres as float32, NaN where no way leads; weights as uint32, 2**32 - 1 there.
METRICS = {"duration": np.dtype(np.float32), "distance": np.dtype(np.float32), "weight": np.dtype(np.uint32)}
# Farther than any sum of weights.
_NEVER = np.uint64(2**62)
# Ways to targets that are looked at together.
_WAYS = 1 << 21

Block = dict[str, npt.NDArray[Any]]
_Found = tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64] | None]


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose rows are made when they are asked for: iterate over it, once or again, for blocks of rows.

    A block is a dict of an array for each metric, of shape (rows, targets). The weights of the graph may not change
    while it is made.

    Attributes
    ----------
    shape : tuple of (int, int)
        Numbers of sources and targets.
    metrics : tuple of str
        What it holds, see `METRICS`.
    """

    shape: tuple[int, int]
    metrics: tuple[str, ...]
    _blocks: Callable[[], Iterator[Block]]

    def __iter__(self) -> Iterator[Block]:
        """Return an iterator over blocks of rows, from the first on."""
        return self._blocks()

    def read(self) -> Block:
        """Return all of it, an array of shape `shape` for each metric."""
        whole: Block = {name: np.empty(self.shape, METRICS[name]) for name in self.metrics}
        at = 0
        for block in self:
            for name, values in block.items():
                whole[name][at : at + len(values)] = values
            at += len(values)
        return whole


def checked_metrics(graph: Graph, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return what a table of a graph is to hold, by default durations, or weights where those are none.

    Raises
    ------
    QueryError
        If one is not known, named twice, or means nothing in the graph.
    """
    timed = duration(graph, 1) is not None
    if metrics is None:
        return ("duration",) if timed else ("weight",)
    wanted = tuple(metrics)
    if not wanted or isinstance(metrics, str) or len(set(wanted)) < len(wanted) or not set(wanted) <= set(METRICS):
        raise QueryError(f"metrics is {metrics!r}; give some of {', '.join(METRICS)}, each once")
    if "duration" in wanted and not timed:
        raise QueryError("the weights of this graph are no durations; ask for the metric weight instead")
    if "distance" in wanted and graph.lat is None:
        raise QueryError("the graph has no coordinates, so there are no metres in it; leave the metric distance out")
    return wanted


class _Goals:
    """For some targets the nodes from which one gets to them, and which may be got to without passing any."""

    def __init__(self, graph: Graph, ends: Sequence[Sequence[End]], lengths: Lengths | None) -> None:
        # Each target has one way more, from no node, so that none is without.
        flat = [end for group in ends for end in (*group, None)]
        nodes = np.array([graph.num_nodes if end is None else end.node for end in flat], np.int64)
        self.first = np.cumsum([0, *(len(group) + 1 for group in ends)])[:-1]
        known, self.column = np.unique(nodes, return_inverse=True)
        self.nodes: Uint32s = known[known < graph.num_nodes].astype(np.uint32)
        self.weight = np.array([0 if end is None else end.weight for end in flat], np.uint64)
        self.metres = None
        if lengths is not None:
            self.metres = np.array([0.0 if end is None else lengths.of(end.arc, end.at) for end in flat])

    def best(self, distances: Uint32s, metres: npt.NDArray[np.float64] | None) -> _Found:
        """Return weights, and metres, to each target, from those of `nodes`, shape (rows, number of nodes)."""
        nowhere = np.full((len(distances), 1), UNREACHABLE, np.uint32)
        at_goal = np.concatenate([distances, nowhere], axis=1)[:, self.column]
        through = np.where(at_goal == UNREACHABLE, _NEVER, at_goal + self.weight)
        best = np.minimum.reduceat(through, self.first, axis=1)
        if ((best >= UNREACHABLE) & (best < _NEVER)).any():
            raise DistanceOverflowError(OVERFLOW)
        if metres is None or self.metres is None:
            return best, None
        count = np.diff(self.first, append=len(self.column))
        number = np.arange(len(self.column))
        which = np.where(through == np.repeat(best, count, axis=1), number, len(number))
        chosen = np.minimum.reduceat(which, self.first, axis=1)
        column = np.minimum(self.column[chosen], metres.shape[1] - 1)  # what no way leads to is masked by its weight
        return best, np.take_along_axis(metres, column, axis=1) + self.metres[chosen]


class _Maker:
    """Makes the rows of a table from what searches find."""

    def __init__(self, solver: Session, metrics: tuple[str, ...]) -> None:
        self.solver, self.graph, self.metrics = solver, solver.graph, metrics
        self.lengths = Lengths(self.graph) if "distance" in metrics else None

    def found(self, starts: Sequence[Sequence[End]], goals: _Goals) -> Iterator[_Found]:
        """Return weights, and metres, from each of some starts to all targets, some rows at a time."""
        seeds = [[(end.node, end.weight) for end in group] for group in starts]
        blocks = self.solver.rows(self.graph, seeds, goals.nodes, whole=self.lengths is not None)
        size, row = max(1, _WAYS // len(goals.column)), 0
        for block in blocks:
            for first in range(0, len(block), size):
                piece, metres = block[first : first + size], None
                if self.lengths is not None:
                    metres = np.empty((len(piece), len(goals.nodes)))
                    for to, distances, group in zip(metres, piece, starts[row : row + len(piece)], strict=True):
                        to[:] = self.lengths.along(distances, list(group))[goals.nodes]
                    piece = piece[:, goals.nodes]
                row += len(piece)
                yield goals.best(piece, metres)

    def block(self, weight: npt.NDArray[np.uint64], metres: npt.NDArray[np.float64] | None) -> Block:
        """Return the metrics of some rows."""
        missing = weight >= _NEVER
        values: Block = {"weight": np.where(missing, UNREACHABLE, weight).astype(np.uint32)}
        unit = duration(self.graph, 1)
        if unit is not None:
            values["duration"] = np.where(missing, np.nan, weight * unit).astype(np.float32)
        if metres is not None:
            values["distance"] = np.where(missing, np.nan, metres).astype(np.float32)
        return {name: values[name] for name in self.metrics}


def table_of_nodes(
    solver: Session, sources: npt.ArrayLike, targets: npt.ArrayLike | None = None, metrics: Sequence[str] | None = None
) -> Table:
    """Return a table between nodes; see `vkssp.Router.table`, and `vkssp.Solver.table` for bare weights.

    Parameters
    ----------
    solver : Solver
        Over the graph.
    sources, targets : array_like
        Node ids, shape (s,) and (t,); by default targets are the sources.
    metrics : sequence of str, optional
        See `METRICS`; by default durations, or weights where those are none.

    Raises
    ------
    QueryError
        If there is no such node or metric, or no source or target.
    """
    with solver.holding():
        maker = _Maker(solver, checked_metrics(solver.graph, metrics))
        rows = nodes_of(maker.graph, sources, "sources")
        columns = rows if targets is None else nodes_of(maker.graph, targets, "targets")
    starts, ends = ([[End(node, 0)] for node in nodes.tolist()] for nodes in (rows, columns))
    goals = _Goals(maker.graph, ends, maker.lengths)

    def blocks() -> Iterator[Block]:
        for weight, metres in maker.found(starts, goals):
            yield maker.block(weight, metres)

    return Table((len(starts), len(ends)), maker.metrics, blocks)


class _Snapped:
    """Places and the streets that they may be snapped to: the nearest, or the nearest of those that lead on."""

    def __init__(self, index: StreetIndex, places: Sequence[LatLon], name: str, *, leaving: bool) -> None:
        for row, place in enumerate(places):
            check_place(index, place, f"{name} {row}")
        where = np.array([tuple(map(float, place)) for place in places], np.float64)
        self.nearest: list[Snap] = []
        for row, snap in enumerate(index.nearest_of_each(where)):
            if snap is None:
                raise no_road(places[row], f"{name} {row}")
            self.nearest.append(snap)
        useful = index.leaves if leaving else index.is_reached
        away = [row for row, snap in enumerate(self.nearest) if not useful(snap)]
        self.other: list[Snap | None] = list(self.nearest)
        found = index.nearest_of_each(where[away], leaving=leaving, reached=not leaving)
        for row, snap in zip(away, found, strict=True):
            self.other[row] = snap
        self.differs = np.array([a != b for a, b in zip(self.nearest, self.other, strict=True)], np.bool_)
        self.island = np.array([index.on_island(snap) for snap in self.nearest], np.bool_)
        self.part = np.array([index.part(snap) for snap in self.nearest], np.int64)
        # The part of what is taken instead where the nearest lies on an island.
        chosen = [other if on else near for near, other, on in zip(self.nearest, self.other, self.island, strict=True)]
        self.other_part = np.array([-1 if snap is None else index.part(snap) for snap in chosen], np.int64)


class _Targets:
    """Targets as they were snapped, with the ways to them."""

    def __init__(self, index: StreetIndex, snaps: Sequence[Snap | None], lengths: Lengths | None) -> None:
        self._index, self._snaps = index, snaps
        ends = [[] if snap is None else find_goals(index, snap) for snap in snaps]
        self.goals = _Goals(index.graph, ends, lengths)
        self._lengths = lengths
        self._on: dict[int, list[int]] = defaultdict(list)
        self._at: dict[int, list[int]] = defaultdict(list)
        for column, snap in enumerate(snaps):
            if snap is not None:
                self._on[snap.polyline].append(column)
                for junction in self._junctions(snap):
                    self._at[junction].append(column)

    def _junctions(self, snap: Snap) -> set[int]:
        """Return a number for the junction at which a point lies, where the graph knows of turns."""
        nodes = self._index.nodes_of(snap) if self._index.knows_turns and snap.fraction in (0.0, 1.0) else []
        return {min(nodes)} if nodes else set()

    def put_direct(self, start: Snap, weight: npt.NDArray[np.uint64], metres: npt.NDArray[np.float64] | None) -> None:
        """Lower a row by the ways from a point that pass no node."""
        columns = set(self._on.get(start.polyline, ()))
        for junction in self._junctions(start):
            columns.update(self._at.get(junction, ()))
            for node in self._index.nodes_of(start):
                for arc in self._index.arcs_out(node):
                    columns.update(self._on.get(int(self._index.polyline_of[arc]), ()))
        for column in columns:
            goal = self._snaps[column]
            assert goal is not None
            way = find_direct(self._index, start, goal)
            if way is not None and way[0] <= int(weight[column]):
                weight[column] = way[0]
                if metres is not None and self._lengths is not None:
                    metres[column] = self._lengths.of(way[1].arc, way[2].at - way[1].at)


class _Places:
    """The rows of a table between places."""

    def __init__(self, maker: _Maker, index: StreetIndex, sources: _Snapped, targets: _Snapped) -> None:
        self._maker, self._index, self._sources, self._columns = maker, index, sources, targets
        self._targets = [_Targets(index, targets.nearest, maker.lengths)]
        if targets.differs.any():
            self._targets.append(_Targets(index, targets.other, maker.lengths))
        self._starts = [find_starts(index, snap) for snap in sources.nearest]

    def blocks(self) -> Iterator[Block]:
        """Return the rows, some at a time."""
        row = 0
        for weight, metres in self._maker.found(self._starts, self._targets[0].goals):
            rows = np.arange(row, row + len(weight))
            row += len(weight)
            self._put_direct(self._sources.nearest, rows, self._targets[0], weight, metres)
            self._try_others(rows, weight, metres)
            yield self._maker.block(weight, metres)

    def _put_direct(
        self,
        snaps: Sequence[Snap | None],
        rows: npt.NDArray[np.int64],
        targets: _Targets,
        weight: npt.NDArray[np.uint64],
        metres: npt.NDArray[np.float64] | None,
    ) -> None:
        for at, row in enumerate(rows.tolist()):
            snap = snaps[row]
            if snap is not None:
                targets.put_direct(snap, weight[at], None if metres is None else metres[at])

    def _try_others(
        self, rows: npt.NDArray[np.int64], weight: npt.NDArray[np.uint64], metres: npt.NDArray[np.float64] | None
    ) -> None:
        """Look for ways between other streets where the nearest ones have none; see `vkssp.Router.route`."""
        here, there = self._sources, self._columns
        same = here.part[rows][:, None] == there.part[None, :]
        island_here, island_there = here.island[rows][:, None], there.island[None, :]
        meet = ~same & (here.other_part[rows][:, None] == there.other_part[None, :])
        everywhere = np.ones_like(same)
        # Which of the two streets of the source, and of the target, are tried first, and which after those.
        for asked, other_here, other_there in (
            (everywhere, same | island_here, same | island_there),
            (meet, everywhere, everywhere),
        ):
            new_here = other_here & here.differs[rows][:, None]
            new_there = other_there & there.differs[None, :]
            for of_source, of_target in ((False, True), (True, False), (True, True)):
                wanted = asked & (weight >= _NEVER) & (new_here == of_source) & (new_there == of_target)
                if wanted.any():
                    self._try(rows, wanted, of_source, of_target, weight, metres)

    def _try(
        self,
        rows: npt.NDArray[np.int64],
        wanted: npt.NDArray[np.bool_],
        of_source: bool,
        of_target: bool,
        weight: npt.NDArray[np.uint64],
        metres: npt.NDArray[np.float64] | None,
    ) -> None:
        """Fill in some pairs from the nearest or the other street of each of the two."""
        used = np.flatnonzero(wanted.any(axis=1))
        targets = self._targets[int(of_target)]
        snaps: Sequence[Snap | None] = self._sources.other if of_source else self._sources.nearest
        starts = []
        for row in rows[used].tolist():
            snap = snaps[row]
            starts.append([] if snap is None else find_starts(self._index, snap))
        at = 0
        for found, long in self._maker.found(starts, targets.goals):
            which = used[at : at + len(found)]
            at += len(found)
            self._put_direct(snaps, rows[which], targets, found, long)
            weight[which] = np.where(wanted[which], found, weight[which])
            if metres is not None and long is not None:
                metres[which] = np.where(wanted[which], long, metres[which])


def table_of_places(
    solver: Session,
    index: StreetIndex,
    sources: Sequence[LatLon],
    targets: Sequence[LatLon] | None = None,
    metrics: Sequence[str] | None = None,
) -> Table:
    """Return a table between places; see `vkssp.Router.table`."""
    for places, name in ((sources, "sources"), (targets, "targets")):
        if places is not None and len(places) == 0:
            raise QueryError(f"there are no {name}; give at least one")
    with solver.holding():
        maker = _Maker(solver, checked_metrics(solver.graph, metrics))
        here = _Snapped(index, sources, "source", leaving=True)
        there = _Snapped(index, sources if targets is None else targets, "target", leaving=False)
        # With the weights that there are now, whatever other queries are asked meanwhile.
        rows = _Places(maker, copy.copy(index), here, there)
    return Table((len(here.nearest), len(there.nearest)), maker.metrics, rows.blocks)
