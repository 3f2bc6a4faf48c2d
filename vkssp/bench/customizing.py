"""Timing of RoutingKit's customization, with the order of a device's hierarchy, for comparison."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.bench.peers import RoutingkitCch
from vkssp.bench.timing import median_ms
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.jit import kernels
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.solver.solver import Solver

#: Number of pairs of nodes whose distances are compared, and number of arcs in a change of few weights.
CHECKED, FEW = 3, 100


def postorder(hierarchy: Hierarchy) -> Uint32s:
    """Return the nodes of a hierarchy in an order that gives the same arcs, with the nodes of each subtree adjacent.

    The order of the hierarchy's levels gives the same arcs, too, but its memory layout makes RoutingKit take half as
    long again.
    """
    kernel, n = kernels("vkssp.hierarchy.kernels"), hierarchy.num_nodes
    above = np.arange(n, dtype=np.int64) - 1
    above[hierarchy.first_node[:-1]] = hierarchy.parent
    # Elimination ranks count from the bottom, ranks of the hierarchy from the top.
    parent = np.where(above >= 0, n - 1 - above, -1)[::-1].astype(np.int32)
    size, place = np.empty(n, np.int32), np.empty(n, np.int32)
    kernel.subtree_sizes(parent, size)
    kernel.place_in_postorder(parent, size, place)
    order = np.empty(n, np.uint32)
    order[place] = hierarchy.node[::-1]
    return order


def customization(graph: Graph, some: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Time RoutingKit's basic customization on one core; its Python package has no parallel customization.

    Distances of some pairs are checked after each kind of change. The times include the conversion of the weights from
    Python's numbers, some ten nanoseconds per weight.

    Parameters
    ----------
    graph : Graph
        The graph, with its hierarchy.
    some : numpy.ndarray
        Arcs whose weights change in partial changes.

    Returns
    -------
    dict
        ``cch_customize_ms`` for all weights; ``cch_some_ms`` and ``cch_few_ms`` for the arcs `some`, and for the first
        hundred of them, whose weights rise by 1 and fall again. Only ``cch_customize_error`` if RoutingKit cannot be
        loaded.
    """
    assert graph.hierarchy is not None
    try:
        module = RoutingkitCch.load()
    except QueryError as error:
        return {"cch_customize_error": str(error)}
    cch = module.CCH(postorder(graph.hierarchy).data, graph.tail.data, graph.head.data, False)
    # As `RoutingkitCch` does.
    weight = np.minimum(graph.weight, RoutingkitCch.LARGEST)
    weights = weight.tolist()
    metric, updater = module.CCHMetric(cch, weights), module.CCHMetricPartialUpdater(cch)
    found: dict[str, Any] = {"cch_customize_ms": median_ms(lambda: metric.reset(weights))}
    with Solver(RenumberedGraph(graph), "dijkstra") as reference:
        _check(module, metric, reference, weight)
        for name, arcs in (("some", some), ("few", some[:FEW])):
            heavier = weight.copy()
            heavier[arcs] += 1
            changes = itertools.cycle(
                [dict(zip(arcs.tolist(), values[arcs].tolist(), strict=True)) for values in (heavier, weight)]
            )

            def change(changes: Iterator[dict[int, int]] = changes) -> None:
                updater.apply(metric, next(changes))

            found[f"cch_{name}_ms"] = median_ms(change, 9)
            # After ten changes the weights are the original ones.
            for expected in (heavier, weight):
                change()
                _check(module, metric, reference, expected)
    return found


def _check(module: Any, metric: Any, reference: Solver, weight: Uint32s) -> None:
    """End the program if RoutingKit's distances are wrong for the given weights."""
    reference.set_weights(weight)
    query = module.CCHQuery(metric)
    for source, target in np.random.default_rng(1).integers(0, reference.graph.num_nodes, (CHECKED, 2)).tolist():
        distance, result = reference.distance(source, target), query.run(source, target).distance
        if (UNREACHABLE if result is None else result) != distance and distance <= RoutingkitCch.LARGEST:
            raise SystemExit(f"wrong distance from {source} to {target}, by RoutingKit")
