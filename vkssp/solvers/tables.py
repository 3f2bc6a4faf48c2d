"""What a solver is asked of many sources: rows of distances, made some at a time, and written to files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s
from vkssp.solvers.groups import Groups
from vkssp.solvers.session import Session
from vkssp.solvers.terminals import checked_limit, nodes_of


class Tables(Session):
    """The part of `vkssp.Solver` that makes tables."""

    def table(
        self, sources: npt.ArrayLike, targets: npt.ArrayLike | None = None, *, limit: int | None = None
    ) -> Iterator[Uint32s]:
        """Return the distances from each of some nodes to each of others, some rows at a time.

        Rows are made when they are asked for, so that tables may be larger than memory. Weights may not change
        meanwhile. With ``block_resident`` many searches share the device, and those to few targets end when these are
        known.

        Parameters
        ----------
        sources, targets : array_like
            Node ids, shape (s,) and (t,); by default targets are the sources.
        limit : int, optional
            A distance beyond which targets count as unreachable; ``block_resident`` does not look for them.

        Returns
        -------
        iterator of numpy.ndarray
            Blocks of rows, shape (rows, t), uint32, with s rows in all; 2**32 - 1 where no path leads.

        Raises
        ------
        QueryError
            If there is no such node, no source or target, or the limit is no distance; while rows are made, if weights
            have changed.
        DistanceOverflowError
            While rows are made, if a shortest distance does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     np.concatenate(list(solver.table([0, 1], [1, 2]))).tolist()
        [[4, 7], [0, 3]]
        """
        graph, most = self.graph, checked_limit(limit)
        rows = nodes_of(graph, sources, "sources")
        columns = rows if targets is None else nodes_of(graph, targets, "targets")
        return self.rows(graph, Groups.of_nodes(rows), columns, limit=most)

    def write_table(
        self,
        path: str | Path,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: int | None = None,
        progress: bool = False,
    ) -> int:
        """Write what `table` returns to a file, row by row, so that it need not fit into memory.

        Parameters
        ----------
        path : str or Path
            A name that ends in .npy, .zarr, .csv or .parquet; see `vkssp.routing.table_file.write_table`.
        sources, targets, limit
            As for `table`.
        progress : bool
            Whether to show a progress bar on stderr once it takes over a second.

        Returns
        -------
        int
            Number of pairs that a path leads between.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError, DistanceOverflowError
            As `table` does.
        """
        # Which needs this module.
        from vkssp.routing.table import table_of_nodes

        names = (np.asarray(ids).tolist() for ids in (sources, sources if targets is None else targets))
        made = table_of_nodes(self, sources, targets, ("weight",), limit=limit)
        return made.write(path, *names, progress=progress)
