"""Delta-stepping as a sweep over node ids (P. Niklaus, "Optimizing Delta-Step on the GPU", 2026).

A node works if its distance lies in the current bucket of width delta and it changed in the last sweep; it relaxes its
arcs, sets the bits of the nodes that it improved, and their ids widen the range that the next sweep covers. A bucket is
swept until nothing changes in it. It depends on a numbering in which neighbours have near ids (Z-order). After Meyer
and Sanders (2003), whose split into light and heavy arcs is there but off: a single pass is faster on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE
from vkssp.solvers.base import MAX_TERMINALS, DeviceGraph, Outcome, Parameter, Terminal
from vkssp.solvers.loop import Loop

#: The twin of State in shaders/include/delta_step_state.glsl.
STATE = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("ticket", "done", "phase", "parity", "low", "high", "first_node", "last_node"),
            *("delta", "light_heavy", "num_seeds", "num_targets", "best", "overflow", "sweeps", "buckets"),
            *("changed_min", "changed_max", "waiting_min", "waiting_max", "waiting_distance"),
            *("worked_min", "worked_max", "largest"),
        )
    ]
)

# Bytes of shared memory that the list of nodes takes per invocation, and that everything else takes.
_SHARED_PER_INVOCATION = 32
_SHARED_BESIDES = 64


def default_delta(weight: npt.NDArray[np.uint32]) -> int:
    """Return a bucket width for a graph's weights.

    Wide buckets relax some arcs more than once but need fewer sweeps, and on a road network the time goes into the
    number of sweeps; the multiple of the mean weight was measured, see docs/performance.md.
    """
    mean = float(weight.mean()) if len(weight) else 1.0
    return int(min(max(1.0, DELTA_PER_MEAN * mean), UNREACHABLE - 1))


#: Default bucket width in mean arc weights.
DELTA_PER_MEAN = 100.0


class DeltaStep(Resource):
    """The buffers, kernels and loop of one delta_step search at a time on a graph.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    delta : int, optional
        Width of a bucket; by default chosen from the weights.
    light_heavy : int
        1 to relax a bucket's heavy arcs (weight at least delta) once it is stable, 0 for all arcs in one pass.
    workgroup_size : int, optional
        Invocations in a workgroup.
    workgroups : int, optional
        Workgroups of a sweep.
    """

    NAME: ClassVar[str] = "delta_step"
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("delta", 1, UNREACHABLE - 1, None, "width of a bucket, in units of weight"),
        Parameter("light_heavy", 0, 1, 0, "1 to relax a bucket's heavy arcs after its light ones"),
        Parameter("workgroup_size", 1, 1024, None, "invocations in a workgroup"),
        Parameter("workgroups", 1, 65535, None, "workgroups of a sweep"),
    )

    def __init__(
        self,
        graph: DeviceGraph,
        *,
        delta: int | None = None,
        light_heavy: int | None = 0,
        workgroup_size: int | None = None,
        workgroups: int | None = None,
    ) -> None:
        super().__init__(graph)
        device, limits = graph.device, graph.device.limits
        self.delta = delta if delta is not None else default_delta(graph.prepared.arcs[:, 1])
        self.light_heavy = int(light_heavy or 0)
        # A software device pays for every invocation, a GPU idles without them; both were measured.
        software = device.info.kind == "cpu"
        fitting = min(limits.workgroup_size, (limits.shared_memory - _SHARED_BESIDES) // _SHARED_PER_INVOCATION)
        size = workgroup_size or min(32 if software else 256, fitting)
        self._num_nodes = graph.num_nodes
        # More workgroups than tiles would only take tickets.
        tiles = max(1, -(-self._num_nodes // (32 * size)))
        self._workgroups = min(tiles, workgroups or (4 if software else 256), limits.workgroups)
        try:
            self.distances = Buffer(device, 4 * self._num_nodes, name="the distances", owner=self)
            self._bits = Buffer(device, 8 * -(-self._num_nodes // 32), name="the changed-node bits", owner=self)
            state = Buffer(device, STATE.itemsize, name="the state", owner=self)
            self.terminals = Buffer(device, 16 * MAX_TERMINALS, mapped=True, name="the terminals", owner=self)
            start = Kernel(
                device, "delta_step_start", bindings=3, push_constants=4, workgroup_size=min(64, size), owner=self
            )
            self._begin = start.on(self.distances, state, self.terminals)
            sweep = Kernel(
                device,
                "delta_step",
                bindings=6,
                push_constants=1,
                workgroup_size=size,
                shared_bytes=_SHARED_PER_INVOCATION * size + _SHARED_BESIDES,
                owner=self,
            )
            self._sweep = sweep.on(graph.first_out, graph.arcs, self.distances, self._bits, state, self.terminals)
            self._loop = Loop(device, state, STATE, self._iterate, owner=self)
        except BaseException:
            self.close()
            raise

    def _iterate(self, recording: Recording, times: int) -> None:
        recording.bind(self._sweep)
        recording.push(self._sweep, self._num_nodes)
        for _ in range(times):
            recording.dispatch(self._workgroups)
            recording.barrier()

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = ()) -> Outcome:
        """Find distances; see `Algorithm`."""
        places = np.array([*seeds, *targets], np.uint32).reshape(-1)
        self.terminals.view()[: len(places)] = places

        def begin(recording: Recording) -> None:
            recording.fill(self.distances, UNREACHABLE)
            recording.fill(self._bits, 0)
            recording.barrier("transfer", "compute")
            recording.bind(self._begin)
            recording.push(self._begin, self.delta, self.light_heavy, len(seeds), len(targets))
            recording.dispatch(1)
            recording.barrier()

        state, milliseconds = self._loop.run(begin)
        counters = {"sweeps": int(state["sweeps"]), "buckets": int(state["buckets"])}
        return Outcome(int(state["best"]), bool(state["overflow"]), milliseconds, counters)
