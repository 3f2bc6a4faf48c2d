"""Session of a solver: the algorithm on one copy of a graph, made when it is needed and discarded after failures."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO, CPU, VULKAN, Algorithm, Outcome, Reader, Terminal, Voronoi, Walker
from vkssp.algorithms.block_resident import BlockResident
from vkssp.algorithms.choice import checked, choose
from vkssp.algorithms.phast import Phast, PhastWalker
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.batch.block_resident_rows import BlockResidentRows, most_searches
from vkssp.batch.device_rows import DeviceRows
from vkssp.batch.label_table import LabelTable, label_rows_at_once
from vkssp.batch.sweep_batch import SweepBatch, sweeps_at_once
from vkssp.cch import query_pairs
from vkssp.checks import flag
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.dijkstra import Dijkstra, GivenUpError
from vkssp.cpu.meeting_rows import MeetingRows, meetings_suit
from vkssp.cpu.phast import PhastCpu
from vkssp.cpu.rows import Rows, SearchRows, SweepRows, WideSearchRows, rows_at_once, searches_suit, settled_nodes
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.gather import Gather
from vkssp.errors import DeviceError, DistanceOverflowError, QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.host_memory import host_blocks
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import Distances
from vkssp.graph.units import Units
from vkssp.hierarchy.labels import MANY_PAIRS
from vkssp.locks import Claim, ReentrantLock, claim
from vkssp.memory import SMALL
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.found_paths import FoundPaths, Shortest
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups, checked_groups
from vkssp.prepared.terminals import checked_columns, ends_of, pairs_of, terminal, terminals
from vkssp.resource import Resource
from vkssp.solver.micro_batches import MicroBatches, Waiting
from vkssp.solver.row_maker import RowBlock, RowMaker
from vkssp.solver.session_batch import PairsQuestion, PathQuestion, TreeQuestion, answer_pairs, find_together
from vkssp.solver.shared_graph import SharedGraph, SharedWeights, WeightsChange
from vkssp.solver.tree_reader import TreeReader, tree_arcs_of

#: Makers of many rows on the CPU, by algorithm and bits of distances.
CPU_ROWS: dict[tuple[str, int], type[Rows]] = {
    (Dijkstra.NAME, 32): SearchRows,
    (Dijkstra.NAME, 64): WideSearchRows,
    (PhastCpu.NAME, 32): SweepRows,
}
# Nodes of a graph that the preparation of a table over a hierarchy, by the host, looks at in the time of a pair.
_NODES_A_PAIR = {VULKAN: 4, CPU: 256}
# Fewest trees that are found sooner by sweeps at once than one after the other, most of them, and fewest nodes of a
# graph with which trees wait for each other at all: with 170,000 nodes isochrones took longer so. The bound is a guess.
_FEW_TREES, _MOST_TREES, NODES_OF_TREES = 4, 32, 1 << 20
#: Is asked by a search on the CPU, once it has settled some nodes, for the number at which it gives up.
Patience = Callable[[], int]
#: `Algorithm.search`, or what takes its place.
Search = Callable[..., Outcome]
_NO_ARCS = np.zeros(0, np.int64)
#: A batch is kept for the next table up to this part of a device's free memory.
MOST_KEPT = 0.125


def is_of_pairs(place: str, pairs: int, num_nodes: int) -> bool:
    """Return whether a table over a hierarchy is so small that pairs take less time than rows by sweeps or on a CPU."""
    return pairs * _NODES_A_PAIR[place] <= num_nodes


@dataclass(eq=False)
class Workspace:
    """Algorithm of a session, with its walker and its labels.

    Attributes
    ----------
    graph : DeviceGraph or CpuGraph
        The copy of the graph that the algorithm searches.
    algorithm : Algorithm
        The algorithm with its buffers.
    walker : Walker or None
        Reads paths off the distances; made for the first path.
    voronoi : Voronoi or None
        Finds the nearest of many seeds; made on first use.
    tree_reader : TreeReader or None
        Reads shortest-path trees; made on first use.
    reader : Reader or None
        Reads the distances of all nodes of a large graph, by the caller's ids; made on first use.
    sweeps : SweepBatch or None
        Finds the distances from several sources to all nodes at once; made on first use.
    process : int
        The process that made the workspace. In a fork of it, a search of another thread may have been interrupted.
    """

    graph: DeviceGraph | CpuGraph
    algorithm: Algorithm
    walker: Walker | None = None
    voronoi: Voronoi | None = None
    tree_reader: TreeReader | None = None
    reader: Reader | None = None
    sweeps: SweepBatch | None = None
    process: int = field(default_factory=os.getpid)

    def close(self) -> None:
        """Close all parts, the algorithm last, even if one of them fails."""
        with contextlib.ExitStack() as stack:
            for part in (self.algorithm, self.walker, self.voronoi, self.tree_reader, self.reader, self.sweeps):
                if part is not None:
                    stack.callback(part.close)


class Session(Resource):
    """Owner of the buffers of one solver's searches; one thread at a time has access to them.

    Parameters
    ----------
    shared : SharedGraph
        The graph, which other sessions may also search.
    name : str
        Name of the algorithm, or ``"auto"``.
    parameters : dict of str to int
        Parameters of the algorithm; empty if the session chooses the algorithm.
    counting : int
        Counters of searches, as an index into `vkssp.algorithm.COUNTING`.
    owner : Resource, optional
        Closes the session.

    Attributes
    ----------
    name : str
        Name of the algorithm, also if the session has chosen it.
    distance_type : DistanceType
        Type of the distances.
    last : Outcome or None
        Outcome of the last search.
    download_s : float or None
        Seconds that the last download of all distances took.
    lock : ReentrantLock
        Held by the thread that uses the session.
    micro_batches : MicroBatches
        Questions of threads that wait for the device; only those by a hierarchy on a device are answered together.
    """

    def __init__(
        self,
        shared: SharedGraph,
        name: str,
        parameters: dict[str, int | None],
        counting: int,
        owner: Resource | None = None,
    ) -> None:
        self.shared, self.device, self.counting = shared, shared.device, counting
        self.distance_type, self._unreachable = shared.distance_type, shared.distance_type.unreachable
        self.last: Outcome | None = None
        self.download_s: float | None = None
        self._hold = object()
        self.lock = ReentrantLock()
        self.micro_batches = MicroBatches()
        self._workspace: Workspace | None = None
        self._pairs: PhastCpu | None = None
        self._kept: tuple[BlockResidentRows | LabelTable | SweepBatch | Rows, object] | None = None
        self._taken = -1, 0  # serial number of the maker that was kept last, and how often it had grown
        super().__init__(owner)
        try:
            shared.hold(self._hold)
            with self.holding():
                # Chosen for the whole graph: its core has the same numbering, but other degrees.
                self.name = name
                if name == AUTO:
                    self.name = self._chosen()
                self.parameters = parameters or checked(self.name, {}, shared.place, shared.distance_type)
                self.algorithm()
        except BaseException:
            self.close()
            raise

    def _chosen(self) -> str:
        """Return the name of the algorithm that should be the fastest for this graph in this place."""
        if self.shared.sweeps:
            return Phast.NAME
        if self.shared.place == CPU:
            return Dijkstra.NAME
        limits = self.shared.largest_buffer, self.shared.most_bindings
        free = self.shared.free_bytes
        return choose(self.renumbered, *limits, self.distance_type, splits=self.shared.splits, free_bytes=free)

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self.shared.weights.renumbered.graph

    @property
    def renumbered(self) -> RenumberedGraph:
        """The prepared graph, with the current weights."""
        return self.shared.renumbered

    @property
    def weights(self) -> SharedWeights:
        """The weights of searches, shared with all clones."""
        return self.shared.weights

    def share_weights(self, weights: SharedWeights) -> None:
        """Share the weights of other copies of the graph from now on; call this before any other use of the solver."""
        self.shared.weights = weights

    def keeping(self) -> Claim:
        """Keep the weights unchanged for several queries, while other threads may use this session; may be nested."""
        self.check_open()
        return self.weights.lock.reading()

    def holding(self) -> Claim:
        """Keep the weights unchanged, and other threads off this session, for several queries; may be nested."""
        self.check_open()
        return claim(self._begin)

    def _begin(self, held: threading.Lock) -> bool:
        # In this order: a thread that waits for a change of weights must not hold a solver that others need before it.
        self.shared.weights.lock.read(held)
        self.lock.hold(held)
        self.check_open()
        self.shared.rebuild()
        return True

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs; see `SharedGraph.set_weights`."""
        self.check_open()
        shared, hold = self.shared, object()
        self._pairs = None  # the function may not search
        try:
            try:
                with self.lock.held():
                    self.check_open()
                    shared.hold(hold)
                # Without this solver's lock: a thread may wait for it during a clone's search, which must end first.
                shared.set_weights(change)
            finally:
                shared.release(hold)
        finally:
            shared.release(hold)  # an interrupt skips at most one of the two calls

    def copy_weights(self, renumbered: RenumberedGraph, changed: npt.NDArray[np.int64] | None) -> None:
        """Write the weights that will be current, while no search runs; see `SharedGraph.put`."""
        self.shared.put(renumbered, changed)

    def algorithm(self) -> Algorithm:
        """Return the algorithm with its buffers; make it if there is none, or none that suits the weights."""
        return self.work().algorithm

    def work(self) -> Workspace:
        """Return the workspace on the copy of the graph with the current weights."""
        graph, work = self.shared.graph, self._workspace
        if work is not None and not (work.graph is graph and work.algorithm.is_current and work.process == os.getpid()):
            self.discard()
            self.last = work = None  # its trace is gone
        if work is None:
            algorithm = self.shared.algorithm(ALGORITHMS[self.name][self.shared.place], self.counting, self.parameters)
            work = self._workspace = Workspace(graph, algorithm)
        return work

    def discard(self) -> None:
        """Free the algorithm's buffers; the next search makes new ones.

        After Ctrl-C or a failure it is unknown which work was recorded, submitted or waited for.
        """
        self._pairs = None
        if self._workspace is not None:
            try:
                self._workspace.close()
            finally:
                self._workspace = None

    def read(self) -> Distances:
        """Return the distances of the last search, by the node numbers of the prepared graph."""
        began = time.perf_counter()
        found = self.algorithm().read()
        self.download_s = time.perf_counter() - began
        return found

    @property
    def is_current(self) -> bool:
        """Whether the next query has no work for the present weights, such as that of customizing a hierarchy."""
        work, graph = self._workspace, self.shared.graph
        is_made = work is not None and work.graph is graph and work.algorithm.is_current
        is_made = is_made or (isinstance(graph, CpuGraph) and graph.is_customized)
        return is_made and graph.has_weights_of is self.renumbered

    def warm_up(self) -> None:
        """Find a path, and so make what the first path needs."""
        with self.holding():
            self.walker()  # also if the graph has no nodes
            if self.graph.num_nodes:
                self.search_path([(0, 0)], [(0, 0)])
                self.last = None

    def for_all(self) -> Session:
        """Return this session, which finds the distances of all nodes."""
        return self

    def on_device(self) -> Session:
        """Return this session, whose device the solver has."""
        return self

    @property
    def answering(self) -> Session:
        """Session that has answered the last query: this one."""
        return self

    def walker(self) -> Walker:
        """Return the walker that reads paths off the distances of the algorithm; make it on first use."""
        work = self.work()
        if work.walker is None:
            work.walker = work.algorithm.walker()
        return work.walker

    def voronoi(self, num_seeds: int) -> Voronoi:
        """Return the labels of the algorithm; make them if there are none, or none for so many seeds."""
        work = self.work()
        if work.voronoi is not None and work.voronoi.most_seeds < num_seeds:
            work.voronoi.close()
        if work.voronoi is None or work.voronoi.closed:
            work.voronoi = work.algorithm.voronoi(1 << (num_seeds - 1).bit_length())
        return work.voronoi

    def tree_reader(self) -> TreeReader:
        """Return the reader of the trees of the algorithm's searches; make it on first use."""
        work = self.work()
        if work.tree_reader is None or work.tree_reader.closed:
            work.tree_reader = TreeReader(work.graph, 1, self.distance_type, work.algorithm)
        return work.tree_reader

    def close(self) -> None:
        """Release the resources of this session, once no other thread uses it; later calls do nothing."""
        if not self.inherited:
            with self.lock.held():
                super().close()

    @property
    def copy(self) -> DeviceGraph | CpuGraph:
        """Copy of the graph that is searched; a new one after a rebuild."""
        return self.shared.graph

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
        into: Distances | DeviceRows | None = None,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, a row for each group of seeds, some rows at a time; see `RowSource`.

        Rows may also be put on the device; blocks have no columns then.
        """
        nodes, most = checked_columns(graph, nodes, limit, self.distance_type)
        whole = flag(whole, "whole")
        with self.keeping() if self._asks_with_others else self.holding():
            groups = checked_groups(self.renumbered, seeds, self.distance_type)
            kept = None if self._kept is None else self._kept[0]
            is_kept = isinstance(kept, Rows) and kept.suits(self.renumbered.node[nodes], len(groups), most)
            block = (
                None if whole or trees or is_kept or self.graph is not graph else self._by_pairs(groups, nodes, most)
            )
        if block is not None and isinstance(into, DeviceRows):
            into.put_values(block.distances)
        if block is not None:
            return (one for one in (block,))
        maker = self.row_maker(graph, nodes, len(groups), whole=whole, limit=most, aggregates=aggregates, trees=trees)
        return maker.once(groups, into)

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Distances:
        """Return a new array for results; see `RowSource.empty`."""
        if self.shared.place == CPU:
            return np.empty(shape, dtype)
        found: Distances = host_blocks.array(dtype.itemsize * shape[0] * shape[1]).view(dtype).reshape(shape)
        return found

    def _by_pairs(self, groups: Groups, nodes: Uint32s, limit: int) -> RowBlock | None:
        """Return a small table, each entry found as a pair; None if the table is large, or a distance overflows."""
        pairs = len(groups.node) * len(nodes)
        if self.name != Phast.NAME or not pairs or not np.diff(groups.first).all():
            return None
        if not self.makes_pairs(len(groups.node), len(nodes)):
            return None
        sources, row = np.unique(self.renumbered.node[groups.node], return_inverse=True)
        of_table = np.repeat(sources, len(nodes)), np.tile(self.renumbered.node[nodes], len(sources))
        found, overflow = self._between(*of_table)
        between = found.reshape(len(sources), len(nodes)).astype(np.uint64)[row]
        sums = between + groups.offset[:, None]
        is_reached = between != UNREACHABLE
        if overflow.any() or (sums[is_reached] >= UNREACHABLE).any():
            return None
        sums[~is_reached] = UNREACHABLE
        best = np.minimum.reduceat(sums, groups.first[:-1].astype(np.int64), axis=0).astype(np.uint32)
        best[best > limit] = UNREACHABLE
        return RowBlock(best)

    def makes_pairs(self, rows: int, columns: int) -> bool:
        """Return whether a table over a hierarchy is so small that its entries are found as pairs."""
        if not is_of_pairs(self.shared.place, rows * columns, self.renumbered.num_nodes):
            return False
        graph, hierarchy = self.copy, self.renumbered.hierarchy
        if not isinstance(graph, DeviceGraph) or hierarchy is None:
            return True
        return (
            not query_pairs.pays(graph.device, hierarchy, rows * columns)
            or label_rows_at_once(graph, rows, columns) < 2
        )

    def _between(self, sources: Uint32s, targets: Uint32s) -> tuple[Uint32s, npt.NDArray[np.bool_]]:
        """Return the distances of pairs over a hierarchy; see `Phast.between`. Needs the claim of the caller."""
        if self._asks_with_others:
            found: tuple[Uint32s, npt.NDArray[np.bool_]] = self._ask(PairsQuestion(sources, targets))
            return found
        algorithm = self.algorithm()
        assert isinstance(algorithm, Phast | PhastCpu)
        try:
            return algorithm.between(sources, targets)
        except BaseException:
            self.discard()
            raise

    def _by_labels(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of many pairs of nodes, by the caller's ids, by labels; see `Phast.by_labels`."""
        algorithm = self.algorithm()
        assert isinstance(algorithm, Phast | PhastCpu)
        try:
            return algorithm.by_labels(sources, targets)
        except BaseException:
            self.discard()
            raise

    def row_maker(
        self,
        graph: Graph,
        nodes: Uint32s,
        total: int,
        *,
        whole: bool = False,
        limit: int,
        aggregates: Aggregates | None = None,
        trees: bool = False,
    ) -> RowMaker:
        """Return a maker of rows as in `row_blocks`, `total` of them in several calls; the caller closes it."""
        return RowMaker(self, graph, nodes, total, whole, limit, aggregates, trees)

    @property
    def kept(self) -> BlockResidentRows | LabelTable | SweepBatch | Rows | None:
        """Maker that `take_kept` would return."""
        return None if self._kept is None else self._kept[0]

    def take_kept(self) -> BlockResidentRows | LabelTable | SweepBatch | Rows | None:
        """Return the maker that `keep` kept, which the caller then owns; the caller holds this session.

        It may be closed, with its copy of the graph; what a closed maker of the CPU has can still be taken over.
        """
        kept, self._kept = self._kept, None
        if kept is None:
            return None
        maker, copy = kept
        self._taken = maker.serial, maker.growths
        if copy is not self.copy:
            maker.close()
        return maker

    def keep(self, maker: BlockResidentRows | LabelTable | SweepBatch | Rows, copy: object) -> None:
        """Keep a maker of many rows on a copy of the graph for the next table if it is small, or else close it."""
        closes: BlockResidentRows | LabelTable | SweepBatch | Rows | None = maker
        # The thread that holds the lock may search for long, or wait for this table to end.
        with self.lock.held_if_free() as is_held:
            is_open = is_held and not self.closed and not maker.closed
            if is_open and ((maker.serial, maker.growths) == self._taken or self._may_keep(maker)):
                closes = self.kept
                self._kept = maker, copy
        if closes is not None:
            closes.close()

    @staticmethod
    def _may_keep(maker: BlockResidentRows | LabelTable | SweepBatch | Rows) -> bool:
        """Return whether a maker that is new, or has grown, is small; large ones need a question for free memory."""
        nbytes = maker.memory_bytes
        return nbytes <= MOST_KEPT * SMALL or nbytes <= MOST_KEPT * maker.device.free_bytes()

    def rows_at_once(self, rows: int, wanted: int, aggregates: Aggregates | None = None) -> int:
        """Return how many of some rows of so many nodes are made at once; less than 2 where one after the other."""
        graph = self.copy
        if isinstance(graph, CpuGraph):
            kind = CPU_ROWS.get((self.name, self.distance_type.bits))
            if self.name == PhastCpu.NAME and aggregates is None and wanted and meetings_suit(graph, wanted, rows):
                kind = MeetingRows  # which take less memory
            return 1 if kind is None or not wanted else rows_at_once(kind, graph, wanted, aggregates)
        if self.name == Phast.NAME and isinstance(graph, DeviceGraph) and wanted:
            by_labels = label_rows_at_once(graph, rows, wanted) if aggregates is None else 0
            return by_labels if by_labels > 1 else sweeps_at_once(graph, rows, wanted, aggregates)
        if self.name != BlockResident.NAME or not isinstance(graph, DeviceGraph) or not wanted:
            return 1
        return most_searches(graph, rows, wanted, self.parameters)

    def settled_nodes(self, seeds: Groups, limit: int, most: float) -> float:
        """Return how many nodes searches on the CPU settle on average, see `vkssp.cpu.rows.settled_nodes`."""
        with self.holding():
            graph = self.copy
            assert isinstance(graph, CpuGraph)
            return settled_nodes(graph, seeds.moved(self.renumbered.node), limit, most)

    def kind_of_rows(
        self, seeds: Groups, limit: int, aggregates: Aggregates | None, wanted: int, total: int
    ) -> type[Rows]:
        """Return the class of the maker of rows, or of their aggregates, if `rows_at_once` says that there is one.

        It is for `total` rows of `wanted` nodes.
        """
        graph = self.copy
        if aggregates is None and self.name == PhastCpu.NAME and isinstance(graph, CpuGraph):
            return MeetingRows if meetings_suit(graph, wanted, total) else SweepRows
        if aggregates is None or not isinstance(graph, CpuGraph) or not searches_suit(graph, seeds, limit):
            return CPU_ROWS[self.name, self.distance_type.bits]
        return SearchRows

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of pairs of nodes, or None if rows are as fast; see `Solver.pairs`."""
        if self.name != Phast.NAME:
            return None
        if len(sources) >= MANY_PAIRS:
            with self.holding():
                by_labels = self._by_labels(sources, targets)
            if by_labels is not None:
                return by_labels
        with self.keeping() if self._asks_with_others else self.holding():
            node = self.renumbered.node
            found, overflow = self._between(node[sources], node[targets])
            suspects = np.flatnonzero(overflow & (found == UNREACHABLE))
            if len(suspects):
                with self.holding():
                    for pair in suspects:
                        self.best([(int(node[sources[pair]]), 0)], [(int(node[targets[pair]]), 0)])
            return found

    def distance(self, source: int, target: int, patience: Patience | None = None) -> int:
        """Return the distance from one node to another; see `vkssp.Solver.distance` and `run`."""
        found = self.at_once(source, target)
        if found is not None:
            return found
        with self.holding():
            ends = terminal(self.renumbered, source, "source"), terminal(self.renumbered, target, "target")
            if self.shared.sweeps:
                algorithm = self.algorithm()
                self._pairs = algorithm if isinstance(algorithm, PhastCpu) and not self.counting else None
            return self.best([ends[0]], [ends[1]], self._patient(patience))

    def at_once(self, source: int, target: int) -> int | None:
        """Return the distance of a pair over a hierarchy on the CPU, found without locks; None if that is impossible.

        The weights are those of a moment during the call: a change of weights first marks the arrays that it writes
        to, which makes the answer useless, then replaces the graph and closes the algorithm.
        """
        pairs = self._pairs
        if pairs is None:
            return None
        renumbered = pairs.renumbered
        if pairs.closed or renumbered is not self.shared.weights.renumbered:
            self._pairs = None
            return None
        num_nodes, node = renumbered.graph.num_nodes, renumbered.node
        if not (type(source) is int and type(target) is int and 0 <= source < num_nodes and 0 <= target < num_nodes):
            return None
        began = time.perf_counter()
        best, overflow = pairs.pair(int(node[source]), int(node[target]))
        if overflow:
            return None
        self.last = Outcome(best, False, 1e3 * (time.perf_counter() - began), {"iterations": 1})
        return best

    def search_path(
        self, seeds: Sequence[Terminal], targets: Sequence[Terminal], patience: Patience | None = None
    ) -> Shortest | None:
        """Find the shortest path from any seed to any target; see `vkssp.Solver.search_path` and `run`."""
        seeds, targets = pairs_of(seeds, "source"), pairs_of(targets, "target")
        asks = patience is None and self._asks_with_others
        with self.keeping() if asks else self.holding():
            here_seeds, here_targets = ends_of(self.renumbered, seeds, targets, self.distance_type)
            if len(targets) == 0:
                raise QueryError("there is no target; give at least one")
            if asks:
                best, seed, target, arcs = self._ask(PathQuestion(here_seeds, here_targets))
            else:
                best, seed, target, arcs = self._shortest(here_seeds, here_targets, patience)
            if best == self._unreachable:
                return None
            return best, seed, target, self.renumbered.complete(arcs, seeds[seed][0], targets[target][0])

    def search_paths(self, seeds: Groups, targets: Groups) -> FoundPaths:
        """Find the shortest path of each of many searches; see `vkssp.Solver.search_paths`."""
        with self.holding():
            renumbered = self.renumbered
            here_seeds, here_targets = (ends.moved(renumbered.node) for ends in (seeds, targets))
            found, alone = None, None
            if not self.counting:
                try:
                    found, alone = find_together(self.algorithm(), here_seeds, here_targets)
                except BaseException as error:
                    self.discard()
                    # Where memory does not suffice for many at once, each is found alone.
                    if not isinstance(error, DeviceError) or error.is_lost:
                        raise
            if alone or found is None:
                rows: list[Shortest | None] = [None] * len(seeds)
                if found is not None:
                    rows = list(map(found.path, range(len(seeds))))
                for at in range(len(seeds)) if alone is None else alone:
                    weight, seed, target, arcs = self._shortest(here_seeds[at], here_targets[at])
                    if weight != self._unreachable:
                        arcs = renumbered.complete(arcs, seeds[at][seed][0], targets[at][target][0])
                    rows[at] = weight, seed, target, arcs
                found = FoundPaths.of(rows, self.distance_type)
            return found

    def _shortest(self, seeds: list[Terminal], targets: list[Terminal], patience: Patience | None = None) -> Shortest:
        """Return what `search_path` does, by the ids of the prepared graph; without a path only the weight counts."""
        walker = self.walker() if isinstance(self.algorithm(), Phast) else None
        search = walker.search if isinstance(walker, PhastWalker) else self._patient(patience)
        best = self.best(seeds, targets, search)
        if best == self._unreachable:
            return best, -1, -1, _NO_ARCS
        walker = self.walker()
        try:
            return best, *walker.walk(len(seeds), len(targets))
        except BaseException:
            self.discard()
            raise

    @property
    def _asks_with_others(self) -> bool:
        """Whether this thread's questions go to the device together with those of other threads.

        The main thread, which may be interrupted, and a thread that holds this session ask alone.
        """
        is_able = self.name == Phast.NAME and self.shared.place == VULKAN and not self.counting
        return is_able and threading.current_thread() is not threading.main_thread() and not self.lock.is_mine

    def _ask(self, question: object) -> Any:
        return self.micro_batches.ask(question, self._answer_together)

    def _answer_together(self, batch: Sequence[Waiting]) -> None:
        """Answer the questions of a batch, what takes least first; each that fails gets its own error."""
        with self.holding():
            trees = [one for one in batch if isinstance(one.question, TreeQuestion)]
            if len(batch) - len(trees) > 1:
                self._or_alone(lambda: self._find_pairs(batch))
            for one in batch:
                if not isinstance(one.question, TreeQuestion):
                    self._answer_alone(one)
            for first in range(0, len(trees), _MOST_TREES):
                some = trees[first : first + _MOST_TREES]
                if len(some) >= _FEW_TREES:
                    self._or_alone(lambda some=some: self._find_trees(some))  # type: ignore[misc]
                for one in some:
                    self._answer_alone(one)

    def _or_alone(self, answer: Callable[[], None]) -> None:
        """Answer questions together; after an error, such as a lack of memory, each is left to be answered alone."""
        try:
            answer()
        except Exception:
            self.discard()

    def _find_pairs(self, batch: Sequence[Waiting]) -> None:
        algorithm = self.algorithm()
        finder = algorithm.path_batch() if isinstance(algorithm, Phast) else None
        if finder is not None:
            # Many pairs are found sooner without searches.
            answer_pairs(finder, [one for one in batch if not self._has_many_pairs(one.question)])

    def _has_many_pairs(self, question: object) -> bool:
        graph, hierarchy = self.copy, self.renumbered.hierarchy
        if not isinstance(question, PairsQuestion) or not isinstance(graph, DeviceGraph) or hierarchy is None:
            return False
        return query_pairs.pays(graph.device, hierarchy, len(question.sources))

    def _find_trees(self, batch: Sequence[Waiting]) -> None:
        """Answer questions for trees by sweeps at once, if there is memory for several."""
        work, node = self.work(), self.renumbered.node
        if not isinstance(work.graph, DeviceGraph):
            return
        seeds = checked_groups(self.renumbered, [one.question.seeds for one in batch], self.distance_type)
        if work.sweeps is None or work.sweeps.closed:
            searches = sweeps_at_once(work.graph, _MOST_TREES, len(node))
            if searches < _FEW_TREES:
                return
            # Without a limit of its own, which each question has; so overflows do not matter.
            work.sweeps = SweepBatch(work.graph, node, searches, self._unreachable - 1)
        sweeps, number = work.sweeps, 0
        for rows in sweeps.rows(seeds.moved(node)):
            for row in rows.read():
                row[row > batch[number].question.limit] = self._unreachable
                batch[number].settle(row)
                number += 1
        if sweeps.memory_bytes > max(SMALL, sweeps.device.free_bytes()) * MOST_KEPT:
            sweeps.close()

    def _answer_alone(self, one: Waiting) -> None:
        """Answer a question, unless it has an answer."""
        if one.is_settled:
            return
        question = one.question
        try:
            if isinstance(question, PathQuestion):
                one.settle(self._shortest(question.seeds, question.targets))
            elif isinstance(question, PairsQuestion):
                one.settle(self._between(question.sources, question.targets))
            else:
                one.settle(self._from_seeds(question.seeds, question.limit))
        except BaseException as error:
            one.settle(error=error)

    def tree_from_seeds(self, seeds: Sequence[Terminal], limit: int | None) -> tuple[Distances, Uint32s]:
        """Return distances, as `from_seeds` does, and the arc into each node of the tree; see `RowSource`."""
        within = self._unreachable if limit is None else limit
        places = pairs_of(seeds, "source")
        with self.holding():
            outcome = self.run(terminals(self.renumbered, places, "source", None, self.distance_type), [], within)
            try:
                found, arcs = self.tree_reader().read()
            except BaseException:
                self.discard()
                raise
            found[found > within] = self._unreachable
            if limit is None and outcome.overflow and self.renumbered.overflowed(self.read()).any():
                raise DistanceOverflowError(self.distance_type.overflow)
            given = np.array([(int(node), int(offset)) for node, offset in places], np.uint64)
            bounds, offsets = np.array([0, len(given)]), given[:, 1].astype(self.distance_type.dtype)
            groups = Groups(bounds, given[:, 0].astype(np.uint32), offsets)
            tree_arcs_of(self.copy).finish(found[None], groups, arcs[None])
            return found, arcs

    def from_seeds(self, seeds: Sequence[Terminal], limit: int | None, patience: Patience | None = None) -> Distances:
        """Return the distance from the best of some seeds to every node; see `vkssp.Solver.distances` and `run`."""
        within = Units(distance_type=self.distance_type).limit(limit)
        waits = limit is not None and patience is None and within != self._unreachable
        if not waits or self.renumbered.num_nodes < NODES_OF_TREES or not self._asks_with_others:
            return self._from_seeds(seeds, limit, patience)
        with self.keeping():
            given = pairs_of(seeds, "source")
            terminals(self.renumbered, given, "source", None, self.distance_type)  # errors are for this thread only
            found: Distances = self._ask(TreeQuestion(given, within))
            return found

    def _from_seeds(self, seeds: Sequence[Terminal], limit: int | None, patience: Patience | None = None) -> Distances:
        within = Units(distance_type=self.distance_type).limit(limit)
        with self.holding():
            renumbered = self.renumbered
            here = terminals(renumbered, seeds, "source", None, self.distance_type)
            algorithm, reader, search = self.algorithm(), self._reader_in_order(), self._patient(patience)
            is_in_order = reader is not None
            if isinstance(algorithm, Phast) and isinstance(reader, Gather):
                outcome = self.run(here, [], within, partial(algorithm.search, reader=reader))
                read = reader.taken
            else:
                outcome = self.run(here, [], within, search)
                read = self.algorithm().read if reader is None else reader.read
            if limit is None and outcome.overflow:
                is_in_order, read = False, self.algorithm().read
            began = time.perf_counter()
            found = read()
            self.download_s = time.perf_counter() - began
        if limit is not None:
            np.putmask(found, found > within, self._unreachable)
        elif outcome.overflow and renumbered.overflowed(found).any():
            raise DistanceOverflowError(self.distance_type.overflow)
        if renumbered.is_identity or is_in_order:
            return found
        # With indices of 32 bits `take` takes a seventh of the time of brackets.
        return found.take(renumbered.node)

    def put_from_seeds(self, seeds: Sequence[Terminal], limit: int | None, into: DeviceRows) -> None:
        """Put the distance from the best of some seeds to every node on the device; see `from_seeds`."""
        within = Units(distance_type=self.distance_type).limit(limit)
        with self.holding():
            renumbered = self.renumbered
            outcome = self.run(terminals(renumbered, seeds, "source", None, self.distance_type), [], within)
            try:
                if limit is None and outcome.overflow and renumbered.overflowed(self.read()).any():
                    raise DistanceOverflowError(self.distance_type.overflow)
                work = self.work()
                if work.reader is None or work.reader.closed:
                    work.reader = work.algorithm.reader(renumbered.node)
                assert isinstance(work.reader, Gather)
                into.put_buffer(work.reader.gathered, work.reader.recorded(limit))
            except DistanceOverflowError:
                raise
            except BaseException:
                self.discard()
                raise

    def _reader_in_order(self) -> Reader | None:
        """Return the reader of distances by the caller's ids if the device should sort them, or None.

        The host takes longer to sort those of large graphs than to download them.
        """
        work, renumbered, itemsize = self.work(), self.renumbered, self.distance_type.nbytes
        if renumbered.is_identity or not isinstance(work.graph, DeviceGraph):
            return None
        device, num_nodes = work.graph.device, self.graph.num_nodes
        if num_nodes < device.tuned["distances.fewest_sorted"]:
            return None
        if work.reader is None or work.reader.closed:
            # The ids, and the distances by them, twice where they are few.
            if (4 + 2 * itemsize) * num_nodes > device.free_bytes():
                return None
            work.reader = work.algorithm.reader(renumbered.node)
        return work.reader

    def best(self, seeds: list[Terminal], targets: list[Terminal], search: Search | None = None) -> int:
        """Search for targets, and return the distance to the best of them, or that of unreachable nodes; see `run`.

        Raises
        ------
        DistanceOverflowError
            If the distance does not fit into its bits.
        """
        outcome = self.run(seeds, targets, None, search)
        if outcome.best == self._unreachable and outcome.overflow:
            found = self.algorithm().read()
            beyond = self.renumbered.overflowed(found)
            if any(found[node] != self._unreachable or beyond[node] for node, _ in targets):
                raise DistanceOverflowError(self.distance_type.overflow)
        return outcome.best

    def run(
        self, seeds: list[Terminal], targets: list[Terminal], limit: int | None = None, search: Search | None = None
    ) -> Outcome:
        """Search from seeds, given by the node numbers of the prepared graph; see `Algorithm.search`.

        `search` takes the place of this method.

        Raises
        ------
        GivenUpError
            If the search has lost its patience, which only `Dijkstra` takes.
        """
        self.last = None  # a failed search has no outcome
        search = search or self.algorithm().search
        try:
            outcome = search(seeds, targets, limit)
        except GivenUpError:
            raise
        except BaseException:
            self.discard()
            raise
        self.last = outcome
        return outcome

    def _patient(self, patience: Patience | None) -> Search | None:
        """Return the search that takes the patience; None for the one without."""
        return None if patience is None else partial(self.algorithm().search, patience=patience)  # type: ignore[call-arg]

    def check_open(self) -> None:
        """Raise an error if the session or its device has been closed, or belongs to another process."""
        if self.closed:
            raise QueryError("this solver has been closed; make another")
        _ = self.device.handle  # an error if the device has been closed, or belongs to another process

    def _release(self) -> None:
        kept, self._kept = self._kept, None
        with contextlib.ExitStack() as stack:
            if isinstance(self.device, Device):
                stack.callback(host_blocks.forget)
                stack.callback(self.device.give_back)
            stack.callback(self.shared.release, self._hold)
            stack.callback(self.discard)
            if kept is not None:
                stack.callback(kept[0].close)
