"""Loads of arcs along the shortest-path trees of a batch of searches, made on the device from the tiles of distances.

The arc into each node is the first tight one, as on the paths of all walkers. What goes through a node is handed over
to the node before it once all nodes after it have done so; an invocation follows it from a leaf as long as it is the
last to arrive. Only the loads, summed up over all searches, leave the device.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vkssp.batch.batch_sums import BatchSums
from vkssp.batch.needs import Needs
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.prepared.aggregates import ArcLoads, Int64s
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Storage buffers of a kernel.
BINDINGS = 7
_SEARCHES, _FLOW_WORDS, _IS_UNIFORM = 2, 3, 4  # specialization constants
# Most nodes after a node in a tree, which 15 bits count.
_MOST_AFTER = 1 << 15
# Largest number of bytes of the demand of a batch, and invocations that read it.
_MOST_BYTES, _MOST_READERS = 256 << 20, 1 << 20


def flow_words(aggregate: ArcLoads) -> int:
    """Return the number of words of what goes through a node of a tree."""
    return 1 if aggregate.most < 2**32 else 2


def load_needs(graph: DeviceGraph, aggregate: ArcLoads) -> Needs:
    """Return the sizes of the buffers of `TreeLoads`."""
    num_nodes, flow, sums = graph.num_nodes, flow_words(aggregate), 8 * graph.renumbered.num_arcs
    # For each search the state of each node, the arc into it, and what goes through it; and the demand.
    entries = () if aggregate.is_uniform else (4 * (2 + (1 + flow) * max(1, aggregate.most_entries)),) * 2
    each = 4 * num_nodes, 4 * num_nodes, 4 * flow * num_nodes, *entries
    return Needs(each, (sums, sums, 4 * num_nodes), read_bytes=sums)


def most_searches(aggregate: ArcLoads) -> int:
    """Return the largest number of searches whose demand is taken at once."""
    return _MOST_BYTES // (4 * (1 + flow_words(aggregate)) * max(1, aggregate.most_entries))


def can_load(graph: DeviceGraph) -> bool:
    """Return whether the loads of a graph can be made on its device."""
    renumbered = graph.renumbered
    if renumbered.contracted or graph.device.limits.storage_buffers < BINDINGS:
        return False
    if 8 * renumbered.num_arcs > graph.device.limits.buffer:  # its kernels need all incoming arcs in one buffer
        return False
    return int(np.diff(renumbered.first_out.astype(np.int64)).max(initial=0)) < _MOST_AFTER


class TreeLoads(BatchSums):
    """Kernels and buffers that make the loads of a batch of searches.

    Parameters
    ----------
    graph : DeviceGraph
        The graph.
    aggregate : ArcLoads
        What is asked for.
    tiles : Buffer
        The tiles of distances.
    overflow : Buffer
        Whether sums of each search did not fit into 32 bits.
    is_limited : bool
        Whether such searches count, too, since there is a limit.
    num_rows, tile, num_tiles, searches : int
        Rows of a tile, its searches, the number of tiles, and of searches.
    seeds, finished : list of Buffer
        Buffers for the seeds and for the results of searches, used in turn.
    owner : Resource
        Closes this object.
    """

    WIDTH: ClassVar[int] = 2

    def __init__(
        self,
        graph: DeviceGraph,
        aggregate: ArcLoads,
        tiles: Buffer,
        overflow: Buffer,
        is_limited: bool,
        num_rows: int,
        tile: int,
        num_tiles: int,
        searches: int,
        seeds: list[Buffer],
        finished: list[Buffer],
        owner: Resource,
    ) -> None:
        first_in, arcs_in, self._arc = graph.incoming()
        super().__init__(graph.device, len(self._arc), owner)
        self._aggregate, self._is_limited, self._num_arcs = aggregate, is_limited, graph.renumbered.graph.num_arcs
        self._num_rows, self._tile, self._searches = num_rows, tile, searches
        self._rank = graph.renumbered.node
        words = num_rows * tile * num_tiles
        self._state = self._buffer("the states of nodes", 4 * words)
        arcs_into = self._buffer("the arcs into nodes", 4 * words)
        flows = self._buffer("what goes through nodes", 4 * flow_words(aggregate) * words)
        self._finished = finished
        self._entries: list[Buffer] = []
        self._room = searches * max(1, aggregate.most_entries)
        if not aggregate.is_uniform:
            nbytes = 4 * (searches + 1 + (1 + flow_words(aggregate)) * self._room)
            ranks = self._buffer("the ranks of nodes", self._rank.nbytes)
            ranks.write(self._rank)
            self._entries = [Buffer(self.device, nbytes, mapped=True, name="the demand", owner=self) for _ in range(2)]
        self._roots = [self._kernel("tree_roots", 3, 1).on(tiles, one, self._state) for one in seeds]
        parents = self._kernel("tree_parents", 7, 4, {_IS_UNIFORM: int(aggregate.is_uniform)})
        self._parents = parents.on(tiles, first_in, arcs_in, self._state, arcs_into, flows, overflow)
        self._demands = []
        if self._entries:
            demand = self._kernel("tree_demand", 5, 4)
            self._demands = [
                demand.on(tiles, entries, ranks, flows, one)
                for entries, one in zip(self._entries, finished, strict=True)
            ]
        # Mesa's llvmpipe takes memory barriers for barriers of a workgroup, at which all its subgroups have to arrive.
        is_cpu = self.device.info.kind == "cpu"
        size = min(self._size, self.device.limits.subgroup_size) if is_cpu else self._size
        self._push = self._kernel("tree_push", 4, 2, size=size).on(arcs_into, arcs_in, self._state, flows)
        sums = self._kernel("tree_sums", 5, 3)
        self._adds = [[sums.on(arcs_into, self._state, flows, loads, one) for loads in self._sums] for one in finished]

    def _kernel(
        self, name: str, bindings: int, pushed: int, constants: dict[int, int] | None = None, size: int | None = None
    ) -> Kernel:
        given = {_SEARCHES: self._tile, _FLOW_WORDS: flow_words(self._aggregate), **(constants or {})}
        return Kernel(
            self.device,
            name,
            bindings=bindings,
            push_constants=pushed,
            workgroup_size=size or self._size,
            constants=given,
            owner=self,
        )

    def put(self, groups: Groups, parity: int) -> None:
        """Write the demand of some groups where the device reads it."""
        demand = groups.demand
        if demand is None:
            return
        begin, end = int(demand.first[0]), int(demand.first[-1])
        entries, amount = self._entries[parity].view(), demand.amount[begin:end].view(np.uint32)
        entries[: len(groups) + 1] = demand.first - begin
        entries[len(groups) + 1 : self._searches + 1] = end - begin
        nodes, lows, highs = (entries[self._searches + 1 + part * self._room :] for part in range(3))
        nodes[: end - begin] = demand.node[begin:end]
        lows[: end - begin] = amount[::2]
        if flow_words(self._aggregate) > 1:
            highs[: end - begin] = amount[1::2]

    def _record(self, recording: Recording, parity: int, sums: int, num_tiles: int, searches: int) -> None:
        num_rows, limit = self._num_rows, self._aggregate.limit
        recording.fill(self._state, 0, 4 * num_rows * self._tile * num_tiles)
        recording.fill(self._finished[parity], 0)
        recording.barrier("all", "compute")
        self._run(recording, self._roots[parity], searches, num_rows)
        words = num_rows * num_tiles * self._tile
        self._run(recording, self._parents, words // 4, num_rows, num_tiles, limit, int(self._is_limited))
        if self._demands:
            readers = min(self._room, _MOST_READERS)
            self._run(recording, self._demands[parity], readers, num_rows, limit, self._searches, self._room)
        self._run(recording, self._push, words, num_rows, num_tiles)
        by_quads = num_rows * self._tile // 4
        self._run(recording, self._adds[parity][sums], by_quads, num_rows, num_tiles, searches)

    def _sorted(self, found: Int64s) -> Int64s:
        loads = np.zeros(self._num_arcs, np.int64)
        loads[self._arc] = found
        return loads
