"""Crauser's algorithm, predecessors variant (Crauser et al., 1998; Ortega-Arranz et al., 2015).

A round settles every node whose distance is at most the least sum of an unsettled node's distance and its lightest
outgoing arc: no way that is found later can be shorter. Unsettled nodes look for
frontier nodes along their incoming arcs, so that no atomics are needed.
"""

from __future__ import annotations

from typing import ClassVar

from vkssp.algorithm import Description
from vkssp.algorithms.threshold import SettleInRounds
from vkssp.references import CRAUSER_AS_EVALUATED


class CrauserPredecessors(SettleInRounds):
    """The buffers, kernels and loop of one crauser_predecessors search at a time on a graph; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "crauser_predecessors"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="settles in each round all nodes up to the least distance + lightest arc of an unsettled one; pulls",
        source=CRAUSER_AS_EVALUATED,
        complexity="rounds as for crauser; each looks at n nodes and at all arcs into unsettled ones",
        use="as crauser, where atomics are slow",
        ends_early=True,
    )
    CRAUSER: ClassVar[bool] = True
    PREDECESSORS: ClassVar[bool] = True
