"""The choice of an algorithm: by its name, or by the graph.

What the rules go by was measured, see docs/performance.md: on road networks whose ids are local `block_resident` wins
by far, on graphs with a few enormous nodes a sweep over all edges, and on all others, if they are connected well, work
queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkssp.errors import QueryError
from vkssp.landmarks import leaving_share
from vkssp.solvers import ALGORITHMS
from vkssp.solvers.base import Algorithm, check_parameters
from vkssp.solvers.prepare import PreparedGraph

#: The algorithm that stands for the one that fits the graph best.
AUTO = "auto"
DEFAULT_ALGORITHM = AUTO
# Mean degree of a graph that is sparse: street maps have 2 to 3, with turns up to 4.
_SPARSE = 6.0
# The share of arcs that leave their block up to which ids are local.
_LOCAL = 0.3
# A graph is skewed where such a share of its arcs starts at nodes of so many times the mean degree.
_HUB, _SKEWED = 16.0, 0.2


def algorithm_named(name: str) -> type[Algorithm]:
    """Return the algorithm of a name, or raise `QueryError` with those that there are."""
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise QueryError(f"algorithm is {name!r}; choose one of {', '.join((AUTO, *ALGORITHMS))}")
    return ALGORITHMS[name]


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
    if name != AUTO:
        return check_parameters(algorithm_named(name), parameters)
    for parameter in parameters:
        raise QueryError(
            f"{parameter} may be a parameter of an algorithm, but algorithm is 'auto', which has none; name one, "
            "such as near_far"
        )
    return {}


def runs_on(name: str) -> str:
    """Return where an algorithm runs, ``"device"`` or ``"host"``."""
    return "device" if name == AUTO else algorithm_named(name).RUNS_ON


def choose(prepared: PreparedGraph) -> str:
    """Return the name of the algorithm that finds all distances in a graph first.

    Parameters
    ----------
    prepared : PreparedGraph
        The graph, with the numbering that it has on the device.
    """
    first_out, num_arcs = prepared.first_out, prepared.num_arcs
    mean = num_arcs / max(1, prepared.num_nodes)
    if mean <= _SPARSE:
        return "block_resident" if leaving_share(first_out, prepared.arcs[:, 0]) <= _LOCAL else "near_far"
    degree = np.diff(first_out)
    in_hubs = int(degree[degree >= _HUB * mean].sum(dtype=np.int64))
    return "bellman_ford_edge" if in_hubs >= _SKEWED * num_arcs else "near_far"
