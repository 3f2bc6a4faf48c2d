"""Accessibility: what can be reached from nodes, summed up where the distances are made."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.checks import array_of, dtype_of, is_many, listed, real_numbers, shown, whole_numbers
from vkssp.cpu.collection import collected
from vkssp.cpu.device import CpuDevice
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph
from vkssp.memory import require
from vkssp.prepared.aggregates import Aggregates, CumulativeSums, DecayedSums, Int64s
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import nodes_of
from vkssp.solver.decay import BITS, Decay
from vkssp.solver.row_maker import RowBlock
from vkssp.solver.sampling import drawn
from vkssp.solver.tables import RowSource, rows

# Searches from sources, whose rows are summed up where they are made, that take as long as a search from a node with a
# value, whose whole row is needed: on the CPU, and on a device, from which such a row is downloaded.
_SOURCES_A_VALUE, _SOURCES_A_ROW = 2, 100
# Entries of a whole row that take as long to sum up as a search takes for a node that it reaches, and the number of
# searches that estimate how many nodes are reached.
_CELLS_A_NODE, _SAMPLE = 20, 32
# Bits of the sums of the magnitudes of values, and of values that are multiplied by weights.
_SUM_BITS = 62


class Accessible(RowSource, Protocol):
    """Solver or pool that can make another one, with the same devices, for another graph."""

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, or of several, joined by commas."""

    @property
    def device(self) -> Device | CpuDevice:
        """The device, or the first of several."""

    def for_graph(self, graph: Graph) -> AbstractContextManager[RowSource]:
        """Return the same for another graph."""


def accessibility(
    source: Accessible, values: npt.ArrayLike, limits: Any, decays: Any, sources: npt.ArrayLike | None
) -> npt.NDArray[Any]:
    """Return the sums of values that can be reached from nodes; see `vkssp.Solver.accessibility`."""
    graph = source.graph
    table, is_flat = checked_values(values, "values", graph.num_nodes, "nodes")
    is_one, within = _limits(graph, limits)
    shapes = checked_decays(decays)
    if graph.scale is not None:
        shapes = [decay.scaled(graph.scale) for decay in shapes]
    nodes = np.arange(graph.num_nodes, dtype=np.uint32) if sources is None else nodes_of(graph, sources, "sources")
    found = sums_of_groups(source, Groups.of_nodes(nodes), table, within, shapes)
    return shaped(found, is_one and not shapes, is_flat)


def sums_of_groups(
    source: Accessible, groups: Groups, table: npt.NDArray[Any], limits: Sequence[int], decays: Sequence[Decay]
) -> npt.NDArray[Any]:
    """Return the sums of values that can be reached from groups of seeds.

    Parameters
    ----------
    source : Accessible
        Source of distances.
    groups : Groups
        The groups, none of them empty.
    table : numpy.ndarray
        Values of nodes, as `checked_values` returns them, shape (num_nodes, c).
    limits : sequence of int
        Distances, in any order; `UNREACHABLE` is no limit.
    decays : sequence of Decay
        Weights by distance.

    Returns
    -------
    numpy.ndarray
        Shape (groups, k, c): a sum for each limit and then each decay. int64 if values are integers and there are no
        decays, or else float64.

    Raises
    ------
    QueryError
        If there are neither limits nor decays.
    DistanceOverflowError
        If a shortest distance that counts does not fit into 32 bits.
    MemoryShortageError
        If the sums do not fit into memory.
    """
    if not limits and not decays:
        raise QueryError("there are neither limits nor decays; give limits=[...], distances within which values count")
    count, columns = len(limits) + len(decays), table.shape[1]
    require(
        16 * len(groups) * count * columns, f"{count * columns:,} sums for {len(groups):,} sources", "ask for fewer"
    )
    aggregates: list[Any] = []
    exponents: list[Int64s] = []
    if limits:
        fixed, exponent = _fixed(table, _SUM_BITS)
        within = np.minimum(np.array(limits, np.uint32), np.uint32(UNREACHABLE - 1))
        aggregates.append(CumulativeSums(fixed, np.unique(within)))
        exponents += [exponent] * len(aggregates[0].limits)
    for decay in decays:
        fixed, exponent = _fixed(table, _SUM_BITS - BITS)
        aggregates.append(DecayedSums(fixed, *decay.weights()))
        exponents.append(exponent + BITS)
    most = max([*limits, *(UNREACHABLE if one.limit >= UNREACHABLE else int(one.limit) for one in decays)])
    sums = _sums(source, groups, table, tuple(aggregates), most)
    sums = sums.reshape(len(groups), len(exponents), columns)
    found: npt.NDArray[Any] = sums
    if decays or table.dtype.kind == "f":
        found = np.ldexp(sums.astype(np.float64), -np.stack(exponents))
    if limits:
        # In the order of the caller, who may name a limit twice.
        where = np.searchsorted(aggregates[0].limits, within)
        found = found[:, [*where.tolist(), *range(len(aggregates[0].limits), found.shape[1])]]
    return found


