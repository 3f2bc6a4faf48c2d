"""Arcs of shortest-path trees, found on the device from rows of distances there; see `vkssp.cpu.tree_arcs`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vkssp.engine.arrays import of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.shaders import shader_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.resource import Resource

# Largest number of bytes of the arcs of some rows.
_MOST_BYTES = 64 << 20


class DeviceTreeArcs(Resource):
    """Finder of the arcs of the trees of rows of distances.

    Parameters
    ----------
    graph : DeviceGraph
        The graph.
    rows : int
        Number of rows that are asked for at once, at most.
    owner : Resource
        Closes this object.
    distance_type : DistanceType
        Type of the distances.

    Raises
    ------
    DeviceError
        If the device has too little memory; nothing was allocated then.
    """

    def __init__(self, graph: DeviceGraph, rows: int, owner: Resource, distance_type: DistanceType = BITS_32) -> None:
        device, self._num_nodes = graph.device, graph.renumbered.graph.num_nodes
        row_bytes = 4 * max(1, self._num_nodes)
        self._most_rows = max(1, min(rows, min(_MOST_BYTES, device.limits.buffer) // row_bytes))
        of_graph = graph.missing("by head", 8 * self._num_nodes + 12 * graph.renumbered.num_arcs)
        device.require(row_bytes * self._most_rows + of_graph, "the arcs of trees in this graph")
        super().__init__(owner)
        self._device = device
        try:
            self._graph = graph.by_head()
            pieces = self._graph[0]
            self._num_pieces = pieces.nbytes // 8 - 1
            # So that the indices of pieces fit into 32 bits.
            self._most_rows = max(1, min(self._most_rows, 2**31 // max(1, self._num_pieces)))
            self._into = Buffer(device, row_bytes * self._most_rows, name="the arcs of trees", owner=self, shared=True)
            self._download = Download(device, row_bytes * self._most_rows, self)
            shader, constants = of_arrays(device, shader_of("tree_arcs", distance_type), self._graph)
            self._kernel = Kernel(
                device,
                shader,
                bindings=5,
                push_constants=4,
                workgroup_size=min(device.tuned["flat.workgroup_size"], device.limits.workgroup_size),
                constants=constants,
                owner=self,
            )
            self._bound: dict[int, Bindings] = {}
            # Made last and so closed first: submissions must end before their buffers are freed.
            self._recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise

    def find(self, distances: Buffer, spans: Sequence[tuple[int, int]]) -> Uint32s:
        """Return the arcs that `vkssp.cpu.tree_arcs.CpuTreeArcs.finish` takes.

        Parameters
        ----------
        distances : Buffer
            Rows of distances of the caller's nodes, which the device has finished writing.
        spans : sequence of (int, int)
            First row and end of the rows that are wanted, one span after the other.

        Returns
        -------
        numpy.ndarray
            Shape (rows, num_nodes), uint32.
        """
        if distances.serial not in self._bound:
            self._bound[distances.serial] = self._kernel.on(distances, *self._graph[:3], self._into)
        bound, most = self._bound[distances.serial], self._most_rows
        found = [
            self._some(bound, first, min(most, end - first))
            for begin, end in spans
            for first in range(begin, end, most)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _some(self, bound: Bindings, first: int, rows: int) -> Uint32s:
        recording, nbytes = self._recording, 4 * self._num_nodes * rows
        # An idle invocation costs a software device as much as a busy one.
        each = self._device.tuned["flat.items"]
        with recording.record():
            recording.barrier("all", "all")
            recording.fill(self._into, UNREACHABLE, max(4, nbytes))
            recording.barrier("transfer", "compute")
            recording.bind(bound)
            recording.push(bound, self._num_nodes, self._num_pieces, first, rows)
            recording.dispatch_for(bound, self._num_pieces * rows, each)
            recording.barrier("all", "all")
        recording.submit()
        recording.wait()
        return self._download.read(self._into, [(0, nbytes)]).view(np.uint32).reshape(rows, self._num_nodes)
