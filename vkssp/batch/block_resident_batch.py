"""Batch of block-resident searches: many searches share the dispatches, and fill a GPU that one search leaves idle.

Each search has a slot, with its own distances and threshold. When a search is over, its row is written to a ring on the
device, and the next source takes the slot. Meanwhile the host writes the seeds of later sources, and downloads rows on
a separate queue while the device searches.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, ROW, FinishedRows
from vkssp.algorithms.block_resident import (
    AT_ONCE_CONSTANT,
    BITS_CONSTANT,
    BLOCK_CONSTANT,
    MOST_NODES_EACH,
    QUADS_CONSTANT,
    ROUNDS_CONSTANT,
    SHARED_BESIDES,
    default_rounds,
)
from vkssp.batch.needs import MOST_BYTES
from vkssp.batch.submission import Submission, SubmissionQueue
from vkssp.engine.device_algorithm import COUNTING_CONSTANT, state_dtype
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.prepared.blocks import place_bits
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: The twin of State in shaders/include/block_resident_batch_state.glsl, with the loop's words before it.
STATE = state_dtype(
    ("splits", "near_parity", "far_parity", "near_length", "split_length"),
    *("num_rows", "room", "next_row", "turned", "delta", "limit", "num_leaving", "num_entering", "blocks", "buckets"),
    *(("near_gap", 32), "near_next", ("far_gap", 32), "far_length", "far_next"),
    *(("claimed_gap", 32), "claimed", ("end_gap", 32)),
)
_NO_ROW = 2**32 - 1
SEARCH_WORDS = 16
#: The words of the twin of Search that do not begin with 0, and their first values.
SEARCH = {1: _NO_ROW, 2: _NO_ROW, 7: _NO_ROW}  # row, next_row, checked_for
_SEEDS_CONSTANT = 7
#: Iterations from one turnover of slots to the next.
_TURN = 6
#: Searches end early if at most one node in so many is a target; more targets are spread over the whole graph.
FEW_TARGETS = 64
#: Largest number of storage buffers of a kernel, and bytes of a node whose distance is wanted.
BINDINGS, WANTED_BYTES = 12, 20


def sizes_of(device: Device, parameters: dict[str, int | None]) -> tuple[int, int]:
    """Return the sizes of a block and of a workgroup, given the parameters of block_resident."""
    limit, chosen = device.limits.workgroup_size, parameters["workgroup_size"]
    # As many nodes per invocation as usual on a software device: with twice as many, drivers compile for half a minute.
    most = min(512, MOST_NODES_EACH // 2 * (chosen or limit))
    block = parameters["block"] or 1 << most.bit_length() - 1
    usual = min(device.tuned["blocks.workgroup_size"], block, limit)
    return block, chosen or max(usual, block // MOST_NODES_EACH)


class BlockResidentBatch(Resource):
    """Batch of searches that computes rows of distances from groups of seeds to some nodes.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device; not reduced, but it may be the core of a reduction with its components.
    wanted : numpy.ndarray
        Nodes whose distances are wanted of each search, and two others with the weights from there, see
        `vkssp.prepared.reduction.Reduction.records`; UNREACHABLE stands for no other. Shape (k, 5), uint32.
    searches : int
        Number of searches at once.
    ring : int
        Largest number of rows on the device, at least `searches`.
    limit : int
        Distances beyond it count as unreachable, and are not looked for.
    delta : int
        Width of a bucket.
    parameters : mapping of str to int or None
        The parameters of block_resident.
    more_groups : int
        Factor by which the usual number of workgroups is multiplied.

    Attributes
    ----------
    device_ms : float
        Time on the device since the last call of `rows`, from the begin of the first submission to the end of the last.
    counters : dict of str to int
        Iterations, visits of blocks, and buckets since then.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        wanted: npt.NDArray[np.uint32],
        searches: int,
        ring: int,
        limit: int,
        delta: int,
        parameters: dict[str, int | None],
        more_groups: int = 1,
    ) -> None:
        super().__init__(graph)
        self._graph, self.device, self.searches, self.ring = graph, graph.device, searches, ring
        self._parameters, self._limit, self._more_groups = parameters, limit, more_groups
        self._delta = delta
        self._num_nodes, self._num_wanted = graph.num_nodes, len(wanted)
        self._planned = graph.renumbered.spread
        self.device_ms, self.counters = 0.0, dict.fromkeys(("iterations", "blocks", "buckets"), 0)
        few = FEW_TARGETS * len(wanted) <= graph.num_nodes
        try:
            self._make(wanted, len(wanted) if few else 0)
        except BaseException:
            self.close()
            raise

    def _make(self, wanted: npt.NDArray[np.uint32], num_targets: int) -> None:
        graph, parameters, searches = self._graph, self._parameters, self.searches
        block, size = sizes_of(self.device, parameters)
        num_blocks = -(-self._num_nodes // block)
        rounds = parameters["rounds"] or default_rounds(block)
        software, tuned = self.device.info.kind == "cpu", self.device.tuned
        groups = parameters["workgroups"] or self._more_groups * tuned["blocks.workgroups"]
        groups = min(groups, searches * num_blocks, self.device.limits.workgroups)
        at_once = parameters["rounds_at_once"] or tuned["block_resident.rounds_at_once"]
        self.distances = self._buffer("the distances", 4 * self._num_nodes * searches)
        relaxed_with = self._buffer("the distances that arcs were relaxed with", 4 * self._num_nodes * searches)
        blocks = self._buffer("the blocks", 8 * num_blocks * searches)
        lists = self._buffer("the lists of blocks", 16 * num_blocks * searches)
        self.state = self._buffer("the state", STATE.itemsize)
        self._slots = self._buffer("the slots", 4 * SEARCH_WORDS * searches)
        turnover = self._buffer("the slots that leave and enter", 8 * searches)
        wants = self._buffer("what is wanted", wanted.nbytes)
        self.written = self._buffer("what was written", 8 * self.ring)
        trace = self._buffer("the trace", ROW.itemsize)
        row_bytes = 4 * self._num_wanted
        name = "the finished rows"
        self._rows = Buffer(self.device, row_bytes * self.ring, name=name, owner=self, shared=True)
        self._seeds = Buffer(self.device, 8 * MAX_TERMINALS * self.ring, mapped=True, name="the seeds", owner=self)
        self._most_rows = max(1, min(self.ring, MOST_BYTES // row_bytes))
        self.download = Download(self.device, row_bytes * self._most_rows, self)
        wants.write(np.ascontiguousarray(wanted))
        visit = Kernel(
            self.device,
            "block_resident_batch_visit",
            bindings=BINDINGS,
            push_constants=5,
            workgroup_size=size,
            constants={
                COUNTING_CONSTANT: 0,
                BLOCK_CONSTANT: block,
                ROUNDS_CONSTANT: rounds,
                BITS_CONSTANT: place_bits(block),
                AT_ONCE_CONSTANT: min(at_once, rounds),
                QUADS_CONSTANT: 1,
            },
            shared_bytes=64 + 8 * block + SHARED_BESIDES,
            owner=self,
        ).on(
            *(self.state, trace, self._slots, wants, self.distances, *graph.blocks(block)),
            *(relaxed_with, blocks, lists, turnover),
        )
        flat = min(256, self.device.limits.workgroup_size)
        constants = {BLOCK_CONSTANT: block, _SEEDS_CONSTANT: MAX_TERMINALS}
        emit = Kernel(
            self.device, "block_resident_batch_emit", bindings=7, push_constants=3, workgroup_size=flat, owner=self
        ).on(self.state, self.distances, self._slots, wants, self._rows, self.written, turnover)
        start = Kernel(
            self.device,
            "block_resident_batch_start",
            bindings=9,
            push_constants=4,
            workgroup_size=flat,
            constants=constants,
            shared_bytes=8 * MAX_TERMINALS,
            owner=self,
        ).on(
            *(self.state, self.distances, self._slots, self._seeds, relaxed_with, blocks, lists, self.written), turnover
        )
        sizes = (self._num_nodes, num_blocks)
        heaviest = graph.renumbered.spread.heaviest

        def spread(items: int) -> int:
            # A software device may end long loops, so it gets enough workgroups for short ones, see loop.glsl.
            return min(max(1, -(-items // flat)), self.device.limits.workgroups if software else 2048)

        self._steps: list[tuple[Bindings, tuple[int, ...], int]] = [
            (visit, (*sizes, heaviest, searches, num_targets), groups),
            (emit, (self._num_nodes, self._num_wanted, self.ring), spread(self._num_wanted)),
            (start, (*sizes, searches, self.ring), spread(self._num_nodes)),
        ]
        self._begin = Recording(self.device, owner=self)
        with self._begin.record() as recording:
            recording.barrier("all", "all")
            recording.fill(blocks, UNREACHABLE)
            recording.fill(self.written, 0)
            recording.barrier("all", "all")

        def make(turns: int) -> Submission:
            parts = (self.device, self.state, self.written, STATE)
            return Submission(*parts, self._record_turn, turns, self)

        self._submissions = SubmissionQueue(make)

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)

    @property
    def is_current(self) -> bool:
        """Whether the batch is open and suits the weights of the graph."""
        return not self.closed and self._graph.renumbered.spread.fits(self._planned)

    def _record_turn(self, recording: Recording) -> None:
        """Record some iterations, and the turnover of slots after them."""
        visit, *others = self._steps
        for (kernel, pushed, groups), times in ((visit, _TURN), *((other, 1) for other in others)):
            recording.bind(kernel)
            recording.push(kernel, *pushed)
            for _ in range(times):
                recording.dispatch(groups)
                recording.barrier()

    def rows(self, seeds: Groups) -> Generator[FinishedRows, None, None]:
        """Compute the rows of groups of seeds.

        Parameters
        ----------
        seeds : Groups
            The seeds, by the graph's ids, at most `MAX_TERMINALS` for a row.

        Yields
        ------
        FinishedRows
            Rows, in order.

        Raises
        ------
        DeviceError
            If the device is lost or does not answer.
        LoopLimitError
            If the device ends long loops early.
        """
        total, taken = len(seeds), 0
        began: float | None = None
        self._restart(total)
        room = self._fill_seeds(seeds, 0, min(total, self.ring))
        try:
            while taken < total:
                done = self._submissions.next(room)
                state, (begin, end) = done.state, done.milliseconds
                if state["cut_short"]:
                    raise LoopLimitError
                began = begin if began is None else began
                self.device_ms = end - began
                self.counters = {name: int(state[name]) for name in self.counters}
                ready = self._ready(done.written, taken, total)
                while taken < ready:
                    count = min(ready - taken, self._most_rows)
                    yield self._finished(done.written, taken, count)
                    taken += count
                room = self._fill_seeds(seeds, room, min(total, taken + self.ring))
        finally:
            self._submissions.finish()

    def _restart(self, total: int) -> None:
        slots = np.zeros((self.searches, SEARCH_WORDS), np.uint32)
        for word, value in SEARCH.items():
            slots[:, word] = value
        state = np.zeros(1, STATE)
        state["num_rows"], state["delta"], state["limit"] = total, self._delta, self._limit
        state["turned"] = _NO_ROW
        self._begin.submit()
        self._slots.write(slots)
        self.state.write(state)
        self._begin.wait()

    def _fill_seeds(self, seeds: Groups, room: int, end: int) -> int:
        """Write the seeds of later rows into places of the ring that no submission reads yet; return `end`."""
        seeds.put(room, end, self._seeds.view().reshape(self.ring, MAX_TERMINALS, 2))
        return end

    def _ready(self, written: npt.NDArray[np.uint32], taken: int, total: int) -> int:
        """Return the first row that is not written yet."""
        rows = np.arange(taken, min(total, taken + self.ring))
        is_missing = written[rows % self.ring, 0] != rows + 1
        return taken + (int(is_missing.argmax()) if is_missing.any() else len(rows))

    def _finished(self, written: npt.NDArray[np.uint32], first: int, count: int) -> FinishedRows:
        """Return rows that were written; they may lie in two parts of the ring."""
        row_bytes, place = 4 * self._num_wanted, first % self.ring
        before_end = min(count, self.ring - place)
        spans = [(place, place + before_end), (0, count - before_end)]
        overflow = written[np.arange(first, first + count) % self.ring, 1] != 0

        of_bytes = [(row_bytes * begin, row_bytes * end) for begin, end in spans]
        read = partial(self.download.read_rows, self._rows, of_bytes, (count, self._num_wanted))
        return FinishedRows(overflow, read, place=(self._rows, spans), read_into=read)


class LoopLimitError(Exception):
    """Error of a device that ends long loops early. Rows that were yielded before are correct."""
