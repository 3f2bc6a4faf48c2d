"""Martin's algorithm, successors variant (Martin, Torres, Gavilanes, 2009).

A round settles the nodes whose distance is the least of all unsettled ones: Dijkstra's algorithm, with all equally near
nodes at once. Frontier nodes relax their outgoing arcs.
"""

from __future__ import annotations

from typing import ClassVar

from vkssp.algorithm import Description
from vkssp.algorithms.threshold import SettleInRounds
from vkssp.references import MARTIN_AS_EVALUATED


class Martin(SettleInRounds):
    """The buffers, kernels and loop of one martin search at a time on a graph; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "martin"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="settles in each round all nodes at the least distance of an unsettled one; pushes",
        source=MARTIN_AS_EVALUATED,
        complexity="a round for each different distance, at most L; each looks at n nodes",
        use="as a baseline; graphs with few different distances",
        ends_early=True,
    )
    CRAUSER: ClassVar[bool] = False
    PREDECESSORS: ClassVar[bool] = False
