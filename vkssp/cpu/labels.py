"""Labels on the CPU: for each node the distances to and from all of its ancestors, made anew for new weights.

Each is made of those of the nodes above, by all cores in subtrees of the elimination tree. Where no sum of two finite
ones can pass 32 bits, nor one on the way to them, pairs are found by labels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.cpu.customized import CustomizedHierarchy, customized_of
from vkssp.cpu.device import LABELS, CpuGraph, read_only
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.hierarchy.labels import MOST_MEMORY, UNIT, LabelLayout, Wanted, label_layout_of
from vkssp.jit import kernels
from vkssp.locks import ReentrantLock

#: Pairs for each node after which labels pay, for the first time and for new weights. On one core making the labels of
#: NY takes as long as 11,000 pairs without them, and their layout as long as 25,000.
PAIRS_A_NODE = 0.5, 0.05
#: Fewest pairs of a thread.
FEWEST_PAIRS = 1 << 14
# Pairs whose memory is asked for before any of them is found.
_AT_ONCE = 32


class Labels:
    """Labels of the hierarchy of a graph for its weights, made when they are asked for.

    Attributes
    ----------
    directions : tuple of numpy.ndarray
        Distances of nodes to their ancestors and from them, uint32, in rows; a single array if all weights of the
        hierarchy are the same in both directions, and none until labels are made.
    records : numpy.ndarray
        Record of the row of each node, see `LabelLayout.records`.
    """

    def __init__(self, graph: CpuGraph) -> None:
        hierarchy = graph.renumbered.hierarchy
        assert hierarchy is not None
        self._graph, self._hierarchy, self._lock = graph, hierarchy, ReentrantLock()
        self._wanted = Wanted(hierarchy.num_nodes, *PAIRS_A_NODE)
        self._version, self._made, self._are_sound = 0, -1, False
        self._refused: int | None = -1
        self.directions: tuple[Uint32s, ...] = ()
        self.records: Uint32s = np.empty((0, 4), np.uint32)

    def moved(self, graph: CpuGraph) -> Labels:
        """Return the labels, for a graph that differs in weights and takes the place of the present one."""
        self._graph, self._refused = graph, -1
        self._version += 1
        return self

    @property
    def layout(self) -> LabelLayout:
        """Places of the rows."""
        return label_layout_of(self._hierarchy)

    def pay(self, pairs: int) -> bool:
        """Return whether so many more pairs are found sooner by labels, even if these have to be made."""
        is_current = self._made == self._version and self._are_sound
        return is_current or self._wanted.pays(self._version, pairs, are_allocated=bool(self.directions))

    def ready(self, budget: int | None) -> bool:
        """Make labels unless there are some for the weights, and return whether pairs can be found by them.

        Parameters
        ----------
        budget : int, optional
            Bytes that new arrays may take; by default a part of the memory that is free.
        """
        with self._lock.held():
            if self._made == self._version:
                return self._are_sound
            if self._refused == budget:
                return False
            self._made, customized = -1, customized_of(self._graph)
            if customized.saturated or not self._make_room(customized, budget):
                self._refused = budget
                return False
            farthest = self._make(customized)
            self._are_sound = farthest + max(farthest, customized.heaviest) < UNREACHABLE
            self._made = self._version
            return self._are_sound

    def _make_room(self, customized: CustomizedHierarchy, budget: int | None) -> bool:
        layout, num_arcs = self.layout, customized.layout.num_arcs
        is_symmetric = np.array_equal(customized.up[:num_arcs], customized.down[:num_arcs])
        num_directions = 1 if is_symmetric else 2
        if len(self.directions) == num_directions:
            return True
        self.directions = ()
        words, free = UNIT * layout.units, self._graph.device.free_bytes()
        needed = 4 * words * num_directions + 16 * len(layout.count) + layout.shared.nbytes
        # Records have 32 bits for the first unit of a row.
        are_numbers = 0 < layout.units < 2**32
        if not are_numbers or needed > min(free, MOST_MEMORY * free if budget is None else budget):
            return False
        self.records = read_only(layout.records([len(layout.count)]))
        self.directions = tuple(np.empty(words, np.uint32) for _ in range(num_directions))
        return True

    def _make(self, customized: CustomizedHierarchy) -> int:
        """Make all rows, and return the largest finite distance."""
        kernel, tree = kernels("vkssp.cpu.kernels.labels").make, customized.layout.tree
        layout, (upper, parts) = self.layout, customized.layout.sweep_parts
        places = read_only(layout.first_word), read_only(layout.count)

        def make(order: npt.NDArray[np.int32]) -> int:
            most = np.zeros(8, np.uint32)
            for weights, labels in zip((customized.up, customized.down), self.directions, strict=False):
                kernel(tree, weights, *places, order, labels, most)
            return int(most.max())

        return max(make(upper), *run_all([partial(make, part) for part in parts]), 0)

    def find(self, sources: Uint32s, targets: Uint32s) -> Uint32s:
        """Return the distances of pairs of nodes, by the caller's ids, shape (k,), uint32; `ready` was true."""
        kernel, found = kernels("vkssp.cpu.kernels.labels").find, np.empty(len(sources), np.uint32)
        arrays: tuple[Any, ...] = (
            *(self.records, read_only(self.layout.shared)),
            *(read_only(self.directions[0]), read_only(self.directions[-1])),
            *(read_only(sources), read_only(targets)),
        )
        share = max(FEWEST_PAIRS, -(-len(sources) // (4 * num_cores())))

        def work(begin: int) -> None:
            ends = (nodes[begin : begin + share] for nodes in arrays[4:])
            kernel(*arrays[:4], *ends, np.empty((_AT_ONCE, 3), np.int64), found[begin : begin + share])

        run_all([partial(work, begin) for begin in range(0, len(sources), share)])
        return found


def labels_of(graph: CpuGraph) -> Labels:
    """Return the labels of the hierarchy of a graph, which are made when they are asked for."""
    made: Labels = graph.shared(LABELS, lambda: Labels(graph))
    return made
