"""Crauser's and Martin's algorithms: rounds that settle all nodes up to a threshold at once.

Martin's threshold is the least distance of an unsettled node: Dijkstra's algorithm, with all equally near nodes settled
at once. Crauser's threshold is the least sum of an unsettled node's distance and the weight of its lightest outgoing
arc: no path that is found later can be shorter. In the successors variants, the nodes of the frontier relax their
outgoing arcs. In the predecessors variants, unsettled nodes look for nodes of the frontier along their incoming arcs,
without atomics.

Three kernels make a round (Ortega-Arranz et al., 2015). The minimum kernel finds the threshold. The update kernel
settles the nodes up to the threshold; these are the frontier. The relax kernel improves nodes beyond the frontier. The
paper tunes the size of workgroups for each kernel. It clears two vectors of flags in every round; here one vector holds
the round in which a node was settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter, Terminal
from vkssp.engine.device_algorithm import WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.references import CRAUSER_AS_EVALUATED, MARTIN_AS_EVALUATED

_CRAUSER_CONSTANT = 2


class ThresholdAlgorithm(DeviceAlgorithm):
    """Base class of the searches with thresholds on a device; see `DeviceAlgorithm`."""

    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        *(
            Parameter(f"{kernel}_workgroup_size", 1, 1024, None, f"invocations in a workgroup of the {kernel} kernel")
            for kernel in ("minimum", "update", "relax")
        ),
        WORKGROUPS,
    )
    OWN_BYTES: ClassVar[float] = 4
    BINDINGS: ClassVar[int] = 6
    STATE: ClassVar[np.dtype[Any]] = state_dtype(("rounds", "low", "threshold"), "nearest", "bound")
    #: Whether the lightest outgoing arcs raise the threshold (Crauser) or not (Martin).
    CRAUSER: ClassVar[bool]
    #: Whether unsettled nodes relax their incoming arcs, or frontier nodes their outgoing arcs.
    PREDECESSORS: ClassVar[bool]

    def _graph_bytes(self, *, at_most: bool) -> int:
        graph = self._graph
        lightest = graph.missing("lightest", 4 * self._num_nodes) if self.CRAUSER else 0
        if not self.PREDECESSORS:
            return lightest + super()._graph_bytes(at_most=at_most)
        return lightest + graph.missing("incoming", 4 * (self._num_nodes + 1) + 8 * graph.renumbered.num_arcs)

    def _steps(self) -> Sequence[Step]:
        graph = self._graph
        self._settled = self._buffer("the settled nodes", 4 * self._num_nodes)
        lightest = self._settled  # Martin's algorithm does not read it
        if self.CRAUSER:
            (lightest,) = graph.shared(
                "lightest", lambda: graph.upload({"the lightest arcs": graph.renumbered.lightest_out()})
            )
        if self.PREDECESSORS:
            name, (rows, arcs, _) = "threshold_relax_predecessors", graph.incoming()
        else:
            name, (rows, arcs) = "threshold_relax", (graph.first_out, graph.arcs)
        sizes = [self._size(f"{kernel}_workgroup_size") for kernel in ("minimum", "update", "relax")]
        kernels = (
            self._kernel(
                "threshold_minimum",
                *(self.terminals, self.distances, self._settled, lightest),
                workgroup_size=sizes[0],
                constants={_CRAUSER_CONSTANT: int(self.CRAUSER)},
            ),
            self._kernel("threshold_update", self.distances, self._settled, workgroup_size=sizes[1]),
            self._kernel(name, self.distances, self._settled, rows, arcs, workgroup_size=sizes[2]),
        )
        count = self._num_nodes
        return [Step(kernel, self._groups(count, size), (count,)) for kernel, size in zip(kernels, sizes, strict=True)]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._settled, 0)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        return {"nearest": UNREACHABLE, "bound": UNREACHABLE}


class Crauser(ThresholdAlgorithm):
    """Crauser's algorithm, successors variant."""

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


class CrauserPredecessors(ThresholdAlgorithm):
    """Crauser's algorithm, predecessors variant."""

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


class Martin(ThresholdAlgorithm):
    """Martin's algorithm, successors variant."""

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


class MartinPredecessors(ThresholdAlgorithm):
    """Martin's algorithm, predecessors variant."""

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
