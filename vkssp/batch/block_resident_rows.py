"""Rows of distances from groups of seeds, by batches of block-resident searches, in a graph that may be reduced."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import numpy as np

from vkssp.algorithm import FinishedRows
from vkssp.algorithms.block_resident import default_bucket, missing_bytes
from vkssp.batch.block_resident_batch import BINDINGS, WANTED_BYTES, BlockResidentBatch, LoopLimitError, sizes_of
from vkssp.batch.needs import rows_in
from vkssp.engine.device_algorithm import MOST_GROUPS
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.reduced import ReducedGraph
from vkssp.errors import DeviceError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.blocks import RECORD_BYTES
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Largest part of a device's free memory that searches take; rows on the device for each search.
MOST_MEMORY, ROWS_EACH = 0.5, 2


def most_searches(graph: DeviceGraph, rows: int, wanted: int, parameters: dict[str, int | None]) -> int:
    """Return the largest number of searches at once; less than 2 if rows must be computed one after the other.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    rows, wanted : int
        Number of rows, and number of nodes in each row.
    parameters : mapping of str to int or None
        The parameters of block_resident.
    """
    device, num_nodes = graph.device, max(1, graph.num_nodes)
    limits, (block, _) = device.limits, sizes_of(device, parameters)
    num_blocks = -(-num_nodes // block)
    if BINDINGS > limits.storage_buffers or max(RECORD_BYTES * num_nodes, WANTED_BYTES * wanted) > limits.buffer:
        return 0
    most = min(
        rows,
        # So the indices of their words fit into 32 bits, too.
        limits.buffer // max(4 * num_nodes, 16 * num_blocks, 4 * wanted, 512 * ROWS_EACH),
        device.tuned["blocks.searches"],
    )
    each = 8 * num_nodes + 24 * num_blocks + ROWS_EACH * (4 * wanted + 512) + 1024
    room = MOST_MEMORY * device.free_bytes() - WANTED_BYTES * wanted
    row_bytes = ROWS_EACH * 4 * wanted
    if most < 2 or 2 * each > room:
        return min(most, rows_in(device, room, each, row_bytes))
    searched = _searched(graph)[0]
    for at_most in (True, False):
        fitting = rows_in(device, room - missing_bytes(searched, block, at_most=at_most), each, row_bytes)
        if fitting >= most:
            return most
    return fitting


def _searched(graph: DeviceGraph) -> tuple[DeviceGraph, Uint32s | None]:
    """Return the graph that is searched, and the node there of each node, or None if the nodes are the same."""
    return graph.with_components() if isinstance(graph, ReducedGraph) else (graph, None)


class BlockResidentRows(Resource):
    """Maker of rows of distances from groups of seeds to some nodes, by a `BlockResidentBatch`.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        Number of searches at once, see `most_searches`.
    limit : int
        Distances beyond it count as unreachable.
    parameters : mapping of str to int or None
        The parameters of block_resident.

    Attributes
    ----------
    batch : BlockResidentBatch or None
        The batch; made on first use.
    """

    def __init__(
        self, graph: DeviceGraph, nodes: Uint32s, searches: int, limit: int, parameters: dict[str, int | None]
    ) -> None:
        self.device, self._nodes = graph.device, nodes
        self._searched, self._node = _searched(graph)
        self.batch: BlockResidentBatch | None = None
        self._graph, self._limit, self._parameters = graph, limit, parameters
        self._searches, self._more_groups = searches, 1
        self._ring = min(ROWS_EACH * searches, max(searches, graph.device.limits.buffer // (4 * len(nodes))))
        self._wanted = np.full((len(nodes), 5), UNREACHABLE, np.uint32)
        self._wanted[:, 0] = nodes
        measured = graph.renumbered
        if self._node is not None:
            assert isinstance(graph, ReducedGraph)
            # The buckets follow from the weights of the core alone, as long as those of the graph that is searched; of
            # rings and ladders one node is left, without any.
            if graph.reduction.core.num_arcs:
                measured = graph.core_of_reduction
            is_removed = graph.reduction.component[nodes] != UNREACHABLE
            self._wanted[is_removed, 1:] = graph.reduction.records[nodes[is_removed]]
            self._wanted[:, 0] = self._node[nodes]
        bucket, narrower = default_bucket(measured, graph.device), graph.device.tuned["blocks.narrower"]
        self._delta = parameters["delta"] or max(1, bucket // narrower)
        super().__init__(graph)

    def suits(self, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None) -> bool:
        """Return whether this makes rows of the given nodes, so many at once, up to the given limit."""
        is_same = limit == self._limit and searches <= self._searches and np.array_equal(nodes, self._nodes)
        return is_same and not self.closed

    def rows(self, groups: Groups) -> Generator[FinishedRows, None, None]:
        """Compute rows of distances, see `BlockResidentBatch.rows`.

        If the overflow of a row is set, only a separate search tells whether it matters.

        Raises
        ------
        DeviceError
            If the device is lost, does not answer, or ends long loops early with any number of workgroups.
        """
        node, saturated = self._node, isinstance(self._graph, ReducedGraph) and self._graph.reduction.saturated
        if node is not None:
            groups = groups.moved(node)
        taken = 0
        while taken < len(groups):
            try:
                # If this generator is closed early, the batch ends its submitted work first.
                with closing(self._current().rows(groups.since(taken))) as made:
                    for finished in made:
                        finished.overflow[:] |= saturated
                        yield finished
                        taken += len(finished.overflow)
            except LoopLimitError:
                if self._parameters["workgroups"] or self._more_groups > MOST_GROUPS:
                    raise DeviceError(
                        f"{self._graph.device.info.name} ends the long loops of block_resident before their time; set "
                        "more workgroups, or choose another device, or an algorithm on the CPU, such as dijkstra"
                    ) from None
                self._more_groups *= 8
                self._current().close()

    def _current(self) -> BlockResidentBatch:
        if self.batch is None or not self.batch.is_current:
            self.batch = BlockResidentBatch(
                self._searched,
                self._wanted,
                self._searches,
                self._ring,
                self._limit,
                self._delta,
                self._parameters,
                self._more_groups,
            )
        return self.batch

    def _release(self) -> None:
        if self.batch is not None:
            self.batch.close()
