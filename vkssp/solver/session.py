"""A session: an algorithm over a shared graph, made when it is needed, given back after failures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO, MAX_TERMINALS, Algorithm, Labels, Outcome, Terminal, Walker
from vkssp.algorithms.block_resident import BlockResident
from vkssp.algorithms.choice import checked, choose
from vkssp.algorithms.phast import Phast
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.batch.rows import Batch, most_searches
from vkssp.batch.sweeps import Sweeps, sweeps_at_once
from vkssp.checks import flag
from vkssp.engine.device_graph import DeviceGraph
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.locks import ReentrantLock
from vkssp.prepared.renumbered import PreparedGraph
from vkssp.prepared.seed_groups import Groups, checked_groups
from vkssp.prepared.terminals import checked_columns, terminals
from vkssp.resource import Resource
from vkssp.solver.row_maker import OVERFLOW, RowBlock, RowMaker
from vkssp.solver.shared_graph import SharedGraph, SharedWeights, WeightsChange

if TYPE_CHECKING:
    from vkssp.cpu import HostGraph

# The part of a device's free memory up to which what makes many rows is kept for the next table.
_MOST_KEPT = 0.125


@dataclass(eq=False)
class Workspace:
    """The algorithm of a session, and what was made from it.

    Attributes
    ----------
    graph : DeviceGraph or HostGraph
        The copy of the graph that it searches.
    algorithm : Algorithm
        The algorithm with its buffers.
    walker : Walker or None
        Reads paths off its distances; made for the first path.
    labels : Labels or None
        Finds the nearest of many seeds; made when first asked for.
    """

    graph: DeviceGraph | HostGraph
    algorithm: Algorithm
    walker: Walker | None = None
    labels: Labels | None = None

    def close(self) -> None:
        """Close the algorithm, and what was made from it before that, also where something fails."""
        with contextlib.ExitStack() as stack:
            for part in (self.algorithm, self.walker, self.labels):
                if part is not None:
                    stack.callback(part.close)


class Session(Resource):
    """What a solver does its searches with; see `Solver`, which has the questions that can be asked."""

    _counting: int
    _parameters: dict[str, int | None]

    def _begin(self, algorithm: str, shared: SharedGraph, began: float, uploaded_s: float) -> None:
        self._shared, self._hold = shared, object()
        self.device = shared.device
        self.last: Outcome | None = None
        self._download_s: float | None = None
        self._lock = ReentrantLock()
        self._workspace: Workspace | None = None
        self._kept: tuple[Batch | Sweeps, object] | None = None
        super().__init__()
        try:
            shared.hold(self._hold)
            with self.holding():
                # In the whole graph, of which a core has the numbering, but not the degrees.
                self.algorithm = algorithm
                if algorithm == AUTO:
                    sweeps = shared.sweeps
                    self.algorithm = Phast.NAME if sweeps else choose(self._prepared, shared.largest_buffer)
                self._parameters = self._parameters or checked(self.algorithm, {})
                self._algorithm()
        except BaseException:
            self.close()
            raise
        self._upload_s = self.device.upload_s - uploaded_s
        self._setup_s = time.perf_counter() - began - self._upload_s

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self._prepared.graph

    @property
    def core_nodes(self) -> int | None:
        """Number of nodes that are searched, where a reduction left fewer; None where there is no reduction."""
        return self._shared.core_nodes

    @property
    def _prepared(self) -> PreparedGraph:
        return self._shared.prepared

    @property
    def weights(self) -> SharedWeights:
        """The weights that searches have, shared with all clones."""
        return self._shared.weights

    def share_weights(self, weights: SharedWeights) -> None:
        """Have the weights of other copies of the graph from now on; before the solver is used by anybody else."""
        self._shared.weights = weights

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep the weights as they are, and other threads off this solver, for several questions; may be nested."""
        self._check_open()  # of what a fork has inherited, locks may be held for ever
        # In this order: whoever waits until weights have changed must not keep a solver that others need before that.
        with self._shared.weights.lock.reading(), self._lock.held():
            self._check_open()
            self._shared.mend()
            yield

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as nobody searches; see `SharedGraph.set_weights`."""
        self._check_open()
        shared, hold = self._shared, object()
        try:
            try:
                with self._lock.held():
                    self._check_open()
                    shared.hold(hold)
                # Without this solver's lock, which somebody may want whose search, of a clone, has to end first.
                shared.set_weights(change)
            finally:
                shared.release(hold)
        finally:
            shared.release(hold)  # an interrupt skips one of them at most

    def copy_weights(self, prepared: PreparedGraph, changed: npt.NDArray[np.int64] | None) -> None:
        """Write weights that are to hold, while nobody searches; see `SharedGraph.put`."""
        self._shared.put(prepared, changed)

    def _algorithm(self) -> Algorithm:
        """Return the algorithm with its buffers, made when there is none, or none that suits the weights."""
        return self._work().algorithm

    def _work(self) -> Workspace:
        """Return the workspace on the copy of the graph that has the weights that hold."""
        graph, work = self._shared.graph, self._workspace
        if work is not None and not (work.graph is graph and work.algorithm.is_current):
            self._discard()
            self.last = work = None  # its trace is gone
        if work is None:
            algorithm = self._shared.algorithm(ALGORITHMS[self.algorithm], self._counting, self._parameters)
            work = self._workspace = Workspace(graph, algorithm)
        return work

    def _discard(self) -> None:
        """Give back the algorithm's buffers; the next search makes new ones.

        After Ctrl-C or a failure nobody can tell what was recorded, submitted or waited for.
        """
        if self._workspace is not None:
            try:
                self._workspace.close()
            finally:
                self._workspace = None

    def close(self) -> None:
        """Give back what this solver holds, once no other thread is using it; later calls do nothing."""
        if not self.inherited:
            with self._lock.held():
                super().close()

    @property
    def copy(self) -> DeviceGraph | HostGraph:
        """The copy of the graph that is searched; another one where it had to be made anew."""
        return self._shared.graph

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int = UNREACHABLE,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, a row for each group of seeds, some rows at a time; see `Tables`."""
        nodes, limit = checked_columns(graph, nodes, limit)
        whole = flag(whole, "whole")
        with self.holding():
            groups = checked_groups(self._prepared, seeds)
        return self.row_maker(graph, nodes, len(groups), whole=whole, limit=limit).once(groups)

    def row_maker(
        self, graph: Graph, nodes: Uint32s, total: int, *, whole: bool = False, limit: int = UNREACHABLE
    ) -> RowMaker:
        """Return what makes rows as `row_blocks` does, some of `total` at a time; it is to be closed in the end."""
        return RowMaker(self, graph, nodes, total, whole, limit)

    def take_kept(self) -> Batch | Sweeps | None:
        """Return what `keep` kept, which is the caller's then; this session is held."""
        kept, self._kept = self._kept, None
        if kept is None:
            return None
        maker, copy = kept
        if copy is self.copy:
            return maker
        maker.close()
        return None

    def keep(self, maker: Batch | Sweeps, copy: object) -> None:
        """Keep what makes many rows on a copy of the graph for the next table, if it is small, or else close it."""
        closes: Batch | Sweeps | None = maker
        # Whoever has the lock may be searching for long, or wait for this table to end.
        with self._lock.held_if_free() as is_held:
            is_open = is_held and not self.closed and not maker.closed
            if is_open and maker.memory_bytes <= _MOST_KEPT * maker.device.free_bytes():
                closes = None if self._kept is None else self._kept[0]
                self._kept = maker, copy
        if closes is not None:
            closes.close()

    def rows_at_once(self, rows: int, wanted: int) -> int:
        """Return how many of some rows of so many nodes are made at once; less than 2 where one after the other."""
        graph = self.copy
        if self.algorithm == Phast.NAME and isinstance(graph, DeviceGraph) and wanted:
            return sweeps_at_once(graph, rows, wanted)
        if self.algorithm != BlockResident.NAME or not isinstance(graph, DeviceGraph) or not wanted:
            return 1
        return most_searches(graph, rows, wanted, self._parameters)

    def pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of pairs of nodes, None where rows are as good; see `Tables.distances_between`."""
        with self.holding():
            return self._between(sources, targets)

    def _between(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        algorithm, node = self._algorithm(), self._prepared.node
        if not isinstance(algorithm, Phast):
            return None
        try:
            found, overflow = algorithm.between(node[sources], node[targets])
        except BaseException:
            self._discard()
            raise
        for pair in np.flatnonzero(overflow & (found == UNREACHABLE)):
            self._best([(int(node[sources[pair]]), 0)], [(int(node[targets[pair]]), 0)])
        return found

    def _best(self, seeds: list[Terminal], targets: list[Terminal]) -> int:
        outcome = self._run(seeds, targets)
        if outcome.best == UNREACHABLE and outcome.overflow:
            found = self._algorithm().read()
            beyond = self._prepared.beyond(found)
            if any(found[node] != UNREACHABLE or beyond[node] for node, _ in targets):
                raise DistanceOverflowError(OVERFLOW)
        return outcome.best

    def _run(self, seeds: list[Terminal], targets: list[Terminal]) -> Outcome:
        self.last = None  # what fails has no outcome
        try:
            self.last = self._algorithm().search(seeds, targets)
        except BaseException:
            self._discard()
            raise
        return self.last

    def _terminals(
        self, seeds: Sequence[Terminal], targets: Sequence[Terminal]
    ) -> tuple[list[Terminal], list[Terminal]]:
        # Who looks for no target may have any number of seeds.
        ends = terminals(self._prepared, targets, "target")
        return terminals(self._prepared, seeds, "source", MAX_TERMINALS if ends else None), ends

    def _check_open(self) -> None:
        if self.closed:
            raise QueryError("this solver has been closed; make another")
        _ = self.device.handle  # an error if the device has been closed, or belongs to another process

    def _release(self) -> None:
        kept, self._kept = self._kept, None
        with contextlib.ExitStack() as stack:
            stack.callback(self._shared.release, self._hold)
            stack.callback(self._discard)
            if kept is not None:
                stack.callback(kept[0].close)
