"""Walks a shortest path back on the device, so that a route does not cost a download of all distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.gpu.resource import Resource
from vkssp.solvers.graph import DeviceGraph

#: The twin of the block Path in shaders/path.comp, without the arcs that follow it.
HEADER = np.dtype([(name, np.uint32) for name in ("started", "done", "node", "target", "seed", "length")])
# Steps of one dispatch: some milliseconds at most, so that no watchdog takes the device away.
_STEPS = 8192


class PathWalker(Resource):
    """Reads paths off the distances of an algorithm's last search.

    Parameters
    ----------
    graph : DeviceGraph
        The graph that the algorithm works on.
    distances, terminals : Buffer
        Those of an algorithm, whose last search is walked along.
    """

    def __init__(self, graph: DeviceGraph, distances: Buffer, terminals: Buffer) -> None:
        device, rows = graph.device, 4 * (graph.num_nodes + 1)
        device.require(rows + graph.missing("incoming", rows + graph.prepared.arcs.nbytes), "a route on this graph")
        first_in, arcs_in, self._arc_in = graph.incoming()
        super().__init__(graph)
        self._num_nodes = graph.num_nodes
        # A shortest path visits no node twice.
        self._path = Buffer(device, HEADER.itemsize + 4 * graph.num_nodes, name="the path", owner=self)
        size = min(64, device.limits.workgroup_size)
        kernel = Kernel(device, "path", bindings=5, push_constants=4, workgroup_size=size, owner=self)
        self._walk = kernel.on(first_in, arcs_in, distances, self._path, terminals)
        self._mapped = Buffer(device, HEADER.itemsize, mapped=True, name="the mapped path", owner=self)
        self._recording = Recording(device, owner=self)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path of the last search that had these numbers of seeds and targets, one of them reached.

        Returns
        -------
        seed, target : int
            Which of the seeds and targets it joins.
        arcs : numpy.ndarray
            The caller's ids of its arcs from seed to target, int64.
        """
        recording, begin = self._recording, True
        while True:
            with recording.record():
                recording.barrier("all", "all")
                if begin:
                    recording.fill(self._path, 0)
                    recording.barrier("transfer", "compute")
                recording.bind(self._walk)
                recording.push(self._walk, num_seeds, num_targets, self._num_nodes, _STEPS)
                recording.dispatch(1)
                recording.barrier("compute", "transfer")
                recording.copy(self._path, self._mapped, HEADER.itemsize)
                recording.barrier("transfer", "host")
            recording.submit()
            recording.wait()
            begin = False
            header = self._mapped.view(HEADER)[0]
            if header["done"]:
                break
        if header["done"] != 1:
            raise DeviceError("the distances on the device contradict each other; the driver may be at fault")
        places = self._path.read(np.uint32, int(header["length"]), HEADER.itemsize)[::-1]
        return int(header["seed"]), int(header["target"]), self._arc_in[places]
