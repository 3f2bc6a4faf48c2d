"""Topology of a hierarchy on a device: the part without weights, shared by all graphs that differ only in weights.

Several metrics on one road network, such as the travel times of cars and of lorries, have the same nodes, arcs and
hierarchy. The first graph that is searched uploads them; when the last such graph is closed, they are freed.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch import top as at_top
from vkssp.cch.fronts import (
    MOST_ROUNDS,
    Blocks,
    Front,
    blocks_of,
    blocks_without_chunks,
    chain_size,
    front_of,
    front_words,
    piece_size,
    whole_front_of,
    whole_rounds,
)
from vkssp.cch.pieces import Pieces, most_pieces, pieces_of
from vkssp.engine.arrays import Array, can_split, make_array
from vkssp.gpu.buffer import Buffer, uploaded
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import within
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

Values = npt.NDArray[Any]

#: The twin of Supernode in shaders/include/hierarchy.glsl.
SUPERNODE = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("first_node", "size", "first_ancestor", "num_ancestors", "first_arc"),
            *("depth", "parent", "parent_place", "level", "top"),
        )
    ]
)
# Largest number of invocations of a part; invocations of a dispatch that keep a large GPU busy, and pairs of ancestors
# of each if there are more.
_MOST_LANES, _INVOCATIONS, _PAIRS_EACH = 1 << 18, 1 << 18, 4
#: Binary logarithm of how much more work some parts of a dispatch of perfect customization may have than others.
CLASS_BITS = 1
#: The same for one dispatch for all parts of a step.
ONE_CLASS = 64
#: Parts of a step up to which one dispatch does all, though each part waits for itself. With more of them a GPU is
#: busy, and pairs of ancestors have a dispatch of their own, in which none of them waits.
MOST_NARROW = 150
# Nodes of a part for each invocation of a pair, if few pairs would leave a GPU idle.
_NODES_EACH = 8
#: Invocations of a pair on a software device.
SOFTWARE_SPLITS = 1
# Rounds that a triangle may take: a search in a list, and other loops.
_ROUNDS = 32


class Batch(NamedTuple):
    """Dispatch of customization: bounds in a list of parts, invocations of each, and the largest size of one.

    `splits` is how many invocations share the nodes of a part for a pair of ancestors. `front` says how workgroups take
    parts in shared memory.
    """

    begin: int
    end: int
    lanes: int
    splits: int
    size: int
    front: Front


class ColumnBatch(NamedTuple):
    """Dispatch of perfect customization: bounds in a list of parts, and how workgroups take these."""

    begin: int
    end: int
    blocks: Blocks


class Stages(NamedTuple):
    """Parts of the hierarchy in the order of customization, see `Pieces`, and the dispatches for those of each step.

    Attributes
    ----------
    order : Buffer
        The parts, by step.
    steps : list
        The dispatches for each step, of which none waits for another.
    """

    order: Buffer
    steps: list[list[Batch]]


class ColumnStages(NamedTuple):
    """Parts of the hierarchy, and the dispatches of perfect customization for those of each step; see `Stages`."""

    order: Buffer
    steps: list[list[ColumnBatch]]


class _Order(NamedTuple):
    """Parts in an order, and of each batch its step, its bounds there, and its parts."""

    parts: Uint32s
    batches: list[tuple[int, int, int, Indices]]


def ancestor_counts(hierarchy: Hierarchy) -> tuple[Indices, Indices]:
    """Return the number of ancestors of each node outside its supernode, and the number of all of its ancestors."""
    outside = np.repeat(hierarchy.num_ancestors, hierarchy.size)
    first_node = hierarchy.first_node[:-1].astype(np.int64)
    return outside, outside + np.arange(hierarchy.num_nodes) - np.repeat(first_node, hierarchy.size)


def largest_array(device: Device, hierarchy: Hierarchy) -> int:
    """Return the bytes of the largest array that every search needs, of those that may be in several buffers."""
    pieces, ancestors = most_pieces(hierarchy, piece_size(device))
    return max(
        8 * hierarchy.num_arcs,
        SUPERNODE.itemsize * (hierarchy.num_supernodes + pieces),
        4 * (len(hierarchy.ancestor) + ancestors),
        8 * hierarchy.num_nodes,
    )


def is_split(device: Device, hierarchy: Hierarchy) -> bool:
    """Return whether a device has arrays of a hierarchy in several buffers, because one of them does not fit into one.

    They have items for arcs, ancestors or supernodes, or are rows of arcs. All of them are split, or none is.
    """
    below = 4 * (hierarchy.num_nodes + 1) + 8 * len(hierarchy.ancestor)
    return max(largest_array(device, hierarchy), below) > device.limits.buffer and can_split(device)


def supernodes_below(hierarchy: Hierarchy) -> Uint32s:
    """Return for each rank the supernodes that have it as ancestor, uint32.

    The first num_nodes + 1 words are offsets. Then follow pairs: a supernode, and the index of the ancestor in the list
    of the supernode.
    """
    by_ancestor = np.argsort(hierarchy.ancestor, kind="stable")
    count = np.bincount(hierarchy.ancestor, minlength=hierarchy.num_nodes)
    group = np.repeat(np.arange(hierarchy.num_supernodes), hierarchy.num_ancestors)
    pairs = np.stack([group[by_ancestor], within(hierarchy.num_ancestors)[by_ancestor]], axis=1)
    return np.concatenate([[0], np.cumsum(count), pairs.reshape(-1)]).astype(np.uint32)


def _pairs_of(parts: Pieces) -> tuple[Indices, Indices]:
    """Return of each part the number of pairs of ancestors, and the largest number of other pairs in a turn."""
    size, count = parts.size, parts.num_ancestors
    outside, longest = count * (count - 1) // 2, count + size - 1
    # The lowest node has the most pairs in its turn; there is a turn for each node but the highest one.
    return outside, np.where(size > 1, longest * (longest - 1) // 2 - outside, 0)


def _narrow_steps(device: Device, parts: Pieces) -> npt.NDArray[np.bool_]:
    """Return for each step whether it has few parts, or parts whose columns do not fit into shared memory."""
    count = np.bincount(parts.step, minlength=parts.num_steps)
    too_large = parts.size * (parts.size - 1 + 2 * parts.num_ancestors) > front_words(device)
    count[parts.step[too_large]] = 0
    made: npt.NDArray[np.bool_] = count <= MOST_NARROW
    return made


def _columns_of(parts: Pieces, are_narrow: npt.NDArray[np.bool_]) -> Indices:
    """Return the number of columns of each part, or 0 if perfect customization has nothing to do.

    In a step that is not narrow, pairs of ancestors have had a dispatch, and a part of one node has nothing else to do.
    """
    count = parts.size * parts.num_ancestors
    least = np.where(are_narrow[parts.step], 1, 2)
    return np.where((count > 1) & (parts.size >= least), count, 0)


def splits_of(device: Device, size: int, pairs: int) -> int:
    """Return how many invocations share the nodes of parts of some size, for so many pairs of ancestors altogether."""
    if device.info.kind == "cpu":
        return SOFTWARE_SPLITS
    return max(1, min(-(-size // _NODES_EACH), _INVOCATIONS // max(1, pairs)))


class Topology(Resource):
    """Hierarchy on a device without weights, and the places of a graph's arcs in it.

    Attributes
    ----------
    holders : set of int
        Creation numbers of the customized hierarchies that use it.
    supernodes : Buffer or SplitBuffer
        The supernodes, and behind them the pieces of large ones.
    supernode_of : Buffer
        The supernode of each rank.
    ancestors, ancestor_depth : Buffer or SplitBuffer
        Ranks of the ancestors of all supernodes and pieces. Of each ancestor of a supernode, not of a piece, the number
        of nodes above it.
    places : Buffer
        For each arc of the graph the index of its weight in the weights of the hierarchy, 2**32 - 1 for loops.
    top : Top
        The top of the hierarchy, where many workgroups search upward.
    top_nodes, top_ancestors : Buffer
        Its nodes and their ancestors; see `Top`.
    pieces : Pieces
        The parts that customization takes one by one.
    outside, inside : Stages
        Parts for pairs of their ancestors, and for triangles that have two nodes in them; see `customize_*.comp`.
    whole : Stages
        Parts for both at once in basic customization, in those steps that have few parts, all of which fit into shared
        memory; other steps have no dispatches here.
    columns : ColumnStages
        Parts for perfect customization.
    are_narrow : numpy.ndarray
        For each step whether it has few parts, or parts that do not fit into shared memory, bool. If not, perfect
        customization of pairs of ancestors has a dispatch of its own before.
    """

    supernodes: Array
    supernode_of: Buffer
    ancestors: Array
    ancestor_depth: Array
    places: Buffer
    top: at_top.Top
    top_nodes: Buffer
    top_ancestors: Buffer
    pieces: Pieces
    outside: Stages
    inside: Stages
    whole: Stages
    columns: ColumnStages
    are_narrow: npt.NDArray[np.bool_]

    def __init__(self, owner: Topologies, hierarchy: Hierarchy, graph: Graph) -> None:
        self.device, self.hierarchy, self._is_split = owner.device, hierarchy, is_split(owner.device, hierarchy)
        self.holders: set[int] = set()
        self._first_out, self._head = graph.first_out, graph.head
        self.lock, self._is_made = threading.Lock(), False
        self._below: Array | None = None
        super().__init__(owner)

    def suits(self, hierarchy: Hierarchy, graph: Graph) -> bool:
        """Return whether this is the topology of a hierarchy and a graph."""
        if hierarchy is not self.hierarchy:
            return False
        # Graphs that differ in weights share the arrays; a graph that was read twice has equal ones.
        pairs = ((graph.first_out, self._first_out), (graph.head, self._head))
        return all(one is other or np.array_equal(one, other) for one, other in pairs)

    @property
    def payer(self) -> int | None:
        """The oldest holder, which accounts for the memory; None without holders."""
        return min(tuple(self.holders), default=None)

    def upload(self, graph: Graph) -> None:
        """Upload the topology, or wait until another thread has; after an error the next caller tries again."""
        with self.lock:
            if self._is_made:
                return
            try:
                self.make(graph)
                self._is_made = True
            finally:
                if not self._is_made:
                    for buffer in list(self._owned.values()):
                        buffer.close()

    @property
    def has_below(self) -> bool:
        """Whether the buffer of `below` is on the device already."""
        return self._below is not None

    def below(self) -> Array:
        """Return the supernodes below each node, see `supernodes_below`; uploaded on the first call."""
        with self.lock:
            if self._below is None:
                values = supernodes_below(self.hierarchy)
                with contextlib.ExitStack() as stack:
                    made = self.array("the supernodes below nodes", values.nbytes, 4)
                    stack.callback(made.close)
                    made.write(values)
                    stack.pop_all()
                self._below = made
            return self._below

    def make(self, graph: Graph) -> None:
        """Make the buffers of the topology, and copy the arrays to the device."""
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
        self.top = at_top.top_on(self.device, hierarchy)
        supernodes["top"] = self.top.first
        tail, head = (hierarchy.rank[nodes] for nodes in (graph.tail, graph.head))
        arc, goes_down = hierarchy.arcs_of(tail, head), tail < head
        place = np.where(arc < 0, UNREACHABLE, 2 * arc + goes_down).astype(np.uint32)
        self.pieces = pieces_of(hierarchy, piece_size(self.device))
        pieces, lists = self._divide(supernodes)
        everything = np.append(supernodes, pieces).view(np.uint32)
        self.supernodes = self._upload_array("the supernodes", everything, SUPERNODE.itemsize)
        self.supernode_of = uploaded(self.device, "the supernode of each node", hierarchy.supernode, self)
        self.ancestors = self._upload_array("the ancestors", np.append(hierarchy.ancestor, lists), 4)
        depths = hierarchy.depth[hierarchy.ancestor]
        self.ancestor_depth = self._upload_array("the depths of ancestors", depths, 4)
        self.places = uploaded(self.device, "the places of weights", place, self)
        self.top_nodes = uploaded(self.device, "the nodes at the top", self.top.nodes.reshape(-1), self)
        self.top_ancestors = uploaded(self.device, "the ancestors at the top", self.top.ancestors, self)
        outside, inside = _pairs_of(self.pieces)
        self.outside = self._stages("pairs of ancestors", outside, 1)
        self.inside = self._stages("nodes of supernodes", inside, self.pieces.size)
        self.are_narrow = _narrow_steps(self.device, self.pieces)
        self.whole = self._whole_stages(outside, inside)
        self.columns = self._column_stages()

    def _divide(self, supernodes: Values) -> tuple[Values, Uint32s]:
        """Return the pieces of large supernodes as supernodes, and the ancestors of all of them."""
        hierarchy, (group, place, _, size, num_ancestors, *_) = self.hierarchy, self.pieces
        count = len(group)
        pieces, outside = supernodes[group], hierarchy.num_ancestors[group]
        pieces["first_node"] += place.astype(np.uint32)
        pieces["depth"] += place.astype(np.uint32)
        pieces["first_arc"] += (place * outside + place * (place - 1) // 2).astype(np.uint32)
        pieces["size"], pieces["num_ancestors"] = size[len(size) - count :], num_ancestors[len(size) - count :]
        lengths = num_ancestors[len(size) - count :]
        pieces["first_ancestor"] = len(hierarchy.ancestor) + np.cumsum(lengths) - lengths
        at = within(lengths)
        of_group, before = np.repeat(group, lengths), np.repeat(outside, lengths)
        first = hierarchy.first_ancestor[of_group].astype(np.int64)
        listed = np.append(hierarchy.ancestor, np.uint32(0))[np.where(at < before, first + at, -1)]
        own = hierarchy.first_node[of_group] + at - before
        return pieces, np.where(at < before, listed, own).astype(np.uint32)

    def _stages(self, name: str, pairs: Indices, rounds: Indices | int) -> Stages:
        """Return the parts that have pairs, by step, in dispatches for similar numbers of pairs."""
        parts, steps, order = self.pieces, self._no_dispatches(), self._by_work(pairs)
        all_rounds = pairs * rounds * (_ROUNDS + parts.size)
        for number, begin, end, which in order.batches:
            most = int(pairs[which].max())
            splits = splits_of(self.device, int(parts.size[which].max()), (end - begin) * most)
            lanes = self._lanes(most * splits, end - begin, all_rounds[which])
            front = front_of(self.device, parts.size[which], parts.num_ancestors[which], lanes)
            steps[number].append(Batch(begin, end, lanes, splits, int(parts.size[which].max()), front))
        return Stages(uploaded(self.device, f"the order of {name}", order.parts, self), steps)

    def _whole_stages(self, outside: Indices, inside: Indices) -> Stages:
        """Return the parts of those steps where all fit into shared memory."""
        parts, steps, order = self.pieces, self._no_dispatches(), self._by_work(np.maximum(outside, inside), ONE_CLASS)
        most_rounds = MOST_ROUNDS * chain_size(self.device)
        for number, begin, end, which in order.batches:
            size, count = parts.size[which], parts.num_ancestors[which]
            if not self.are_narrow[number]:
                continue
            if self.device.info.kind == "cpu" and whole_rounds(size, count).max() > most_rounds:
                continue
            front = whole_front_of(self.device, size, count, end - begin)
            if front is not None:
                steps[number].append(Batch(begin, end, front.lanes, 1, int(size.max()), front))
        return Stages(uploaded(self.device, "the order of supernodes", order.parts, self), steps)

    def _column_stages(self) -> ColumnStages:
        """Return the parts for perfect customization."""
        parts = self.pieces
        steps: list[list[ColumnBatch]] = [[] for _ in range(parts.num_steps)]
        order = self._by_work(_columns_of(parts, self.are_narrow), CLASS_BITS)
        for number, begin, end, which in order.batches:
            size, count = parts.size[which], parts.num_ancestors[which]
            given = (self.device, size, count, _INVOCATIONS, MOST_ROUNDS)
            blocks = (blocks_of if self.are_narrow[number] else blocks_without_chunks)(*given)
            steps[number].append(ColumnBatch(begin, end, blocks))
        return ColumnStages(uploaded(self.device, "the order of columns", order.parts, self), steps)

    def _no_dispatches(self) -> list[list[Batch]]:
        return [[] for _ in range(self.pieces.num_steps)]

    def _by_work(self, work: Indices, class_bits: int = 1) -> _Order:
        """Return the parts that have work, by step, and in a step by classes of the binary logarithm of the work."""
        chosen = np.flatnonzero(work)
        step = self.pieces.step[chosen]
        exponent = (np.log2(np.maximum(1, work[chosen])) / class_bits).astype(np.int64)
        by_work = np.lexsort((exponent, step))
        chosen, step, exponent = chosen[by_work], step[by_work], exponent[by_work]
        bounds = np.flatnonzero(np.diff(step * 64 + exponent)) + 1
        batches = [
            (int(step[begin]), begin, end, chosen[begin:end])
            for begin, end in pairwise([0, *bounds.tolist(), len(chosen)])
            if begin < end
        ]
        return _Order(np.append(self.pieces.part[chosen], 0).astype(np.uint32), batches)

    def _lanes(self, most: int, count: int, rounds: Indices) -> int:
        """Return the invocations of each of some parts: for the largest work and the rounds of each, a power of two."""
        if self.device.info.kind == "cpu":
            # A software device gains nothing from lanes, but may end long loops.
            wanted = float(rounds.max()) / MOST_ROUNDS
        else:
            wanted = min(most, max(most / _PAIRS_EACH, _INVOCATIONS / count))
        return int(2 ** math.ceil(math.log2(min(max(wanted, 1.0), _MOST_LANES))))

    def array(self, name: str, nbytes: int, item_bytes: int, owner: Resource | None = None) -> Array:
        """Return an array in one buffer or, if the hierarchy is too large for that, in several."""
        return make_array(self.device, nbytes, name, owner or self, split=self._is_split, item_bytes=item_bytes)

    def _upload_array(self, name: str, values: Uint32s, item_bytes: int) -> Array:
        made = self.array(name, values.nbytes, item_bytes)
        if values.nbytes:
            made.write(values)
        return made


class Topologies(Resource):
    """Topologies on a device; each stays as long as it has a holder."""

    def __init__(self, device: Device) -> None:
        # Older than the graphs that use them, and so closed after these graphs if the device is closed first.
        super().__init__(device.kept)
        self.device = device
        # The garbage collector may close a graph at any time: inside `hold`, where this thread has the lock already, or
        # while this thread holds another lock that the owner of this lock waits for. So `let_go` must never wait.
        self.lock = ReentrantLock()
        self._gone: deque[int] = deque()

    @property
    def all(self) -> list[Topology]:
        """All topologies on the device."""
        return [part for part in list(self._owned.values()) if isinstance(part, Topology)]

    def _of(self, hierarchy: Hierarchy, graph: Graph) -> Topology | None:
        return next((there for there in self.all if not there.closed and there.suits(hierarchy, graph)), None)

    def missing(self, hierarchy: Hierarchy, graph: Graph) -> int:
        """Return the bytes that the topology of a hierarchy and a graph will take; 0 if the device has it."""
        if self._of(hierarchy, graph) is not None:
            return 0
        parts = pieces_of(hierarchy, piece_size(self.device))
        outside, inside = _pairs_of(parts)
        orders = (outside, inside, np.maximum(outside, inside), _columns_of(parts, _narrow_steps(self.device, parts)))
        ordered = sum(int(np.count_nonzero(work)) + 1 for work in orders)
        of_nodes = 4 * hierarchy.num_nodes + SUPERNODE.itemsize * hierarchy.num_supernodes + 8 * len(hierarchy.ancestor)
        count = len(parts.supernode)
        of_nodes += SUPERNODE.itemsize * count + 4 * int(parts.num_ancestors[len(parts.size) - count :].sum())
        at_the_top = at_top.top_on(self.device, hierarchy).nbytes
        return of_nodes + at_the_top + 4 * ordered + 4 * graph.num_arcs

    def hold(self, hierarchy: Hierarchy, graph: Graph, holder: int) -> Topology:
        """Return the topology of a graph, and keep it until `let_go` is called for the holder, also after an error."""
        _ = self.device.handle  # raises an error after a fork, where locks held before it are never released
        with self.lock.held():
            found = None
            while found is None or found.closed:  # its last holder may have let go right after it was found
                found = self._of(hierarchy, graph) or Topology(self, hierarchy, graph)
                found.holders.add(holder)
        self._close_unheld()
        found.upload(graph)
        return found

    def let_go(self, holder: int) -> None:
        """Remove a holder. A topology without holders is closed by a thread that has the lock."""
        self._gone.append(holder)
        self._close_unheld()

    def _close_unheld(self) -> None:
        # If another thread has the lock, it calls this when it has released the lock, and handles the new entries.
        while self._gone:
            with self.lock.held_if_free() as is_held:
                if not is_held:
                    return
                with contextlib.suppress(IndexError, ValueError):  # taken by a call from the garbage collector
                    holder = self._gone[0]
                    for topology in self.all:
                        if holder in topology.holders:
                            topology.holders.discard(holder)
                            if not topology.holders:
                                topology.close()
                    self._gone.remove(holder)  # last, so that an interrupt leaves it to the next call

    @property
    def memory_bytes(self) -> int:
        """Always 0: a topology is counted by its oldest holder."""
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
