"""The choice of an algorithm: by its name, or by the graph.

What the rules go by was measured, see docs/performance.md: on road networks whose ids are local `block_resident` wins
by far, on graphs with a few enormous nodes a sweep over all edges, and on all others, if they are connected well, work
queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkssp.algorithm import AUTO, Algorithm, check_parameters
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.checks import shown
from vkssp.errors import QueryError
from vkssp.graph.landmarks import BLOCK, leaving_share
from vkssp.prepared.blocks import OTHER_BYTES, RECORD_BYTES, bytes_in_blocks
from vkssp.prepared.renumbered import PreparedGraph

DEFAULT_ALGORITHM = AUTO
# Mean degree of a graph that is sparse: street maps have 2 to 3, with turns up to 4.
_SPARSE = 6.0
# The share of arcs that leave their block up to which ids are local.
_LOCAL = 0.3
# A graph is skewed where such a share of its arcs starts at nodes of so many times the mean degree.
_HUB, _SKEWED = 16.0, 0.2


def algorithm_named(name: str) -> type[Algorithm]:
    """Return the algorithm of a name, or raise `QueryError` with those that there are."""
    if isinstance(name, str) and name in ALGORITHMS:
        return ALGORITHMS[name]
    raise QueryError(f"algorithm is {shown(name)}; choose one of {', '.join((AUTO, *ALGORITHMS))}")


def checked(name: str, parameters: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Parameters
    ----------
    name : str
        Name of an algorithm, or `AUTO`, which has no parameters.
    parameters : mapping of str to int
        Those that differ from the defaults.

    Raises
    ------
    QueryError
        If there is no such algorithm or parameter, or a value is out of range.
    """
    if not _is_auto(name):
        return check_parameters(algorithm_named(name), parameters)
    for parameter in parameters:
        raise QueryError(
            f"{parameter} may be a parameter of an algorithm, but algorithm is 'auto', which has none; name one, "
            "such as near_far"
        )
    return {}


def runs_on(name: str) -> str:
    """Return where an algorithm runs, ``"device"`` or ``"host"``."""
    return "device" if _is_auto(name) else algorithm_named(name).RUNS_ON


def _is_auto(name: object) -> bool:
    # What is no text may be anything when it is compared with one.
    return isinstance(name, str) and name == AUTO


def choose(prepared: PreparedGraph, largest_buffer: int) -> str:
    """Return the name of the algorithm that should find all distances in a graph first.

    It goes by degrees and by numbering, which say much of the graphs that people have, and nothing of some that one
    could think of.

    Parameters
    ----------
    prepared : PreparedGraph
        The graph, with the numbering that it has on the device.
    largest_buffer : int
        Bytes of the largest buffer of the device.
    """
    first_out, num_arcs = prepared.first_out, prepared.num_arcs
    mean = num_arcs / max(1, prepared.num_nodes)
    if prepared.arcs.nbytes > largest_buffer:
        return "bellman_ford_edge"  # the others need all arcs in one buffer, this one has them in three
    if mean <= _SPARSE:
        is_local = leaving_share(first_out, prepared.arcs[:, 0]) <= _LOCAL
        return "block_resident" if is_local and _fits_into_blocks(prepared, largest_buffer) else "near_far"
    degree = np.diff(first_out)
    in_hubs = int(degree[degree >= _HUB * mean].sum(dtype=np.int64))
    return "bellman_ford_edge" if in_hubs >= _SKEWED * num_arcs else "near_far"


def _fits_into_blocks(prepared: PreparedGraph, largest_buffer: int) -> bool:
    """Return whether buffers hold what block_resident makes of the arcs, for blocks of the usual size.

    That is more than the arcs themselves where nodes have less than two of them, or weights are too heavy for records.
    """
    if max(RECORD_BYTES * prepared.num_nodes, OTHER_BYTES * prepared.num_arcs) <= largest_buffer:
        return True
    return max(bytes_in_blocks(prepared.first_out, prepared.arcs, BLOCK)) <= largest_buffer
