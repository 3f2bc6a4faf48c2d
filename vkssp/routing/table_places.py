"""Tables between places on a map, with the values of the routes between them.

A row is one search from all arcs that its place lies on. Targets that may be reached without passing a node, on the
same street or at the same junction, are few; they are looked up by their streets and junctions. The streets to which a
source and a target are snapped are chosen for each pair, as for a route.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.places import LatLon, listed_places, snapped
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.solver.path_sums import Figure, Floats
from vkssp.solver.phantom_node import PhantomNode
from vkssp.solver.table import Table, dtypes_of
from vkssp.solver.table_file import Block
from vkssp.solver.table_maker import CONNECTIONS, NEVER, Found, Goals, Maker, Rows, nodes_for
from vkssp.solver.tables import RowSource


def _snapped(index: StreetIndex, places: Sequence[LatLon], name: str) -> tuple[npt.NDArray[np.float64], list[Snap]]:
    """Return places as an array, shape (k, 2), and the points that they are snapped to; errors name the row."""
    where = listed_places(index, places, name)
    return np.array(where), snapped(index, where, [f"{name} {row}" for row in range(len(where))])


class _Snapped:
    """Places and the points that they may be snapped to.

    `nearest` are the points that are tried first, `other` the nearest points on streets from which the network's core
    can be reached (`leaving`), or which can be reached from it.
    """

    def __init__(
        self, index: StreetIndex, places: npt.NDArray[np.float64], nearest: list[Snap], *, leaving: bool
    ) -> None:
        self.nearest = nearest
        useful = index.leaves if leaving else index.is_reached
        away = [row for row, snap in enumerate(self.nearest) if not useful(snap)]
        self.other: list[Snap | None] = list(self.nearest)
        found = index.nearest_of_each(places[away], leaving=leaving, reached=not leaving)
        for row, snap in zip(away, found, strict=True):
            self.other[row] = snap
        self.differs = np.array([a != b for a, b in zip(self.nearest, self.other, strict=True)], np.bool_)
        self.island = np.array([index.on_island(snap) for snap in self.nearest], np.bool_)
        self.part = np.array([index.part(snap) for snap in self.nearest], np.int64)
        # The connected part of the nearest point, or of the other point if the nearest one lies on an island.
        chosen = [other if on else near for near, other, on in zip(self.nearest, self.other, self.island, strict=True)]
        self.other_part = np.array([-1 if snap is None else index.part(snap) for snap in chosen], np.int64)


class _Targets:
    """Snapped targets with their phantom nodes."""

    def __init__(
        self,
        index: StreetIndex,
        snaps: Sequence[Snap | None],
        ends: Sequence[Sequence[PhantomNode]],
        figures: Sequence[Figure],
    ) -> None:
        self._figures, self._same_street = figures, SameStreet(index, snaps)
        self.goals = Goals(index.graph, ends, figures)

    def put_direct(self, start: Snap, weight: npt.NDArray[np.uint64], sums: Floats) -> None:
        """Lower a row of weights to those of paths that pass no node, and set their sums, shape (figures, targets)."""
        for column, direct, here, there in self._same_street.ways_from(start):
            if direct <= int(weight[column]):
                weight[column] = direct
                sums[:, column] = [figure.begun(here.arc, there.at - here.at) for figure in self._figures]


class _Places:
    """Rows of a table between places."""

    def __init__(self, maker: Maker, index: StreetIndex, sources: _Snapped, targets: _Snapped) -> None:
        self._maker, self._index, self._sources, self._columns = maker, index, sources, targets
        ends = [find_goals(index, snap) for snap in targets.nearest]
        self._targets = [_Targets(index, targets.nearest, ends, maker.figures)]
        if targets.differs.any():
            ends = ends.copy()
            for column in np.flatnonzero(targets.differs).tolist():
                other = targets.other[column]
                ends[column] = [] if other is None else find_goals(index, other)
            self._targets.append(_Targets(index, targets.other, ends, maker.figures))
        goals = [each.goals for each in self._targets]
        self._nodes, self._most = nodes_for(maker.graph, goals), max(1, CONNECTIONS // max(map(len, goals)))
        self._starts = [find_starts(index, snap) for snap in sources.nearest]

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in blocks."""
        row = 0
        for found in self._maker.found(self._starts, self._nodes, self._most):
            rows = np.arange(row, row + len(found.distances))
            row += len(rows)
            weight, sums = self._best(rows, found, of_source=False, of_target=False)
            self._try_others(rows, found, weight, sums)
            yield self._maker.block(weight, sums)

    def _best(self, rows: npt.NDArray[np.int64], found: Rows, *, of_source: bool, of_target: bool) -> Found:
        """Return the best paths from some sources to all targets.

        `of_source` and `of_target` say whether the other point is taken, not the nearest one.
        """
        targets = self._targets[int(of_target)]
        weight, sums = targets.goals.best(found)
        snaps: Sequence[Snap | None] = self._sources.other if of_source else self._sources.nearest
        for at, row in enumerate(rows.tolist()):
            snap = snaps[row]
            if snap is not None:
                targets.put_direct(snap, weight[at], sums[:, at])
        return weight, sums

    def _try_others(
        self, rows: npt.NDArray[np.int64], found: Rows, weight: npt.NDArray[np.uint64], sums: Floats
    ) -> None:
        """Fill the pairs without a path between their nearest points from other points; see `vkssp.Router.route`."""
        here, there = self._sources, self._columns
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
        snaps = [self._sources.other[row] for row in rows.tolist()]
        starts = [[] if snap is None else find_starts(self._index, snap) for snap in snaps]
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
) -> Table:
    """Return a table between places; see `vkssp.Router.table`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`, and keeps its weights until this returns.
    index : StreetIndex
        The streets.
    graph : Graph
        The same graph with the weights as given, in case the search minimizes other weights.
    metrics : tuple of str
        See `vkssp.solver.table.checked_metrics`.
    sources, targets : sequence of (float, float)
        Latitude and longitude in degrees; by default the targets are the sources.
    """
    maker = Maker(solver, metrics, graph, None if index.avoided is None else index.avoided.arc_ids)
    known = _snapped(index, sources, "source")
    here = _Snapped(index, *known, leaving=True)
    there = _Snapped(index, *(known if targets is None else _snapped(index, targets, "target")), leaving=False)
    rows = _Places(maker, index, here, there)
    return Table((len(here.nearest), len(there.nearest)), metrics, rows.blocks, dtypes_of(maker.graph))
