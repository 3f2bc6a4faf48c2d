"""Session of a Vulkan device with the CPU as its companion: each query goes to the place that should answer it sooner.

How long a query takes is predicted from the costs that were measured for the device and the CPU, see
`vkssp.solver.costs`, and corrected by the queries before it. A search without a hierarchy ends at its target, and where
that is on a search's way is not known before. It begins on the CPU, where most end at once. One that does not is given
up if the number of nodes around the source, of nodes with coordinates, tells that it will go far, or later, if it goes
much farther than this or nothing is known. The answers are the same, bit for bit.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from vkssp.algorithm import AUTO, CPU, Terminal
from vkssp.cch.unpack import MOST_SLOTS
from vkssp.cores import num_cores
from vkssp.cpu.dijkstra import GivenUpError
from vkssp.cpu.nearness import Nearness
from vkssp.gpu.device import Device
from vkssp.graph import Graph, Uint32s
from vkssp.graph.distance_type import Distances
from vkssp.locks import Claim
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.found_paths import FoundPaths, Shortest
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import pairs_of
from vkssp.resource import Resource
from vkssp.solver.balance import MANY, Balance, SearchBalance
from vkssp.solver.cost_measurement import measured_costs
from vkssp.solver.costs import HierarchyCosts, SearchCosts, table_work
from vkssp.solver.row_maker import RowBlock
from vkssp.solver.session import Session, is_of_pairs
from vkssp.solver.shared_graph import WeightsChange

# Predicted times on the CPU that differ by less than this factor belong to queries of the same size.
_SIZES = 4.0
# Least time of a node of rows that a device makes and the host sums up.
_LEAST_NODE_US = 1e-4

_Answer = TypeVar("_Answer")


class _Own(threading.local):
    """What each thread has of its own."""

    #: Session that answered the last query.
    answering: Session | None = None


_sessions: weakref.WeakSet[HybridSession] = weakref.WeakSet()


def _after_fork() -> None:
    # The device is the parent's, so that asking it raises an error; without this the CPU would answer some queries.
    for session in _sessions:
        session.forget_cpu()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class HybridSession(Resource):
    """Session of a device and one of the CPU; has the methods for queries of `Session`.

    Parameters
    ----------
    main : Session
        The session of the device; its graph has a companion.
    owner : Resource, optional
        Closes this object, but not the session of the device.
    """

    def __init__(self, main: Session, owner: Resource | None = None) -> None:
        super().__init__(owner)
        self._main, self._own, self._making = main, _Own(), threading.Lock()
        self._near: Session | None = None
        _sessions.add(self)
        device = main.device
        assert isinstance(device, Device)
        self._hierarchy = main.renumbered.hierarchy if main.shared.sweeps else None
        self._balances: defaultdict[tuple[str, int], Balance] = defaultdict(Balance)
        # Microseconds that queries have lost on the device while the CPU had no hierarchy for the present weights.
        self._lost_us = 0.0
        if self._hierarchy is None:
            costs = self._searches = measured_costs(device, SearchCosts)
            has_places = main.graph.lat is not None
            self._to_node, self._to_path = SearchBalance(costs, has_places), SearchBalance(costs, has_places)
            self._to_limit = SearchBalance(costs, can_predict=False)
        else:
            self._queries = measured_costs(device, HierarchyCosts)

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self._main.graph

    @property
    def answering(self) -> Session:
        """Session that has answered this thread's last query."""
        return self._own.answering or self._main

    def keeping(self) -> Claim:
        """Keep the weights unchanged for several queries; may be nested."""
        return self._main.keeping()

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs; see `SharedGraph.set_weights`."""
        self._main.change_weights(change)

    def warm_up(self) -> None:
        """Make what the first path needs in both places; otherwise the first queries do it."""
        self._main.warm_up()
        self.near().warm_up()

    def forget_cpu(self) -> None:
        """Do not use the session of the CPU any more; a fork of the process calls this."""
        self._near = None

    def near(self) -> Session:
        """Return the session of the CPU; make it on first use."""
        near = self._near
        if near is None or near.closed:
            self._main.check_open()
            # In this order: a thread that waits for a change of weights must not hold what others need before it.
            with self._main.weights.lock.reading(), self._making:
                near = self._near
                if near is None or near.closed:
                    near = self._near = Session(self._main.shared.companion(), AUTO, {}, 0, self)
        return near

    def distance(self, source: int, target: int) -> int:
        """Return the distance from one node to another; see `Session.distance`."""
        if self._hierarchy is not None:
            return self._pair_distance(source, target)
        near, searching, predicted = self._near or self.near(), self._to_node, 0.0

        def patience() -> int:
            nonlocal predicted
            predicted = self._predict(source, target)
            return searching.most if predicted < searching.far else 0

        try:
            found = near.distance(source, target, patience)
        except GivenUpError:
            return self._on_device(searching, predicted, lambda: self._main.distance(source, target))
        return self._ended(near, searching, found)

    def search_path(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Shortest | None:
        """Find the shortest path from any seed to any target; see `Session.search_path`."""
        if self._hierarchy is not None:
            return self._pair().search_path(seeds, targets)
        near, searching, predicted = self.near(), self._to_path, 0.0
        seeds, targets = pairs_of(seeds, "source"), pairs_of(targets, "target")

        def patience() -> int:
            nonlocal predicted
            predicted = self._predict(seeds[0][0], targets[0][0])
            return searching.most if predicted < searching.far else 0

        try:
            found = near.search_path(seeds, targets, patience)
        except GivenUpError:
            return self._on_device(searching, predicted, lambda: self._main.search_path(seeds, targets))
        return self._ended(near, searching, found)

    def search_paths(self, seeds: Groups, targets: Groups) -> FoundPaths:
        """Find the shortest path of each of many searches; see `Session.search_paths`."""
        count = len(seeds)
        if self._hierarchy is None:
            paths = [self.search_path(seeds[at], targets[at]) for at in range(count)]
            return FoundPaths.of(paths, self._main.distance_type)
        cpu_us, device_us = self._pair_us
        together = cpu_us * -(-count // num_cores()), device_us * -(-count // MOST_SLOTS)
        return self._ask("paths", *together, lambda session: session.search_paths(seeds, targets))

    def from_seeds(self, seeds: Sequence[Terminal], limit: int | None) -> Distances:
        """Return the distance from the best of some seeds to every node; see `Session.from_seeds`."""
        cpu_us, device_us = self._all_us
        if self._hierarchy is not None or limit is None or cpu_us < device_us:
            return self._ask("all", cpu_us, device_us, lambda session: session.from_seeds(seeds, limit))
        near, searching = self.near(), self._to_limit
        try:
            found = near.from_seeds(seeds, limit, lambda: searching.most)
        except GivenUpError:
            return self._on_device(searching, 0.0, lambda: self._main.from_seeds(seeds, limit))
        return self._ended(near, searching, found)

    def tree_from_seeds(self, seeds: Sequence[Terminal], limit: int | None) -> tuple[Distances, Uint32s]:
        """Return distances and the arcs of a shortest-path tree; see `Session.tree_from_seeds`."""
        return self._ask("tree", *self._all_us, lambda session: session.tree_from_seeds(seeds, limit))

    def for_all(self) -> Session:
        """Return the session that is faster for the distances of all nodes."""
        return self._faster("all", *self._all_us)

    def on_device(self) -> Session:
        """Return the session of the device."""
        self._own.answering = self._main
        return self._main

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of pairs of nodes, or None if rows are as fast; see `Session.fast_pairs`."""
        if self._hierarchy is None:
            return None
        return self._ask("pairs", *self._pairs_us(len(sources)), lambda session: session.fast_pairs(sources, targets))

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int | None = None,
        aggregates: Aggregates | None = None,
        trees: bool = False,
        into: Distances | None = None,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, some rows at a time; see `RowSource.row_blocks`."""
        rows, columns = len(seeds), graph.num_nodes if whole or trees else len(nodes)
        query = "trees" if trees else "table"
        if self._hierarchy is None:
            # Of a table on the device only the least time is known: that of one search.
            cpu_us, device_us = self._all_us
            cpu_us *= max(1.0, rows / num_cores())
            if aggregates is not None:
                query = "sums"
                device_us += rows * graph.num_nodes * _LEAST_NODE_US
                if limit is not None and limit != self._main.distance_type.unreachable and isinstance(seeds, Groups):
                    row_us = max(1e-6, self._searches.cpu_node_us) * max(1.0, rows / num_cores())
                    cpu_us = min(cpu_us, row_us * self.near().settled_nodes(seeds, limit, 2 * device_us / row_us))
        else:
            queries, size = self._queries, self._hierarchy.num_nodes
            work = table_work(rows, columns, self._upward, self._hierarchy.num_arcs)
            cpu_us = queries.cpu_select.of(size) + queries.cpu_row_us * work
            device_us = queries.device_select.of(size) + queries.device_row_us * work
            if not trees and self._main.makes_pairs(rows, columns):
                query, cpu_pairs_us = "small table", self._pairs_us(rows * columns)[0]
                device_us = self._pairs_us(rows * columns)[1]
                cpu_us = cpu_pairs_us if is_of_pairs(CPU, rows * columns, size) else cpu_us
        session, began = self._faster(query, cpu_us, device_us), time.perf_counter()
        # A small table is ready here.
        blocks = session.row_blocks(
            graph, seeds, nodes, whole=whole, limit=limit, aggregates=aggregates, trees=trees, into=into
        )
        spent = time.perf_counter() - began
        return self._timed(blocks, spent, lambda seconds: self._learn(query, session, cpu_us, device_us, seconds))

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Distances:
        """Return a new array for results; see `RowSource.empty`."""
        return self._main.empty(shape, dtype)

    def _timed(
        self, blocks: Generator[RowBlock, None, None], spent: float, learn: Callable[[float], None]
    ) -> Generator[RowBlock, None, None]:
        """Yield blocks of rows, and learn from the time that all of them have taken."""
        with closing(blocks):
            while True:
                began = time.perf_counter()
                block = next(blocks, None)
                spent += time.perf_counter() - began
                if block is None:
                    break
                yield block
        learn(spent)

    def _ended(self, near: Session, searching: SearchBalance, answer: _Answer) -> _Answer:
        """Return the answer of a search that the CPU has ended."""
        self._own.answering = near
        outcome = near.last
        if outcome is not None and outcome.counters["iterations"] >= MANY:
            searching.end(outcome)
        return answer

    def _predict(self, source: int, target: int) -> float:
        """Return about how many nodes a search will settle; 0 if nothing is known."""
        return 0.0 if self._nearness is None else self._nearness.predict(source, target)

    @cached_property
    def _nearness(self) -> Nearness | None:
        return None if self.graph.lat is None else Nearness(self.graph)

    def _on_device(self, searching: SearchBalance, predicted: float, ask: Callable[[], _Answer]) -> _Answer:
        """Return the answer of the device to a search of some predicted size, which the CPU has given up."""
        self._own.answering = self._main
        began = time.perf_counter()
        answer = ask()
        searching.on_device(predicted, 1e6 * (time.perf_counter() - began))
        return answer

    def _pair_distance(self, source: int, target: int) -> int:
        """Return the distance of a pair over a hierarchy."""
        near, (cpu_us, device_us) = self._near, self._pair_us
        # Without a look at locks and balances, which takes as long as a pair.
        if cpu_us < device_us and near is not None and (found := near.at_once(source, target)) is not None:
            self._own.answering = near
            return found
        return self._pair().distance(source, target)

    def _pair(self) -> Session:
        """Return the session that should answer a single pair sooner."""
        near, (cpu_us, device_us) = self._near, self._pair_us
        if cpu_us < device_us and near is not None and near.is_current:
            self._own.answering = near
            return near
        return self._faster("pair", cpu_us, device_us)

    def _ask(self, query: str, cpu_us: float, device_us: float, question: Callable[[Session], _Answer]) -> _Answer:
        """Return the answer of the session that should be faster, and learn from its time."""
        session = self._faster(query, cpu_us, device_us)
        began = time.perf_counter()
        answer = question(session)
        self._learn(query, session, cpu_us, device_us, time.perf_counter() - began)
        return answer

    def _learn(self, query: str, session: Session, cpu_us: float, device_us: float, seconds: float) -> None:
        is_near = session is not self._main
        self._balance(query, cpu_us).learn(is_near, cpu_us if is_near else device_us, 1e6 * seconds)

    def _balance(self, query: str, cpu_us: float) -> Balance:
        """Return what is known of a kind of query, apart for each size."""
        return self._balances[query, int(math.log(cpu_us + 1.0, _SIZES))]

    def _faster(self, query: str, cpu_us: float, device_us: float) -> Session:
        """Return the session that should answer a query sooner, given the times that costs predict."""
        gain_us = self._balance(query, cpu_us).gain_us(cpu_us, device_us)
        is_near = gain_us > 0
        if is_near and self._hierarchy is not None and (self._near is None or not self._near.is_current):
            # Customization for new weights pays once queries have lost as much without it.
            self._lost_us += gain_us
            is_near = self._lost_us >= self._queries.customize_us * self._hierarchy.num_arcs
            if is_near:
                self._lost_us = 0.0
        session = self.near() if is_near else self._main
        self._own.answering = session
        return session

    @cached_property
    def _all_us(self) -> tuple[float, float]:
        """Predicted time of all distances from a node, on the CPU and on the device."""
        if self._hierarchy is None:
            work = self._main.renumbered.num_nodes + self._main.renumbered.num_arcs
            return self._searches.cpu.of(work), self._searches.device.of(work)
        hierarchy = self._hierarchy
        return self._queries.cpu_tree.of(hierarchy.num_arcs), self._queries.device_tree.of(hierarchy.num_levels)

    @cached_property
    def _upward(self) -> float:
        assert self._hierarchy is not None
        return self._hierarchy.upward_work

    @cached_property
    def _pair_us(self) -> tuple[float, float]:
        work = 2 * self._upward
        return self._queries.cpu_pair.of(work), self._queries.device_pair.of(work)

    def _pairs_us(self, count: int) -> tuple[float, float]:
        work = 2 * self._upward * count
        return self._queries.cpu_pairs.of(work), self._queries.device_pairs.of(work)
