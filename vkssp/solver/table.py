"""Tables of metrics between sources and targets, computed in blocks of rows on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from vkssp.checks import items_of, shown
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.metric import duration
from vkssp.solver.rescaling import PartGivenError, Rescalable, restarting
from vkssp.solver.table_file import DTYPES, Block, write_table


@dataclass(frozen=True, eq=False)
class Table:
    """Table whose rows are computed on demand: each iteration over it computes its blocks of rows.

    A block is a dict with an array of shape (rows, targets) for each metric. The weights of the graph may not change
    during an iteration.

    Attributes
    ----------
    shape : tuple of (int, int)
        Numbers of sources and targets.
    metrics : tuple of str
        Metrics of the table, see `DTYPES`.
    dtypes : mapping of str to numpy.dtype
        Types of the metrics; weights are float64 if those of the graph are real numbers.
    """

    shape: tuple[int, int]
    metrics: tuple[str, ...]
    _blocks: Callable[[], Iterator[Block]]
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=lambda: DTYPES)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise QueryError("a Table cannot be copied or pickled; take the arrays that its read returns")

    def __iter__(self) -> Iterator[Block]:
        """Return an iterator over blocks of rows, from the first row on."""
        return self._blocks()

    def read(self) -> Block:
        """Return the whole table, an array of shape `shape` for each metric."""
        whole: Block = {name: np.empty(self.shape, self.dtypes[name]) for name in self.metrics}
        while True:
            at = 0
            try:
                for block in self:
                    for name, values in block.items():
                        whole[name][at : at + len(values)] = values
                    at += len(values)
                return whole
            except PartGivenError:  # the next one is in larger units
                continue

    def write(
        self,
        path: str | Path,
        sources: Sequence[int] | Sequence[str] | None = None,
        targets: Sequence[int] | Sequence[str] | None = None,
        *,
        progress: bool = False,
    ) -> int:
        """Write the table to .npy, .zarr, .csv or .parquet, row by row; see `vkssp.solver.table_file.write_table`."""
        while True:
            try:
                return write_table(path, self, sources, targets, progress=progress)
            except PartGivenError:
                if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
                    raise  # what a pipe has got cannot be taken back

    def rescaled(self, source: Rescalable, graph: Graph, again: Callable[[], Table]) -> Table:
        """Return the table, which `again` makes anew if a distance does not fit; for other modules of the package."""
        if graph.scale is None:
            return self

        def blocks(now: Graph) -> Iterator[Block]:
            return iter(self if now is graph else again())

        return replace(self, _blocks=lambda: restarting(source, graph, blocks))


def dtypes_of(graph: Graph) -> Mapping[str, np.dtype[Any]]:
    """Return the types of the metrics of tables of a graph."""
    return DTYPES if graph.scale is None else {**DTYPES, "weight": graph.units.dtype}


def checked_metrics(graph: Graph, metrics: Sequence[str] | None, least: str = "duration") -> tuple[str, ...]:
    """Return the checked metrics of a table of a graph.

    The default is the metric that searches minimize: durations, or weights if they are no durations, or distances.

    Raises
    ------
    QueryError
        If a metric is not known, named twice, or has no meaning in the graph.
    """
    timed = duration(graph, 1) is not None
    if metrics is None:
        return (least,) if timed or least != "duration" else ("weight",)
    given = items_of(metrics) or []
    wanted = tuple(str(name) for name in given if isinstance(name, str) and name in DTYPES)
    if not wanted or len(set(wanted)) < len(given):
        raise QueryError(f"metrics is {shown(metrics)}; give some of {', '.join(DTYPES)}, each once")
    if "duration" in wanted and not timed:
        raise QueryError("the weights of this graph are no durations; ask for the metric weight instead")
    return wanted
