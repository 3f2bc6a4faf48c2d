"""Delta-stepping as a sweep over node ids (P. Niklaus, "Optimizing Delta-Step on the GPU", 2026).

A node works if its distance lies in the current bucket of width delta and changed in the last sweep. The node relaxes
its arcs and sets the bits of the nodes that it improves; the next sweep covers the range of the ids of these nodes. A
bucket is swept until nothing changes in it. The method depends on a numbering in which neighbours have close ids
(Z-order). It follows Meyer and Sanders (2003); their split into light and heavy arcs is optional and off by default,
since a single pass is faster on a GPU.

Phases in a trace: 0 the first sweep of a bucket, 1 a further sweep, 2 the sweep of the heavy arcs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter, Terminal
from vkssp.engine.device_algorithm import STATE_SHARED, WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.prepared.bucket_width import DELTA, default_delta
from vkssp.references import MEYER_SANDERS, NIKLAUS

# Bytes of shared memory for the list of nodes per invocation, and for everything else.
_SHARED_PER_INVOCATION = 32
_SHARED_BESIDES = 64


class DeltaStep(DeviceAlgorithm):
    """Delta-stepping search on a device by sweeps over node ids; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "delta_step"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="sweeps over the ids of the nodes that changed, a bucket of distances at a time",
        source=f"{NIKLAUS}; {MEYER_SANDERS}",
        complexity="a few sweeps for each of L / delta buckets, over the ids from the first to the last that changed",
        use="road networks with coordinates, one to all or to a target",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        DELTA,
        Parameter("light_heavy", 0, 1, 0, "1 to relax a bucket's heavy arcs after its light ones"),
        WORKGROUP_SIZE,
        WORKGROUPS,
    )
    OWN_BYTES: ClassVar[float] = 0.25
    BINDINGS: ClassVar[int] = 7
    STATE: ClassVar[np.dtype[Any]] = state_dtype(
        ("phase", "parity", "low", "high", "first_node", "last_node", "delta", "light_heavy", "buckets"),
        *("changed_min", "changed_max", "waiting_min", "waiting_max", "waiting_distance"),
        *("worked_min", "worked_max", "largest"),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("buckets",)
    SWEEPS: ClassVar[float] = 0

    def _steps(self) -> Sequence[Step]:
        self._delta = self._parameters["delta"] or default_delta(self._graph.renumbered.spread.mean)
        fitting = (self._device.limits.shared_memory - STATE_SHARED - _SHARED_BESIDES) // _SHARED_PER_INVOCATION
        usual, most = (self._device.tuned[f"delta_step.{name}"] for name in ("workgroup_size", "workgroups"))
        size = self._parameters["workgroup_size"] or min(self._size(default=usual, software=usual), fitting)
        self._bits = self._buffer("the changed-node bits", 8 * -(-self._num_nodes // 32))
        sweep = self._kernel(
            "delta_step",
            *(self.terminals, self.distances, self._graph.first_out, self._graph.arcs, self._bits),
            workgroup_size=size,
            shared_bytes=_SHARED_PER_INVOCATION * size + _SHARED_BESIDES,
        )
        groups = self._groups(self._num_nodes, 32 * size, default=most, software=most)
        return [Step(sweep, groups, (self._num_nodes,))]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._bits, 0)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        nodes, offsets = [node for node, _ in seeds], [offset for _, offset in seeds]
        low = min(offsets) - min(offsets) % self._delta
        return {
            "low": low,
            "high": min(low + self._delta, UNREACHABLE),
            "first_node": min(nodes),
            "last_node": max(nodes),
            "delta": self._delta,
            "light_heavy": self._parameters["light_heavy"] or 0,
            "buckets": 1,
            "largest": max(offsets),
            **dict.fromkeys(("changed_min", "waiting_min", "worked_min", "waiting_distance"), UNREACHABLE),
        }
