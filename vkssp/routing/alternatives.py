"""Alternative routes: good routes that differ from the best one.

Two shortest-path trees, from the start and to the goal, have common parts, plateaus (Cambridge Vehicle Information
Technology 2005). The path from the start over a plateau to the goal is shortest before the end of the plateau and after
its beginning. Of these paths those are taken that Abraham, Delling, Goldberg and Werneck (2013) call admissible: not
much longer, not much in common with the routes before, and locally optimal.

Source: I. Abraham, D. Delling, A. V. Goldberg, R. F. Werneck, Alternative routes in road networks, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.checks import number_of, shown
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.jit import kernels
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver

Ints = npt.NDArray[np.int64]
#: How much longer an alternative may be, what it may share with the routes before, and on which parts it has to be
#: shortest, each as a share of the best route's weight.
MAX_STRETCH, MAX_SHARING, MIN_OPTIMAL = 0.25, 0.75, 0.25
# Plateaus whose paths are tested for each alternative, the best ones first.
_TESTED = 24


class Bounds(NamedTuple):
    """Bounds of alternatives: `stretch` and `sharing` as shares of the best route's weight, and `optimal` of it."""

    stretch: float
    sharing: float
    optimal: float


def checked_bounds(stretch: float, sharing: float, optimal: float) -> Bounds:
    """Return bounds as floats, or raise `QueryError`."""
    found = []
    for name, value in (("max_stretch", stretch), ("max_sharing", sharing), ("min_optimal", optimal)):
        share = number_of(value)
        if share is None or not 0 <= share <= 1:
            raise QueryError(f"{name} is {shown(value)}; give a share of the best route's weight, from 0 to 1")
        found.append(share)
    return Bounds(*found)


class _Trees(NamedTuple):
    """Trees from the start and to the goal: distances of nodes, and the arcs into them and out of them."""

    forward: npt.NDArray[np.uint32]
    into: npt.NDArray[np.uint32]
    backward: npt.NDArray[np.uint32]
    out: npt.NDArray[np.uint32]


def find_alternatives(
    solver: Solver | SolverPool,
    backward: tuple[Solver | SolverPool, Ints],
    index: StreetIndex,
    snaps: Sequence[Snap],
    best: LegPath,
    number: int,
    bounds: Bounds,
) -> list[LegPath]:
    """Return alternatives to the best path between two points, the best ones first, perhaps none.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`.
    backward : tuple of (Solver or SolverPool, numpy.ndarray)
        Solver that searches backward, and for each of its arcs the id in the searched graph.
    index : StreetIndex
        The streets.
    snaps : sequence of Snap
        The two points.
    best : LegPath
        The best path.
    number : int
        Maximum number of alternatives.
    bounds : Bounds
        Which alternatives are good.
    """
    if best.direct:
        best = _through_head(index, best)
    if best.direct or best.weight == 0:
        return []
    module, graph = kernels("vkssp.routing.kernels.alternatives"), index.searched
    starts, goals = find_starts(index, snaps[0]), find_goals(index, snaps[1])
    limit = min(int((1.0 + bounds.stretch) * best.weight), UNREACHABLE - 1)
    trees = _trees(solver, backward, starts, goals, limit)
    tail, head, weight = graph.tail, graph.head, graph.weight
    plateaus = np.empty((1024, 4), np.int64)
    while (count := module.find_plateaus(tail, head, *trees, limit, plateaus)) > len(plateaus):
        plateaus = np.empty((count, 4), np.int64)
    plateaus = plateaus[:count]
    taken, ends = np.zeros(graph.num_arcs, np.bool_), np.empty((0, 2), np.int64)
    stack, routes = np.empty(graph.num_nodes, np.int64), [best]
    with_best: Ints | None = None
    for _ in range(number):
        taken[_searched_arcs(index, routes[-1])] = True
        ends = np.append(ends, [[routes[-1].first.node, routes[-1].last.node]], axis=0)
        shared = np.zeros(len(plateaus), np.int64)
        for near, distance, arcs, of_paths, column in (
            (tail, trees.forward, trees.into, ends[:, 0], 0),
            (head, trees.backward, trees.out, ends[:, 1], 1),
        ):
            of_node = np.full(graph.num_nodes, -1)
            module.put_shared(near, weight, distance, arcs, taken, np.ascontiguousarray(of_paths), stack, of_node)
            # What the plateau itself shares belongs to the first tree.
            shared += of_node[plateaus[:, 1 - column]]
        with_best = shared if with_best is None else with_best
        is_good = shared <= bounds.sharing * best.weight
        is_good &= plateaus[:, 3] - with_best <= (1.0 + bounds.stretch) * (best.weight - with_best)
        plateaus, with_best, shared = plateaus[is_good], with_best[is_good], shared[is_good]
        order = np.argsort(2 * plateaus[:, 3] + shared - plateaus[:, 2], kind="stable")[:_TESTED]
        refused = []
        for row in order.tolist():
            path = _path(graph, trees, plateaus[row])
            least = bounds.optimal * best.weight
            if _is_simple(index, graph, path) and _is_optimal(solver, graph, starts, goals, plateaus[row], path, least):
                routes.append(_leg_path(index, graph, starts, goals, plateaus[row], path))
                break
            refused.append(row)
        if len(routes) == len(ends):
            break
        plateaus, with_best = np.delete(plateaus, refused, axis=0), np.delete(with_best, refused)
    return routes[1:]


