"""Tables of metrics between sources and targets, computed in blocks of rows on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from vkssp.checks import flag, items_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.bulk import copy_to
from vkssp.graph.metric import duration
from vkssp.graph.units import Units
from vkssp.solver.rescaling import PartGivenError, Rescalable, restarting
from vkssp.solver.table_file import DTYPES, Block, write_table
from vkssp.solver.table_frames import dataframe, dataset, reader


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
    units : Units
        Units of weights, which decide their type.
    sources, targets : numpy.ndarray or None
        Latitude and longitude of the sources and the targets in degrees, shape (k, 2), float64; None if they are nodes.
    reverse : bool
        Whether values are of the paths from each target to each source: targets are origins, sources destinations.
    """

    shape: tuple[int, int]
    metrics: tuple[str, ...]
    _blocks: Callable[[int, int], Iterator[Block]]
    units: Units = field(default_factory=Units)
    sources: npt.NDArray[np.float64] | None = None
    targets: npt.NDArray[np.float64] | None = None
    reverse: bool = False

    def __repr__(self) -> str:
        """Return size and metrics in one line."""
        rows, columns = self.shape
        shown = f"{rows:,} sources, {columns:,} targets: {', '.join(self.metrics)}{', reverse' * self.reverse}"
        return f"{type(self).__name__}({shown})"

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """Type of each metric of the table: `DTYPES`, but that of `Solver.distances` for weights."""
        return {name: self.units.dtype if name == "weight" else DTYPES[name] for name in self.metrics}

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise QueryError(f"a {type(self).__name__} cannot be copied or pickled; take the arrays that its read returns")

    def __iter__(self) -> Iterator[Block]:
        """Return an iterator over blocks of rows, from the first row on."""
        return self._blocks(0, self.shape[0])

    def part(self, first: int, end: int) -> Table:
        """Return the table of some of the sources, whose rows are those of this table.

        Parameters
        ----------
        first, end : int
            First of the rows, and the row behind the last of them.

        Raises
        ------
        QueryError
            If the table has no such rows.
        """
        count, columns = self.shape
        begin = whole_number(first, "first", 0, count, f"give a row from 0 to {count}")
        behind = whole_number(end, "end", begin, count, f"give a row from {begin} to {count}")

        def blocks(one: int, other: int) -> Iterator[Block]:
            return self._blocks(begin + one, begin + other) if one < other else iter(())

        sources = None if self.sources is None else self.sources[begin:behind]
        return replace(self, shape=(behind - begin, columns), _blocks=blocks, sources=sources)

    def read(self) -> Block:
        """Return the whole table, an array of shape `shape` for each metric."""
        whole: Block = {name: np.empty(self.shape, dtype) for name, dtype in self.dtypes.items()}
        while True:
            at = 0
            try:
                for block in self:
                    for name, values in block.items():
                        copy_to(whole[name][at : at + len(values)].reshape(-1), values.reshape(-1))
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

    def rescaled(self, source: Rescalable, graph: Graph, again: Callable[[], Table]) -> Self:
        """Return the table, which `again` makes anew if a distance does not fit; for other modules of the package."""
        if graph.scale is None:
            return self

        def blocks(first: int, end: int) -> Iterator[Block]:
            return restarting(source, graph, lambda now: iter((self if now is graph else again()).part(first, end)))

        return replace(self, _blocks=blocks)

    def to_dataframe(
        self,
        sources: Sequence[int] | Sequence[str] | None = None,
        targets: Sequence[int] | Sequence[str] | None = None,
        *,
        wide: bool = False,
    ) -> Any:
        """Return the whole table as a pandas DataFrame.

        Parameters
        ----------
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers from 0 on by default.
        wide : bool
            Whether a source is a row and a target a column.

        Returns
        -------
        pandas.DataFrame
            A row for each pair, as origin-destination matrices are published: ``origin_id``, ``destination_id``, and
            those of ``duration_s``, ``distance_m`` and ``weight`` that the table has; NaN, or NA for whole weights, of
            the type UInt32 or UInt64, where no path leads. If `wide`, a row for each source and a column for each
            target, indexed by their names; if there are several metrics, columns are pairs of metric and target. If the
            table is in `reverse`, the source of a row is its destination, here and in the other forms.

        Raises
        ------
        QueryError
            If pandas is not installed (``pip install 'vkssp[pandas]'``), or there are not as many names as places.
        MemoryShortageError
            If the table does not fit into memory.
        """
        return dataframe(self, sources, targets, flag(wide, "wide"))

    def to_xarray(
        self, sources: Sequence[int] | Sequence[str] | None = None, targets: Sequence[int] | Sequence[str] | None = None
    ) -> Any:
        """Return the whole table as an xarray Dataset.

        Parameters
        ----------
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers from 0 on by default.

        Returns
        -------
        xarray.Dataset
            An array for each metric, ``duration_s``, ``distance_m`` or ``weight``, with the dimensions ``origin`` and
            ``destination``, whose coordinates are the names; also ``origin_lat``, ``origin_lon``, ``destination_lat``
            and ``destination_lon`` for tables between places.

        Raises
        ------
        QueryError
            If xarray is not installed (``pip install 'vkssp[pandas]'``), or there are not as many names as places.
        MemoryShortageError
            If the table does not fit into memory.
        """
        return dataset(self, sources, targets)

    def to_arrow(
        self, sources: Sequence[int] | Sequence[str] | None = None, targets: Sequence[int] | Sequence[str] | None = None
    ) -> Any:
        """Return the rows of `to_dataframe` as a pyarrow RecordBatchReader, which computes them block by block.

        Parameters
        ----------
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers from 0 on by default.

        Returns
        -------
        pyarrow.RecordBatchReader
            A batch for each block of rows; null where no path leads.

        Raises
        ------
        QueryError
            If pyarrow is not installed (``pip install 'vkssp[table]'``), or there are not as many names as places.
        """
        return reader(self, sources, targets)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream of Arrow's C interface, by which polars, pyarrow, duckdb and others take the table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def checked_metrics(graph: Graph, metrics: str | Sequence[str] | None, least: str = "duration") -> tuple[str, ...]:
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
    given = [metrics] if isinstance(metrics, str) else items_of(metrics) or []
    wanted = tuple(str(name) for name in given if isinstance(name, str) and name in DTYPES)
    if not wanted or len(set(wanted)) < len(given):
        raise QueryError(f"metrics is {shown(metrics)}; give some of {', '.join(DTYPES)}, each once")
    if "duration" in wanted and not timed:
        raise QueryError("the weights of this graph are no durations; ask for the metric weight instead")
    return wanted
