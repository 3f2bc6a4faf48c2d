"""Aggregates of rows of distances, computed by the CPU.

A row is given whole, or *near*: only the nodes that a search within a limit has reached, and their distances.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import read_only
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.prepared.aggregates import Aggregates, CumulativeSums, DecayedSums, Int64s, NodeSums, Straightness, Totals


def aggregated(aggregates: Aggregates, sources: Uint32s, distances: Uint32s) -> Int64s:
    """Return the aggregates of rows, side by side.

    Parameters
    ----------
    aggregates : tuple of Aggregate
        The aggregates.
    sources : numpy.ndarray
        Source of each row, by the caller's ids, shape (rows,), uint32.
    distances : numpy.ndarray
        Distances of all nodes, shape (rows, num_nodes), uint32.

    Returns
    -------
    numpy.ndarray
        Shape (rows, sum of the widths), int64.
    """
    module, rows, found = kernels("vkssp.cpu.kernels.aggregates"), read_only(distances), []
    for one in aggregates:
        out = np.zeros((len(rows), one.width), np.int64)
        if isinstance(one, CumulativeSums):
            module.cumulate(rows, read_only(one.values), read_only(one.limits), out)
        elif isinstance(one, DecayedSums):
            limit, room = np.uint32(one.limit), np.empty(module.BLOCK, np.int64)
            module.decay(rows, read_only(one.values), read_only(one.weights), limit, room, out)
        elif isinstance(one, Straightness):
            points = read_only(sources), read_only(one.points)
            module.straighten(rows, *points, np.uint32(one.limit), one.scale, out)
        else:
            assert isinstance(one, Totals)
            module.total(rows, np.uint32(one.limit), one.bits, out)
        found.append(out)
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def aggregated_near(
    aggregates: Aggregates, sources: Uint32s, first: Int64s, columns: Uint32s, distances: Uint32s
) -> Int64s:
    """Do what `aggregated` does, for near rows.

    Parameters
    ----------
    aggregates : tuple of Aggregate
        The aggregates.
    sources : numpy.ndarray
        Source of each row, by the caller's ids, shape (rows,), uint32.
    first : numpy.ndarray
        Offset of each row's first node in `columns`, shape (rows + 1,), int64.
    columns, distances : numpy.ndarray
        The nodes that are reached, row by row, and their distances, uint32.
    """
    module, found = kernels("vkssp.cpu.kernels.aggregates"), []
    for one in aggregates:
        out = np.zeros((len(first) - 1, one.width), np.int64)
        if isinstance(one, CumulativeSums):
            module.cumulate_near(first, columns, distances, read_only(one.values_of_nodes), read_only(one.limits), out)
        elif isinstance(one, DecayedSums):
            decay = read_only(one.values_of_nodes), read_only(one.weights), np.uint32(one.limit)
            module.decay_near(first, columns, distances, *decay, out)
        elif isinstance(one, Straightness):
            points = read_only(sources), read_only(one.points)
            module.straighten_near(first, columns, distances, *points, np.uint32(one.limit), one.scale, out)
        else:
            assert isinstance(one, Totals)
            module.total_near(first, columns, distances, np.uint32(one.limit), one.bits, out)
        found.append(out)
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def node_sums(aggregate: NodeSums, distances: Uint32s) -> Int64s:
    """Return sums by node over some rows, shape (3, num_nodes), int64; see `NodeSums`."""
    found = np.zeros((aggregate.NUM_SUMS, distances.shape[1]), np.int64)
    kernel = kernels("vkssp.cpu.kernels.aggregates").sum_by_node
    kernel(read_only(distances), np.uint32(aggregate.limit), aggregate.bits, found)
    return found


def node_sums_near(
    aggregate: NodeSums,
    first: Int64s,
    columns: Uint32s,
    distances: Uint32s,
    left_out: npt.NDArray[np.uint8],
    found: Int64s,
) -> None:
    """Add the sums of near rows, see `aggregated_near`, to `found`; rows that `left_out` marks do not count."""
    kernel = kernels("vkssp.cpu.kernels.aggregates").sum_by_node_near
    kernel(first, columns, distances, read_only(left_out), np.uint32(aggregate.limit), aggregate.bits, found)


def aggregated_by_all(aggregates: Aggregates, sources: Uint32s, distances: Uint32s) -> Int64s:
    """Do what `aggregated` does, on all cores."""
    step = max(1, -(-len(distances) // num_cores()))
    parts = [slice(first, first + step) for first in range(0, len(distances), step)]
    return np.concatenate(run_all([partial(aggregated, aggregates, sources[part], distances[part]) for part in parts]))