def _through_head(index: StreetIndex, path: LegPath) -> LegPath:
    """Return a direct path along a whole street as one through the node at its end; any other path as it is."""
    if path.first.arc < 0 or path.first.at > 0.0 or path.last.at < 1.0:
        return path
    node = int(index.graph.head[path.first.arc])
    first = path.first._replace(node=node, weight=path.weight)
    return LegPath(path.weight, first, path.inner, PhantomNode(node, 0))


def _searched_arcs(index: StreetIndex, path: LegPath) -> Ints:
    """Return the arcs of a path in the searched graph, those at its ends whole."""
    ends = [end.arc for end in (path.first, path.last) if end.arc >= 0]
    arcs = np.concatenate([path.inner, np.array(ends, np.int64)])
    return arcs if index.avoided is None else index.avoided.searched_ids(arcs)


def _trees(
    solver: Solver | SolverPool,
    backward: tuple[Solver | SolverPool, Ints],
    starts: Sequence[PhantomNode],
    goals: Sequence[PhantomNode],
    limit: int,
) -> _Trees:
    behind, arcs = backward
    forward, into = solver.tree_from_seeds([(end.node, end.weight) for end in starts], limit)
    back, out = behind.tree_from_seeds([(end.node, end.weight) for end in goals], limit)
    # An item more, to which `UNREACHABLE` is clipped.
    own = np.append(arcs, UNREACHABLE).astype(np.uint32).take(out, mode="clip")
    return _Trees(forward.astype(np.uint32, copy=False), into, back.astype(np.uint32, copy=False), own)


def _path(graph: Graph, trees: _Trees, plateau: Ints) -> Ints:
    """Return the arcs of the path over a plateau."""
    put_path = kernels("vkssp.routing.kernels.alternatives").put_path
    arcs, start = np.empty(1024, np.int64), int(plateau[0])
    while (count := put_path(graph.tail, graph.head, trees.into, trees.out, start, arcs)) > len(arcs):
        arcs = np.empty(count, np.int64)
    return arcs[:count]


def _is_simple(index: StreetIndex, graph: Graph, arcs: Ints) -> bool:
    """Return whether a path passes no place twice."""
    nodes = np.append(graph.tail[arcs[:1]], graph.head[arcs])
    places = nodes if index.junctions is None else index.junctions.place[nodes]
    return len(np.unique(places)) == len(places)


def _is_optimal(
    solver: Solver | SolverPool,
    graph: Graph,
    starts: Sequence[PhantomNode],
    goals: Sequence[PhantomNode],
    plateau: Ints,
    arcs: Ints,
    least: float,
) -> bool:
    """Return whether all parts of a path that weigh at most `least` are shortest paths.

    Parts that do not reach beyond both ends of the plateau are: they belong to one of the trees.
    """
    start, end, own, _ = plateau.tolist()
    beyond = least - own
    nodes = _nodes(graph, plateau, arcs)
    begin, finish = _nearest(starts, int(nodes[0])), _nearest(goals, int(nodes[-1]))
    if len(arcs) == 0 and (
        begin.arc < 0 or begin.at > 0.0
    ):  # from one street to the next, without a whole one: not worth telling
        return False
    if beyond <= 0:
        return True
    first, last = (int(np.flatnonzero(nodes == node)[0]) for node in (start, end))
    passed = np.concatenate([np.zeros(1, np.int64), np.cumsum(graph.weight[arcs], dtype=np.int64)])
    low = int(np.searchsorted(passed, passed[first] - beyond, "left"))
    high = int(np.searchsorted(passed, passed[last] + beyond, "right")) - 1
    seeds, targets = [(int(nodes[low]), 0)], [(int(nodes[high]), 0)]
    expected = int(passed[high] - passed[low])
    if int(passed[first]) + begin.weight <= beyond:
        seeds, expected = [(one.node, one.weight) for one in starts], expected + begin.weight
    if int(passed[-1] - passed[last]) + finish.weight <= beyond:
        targets, expected = [(one.node, one.weight) for one in goals], expected + finish.weight
    found = solver.search_path(seeds, targets)
    return found is not None and found[0] == expected


def _leg_path(
    index: StreetIndex,
    graph: Graph,
    starts: Sequence[PhantomNode],
    goals: Sequence[PhantomNode],
    plateau: Ints,
    arcs: Ints,
) -> LegPath:
    """Return the path over a plateau, given its arcs of the searched graph."""
    nodes = _nodes(graph, plateau, arcs)
    first, last = _nearest(starts, int(nodes[0])), _nearest(goals, int(nodes[-1]))
    inner = arcs if index.avoided is None else index.avoided.arc_ids[arcs]
    return LegPath(int(plateau[3]), first, inner, last)


def _nodes(graph: Graph, plateau: Ints, arcs: Ints) -> Ints:
    """Return the nodes of the path over a plateau, which has the node of the plateau only if it has no arcs."""
    if len(arcs) == 0:
        return plateau[:1]
    return np.append(graph.tail[arcs[:1]], graph.head[arcs]).astype(np.int64)


def _nearest(ends: Sequence[PhantomNode], node: int) -> PhantomNode:
    """Return the phantom node of least weight at a node."""
    return min((one for one in ends if one.node == node), key=lambda one: one.weight)
