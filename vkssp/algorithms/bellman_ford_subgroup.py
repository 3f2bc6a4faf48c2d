"""Bellman-Ford with virtual warps (Y. Song, X. Du, 2021, after Hong, Kim, Oguntebi and Olukotun, 2011).

A group of lanes takes a chunk of nodes and walks the arcs of each together, so that nodes with many arcs do not
delay the others. A search for a target cannot end early, see `bellman_ford`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vkssp.algorithm import Description, Parameter
from vkssp.algorithms.bellman_ford import BellmanFord
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, Step
from vkssp.engine.virtual_warp import CHUNK, LANES, virtual_warps
from vkssp.references import HONG, SONG_DU


class BellmanFordSubgroup(BellmanFord):
    """Bellman-Ford search on a device, with virtual warps; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "bellman_ford_subgroup"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Bellman-Ford in which a group of lanes walks the arcs of a node together",
        source=f"{HONG}; {SONG_DU}",
        complexity="as bellman_ford",
        use="as a baseline; graphs whose paths have few arcs and whose degrees differ widely",
        ends_early=False,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (LANES, CHUNK, WORKGROUP_SIZE, WORKGROUPS)

    def _steps(self) -> Sequence[Step]:
        size, graph = self._size(), self._graph
        constants, shared, block = virtual_warps(self.NAME, self._device, size, self._parameters)
        kernel = self._kernel(
            "bellman_ford_subgroup",
            *(self.terminals, self.distances, graph.first_out, graph.arcs),
            workgroup_size=size,
            constants=constants,
            shared_bytes=shared,
        )
        return [Step(kernel, self._groups(self._num_nodes, block), (self._num_nodes,))]
