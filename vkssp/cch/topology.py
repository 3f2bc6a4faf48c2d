"""What of a hierarchy on a device depends on no weights: there once, for all graphs that differ in their weights alone.

Several metrics on one road network, such as the times of cars and of lorries, have the same nodes, arcs and hierarchy.
The first graph that is searched puts these on the device, the last one that goes takes them along.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import within
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

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
#: Rounds that the loops of an invocation may make on a software device, of the 65 535 after which some end them.
MOST_ROUNDS = 50_000
# Invocations of a node at most; of a dispatch where the nodes' lists differ; pairs of ancestors of an invocation of the
# longest list.
_MOST_LANES, _INVOCATIONS, _PAIRS_EACH = 4096, 1 << 18, 4

Batches = list[tuple[int, int, int]]


def lengths_of(hierarchy: Hierarchy) -> tuple[Indices, Indices]:
    """Return how many ancestors outside its supernode each node has in its list, and how many in all."""
    outside = np.repeat(hierarchy.num_ancestors, hierarchy.size)
    first_node = hierarchy.first_node[:-1].astype(np.int64)
    return outside, outside + np.arange(hierarchy.num_nodes) - np.repeat(first_node, hierarchy.size)


def below_of(hierarchy: Hierarchy) -> Uint32s:
    """Return where the supernodes below each position begin, and then these, each with its place in their list."""
    by_ancestor = np.argsort(hierarchy.ancestor, kind="stable")
    count = np.bincount(hierarchy.ancestor, minlength=hierarchy.num_nodes)
    group = np.repeat(np.arange(hierarchy.num_supernodes), hierarchy.num_ancestors)
    pairs = np.stack([group[by_ancestor], within(hierarchy.num_ancestors)[by_ancestor]], axis=1)
    return np.concatenate([[0], np.cumsum(count), pairs.reshape(-1)]).astype(np.uint32)


class Topology(Resource):
    """A hierarchy on a device, and where the arcs of a graph are in it, whatever they weigh.

    Attributes
    ----------
    holders : set of int
        Who uses it.
    supernodes, supernode_of : Buffer
        The supernodes, and that of each position.
    ancestors, ancestor_depth : Buffer
        Positions of the ancestors of all supernodes, and how many nodes lie above each.
    places : Buffer
        For each arc of the graph the place of its weight among those of the hierarchy, 2**32 - 1 where it has none.
    orders : dict of str to tuple
        For each kernel of customization that goes from node to node a buffer with these in its order, and the bounds
        and the invocations of each of its dispatches.
    """

    supernodes: Buffer
    supernode_of: Buffer
    ancestors: Buffer
    ancestor_depth: Buffer
    places: Buffer

    def __init__(self, owner: Topologies, hierarchy: Hierarchy, graph: Graph) -> None:
        self.device, self.hierarchy = owner.device, hierarchy
        self.holders: set[int] = set()
        self.orders: dict[str, tuple[Buffer, Batches]] = {}
        self._first_out, self._head = graph.first_out, graph.head
        self._lock, self._is_made = threading.Lock(), False
        self._below: Buffer | None = None
        super().__init__(owner)

    def suits(self, hierarchy: Hierarchy, graph: Graph) -> bool:
        """Return whether this is that of a graph, which has this hierarchy."""
        if hierarchy is not self.hierarchy:
            return False
        # Graphs with other weights share them; those that were read twice have equal ones.
        pairs = ((graph.first_out, self._first_out), (graph.head, self._head))
        return all(one is other or np.array_equal(one, other) for one, other in pairs)

    @property
    def payer(self) -> int | None:
        """Who has used it for the longest time, and accounts for its memory."""
        return min(tuple(self.holders), default=None)

    def upload(self, graph: Graph) -> None:
        """Put it on the device, or wait until another thread has; after an error the next one tries again."""
        with self._lock:
            if self._is_made:
                return
            try:
                self._make(graph)
                self._is_made = True
            finally:
                if not self._is_made:
                    for buffer in list(self._owned.values()):
                        buffer.close()

    @property
    def has_below(self) -> bool:
        """Whether what lies below nodes is there."""
        return self._below is not None

    def below(self) -> Buffer:
        """Return what lies below each position, see `below_of`; put there when somebody first asks for it."""
        with self._lock:
            if self._below is None:
                values = below_of(self.hierarchy)
                with contextlib.ExitStack() as stack:
                    made = Buffer(self.device, values.nbytes, name="what lies below nodes", owner=self)
                    stack.callback(made.close)
                    made.write(values)
                    stack.pop_all()
                self._below = made
            return self._below

    def _make(self, graph: Graph) -> None:
        hierarchy = self.hierarchy
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
        self.ancestors = self._upload("the ancestors", hierarchy.ancestor)
        self.ancestor_depth = self._upload("the depths of ancestors", hierarchy.depth[hierarchy.ancestor])
        self.places = self._upload("the places of weights", place)
        outside, length = lengths_of(hierarchy)
        stages: list[tuple[str, npt.NDArray[np.integer[Any]], Indices]] = [
            ("hierarchy_lower", hierarchy.height, length),
            ("hierarchy_perfect", hierarchy.depth, length),
            # By the number of their pairs: they do not wait for each other, but all lanes should have as much to do.
            ("hierarchy_prune", np.ceil(np.log2(np.maximum(1, outside))).astype(np.int64), outside),
        ]
        for name, stage, lengths in stages:
            nodes, batches = self._batches(stage, lengths)
            self.orders[name] = self._upload("nodes in the order of customization", nodes), batches

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
        if self.device.info.kind == "cpu":
            # Which gains nothing from lanes, but ends loops after some rounds: a triangle takes a search in a list.
            wanted = most * 32 / MOST_ROUNDS
        lanes = 2 ** np.ceil(np.log2(np.clip(wanted, 1, _MOST_LANES))).astype(np.int64)
        return nodes.astype(np.uint32), list(
            zip(bounds[:-1].tolist(), bounds[1:].tolist(), lanes.tolist(), strict=True)
        )

    def _upload(self, name: str, values: Uint32s) -> Buffer:
        buffer = Buffer(self.device, values.nbytes, name=name, owner=self)
        if values.nbytes:
            buffer.write(values)
        return buffer


class Topologies(Resource):
    """Those that are on a device, each for as long as somebody holds it."""

    def __init__(self, device: Device) -> None:
        # Older than the graphs that work with them, and so closed after these where the device is closed first.
        super().__init__(device.kept)
        self.device = device
        # Graphs that were forgotten let go while memory is collected: out of `hold`, too, taking the lock again, and
        # while other locks are held, for which a thread may wait that has this one. So whoever lets go never waits.
        self._lock = ReentrantLock()
        self._gone: deque[int] = deque()

    @property
    def all(self) -> list[Topology]:
        """Those that there are."""
        return [part for part in list(self._owned.values()) if isinstance(part, Topology)]

    def _of(self, hierarchy: Hierarchy, graph: Graph) -> Topology | None:
        return next((there for there in self.all if not there.closed and there.suits(hierarchy, graph)), None)

    def missing(self, hierarchy: Hierarchy, graph: Graph) -> int:
        """Return the bytes that a hierarchy and the places of a graph's arcs will take: none where they are there."""
        if self._of(hierarchy, graph) is not None:
            return 0
        outside, length = lengths_of(hierarchy)
        ordered = 2 * int((length > 1).sum()) + int((outside > 1).sum())
        of_nodes = 4 * hierarchy.num_nodes + SUPERNODE.itemsize * hierarchy.num_supernodes + 8 * len(hierarchy.ancestor)
        return of_nodes + 4 * ordered + 4 * graph.num_arcs

    def hold(self, hierarchy: Hierarchy, graph: Graph, holder: int) -> Topology:
        """Return that of a graph, which stays until this holder lets go, also where this fails."""
        _ = self.device.handle  # an error after a fork, where nobody gives back locks that were taken before
        with self._lock.held():
            found = None
            while found is None or found.closed:  # somebody may have let go right after it was found
                found = self._of(hierarchy, graph) or Topology(self, hierarchy, graph)
                found.holders.add(holder)
        self._close_unheld()
        found.upload(graph)
        return found

    def let_go(self, holder: int) -> None:
        """Count one holder less; what nobody holds is closed, by a thread that has the lock."""
        self._gone.append(holder)
        self._close_unheld()

    def _close_unheld(self) -> None:
        # Who has the lock comes here when it is free again, and so does what was added meanwhile.
        while self._gone:
            with self._lock.held_if_free() as is_held:
                if not is_held:
                    return
                with contextlib.suppress(IndexError, ValueError):  # taken while memory was collected
                    holder = self._gone[0]
                    for topology in self.all:
                        if holder in topology.holders:
                            topology.holders.discard(holder)
                            if not topology.holders:
                                topology.close()
                    self._gone.remove(holder)  # last, so that an interrupt leaves it to the next call

    @property
    def memory_bytes(self) -> int:
        """None of its own: what is here is counted where it is held."""
        return 0


def topologies(device: Device) -> Topologies:
    """Return the topologies on a device."""
    found: Topologies | None = device.caches.get("topologies")
    if found is None:
        made = Topologies(device)
        found = device.caches.setdefault("topologies", made)
        if found is not made:
            made.close()
    return found
