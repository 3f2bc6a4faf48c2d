"""Measurement of the costs of queries on a device and on the CPU, by generated road grids; see `vkssp.solver.costs`."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from vkssp.algorithm import AUTO, CPU, VULKAN
from vkssp.gpu.device import Device
from vkssp.graph import Graph, Uint32s
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.supernodes import build
from vkssp.log import logger
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts, keep_costs, known_costs, table_work
from vkssp.solver.session import Session
from vkssp.solver.shared_graph import share

# Sides of the grids of searches and of those with a hierarchy.
_SEARCHED, _PREPARED = (32, 128), (16, 64)
# Pairs that are asked at once, and sources and targets of tables, which are too large to be made of pairs.
_PAIRS, _TABLES = (1, 512), (40, 200)
# Repetitions of a measurement, of which the median counts, after some that warm up; and seconds of searches before,
# since an idle device is slow.
_REPETITIONS, _WARM_UP, _WARM_UP_S = 9, 3, 0.05
_QUERIES = _REPETITIONS + _WARM_UP

_Costs = TypeVar("_Costs", SearchCosts, HierarchyCosts)
_measuring = threading.Lock()
_log = logger(__name__)


def measured_costs(device: Device, kind: type[_Costs], *, anew: bool = False) -> _Costs:
    """Return the costs on a device and on the CPU beside it, which are measured once.

    Parameters
    ----------
    device : Device
        The device.
    kind : type
        `SearchCosts` or `HierarchyCosts`.
    anew : bool
        Whether to measure them also if they are known.
    """
    with _measuring:
        costs = None if anew else known_costs(device.info, kind)
        if costs is None:
            _log.debug("measuring which queries %s answers faster than the CPU", device.info.name)
            made = _measure_searches(device) if kind is SearchCosts else _measure_hierarchies(device)
            assert isinstance(made, kind)
            keep_costs(device.info, costs := made)
        return costs


def _grid(side: int) -> Graph:
    """Return a road grid with coordinates, numbered along a Z-order curve, with random weights."""
    y, x = (part.ravel() for part in np.mgrid[:side, :side])
    bits = range(side.bit_length())
    order = np.lexsort([part >> bit & 1 for bit in bits for part in (x, y)])
    number = np.empty(side * side, np.int64)
    number[order] = np.arange(side * side)
    square = number.reshape(side, side)
    tails = np.concatenate([square[:, :-1].ravel(), square[:-1].ravel()])
    heads = np.concatenate([square[:, 1:].ravel(), square[1:].ravel()])
    weights = np.random.default_rng(side).integers(100, 1000, len(tails))
    return Graph.from_edges(
        *(tails, heads, weights), num_nodes=side * side, undirected=True, lat=y[order] * 1e-3, lon=x[order] * 1e-3
    )


def _prepared_grid(side: int) -> Graph:
    """Return a road grid with its hierarchy."""
    graph = _grid(side)
    edges = Edges.of(graph)
    # Numbers along the curve are halved again and again; the lower ends of the edges across a cut separate both halves.
    cut = np.frexp((edges.low ^ edges.high).astype(np.float64))[1].astype(np.uint8)
    largest_cut = np.zeros(edges.num_nodes, np.uint8)
    np.maximum.at(largest_cut, edges.low, cut)
    node = np.argsort(largest_cut, kind="stable").astype(np.uint32)
    return replace(graph, hierarchy=build(eliminate(edges, node)))


@contextlib.contextmanager
def _session(graph: Graph, device: Device | None) -> Iterator[Session]:
    """Make a session on a device or on the CPU."""
    place = CPU if device is None else VULKAN
    shared = share(graph, AUTO, "auto", place, device, "auto", False)
    with Session(shared, AUTO, {}, 0) as session:
        yield session


def _median_us(query: Callable[[int], object]) -> float:
    """Return the median time of a query, which takes the number of its repetition."""
    times = []
    for number in range(_QUERIES):
        began = time.perf_counter()
        query(number)
        times.append(1e6 * (time.perf_counter() - began))
    return statistics.median(times[_WARM_UP:])


def _line(works: Sequence[float], times: Sequence[float]) -> Line:
    """Return the line through two measurements; neither part is negative."""
    each = max(0.0, (times[1] - times[0]) / (works[1] - works[0]))
    return Line(max(0.0, times[0] - each * works[0]), each)


def _search_us(session: Session, is_first: bool) -> float:
    """Return the time of a search for all distances; the first session on a device is warmed up."""
    nodes = np.random.default_rng(0).integers(0, session.renumbered.num_nodes, _QUERIES).tolist()
    until = time.perf_counter() + _WARM_UP_S * is_first
    while time.perf_counter() < until:
        session.from_seeds([(nodes[0], 0)], None)
    return _median_us(lambda number: session.from_seeds([(nodes[number], 0)], None))


def _measure_searches(device: Device) -> SearchCosts:
    graphs = list(map(_grid, _SEARCHED))
    lines = []
    for place in (device, None):
        times: list[float] = []
        for graph in graphs:
            with _session(graph, place) as session:
                times.append(_search_us(session, not times))
        lines.append(_line([graph.num_nodes + graph.num_arcs for graph in graphs], times))
    return SearchCosts(lines[1], lines[0], times[1] / graphs[1].num_nodes)


def _measure_hierarchies(device: Device) -> HierarchyCosts:
    graphs = list(map(_prepared_grid, _PREPARED))
    (device_costs, _), (cpu_costs, customize_us) = (_hierarchy_costs(graphs, place) for place in (device, None))
    costs = {f"device_{name}": cost for name, cost in device_costs.items()}
    costs |= {f"cpu_{name}": cost for name, cost in cpu_costs.items()}
    return HierarchyCosts(customize_us=customize_us, **costs)


def _hierarchy_costs(graphs: Sequence[Graph], place: Device | None) -> tuple[dict[str, Any], float]:
    """Return the costs in a place, and the microseconds for each arc that customization takes."""
    trees: list[float] = []
    pair, select, customize_us = [], [], 0.0
    hierarchies = [graph.hierarchy for graph in graphs if graph.hierarchy is not None]
    upward = [hierarchy.upward_work for hierarchy in hierarchies]
    for graph in graphs:
        with _session(graph, place) as session:
            drawn = np.random.default_rng(0).integers(0, graph.num_nodes, (2, max(*_PAIRS, *_TABLES) + _QUERIES))
            nodes = drawn.astype(np.uint32)
            trees.append(_search_us(session, not trees))
            pair.append(_pair_us(session, *drawn.tolist()))
            select.append(_table_us(session, nodes, _TABLES[0]))
            if graph is graphs[-1]:
                pairs = [_pairs_us(session, *nodes[:, :count]) for count in _PAIRS]
                table_us = _table_us(session, nodes, _TABLES[1])
                customize_us = 0.0 if place is not None else _customize_us(session)
    size = [hierarchy.num_arcs if place is None else hierarchy.num_levels for hierarchy in hierarchies]
    works = [table_work(count, count, upward[1], hierarchies[1].num_arcs) for count in _TABLES]
    costs = {
        "tree": _line(size, trees),
        "pair": _line([2 * work for work in upward], pair),
        "pairs": _line([2 * upward[1] * count for count in _PAIRS], pairs),
        "select": _line([hierarchy.num_nodes for hierarchy in hierarchies], select),
        "row_us": max(0.0, table_us - select[1]) / (works[1] - works[0]),
    }
    return costs, customize_us / hierarchies[1].num_arcs


def _pair_us(session: Session, sources: list[int], targets: list[int]) -> float:
    return _median_us(lambda number: session.distance(sources[number], targets[number]))


def _pairs_us(session: Session, sources: Uint32s, targets: Uint32s) -> float:
    return _median_us(lambda _: session.fast_pairs(sources, targets))


def _table_us(session: Session, nodes: Uint32s, count: int) -> float:
    """Return the time of a table of so many rows and columns, which are others each time: what they need is kept."""

    def make(number: int) -> None:
        sources, targets = nodes[:, number : number + count]
        list(session.row_blocks(session.graph, Groups.of_nodes(sources), targets))

    return _median_us(make)


def _customize_us(session: Session) -> float:
    weights = session.graph.weight

    def customize(number: int) -> None:
        session.change_weights(lambda graph: (graph.with_weights(weights + np.uint32(number % 2)), None))
        with session.holding():
            session.algorithm()

    return _median_us(customize)
