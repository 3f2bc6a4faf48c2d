"""Delta-stepping with an array of buckets and a thread per node (Y. Song, X. Du, 2021, after Meyer and Sanders, 2003).

An array maps each node to its bucket. Light arcs (weight at most delta) are relaxed until the bucket is stable, then
its heavy arcs. The next bucket is the one with the least index; a reduction in the same sweep finds it.

Phases in a trace: 0 seeds are sorted into buckets, 1 light arcs, 2 heavy arcs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter, Terminal
from vkssp.engine.arrays import Array
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.prepared.bucket_width import DELTA, default_delta
from vkssp.references import MEYER_SANDERS, SONG_DU


class DeltaStepArray(DeviceAlgorithm):
    """Delta-stepping search on a device with an array of buckets and a thread per node; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "delta_step_array"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="sweeps over all nodes; an array maps each to its bucket; light arcs first, then heavy ones",
        source=f"{MEYER_SANDERS}; {SONG_DU}",
        complexity="L / delta buckets, each a few sweeps over n nodes; on random weights O(n + m) relaxations",
        use="graphs of small diameter (social networks, random graphs) with similar degrees",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (DELTA, WORKGROUP_SIZE, WORKGROUPS)
    OWN_BYTES: ClassVar[float] = 8
    BINDINGS: ClassVar[int] = 8
    STATE: ClassVar[np.dtype[Any]] = state_dtype(("phase", "delta", "bucket", "buckets"), "changed", "next")
    COUNTERS: ClassVar[tuple[str, ...]] = ("buckets",)

    def _buffers(self) -> tuple[Array, ...]:
        self._delta = self._parameters["delta"] or default_delta(self._graph.renumbered.spread.mean)
        self._bucket_of = self._buffer("the buckets", 4 * self._num_nodes)
        self._relaxed_at = self._buffer("the relaxed distances", 4 * self._num_nodes)
        graph = self._graph
        return self.terminals, self.distances, graph.first_out, graph.arcs, self._bucket_of, self._relaxed_at

    def _steps(self) -> Sequence[Step]:
        size = self._size()
        kernel = self._kernel("delta_step_array", *self._buffers(), workgroup_size=size)
        return [Step(kernel, self._groups(self._num_nodes, size), (self._num_nodes,))]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._bucket_of, UNREACHABLE)
        recording.fill(self._relaxed_at, UNREACHABLE)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        return {"delta": self._delta, "next": UNREACHABLE}
