"""Voronoi cells of a network on the device: the nearest source of each node.

Distances alone decide. An arc (u, v) with dist[u] + weight = dist[v] is the end of a shortest path, and a node belongs
to each source from which a path of such arcs leads to the node. If it belongs to several sources, it gets the least
label. So the labels depend neither on the algorithm that found the distances nor on the device. Hooking each node to
one of its predecessors makes a forest. Pointer jumping hands labels down the forest, in as many passes as the depth has
binary digits. While two paths that meet have different labels, the node is hooked to the path with the lesser label,
and labels are handed down again.

M. Erwig, "The graph Voronoi diagram with applications", Networks 36, 2000; hooking and jumping: Y. Shiloach,
U. Vishkin, "An O(log n) parallel connectivity algorithm", Journal of Algorithms 3, 1982.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.engine.arrays import MOST_ARCS, Array, of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.shaders import shader_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.resource import Resource

#: Same layout as VoronoiState in shaders/include/voronoi_state.glsl.
STATE = np.dtype([("changed", np.uint32), ("moves", np.uint32, 33)])
#: Arcs of an invocation, as in shaders/engine/voronoi_hook.comp.
ARCS_EACH = 8
# For a node: label, parent in the forest, and pointers before and after a jump. For a seed: node, offset and label.
_BYTES_PER_NODE, _WORDS_PER_SEED = 16, 3


class DeviceVoronoi(Resource):
    """Finder of the labels of all nodes, given the distances of an algorithm's last search.

    Parameters
    ----------
    graph : DeviceGraph
        Graph of the distances.
    distances : Buffer
        Distances of all nodes, found by an algorithm.
    most_seeds : int
        Maximum number of seeds of a search.
    owner : Resource
        The algorithm; closing it closes this object.
    distance_type : DistanceType
        Type of the distances.

    Raises
    ------
    DeviceError
        If the device has too little memory; nothing was allocated then.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        distances: Buffer,
        most_seeds: int,
        owner: Resource,
        distance_type: DistanceType = BITS_32,
    ) -> None:
        device, count, num_arcs = graph.device, graph.num_nodes, graph.renumbered.num_arcs
        of_graph = graph.missing("first_out", 4 * (count + 1)) + graph.missing("arcs", 8 * graph.renumbered.num_arcs)
        of_seeds = _WORDS_PER_SEED * distance_type.nbytes * most_seeds
        device.require(_BYTES_PER_NODE * count + of_seeds + of_graph, "finding nearest sources in this graph")
        first_out, arcs = graph.first_out, graph.arcs
        super().__init__(owner)
        self.most_seeds, self._num_nodes, self._dtype = most_seeds, count, distance_type.dtype
        try:
            self._seeds = Buffer(device, of_seeds, mapped=True, name="the labelled seeds", owner=self)
            names = ("the labels", "the forest", "the pointers before a jump", "the pointers after a jump")
            buffers = [Buffer(device, 4 * count, name=name, owner=self) for name in names]
            self._labels, self._parents, *pointers = buffers
            name = "the state of the labels"
            self._state = Buffer(device, STATE.itemsize, name=name, owner=self)
            self._mapped = Buffer(device, STATE.itemsize, mapped=True, name=f"a copy of {name}", owner=self)
            size = min(device.tuned["flat.workgroup_size"], device.limits.workgroup_size)

            def kernel(name: str, *bound: Array, push_constants: int) -> Bindings:
                shader, constants = of_arrays(device, name, bound)
                made = Kernel(
                    device,
                    shader,
                    bindings=len(bound),
                    push_constants=push_constants,
                    workgroup_size=size,
                    constants=constants,
                    shared_bytes=16,
                    owner=self,
                )
                return made.on(*bound)

            labels, parents, state = self._labels, self._parents, self._state
            self._begin = kernel(
                shader_of("voronoi_begin", distance_type), distances, self._seeds, labels, push_constants=1
            )
            hook = shader_of("voronoi_hook", distance_type)
            self._hook = kernel(hook, first_out, arcs, distances, labels, parents, state, push_constants=3)
            # The first pass reads the forest and does not change it; the other passes alternate between two buffers.
            first = kernel("voronoi_jump", parents, pointers[0], labels, state, push_constants=2)
            turns = [first.kernel.on(pointers[i], pointers[1 - i], labels, state) for i in (0, 1)]
            passes = max(1, count).bit_length() + 1
            self._jumps = [first, *(turns[number % 2] for number in range(passes - 1))]
            self._nodes_each = device.tuned["flat.items"]
            # So that the sum of an arc and the arcs of all invocations fits into 32 bits.
            each = ARCS_EACH * size
            self._arc_groups = min(max(1, -(-num_arcs // each)), (2**32 - MOST_ARCS) // each, device.limits.workgroups)
            self._num_arcs = num_arcs
            # Made last and so closed first: submissions must end before their buffers are freed.
            self._first, self._again = Recording(device, owner=self), Recording(device, owner=self)
            with self._again.record() as recording:
                self._record_round(recording)
        except BaseException:
            self.close()
            raise

    def _record_round(self, recording: Recording) -> None:
        """Record a round: hand labels down the forest, then hook nodes to predecessors with lesser labels."""
        recording.barrier("all", "all")
        recording.fill(self._state, 0)
        recording.barrier("transfer", "compute")
        for number, jump in enumerate(self._jumps):
            recording.bind(jump)
            recording.push(jump, self._num_nodes, number)
            recording.dispatch_for(jump, self._num_nodes, self._nodes_each)
            recording.barrier()
        self._record_hook(recording, is_first=False)
        recording.barrier("compute", "transfer")
        recording.copy(self._state, self._mapped, STATE.itemsize)
        recording.barrier("transfer", "host")

    def _record_hook(self, recording: Recording, *, is_first: bool) -> None:
        recording.bind(self._hook)
        recording.push(self._hook, self._num_nodes, self._num_arcs, int(is_first))
        recording.dispatch(self._arc_groups)

    def find(self, seeds: npt.NDArray[Any]) -> Uint32s:
        """Return the label of each node after a search from some seeds that found all distances.

        Parameters
        ----------
        seeds : numpy.ndarray
            Node, offset and label of each, shape (k, 3), of the type of distances; no node twice.

        Returns
        -------
        numpy.ndarray
            Least label of the nearest seeds of each node, 2**32 - 1 for unreachable nodes; shape (num_nodes,), uint32,
            by the ids of the renumbered graph.
        """
        self._seeds.view(self._dtype)[: seeds.size] = seeds.reshape(-1)
        with self._first.record() as recording:
            recording.barrier("all", "all")
            for buffer in (self._labels, self._parents):
                recording.fill(buffer, UNREACHABLE)
            recording.barrier("transfer", "compute")
            recording.bind(self._begin)
            recording.push(self._begin, len(seeds))
            recording.dispatch_for(self._begin, self.most_seeds)
            recording.barrier()
            self._record_hook(recording, is_first=True)
            self._record_round(recording)
        running = self._first
        while True:
            running.submit()
            running.wait()
            if not self._mapped.view(STATE)[0]["changed"]:
                return self._labels.read(np.uint32, self._num_nodes)
            running = self._again
