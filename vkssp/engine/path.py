"""Walk back along a shortest path on the device, so that a route does not need a download of all distances.

A walk arc by arc waits for memory several times for each arc. If no node has many incoming arcs, the walk is faster
with jumps: a kernel finds the parent of all nodes at once, pointer doubling extends the pointers to some dozens of arcs
(J. Wyllie, The complexity of parallel computations, 1979), the walk follows only these pointers, and many invocations
fill in the arcs between.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from vkssp.engine.arrays import of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.shaders import shader_of
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.resource import Resource

#: Same layout as the block Path in shaders/include/path_walk.glsl, without the array of arcs at its end.
HEADER = np.dtype([(name, np.uint32) for name in ("started", "done", "node", "target", "seed", "length")])
# Steps of one dispatch: some milliseconds at most, so that no watchdog resets the device.
STEPS = 8192
#: Arcs that a pointer spans on a GPU and on a software device, which gains nothing from long pointers since memory is
#: equally far from all its cores; and maximum number of arcs into a node for jumps, since one invocation reads them
#: all.
SPAN, SOFTWARE_SPAN, MOST_ARCS = 64, 1, 64


class PathWalker(Resource):
    """Finder of a shortest path from the distances of an algorithm's last search.

    Parameters
    ----------
    graph : DeviceGraph
        Graph of the search.
    distances, terminals : Buffer
        Distances, seeds and targets of the algorithm's last search.
    owner : Resource, optional
        Resource that closes the walker; by default the graph.
    distance_type : DistanceType
        Type of the distances.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        distances: Buffer,
        terminals: Buffer,
        *,
        owner: Resource | None = None,
        distance_type: DistanceType = BITS_32,
    ) -> None:
        device, rows = graph.device, 4 * (graph.num_nodes + 1)
        jumps = int(graph.renumbered.num_arcs_in.max(initial=0)) <= MOST_ARCS
        own = (4 if jumps else 1) * rows + (4 * graph.num_nodes // SPAN if jumps else 0)
        device.require(own + graph.missing("incoming", rows + 8 * graph.renumbered.num_arcs), "a route on this graph")
        self._first_in, self._arcs_in, self._arc_in = graph.incoming()
        super().__init__(owner or graph)
        self._device, self._num_nodes = device, graph.num_nodes
        self._size = min(64, device.limits.workgroup_size)
        # Large enough, since a shortest path visits no node twice.
        self._path = self._buffer("the path", HEADER.itemsize + 4 * graph.num_nodes)
        self._mapped = Buffer(device, HEADER.itemsize + 4, mapped=True, name="the mapped path", owner=self)
        self._jumping = _Jumping(self, distances, terminals, distance_type) if jumps else None
        if not jumps:
            kernel = self.kernel_of_arcs(shader_of("path", distance_type), 5, 4)
            self._walk = kernel.on(self._first_in, self._arcs_in, distances, self._path, terminals)
        # Made last and so closed first: submissions must end before their buffers are freed.
        self._recording = Recording(device, owner=self)

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self._device, nbytes, name=name, owner=self)

    def kernel(
        self, name: str, bindings: int, push_constants: int, constants: Mapping[int, int] | None = None
    ) -> Kernel:
        """Return a kernel owned by the walker."""
        return Kernel(
            self._device,
            name,
            bindings=bindings,
            push_constants=push_constants,
            workgroup_size=self._size,
            constants=constants,
            owner=self,
        )

    def kernel_of_arcs(self, name: str, bindings: int, push_constants: int) -> Kernel:
        """Return a kernel for incoming arcs, in one buffer or several, owned by the walker."""
        shader, constants = of_arrays(self._device, name, [self._arcs_in])
        return self.kernel(shader, bindings, push_constants, constants)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path to the best target of the last search, which must have reached one.

        Parameters
        ----------
        num_seeds, num_targets : int
            Numbers of seeds and targets of the search.

        Returns
        -------
        seed, target : int
            Indices of the seed and the target at the ends of the path.
        arcs : numpy.ndarray
            The caller's ids of the arcs from seed to target, int64.
        """
        recording, begin = self._recording, True
        while True:
            with recording.record():
                recording.barrier("all", "all")
                if begin:
                    recording.fill(self._path, 0, HEADER.itemsize)
                    recording.barrier("transfer", "compute")
                if self._jumping is None:
                    recording.bind(self._walk)
                    recording.push(self._walk, num_seeds, num_targets, self._num_nodes, STEPS)
                    recording.dispatch(1)
                else:
                    self._jumping.record(recording, num_seeds, num_targets, begin)
                recording.barrier("compute", "transfer")
                recording.copy(self._path, self._mapped, HEADER.itemsize)
                if self._jumping is not None:
                    recording.copy(self._jumping.num_arcs, self._mapped, 4, 0, HEADER.itemsize)
                recording.barrier("transfer", "host")
            recording.submit()
            recording.wait()
            begin = False
            words = self._mapped.view()
            header = words[: HEADER.itemsize // 4].view(HEADER)[0]
            if header["done"]:
                break
        if header["done"] != 1:
            raise DeviceError("the distances on the device contradict each other; the driver may be at fault")
        length = int(header["length"]) if self._jumping is None else int(words[HEADER.itemsize // 4])
        places = self._path.read(np.uint32, length, HEADER.itemsize)[::-1]
        return int(header["seed"]), int(header["target"]), self._arc_in[places]


class _Jumping:
    """Buffers and kernels of a walk in jumps.

    Attributes
    ----------
    num_arcs : Buffer
        Number of arcs of the path, valid after the end of the walk.
    """

    def __init__(self, walker: PathWalker, distances: Buffer, terminals: Buffer, distance_type: DistanceType) -> None:
        self._num_nodes = num_nodes = walker._num_nodes
        self._span = SOFTWARE_SPAN if walker._device.info.kind == "cpu" else SPAN
        self._most = num_nodes // self._span + 1
        parent_arc = walker._buffer("the arcs from the parents", 4 * num_nodes)
        self._doublings = self._span.bit_length() - 1
        jumps = [walker._buffer("the jumps", 4 * num_nodes) for _ in range(2 if self._doublings else 1)]
        marks = walker._buffer("the nodes between jumps", 4 * self._most)
        self.num_arcs = walker._buffer("the length of the path", 4)
        parents = walker.kernel_of_arcs(shader_of("path_parents", distance_type), 6, 2)
        stride = walker.kernel(shader_of("path_stride", distance_type), 5, 4)
        double, fill = walker.kernel("path_jump", 2, 1), walker.kernel_of_arcs("path_fill", 5, 1)
        self._parents = parents.on(walker._first_in, walker._arcs_in, distances, parent_arc, jumps[0], terminals)
        self._double = [double.on(jumps[0], jumps[-1]), double.on(jumps[-1], jumps[0])]
        self._stride = stride.on(distances, jumps[self._doublings % 2], marks, walker._path, terminals)
        self._fill = fill.on(walker._arcs_in, parent_arc, marks, walker._path, self.num_arcs)

    def record(self, recording: Recording, num_seeds: int, num_targets: int, begin: bool) -> None:
        """Record some steps of a walk; if the walk does not end, the caller must record more."""
        if begin:
            self._on_all(recording, self._parents, self._num_nodes, num_seeds)
            for number in range(self._doublings):
                self._on_all(recording, self._double[number % 2], self._num_nodes)
        recording.bind(self._stride)
        recording.push(self._stride, num_seeds, num_targets, self._most, STEPS)
        recording.dispatch(1)
        recording.barrier()
        recording.bind(self._fill)
        recording.push(self._fill, self._span)
        recording.dispatch_for(self._fill, self._most)

    def _on_all(self, recording: Recording, kernel: Bindings, *pushed: int) -> None:
        recording.bind(kernel)
        recording.push(kernel, *pushed)
        recording.dispatch_for(kernel, self._num_nodes)
        recording.barrier()
