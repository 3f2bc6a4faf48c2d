"""Tables, distances and pairs that tasks of dask compute, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag, items_of, shown
from vkssp.dask.asking import are_places, divided, means_of, plain, plain_nodes
from vkssp.dask.blocks import Blocks
from vkssp.dask.cluster import connected, resources_of
from vkssp.dask.driver import FEW_AHEAD, results
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays, frames, make_block
from vkssp.dask.question import ALL, VALUE, Facts, PairsQuestion, TableQuestion
from vkssp.dask.table_writing import write_table
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.solver.table import Table
from vkssp.solver.table_file import Block, names_of
from vkssp.solver.table_frames import dataset_of, ends_of

Ids = Sequence[int] | Sequence[str] | None


class DaskTable:
    """Table that tasks of dask compute: rows in blocks, none of which is computed before it is asked for.

    `table` makes it. The values are those of `vkssp.Table`, bit for bit.

    Attributes
    ----------
    shape : tuple of (int, int)
        Numbers of sources and targets.
    metrics : tuple of str
        Metrics of the table.
    block_rows : int
        Rows of a block, the work of one task.
    """

    def __init__(self, question: TableQuestion, facts: Facts, blocks: Blocks, cluster: Any = None) -> None:
        self._question, self._facts, self._blocks, self._cluster = question, facts, blocks, cluster
        self._form = facts.table()
        self.shape, self.metrics, self.block_rows = self._form.shape, self._form.metrics, blocks.rows

    def __repr__(self) -> str:
        """Return size and metrics in one line."""
        rows, columns = self.shape
        return (
            f"DaskTable({rows:,} sources, {columns:,} targets: {', '.join(self.metrics)}, "
            f"{len(self._blocks.ranges()):,} blocks)"
        )

    def to_array(self, metric: str | None = None) -> Any:
        """Return a metric as a dask array in blocks of rows.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`, by default the first.

        Returns
        -------
        dask.array.Array
            Shape `shape`, of the type of `vkssp.Table`.

        Raises
        ------
        QueryError
            If the table has no such metric.
        """
        name = self.metrics[0] if metric is None else metric
        if name not in self.metrics:
            raise QueryError(f"metric is {shown(metric)}, and the table has {', '.join(self.metrics)}; choose one")
        return arrays(self._question, self._facts, self._blocks)[name]

    def to_xarray(self, sources: Ids = None, targets: Ids = None) -> Any:
        """Return the table as an xarray Dataset of dask arrays.

        Parameters
        ----------
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers from 0 on by default.

        Returns
        -------
        xarray.Dataset
            As `vkssp.Table.to_xarray` returns it: with the dimensions ``origin`` and ``destination``.

        Raises
        ------
        QueryError
            If xarray is not installed (``pip install 'vkssp[pandas]'``), or there are not as many names as places.
        """
        return dataset_of(self._form, arrays(self._question, self._facts, self._blocks), sources, targets)

    def to_dataframe(self, sources: Ids = None, targets: Ids = None) -> Any:
        """Return the table as a dask DataFrame with a row for each pair.

        Parameters
        ----------
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers from 0 on by default.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns as `vkssp.Table.to_dataframe` has them, such as ``origin_id``, ``destination_id`` and
            ``duration_s``; a partition for each block.

        Raises
        ------
        QueryError
            If pandas is not installed (``pip install 'vkssp[pandas]'``), or there are not as many names as places.
        """
        row, column = ends_of(self._form)
        names = names_of(self._form, sources, targets)
        return frames(self._question, self._facts, self._blocks, names, (f"{row}_id", f"{column}_id"))

    def write(
        self, path: str | Path, sources: Ids = None, targets: Ids = None, *, cluster: Any = None, progress: bool = False
    ) -> int:
        """Write the table to a folder: each task writes its own rows, and returns none of them.

        Until it is complete, the table lies in a folder whose name ends in ``.partial``, with a manifest of the blocks
        that are there. A run that was stopped, by whatever, goes on from there if the same is asked again. If the
        complete table is there already, nothing is done; one of another question is replaced.

        Parameters
        ----------
        path : str or Path
            Name of a folder on storage that all workers share. With .zarr: a Zarr group, as `vkssp.Table.write` makes
            it. With .parquet: a Parquet file for each task, with the columns ``origin_id``, ``destination_id``, and
            those of ``duration_s``, ``distance_m`` and ``weight`` that the table has; null if there is no path.
        sources, targets : sequence of int or str, optional
            Names of sources and targets; their numbers by default.
        cluster : distributed.Client, cluster, str or None
            See `vkssp.dask.connected`; by default that of `table`.
        progress : bool
            Whether to show a progress bar on stderr once it takes over a second.

        Returns
        -------
        int
            Number of pairs that a path connects.

        Raises
        ------
        FormatError
            If the folder cannot be written, or has the beginning of another table.
        ClusterError
            If the scheduler is lost, or workers end again and again.
        QueryError, DistanceOverflowError
            As the computation of the table does.
        """
        on = self._cluster if cluster is None else cluster
        return write_table(path, self._question, self._facts, self._blocks, sources, targets, on, progress)

    def gathered(self, cluster: Any = None) -> Table:
        """Return a table whose blocks workers compute, and this process takes in their order, a few at a time.

        So it can be read, and written to any file that `vkssp.Table.write` knows. `write` is faster, since no rows go
        over the network but to the storage.

        Parameters
        ----------
        cluster : distributed.Client, cluster, str or None
            See `vkssp.dask.connected`; by default that of `table`.

        Returns
        -------
        Table
            The same table; each iteration over it computes it.
        """
        on, question = self._cluster if cluster is None else cluster, self._question

        def blocks(first: int, end: int) -> Iterator[Block]:
            ranges = [(max(first, one), min(end, other)) for one, other in self._blocks.ranges()]
            wanted = [(one, other) for one, other in ranges if one < other]
            with connected(on) as client:
                given = client, question, make_block, wanted, resources_of(client), "rows"
                with closing(results(*given, ordered=True, ahead=FEW_AHEAD)) as made:
                    yield from (block for _, block in made)

        return self._facts.table(blocks)


def table(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any = None,
    metrics: str | Sequence[str] | None = None,
    *,
    limit: float | None = None,
    reverse: bool = False,
    snapping: str = "default",
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> DaskTable:
    """Return a table from each source to each target that tasks of dask compute.

    Needs the extra ``dask``. The arguments are checked, and the time of a row is measured, on a worker; so that it has
    the graph then.

    Parameters
    ----------
    graph : Graph, str or Path
        A graph, which is sent to each worker, or the path of a saved one on storage that all workers share. Workers
        check that they have the same file, by a hash of its content.
    sources, targets : array_like
        Places, as for `vkssp.Router.table`: pairs of latitude and longitude; or nodes, as for `vkssp.Solver.table`:
        shape (s,) and (t,). By default targets are the sources; ``"all"`` stands for all nodes.
    metrics : str or sequence of str, optional
        ``"duration"``, ``"distance"`` or ``"weight"``; see `vkssp.Router.table`.
    limit : float, optional
        Weight beyond which targets count as unreachable, for nodes.
    reverse : bool
        Whether trips from each target to each source count.
    snapping : str
        See `vkssp.Router.route`, for places.
    rows : int, optional
        Rows of a block; by default what a device does in about a second, or less of small tables.
    cluster : distributed.Client, cluster, str or None
        See `vkssp.dask.connected`. Without one, and without a current client, this process measures and checks.
    algorithm : str
        Name of an algorithm; see `vkssp.Solver`.
    **parameters : object
        Other arguments of `vkssp.Router`, for places, or of `vkssp.Solver`.

    Returns
    -------
    DaskTable
        The table.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    question = table_question(
        graph, sources, targets, metrics, limit, flag(reverse, "reverse"), snapping, algorithm, parameters
    )
    return DaskTable(question, *divided(question, cluster, rows), cluster)


def table_question(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any,
    metrics: str | Sequence[str] | None,
    limit: float | None,
    reverse: bool,
    snapping: str,
    algorithm: str,
    parameters: dict[str, Any],
) -> TableQuestion:
    """Return a table as a question to workers; see `table`."""
    begin, end = (plain(one, name) for one, name in ((sources, "sources"), (targets, "targets")))
    is_router = are_places(begin)
    if is_router and isinstance(end, str):
        raise QueryError("targets is 'all', which is for nodes, and sources are places; give places")
    if end is not None and not isinstance(end, str) and are_places(end) != is_router:
        raise QueryError("sources and targets are places and nodes; give two of one kind")
    if is_router and limit is not None:
        raise QueryError("limit is for tables between nodes, and these are places; leave it out")
    if not is_router and snapping != "default":
        raise QueryError("snapping is for places, and these are nodes; leave it out")
    wanted = metrics if metrics is None or isinstance(metrics, str) else items_of(metrics)
    means = means_of(algorithm, parameters, is_router=is_router, is_backward=reverse and not is_router)
    return TableQuestion(source_of(graph), means, begin, end, wanted, limit, snapping, reverse)


def distances(
    graph: Graph | str | Path,
    sources: Any,
    *,
    limit: float | None = None,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the distances from each of many nodes to all nodes as a lazy array, in blocks of rows.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources : array_like
        Nodes, shape (s,).
    limit : float, optional
        Distance beyond which nodes count as unreachable.

    Returns
    -------
    dask.array.Array
        Shape (s, num_nodes); what `vkssp.Solver.distances` returns, bit for bit.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes = plain_nodes(sources, "sources")
    question = table_question(graph, nodes, ALL, "weight", limit, False, "default", algorithm, parameters)
    return arrays(question, *divided(question, cluster, rows))["weight"]


def pairs(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any,
    *,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the distances of many pairs of nodes as a lazy array.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, cluster, algorithm, **parameters
        See `table`.
    sources, targets : array_like
        Nodes, the ends of each pair, shape (k,) each.
    rows : int, optional
        Pairs of a block; by default what a device does in about a second, or less of small tables.

    Returns
    -------
    dask.array.Array
        Shape (k,); what `vkssp.Solver.pairs` returns, bit for bit.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end = plain_nodes(sources, "sources"), plain_nodes(targets, "targets")
    question = PairsQuestion(source_of(graph), means_of(algorithm, parameters, is_router=False), begin, end)
    return arrays(question, *divided(question, cluster, rows))[VALUE]
