"""Replay of a search in numpy: it finds the nodes that relaxed arcs in each step, which a trace does not hold.

For each iteration, a device's trace has the distances from low to high that the iteration works on and the range of ids
that it looks at, but not the nodes. Within a bucket, the steps are determined: nodes whose distance fell to below high
relax their arcs until there are no such nodes. So the buckets of a trace are enough to repeat the steps, for both
delta_step and near_far. In the replay, all nodes of a step relax their arcs at once. On a device, some nodes see
improvements of the same step: the device takes no more steps, and its nodes relax their arcs less often, on a software
device by a tenth or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import ranges

#: Moment of an event that never happens.
NEVER = np.iinfo(np.int32).max
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Replay:
    """Moments at which the state of each node changed in a search; moment k is after k steps.

    A node's distance only falls and the bounds of buckets only rise. So a node goes from unseen over far and near to
    settled, and never back; it may skip far.

    Attributes
    ----------
    distances : numpy.ndarray
        Distance of each node at the end of the search, shape (num_nodes,), uint32.
    steps : int
        Number of steps.
    buckets : numpy.ndarray
        Moment at which each bucket of the search began, shape (num_buckets,), int32.
    worked : numpy.ndarray
        Number of times that each node relaxed its arcs, shape (num_nodes,), int32.
    seen, near, settled : numpy.ndarray
        First moments at which each node had a distance, had a distance below the bucket's end, and had a distance below
        the bucket's start, which is final; `NEVER` for nodes that no path reaches. Shape (num_nodes,) each, int32.
    """

    distances: Uint32s
    steps: int
    buckets: Int32s
    worked: Int32s
    seen: Int32s
    near: Int32s
    settled: Int32s


def buckets_of(trace: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the buckets of a trace, in order.

    Parameters
    ----------
    trace : numpy.ndarray
        Trace of an algorithm that works on one range of distances after the other; dtype `TRACE`.

    Returns
    -------
    numpy.ndarray
        Distances low and high of each bucket, shape (num_buckets, 2), int64.
    """
    ends = np.stack([trace["low"], trace["high"]], axis=1).astype(np.int64)
    changes = np.any(ends[1:] != ends[:-1], axis=1)
    return ends[np.concatenate([[True], changes])] if len(ends) else ends


def times_covered(trace: npt.NDArray[Any], num_nodes: int) -> npt.NDArray[np.int64]:
    """Return the number of iterations of a trace whose range covered each node id, shape (num_nodes,), int64."""
    change = np.zeros(num_nodes + 1, np.int64)
    np.add.at(change, trace["first_node"], 1)
    np.add.at(change, np.minimum(trace["last_node"].astype(np.int64) + 1, num_nodes), -1)
    return np.cumsum(change)[:-1]


def range_widths(trace: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the number of ids that the range of each iteration of a trace covers, shape (iterations,), int64."""
    return np.asarray(trace["last_node"].astype(np.int64) - trace["first_node"] + 1)


def replay(graph: Graph, source: int, trace: npt.NDArray[Any]) -> Replay:
    """Repeat the steps of a search from one node to all others.

    Parameters
    ----------
    graph : Graph
        The graph.
    source : int
        Source of the search.
    trace : numpy.ndarray
        Trace that `Solver.trace` returned for the search, by delta_step or near_far.
    """
    n = graph.num_nodes
    first_out, head, weight = (array.astype(np.int64) for array in (graph.first_out, graph.head, graph.weight))
    dist = np.full(n, UNREACHABLE, np.int64)
    worked = np.zeros(n, np.int32)
    seen, near, settled = np.full((3, n), NEVER, np.int32)
    dist[source] = seen[source] = 0
    begins, step = [], 0
    for low, high in buckets_of(trace):
        begins.append(step)
        _first_time(near, dist < high, step)
        _first_time(settled, dist < low, step)
        working = np.flatnonzero((dist >= low) & (dist < high))
        while len(working):
            step += 1
            worked[working] += 1
            degree = first_out[working + 1] - first_out[working]
            arcs = ranges(first_out[working], degree)
            through = np.repeat(dist[working], degree) + weight[arcs]
            better = through < dist[head[arcs]]
            improved = np.unique(head[arcs[better]])
            np.minimum.at(dist, head[arcs[better]], through[better])
            working = improved[dist[improved] < high]
            seen[improved] = np.minimum(seen[improved], step)
            near[working] = np.minimum(near[working], step)
    _first_time(settled, dist < UNREACHABLE, step)
    return Replay(dist.astype(np.uint32), step, np.array(begins, np.int32), worked, seen, near, settled)


def _first_time(moments: Int32s, happens: npt.NDArray[np.bool_], step: int) -> None:
    moments[happens & (moments == NEVER)] = step
