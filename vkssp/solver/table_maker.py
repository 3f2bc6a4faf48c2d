"""Computation of tables from many nodes or places to many others, some rows at a time.

A row is one search. The last parts of the paths to a target are known before the search: the last nodes before the
target, each with the weight from there to the target. Tables between places are in `vkssp.routing.table_places`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.errors import DistanceOverflowError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.metric import duration, unit_of
from vkssp.graph.names import names_in_file
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import nodes_of
from vkssp.solver.path_sums import BackwardFigure, Figure, Floats, Tree, metres_of, weights_of
from vkssp.solver.phantom_node import PhantomNodes
from vkssp.solver.row_maker import OVERFLOW, joined
from vkssp.solver.table import Table, checked_metrics
from vkssp.solver.table_file import Block
from vkssp.solver.tables import RowSource, require_32_bits, rows

#: Distance larger than any sum of weights, and distance that stands for a weight that does not fit into 32 bits.
NEVER, TOO_FAR = np.uint64(2**62), np.uint64(2**61)
#: Connections to targets that are evaluated together.
CONNECTIONS = 1 << 21
# Entries of blocks that are evaluated together, since the steps of the evaluation take their time for few as well.
_FEW = 1 << 16

#: Weights by rows, and sums by figures and rows.
Found = tuple[npt.NDArray[np.uint64], Floats]


class Rows(NamedTuple):
    """Rows that searches found: distances of the wanted nodes, and sums along the paths to them.

    A distance is `NEVER` if there is no path, and `TOO_FAR` if no path has a weight that fits into 32 bits. The sums
    have shape (number of figures, rows, nodes).
    """

    distances: npt.NDArray[np.uint64]
    sums: Floats

    def taken(self, which: npt.NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        return Rows(self.distances[which], self.sums[:, which])


class Goals:
    """Connections to targets: the last nodes before each target, with the weight from each node to the target."""

    def __init__(self, graph: Graph, ends: PhantomNodes, figures: Sequence[Figure]) -> None:
        # Each target gets one more connection, from no node, so that no target is without.
        behind = ends.first[1:]
        self.nodes = np.insert(ends.node.astype(np.int64), behind, graph.num_nodes)
        self.first = ends.first[:-1] + np.arange(len(behind))
        self.weight = np.insert(ends.weight.astype(np.uint64), behind, 0)
        metres, units = (np.zeros(len(ends.arc)) if one is None else one for one in (ends.metres, ends.units))
        left = [
            np.insert(figure.ended(ends.arc, ends.at, units) + figure.per_metre * metres, behind, 0.0)
            for figure in figures
        ]
        self.sums = np.array(left, np.float64).reshape(len(figures), len(self.nodes))
        self._column = self.nodes

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self.nodes)

    def look_among(self, nodes: Uint32s) -> None:
        """Take nodes in ascending order as the columns of rows."""
        self._column = np.searchsorted(nodes, self.nodes)  # a connection from no node gets the column after the last

    def best(self, rows: Rows) -> Found:
        """Return the least weight to each target, and the sums along that path."""
        nowhere = np.full((len(rows.distances), 1), NEVER)
        at_goal = np.take(np.concatenate([rows.distances, nowhere], axis=1), self._column, axis=1)
        through = at_goal + self.weight
        through[at_goal == NEVER] = NEVER
        best = np.minimum.reduceat(through, self.first, axis=1)
        if len(self.sums) == 0:
            return best, np.zeros((0, *best.shape))
        count, number = np.diff(self.first, append=len(self)), np.arange(len(self))
        which = np.where(through == np.repeat(best, count, axis=1), number, len(number))
        chosen = np.minimum.reduceat(which, self.first, axis=1)
        rest = self.sums[:, chosen]
        to_goal = np.concatenate([rows.sums, np.zeros((*rows.sums.shape[:2], 1))], axis=2)
        return best, np.take_along_axis(to_goal, self._column[chosen][None], axis=2) + rest


def nodes_for(graph: Graph, goals: Sequence[Goals]) -> Uint32s:
    """Return the nodes that some goals need, in ascending order, and make them the columns of the goals."""
    known = np.unique(np.concatenate([each.nodes for each in goals]))
    nodes: Uint32s = known[known < graph.num_nodes].astype(np.uint32)
    for each in goals:
        each.look_among(nodes)
    return nodes


class Maker:
    """Maker of the rows of a table from the results of searches.

    Parameters
    ----------
    solver : Solver or SolverPool
        Solver over the searched graph.
    metrics : tuple of str
        Metrics of the table.
    whole : Graph, optional
        The graph that the figures come from, with durations as weights; by default the searched graph.
    arc_ids : numpy.ndarray, optional
        Id in `whole` of each searched arc, int64; by default the arc's own id.
    forward : Graph, optional
        The graph that the searched graph is with every arc reversed, so that rows are of the paths to their starts.
    """

    def __init__(
        self,
        solver: RowSource,
        metrics: tuple[str, ...],
        whole: Graph | None = None,
        arc_ids: npt.NDArray[np.int64] | None = None,
        forward: Graph | None = None,
    ) -> None:
        self.solver, self.graph, self.metrics = solver, solver.graph, metrics
        self.units = self.graph.units.typed(solver.distance_type)
        facing = solver.graph if forward is None else forward  # reversed graphs have no streets, and so no unit
        self._whole, self._unit = facing if whole is None else whole, duration(facing, 1)
        # Metrics that do not follow from the weights are summed up along the paths.
        summed = {"distance": metres_of} | ({"duration": weights_of} if self._unit is None else {})
        self._summed = [name for name in metrics if name in summed]
        self.figures = [summed[name](self._whole) for name in self._summed]
        if forward is not None:
            self.figures = [BackwardFigure(one.whole, one.turn, one.in_units, one.per_metre) for one in self.figures]
        self._tree = Tree(self.graph, self.figures, arc_ids) if self.figures else None

    def found(
        self,
        starts: PhantomNodes,
        nodes: Uint32s,
        most: int,
        limit: int | None = None,
        first: int = 0,
        end: int | None = None,
    ) -> Iterator[Rows]:
        """Return the rows of starts from `first` to before `end` within a limit, at most `most` rows at a time."""
        seeds = Groups(starts.first, starts.node, starts.weight).between(first, len(starts) if end is None else end)
        whole, row = self._tree is not None, first
        blocks = self.solver.row_blocks(self.graph, seeds, nodes, whole=whole, limit=limit)
        least = min(most, _FEW // max(1, self.graph.num_nodes if whole else len(nodes)))
        for block in joined(blocks, least, len(nodes)):
            for begin in range(0, len(block), most):
                here = slice(begin, begin + most)
                found = block.distances[here]
                sums = np.zeros((0, len(found), len(nodes)))
                if self._tree is not None:
                    along = map(self._tree.along, found, (starts[row + number] for number in range(len(found))))
                    sums = np.stack([sums_of_row[:, nodes] for sums_of_row in along], axis=1)
                    found = found[:, nodes]
                row += len(found)
                distances = np.where(found == UNREACHABLE, NEVER, found.astype(np.uint64))
                if block.overflowed is not None:
                    distances[block.overflowed[here]] = TOO_FAR
                yield Rows(distances, sums)

    def bare(self, sources: Uint32s, targets: Uint32s, limit: int) -> Iterator[Block]:
        """Return the metrics between nodes if they follow from the weights."""
        for weight in rows(self.solver, self.graph, Groups.of_nodes(sources), targets, limit=limit):
            values: Block = {"weight": self.units.values(weight)}
            if "duration" in self.metrics:
                values["duration"] = unit_of(self._whole, "duration").values(weight)
            yield {name: values[name] for name in self.metrics}

    def block(self, weight: npt.NDArray[np.uint64], sums: Floats) -> Block:
        """Return the metrics of some rows.

        Raises
        ------
        DistanceOverflowError
            If a weight does not fit into 32 bits.
        """
        missing = weight >= NEVER
        if ((weight >= UNREACHABLE) & ~missing).any():
            raise DistanceOverflowError(OVERFLOW)
        values: Block = {"weight": self.units.values(np.where(missing, UNREACHABLE, weight).astype(np.uint32))}
        figures = dict(zip(self._summed, sums, strict=True))
        if self._unit is not None:
            figures["duration"] = weight * self._unit
        elif "duration" in figures:
            figures["duration"] = figures["duration"] * (duration(self._whole, 1) or 1.0)
        for name, figure in figures.items():
            values[name] = np.where(missing, np.nan, figure).astype(np.float32)
        return {name: values[name] for name in self.metrics}


def table_of_nodes(
    solver: RowSource,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike | None = None,
    metrics: Sequence[str] | None = None,
    *,
    limit: float | None = None,
    forward: tuple[Graph, npt.NDArray[np.int64]] | None = None,
) -> Table:
    """Return a table between nodes; see `vkssp.Router.table`, and `vkssp.Solver.table` for bare weights.

    Parameters
    ----------
    solver : Solver or SolverPool
        Solver over the graph.
    sources, targets : array_like
        Nodes, shape (s,) and (t,); by default targets are the sources.
    metrics : sequence of str, optional
        See `DTYPES`; by default durations, or weights if they are no durations.
    limit : float, optional
        Weight beyond which a target counts as unreachable and is not looked for.
    forward : tuple of (Graph, numpy.ndarray), optional
        If the graph of the solver is another one with every arc reversed: that graph, and its arc for each arc of the
        solver's graph, int64. The table is of the paths from the targets to the sources then.

    Raises
    ------
    QueryError
        If there is no such node or metric, or no source or target, or the limit is no weight.
    """
    with solver.holding():
        facing, arcs = (solver.graph, None) if forward is None else forward
        if arcs is not None and facing.scale != solver.graph.scale:  # the units of the solver have grown
            weight = np.empty_like(facing.weight)
            weight[arcs] = solver.graph.weight
            facing = facing.reweighted(solver.graph.scaled._replace(weight=own(weight)))
        maker = Maker(solver, checked_metrics(facing, metrics), facing, arcs, None if forward is None else facing)
        if maker.figures:
            require_32_bits(solver, f"the metric {maker.metrics[0]}")
        most = maker.units.limit(limit)
        rows = nodes_of(maker.graph, sources, "sources")
        columns = rows if targets is None else nodes_of(maker.graph, targets, "targets")
    return _table_of(maker, rows, columns, most, forward is not None).rescaled(
        solver,
        maker.graph,
        lambda: table_of_nodes(solver, sources, targets, maker.metrics, limit=limit, forward=forward),
    )


def _table_of(maker: Maker, rows: Uint32s, columns: Uint32s, most: int, reverse: bool) -> Table:
    """Return a table between nodes that are given by position."""
    shape = (len(rows), len(columns))
    if not maker.figures:

        def bare(first: int, end: int) -> Iterator[Block]:
            return maker.bare(rows[first:end], columns, most)

        return Table(shape, maker.metrics, bare, maker.units, reverse=reverse)
    starts, goals = PhantomNodes.at_nodes(rows), Goals(maker.graph, PhantomNodes.at_nodes(columns), maker.figures)
    wanted = nodes_for(maker.graph, [goals])

    def blocks(first: int, end: int) -> Iterator[Block]:
        for found in maker.found(starts, wanted, max(1, CONNECTIONS // len(goals)), most, first, end):
            yield maker.block(*goals.best(found))

    return Table(shape, maker.metrics, blocks, maker.units, reverse=reverse)


def write_weights(
    solver: RowSource,
    path: str | Path,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike | None,
    limit: float | None,
    progress: bool,
) -> int:
    """Write weights between nodes to a file, row by row; see `vkssp.Solver.write_table`."""
    table = table_of_nodes(solver, sources, targets, ("weight",), limit=limit)
    names = (names_in_file(ids) for ids in (sources, sources if targets is None else targets))
    return table.write(path, *names, progress=progress)
