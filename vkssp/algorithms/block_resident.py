"""Block-resident relaxation: near-far whose queues hold blocks of nodes with consecutive ids instead of nodes.

A workgroup takes a block, holds its distances in shared memory and its arcs in registers, and relaxes them for some
rounds. Then it writes the distances back, relaxes the arcs that leave the block, and wakes the blocks that these arcs
improve. On a road network numbered along the Z-order curve or by landmarks few arcs leave a block, so most steps of a
search cost a round within a workgroup instead of a dispatch. Nodes with many arcs need not be cut: the invocations of a
workgroup together walk the arcs that do not fit into registers.

Phases in a trace: in 0 blocks are visited, in 1 the far list is split. The range of a trace row is a range of places in
the list. Work is counted for each round: a visit looks at all nodes of its block in each round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter, Terminal
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, rounded_up, state_dtype
from vkssp.engine.device_graph import DeviceGraph
from vkssp.errors import QueryError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.prepared.blocks import MOST_RECORD, OTHER_BYTES, RANGES_BYTES, RECORD, bytes_in_blocks, place_bits
from vkssp.prepared.bucket_width import DELTA, default_delta, first_bucket
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.references import DAVIDSON, NIKLAUS

#: Specialization constants of shaders/include/block_visit.glsl.
BLOCK_CONSTANT, ROUNDS_CONSTANT, BITS_CONSTANT, AT_ONCE_CONSTANT, QUADS_CONSTANT = 2, 3, 4, 5, 6
#: Largest number of nodes of an invocation, which keeps a dozen words of each in registers.
MOST_NODES_EACH = 16
#: Largest number of arcs of a path between neighbouring crossings.
LONGEST_CHAIN = 8.0
# Factor by which the first bucket of a search for a target is narrower. Still narrower buckets would hold less than the
# nodes of a block, which are visited together anyway.
_NARROWER = 16
# Most nodes of a block of a large core.
_CORE_BLOCK = 512
#: Bytes of shared memory besides those of the nodes of the block.
SHARED_BESIDES = 128


def default_rounds(block: int) -> int:
    """Return the maximum number of rounds of a visit: the hops across a block that is a square part of a grid.

    With fewer rounds a wave needs more visits to cross a block. With more rounds one block delays all others.
    """
    return 1 << block.bit_length() // 2


def usual_block(size: int) -> int:
    """Return the number of nodes of a block, given the invocations of a workgroup."""
    return min(1024, 1 << (4 * size).bit_length() - 1)


def mean_chain(degree: float) -> float:
    """Return the number of arcs of a path between neighbouring crossings, given the mean number of arcs of a node.

    The model: n of N nodes are crossings with three arcs, and all other nodes have two. Then 2 N + n arcs are in 3 n
    such paths.
    """
    return degree / (3 * (degree - 2)) if degree > 2 else LONGEST_CHAIN


def default_bucket(renumbered: RenumberedGraph, device: Device) -> int:
    """Return the width of a bucket for one search in a graph on a device."""
    chain = min(max(1.0, mean_chain(renumbered.num_arcs / max(1, renumbered.num_nodes))), LONGEST_CHAIN)
    return default_delta(renumbered.spread.mean, device.tuned["block_resident.delta_per_mean"] * chain)


def missing_bytes(graph: DeviceGraph, block: int, record: int = RECORD, *, at_most: bool) -> int:
    """Return the bytes of a graph's blocks of `block` nodes, or a quick bound; 0 if the device has the blocks."""
    renumbered = graph.renumbered
    if at_most:
        of_arcs = 4 * record * renumbered.num_nodes + OTHER_BYTES * renumbered.num_arcs
    else:
        of_arcs = sum(bytes_in_blocks(renumbered.first_out, renumbered.arcs, block, record))
    return graph.missing((block, record), of_arcs + RANGES_BYTES * -(-renumbered.num_nodes // block))


class BlockResident(DeviceAlgorithm):
    """The buffers, kernels and loop of one block_resident search at a time on a graph; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "block_resident"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="near-far over blocks of nodes: a workgroup relaxes a block in shared memory until nothing near changes",
        source=f"{DAVIDSON}; {NIKLAUS}",
        complexity="a few dispatches for each block on the path; some nodes work more than once",
        use="road networks, whose arcs join nodes that are close in the numbering of their coordinates or landmarks",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        DELTA,
        Parameter("block", 1, 16384, None, "nodes of a block", power_of_two=True),
        Parameter("rounds", 1, 65535, None, "rounds of a visit at most, but for those that are made at once"),
        Parameter("rounds_at_once", 1, 1024, None, "rounds between two barriers of the workgroup"),
        Parameter(
            "record",
            1,
            MOST_RECORD,
            None,
            "arcs of a node that an invocation keeps, rounded up to quads; fewer if it has several nodes",
        ),
        WORKGROUP_SIZE,
        WORKGROUPS,
    )
    BINDINGS: ClassVar[int] = 10
    STATE: ClassVar[np.dtype[Any]] = state_dtype(
        (
            *("phase", "low", "threshold", "near_parity", "far_parity", "near_length", "split_length"),
            *("delta", "widest", "buckets", "blocks"),
        ),
        *(("near_gap", 32), "near_next", ("far_gap", 32), "far_length", "far_next"),
        *(("nearest_gap", 32), "far_nearest", ("claimed_gap", 32), "claimed", ("end_gap", 32)),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("buckets", "blocks")
    OWN_BYTES: ClassVar[float] = 4
    SWEEPS: ClassVar[float] = 0

    @classmethod
    def core_parameters(cls, core: DeviceGraph, whole: RenumberedGraph, given: Mapping[str, int]) -> Mapping[str, int]:
        """Return parameters for searches in a core whose blocks are too many to be visited at once.

        Arcs of a core stand for long paths, and a bucket as wide as many of them takes in most of a graph. That is best
        where all blocks are visited at once anyway; blocks of larger cores would be visited again and again. Waves
        touch fewer blocks of a core than of the whole graph, so these are smaller, visits are longer, and there are
        more rounds between barriers.
        """
        tuned = core.device.tuned
        size = given.get("workgroup_size", tuned["block_resident.workgroup_size"])
        usual = usual_block(min(size, core.device.limits.workgroup_size))
        if core.num_nodes <= tuned["block_resident.workgroups"] * usual:
            return given
        block = given.get("block", min(_CORE_BLOCK, usual))
        return {
            "delta": default_bucket(whole, core.device),
            "block": block,
            "rounds": 3 * default_rounds(block) // 2,
            "rounds_at_once": 2 * tuned["block_resident.rounds_at_once"],
            **given,
        }

    def _graph_bytes(self, *, at_most: bool) -> int:
        _, block = self._sizes()
        own = 28 * -(-self._num_nodes // block)
        return own + missing_bytes(self._graph, block, self._record(), at_most=at_most)

    def _record(self) -> int:
        """Return the number of arcs of a record."""
        # Drivers unroll the loops over nodes and quads, and compile long ones for half a minute.
        size, block = self._sizes()
        most = RECORD * max(1, MOST_NODES_EACH // -(-block // size))
        wanted = self._parameters["record"]
        return min(RECORD * -(-int(wanted) // RECORD) if wanted else self._graph.renumbered.record, most)

    def _sizes(self) -> tuple[int, int]:
        """Return the sizes of a workgroup and of a block."""
        block = self._parameters["block"]
        # If a device ends long loops too early, larger workgroups and fewer rounds give an invocation less to do.
        usual, fewest = self._device.tuned["block_resident.workgroup_size"], (block or 0) // MOST_NODES_EACH
        software = max(usual if self._more_groups == 1 else max(usual, 256), fewest)
        size = self._size(default=max(min(usual, block or usual), fewest), software=software)
        return size, block or usual_block(size)

    def _steps(self) -> Sequence[Step]:
        graph, parameters = self._graph, self._parameters
        self._delta = parameters["delta"] or default_bucket(graph.renumbered, self._device)
        size, self.block = self._sizes()
        if self.block > MOST_NODES_EACH * size:
            raise QueryError(
                f"block is {self.block}; {self.NAME} with workgroups of {size} takes {MOST_NODES_EACH * size} at "
                "most; choose smaller blocks or a larger workgroup_size"
            )
        rounds = max(1, (parameters["rounds"] or default_rounds(self.block)) // self._more_groups)
        at_once = parameters["rounds_at_once"] or self._device.tuned["block_resident.rounds_at_once"]
        self.num_blocks = -(-self._num_nodes // self.block)
        self._relaxed_with = self._buffer("the distances that arcs were relaxed with", 4 * self._num_nodes)
        self._blocks = self._buffer("the blocks", 8 * self.num_blocks)
        self._lists = self._buffer("the lists of blocks", 16 * self.num_blocks)
        blocks = 4 * self.num_blocks
        self._seed_blocks = Buffer(self._device, blocks, mapped=True, name="the blocks of the seeds", owner=self)
        self.parts.append(self._seed_blocks)
        kernel = self._kernel(
            "block_resident",
            *(self.terminals, self.distances, *graph.blocks(self.block, self._record())),
            *(self._relaxed_with, self._blocks, self._lists),
            workgroup_size=size,
            push_constants=3,
            constants={
                BLOCK_CONSTANT: self.block,
                ROUNDS_CONSTANT: rounds,
                BITS_CONSTANT: place_bits(self.block),
                AT_ONCE_CONSTANT: min(at_once, rounds),
                QUADS_CONSTANT: self._record() // RECORD,
            },
            shared_bytes=8 * self.block + SHARED_BESIDES,
        )
        most = self._device.tuned["block_resident.workgroups"]
        groups = self._groups(self.num_blocks, 1, default=most, software=most)
        return [Step(kernel, groups, (self._num_nodes, self.num_blocks, graph.renumbered.spread.heaviest))]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._relaxed_with, UNREACHABLE)
        recording.fill(self._blocks, UNREACHABLE)
        recording.copy(self._seed_blocks, self._lists, 4 * self._copied)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        seed_blocks = list({node // self.block for node, _ in seeds})
        # With some places behind them that nothing reads, so that the copy is recorded once for most searches.
        self._copied = min(rounded_up(len(seed_blocks)), self.num_blocks)
        self._seed_blocks.view()[: len(seed_blocks)] = seed_blocks
        return {**first_bucket(self._delta, seeds, targets, _NARROWER), "near_length": len(seed_blocks)}

    def _begins_like(self, seeds: Sequence[Terminal]) -> tuple[int, ...]:
        return (self._copied,)
