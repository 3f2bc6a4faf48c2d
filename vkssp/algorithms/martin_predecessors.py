"""Martin's algorithm, predecessors variant (Martin, Torres, Gavilanes, 2009).

A round settles the nodes whose distance is the least of all unsettled ones: Dijkstra's algorithm, with all equally near
nodes at once. Unsettled nodes look for frontier nodes along their incoming arcs, so that no
atomics are needed.
"""

from __future__ import annotations

from typing import ClassVar

from vkssp.algorithm import Description
from vkssp.algorithms.threshold import SettleInRounds
from vkssp.references import MARTIN_AS_EVALUATED


class MartinPredecessors(SettleInRounds):
    """The buffers, kernels and loop of one martin_predecessors search at a time on a graph; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "martin_predecessors"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="settles in each round all nodes at the least distance of an unsettled one; pulls",
        source=MARTIN_AS_EVALUATED,
        complexity="rounds as for martin; each looks at n nodes and at all arcs into unsettled ones",
        use="as a baseline",
        ends_early=True,
    )
    CRAUSER: ClassVar[bool] = False
    PREDECESSORS: ClassVar[bool] = True
