"""Samples of nodes, and the probability with which a bound holds."""

from __future__ import annotations

import numpy as np

from vkssp.checks import number_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Uint32s


def drawn(nodes: Uint32s, sample: int, seed: int) -> Uint32s:
    """Return some nodes that are drawn at random, all different, sorted.

    Raises
    ------
    QueryError
        If there are not so many nodes, or the seed is no integer from 0 on.
    """
    most = f"give a number of nodes, up to {len(nodes)}"
    count = whole_number(sample, "sample", 1, max(1, len(nodes)), most)
    random = np.random.default_rng(whole_number(seed, "seed", 0, 2**63 - 1, "give an integer from 0 on"))
    return np.sort(random.choice(nodes, count, replace=False)) if len(nodes) else nodes


def probability(confidence: float) -> float:
    """Return a checked probability.

    Raises
    ------
    QueryError
        If it is not between 0 and 1.
    """
    share = number_of(confidence)
    if share is None or not 0 < share < 1:
        raise QueryError(f"confidence is {shown(confidence)}; give a probability between 0 and 1, such as 0.95")
    return share
