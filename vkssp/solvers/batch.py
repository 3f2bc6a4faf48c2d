"""Many searches at once: the blocks of all of them share the dispatches of one, and fill a GPU that one leaves idle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.reduction.inside import Inside
from vkssp.solvers.base import Outcome, Terminal
from vkssp.solvers.block_resident import BlockResident
from vkssp.solvers.gather import Gather
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.reduced import ReducedGraph

#: Searches of a batch at most, on a GPU and on a software device, which gains little, and those who wait want to see
#: progress; and the part of the free memory of a device that they take at most.
MOST_SEARCHES, MOST_ON_CPU, MOST_MEMORY = 256, 8, 0.5
#: Distances of a batch that are on the host at a time.
MOST_DISTANCES = 1 << 25


def most_searches(graph: DeviceGraph, rows: int, wanted: int, block: int | None) -> int:
    """Return how many searches there are at once, where so many rows of so many nodes are wanted; none may fit."""
    device, num_nodes = graph.device, max(1, graph.num_nodes)
    if isinstance(graph, ReducedGraph):
        # Of each node the distances of two core nodes.
        num_nodes, wanted = max(1, graph.core.num_nodes), 2 * wanted
    return min(
        rows,
        int(MOST_MEMORY * device.free_bytes()) // ((8 + 24 // (block or 1024)) * num_nodes + 12 * wanted),
        device.limits.buffer // (4 * max(num_nodes, wanted) * (4 if block and block < 4 else 1)),  # 16 bytes a block
        2**32 // num_nodes,
        MOST_DISTANCES // max(1, wanted),
        MOST_ON_CPU if device.info.kind == "cpu" else MOST_SEARCHES,
    )


class SearchesAtOnce(BlockResident):
    """block_resident for several searches at once; they share thresholds, and end together.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    searches : int
        How many there are at most.
    owner : Resource
        What closes it.
    parameters : mapping of str to int or None
        Those of block_resident.
    """

    def __init__(self, graph: DeviceGraph, searches: int, owner: Resource, parameters: dict[str, int | None]) -> None:
        self._searches = searches
        super().__init__(graph, counting=0, afterwards=None, owner=owner, **parameters)

    def search_all(self, groups: Sequence[Sequence[Terminal]]) -> Outcome:
        """Find the distances of each of some searches from its seeds; without any, nothing is reached."""
        count = self._num_nodes
        return self.search([(i * count + node, offset) for i, seeds in enumerate(groups) for node, offset in seeds])


class Batch(Resource):
    """Rows of distances from many groups of seeds to some nodes, of a graph that may be reduced.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        How many rows are made at once, see `most_searches`.
    parameters : mapping of str to int or None
        Those of block_resident.

    Attributes
    ----------
    searches : int
        How many rows are made at once.
    """

    def __init__(self, graph: DeviceGraph, nodes: Uint32s, searches: int, parameters: dict[str, int | None]) -> None:
        super().__init__(graph)
        self._graph = graph
        self._core = graph.core if isinstance(graph, ReducedGraph) else graph
        gathered = nodes
        if isinstance(graph, ReducedGraph):
            # Of a removed node the distances of the core nodes around it.
            self._records = graph.reduction.records[nodes]
            gathered, place = np.unique(self._records[:, [0, 2]], return_inverse=True)
            self._first, self._second = place.reshape(-1, 2).T
            self._sorted = np.argsort(nodes, kind="stable")
            self._nodes = nodes[self._sorted]
        self.searches = searches
        try:
            self._search = SearchesAtOnce(self._core, self.searches, self, parameters)
            first = np.arange(searches, dtype=np.uint32)[:, None] * np.uint32(self._core.num_nodes)
            places = (first + gathered).reshape(-1)
            self._gather = Gather(graph.device, self._search.distances, places, self)
        except BaseException:
            self.close()
            raise

    @property
    def is_current(self) -> bool:
        """Whether it suits the weights of the graph."""
        return not self.closed and self._search.is_current

    def rows(self, groups: Sequence[Sequence[Terminal]]) -> npt.NDArray[np.uint32] | None:
        """Return distances, a row for each group of seeds, shape (len(groups), k), uint32.

        None where some sum does not fit into 32 bits, so that one search at a time has to find out whether it matters.
        """
        graph = self._graph
        if not isinstance(graph, ReducedGraph):
            overflow, found = self._found(groups)
            return None if overflow else found
        insides = [graph.surroundings.search(seeds) for seeds in groups]
        overflow, found = self._found([list(inside.exits.items()) for inside in insides])
        if overflow or graph.reduction.saturated or any(inside.overflow for inside in insides):
            return None
        # Larger than any sum where no way leads.
        beyond = np.uint64(2**33)
        sides = []
        for place, weight in ((self._first, self._records[:, 1]), (self._second, self._records[:, 3])):
            core = found[:, place]
            leads = (core != UNREACHABLE) & (weight != UNREACHABLE)
            sides.append(np.where(leads, core + weight.astype(np.uint64), beyond))
        rows = np.minimum(*sides)
        for row, inside in zip(rows, insides, strict=True):
            self._lower(row, inside)
        if ((rows >= UNREACHABLE) & (rows < beyond)).any():
            return None
        return np.minimum(rows, UNREACHABLE).astype(np.uint32)

    def _found(self, groups: Sequence[Sequence[Terminal]]) -> tuple[bool, npt.NDArray[np.uint32]]:
        if not any(map(len, groups)):
            return False, np.full((len(groups), self._gather.count // self.searches), UNREACHABLE, np.uint32)
        outcome = self._search.search_all(groups)
        return outcome.overflow, self._gather.read().reshape(self.searches, -1)[: len(groups)]

    def _lower(self, row: npt.NDArray[np.uint64], inside: Inside) -> None:
        """Lower the distances of wanted nodes in the components of the seeds."""
        low = np.searchsorted(self._nodes, inside.nodes)
        high = np.searchsorted(self._nodes, inside.nodes, side="right")
        for begin, end, distance in zip(low, high, inside.distances, strict=True):
            places = self._sorted[begin:end]
            row[places] = np.minimum(row[places], np.uint64(distance))
