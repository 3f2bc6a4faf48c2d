"""Removal of nodes from a graph: dead ends are peeled, and chains become single edges.

In each turn, every chain of nodes with two neighbours becomes an edge between its ends, which is merged with any other
edge between them, and every node with one neighbour is removed. Each turn at least halves the number of leaves of a
tree, so the number of turns is logarithmic, however long dead ends are. Pointer jumping (J. C. Wyllie, "The Complexity
of Parallel Computations", 1979) finds the positions of nodes along a chain: each half-edge has a pointer to a later one
and the weight of the path to it, and each step doubles the length of this path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE
from vkssp.graph.csr import rows_of, tails_of

Indices = npt.NDArray[Any]  # int32, or int64 if the graph is too large
Weights = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]


class Removed(NamedTuple):
    """Nodes removed at one time, by the ids of the whole graph.

    Each path from a remaining node to a removed one goes through `first` or `second`; the weights of the shortest paths
    from there are `from_first` and `from_second`. All nodes of a chain have the same `anchor`.
    """

    node: Indices
    first: Indices
    from_first: Weights
    second: Indices
    from_second: Weights
    anchor: Indices


class Edges(NamedTuple):
    """Pairs of neighbours low < high, with the weights of the lightest arcs from low to high and from high to low."""

    low: Indices
    high: Indices
    up: Weights
    down: Weights

    def taken(self, which: npt.NDArray[Any]) -> Edges:
        """Return the edges that a mask or indices select."""
        return Edges(*(values[which] for values in self))

    def followed_by(self, others: Edges) -> Edges:
        """Return these edges, followed by others."""
        return Edges(*(np.concatenate([mine, more]) for mine, more in zip(self, others, strict=True)))


def directed(tail: Indices, head: Indices, there: Weights, back: Weights) -> Edges:
    """Return edges without loops from pairs in any order and the weights from tail to head and back."""
    proper = tail != head
    if not proper.all():
        tail, head, there, back = tail[proper], head[proper], there[proper], back[proper]
    rises = tail < head
    ends = np.where(rises, tail, head), np.where(rises, head, tail)
    return Edges(*ends, np.where(rises, there, back), np.where(rises, back, there))


def joined(edges: Edges, num_nodes: int) -> Edges:
    """Return each pair once, with the lightest of its weights in each direction."""
    by_high = rows_of(edges.high.astype(np.uint32), num_nodes)[1]
    order = by_high[rows_of(edges.low[by_high].astype(np.uint32), num_nodes)[1]]
    low, high = edges.low[order], edges.high[order]
    first = np.ones(len(low), np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    at = np.flatnonzero(first)
    if len(at) == 0:
        return edges
    up, down = (np.minimum.reduceat(weights[order], at) for weights in (edges.up, edges.down))
    return Edges(low[at], high[at], up, down)


def _sums(left: Weights, right: Weights) -> tuple[Weights, Flags]:
    """Return sums, UNREACHABLE if an operand is or if they do not fit into 32 bits, and which do not fit."""
    total = left.astype(np.uint64) + right
    over = total >= UNREACHABLE
    if not over.any():
        return total.astype(np.uint32), over
    total[over] = UNREACHABLE
    return total.astype(np.uint32), over & (left != UNREACHABLE) & (right != UNREACHABLE)


class RemainingGraph:
    """Graph that shrinks while dead ends and chains are removed.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc, shape (num_arcs, 2), uint32.

    Attributes
    ----------
    name : numpy.ndarray
        Ids in the whole graph of the remaining nodes, rising, shape (n,).
    edges : Edges
        Edges between the remaining nodes, by their indices in `name`.
    removed : list of Removed
        Removed nodes, in the order of removal.
    saturated : bool
        Whether some sum of weights does not fit into 32 bits; such a sum counts as UNREACHABLE.
    """

    def __init__(self, first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32]) -> None:
        num_nodes = len(first_out) - 1
        none = np.full(len(arcs), UNREACHABLE, np.uint32)
        # 32 bits take half the memory if they suffice: memory traffic determines the time on large graphs.
        self._type: type[np.signedinteger[Any]] = np.int32 if max(num_nodes, len(arcs)) < 2**30 else np.int64
        tails, heads = tails_of(first_out).astype(self._type), arcs[:, 0].astype(self._type)
        self.edges = joined(directed(tails, heads, arcs[:, 1], none), num_nodes)
        self.name: Indices = np.arange(num_nodes, dtype=self._type)
        self.removed: list[Removed] = []
        self.saturated = False
        self._kept = np.zeros(num_nodes, np.bool_)  # one node of each cycle that is a connected component

    def add(self, left: Weights, right: Weights) -> Weights:
        """Return sums; a sum is UNREACHABLE if an operand is or if it does not fit into 32 bits."""
        total, beyond = _sums(left, right)
        self.saturated |= bool(beyond.any())
        return total

    def shrink(self) -> int:
        """Contract chains and peel leaves, once each; return the number of nodes removed or newly kept in cycles."""
        before, kept = len(self.name), int(self._kept.sum())
        gone = self._contract()
        gone |= self._peel()
        number = np.cumsum(~gone, dtype=self._type) - self._type(1)
        self.name, self._kept = self.name[~gone], self._kept[~gone]
        edges = self.edges
        self.edges = Edges(number[edges.low], number[edges.high], edges.up, edges.down)
        return before - len(self.name) + int(self._kept.sum()) - kept

    def _degree(self) -> Indices:
        low, high, _, _ = self.edges
        return np.bincount(low, minlength=len(self.name)) + np.bincount(high, minlength=len(self.name))

    def _peel(self) -> Flags:
        leaf = self._degree() == 1
        low, high, up, down = self.edges
        touched = leaf[low] | leaf[high]
        which = np.flatnonzero(touched)
        upper = leaf[high[which]]  # the lower of two leaves with one edge between them stays
        node, end = (np.where(upper, first[which], second[which]) for first, second in ((high, low), (low, high)))
        weight = np.where(upper, up[which], down[which])
        self._remove(node, end, weight, end, np.full(len(node), UNREACHABLE, np.uint32), node)
        self.edges = self.edges.taken(~touched)
        gone = np.zeros(len(self.name), np.bool_)
        gone[node] = True
        return gone

    def _contract(self) -> Flags:
        low, high, up, down = self.edges
        inner = (self._degree() == 2) & ~self._kept
        touched = inner[low] | inner[high]
        which = np.flatnonzero(touched)
        # Half-edge h goes from tail[h] to head[h], half-edge h +- count in the opposite direction.
        count = len(which)
        tail = np.concatenate([low[which], high[which]])
        head = np.concatenate([high[which], low[which]])
        back = np.concatenate([down[which], up[which]])
        # A node inside a chain has two edges; the sum of their numbers minus one of them is the other.
        number = np.tile(np.arange(count, dtype=self._type), 2)
        both = np.where(inner, np.bincount(tail, weights=number, minlength=len(inner)), 0).astype(self._type)

        def leaving(node: Indices, arrived: Indices) -> Indices:
            other = both[node] - number[arrived]
            half: Indices = np.where(tail[other] == node, other, other + self._type(count))
            return half

        later, way, cyclic = self._follow(head, back, inner, leaving)

        def way_back(half: Indices) -> Weights:
            return self.add(way[half], back[later[half]])

        gone: Flags = inner.copy()
        self._keep_one(tail[cyclic], head[cyclic], gone)
        inside = np.flatnonzero(gone)
        out = np.flatnonzero(gone[tail])
        one = np.zeros(len(inner), self._type)
        one[tail[out]] = out
        first = one[inside]
        second = leaving(inside, first)
        anchor = np.minimum(tail[later[first]], tail[later[second]])
        ends = head[later[first]], head[later[second]]
        self._remove(inside, ends[0], way_back(first), ends[1], way_back(second), anchor)

        # Each chain has an entry at both ends; the entry with the lower number makes the edge.
        entry = np.flatnonzero(~inner[tail] & inner[head])
        exit_ = (later[entry] + count) % max(1, 2 * count)
        entry, exit_ = entry[entry < exit_], exit_[entry < exit_]
        made = directed(tail[entry], tail[exit_], way_back(exit_), way_back(entry))
        stay = ~touched
        stay[which] = ~(gone[low[which]] | gone[high[which]])
        self._merge(self.edges.taken(stay), made)
        return gone

    def _follow(self, head: Indices, back: Weights, inner: Flags, leaving: Any) -> tuple[Indices, Weights, Indices]:
        """Follow each half-edge along its chain.

        Returns
        -------
        later : numpy.ndarray
            Last half-edge of the chain.
        way : numpy.ndarray
            Weight of the path back from the tail of the last half-edge to the tail of the half-edge.
        cyclic : numpy.ndarray
            Half-edges without a last one, since they are in a cycle.
        """
        onward = np.flatnonzero(inner[head])
        later = np.arange(len(head), dtype=self._type)
        later[onward] = leaving(head[onward], onward)
        way = np.zeros(len(head), np.uint32)
        way[onward] = back[onward]
        # Whether a sum does not fit. Sums along cycles do not count, as they go around again and again.
        beyond = np.zeros(len(head), np.bool_)
        active = onward
        for _ in range(len(head).bit_length() + 1):
            active = active[inner[head[later[active]]]]
            if len(active) == 0:
                break
            jump = later[active]
            way[active], fails = _sums(way[active], way[jump])
            beyond[active] |= fails
            later[active] = later[jump]
        beyond[active] = False
        self.saturated |= bool(beyond.any())
        return later, way, active

    def _keep_one(self, tail: Indices, head: Indices, gone: Flags) -> None:
        """Mark one node of each cycle as kept, given the half-edges; the next turn removes the others."""
        if len(tail) == 0:
            return
        from scipy import sparse
        from scipy.sparse import csgraph

        nodes, place = np.unique(tail, return_inverse=True)
        ends = place, np.searchsorted(nodes, head)
        links = sparse.csr_array((np.ones(len(tail), np.bool_), ends), shape=(len(nodes),) * 2)
        _, label = csgraph.connected_components(links, directed=False)
        self._kept[nodes[np.unique(label, return_index=True)[1]]] = True
        gone[nodes] = False

    def _merge(self, old: Edges, new: Edges) -> None:
        """Set the edges to old and new ones; of parallel edges the lighter weights are kept."""
        touched = np.zeros(len(self.name), np.bool_)
        touched[new.low] = touched[new.high] = True
        near = touched[old.low] & touched[old.high]
        self.edges = old.taken(~near).followed_by(joined(old.taken(near).followed_by(new), len(self.name)))

    def _remove(
        self, node: Indices, first: Indices, from_first: Weights, second: Indices, from_second: Weights, anchor: Indices
    ) -> None:
        name = self.name
        if len(node):
            self.removed.append(Removed(name[node], name[first], from_first, name[second], from_second, name[anchor]))
