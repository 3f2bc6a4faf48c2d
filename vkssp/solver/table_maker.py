"""Tables: from each of many nodes, or places, to each of many others; rows are made as they are asked for.

A row is one search. What a target adds to it is known beforehand: the nodes from which one gets to it without passing
another, each with what is left then. Tables between places are in `vkssp.routing.table_places`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.errors import DistanceOverflowError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.metric import duration, unit_of
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import checked_limit, nodes_of
from vkssp.solver.path_sums import Figure, Floats, Tree, metres_of, weights_of
from vkssp.solver.phantom_node import PhantomNode
from vkssp.solver.row_maker import OVERFLOW
from vkssp.solver.table import Table, checked_metrics
from vkssp.solver.table_file import Block
from vkssp.solver.tables import RowSource, rows

#: Farther than any sum of weights, and a weight that is known not to fit into 32 bits.
NEVER, TOO_FAR = np.uint64(2**62), np.uint64(2**61)
#: Ways to targets that are looked at together.
WAYS = 1 << 21

#: Weights by rows, and sums of figures, by figures and rows.
Found = tuple[npt.NDArray[np.uint64], Floats]


class Rows(NamedTuple):
    """What searches found: distances of the nodes that were asked for, by rows, and sums along the paths there.

    Distances are `NEVER` where no path leads, and `TOO_FAR` where none does whose weight fits into 32 bits. The sums
    are by figures and rows, shape (number of figures, rows, nodes).
    """

    distances: npt.NDArray[np.uint64]
    sums: Floats

    def taken(self, which: npt.NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        return Rows(self.distances[which], self.sums[:, which])


class Goals:
    """For some targets the nodes from which one gets to them without passing another, and what is left then."""

    def __init__(self, graph: Graph, ends: Sequence[Sequence[PhantomNode]], figures: Sequence[Figure]) -> None:
        # Each target has one way more, from no node, so that none is without.
        flat = [end for group in ends for end in (*group, None)]
        self.nodes = np.array([graph.num_nodes if end is None else end.node for end in flat], np.int64)
        self.first = np.cumsum([0, *(len(group) + 1 for group in ends)])[:-1]
        self.weight = np.array([0 if end is None else end.weight for end in flat], np.uint64)
        left = [[0.0 if end is None else figure.ended(end.arc, end.at) for end in flat] for figure in figures]
        self.sums = np.array(left, np.float64).reshape(len(figures), len(flat))
        self._column = self.nodes

    def __len__(self) -> int:
        """Return the number of ways."""
        return len(self.nodes)

    def look_among(self, nodes: Uint32s) -> None:
        """Take nodes, which rise, for the columns of rows."""
        self._column = np.searchsorted(nodes, self.nodes)  # what comes from no node is one too far

    def best(self, rows: Rows) -> Found:
        """Return weights, and sums of figures, to each target."""
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
    """Return the nodes that some goals need, rising, and let them look for those."""
    known = np.unique(np.concatenate([each.nodes for each in goals]))
    nodes: Uint32s = known[known < graph.num_nodes].astype(np.uint32)
    for each in goals:
        each.look_among(nodes)
    return nodes


class Maker:
    """Makes the rows of a table from what searches find.

    Parameters
    ----------
    solver : Solver or SolverPool
        Over the graph that is searched.
    metrics : tuple of str
        What the table is to hold.
    whole : Graph, optional
        The graph of which the figures are, with durations for weights, where that is another one.
    arc_ids : numpy.ndarray, optional
        For each arc that is searched the id that it has there, int64; by default its own.
    """

    def __init__(
        self,
        solver: RowSource,
        metrics: tuple[str, ...],
        whole: Graph | None = None,
        arc_ids: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.solver, self.graph, self.metrics = solver, solver.graph, metrics
        self._whole, self._unit = solver.graph if whole is None else whole, duration(solver.graph, 1)
        # What does not follow from weights is summed up along the paths.
        summed = {"distance": metres_of} | ({"duration": weights_of} if self._unit is None else {})
        self._summed = [name for name in metrics if name in summed]
        self.figures = [summed[name](self._whole) for name in self._summed]
        self._tree = Tree(self.graph, self.figures, arc_ids) if self.figures else None

    def found(
        self, starts: Sequence[Sequence[PhantomNode]], nodes: Uint32s, most: int, limit: int = UNREACHABLE
    ) -> Iterator[Rows]:
        """Return what is found from each of some starts within a limit, some rows at a time, `most` at most."""
        seeds = [[(end.node, end.weight) for end in group] for group in starts]
        whole, row = self._tree is not None, 0
        for block in self.solver.row_blocks(self.graph, seeds, nodes, whole=whole, limit=limit):
            for first in range(0, len(block), most):
                here = slice(first, first + most)
                found = block.distances[here]
                sums = np.zeros((0, len(found), len(nodes)))
                if self._tree is not None:
                    along = map(self._tree.along, found, starts[row : row + len(found)])
                    sums = np.stack([sums_of_row[:, nodes] for sums_of_row in along], axis=1)
                    found = found[:, nodes]
                row += len(found)
                distances = np.where(found == UNREACHABLE, NEVER, found.astype(np.uint64))
                if block.overflowed is not None:
                    distances[block.overflowed[here]] = TOO_FAR
                yield Rows(distances, sums)

    def bare(self, sources: Uint32s, targets: Uint32s, limit: int) -> Iterator[Block]:
        """Return the metrics between nodes themselves, where nothing has to be summed up."""
        for weight in rows(self.solver, self.graph, Groups.of_nodes(sources), targets, limit=limit):
            values: Block = {"weight": weight}
            if "duration" in self.metrics:
                values["duration"] = unit_of(self.graph, "duration").values(weight)
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
        values: Block = {"weight": np.where(missing, UNREACHABLE, weight).astype(np.uint32)}
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
    limit: int | None = None,
) -> Table:
    """Return a table between nodes; see `vkssp.Router.table`, and `vkssp.Solver.table` for bare weights.

    Parameters
    ----------
    solver : Solver or SolverPool
        Over the graph.
    sources, targets : array_like
        Node ids, shape (s,) and (t,); by default targets are the sources.
    metrics : sequence of str, optional
        See `DTYPES`; by default durations, or weights where those are none.
    limit : int, optional
        A weight beyond which a target counts as unreachable, and is not looked for.

    Raises
    ------
    QueryError
        If there is no such node or metric, or no source or target, or the limit is no weight.
    """
    most = checked_limit(limit)
    with solver.holding():
        maker = Maker(solver, checked_metrics(solver.graph, metrics))
        rows = nodes_of(maker.graph, sources, "sources")
        columns = rows if targets is None else nodes_of(maker.graph, targets, "targets")
    shape = (len(rows), len(columns))
    if not maker.figures:
        return Table(shape, maker.metrics, lambda: maker.bare(rows, columns, most))
    starts = [[PhantomNode(node, 0)] for node in rows.tolist()]
    goals = Goals(maker.graph, [[PhantomNode(node, 0)] for node in columns.tolist()], maker.figures)
    wanted = nodes_for(maker.graph, [goals])

    def blocks() -> Iterator[Block]:
        for found in maker.found(starts, wanted, max(1, WAYS // len(goals)), most):
            yield maker.block(*goals.best(found))

    return Table(shape, maker.metrics, blocks)


def write_weights(
    solver: RowSource,
    path: str | Path,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike | None,
    limit: int | None,
    progress: bool,
) -> int:
    """Write weights between nodes to a file, row by row; see `vkssp.Solver.write_table`."""
    names = (np.asarray(ids).tolist() for ids in (sources, sources if targets is None else targets))
    return table_of_nodes(solver, sources, targets, ("weight",), limit=limit).write(path, *names, progress=progress)
