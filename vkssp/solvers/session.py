"""A session: an algorithm over a shared graph, made when it is needed, given back after failures."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from vkssp.checks import flag
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.solvers import ALGORITHMS
from vkssp.solvers.base import AUTO, MAX_TERMINALS, Algorithm, Outcome, Terminal, Walker
from vkssp.solvers.batch import Batch, most_searches
from vkssp.solvers.block_resident import BlockResident
from vkssp.solvers.choice import checked, choose
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.groups import Groups, checked_groups
from vkssp.solvers.phast import Phast
from vkssp.solvers.prepare import PreparedGraph
from vkssp.solvers.row_maker import OVERFLOW, RowMaker
from vkssp.solvers.shared import SharedGraph
from vkssp.solvers.sweeps import Sweeps, sweeps_at_once
from vkssp.solvers.terminals import checked_columns, terminals

# The part of a device's free memory up to which what makes many rows is kept for the next table.
_MOST_KEPT = 0.125


class Session(Resource):
    """What a solver does its searches with; see `vkssp.solver.Solver`, which has the questions that can be asked."""

    _counting: int
    _parameters: dict[str, int | None]

    def _begin(self, algorithm: str, shared: SharedGraph, began: float, uploaded_s: float) -> None:
        self._shared = shared.hold()
        self.device = shared.device
        self.last: Outcome | None = None
        self._download_s: float | None = None
        self._lock = threading.RLock()
        self._search: Algorithm | None = None
        self._walker: Walker | None = None
        self._kept: Batch | Sweeps | None = None
        super().__init__()
        try:
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

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep the weights as they are, and other threads off this solver, for several questions; may be nested."""
        self._check_open()  # of what a fork has inherited, locks may be held for ever
        # In this order: whoever waits until weights have changed must not keep a solver that others need before that.
        with self._shared.gate.searching(), self._lock:
            self._check_open()
            self._shared.mend()
            yield

    def change_weights(self, change: Callable[[Graph], tuple[Graph, npt.NDArray[np.int64] | None]]) -> None:
        """Change weights by a function, as soon as nobody searches; see `SharedGraph.set_weights`."""
        self._check_open()
        with self._lock:
            self._check_open()
            shared = self._shared.hold()
        # Without this solver's lock, which somebody may want whose search, of a clone, has to end first.
        try:
            shared.set_weights(change)
        finally:
            shared.release()

    def _algorithm(self) -> Algorithm:
        """Return the algorithm with its buffers, made when there is none, or none that suits the weights."""
        if self._search is not None and not self._search.is_current:
            self._discard()
            self.last = None  # its trace is gone
        if self._search is None:
            self._search = self._shared.algorithm(ALGORITHMS[self.algorithm], self._counting, self._parameters)
        return self._search

    def _discard(self) -> None:
        """Give back the algorithm's buffers; the next search makes new ones.

        After Ctrl-C or a failure nobody can tell what was recorded, submitted or waited for.
        """
        search, walker, self._search, self._walker = self._search, self._walker, None, None
        with contextlib.ExitStack() as stack:  # all of it, also where something fails
            for part in (search, walker):
                if part is not None:
                    stack.callback(part.close)

    def close(self) -> None:
        """Give back what this solver holds, once no other thread is using it; later calls do nothing."""
        if not self.inherited:
            with self._lock:
                super().close()

    def rows(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int = UNREACHABLE,
    ) -> Iterator[Uint32s]:
        """Return distances from seeds to nodes, a row for each group of seeds, some rows at a time.

        This is what all tables are made of. Where the algorithm is block_resident many searches go at once.

        Parameters
        ----------
        graph : Graph
            The graph of this session, with the weights that are meant.
        seeds : Groups or sequence of sequences of (int, int)
            For each row nodes, each with the weight between it and the place that is meant; a row without any is
            unreachable throughout.
        nodes : numpy.ndarray
            The nodes whose distances are wanted, shape (k,), uint32.
        whole : bool
            Whether rows are to hold the distances of all nodes of the graph.
        limit : int
            Distances beyond it count as unreachable, and are not looked for.

        Returns
        -------
        iterator of numpy.ndarray
            Blocks of rows, shape (rows, k) or (rows, num_nodes), uint32; 2**32 - 1 where no path leads.

        Raises
        ------
        QueryError
            If there is no such node, or while blocks are made, if weights have changed meanwhile.
        DistanceOverflowError
            While blocks are made, if a distance to one of the nodes does not fit into 32 bits.
        """
        nodes, limit = checked_columns(graph, nodes, limit)
        whole = flag(whole, "whole")
        with self.holding():
            groups = checked_groups(self._prepared, seeds)
        return self.row_maker(graph, nodes, len(groups), whole=whole, limit=limit).once(groups)

    def row_maker(
        self, graph: Graph, nodes: Uint32s, total: int, *, whole: bool = False, limit: int = UNREACHABLE
    ) -> RowMaker:
        """Return what makes rows as `rows` does, some of `total` at a time; it is to be closed in the end."""
        return RowMaker(self, graph, nodes, total, whole, limit)

    def take_kept(self) -> Batch | Sweeps | None:
        """Return what `keep` kept, which is the caller's then; this session is held."""
        kept, self._kept = self._kept, None
        return kept

    def keep(self, maker: Batch | Sweeps) -> None:
        """Keep what makes many rows for the next table, if it is small, or else close it."""
        closes: Batch | Sweeps | None = maker
        # Whoever has the lock may be searching for long, or wait for this table to end.
        if self._lock.acquire(blocking=False):
            try:
                if (
                    not self.closed
                    and not maker.closed
                    and maker.memory_bytes <= _MOST_KEPT * maker.device.free_bytes()
                ):
                    closes, self._kept = self._kept, maker
            finally:
                self._lock.release()
        if closes is not None:
            closes.close()

    def rows_at_once(self, rows: int, wanted: int) -> int:
        """Return how many of some rows of so many nodes are made at once; less than 2 where one after the other."""
        graph = self._shared.graph
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
            stack.callback(self._shared.release)
            stack.callback(self._discard)
            if kept is not None:
                stack.callback(kept.close)
