"""Tables between places on a map, with the values of the routes between them.

A row is one search from all arcs that its place lies on. Targets that may be reached without passing a node, on the
same street or at the same junction, are few; they are looked up by their streets and junctions. The streets to which a
source and a target are snapped are chosen for each pair, as for a route.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.route import Place
from vkssp.routing.lines import Snap
from vkssp.routing.many_phantoms import Direct, many_direct, many_goals, many_starts
from vkssp.routing.part_weights import Points, part_weights
from vkssp.routing.places import (
    LatLon,
    inside_areas,
    listed_places,
    nearest_of_each,
    past_small_components,
    place_of,
    snapped,
)
from vkssp.routing.snap import StreetIndex
from vkssp.routing.stops import with_snapping
from vkssp.solver.path_sums import Floats
from vkssp.solver.phantom_node import PhantomNodes
from vkssp.solver.table import Table
from vkssp.solver.table_file import Block
from vkssp.solver.table_maker import CONNECTIONS, NEVER, Found, Goals, Maker, Rows, nodes_for
from vkssp.solver.tables import RowSource

_Ends = tuple[list[LatLon], list[Snap]]


@dataclass(frozen=True, eq=False, repr=False)
class PlaceTable(Table):
    """Table between places on a map; see `Router.table`."""

    _places: Callable[[], tuple[list[Place], list[Place]]] = field(default=lambda: ([], []), kw_only=True)

    @cached_property
    def _ends(self) -> tuple[list[Place], list[Place]]:
        return self._places()

    @property
    def source_places(self) -> list[Place]:
        """Points on streets to which the sources are snapped first, as those of `Route.origin`."""
        return self._ends[0]

    @property
    def target_places(self) -> list[Place]:
        """Points on streets to which the targets are snapped first."""
        return self._ends[1]


def _snapped(index: StreetIndex, places: Sequence[LatLon], name: str, snapping: str) -> _Ends:
    """Return checked places, and the points that they are snapped to; errors name the row."""
    where = listed_places(index, places, name)
    if snapping != "default":
        where = [with_snapping(place, snapping) for place in where]
    return where, snapped(index, where, [f"{name} {row}" for row in range(len(where))])


def _settled(index: StreetIndex, begin: _Ends, end: _Ends) -> tuple[_Ends, _Ends]:
    """Return sources and targets at the points that count, since the points of all places may decide on each."""
    several = end is not begin
    places, snaps = (begin[0] + end[0], begin[1] + end[1]) if several else begin
    snaps = inside_areas(index, places, past_small_components(index, places, snaps))
    first = begin[0], snaps[: len(begin[0])]
    return first, (end[0], snaps[len(begin[0]) :]) if several else first


class _Snapped:
    """Places and the points that they may be snapped to.

    `nearest` are the points that are tried first. If the nearest point on a street from which the network's core can be
    reached (`leaving`), or which can be reached from it, is not the same (`differs`), it is in `other`; else that is
    None, as it is without such a street.
    """

    def __init__(self, index: StreetIndex, places: list[LatLon], nearest: list[Snap], *, leaving: bool) -> None:
        lines = np.array([snap.polyline for snap in nearest], np.int64)
        away = np.flatnonzero(~index.useful[int(not leaving)][lines]).tolist()
        if not index.farther_streets:
            away = []  # the nearest points are those that count
        self.nearest, self.island, self.part = nearest, index.islands[lines], index.parts[0][lines]
        self.other: list[Snap | None] = [None] * len(nearest)
        self.differs = np.zeros(len(nearest), np.bool_)
        # The connected part of the nearest point, or of the other point if the nearest one lies on an island.
        self.other_part = self.part.copy()
        lone = [places[row] for row in away]
        found = nearest_of_each(index, lone, leaving=leaving, reached=not leaving) if away else []
        for row, snap in zip(away, found, strict=True):
            self.differs[row] = snap != nearest[row]
            self.other[row] = snap if self.differs[row] else None
            if self.island[row]:
                self.other_part[row] = -1 if snap is None else index.part(snap)


class _Places:
    """Rows of a table between places; if `reverse`, of the paths from the targets to the source of each row."""

    def __init__(
        self, maker: Maker, index: StreetIndex, graph: Graph, sources: _Snapped, targets: _Snapped, reverse: bool
    ) -> None:
        self._maker, self._index, self._sources, self._columns = maker, index, sources, targets
        self._graph, self._reverse = graph, reverse
        self._in_units = any(figure.in_units for figure in maker.figures)
        several: list[Sequence[Snap | None]] = [targets.nearest]
        if targets.differs.any():
            several.append(targets.other)
        self._goals = [Goals(index.graph, self._ends(snaps, are_origins=reverse), maker.figures) for snaps in several]
        self._nodes = nodes_for(maker.graph, self._goals)
        self._most = max(1, CONNECTIONS // max(map(len, self._goals)))
        self._direct: dict[tuple[bool, bool], tuple[Direct, Floats]] = {}

    def _ends(self, snaps: Sequence[Snap | None], *, are_origins: bool) -> PhantomNodes:
        """Return the phantom nodes of points at which paths begin, or end."""
        ends = (many_starts if are_origins else many_goals)(self._index, snaps)
        if not self._in_units:
            return ends
        points, at = Points.of(snaps), ends.at
        if are_origins:
            units = part_weights(self._graph, ends.arc, 1.0 - at, start=points.take(ends.owner, at > 0.0))
        else:
            units = part_weights(self._graph, ends.arc, at, end=points.take(ends.owner))
        return replace(ends, units=units.astype(np.float64))

    def _along_streets(self, begin: Sequence[Snap | None], end: Sequence[Snap | None]) -> tuple[Direct, Floats]:
        """Return the paths that pass no node, and the whole units that they have of a figure."""
        found = many_direct(self._index, begin, end)
        units = np.zeros(len(found.arc))
        if self._in_units:
            first, last = Points.of(begin).take(found.start), Points.of(end).take(found.goal)
            units = part_weights(self._graph, found.arc, found.part, first, last).astype(np.float64)
            units[found.weight == 0] = 0.0  # as in routes
        return found, units

    def blocks(self, first: int, end: int) -> Iterator[Block]:
        """Yield the rows from `first` to before `end` in blocks."""
        row, starts = first, self._ends(self._sources.nearest, are_origins=not self._reverse)
        for found in self._maker.found(starts, self._nodes, self._most, first=first, end=end):
            rows = np.arange(row, row + len(found.distances))
            row += len(rows)
            weight, sums = self._best(rows, found, of_source=False, of_target=False)
            self._try_others(rows, found, weight, sums)
            yield self._maker.block(weight, sums)

    def _best(self, rows: npt.NDArray[np.int64], found: Rows, *, of_source: bool, of_target: bool) -> Found:
        """Return the best paths from some sources to all targets.

        `of_source` and `of_target` say whether the other point is taken, not the nearest one.
        """
        weight, sums = self._goals[int(of_target)].best(found)
        here, there = self._sources, self._columns
        if (of_source, of_target) not in self._direct:
            ends = here.other if of_source else here.nearest, there.other if of_target else there.nearest
            if self._reverse:
                back, units = self._along_streets(*ends[::-1])
                self._direct[of_source, of_target] = back._replace(start=back.goal, goal=back.start), units
            else:
                self._direct[of_source, of_target] = self._along_streets(*ends)
        (start, goal, direct, arc, part, metres), units = self._direct[of_source, of_target]
        place = np.full(len(here.nearest), -1, np.int64)
        place[rows] = np.arange(len(rows))
        row, lesser = place[start], direct.astype(np.uint64)
        is_best = row >= 0
        is_best[is_best] = lesser[is_best] <= weight[row[is_best], goal[is_best]]
        at = row[is_best], goal[is_best]
        weight[at] = lesser[is_best]
        for figure, values in zip(self._maker.figures, sums, strict=True):
            own = figure.part(arc[is_best], part[is_best], units[is_best])
            values[at] = own + figure.per_metre * metres[is_best]
        return weight, sums

    def _try_others(
        self, rows: npt.NDArray[np.int64], found: Rows, weight: npt.NDArray[np.uint64], sums: Floats
    ) -> None:
        """Fill the pairs without a path between their nearest points from other points; see `vkssp.Router.route`."""
        here, there = self._sources, self._columns
        if not (here.differs[rows].any() or there.differs.any()) or not (weight >= NEVER).any():
            return
        same = here.part[rows][:, None] == there.part[None, :]
        island_here, island_there = here.island[rows][:, None], there.island[None, :]
        meet = ~same & (here.other_part[rows][:, None] == there.other_part[None, :])
        everywhere = np.ones_like(same)
        # Rows that may need a search from another street, and the position of each row among them.
        lacking = here.differs[rows] & (weight >= NEVER).any(axis=1)
        place = np.cumsum(lacking) - 1
        from_others: Rows | None = None
        # For both rounds: the pairs that are tried, and those whose source, or whose target, takes its other point.
        for asked, other_here, other_there in (
            (everywhere, same | island_here, same | island_there),
            (meet, everywhere, everywhere),
        ):
            new_here = other_here & here.differs[rows][:, None]
            new_there = other_there & there.differs[None, :]
            for of_source, of_target in ((False, True), (True, False), (True, True)):
                wanted = asked & (weight >= NEVER) & (new_here == of_source) & (new_there == of_target)
                used = np.flatnonzero(wanted.any(axis=1))
                if len(used) == 0:
                    continue
                if of_source and from_others is None:
                    from_others = self._from_others(rows[lacking])
                known = found.taken(used) if from_others is None or not of_source else from_others.taken(place[used])
                filled, along = self._best(rows[used], known, of_source=of_source, of_target=of_target)
                weight[used] = np.where(wanted[used], filled, weight[used])
                sums[:, used] = np.where(wanted[used], along, sums[:, used])

    def _from_others(self, rows: npt.NDArray[np.int64]) -> Rows:
        """Return the rows of searches from the other points of some sources."""
        others = [self._sources.other[row] for row in rows.tolist()]
        starts = self._ends(others, are_origins=not self._reverse)
        pieces = list(self._maker.found(starts, self._nodes, self._most))
        distances = np.concatenate([piece.distances for piece in pieces])
        return Rows(distances, np.concatenate([piece.sums for piece in pieces], axis=1))


def table_of_places(
    solver: RowSource,
    index: StreetIndex,
    graph: Graph,
    metrics: tuple[str, ...],
    sources: Sequence[LatLon],
    targets: Sequence[LatLon] | None = None,
    arcs: npt.NDArray[np.int64] | None = None,
    snapping: str = "default",
) -> PlaceTable:
    """Return a table between places; see `vkssp.Router.table`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`, or backward in that graph, and keeps its weights until this returns.
    index : StreetIndex
        The streets.
    graph : Graph
        The same graph with the weights as given, in case the search minimizes other weights.
    metrics : tuple of str
        See `vkssp.solver.table.checked_metrics`.
    sources, targets : sequence of (float, float)
        Latitude and longitude in degrees; by default the targets are the sources.
    arcs : numpy.ndarray, optional
        If the solver searches backward: for each of its arcs the arc of `StreetIndex.searched`, int64. The table is of
        the routes from the targets to the sources then.
    snapping : str
        See `vkssp.Router.route`.
    """
    reverse, ids = arcs is not None, None if index.avoided is None else index.avoided.arc_ids
    if arcs is not None:
        ids = arcs if ids is None else ids[arcs]
    maker = Maker(solver, metrics, graph, ids, index.searched if reverse else None)
    begin = _snapped(index, sources, "source", snapping)
    end = begin if targets is None else _snapped(index, targets, "target", snapping)
    begin, end = _settled(index, begin, end)
    here = _Snapped(index, *begin, leaving=not reverse)
    there = _Snapped(index, *end, leaving=reverse)
    rows = _Places(maker, index, graph, here, there, reverse)
    shape, degrees = (len(here.nearest), len(there.nearest)), (np.array(begin[0]), np.array(end[0]))

    def places() -> tuple[list[Place], list[Place]]:
        origins = [place_of(index, *each) for each in zip(*begin, strict=True)]
        return origins, origins if end is begin else [place_of(index, *each) for each in zip(*end, strict=True)]

    return PlaceTable(shape, metrics, rows.blocks, maker.units, *degrees, reverse, _places=places)