def _sums(source: Accessible, groups: Groups, table: npt.NDArray[Any], aggregates: Any, limit: int) -> Int64s:
    """Return the aggregates of groups, by searches from them or, if these are fewer, from the nodes with values."""
    valued = np.flatnonzero(table.any(axis=1)).astype(np.uint32)
    some: float = _SOURCES_A_VALUE if isinstance(source.device, CpuDevice) else _SOURCES_A_ROW
    if limit < UNREACHABLE and source.algorithm == "dijkstra" and some * len(valued) < len(groups):
        # Within a limit a search takes as long as it reaches nodes, and a whole row as long as there are nodes.
        reached = _reached(source, limit)
        some = 1.0 + len(table) / (_CELLS_A_NODE * max(1.0, reached))
    if some * len(valued) >= len(groups):
        try:
            return aggregated_rows(source, groups, aggregates, limit)
        except DistanceOverflowError:
            if len(valued) == len(table):
                raise
        # Some node is too far, but perhaps none that has a value.
    nodes = np.unique(groups.node)
    with source.for_graph(backward(source.graph)) as solver:
        blocks = rows(solver, solver.graph, Groups.of_nodes(valued), nodes, limit=limit)
        return collected(blocks, valued, nodes, groups, aggregates)


def _reached(source: Accessible, limit: int) -> float:
    """Estimate the number of nodes within a limit of a node, by some searches."""
    count = source.graph.num_nodes
    nodes = drawn(np.arange(count, dtype=np.uint32), min(_SAMPLE, count), seed=0)
    nodes_within = CumulativeSums(np.ones((1, count), np.int64), np.array([limit], np.uint32))
    return float(aggregated_rows(source, Groups.of_nodes(nodes), (nodes_within,), limit).mean())


def shaped(sums: npt.NDArray[Any], is_one: bool, is_flat: bool) -> npt.NDArray[Any]:
    """Return the sums of `sums_of_groups`, without the axis of limits if `is_one`, and of columns if `is_flat`."""
    found = sums[:, 0] if is_one else sums
    return np.ascontiguousarray(found[..., 0] if is_flat else found)


def backward(graph: Graph) -> Graph:
    """Return a graph with every arc reversed, with the same hierarchy, which knows no directions."""
    return replace(graph.reversed()[0], hierarchy=graph.hierarchy)


def aggregated_rows(source: RowSource, groups: Groups, aggregates: Aggregates, limit: int) -> Int64s:
    """Return the aggregates of the distances from groups of seeds, shape (groups, sum of widths), int64.

    Parameters
    ----------
    source : RowSource
        Source of distances.
    groups : Groups
        The groups.
    aggregates : tuple of Aggregate
        The aggregates.
    limit : int
        Distance beyond which no node counts in any of them; `UNREACHABLE` if there is none.

    Raises
    ------
    DistanceOverflowError
        If a shortest distance does not fit into 32 bits, and there is no limit.
    """
    found = np.empty((len(groups), sum(one.width for one in aggregates)), np.int64)
    at = 0
    for block in blocks_of_sums(source, groups, aggregates, limit):
        found[at : at + len(block)] = block.distances
        at += len(block)
    return found


