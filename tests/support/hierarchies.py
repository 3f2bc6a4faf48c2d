"""References for hierarchies, by sets and plain loops, that share no code with what they check."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from vkssp import UNREACHABLE, Graph
from vkssp.graph.hierarchy import Hierarchy


def eliminated(graph: Graph, order: list[int]) -> dict[int, set[int]]:
    """Return the neighbours that are left when each node is eliminated in some order: the textbook's way."""
    left: dict[int, set[int]] = {node: set() for node in range(graph.num_nodes)}
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        if u != v:
            left[u].add(v)
            left[v].add(u)
    found = {}
    for node in order:
        found[node] = left.pop(node)
        for one in found[node]:
            left[one] |= found[node] - {one}
            left[one].discard(node)
    return found


def lists(hierarchy: Hierarchy) -> list[list[int]]:
    """Return the ancestors of each rank: those of its supernode, then the nodes of that supernode above it."""
    found = []
    for group in range(hierarchy.num_supernodes):
        begin, end = (int(at) for at in hierarchy.first_ancestor[group : group + 2])
        first, last = (int(at) for at in hierarchy.first_node[group : group + 2])
        shared = [int(at) for at in hierarchy.ancestor[begin:end]]
        found += [shared + list(range(first, rank)) for rank in range(first, last)]
    return found


def is_hierarchy(hierarchy: Hierarchy, graph: Graph) -> bool:
    """Return whether all holds that a hierarchy of a graph has to be; arrays of uint32 may hold anything."""
    node, first_node, first_ancestor, ancestor, first_of_level = (
        getattr(hierarchy, name).tolist() for name in Hierarchy.ARRAYS
    )
    groups = len(first_node) - 1
    for offsets, end, least in (
        (first_node, len(node), 1),
        (first_ancestor, len(ancestor), 0),
        (first_of_level, groups, 1),
    ):
        if offsets[:1] != [0] or offsets[-1] != end or any(b - a < least for a, b in pairwise(offsets)):
            return False
    if len(first_ancestor) != groups + 1 or sorted(node) != list(range(graph.num_nodes)):
        return False
    group_of = [group for group in range(groups) for _ in range(first_node[group], first_node[group + 1])]
    level_of = [level for level, (first, end) in enumerate(pairwise(first_of_level)) for _ in range(first, end)]
    for group in range(groups):
        own = ancestor[first_ancestor[group] : first_ancestor[group + 1]]
        if own != sorted(set(own)) or any(at >= first_node[group] for at in own):
            return False
        if (level_of[group] > 0) != bool(own) or (own and level_of[group_of[own[-1]]] >= level_of[group]):
            return False
    above = [set(others) for others in lists(hierarchy)]
    if any(high not in above[low] for others in above for high, low in combinations(sorted(others), 2)):
        return False
    place = {name: at for at, name in enumerate(node)}
    ends = ((place[u], place[v]) for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True) if u != v)
    return all(min(pair) in above[max(pair)] for pair in ends)


def depths(above: list[list[int]]) -> list[int]:
    """Return the number of nodes above each rank, whose parent is the last of its ancestors."""
    found: list[int] = []
    for ancestors in above:
        found.append(found[ancestors[-1]] + 1 if ancestors else 0)
    return found


def heights(above: list[list[int]]) -> list[int]:
    """Return the number of nodes below each rank on the longest path down."""
    found = [0] * len(above)
    for rank in range(len(above) - 1, -1, -1):
        if above[rank]:
            parent = above[rank][-1]
            found[parent] = max(found[parent], found[rank] + 1)
    return found


class Query:
    """Distances by a hierarchy: weights for all of its arcs by the triangles below them, then a sweep up and one down.

    J. Dibbelt, B. Strasser, D. Wagner, "Customizable contraction hierarchies", 2014; D. Delling et al., "PHAST", 2011.
    """

    def __init__(self, graph: Graph, hierarchy: Hierarchy) -> None:
        self.place = {int(node): at for at, node in enumerate(hierarchy.node)}
        self.above = lists(hierarchy)
        # For each pair of joined ranks, in both directions; a pair that is not joined would be a KeyError.
        self.weight = {(low, high): 2**63 for low, all_above in enumerate(self.above) for high in all_above}
        self.weight |= {(high, low): 2**63 for low, high in self.weight}
        for u, v, weight in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True):
            if u != v:
                pair = self.place[u], self.place[v]
                self.weight[pair] = min(self.weight[pair], weight)
        for low in range(len(self.above) - 1, -1, -1):
            for one in self.above[low]:
                for other in self.above[low]:
                    if one != other:
                        through = self.weight[one, low] + self.weight[low, other]
                        self.weight[one, other] = min(self.weight[one, other], through)

    def distances(self, source: int) -> np.ndarray:
        """Return the distances from a node."""
        found = [2**63] * len(self.above)
        found[self.place[source]] = 0
        for low in range(len(found) - 1, -1, -1):
            for high in self.above[low]:
                found[high] = min(found[high], found[low] + self.weight[low, high])
        for low in range(len(found)):
            for high in self.above[low]:
                found[low] = min(found[low], found[high] + self.weight[high, low])
        return np.array([min(found[self.place[node]], UNREACHABLE) for node in range(len(found))], np.uint64)
