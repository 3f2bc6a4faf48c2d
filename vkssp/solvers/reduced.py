"""Searches on a reduced graph: any algorithm for the device on the core, and then all other nodes in one dispatch.

A seed that was removed is searched from on the host, as far as its component goes (`vkssp.reduction.inside`): the
distances found there, and seeds among the core nodes around it, stand for it. For a removed target stand the core nodes
of its record.

The walk back along the whole graph's distances needs no change. Each finite distance is the length of some walk whose
nodes all have distances no larger than its length up to them: for core nodes that is how searches go, for others it
follows from the record or the search inside the component. So a node whose distance is exact has a predecessor whose
distance is exact, too, and which the walk may take; and each predecessor that fits, dist[u] + weight = dist[v], is
exact, since a distance that is too large by any amount would make dist[v] too large by as much. What the early end of a
search leaves too large is never taken for part of a shortest path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.reduction import Reduction
from vkssp.reduction.inside import Inside, search_inside
from vkssp.solvers.base import MAX_TERMINALS, TOTALS, TRACE, Description, Outcome, Parameter, Terminal
from vkssp.solvers.device import DeviceAlgorithm
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.path import PathWalker
from vkssp.solvers.prepare import PreparedGraph

# Nodes of an invocation on a software device, where one each, or hundreds, take twice as long; a GPU has one each.
_SOFTWARE_NODES = 8
_OVERFLOW_BYTES = 4
# Nodes that a seed reaches inside its component: room for a few hundred at first.
_NEAR_NAME, _NEAR_BYTES = "the nodes near the seeds", 4096


class ReducedGraph(DeviceGraph):
    """A graph of which the device has the core and the records; its own arrays only once routes are asked for.

    Attributes
    ----------
    reduction : Reduction
        Core and records on the host.
    core : DeviceGraph
        The core.
    records : Buffer
        The records, 16 bytes for each node. Core nodes have some, too: few where a reduction pays, and so there is no
        index of removed nodes, and all is read and written in order.
    """

    def __init__(self, device: Device, prepared: PreparedGraph, reduction: Reduction) -> None:
        super().__init__(device, prepared)
        self.reduction = reduction
        try:
            core = prepared.derived("core", lambda: PreparedGraph(reduction.core, "natural", keep=prepared.keeps))
            self.core = DeviceGraph(device, core, self)
            (self.records,) = self.upload({"the records of removed nodes": reduction.records})
        except BaseException:
            self.close()
            raise


class ReducedSearch(Resource):
    """One search at a time on a reduced graph.

    Iterations, counters and traces are those of the algorithm on the core, with the core's ids of nodes.

    Parameters
    ----------
    graph : ReducedGraph
        The graph.
    kind : type of DeviceAlgorithm
        The algorithm for the core.
    counting : int
        What is counted, an index into `COUNTING`.
    **parameters : int, optional
        Parameters of the algorithm.

    Attributes
    ----------
    distances : Buffer
        Distances of all nodes of the graph.
    terminals : Buffer
        Seeds and targets of the last search by the ids of the whole graph, as a walk back wants them.
    """

    NAME: ClassVar[str] = "reduced"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="dead ends and chains are taken out of the graph; a search finds distances in the core, then all others",
        source="degree-2 contraction and peeling of dead ends, as common in route planning",
        complexity="that of the algorithm on the core, and one dispatch over all nodes",
        use="street maps, most of whose nodes have two neighbours",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()
    RUNS_ON: ClassVar[str] = "device"

    def __init__(
        self, graph: ReducedGraph, kind: type[DeviceAlgorithm], *, counting: int = 0, **parameters: int | None
    ) -> None:
        super().__init__(graph)
        self._graph, self._counting, self._device = graph, counting, graph.device
        self._inner: DeviceAlgorithm | None = None
        self._is_traced = False
        try:
            self._inner = kind(graph.core, counting=counting, **parameters)
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        device, num_nodes = self._device, self._graph.num_nodes
        assert self._inner is not None
        self._core_search = self._inner
        self.distances = Buffer(device, 4 * num_nodes, name="the distances", owner=self)
        self.terminals = Buffer(device, 16 * MAX_TERMINALS, mapped=True, name="the terminals", owner=self)
        self._overflow = Buffer(device, _OVERFLOW_BYTES, mapped=True, name="the overflow flag", owner=self)
        self._timestamps = Timestamps(device, 2, owner=self)
        size = min(64 if device.info.kind == "cpu" else 256, device.limits.workgroup_size)
        expand = Kernel(device, "expand", bindings=4, push_constants=1, workgroup_size=size, owner=self)
        core = self._core_search.distances
        self._expand = expand.on(core, self._graph.records, self.distances, self._overflow)
        self._lower = Kernel(device, "expand_inside", bindings=2, push_constants=1, workgroup_size=size, owner=self)
        self._near = Buffer(device, _NEAR_BYTES, mapped=True, name=_NEAR_NAME, owner=self)
        self._near_bindings = self._lower.on(self._near, self.distances)
        # Made last and so closed first: what was submitted must have ended before what it works on goes.
        self._recording = Recording(device, owner=self)

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = ()) -> Outcome:
        """Find distances; see `Algorithm`."""
        graph, inner = self._graph, self._core_search
        places = np.array([*seeds, *targets], np.uint32).reshape(-1)
        self.terminals.view()[: len(places)] = places
        found = search_inside(graph.reduction, graph.prepared, seeds)
        best, through, overflow = self._targets(targets, found)
        # Up to two core nodes stand for each terminal. Should they be too many, the search just does not end early.
        fits = len(found.exits) + len(through) <= inner.terminals.nbytes // 8
        self._is_traced = bool(found.exits)
        if found.exits:
            outcome = inner.search(list(found.exits.items()), list(through.items()) if fits else [])
        else:
            names = ("iterations", *(TOTALS if self._counting else ()))
            outcome = Outcome(UNREACHABLE, False, 0.0, dict.fromkeys(names, 0))
        milliseconds, beyond = self._expansion(found, from_core=bool(found.exits))
        if not fits:
            best, beyond_target = self._best(targets)
            beyond |= beyond_target
        return Outcome(
            min(best, outcome.best),
            outcome.overflow or overflow or beyond or found.overflow or graph.reduction.saturated,
            outcome.device_ms + milliseconds,
            outcome.counters,
        )

    def _targets(self, targets: Sequence[Terminal], found: Inside) -> tuple[int, dict[int, int], bool]:
        """Return the best way inside a component, the targets in the core, and whether some sum does not fit."""
        best, overflow = UNREACHABLE, False
        through: dict[int, int] = {}
        for node, offset in targets:
            first, from_first, second, from_second = self._graph.reduction.records[node].tolist()
            for core, weight in ((first, from_first), (second, from_second)):
                if weight == UNREACHABLE:
                    continue
                if weight + offset >= UNREACHABLE:
                    overflow = True
                else:
                    through[core] = min(weight + offset, through.get(core, UNREACHABLE))
            near = found.distance(node)
            overflow |= near < UNREACHABLE <= near + offset
            best = min(best, near + offset)
        return best, through, overflow

    def _best(self, targets: Sequence[Terminal]) -> tuple[int, bool]:
        """Return the length of the way to the best target by the expanded distances, and whether one does not fit."""
        distances = self.read()
        lengths = [int(distances[node]) + offset for node, offset in targets if distances[node] != UNREACHABLE]
        return min([UNREACHABLE, *lengths]), any(length >= UNREACHABLE for length in lengths)

    def _expansion(self, found: Inside, *, from_core: bool) -> tuple[float, bool]:
        """Find the distances of all nodes; return the milliseconds on the device, and whether some sum did not fit."""
        lower, num_near = self._near_nodes(found), len(found.nodes)
        recording, num_nodes = self._recording, self._graph.num_nodes
        self._overflow.view()[0] = 0
        with recording.record():
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            if not from_core:
                recording.fill(self._core_search.distances, UNREACHABLE)
                recording.barrier("transfer", "compute")
            recording.bind(self._expand)
            recording.push(self._expand, num_nodes)
            recording.dispatch(self._groups(num_nodes))
            if num_near:
                recording.barrier()
                recording.bind(lower)
                recording.push(lower, num_near)
                recording.dispatch(self._groups(num_near))
            recording.timestamp(self._timestamps, 1)
            recording.barrier("all", "all")
        recording.submit()
        recording.wait()
        milliseconds = self._timestamps.read(1) - self._timestamps.read(0)
        return milliseconds, bool(self._overflow.view()[0])

    def _near_nodes(self, found: Inside) -> Bindings:
        """Write nodes and distances to a buffer that holds them, and return the kernel that lowers theirs."""
        pairs = np.stack([found.nodes, found.distances], axis=1).reshape(-1)
        if self._near.nbytes < pairs.nbytes:
            for part in (self._recording, self._near_bindings, self._near):
                part.close()
            self._near = Buffer(self._device, 2 * pairs.nbytes, mapped=True, name=_NEAR_NAME, owner=self)
            self._near_bindings = self._lower.on(self._near, self.distances)
            self._recording = Recording(self._device, owner=self)
        self._near.view()[: len(pairs)] = pairs
        return self._near_bindings

    def _groups(self, items: int) -> int:
        each = _SOFTWARE_NODES if self._device.info.kind == "cpu" else 1
        return min(max(1, -(-items // (each * self._lower.workgroup_size))), self._device.limits.workgroups)

    def read(self) -> Uint32s:
        """Return the distances of the last search; see `Algorithm`."""
        return self.distances.read(np.uint32, self._graph.num_nodes)

    def trace(self) -> npt.NDArray[Any]:
        """Return the iterations of the last search in the core; see `Algorithm`."""
        return self._core_search.trace() if self._is_traced else np.empty(0, TRACE)

    def walker(self) -> PathWalker:
        """Return a walker along the distances of the whole graph; see `Algorithm`."""
        return PathWalker(self._graph, self.distances, self.terminals)

    def _release(self) -> None:
        if self._inner is not None:
            self._inner.close()
