"""Crauser's algorithm, successors variant (Crauser et al., 1998; Ortega-Arranz et al., 2015).

A round settles every node whose distance is at most the least sum of an unsettled node's distance and its lightest
outgoing arc: no way that is found later can be shorter. Frontier nodes relax their outgoing arcs.
"""

from __future__ import annotations

from typing import ClassVar

from vkssp.algorithm import Description
from vkssp.algorithms.threshold import SettleInRounds
from vkssp.references import CRAUSER_AS_EVALUATED


class Crauser(SettleInRounds):
    """The buffers, kernels and loop of one crauser search at a time on a graph; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "crauser"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="settles in each round all nodes up to the least distance + lightest arc of an unsettled one; pushes",
        source=CRAUSER_AS_EVALUATED,
        complexity="as many rounds as there are thresholds, about sqrt(n) on random graphs; each looks at n nodes",
        use="random and social graphs of medium and high degree; weights that are not tiny",
        ends_early=True,
    )
    CRAUSER: ClassVar[bool] = True
    PREDECESSORS: ClassVar[bool] = False
