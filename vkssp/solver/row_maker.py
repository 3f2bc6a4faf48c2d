"""Maker of rows of distances to the same nodes, with many searches at once if the algorithm supports them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import FinishedRows, Reader, Terminal
from vkssp.algorithms.phast import Phast
from vkssp.batch.block_resident_rows import BlockResidentRows
from vkssp.batch.device_rows import DeviceRows
from vkssp.batch.label_table import LabelTable, label_rows_at_once
from vkssp.batch.sweep_batch import SweepBatch, made_by_sweeps
from vkssp.cpu.aggregates import aggregated_by_all, node_sums
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.rows import Rows
from vkssp.cpu.trees import Trees
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.gather import Gather
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import BITS_32, Distances, DistanceType
from vkssp.prepared.aggregates import Aggregates, ArcLoads, NodeSums
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.tree_reader import TreeReader, tree_arcs_of

if TYPE_CHECKING:
    from vkssp.solver.session import Session

#: Message of the error that a shortest distance does not fit into 32 bits.
OVERFLOW = BITS_32.overflow


class WeightsChangedError(QueryError):
    """Weights changed while an answer was made."""


# Words of a block, about, to bound memory.
_BLOCK_WORDS = 1 << 22
#: Most rows of a block, so that the first block arrives soon.
MOST_ROWS = 32


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Block of rows of distances, with marks for distances that do not fit into their bits.

    Attributes
    ----------
    distances : numpy.ndarray
        Distances to k nodes, or to all nodes of the graph, shape (rows, k) or (rows, num_nodes): uint32, 2**32 - 1 if
        no path has a weight that fits, or uint64, 2**64 - 1. In place of them there may be their aggregates, int64.
    overflowed : numpy.ndarray or None
        Whether paths lead to each of the k nodes, but none whose weight fits; shape (rows, k), bool; None if no
        distance overflowed.
    sums : numpy.ndarray or None
        What the rows have together, if it is wanted; see `vkssp.algorithm.FinishedRows`.
    arcs : numpy.ndarray or None
        Arc into each node of the shortest-path trees, if they are wanted, 2**32 - 1 where there is none; shape (rows,
        num_nodes), uint32.
    """

    distances: npt.NDArray[Any]
    overflowed: npt.NDArray[np.bool_] | None = None
    sums: npt.NDArray[np.int64] | None = None
    arcs: Uint32s | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.distances)

    def overflowed_or_not(self, count: int) -> npt.NDArray[np.bool_]:
        """Return `overflowed` for `count` nodes, as an array also if it is None."""
        return np.zeros((len(self), count), np.bool_) if self.overflowed is None else self.overflowed


def fitting(blocks: Generator[RowBlock, None, None], distance_type: DistanceType) -> Generator[Distances, None, None]:
    """Yield the distances of blocks of rows if the caller needs all of them.

    Raises
    ------
    DistanceOverflowError
        If a distance does not fit into its bits; raised after the rows before it.
    """
    with closing(blocks):
        for block in blocks:
            bad = np.zeros(0, np.int64) if block.overflowed is None else np.flatnonzero(block.overflowed.any(axis=1))
            if len(bad):
                if bad[0]:
                    yield block.distances[: bad[0]]
                raise DistanceOverflowError(distance_type.overflow)
            yield block.distances


def joined(blocks: Generator[RowBlock, None, None], rows: int, count: int) -> Generator[RowBlock, None, None]:
    """Join blocks of rows for `count` nodes to larger ones, of at least so many rows but for the last."""
    with closing(blocks):
        some: list[RowBlock] = []
        for block in blocks:
            some.append(block)
            if sum(map(len, some)) >= rows:
                yield _joined(some, count)
                some = []
        if some:
            yield _joined(some, count)


def _joined(blocks: list[RowBlock], count: int) -> RowBlock:
    if len(blocks) == 1:
        return blocks[0]
    overflowed = None
    if any(block.overflowed is not None for block in blocks):
        overflowed = np.concatenate([block.overflowed_or_not(count) for block in blocks])
    return RowBlock(np.concatenate([block.distances for block in blocks]), overflowed)


