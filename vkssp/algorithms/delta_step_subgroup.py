"""Delta-stepping with an array of buckets and virtual warps (Y. Song, X. Du, 2021).

The method is that of `delta_step_array`, but a group of lanes takes a chunk of nodes and walks the arcs of each node
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vkssp.algorithm import Description, Parameter
from vkssp.algorithms.delta_step_array import DeltaStepArray
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, Step
from vkssp.engine.virtual_warp import CHUNK, LANES, virtual_warps
from vkssp.prepared.bucket_width import DELTA
from vkssp.references import HONG, SONG_DU


class DeltaStepSubgroup(DeltaStepArray):
    """Delta-stepping search on a device with an array of buckets and virtual warps; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "delta_step_subgroup"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="delta_step_array in which a group of lanes walks the arcs of a node together",
        source=f"{HONG}; {SONG_DU}",
        complexity="as delta_step_array",
        use="graphs of small diameter whose degrees differ widely",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (DELTA, LANES, CHUNK, WORKGROUP_SIZE, WORKGROUPS)

    def _steps(self) -> Sequence[Step]:
        size = self._size()
        constants, shared, block = virtual_warps(self.NAME, self._device, size, self._parameters)
        kernel = self._kernel(
            "delta_step_subgroup", *self._buffers(), workgroup_size=size, constants=constants, shared_bytes=shared
        )
        return [Step(kernel, self._groups(self._num_nodes, block), (self._num_nodes,))]
