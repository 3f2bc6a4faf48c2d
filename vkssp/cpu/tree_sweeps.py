"""Numbering of nodes and arcs for loads that are made right after a sweep over a hierarchy, on the CPU.

The sweep leaves distances in the order of the hierarchy, and arcs are numbered by head; the kernels
(`vkssp.cpu.kernels.tree_sweeps`) need to go from one numbering to the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cpu.device import NUMBERING, CpuGraph, all_read_only
from vkssp.jit import kernels


class TreeNumbering:
    """Numbering of a graph without cycles of weight zero; see `vkssp.cpu.kernels.tree_sweeps.Numbering`.

    It does not depend on weights, and stays when they change.

    Parameters
    ----------
    graph : CpuGraph
        The graph.

    Attributes
    ----------
    numbering : Numbering
        The arrays that kernels take.
    arc : numpy.ndarray
        The caller's id of each arc in the order by head, shape (num_arcs,), int64.
    """

    def __init__(self, graph: CpuGraph) -> None:
        given, by_rank = graph.renumbered.graph, graph.incoming()[2]
        self.arc: npt.NDArray[np.int64] = np.argsort(given.head, kind="stable")
        place = np.empty(given.num_arcs, np.uint32)
        place[self.arc] = np.arange(given.num_arcs, dtype=np.uint32)
        arrays = graph.renumbered.node, place[by_rank], given.tail[self.arc]
        self.numbering: Any = kernels("vkssp.cpu.kernels.tree_sweeps").Numbering(*all_read_only(*arrays))


def tree_numbering(graph: CpuGraph) -> TreeNumbering:
    """Return the numbering of a graph; it is made once for all weights."""
    found: TreeNumbering = graph.shared(NUMBERING, lambda: TreeNumbering(graph))
    return found
