"""Rows of distances from many groups of seeds, made by many searches at once, in a graph that may be reduced."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import numpy as np

from vkssp.algorithms.block_resident import default_bucket, missing_bytes
from vkssp.batch.block_resident_batch import BINDINGS, WANTED_BYTES, CutShortError, Finished, ManySearches, sizes_of
from vkssp.engine.device_algorithm import MOST_GROUPS
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.reduced import ReducedGraph
from vkssp.errors import DeviceError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.prepared.blocks import RECORD_BYTES
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Searches at once at most, on a GPU and on a software device, which gains little, and those who wait want to see
#: progress; the part of a device's free memory that they take at most; and rows on the device for each of them.
MOST_SEARCHES, MOST_ON_CPU, MOST_MEMORY, ROWS_EACH = 1024, 8, 0.5, 2
#: How many times narrower buckets are than those of one search, which would have nothing to do in narrow ones.
NARROWER = 6


def most_searches(graph: DeviceGraph, rows: int, wanted: int, parameters: dict[str, int | None]) -> int:
    """Return how many searches there are at once at most; where not even two are, one after the other needs less.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    rows, wanted : int
        How many rows of how many nodes are wanted.
    parameters : mapping of str to int or None
        Those of block_resident.
    """
    device, num_nodes = graph.device, max(1, graph.num_nodes)
    limits, (block, _) = device.limits, sizes_of(device, parameters)
    num_blocks = -(-num_nodes // block)
    if BINDINGS > limits.storage_buffers or max(RECORD_BYTES * num_nodes, WANTED_BYTES * wanted) > limits.buffer:
        return 0
    most = min(
        rows,
        # So that indices of their words fit into 32 bits, too.
        limits.buffer // max(4 * num_nodes, 16 * num_blocks, 4 * wanted, 512 * ROWS_EACH),
        MOST_ON_CPU if device.info.kind == "cpu" else MOST_SEARCHES,
    )
    each = 8 * num_nodes + 24 * num_blocks + ROWS_EACH * (4 * wanted + 512) + 1024
    room = MOST_MEMORY * device.free_bytes() - WANTED_BYTES * wanted
    if most < 2 or 2 * each > room:
        return min(most, max(0, int(room // each)))
    searched = _searched(graph)[0]
    for at_most in (True, False):
        fitting = int((room - missing_bytes(searched, block, at_most=at_most)) // each)
        if fitting >= most:
            return most
    return max(0, fitting)


def _searched(graph: DeviceGraph) -> tuple[DeviceGraph, Uint32s | None]:
    """Return the graph that is searched, and the node there of each node, where these are others."""
    return graph.with_components() if isinstance(graph, ReducedGraph) else (graph, None)


class Batch(Resource):
    """Rows of distances from many groups of seeds to some nodes.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        How many searches there are at once, see `most_searches`.
    limit : int
        Distances beyond it count as unreachable.
    parameters : mapping of str to int or None
        Those of block_resident.

    Attributes
    ----------
    many : ManySearches or None
        The searches, once there are some.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        nodes: Uint32s,
        searches: int,
        limit: int,
        parameters: dict[str, int | None],
    ) -> None:
        self.device, self._nodes = graph.device, nodes
        self._searched, self._node = _searched(graph)
        self.many: ManySearches | None = None
        self._graph, self._limit, self._parameters = graph, limit, parameters
        self._searches, self._more_groups = searches, 1
        self._ring = min(ROWS_EACH * searches, max(searches, graph.device.limits.buffer // (4 * len(nodes))))
        self._wanted = np.full((len(nodes), 5), UNREACHABLE, np.uint32)
        self._wanted[:, 0] = nodes
        measured = graph
        if self._node is not None:
            assert isinstance(graph, ReducedGraph)
            # What lies around a core is no measure for its buckets.
            measured = graph.core
            is_removed = graph.reduction.component[nodes] != UNREACHABLE
            self._wanted[is_removed, 1:] = graph.reduction.records[nodes[is_removed]]
            self._wanted[:, 0] = self._node[nodes]
        self._delta = parameters["delta"] or max(1, default_bucket(measured.renumbered) // NARROWER)
        super().__init__(graph)

    def suits(self, nodes: Uint32s, searches: int, limit: int) -> bool:
        """Return whether this makes rows of some nodes, so many at once, up to some distance."""
        is_same = limit == self._limit and searches <= self._searches and np.array_equal(nodes, self._nodes)
        return is_same and not self.closed

    @property
    def held_bytes(self) -> int:
        """Bytes that are held for this, by the searches."""
        return 0 if self.many is None else self.many.memory_bytes

    def rows(self, groups: Groups) -> Generator[Finished, None, None]:
        """Make rows of distances, see `ManySearches.rows`.

        Where a row's overflow is set, one search at a time has to find out whether it matters.
        """
        node, saturated = self._node, isinstance(self._graph, ReducedGraph) and self._graph.reduction.saturated
        if node is not None:
            groups = groups.moved(node)
        taken = 0
        while taken < len(groups):
            try:
                # Given up on the way, they end what they began before this generator does.
                with closing(self._current().rows(groups.since(taken))) as made:
                    for finished in made:
                        finished.overflow[:] |= saturated
                        yield finished
                        taken += len(finished.overflow)
            except CutShortError:
                if self._parameters["workgroups"] or self._more_groups > MOST_GROUPS:
                    raise DeviceError(
                        f"{self._graph.device.info.name} ends the long loops of block_resident before their time; set "
                        "more workgroups, or choose another device, or an algorithm on the CPU, such as dijkstra"
                    ) from None
                self._more_groups *= 8
                self._current().close()

    def _current(self) -> ManySearches:
        if self.many is None or not self.many.is_current:
            self.many = ManySearches(
                self._searched,
                self._wanted,
                self._searches,
                self._ring,
                self._limit,
                self._delta,
                self._parameters,
                self._more_groups,
            )
        return self.many

    def _release(self) -> None:
        if self.many is not None:
            self.many.close()