class RowMaker:
    """Maker of rows of distances from groups of seeds to fixed nodes, for any number of calls.

    The first call makes pipelines and buffers on the device, which are kept until the maker is closed: making them for
    many searches takes longer than a thousand rows.

    Parameters
    ----------
    session : Session
        The session that searches.
    graph : Graph
        The session's graph, with the expected weights.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    total : int
        Number of rows that will be made in all.
    whole : bool
        Whether rows hold the distances of all nodes of the graph.
    limit : int
        Distances beyond it count as unreachable, and are not looked for.
    aggregates : tuple of Aggregate, optional
        What is made of whole rows, in place of their distances.
    trees : bool
        Whether blocks also have the arcs of shortest-path trees; rows are whole then.
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        nodes: Uint32s,
        total: int,
        whole: bool,
        limit: int,
        aggregates: Aggregates | None = None,
        trees: bool = False,
    ) -> None:
        self.session, self._graph, self._total, self._limit = session, graph, total, limit
        self._aggregates, self._unreachable = aggregates, session.distance_type.unreachable
        self._trees: Trees | None = None
        with session.holding():
            self._node = session.renumbered.node
            self._tree_arcs = tree_arcs_of(session.copy) if trees else None
        self._nodes = nodes
        self._wanted = self._node if whole or trees else self._checked
        self._reader: Reader | None = None
        self._tree_reader: TreeReader | None = None
        self._batch: BlockResidentRows | LabelTable | SweepBatch | Rows | None = None
        self._copy: object = None  # the copy of the graph that the reader and the batch belong to

    @cached_property
    def _checked(self) -> Uint32s:
        """Indices of the nodes in the renumbered graph."""
        return self._node.take(self._nodes)  # which takes half of the time of brackets

    def once(self, seeds: Groups, into: Distances | DeviceRows | None = None) -> Generator[RowBlock, None, None]:
        """Make the rows of some groups of seeds, and close the maker; see `rows`."""
        with closing(self), closing(self.rows(seeds, into)) as blocks:
            yield from blocks

    def rows(self, seeds: Groups, into: Distances | DeviceRows | None = None) -> Generator[RowBlock, None, None]:
        """Make the rows of some groups of seeds, by the graph's ids.

        Parameters
        ----------
        seeds : Groups
            The seeds.
        into : numpy.ndarray or DeviceRows, optional
            Array of the rows, which they may be written to; see `RowSource.row_blocks`. Rows that are put on the device
            have no columns in the blocks.

        Yields
        ------
        RowBlock
            Blocks of rows, see `Session.row_blocks`.
        """
        # Submitted work ends before its buffers are freed, also after an error.
        with ExitStack() as on_error:
            on_error.callback(self._discard)
            moved = seeds.moved(self._node)
            while len(moved):
                done = 0
                for block in self._blocks(moved, into):
                    done += len(block)
                    yield block
                moved = moved.since(done)  # rows are left if the graph was copied to the device again
                into = into if into is None or isinstance(into, DeviceRows) else into[done:]
            on_error.pop_all()

    def _blocks(self, seeds: Groups, into: Distances | DeviceRows | None) -> Generator[RowBlock, None, None]:
        """Make rows while the same copy of the graph is on the device."""
        wanted, limit = self._wanted, self._limit
        with self._holding():
            if self._batch is None:
                reads = not isinstance(into, DeviceRows) or not into.can_be_bound
                self._batch = self._many_at_once(seeds, reads)
            batch, copy = self._batch, self._copy
        if batch is None:
            size = max(1, min(MOST_ROWS, _BLOCK_WORDS // max(1, len(wanted))))
            for first in range(0, len(seeds), size):
                some = seeds.between(first, min(first + size, len(seeds)))
                if isinstance(into, DeviceRows):
                    yield self._one_by_one([some[row] for row in range(len(some))], into)
                else:
                    yield self._alone(some)
            return
        if isinstance(into, DeviceRows):
            yield from self._put(batch, seeds, into, copy)
            return
        in_place = self._made_by(batch) is not None
        with closing(batch.rows(seeds, self._aggregates) if isinstance(batch, Rows) else batch.rows(seeds)) as made:
            done = 0
            while True:
                with self._holding():
                    if self._copy is not copy:
                        return
                    finished = next(made, None)
                    if finished is None:
                        return
                    if into is None or finished.read_into is None:
                        found = finished.read()
                    else:
                        found = finished.read_into(into[done : done + len(finished.overflow)])
                    arcs = self._arcs_of(finished, found) if self._tree_arcs is not None else None
                sums, groups = finished.sums, seeds.between(done, done + len(found))
                # Only a separate search tells whether a sum that overflowed matters.
                again = np.flatnonzero(finished.overflow & (limit == self._unreachable))
                if in_place:
                    for row in again.tolist():
                        one = self._alone(groups.between(row, row + 1))
                        found[row] = one.distances[0]
                        if one.sums is not None:
                            sums = one.sums if sums is None else sums + one.sums
                overflowed = None
                if len(again) and not in_place:
                    overflowed = np.zeros((len(found), len(self._checked)), np.bool_)
                    for row in again.tolist():
                        one = self._one_by_one([seeds[done + row]])
                        found[row] = one.distances[0]
                        if arcs is not None and one.arcs is not None:
                            arcs[row] = one.arcs[0]
                        if one.overflowed is not None:
                            overflowed[row] = one.overflowed[0]
                block = RowBlock(found, overflowed, sums, arcs)
                done += len(block)
                yield block if in_place else self._summed(block, groups)

    def _put(
        self, batch: BlockResidentRows | LabelTable | SweepBatch | Rows, seeds: Groups, into: DeviceRows, copy: object
    ) -> list[RowBlock]:
        """Put rows on the device, and return blocks without columns; none if the graph was copied there again.

        The session is held to the end, so that nothing is freed that the device still copies.
        """
        blocks, done, begin = list[RowBlock](), 0, into.next_row
        with self._holding():
            if self._copy is not copy:
                return blocks
            assert not isinstance(batch, Rows)
            try:
                is_written = isinstance(batch, SweepBatch) and into.can_be_bound
                rows = batch.rows(seeds, into) if isinstance(batch, SweepBatch) and is_written else batch.rows(seeds)
                with closing(rows) as made:
                    for finished in made:
                        overflowed = None
                        if is_written:
                            found = finished.read()
                        else:
                            found = into.put(finished, waits=isinstance(batch, BlockResidentRows))
                        again = np.flatnonzero(finished.overflow & (self._limit == self._unreachable))
                        if len(again):
                            overflowed = np.zeros((len(found), len(self._checked)), np.bool_)
                            for row in again.tolist():
                                one = self._one_by_one([seeds[done + row]])
                                into.write(begin + done + row, one.distances[0])
                                if one.overflowed is not None:
                                    overflowed[row] = one.overflowed[0]
                        blocks.append(RowBlock(found, overflowed))
                        done += len(found)
                into.wait()
            except BaseException:
                into.device.settle()  # it may still copy from what is freed now
                raise
        return blocks

    def _made_by(self, batch: BlockResidentRows | LabelTable | SweepBatch | Rows) -> Aggregates | None:
        """Return the aggregates if a batch makes them, or None if it makes rows."""
        if isinstance(batch, BlockResidentRows | LabelTable):
            return None
        return batch.aggregates if isinstance(batch, SweepBatch) else self._aggregates

    def _alone(self, groups: Groups) -> RowBlock:
        """Return rows, or their aggregates, each from a separate search."""
        return self._summed(self._one_by_one([groups[row] for row in range(len(groups))]), groups)

    def _arcs_of(self, rows: FinishedRows, found: Distances) -> Uint32s:
        """Return the arcs of trees, not yet finished, of rows that a batch of searches has made."""
        if self._tree_reader is None:
            self._tree_reader = TreeReader(self.session.copy, self._total, self.session.distance_type)
        return self._tree_reader.arcs_of(rows, found)

    def _summed(self, block: RowBlock, groups: Groups) -> RowBlock:
        """Return the aggregates of a block of rows in place of its distances, or finish its trees, if wanted."""
        if block.arcs is not None:
            assert self._tree_arcs is not None
            self._tree_arcs.finish(block.distances, groups, block.arcs)
        if self._aggregates is None:
            return block
        if block.overflowed is not None and block.overflowed.any():
            raise DistanceOverflowError(OVERFLOW)
        if isinstance(self._aggregates[0], ArcLoads):
            if self._trees is None:
                self._trees = Trees(self.session.renumbered)
            rows, loads = self._trees.loads_by_all(self._aggregates[0], groups, block.distances)
            return RowBlock(rows, None, loads)
        if isinstance(self._aggregates[0], NodeSums):
            return RowBlock(np.zeros((len(block), 0), np.int64), None, node_sums(self._aggregates[0], block.distances))
        return RowBlock(aggregated_by_all(self._aggregates, groups.sources, block.distances))

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """Hold the session, check its weights, and discard buffers that belong to an older copy of the graph."""
        with self.session.holding():
            if self.session.graph is not self._graph:
                raise WeightsChangedError("weights changed while a table was made; ask for it again")
            if self._copy is not self.session.copy:
                self._discard()
                self._copy = self.session.copy
            yield

    def _many_at_once(self, seeds: Groups, reads: bool) -> BlockResidentRows | LabelTable | SweepBatch | Rows | None:
        """Return the batch that makes many rows at once, or None if the algorithm makes rows one by one."""
        session, wanted = self.session, self._wanted
        kept = session.kept
        if reads and isinstance(kept, SweepBatch) and not kept.closed and not kept.has_room_for_rows():
            kept.close()
        if (sweeps := self._kept_sweeps()) is not None:
            return sweeps
        graph, searches = session.copy, session.rows_at_once(self._total, len(wanted), self._aggregates)
        if searches < 2 or not isinstance(graph, DeviceGraph | CpuGraph):
            return None
        aggregates, kind = self._aggregates, None
        if isinstance(graph, CpuGraph):
            kind = session.kind_of_rows(seeds, self._limit, aggregates, len(wanted), self._total)
        if session.name == Phast.NAME and isinstance(graph, DeviceGraph):
            by_labels = self._by_labels(graph)
            if by_labels is not None:
                return by_labels
            aggregates = made_by_sweeps(graph, aggregates)
        kept = session.take_kept()
        if kept is not None:
            is_kind = not kept.closed and (kind is None or self._aggregates is None or isinstance(kept, kind))
            if is_kind and kept.suits(wanted, searches, self._limit, aggregates):
                return kept
            kept.close()
            # There may be room for more now.
            searches = session.rows_at_once(self._total, len(wanted), self._aggregates)
        if isinstance(graph, CpuGraph):
            assert kind is not None
            return kind(graph, wanted, self._limit, kept if isinstance(kept, kind) else None)
        if session.name == Phast.NAME:
            return SweepBatch(graph, wanted, searches, self._limit, aggregates)
        return BlockResidentRows(graph, wanted, searches, self._limit, session.parameters)

    def _kept_sweeps(self) -> SweepBatch | None:
        """Return the kept maker if it makes as many rows at once as any; a question for free memory takes longer."""
        kept, graph = self.session.kept, self.session.copy
        if not isinstance(kept, SweepBatch) or not isinstance(graph, DeviceGraph):
            return None
        searches = min(self._total, graph.device.tuned["sweeps.searches"])
        if not kept.suits(self._wanted, searches, self._limit, made_by_sweeps(graph, self._aggregates)):
            return None
        taken = self.session.take_kept()  # closed if it is of another copy of the graph
        return taken if isinstance(taken, SweepBatch) and not taken.closed else None

    def _by_labels(self, graph: DeviceGraph) -> LabelTable | None:
        """Return a maker of rows by labels, the kept one if it has room for them; None if other rows take less time."""
        wanted, searches = self._wanted, 0
        if self._aggregates is None and self._tree_arcs is None:
            searches = label_rows_at_once(graph, self._total, len(wanted))
        if searches < 2:
            return None
        kept = self.session.take_kept()
        if isinstance(kept, LabelTable) and kept.fits(wanted, searches):
            if not kept.suits(wanted, searches, self._limit):
                kept.aim(wanted, self._limit)
            return kept
        if kept is not None:
            kept.close()
        return LabelTable(graph, wanted, searches, self._limit)

    def _one_by_one(self, groups: list[list[Terminal]], into: DeviceRows | None = None) -> RowBlock:
        """Return rows, each from a separate search; what is put on the device has no columns here."""
        session, limit = self.session, self._limit
        unreachable, dtype = self._unreachable, session.distance_type.dtype
        found = np.full((len(groups), 0 if into is not None else len(self._wanted)), unreachable, dtype)
        arcs = np.full(found.shape, UNREACHABLE, np.uint32) if self._tree_arcs is not None else None
        overflowed = None
        for row, group in enumerate(groups):
            with self._holding():
                if not group or not len(self._wanted):
                    if into is not None:
                        into.put_values(np.full(len(self._wanted), unreachable, dtype))
                    continue
                outcome = session.run(group, [])
                if arcs is not None:
                    found[row], arcs[row] = session.tree_reader().read()
                else:
                    if self._reader is None or self._reader.closed:
                        self._reader = session.algorithm().reader(self._wanted)
                    if into is not None and isinstance(self._reader, Gather):
                        into.put_buffer(self._reader.gathered, self._reader.recorded(limit))
                    else:
                        found[row] = self._reader.read()
                if limit != unreachable:
                    found[row, found[row] > limit] = unreachable
                elif outcome.overflow:
                    beyond = session.renumbered.overflowed(session.algorithm().read())[self._checked]
                    if beyond.any():
                        overflowed = (
                            np.zeros((len(groups), len(beyond)), np.bool_) if overflowed is None else overflowed
                        )
                        overflowed[row] = beyond
        return RowBlock(found, overflowed, arcs=arcs)

    def close(self) -> None:
        """Free the buffers on the device, or leave them with the session for the next table to the same nodes."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self.session.keep(batch, self._copy)
        self._discard()

    def _discard(self) -> None:
        parts = self._batch, self._reader, self._tree_reader
        self._batch = self._reader = self._tree_reader = None
        for part in parts:
            if part is not None:
                part.close()
