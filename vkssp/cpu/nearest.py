"""Several nearest sources of every node of a graph, by one search on the CPU."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.device import all_read_only
from vkssp.cpu.dijkstra import empty_heap
from vkssp.errors import DistanceOverflowError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.jit import kernels
from vkssp.memory import require


def check_room(rows: int, count: int) -> None:
    """Raise `MemoryShortageError` unless there is memory for the numbers of some sources, and distances, of some rows.

    Those that are missing, if there are fewer sources, take as much.
    """
    require(16 * rows * count, f"the {count:,} nearest of each of {rows:,} nodes or places", "ask for fewer")


def nearest_of_all(graph: Graph, seeds: Uint32s, count: int, limit: int = UNREACHABLE) -> tuple[Uint32s, Uint32s]:
    """Return the distances and the numbers of the nearest sources of every node.

    Parameters
    ----------
    graph : Graph
        The graph.
    seeds : numpy.ndarray
        Node, offset and source of each seed, shape (seeds, 3), uint32; a source may have several seeds.
    count : int
        Number of sources for each node.
    limit : int
        Distance beyond which sources do not count; UNREACHABLE for none.

    Returns
    -------
    distance, source : numpy.ndarray
        Shape (num_nodes, count), uint32, in ascending order of distance, and of equal distances of source; 2**32 - 1
        where there are no more sources.

    Raises
    ------
    MemoryShortageError
        If the result does not fit into memory.
    DistanceOverflowError
        If the distance of one of the nearest sources does not fit into 32 bits, and there is no limit.
    """
    n = graph.num_nodes
    require(9 * n * count, f"the {count:,} nearest sources of {n:,} nodes", "ask for fewer")
    module = kernels("vkssp.cpu.kernels.nearest")
    lists = module.Lists(*(np.full((n, count), UNREACHABLE, np.uint32) for _ in range(2)), np.zeros((n, count), "u1"))
    place, heap = np.full(n, UNREACHABLE, np.uint32), empty_heap(n)
    first_out, head, weight, begun = all_read_only(graph.first_out, graph.head, graph.weight, seeds)
    most = np.uint64(min(limit, UNREACHABLE - 1))
    is_beyond = module.find(first_out, head, weight, begun, most, lists, place, heap)
    if is_beyond and limit == UNREACHABLE and module.lacks(first_out, head, lists):
        raise DistanceOverflowError(
            "the distance of a nearest source passes 2**32 - 2, the most that 32 bits hold; divide the weights by a "
            "common factor, or give a limit"
        )
    return lists.distance, lists.source
