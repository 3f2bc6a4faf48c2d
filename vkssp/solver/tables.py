"""What a solver is asked of many sources: rows of distances, made some at a time, and written to files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.checks import is_many
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import checked_limit, nodes_of
from vkssp.solver.row_maker import OVERFLOW, RowBlock, fitting

# Rows that are made at a time for pairs.
_ROWS_OF_PAIRS = 256


class Tables(ABC):
    """The part of `vkssp.Solver`, and of `vkssp.SolverPool`, that makes tables."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""

    @abstractmethod
    def holding(self) -> AbstractContextManager[None]:
        """Keep the weights as they are for several questions."""

    @abstractmethod
    def distances_from(self, seeds: Sequence[Terminal], *, limit: int | None = None) -> Uint32s:
        """Return the distance from the best of some nodes to every node."""

    @abstractmethod
    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int = UNREACHABLE,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, a row for each group of seeds, some rows at a time.

        This is what all tables are made of. Where the algorithm is block_resident many searches go at once.

        Parameters
        ----------
        graph : Graph
            The graph, with the weights that are meant.
        seeds : Groups or sequence of sequences of (int, int)
            For each row nodes, each with the weight between it and the place that is meant; a row without any is
            unreachable throughout.
        nodes : numpy.ndarray
            The nodes whose distances are wanted, shape (k,), uint32.
        whole : bool
            Whether rows are to hold the distances of all nodes of the graph.
        limit : int
            Distances beyond it count as unreachable, and are not looked for.

        Returns
        -------
        generator of RowBlock
            Blocks of rows. A distance that does not fit into 32 bits is no error here: it is for the caller to say
            whether the answer needs it.

        Raises
        ------
        QueryError
            If there is no such node, or while blocks are made, if weights have changed meanwhile.
        """

    def rows(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        limit: int = UNREACHABLE,
    ) -> Iterator[Uint32s]:
        """Return distances from seeds to nodes where the caller needs all of them; see `row_blocks`.

        Returns
        -------
        iterator of numpy.ndarray
            Blocks of rows, shape (rows, k), uint32; 2**32 - 1 where no path leads.

        Raises
        ------
        QueryError
            As `row_blocks` does.
        DistanceOverflowError
            While blocks are made, if a distance to one of the nodes does not fit into 32 bits.
        """
        return fitting(self.row_blocks(graph, seeds, nodes, limit=limit))

    @abstractmethod
    def _between(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return distances of pairs of nodes, None where the algorithm has nothing better for them than rows."""

    @overload
    def distances(self, source: int, *, limit: int | None = None) -> Uint32s: ...

    @overload
    def distances(self, source: npt.ArrayLike, *, limit: int | None = None) -> Iterator[Uint32s]: ...

    def distances(self, source: Any, *, limit: int | None = None) -> Uint32s | Iterator[Uint32s]:
        """Return the distance from a node to every node, or from each of many nodes.

        With ``block_resident`` many searches share the device, as many as its memory has room for, and fill it: each
        takes a small part of the time that it takes alone. Rows are made when they are asked for, and arrive in
        blocks, so that there may be more of them than memory holds; weights may not change meanwhile.

        Parameters
        ----------
        source : int or array_like
            Node id, or node ids, shape (s,).
        limit : int, optional
            A distance beyond which nodes count as unreachable. With ``block_resident`` searches from many nodes do not
            go beyond it.

        Returns
        -------
        numpy.ndarray or iterator of numpy.ndarray
            For one node shape (num_nodes,), uint32; 2**32 - 1 for nodes that no path reaches. For many, blocks of such
            rows in the order of the nodes, shape (rows, num_nodes), with s rows in all.

        Raises
        ------
        QueryError
            If there is no such node, or the limit is no distance.
        DistanceOverflowError
            If a shortest distance, within the limit, does not fit into 32 bits; of many, when its row is asked for.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     for rows in solver.distances([0, 1], limit=4):
        ...         print(rows.tolist())
        [[0, 4, 4294967295], [4294967295, 0, 3]]
        """
        if not is_many(source):
            return self.distances_from([(source, 0)], limit=limit)
        return self.table(source, np.arange(self.graph.num_nodes, dtype=np.uint32), limit=limit)

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
        >>> import numpy as np
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

    def distances_between(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Uint32s:
        """Return the distances of many pairs of nodes.

        With ``phast`` all pairs are looked for at once, each from both ends; 10 000 of them take a millisecond on a
        large GPU. Other algorithms make a row for each source.

        Parameters
        ----------
        sources, targets : array_like
            Node ids, the ends of each pair, shape (k,) each.

        Returns
        -------
        numpy.ndarray
            Shape (k,), uint32; 2**32 - 1 where no path leads.

        Raises
        ------
        QueryError
            If there is no such node, no pair, or there are not as many targets as sources.
        DistanceOverflowError
            If a shortest distance does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     solver.distances_between([0, 1, 2], [2, 2, 0]).tolist()
        [7, 3, 4294967295]
        """
        graph = self.graph
        tails, heads = nodes_of(graph, sources, "sources"), nodes_of(graph, targets, "targets")
        if len(tails) != len(heads):
            raise QueryError(f"there are {len(tails)} sources and {len(heads)} targets; give one of each for a pair")
        with self.holding():
            found = self._between(tails, heads)
            if found is not None:
                return found
            found = np.empty(len(tails), np.uint32)
            order = np.argsort(tails, kind="stable")
            rows, first = np.unique(tails[order], return_index=True)
            for begin in range(0, len(rows), _ROWS_OF_PAIRS):
                end = begin + _ROWS_OF_PAIRS
                here = order[first[begin] : first[end] if end < len(rows) else len(order)]
                columns = np.unique(heads[here])
                blocks = list(self.row_blocks(graph, Groups.of_nodes(rows[begin:end]), columns))
                row, column = np.searchsorted(rows[begin:end], tails[here]), np.searchsorted(columns, heads[here])
                found[here] = np.concatenate([block.distances for block in blocks])[row, column]
                # Of the table around the pairs only these were asked for.
                beyond = [block.overflowed_or_not(len(columns)) for block in blocks]
                if np.concatenate(beyond)[row, column].any():
                    raise DistanceOverflowError(OVERFLOW)
        return found

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
            A name that ends in .npy, .zarr, .csv or .parquet; see `vkssp.solver.table_file.write_table`.
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
        from vkssp.solver.table_maker import table_of_nodes

        names = (np.asarray(ids).tolist() for ids in (sources, sources if targets is None else targets))
        made = table_of_nodes(self, sources, targets, ("weight",), limit=limit)
        return made.write(path, *names, progress=progress)