def blocks_of_sums(
    source: RowSource, groups: Groups, aggregates: Aggregates, limit: int
) -> Generator[RowBlock, None, None]:
    """Yield the aggregates of the distances from groups of seeds to all nodes; see `aggregated_rows`."""
    graph = source.graph
    if not graph.num_nodes:
        return
    nodes = np.arange(graph.num_nodes, dtype=np.uint32)
    with closing(source.row_blocks(graph, groups, nodes, whole=True, limit=limit, aggregates=aggregates)) as blocks:
        yield from blocks


def checked_values(values: npt.ArrayLike, name: str, count: int, things: str) -> tuple[npt.NDArray[Any], bool]:
    """Return checked values, shape (count, columns), int64 or float64, and whether they have no columns.

    Errors call the values `name`, and what each of them belongs to one of the `things`.

    Raises
    ------
    QueryError
        If the values are not finite numbers, are not as many, or have a sum beyond 62 bits.
    """
    table = array_of(values, name, f"numbers, one for each of the {things}", QueryError)
    if table.ndim not in (1, 2) or len(table) != count:
        raise QueryError(
            f"{name} has shape {table.shape}; give one number for each of the {count} {things}, or a row of numbers"
        )
    if table.dtype.kind not in "biuf":
        raise QueryError(f"{name} has dtype {dtype_of(table)}; give numbers")
    if table.dtype.kind == "f":
        table = table.astype(np.float64)
        if not np.isfinite(table).all():
            at = np.argwhere(~np.isfinite(table))[0].tolist()
            raise QueryError(f"{name}{at} is {table[tuple(at)]}; give finite numbers, such as 0 where nothing is known")
        with np.errstate(over="ignore"):
            if not np.isfinite(np.abs(table).sum(axis=0)).all():
                raise QueryError(f"{name} have a sum beyond 1.8e308; divide them by a common factor")
    elif np.abs(table.astype(np.float64)).sum(axis=0).max(initial=0.0) >= 2.0**_SUM_BITS:
        raise QueryError(f"{name} have a sum beyond 2**62; divide them by a common factor")
    flat = table.ndim == 1
    whole = table.reshape(count, -1) if count else table.reshape(0, 1 if flat else table.shape[1])
    return whole if whole.dtype.kind == "f" else whole.astype(np.int64), flat


def _fixed(values: npt.NDArray[Any], bits: int) -> tuple[Int64s, Int64s]:
    """Return values in fixed point, as multiples of 2**-exponent, and the exponent of each column.

    The values have shape (columns, num_nodes), since kernels sum up a column at a time.

    The sum of the magnitudes of a column is at most 2**`bits`. Whole numbers stay as they are, if their sums allow it.
    """
    total = np.abs(values.astype(np.float64)).sum(axis=0)
    is_whole = (values == np.trunc(values)).all(axis=0) & (total < 2.0**bits)
    exponents = np.where(is_whole, 0, bits - 1 - np.frexp(total)[1]).astype(np.int64)
    fixed = np.empty(values.T.shape, np.int64)
    for column, exponent in enumerate(exponents.tolist()):
        given = values[:, column]
        fixed[column] = given if is_whole[column] else np.rint(np.ldexp(given.astype(np.float64), exponent))
    return fixed, exponents


def _limits(graph: Graph, limits: Any) -> tuple[bool, list[int]]:
    """Return whether there is a single limit, not in a list, and the limits in the units of the graph.

    `UNREACHABLE` stands for limits that exceed every distance.
    """
    if limits is None:
        return False, []
    is_one = not is_many(limits) and not hasattr(limits, "__array__")
    given = [limits] if is_one else limits
    if graph.scale is None:
        return is_one, whole_numbers(given, "limits", "distances", UNREACHABLE - 1, QueryError).tolist()
    numbers = real_numbers(given, "limits", "distances", QueryError).tolist()
    found = [graph.units.limit(limit, f"limits[{at}]") for at, limit in enumerate(numbers)]
    return is_one, found


def checked_decays(decays: Any) -> Sequence[Decay]:
    """Return the decays, given as one or as a list."""
    given = (
        [] if decays is None else [decays] if isinstance(decays, Decay) else listed(decays, "decays", "Decay objects")
    )
    for at, one in enumerate(given):
        if not isinstance(one, Decay):
            raise QueryError(f"decays[{at}] is {shown(one)}; make one, such as by Decay.exponential")
    return given
