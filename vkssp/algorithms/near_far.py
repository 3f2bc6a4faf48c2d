"""Near-far method: work queues instead of sweeps (A. Davidson, S. Baxter, M. Garland, J. D. Owens, 2014).

Nodes that were improved to a distance below a threshold are near and relax their arcs in the next dispatch; other nodes
wait in the far pile. When the near queue is empty, the pile is split at the next threshold, and entries whose node has
been improved since are dropped. A workgroup continues for some rounds of the same dispatch with the nodes that it
improved, in shared memory, and distributes the arcs of its nodes evenly. Nodes with thousands of arcs are split into
pieces, which count as nodes in traces.

Phases in a trace: 0 near nodes relax their arcs, 1 the far pile is split. The range of ids is one of places in the
queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Outcome, Parameter, Terminal
from vkssp.engine.arrays import MOST_ARCS, Array, make_array
from vkssp.engine.device_algorithm import STATE_SHARED, WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.errors import DeviceError
from vkssp.gpu.recording import Recording
from vkssp.gpu.split_buffer import copy_to
from vkssp.graph.distance_type import BITS_32, DISTANCE_TYPES
from vkssp.prepared.bucket_width import DELTA, default_delta, first_bucket
from vkssp.references import DAVIDSON, NIKLAUS

_ROUNDS_CONSTANT, _READ_FIRST_CONSTANT, _LEAST_ENTRIES_CONSTANT, _LIGHT_FIRST_CONSTANT = 2, 3, 4, 5
#: Queues by their bits in `queue_overflow` of the state.
_QUEUES = {1: "near queue", 2: "far pile"}
# Bytes of shared memory per invocation for prefix sums without the entry there, entries per invocation of a list, and
# bytes for everything else.
_SHARED_FOR_SCAN, _ENTRIES_OF_LIST, _SHARED_BESIDES = 12, 2, 128
# From this mean degree on, a short queue soon fills the device, and most relaxations improve nothing. Then a search is
# faster with one round in a dispatch, with buckets that are narrower the more arcs there are, with a read before the
# atomic minimum, and with light arcs first.
_HIGH_DEGREE = 8
# Features by which subgroups share out work; without them a kernel does it by shared memory alone.
_SUBGROUPS = {"subgroup_basic", "subgroup_arithmetic", "subgroup_ballot"}
# Least entries of a workgroup while the queue is short: one with fewer costs more than it saves.
_LEAST_ENTRIES = 8


class NearFar(DeviceAlgorithm):
    """Near-far search on a device; see `DeviceAlgorithm`.

    Attributes
    ----------
    capacity : dict of str to int
        Number of entries that each queue has room for.
    """

    NAME: ClassVar[str] = "near_far"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="queues of nodes instead of sweeps: near ones relax their arcs, far ones wait for the next threshold",
        source=f"{DAVIDSON}; {NIKLAUS}",
        complexity="L / delta splits and the steps between them; work in proportion to what improves",
        use="any graph; road networks without coordinates, social networks, near targets",
        ends_early=True,
        distance_bits=tuple(DISTANCE_TYPES),
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        DELTA,
        Parameter("rounds", 1, 1024, None, "steps that a workgroup goes in one dispatch while the queue is short"),
        WORKGROUP_SIZE,
        WORKGROUPS,
    )
    BINDINGS: ClassVar[int] = 9
    STATE: ClassVar[np.dtype[Any]] = state_dtype(
        (
            *("phase", "low", "threshold", "bound", "near_parity", "far_parity", "near_length", "split_length"),
            *("delta", "widest", "buckets"),
        ),
        *("queue_overflow", ("near_gap", 32), "near_next", ("far_gap", 32), "far_length", "far_next"),
        *(("nearest_gap", 32), "far_nearest", "far_farthest", "reached", ("end_gap", 32)),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("buckets",)
    DISTANCES: ClassVar[frozenset[str]] = frozenset(("far_nearest", "far_farthest"))
    CUTS_NODES: ClassVar[bool] = True
    SWEEPS: ClassVar[float] = 0

    def _graph_bytes(self, *, at_most: bool) -> int:
        graph = self._graph
        arcs = graph.renumbered.arcs.nbytes + 8 * graph.num_pieces
        name = "arcs light first" if self.has_many_arcs else "arcs"
        rows = graph.missing("rows", 8 * (self._num_nodes + graph.num_pieces))
        return 2 * self._place_bytes * self.first_capacity + rows + graph.missing(name, arcs)

    @property
    def _entry_bytes(self) -> int:
        """Bytes of an entry of a queue: a node and a distance, in two words of a distance."""
        return 2 * self.distance_type.nbytes

    @property
    def _place_bytes(self) -> int:
        """Bytes of the places of an entry in both halves of a queue."""
        return 2 * self._entry_bytes

    @property
    def most_entries(self) -> int:
        """Most entries of a queue: those that the device can bind or, if arrays are split, number."""
        return MOST_ARCS // 2 if self._graph.splits_arcs else self._device.limits.buffer // self._place_bytes

    @property
    def first_capacity(self) -> int:
        """Initial number of entries of a queue; on a road network few nodes are in a queue at a time."""
        return min(max(1024, self._num_nodes // (1 if self.has_many_arcs else 4)), self.most_entries)

    @property
    def has_many_arcs(self) -> bool:
        """Whether nodes have so many arcs that light arcs come first, and arcs beyond the farthest node are skipped."""
        return self._graph.renumbered.num_arcs >= _HIGH_DEGREE * max(1, self._num_nodes)

    def _make(self) -> None:
        self.capacity = dict.fromkeys(_QUEUES.values(), self.first_capacity)
        super()._make()

    def _make_loop(self) -> None:
        while self.capacity["near queue"] < self._most_seeds:  # a search begins with the seeds in the near queue
            self._lengthen("near queue")
        super()._make_loop()

    def _steps(self) -> Sequence[Step]:
        graph, limits = self._graph, self._device.limits
        many_arcs = self.has_many_arcs
        degree = graph.renumbered.num_arcs / max(1, self._num_nodes)
        tuned, hub = self._device.tuned, "hub_" if many_arcs else ""
        per_mean = tuned[f"near_far.{hub}delta_per_mean"] / (degree if many_arcs else 1)
        self._delta = self._parameters["delta"] or default_delta(
            graph.renumbered.spread.mean, per_mean, self._unreachable - 1
        )
        rounds = self._parameters["rounds"] or (1 if many_arcs else tuned["near_far.rounds"])
        shared = _SHARED_FOR_SCAN + self._entry_bytes * (1 + _ENTRIES_OF_LIST * (3 if rounds > 1 else 2))
        fitting = (limits.shared_memory - STATE_SHARED - _SHARED_BESIDES) // shared
        # If the device ends long loops too early, larger workgroups leave less work to each invocation.
        usual = tuned[f"near_far.{hub}workgroup_size"]
        default = self._size(default=usual, software=usual if self._more_groups == 1 else max(usual, 256))
        size = self._parameters["workgroup_size"] or min(default, fitting)
        arcs = graph.arcs_light_first() if many_arcs else graph.arcs
        self._queues = [self._queue(f"the {name}", places) for name, places in self.capacity.items()]
        kernel = self._kernel(
            "near_far" if _SUBGROUPS <= self._device.info.features else "near_far_no_subgroups",
            *(self.terminals, self.distances, graph.rows(), arcs, *self._queues, self.distances),
            workgroup_size=size,
            push_constants=4,
            constants={
                _ROUNDS_CONSTANT: rounds,
                _READ_FIRST_CONSTANT: int(many_arcs),
                _LEAST_ENTRIES_CONSTANT: 1 if many_arcs else _LEAST_ENTRIES,
                _LIGHT_FIRST_CONSTANT: int(many_arcs),
            },
            shared_bytes=shared * size + _SHARED_BESIDES,
        )
        most = tuned[f"near_far.{hub}workgroups"]
        groups = self._groups(self._num_nodes, min(size, 8), default=most, software=most)
        near, far = self.capacity.values()
        reachable = np.count_nonzero(graph.renumbered.has_arc_in) if many_arcs else 0
        return [Step(kernel, groups, (near, far, self._num_nodes, int(reachable)))]

    def _queue(self, name: str, places: int) -> Array:
        queue = make_array(self._device, self._place_bytes * places, name, self, split=self._graph.splits_arcs)
        self.parts.append(queue)
        return queue

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        copy_to(recording, self.seeds, self._queues[0], self._entry_bytes * num_seeds)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        first = first_bucket(self._delta, seeds, targets, unreachable=self._unreachable)
        reached = 0
        if self.has_many_arcs:
            reached = int(np.count_nonzero(self._graph.renumbered.has_arc_in[list({node for node, _ in seeds})]))
            # A seed beyond the threshold does not wait in the far pile, so the farthest node there bounds nothing. With
            # more nodes reached than there are, no arc is passed over.
            if max(offset for _, offset in seeds) >= first["threshold"]:
                reached = self._num_nodes + 1
        return {**first, "near_length": len(seeds), "bound": self._unreachable, "reached": reached}

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Find distances; see `Algorithm`. A search whose queue was too short is repeated with a longer one."""
        while True:
            outcome = super().search(seeds, targets)
            overflow = int(self.ended["queue_overflow"])
            if not overflow:
                return outcome
            self._grow([name for bit, name in _QUEUES.items() if overflow & bit])

    def _grow(self, names: Sequence[str]) -> None:
        for name in names:
            self._lengthen(name)
        self._make_loop()

    def _lengthen(self, name: str) -> None:
        if self.capacity[name] >= self.most_entries:
            other = "algorithm, such as delta_step" if self.distance_type is BITS_32 else "device, such as 'cpu'"
            raise DeviceError(
                f"the {name} of near_far has more entries than the {self.most_entries} that {self._device.info.name} "
                f"can bind; choose another {other}"
            )
        self.capacity[name] = min(2 * self.capacity[name], self.most_entries)
