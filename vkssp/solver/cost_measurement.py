"""Measurement of the costs of queries on a device and on the CPU, by generated road grids; see `vkssp.solver.costs`."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from vkssp.algorithm import AUTO, CPU, VULKAN
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.order import halving, places
from vkssp.hierarchy.supernodes import build
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts, keep_costs, known_costs, table_work, upward_work
from vkssp.solver.helper import Attempt, Helper
from vkssp.solver.session import Session
from vkssp.solver.shared_graph import share

# Sides of the grids of searches and of those with a hierarchy.
_SEARCHED, _PREPARED = (32, 128), (16, 64)
# Pairs that are asked at once, and sources and targets of tables.
_PAIRS, _TABLES = (1, 512), (16, 128)
# Repetitions of a measurement, of which the median counts, after some that warm up.
_REPETITIONS, _WARM_UP = 9, 3
# Searches, half of them paused, that tell what a pause costs.
_STARTS = 100

_Costs = TypeVar("_Costs", SearchCosts, HierarchyCosts)
_measuring = threading.Lock()


def measured_costs(device: Device, kind: type[_Costs]) -> _Costs:
    """Return the costs on a device and on the CPU beside it, `SearchCosts` or `HierarchyCosts`; measure them once."""
    with _measuring:
        costs = known_costs(device.info, kind)
        if costs is None:
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
    return replace(graph, hierarchy=build(eliminate(edges, halving(edges, places(graph)))))


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
    for number in range(_WARM_UP + _REPETITIONS):
        began = time.perf_counter()
        query(number)
        times.append(1e6 * (time.perf_counter() - began))
    return statistics.median(times[_WARM_UP:])


def _line(works: Sequence[float], times: Sequence[float]) -> Line:
    """Return the line through two measurements; neither part is negative."""
    each = max(0.0, (times[1] - times[0]) / (works[1] - works[0]))
    return Line(max(0.0, times[0] - each * works[0]), each)


def _search_us(session: Session) -> float:
    """Return the time of a search for all distances."""
    nodes = np.random.default_rng(0).integers(0, session.renumbered.num_nodes, _WARM_UP + _REPETITIONS).tolist()
    return _median_us(lambda number: session.all_distances([(nodes[number], 0)], UNREACHABLE))


def _measure_searches(device: Device) -> SearchCosts:
    graphs = list(map(_grid, _SEARCHED))
    lines = []
    for place in (device, None):
        times = []
        for graph in graphs:
            with _session(graph, place) as session:
                times.append(_search_us(session))
                start_us = 0.0 if place is device else _start_us(session)
        lines.append(_line([graph.num_nodes + graph.num_arcs for graph in graphs], times))
    return SearchCosts(lines[1], lines[0], times[1] / graphs[1].num_nodes, start_us)


def _start_us(session: Session) -> float:
    """Return the time that a search loses by a pause in which another thread is given something to do."""
    end, target, times = session.renumbered.num_nodes - 1, [(0, 0)], dict[bool, list[float]]()
    with Helper() as helper:
        for number in range(_STARTS):
            is_paused, seeds = bool(number % 2), [(end - number // 2, 0)]
            attempt = Attempt(lambda: None)
            began = time.perf_counter()
            if not is_paused:
                session.run(seeds, target)
            elif session.begin(seeds, target, UNREACHABLE, 1) is None:
                helper.put(attempt)
                session.resume(np.zeros(1, np.uint8))
            times.setdefault(is_paused, []).append(1e6 * (time.perf_counter() - began))
    return max(1.0, statistics.median(times[True]) - statistics.median(times[False]))


def _measure_hierarchies(device: Device) -> HierarchyCosts:
    graphs = list(map(_prepared_grid, _PREPARED))
    arcs = [_of(graph).num_arcs for graph in graphs]
    upward, rng = upward_work(_of(graphs[1])), np.random.default_rng(0)
    ends = {count: rng.integers(0, graphs[1].num_nodes, (2, count)).astype(np.uint32) for count in (*_PAIRS, *_TABLES)}
    pairs, tables = ([ends[count] for count in counts] for counts in (_PAIRS, _TABLES))
    pair_works = [2 * upward * count for count in _PAIRS]
    table_works = [table_work(count, count, upward, arcs[1]) for count in _TABLES]
    lines = []
    for place in (device, None):
        trees = []
        for graph in graphs:
            with _session(graph, place) as session:
                trees.append(_search_us(session))
                if graph is graphs[1]:
                    pair_times = [_pairs_us(session, *both) for both in pairs]
                    table_times = [_table_us(session, *both) for both in tables]
                    customize_us = 0.0 if place is device else _customize_us(session) / arcs[1]
        lines.append((_line(arcs, trees), _line(pair_works, pair_times), _line(table_works, table_times)))
    (device_tree, device_pairs, device_table), (cpu_tree, cpu_pairs, cpu_table) = lines
    return HierarchyCosts(cpu_tree, device_tree, cpu_pairs, device_pairs, cpu_table, device_table, customize_us)


def _pairs_us(session: Session, sources: Uint32s, targets: Uint32s) -> float:
    return _median_us(lambda _: session.fast_pairs(sources, targets))


def _table_us(session: Session, sources: Uint32s, targets: Uint32s) -> float:
    seeds = Groups.of_nodes(sources)
    return _median_us(lambda _: list(session.row_blocks(session.graph, seeds, targets)))


def _customize_us(session: Session) -> float:
    weights = session.graph.weight

    def customize(number: int) -> None:
        session.change_weights(lambda graph: (graph.with_weights(weights + np.uint32(number % 2)), None))
        with session.holding():
            session.algorithm()

    return _median_us(customize)


def _of(graph: Graph) -> Hierarchy:
    assert graph.hierarchy is not None
    return graph.hierarchy
