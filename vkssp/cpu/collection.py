"""Sums over the sources that are near groups of nodes, from rows of distances of the sources, on all cores."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import all_read_only
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.prepared.aggregates import CumulativeSums, DecayedSums, Int64s
from vkssp.prepared.seed_groups import Groups

# Groups of a task: their sums stay in the cache.
_GROUPS = 4096


def collected(
    blocks: Iterable[Uint32s],
    sources: Uint32s,
    nodes: Uint32s,
    groups: Groups,
    aggregates: tuple[CumulativeSums | DecayedSums, ...],
) -> Int64s:
    """Return what aggregates would make of rows from groups, given the rows from all nodes with values, backward.

    Parameters
    ----------
    blocks : iterable of numpy.ndarray
        Blocks of rows: distances from nodes with values, against the direction of arcs; shape (rows, k), uint32.
    sources : numpy.ndarray
        The nodes with values, in the order of the rows, uint32.
    nodes : numpy.ndarray
        The nodes whose distances the rows have, ascending, all those of groups among them, shape (k,), uint32.
    groups : Groups
        The groups, whose distances are the least ones of their nodes with their offsets.
    aggregates : tuple of CumulativeSums or DecayedSums
        The aggregates.

    Returns
    -------
    numpy.ndarray
        Shape (groups, sum of widths), int64.
    """
    module, count = kernels("vkssp.cpu.kernels.collection"), len(groups)
    columns = np.searchsorted(nodes, groups.node).astype(np.uint32)
    seeds = all_read_only(groups.first, columns, groups.offset)
    shapes = [(len(one.limits) if isinstance(one, CumulativeSums) else 1, len(one.values)) for one in aggregates]
    sums = [np.zeros((count, *shape), np.int64) for shape in shapes]
    step = max(1, min(_GROUPS, -(-count // num_cores())))
    at = 0
    for block in blocks:
        here = sources[at : at + len(block)]
        at += len(block)
        tasks = []
        for one, out in zip(aggregates, sums, strict=True):
            (rows, values) = all_read_only(block, one.values_of_nodes[here])
            if isinstance(one, CumulativeSums):
                add = partial(module.cumulate, rows, values, *seeds, *all_read_only(one.limits))
                into: npt.NDArray[np.int64] = out
            else:
                add = partial(module.decay, rows, values, *seeds, *all_read_only(one.weights), np.uint64(one.limit))
                into = out[:, 0]
            for begin in range(0, count, step):
                tasks.append(partial(add, begin, min(begin + step, count), into))
        run_all(tasks)
    parts = [np.cumsum(out, axis=1) if out.shape[1] > 1 else out for out in sums]
    return np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
