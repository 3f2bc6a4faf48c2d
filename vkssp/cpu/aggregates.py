"""Aggregates of rows of distances, computed by the CPU."""

from __future__ import annotations

from functools import partial

import numpy as np

from vkssp.cpu.cores import num_cores, run_all
from vkssp.cpu.device import read_only
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.prepared.aggregates import Aggregates, CumulativeSums, DecayedSums, Int64s


def aggregated(aggregates: Aggregates, distances: Uint32s) -> Int64s:
    """Return the aggregates of rows, side by side.

    Parameters
    ----------
    aggregates : tuple of Aggregate
        The aggregates.
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
            shift, limit, room = np.uint32(one.shift), np.uint32(one.limit), np.empty(module.BLOCK, np.int64)
            module.decay(rows, read_only(one.values), read_only(one.weights), shift, limit, room, out)
        else:
            module.total(rows, np.uint32(one.limit), one.bits, out)
        found.append(out)
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def aggregated_by_all(aggregates: Aggregates, distances: Uint32s) -> Int64s:
    """Do what `aggregated` does, on all cores."""
    step = max(1, -(-len(distances) // num_cores()))
    parts = [distances[first : first + step] for first in range(0, len(distances), step)]
    return np.concatenate(run_all([partial(aggregated, aggregates, part) for part in parts]))
