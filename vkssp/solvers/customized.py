"""A hierarchy on a device, with the weights that follow from a graph's: what sweeps and searches up it work on.

Customization is basic, from below, and then perfect, from above (Dibbelt, Strasser and Wagner, 2014): a dispatch for
all nodes of one height, and one for all of one depth. Then the arcs down that no sweep needs are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.hierarchy import Hierarchy, Indices

#: The twin of Supernode in shaders/include/hierarchy.glsl.
SUPERNODE = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("first_node", "size", "first_ancestor", "num_ancestors", "first_arc"),
            *("depth", "parent", "parent_place", "level"),
        )
    ]
)
#: Shared memory of a search from both ends, which needs the most: for each node on a way to the top, and more.
PAIR_BYTES, PAIR_MORE_BYTES = 16, 64
# Words of a status: whether loops were cut short, and whether a sum did not fit.
STATUS_WORDS = 2
# Invocations of a workgroup of customization, on a GPU and on a software device, and of a node at most; of a dispatch
# where the nodes' lists differ; pairs of ancestors of an invocation of the longest list.
_SIZE, _SOFTWARE_SIZE, _MOST_LANES, _INVOCATIONS, _PAIRS_EACH = 128, 64, 4096, 1 << 18, 4
# Rounds that the loops of an invocation may make on a software device, of the 65 535 after which some end them.
_MOST_ROUNDS = 50_000


def check_loops(device: Device, cut_short: int) -> None:
    """Raise `DeviceError` if a status says that loops were cut short, so that what came of them would be wrong."""
    if cut_short:
        raise DeviceError(
            f"{device.info.name} ends the long loops of phast before their time; use another device, or an algorithm "
            "that runs on the CPU, such as dijkstra"
        )


def bytes_of(hierarchy: Hierarchy, num_arcs: int) -> int:
    """Return the bytes that the hierarchy of a graph of so many arcs takes on a device."""
    outside, length = _lengths(hierarchy)
    triangles = 2 * int((length > 1).sum()) + int((outside > 1).sum())
    of_nodes = 12 * hierarchy.num_nodes + SUPERNODE.itemsize * hierarchy.num_supernodes + 8 * len(hierarchy.ancestor)
    return 12 * hierarchy.num_arcs + 8 * int(outside.sum()) + 4 * triangles + of_nodes + 8 * num_arcs


def height_of(hierarchy: Hierarchy) -> int:
    """Return for how many nodes of a way to the top a search has room, one where there are no nodes."""
    return max(1, hierarchy.tree_height)


def unfit(device: Device, hierarchy: Hierarchy) -> str:
    """Return why a device cannot search in a hierarchy, and the cure; nothing where it can, if memory is free."""
    name, cure = device.info.name, "use another device, or another algorithm, such as near_far"
    most, least = (
        device.limits.buffer,
        8 * max(hierarchy.num_arcs, int((hierarchy.size * hierarchy.num_ancestors).sum())),
    )
    if least > most:
        return f"the arcs of the hierarchy need {least} bytes, {name} binds {most} at most; {cure}"
    height, room = height_of(hierarchy), device.limits.shared_memory
    if (least := PAIR_BYTES * height + PAIR_MORE_BYTES) > room:
        return (
            f"ways in the hierarchy have {height} nodes, for which searches need {least} bytes of shared memory, and "
            f"{name} has {room}; {cure}"
        )
    longest = int(hierarchy.num_ancestors.max(initial=0))
    if device.info.kind == "cpu" and longest > _MOST_ROUNDS:
        return f"a node has {longest} ancestors, too many for the loops of {name}; {cure}"
    return ""


def _lengths(hierarchy: Hierarchy) -> tuple[Indices, Indices]:
    """Return how many ancestors outside its supernode each node has in its list, and how many in all."""
    outside = np.repeat(hierarchy.num_ancestors, hierarchy.size)
    first_node = hierarchy.first_node[:-1].astype(np.int64)
    return outside, outside + np.arange(hierarchy.num_nodes) - np.repeat(first_node, hierarchy.size)


class CustomizedHierarchy(Resource):
    """A hierarchy on a device, customized for a graph's weights.

    Parameters
    ----------
    device : Device
        Where it goes.
    hierarchy : Hierarchy
        The hierarchy of a graph.
    graph : Graph
        That graph.
    owner : Resource
        What closes it.

    Attributes
    ----------
    weights : Buffer
        For each arc its weight up and its weight down.
    rows, arcs : Buffer
        For each position the first of the arcs down to it that sweeps need, and their number; ancestor and weight of
        each.
    supernodes, supernode_of, ancestor_depth : Buffer
        The hierarchy.
    saturated : bool
        Whether a sum of weights did not fit into 32 bits.
    customize_ms : float
        Time on the device of the last customization.

    Raises
    ------
    DeviceError
        If the device's limits do not allow it, before anything is allocated; or if the device ends long loops before
        their time.
    """

    def __init__(self, device: Device, hierarchy: Hierarchy, graph: Graph, owner: Resource) -> None:
        self.device, self.hierarchy = device, hierarchy
        self.saturated, self.customize_ms = False, 0.0
        rows = np.zeros((hierarchy.num_nodes, 2), np.uint32)
        lengths, _ = _lengths(hierarchy)
        rows[:, 0] = np.cumsum(lengths) - lengths
        self._num_down = int(lengths.sum())
        if reason := unfit(device, hierarchy):
            raise DeviceError(reason)
        super().__init__(owner)
        try:
            self._make(graph, rows)
            self.customize(graph)
        except BaseException:
            self.close()
            raise

    def _make(self, graph: Graph, rows: Uint32s) -> None:
        hierarchy, num_arcs = self.hierarchy, self.hierarchy.num_arcs
        supernodes = np.zeros(hierarchy.num_supernodes, SUPERNODE)
        first_node = hierarchy.first_node[:-1].astype(np.int64)
        supernodes["first_node"], supernodes["size"] = first_node, hierarchy.size
        supernodes["first_ancestor"], supernodes["num_ancestors"] = (
            hierarchy.first_ancestor[:-1],
            hierarchy.num_ancestors,
        )
        supernodes["first_arc"], supernodes["depth"] = hierarchy.first_arc[:-1], hierarchy.depth[first_node]
        has_parent = hierarchy.parent >= 0
        parent = hierarchy.supernode[hierarchy.parent[has_parent]]
        supernodes["parent"][has_parent] = parent
        supernodes["parent_place"][has_parent] = hierarchy.parent[has_parent] - first_node[parent]
        supernodes["level"] = np.searchsorted(hierarchy.first_of_level, np.arange(len(supernodes)), "right") - 1
        tail, head = (hierarchy.position[nodes].astype(np.int64) for nodes in (graph.tail, graph.head))
        arc, goes_down = hierarchy.arcs_of(tail, head), tail < head
        place = np.where(arc < 0, UNREACHABLE, 2 * arc + goes_down).astype(np.uint32)
        self.supernodes = self._upload("the supernodes", supernodes.view(np.uint32))
        self.supernode_of = self._upload("the supernode of each node", hierarchy.supernode)
        ancestors = self._upload("the ancestors", hierarchy.ancestor)
        self.ancestor_depth = self._upload("the depths of ancestors", hierarchy.depth[hierarchy.ancestor])
        self.rows = self._upload("the rows of arcs down", rows)
        places = self._upload("the places of weights", place)
        self._given = self._buffer("the weights of the graph", 4 * graph.num_arcs)
        self.weights = self._buffer("the weights of the hierarchy", 8 * num_arcs)
        marks = self._buffer("the marks of arcs", 4 * num_arcs)
        self.arcs = self._buffer("the arcs down", 8 * self._num_down)
        status = self._buffer("the status of customization", 4 * STATUS_WORDS)
        self._status = Buffer(self.device, 4 * STATUS_WORDS, mapped=True, name="the mapped status", owner=self)
        self._timestamps = Timestamps(self.device, 2, owner=self)
        parts = (self.supernodes, self.supernode_of, status, self.weights, ancestors)
        begin = self._kernel("hierarchy_weights", 3, 1).on(self._given, places, self.weights)
        pack = self._kernel("hierarchy_pack", 8, 1).on(*parts, marks, self.rows, self.arcs)
        outside, length = _lengths(hierarchy)
        steps: list[tuple[str, npt.NDArray[np.integer[Any]], npt.NDArray[np.int64], tuple[Buffer, ...]]] = [
            ("hierarchy_lower", hierarchy.height, length, ()),
            ("hierarchy_perfect", hierarchy.depth, length, ()),
            # By the number of their pairs: they do not wait for each other, but all lanes should have as much to do.
            ("hierarchy_prune", np.ceil(np.log2(np.maximum(1, outside))).astype(np.int64), outside, (marks,)),
        ]
        recorded = []
        for name, stage, lengths, others in steps:
            nodes, batches = self._batches(stage, lengths)
            order = self._upload("nodes in the order of customization", nodes)
            kernel = self._kernel(name, 6 + len(others), 3).on(*parts, order, *others)
            recorded.append((kernel, batches))
        self._recording = Recording(self.device, owner=self)
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(self.weights, UNREACHABLE)
            recording.fill(marks, 0)
            recording.fill(status, 0)
            recording.barrier("transfer", "compute")
            recording.bind(begin)
            recording.push(begin, graph.num_arcs)
            recording.dispatch(self._groups(graph.num_arcs))
            recording.barrier()
            for kernel, batches in recorded:
                recording.bind(kernel)
                for first, end, lanes in batches:
                    recording.push(kernel, first, end, lanes)
                    recording.dispatch(self._groups((end - first) * lanes))
                    recording.barrier()
            recording.bind(pack)
            recording.push(pack, hierarchy.num_nodes)
            recording.dispatch(self._groups(hierarchy.num_nodes))
            recording.timestamp(self._timestamps, 1)
            recording.barrier("compute", "transfer")
            recording.copy(status, self._status, 4 * STATUS_WORDS)
            recording.barrier("all", "all")

    def _batches(
        self, stage: npt.NDArray[np.integer[Any]], length: npt.NDArray[np.int64]
    ) -> tuple[Uint32s, list[tuple[int, int, int]]]:
        """Return nodes stage by stage, without those whose lists have no pairs; bounds and lanes of each stage."""
        nodes = np.flatnonzero(length > 1)
        nodes = nodes[np.argsort(stage[nodes], kind="stable")]
        if not len(nodes):
            return np.zeros(1, np.uint32), []
        bounds = np.concatenate([[0], np.flatnonzero(np.diff(stage[nodes])) + 1, [len(nodes)]])
        pairs = length[nodes] * (length[nodes] - 1) // 2
        mean = np.add.reduceat(pairs, bounds[:-1]) / np.diff(bounds)
        most = np.maximum.reduceat(pairs, bounds[:-1])
        # As many as the longest list has work for, unless that leaves too many idle.
        wanted = np.maximum(mean, np.minimum(most / _PAIRS_EACH, _INVOCATIONS / np.diff(bounds)))
        if self._is_software:
            # Which gains nothing from lanes, but ends loops after some rounds: a triangle takes a search in a list.
            wanted = most * 32 / _MOST_ROUNDS
        lanes = 2 ** np.ceil(np.log2(np.clip(wanted, 1, _MOST_LANES))).astype(np.int64)
        return nodes.astype(np.uint32), list(
            zip(bounds[:-1].tolist(), bounds[1:].tolist(), lanes.tolist(), strict=True)
        )

    @property
    def _is_software(self) -> bool:
        return self.device.info.kind == "cpu"

    @property
    def _workgroup(self) -> int:
        size = min(_SOFTWARE_SIZE if self._is_software else _SIZE, self.device.limits.workgroup_size)
        return 1 << size.bit_length() - 1

    def _groups(self, items: int) -> int:
        return min(max(1, -(-items // self._workgroup)), self.device.limits.workgroups)

    def _kernel(self, name: str, bindings: int, push_constants: int) -> Kernel:
        return Kernel(
            self.device,
            name,
            bindings=bindings,
            push_constants=push_constants,
            workgroup_size=self._workgroup,
            owner=self,
        )

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)

    def _upload(self, name: str, values: npt.NDArray[np.uint32]) -> Buffer:
        buffer = self._buffer(name, values.nbytes)
        if values.nbytes:
            buffer.write(values)
        return buffer

    def customize(self, graph: Graph) -> None:
        """Take the weights of a graph, which has the arcs that this was made for.

        Raises
        ------
        DeviceError
            If the device is lost, or ends long loops before their time; until it succeeds nothing may be searched.
        """
        if graph.num_arcs:
            self._given.write(graph.weight)
        self._recording.submit()
        self._recording.wait()
        cut_short, overflow = self._status.view().tolist()
        check_loops(self.device, cut_short)
        self.saturated = bool(overflow)
        self.customize_ms = self._timestamps.read(1) - self._timestamps.read(0)

    def down(self) -> tuple[Uint32s, Uint32s]:
        """Return the rows and the arcs down, as they are on the device, shape (num_nodes, 2) and (k, 2), uint32."""
        return self.rows.read().reshape(-1, 2), self.arcs.read(np.uint32, 2 * self._num_down).reshape(-1, 2)
