"""Rows of distances to the same nodes, some at a time: many searches at once where the algorithm has them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import numpy as np

from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.solvers.base import Reader, Terminal
from vkssp.solvers.batch import Batch
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.groups import Groups
from vkssp.solvers.phast import Phast
from vkssp.solvers.sweeps import Sweeps

if TYPE_CHECKING:
    from vkssp.solvers.session import Session

OVERFLOW = "a shortest distance passes 2**32 - 2, the most that 32 bits hold; divide the weights by a common factor"
# Rows of a block of a table: words that it has about, so that few are in memory, and most rows, so that some come soon.
_BLOCK_WORDS, _MOST_ROWS = 1 << 22, 32


class RowMaker:
    """Makes rows of distances from groups of seeds to some nodes, as often as it is asked.

    What it needs on the device it makes when it is first asked, and keeps until it is closed: pipelines and buffers of
    many searches take longer than a thousand rows.

    Parameters
    ----------
    session : Session
        What answers.
    graph : Graph
        The session's graph, with the weights that are meant.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    total : int
        How many rows there are to be in all.
    whole : bool
        Whether rows are to hold the distances of all nodes of the graph.
    limit : int
        Distances beyond it count as unreachable, and are not looked for.
    """

    def __init__(self, session: Session, graph: Graph, nodes: Uint32s, total: int, whole: bool, limit: int) -> None:
        self._session, self._graph, self._total, self._limit = session, graph, total, limit
        with session.holding():
            self._node = session._prepared.node
        self._checked = self._node[nodes]
        self._wanted = self._node if whole else self._checked
        self._reader: Reader | None = None
        self._batch: Batch | Sweeps | None = None

    def once(self, seeds: Groups) -> Iterator[Uint32s]:
        """Make the rows of some groups of seeds, and close this; see `rows`."""
        with closing(self), closing(self.rows(seeds)) as blocks:
            yield from blocks

    def rows(self, seeds: Groups) -> Generator[Uint32s, None, None]:
        """Make the rows of some groups of seeds, by the graph's ids.

        Yields
        ------
        numpy.ndarray
            Blocks of rows, shape (rows, k) or (rows, num_nodes), uint32; see `Session.rows`.
        """
        # What is still with the device ends before its buffers go, whatever happens on the way.
        with ExitStack() as on_error:
            on_error.callback(self._discard)
            yield from self._blocks(seeds.moved(self._node))
            on_error.pop_all()

    def _blocks(self, seeds: Groups) -> Generator[Uint32s, None, None]:
        session, wanted, limit = self._session, self._wanted, self._limit
        with session.holding():
            self._check_same()
            if self._batch is None:
                self._batch = self._many_at_once()
            batch = self._batch
        if batch is None:
            size = max(1, min(_MOST_ROWS, _BLOCK_WORDS // max(1, len(wanted))))
            for first in range(0, len(seeds), size):
                yield self._one_by_one([seeds[row] for row in range(first, min(first + size, len(seeds)))])
            return
        with closing(batch.rows(seeds)) as made:
            done = 0
            while True:
                with session.holding():
                    self._check_same()
                    finished = next(made, None)
                    if finished is None:
                        return
                    block = finished.read()
                # Whether a sum that does not fit matters only a search of its own finds out.
                again = finished.overflow & (limit == UNREACHABLE)
                for row in np.flatnonzero(again):
                    block[row : row + 1] = self._one_by_one([seeds[done + int(row)]])
                done += len(block)
                yield block

    def _many_at_once(self) -> Batch | Sweeps | None:
        """Return what makes many rows at once, None where the algorithm makes one after the other."""
        session, wanted = self._session, self._wanted
        graph, searches = session._shared.graph, session.rows_at_once(self._total, len(wanted))
        if searches < 2 or not isinstance(graph, DeviceGraph):
            return None
        kept = session.take_kept()
        if kept is not None:
            if kept.suits(wanted, searches, self._limit):
                return kept
            kept.close()
            searches = session.rows_at_once(self._total, len(wanted))  # there may be room for more now
        if session.algorithm == Phast.NAME:
            return Sweeps(graph, wanted, searches, self._limit)
        return Batch(graph, wanted, searches, self._limit, session._parameters)

    def _one_by_one(self, groups: list[list[Terminal]]) -> Uint32s:
        """Return rows, each from a search of its own."""
        session, limit = self._session, self._limit
        block = np.full((len(groups), len(self._wanted)), UNREACHABLE, np.uint32)
        for row, group in zip(block, groups, strict=True):
            with session.holding():
                self._check_same()
                if not group or not len(self._wanted):
                    continue
                outcome = session._run(group, [])
                if self._reader is None or self._reader.closed:
                    self._reader = session._algorithm().reader(self._wanted)
                row[:] = self._reader.read()
                if limit != UNREACHABLE:
                    row[row > limit] = UNREACHABLE
                elif outcome.overflow and session._prepared.beyond(session._algorithm().read())[self._checked].any():
                    raise DistanceOverflowError(OVERFLOW)
        return block

    def _check_same(self) -> None:
        if self._session.graph is not self._graph:
            raise QueryError("weights changed while a table was made; ask for it again")

    def close(self) -> None:
        """Give back what this has on the device, or leave it to those who ask for the same nodes next."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._session.keep(batch)
        self._discard()

    def _discard(self) -> None:
        batch, reader, self._batch, self._reader = self._batch, self._reader, None, None
        for part in (batch, reader):
            if part is not None:
                part.close()
