"""Rows of distances for many sources, computed some rows at a time: tables, and pairs."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.checks import flag, is_many
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import Graph, Uint32s
from vkssp.graph.bulk import copy_to
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType
from vkssp.graph.units import Units
from vkssp.memory import require
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import ends_by_position, is_name, nodes_of
from vkssp.solver.rescaling import Rescalable, restarting
from vkssp.solver.row_maker import RowBlock, fitting

# Rows that are computed at a time for pairs.
_ROWS_OF_PAIRS = 256


class RowSource(Rescalable, Protocol):
    """Source of rows of distances: a session on one device, or a pool of several devices."""

    @property
    def distance_type(self) -> DistanceType:
        """Type of the distances."""

    def holding(self) -> AbstractContextManager[object]:
        """Keep the weights as they are for several questions."""

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int | None = None,
        aggregates: Aggregates | None = None,
        trees: bool = False,
        into: Distances | None = None,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, a row for each group of seeds, some rows at a time.

        All tables are made of these rows. If the algorithm is block_resident, many searches run at once.

        Parameters
        ----------
        graph : Graph
            The graph, with the expected weights.
        seeds : Groups or sequence of sequences of (int, int)
            For each row its seeds: nodes, each with its offset, the weight between the node and the place that is
            meant. In a row without seeds all nodes are unreachable.
        nodes : numpy.ndarray
            The nodes whose distances are wanted, shape (k,), uint32.
        whole : bool
            Whether rows hold the distances of all nodes of the graph.
        limit : int, optional
            Distances beyond it count as unreachable, and are not looked for; that of unreachable nodes is no limit.
        aggregates : tuple of Aggregate, optional
            What is made of whole rows in place of their distances, if these have 32 bits; then a distance that does not
            fit is an error, if there is no limit.
        trees : bool
            Whether rows are whole, and blocks also have the arcs of their shortest-path trees; see
            `vkssp.Solver.trees`.
        into : numpy.ndarray, optional
            Array of all rows. The distances of a block may be written to their place in it, and are a part of it then;
            otherwise the caller copies them.

        Returns
        -------
        generator of RowBlock
            Blocks of rows. A distance that does not fit into its bits is no error here: the caller decides whether its
            answer needs the distance.

        Raises
        ------
        QueryError
            If there is no such node, or while blocks are made, if weights have changed meanwhile.
        """

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Distances:
        """Return a new array for results, to which the devices of this source write fast; its values are arbitrary."""

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return distances of pairs of nodes, or None if the algorithm has no faster method than rows."""

    def from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> Distances:
        """Return the distance from the best of some seeds to every node; see `vkssp.Solver.distances`."""

    def tree_from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> tuple[Distances, Uint32s]:
        """Return the distance from the best of some seeds to every node, and the arc into each node of the tree."""


def require_32_bits(source: RowSource, query: str) -> None:
    """Raise `QueryError` if the distances of a source have more bits than a query of some name can work with."""
    if source.distance_type is not BITS_32:
        raise QueryError(f"{query} works with distances of 32 bits only; make the solver with distance_bits=32")


def rows(
    source: RowSource,
    graph: Graph,
    seeds: Groups | Sequence[Sequence[Terminal]],
    nodes: Uint32s,
    *,
    limit: int | None = None,
    into: Distances | None = None,
) -> Generator[Distances, None, None]:
    """Return distances from seeds to nodes if the caller needs all of them; see `RowSource.row_blocks`.

    Returns
    -------
    generator of numpy.ndarray
        Blocks of rows, shape (rows, k): uint32, 2**32 - 1 where no path leads, or uint64, 2**64 - 1.

    Raises
    ------
    QueryError
        As `row_blocks` does.
    DistanceOverflowError
        While blocks are made, if a distance to one of the nodes does not fit into its bits.
    """
    return fitting(source.row_blocks(graph, seeds, nodes, limit=limit, into=into), source.distance_type)


def many_or_one(graph: Graph, source: Any) -> tuple[Any, bool]:
    """Return the source of `distances` as something that can be read again, and whether it is nodes with a row each.

    Otherwise it is a node, or seeds that have one row together.
    """
    if isinstance(source, Iterator):
        source = list(source)
    elif not is_many(source) and hasattr(source, "__array__"):
        source = np.asarray(source)[()]
    if not is_many(source) or is_name(graph, source):
        return source, False
    first = next(iter(source), None)
    return source, not is_many(first) or is_name(graph, first)


def distances(solver: RowSource, source: Any, limit: Any, chunked: bool) -> Distances | Iterator[Distances]:
    """Return the distances from one node, many nodes or seeds to every node; see `vkssp.Solver.distances`."""
    graph = solver.graph
    source, are_nodes = many_or_one(graph, source)
    if are_nodes:
        nodes = nodes_of(graph, source, "sources")
        return _table(solver, nodes, graph.positions, limit, chunked)
    if flag(chunked, "chunked"):
        raise QueryError("chunked is for many sources; leave it out, or give a list of node ids")
    with solver.holding():
        graph = solver.graph
        units = graph.units.typed(solver.distance_type)
        seeds = ends_by_position(graph, source, "source", solver.distance_type)
        most = units.limit(limit)
        return units.values(solver.from_seeds(seeds, None if most == solver.distance_type.unreachable else most))


def table(
    source: RowSource, sources: npt.ArrayLike, targets: npt.ArrayLike | None, limit: Any, chunked: bool
) -> Distances | Iterator[Distances]:
    """Return the distances from each of some nodes to each of others; see `vkssp.Solver.table`."""
    graph = source.graph
    tails = nodes_of(graph, sources, "sources")
    heads = tails if targets is None else nodes_of(graph, targets, "targets")
    return _table(source, tails, heads, limit, chunked)


def _table(
    source: RowSource, tails: Uint32s, heads: Uint32s, limit: Any, chunked: bool
) -> Distances | Iterator[Distances]:
    """Return the distances from each of some nodes, given by position, to each of others."""
    graph, kind, chunked = source.graph, source.distance_type, flag(chunked, "chunked")
    shape, units = (len(tails), len(heads)), graph.units.typed(kind)
    units.limit(limit)  # wrong ones are refused before the first block is asked for
    if not chunked:
        what = f"an array of {shape[0]:,} by {shape[1]:,} distances"
        cure = "ask for blocks of rows by chunked=True, or for a file by write_table"
        require(units.dtype.itemsize * shape[0] * shape[1], what, cure)

    def blocks(graph: Graph, into: Distances | None = None) -> Generator[Distances, None, None]:
        units = graph.units.typed(kind)
        found = rows(source, graph, Groups.of_nodes(tails), heads, limit=units.limit(limit), into=into)
        return found if units.scale is None else _in_units(found, units)

    if not chunked:
        whole = source.empty(shape, units.dtype)
        return gathered(blocks(graph, whole if units.scale is None else None), whole)
    return blocks(graph) if units.scale is None else restarting(source, graph, blocks)


def _in_units(blocks: Generator[Distances, None, None], units: Units) -> Generator[Distances, None, None]:
    """Yield blocks of rows in the caller's units."""
    with closing(blocks):
        yield from map(units.values, blocks)


