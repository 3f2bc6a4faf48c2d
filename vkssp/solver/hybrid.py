"""Session of a Vulkan device with the CPU as its companion: each query goes to the place that answers it first.

Queries over a hierarchy, and searches for all distances, have a known amount of work. They go to the place that does it
in less time, see `vkssp.solver.costs`. How far a search without a hierarchy goes until it reaches its target is not
known before. It begins on the CPU; if it has not ended after a head start, the device begins the same search, and the
first answer counts. The answers are the same, bit for bit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from typing import TypeVar

from vkssp.algorithm import AUTO, Outcome, Terminal
from vkssp.cpu.cores import num_cores
from vkssp.errors import DeviceError
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.locks import Claim
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource
from vkssp.solver.cost_measurement import measured_costs
from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts, table_work, upward_work
from vkssp.solver.helper import Attempt, Helper
from vkssp.solver.row_maker import RowBlock
from vkssp.solver.session import Session, Shortest
from vkssp.solver.shared_graph import WeightsChange

# A head start is so many times what starting the device costs a search on the CPU, at most and at least.
_MOST_HEAD_START, _LEAST_HEAD_START = 10.0, 0.25

_log = logging.getLogger("vkssp")
_Answer = TypeVar("_Answer")


class _Own(threading.local):
    """What each thread has of its own."""

    #: Session that answered the last query.
    answering: Session | None = None


class HybridSession(Resource):
    """Session of a device and, if that answers sooner, one of the CPU; has the methods for queries of `Session`.

    Parameters
    ----------
    main : Session
        The session of the device; its graph has a companion.
    owner : Resource, optional
        Closes this object, but not the session of the device.

    Attributes
    ----------
    main : Session
        The session of the device.
    """

    def __init__(self, main: Session, owner: Resource | None = None) -> None:
        super().__init__(owner)
        self.main = main
        device, sweeps = main.device, main.shared.sweeps
        assert isinstance(device, Device)
        self._searches = None if sweeps else measured_costs(device, SearchCosts)
        self._queries = measured_costs(device, HierarchyCosts) if sweeps else None
        self._own = _Own()
        self._making = threading.Lock()
        self._near: Session | None = None
        self._helper: Helper | None = None
        # Microseconds that queries have lost on the device while the CPU had no hierarchy for the present weights.
        self._lost_us = 0.0
        self._head_start = _MOST_HEAD_START

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self.main.graph

    @property
    def renumbered(self) -> RenumberedGraph:
        """The prepared graph, with the current weights."""
        return self.main.renumbered

    @property
    def answering(self) -> Session:
        """Session that has answered this thread's last query."""
        return self._own.answering or self.main

    def check_open(self) -> None:
        """Raise an error if the session or its device has been closed, or belongs to another process."""
        self.main.check_open()

    def holding(self) -> Claim:
        """Keep the weights unchanged for several queries; may be nested."""
        self.main.check_open()
        return self.main.weights.lock.reading()

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs; see `SharedGraph.set_weights`."""
        self.main.change_weights(change)

    def best(self, seeds: list[Terminal], targets: list[Terminal]) -> int:
        """Search for targets, and return the distance to the best of them; see `Session.best`."""
        return self._to_targets(seeds, targets, lambda session, outcome: session.best_of(outcome, targets))

    def shortest(self, seeds: list[Terminal], targets: list[Terminal]) -> Shortest | None:
        """Search for targets, and return the shortest path; see `Session.shortest`."""
        return self._to_targets(seeds, targets, lambda session, outcome: session.shortest_of(outcome, seeds, targets))

    def _to_targets(
        self, seeds: list[Terminal], targets: list[Terminal], read: Callable[[Session, Outcome], _Answer]
    ) -> _Answer:
        """Search for targets where the answer comes first, and return what a function reads from the search."""
        if self._searches is not None and targets:
            return self._race(self._searches, seeds, targets, UNREACHABLE, read)
        pairs = len(seeds) * len(targets)
        session = self._over_hierarchy("pairs", 2 * pairs * self._upward) if pairs else self.for_all()
        with session.holding():
            return read(session, session.run(seeds, targets))

    def all_distances(self, seeds: list[Terminal], limit: int) -> Uint32s:
        """Search, and return the distance from the best seed to every node; see `Session.all_distances`."""
        session = self.for_all()
        if self._searches is not None and session is self.main and limit != UNREACHABLE:
            return self._race(
                self._searches, seeds, [], limit, lambda session, outcome: session.all_distances_of(outcome, limit)
            )
        with session.holding():
            return session.all_distances(seeds, limit)

    def for_all(self) -> Session:
        """Return the session that is faster for the distances of all nodes."""
        if self._searches is None:
            return self._over_hierarchy("tree", self._num_arcs)
        is_near = self._searches.cpu.of(self._work) < self._searches.device.of(self._work)
        return self._answered_by(self.near() if is_near else self.main)

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int = UNREACHABLE,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, some rows at a time; see `RowSource.row_blocks`."""
        rows, columns = len(seeds), graph.num_nodes if whole else len(nodes)
        if self._searches is None:
            work = table_work(rows, columns, self._upward, self._num_arcs)
            session = self._over_hierarchy("table", work)
        else:
            # Of a table on the device only its least time is known: that of one search.
            cpu_us = self._searches.cpu.of(self._work) * max(1.0, rows / num_cores())
            session = self._answered_by(self.near() if cpu_us < self._searches.device.of(self._work) else self.main)
        return session.row_blocks(graph, seeds, nodes, whole=whole, limit=limit)

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of pairs of nodes, or None if rows are as fast; see `Session.fast_pairs`."""
        if self._searches is not None:
            return None
        return self._over_hierarchy("pairs", 2 * len(sources) * self._upward).fast_pairs(sources, targets)

    def warm_up(self) -> None:
        """Make what the first path needs in both places; otherwise the first queries do it."""
        self.main.warm_up()
        self.near().warm_up()

    def near(self) -> Session:
        """Return the session of the CPU; make it on first use."""
        with self._making:
            if self._near is None or self._near.closed:
                self._near = Session(self.main.shared.companion(), AUTO, {}, 0, self)
            return self._near

    @cached_property
    def _work(self) -> int:
        return self.renumbered.num_nodes + self.renumbered.num_arcs

    @cached_property
    def _num_arcs(self) -> int:
        assert self.renumbered.hierarchy is not None
        return self.renumbered.hierarchy.num_arcs

    @cached_property
    def _upward(self) -> float:
        assert self.renumbered.hierarchy is not None
        return upward_work(self.renumbered.hierarchy)

    def _answered_by(self, session: Session) -> Session:
        self._own.answering = session
        return session

    def _over_hierarchy(self, query: str, work: float) -> Session:
        """Return the session that answers a kind of query over the hierarchy sooner, given its work."""
        costs = self._queries
        assert costs is not None
        cpu: Line = getattr(costs, f"cpu_{query}")
        device: Line = getattr(costs, f"device_{query}")
        gain_us = device.of(work) - cpu.of(work)
        if gain_us <= 0:
            return self._answered_by(self.main)
        if self._near is None or not self._near.is_current:
            # Customization for new weights pays once that many queries would have lost as much without it.
            self._lost_us += gain_us
            if self._lost_us < costs.customize_us * self._num_arcs:
                return self._answered_by(self.main)
            self._lost_us = 0.0
        return self._answered_by(self.near())

    def _race(
        self,
        costs: SearchCosts,
        seeds: list[Terminal],
        targets: list[Terminal],
        limit: int,
        read: Callable[[Session, Outcome], _Answer],
    ) -> _Answer:
        """Search on the CPU and, after its head start, also on the device; return what is read from the first."""
        near, main = self.near(), self.main
        with near.holding():
            most = self._head_start * costs.start_us / costs.cpu_node_us
            outcome = near.begin(seeds, targets, limit, int(most))
            if outcome is None:

                def on_device() -> _Answer:
                    with main.holding():
                        return read(main, main.run(seeds, targets, limit))

                attempt = Attempt(on_device, (DeviceError,))
                # A change of weights that waits for this search must not keep the helper from reading them.
                with main.weights.lock.helped():
                    try:
                        self._helping().put(attempt)
                        outcome = near.resume(attempt.is_answered)
                    finally:
                        attempt.is_dropped = True
                if outcome is None:
                    self._head_start = max(self._head_start / 2, _LEAST_HEAD_START)
                    self._answered_by(main)
                    found: _Answer = attempt.answer()
                    return found
                if attempt.error is not None:
                    _log.warning("the CPU answered alone: %s", attempt.error)
            self._head_start = min(self._head_start * 2, _MOST_HEAD_START)
            self._answered_by(near)
            return read(near, outcome)

    def _helping(self) -> Helper:
        with self._making:
            if self._helper is None or self._helper.closed:
                self._helper = Helper(self)
            return self._helper