def gathered(blocks: Iterator[Distances], whole: Distances) -> Distances:
    """Return blocks of rows as one array, `whole` if they are several; some may be parts of it already."""
    at = 0
    # To the end: the maker of the rows keeps its buffers for the next table only if it is not stopped before.
    for block in blocks:
        if len(block) == len(whole) and not np.may_share_memory(block, whole):
            whole = block  # not copied
        elif not np.may_share_memory(block, whole):
            copy_to(whole[at : at + len(block)].reshape(-1), block.reshape(-1))
        at += len(block)
    return whole


def pairs(source: RowSource, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Distances:
    """Return the distances of many pairs of nodes; see `vkssp.Solver.pairs`."""
    with source.holding():
        found = found_pairs(source, sources, targets)
        return source.graph.units.typed(source.distance_type).values(found)


def found_pairs(source: RowSource, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Distances:
    """Return the distances of many pairs of nodes in units of the weights."""
    graph = source.graph
    tails, heads = nodes_of(graph, sources, "sources"), nodes_of(graph, targets, "targets")
    if len(tails) != len(heads):
        raise QueryError(f"there are {len(tails)} sources and {len(heads)} targets; give one of each for a pair")
    with source.holding():
        graph = source.graph
        found = source.fast_pairs(tails, heads)
        if found is not None:
            return found
        found = np.empty(len(tails), source.distance_type.dtype)
        order = np.argsort(tails, kind="stable")
        starts, first = np.unique(tails[order], return_index=True)
        for begin in range(0, len(starts), _ROWS_OF_PAIRS):
            end = begin + _ROWS_OF_PAIRS
            here = order[first[begin] : first[end] if end < len(starts) else len(order)]
            columns = np.unique(heads[here])
            blocks = list(source.row_blocks(graph, Groups.of_nodes(starts[begin:end]), columns))
            row, column = np.searchsorted(starts[begin:end], tails[here]), np.searchsorted(columns, heads[here])
            found[here] = np.concatenate([block.distances for block in blocks])[row, column]
            # The rows hold more than the pairs: only an overflow of a pair is an error.
            beyond = [block.overflowed_or_not(len(columns)) for block in blocks]
            if np.concatenate(beyond)[row, column].any():
                raise DistanceOverflowError(source.distance_type.overflow)
    return found
