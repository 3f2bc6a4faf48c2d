"""Searches on a reduced graph: any device algorithm on the core, then some dispatches for the distances of all nodes.

A graph is reduced twice: dead ends and chains leave it (`prepared.reduction`), and then nodes with few neighbours,
round by round (`prepared.elimination`). The dispatches, one for each round and one for dead ends and chains, and a
short one for removed nodes near the seeds, are at the end of every batch of the loop. They do nothing before the search
in the core ends. A submission of their own would cost the host more time than they cost the device.

If a seed is a removed node, the CPU searches its component (`reduction_seeds`), and goes up from there to nodes that
were eliminated later, until the core. The distances found there, and seeds at core nodes, take the place of the seed.
In the same way, core nodes take the place of a target.

The walk back along the distances of the whole graph needs no change. Each finite distance is the length of some walk,
and the distance of each node of the walk is at most the length of the walk up to the node. For core nodes this follows
from the search, for other nodes from the record or from the search inside the component. So a node with an exact
distance has a predecessor with an exact distance, which the walk back may take. Conversely, each predecessor u with
dist[u] + weight = dist[v] is exact, since dist[v] would otherwise be too large by the same amount. So a distance that
is too large because the search ended early never becomes part of a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, TOTALS, TRACE, VULKAN, Description, Outcome, Parameter, Terminal
from vkssp.engine.device_algorithm import DeviceAlgorithm
from vkssp.engine.device_graph import DeviceGraph, has_pieces
from vkssp.engine.gather import Gather
from vkssp.engine.path import PathWalker
from vkssp.engine.voronoi import DeviceVoronoi
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import read_values
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.prepared.elimination import Elimination, eliminate, untouched
from vkssp.prepared.reduction import Reduction, with_components
from vkssp.prepared.reduction_seeds import Inside, Surroundings, UpwardLabels, UpwardSearch
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.references import GEISBERGER
from vkssp.resource import Resource

# Bytes of the buffer for the nodes that seeds reach inside their components.
_NEAR_BYTES = 32768
# Least bytes of the copy of eliminated nodes that seeds reach, and the factor between sizes of the copy.
_LEAST_ABOVE, _LARGER = 1024, 4


class ReducedGraph(DeviceGraph):
    """Graph whose core and records are on the device; its own arrays are uploaded only if paths are requested.

    Attributes
    ----------
    reduction : Reduction
        Core and records in host memory.
    surroundings : Surroundings
        Components of removed nodes, in host memory.
    elimination : Elimination
        What is eliminated from the core of the reduction, in host memory.
    core : DeviceGraph
        The core of the elimination.
    records : Buffer
        The records, 16 bytes for each node, with places of the elimination as core nodes. Core nodes have records, too.
        They are few if a reduction pays, and with them no index of removed nodes is needed, and all reads and writes
        are in order.
    arcs_in : Buffer
        The arcs into eliminated nodes, see `Elimination.arcs_in`.
    """

    def __init__(
        self,
        device: Device,
        renumbered: RenumberedGraph,
        reduction: Reduction,
        owner: Resource | None = None,
        *,
        eliminates: bool = True,
    ) -> None:
        super().__init__(device, renumbered, owner)
        self.reduction = reduction
        self.surroundings = renumbered.derived("surroundings", lambda: Surroundings(reduction, renumbered))
        try:
            found = renumbered.derived("elimination", self._eliminate) if eliminates else None
            # Distances of the pieces of a node with many arcs have the places of eliminated nodes.
            if found is None or has_pieces(found.core) or found.arcs_in.nbytes > device.limits.buffer:
                self.elimination: Elimination = renumbered.derived("no elimination", lambda: untouched(reduction.core))
            else:
                self.elimination = found
            place, arcs_in = self.elimination.place, self.elimination.arcs_in
            device.require(reduction.records.nbytes + arcs_in.nbytes + 4 * self.num_nodes, "this reduced graph")
            if self.elimination is found:
                remaining = found.core
                core = renumbered.derived("core", lambda: RenumberedGraph(remaining, "natural", keep=renumbered.keeps))
            else:
                core = self.core_of_reduction
            self.core = DeviceGraph(device, core, self)
            records = reduction.records.copy()
            records[:, ::2] = place[records[:, ::2]]
            arrays = {"the records of removed nodes": records, "the arcs into eliminated nodes": arcs_in}
            self.records, self.arcs_in = self.upload(arrays)
        except BaseException:
            self.close()
            raise

    @property
    def core_of_reduction(self) -> RenumberedGraph:
        """The core of the reduction, from which nothing has been eliminated."""
        core, keep = self.reduction.core, self.renumbered.keeps
        found: RenumberedGraph = self.renumbered.derived(
            "core of the reduction", lambda: RenumberedGraph(core, "natural", keep=keep)
        )
        return found

    def _eliminate(self) -> Elimination:
        """Eliminate nodes of the core of the reduction."""
        graph, renumbered, reduction = self.renumbered.graph, self.renumbered, self.reduction
        if graph.lat is None or graph.lon is None:
            return eliminate(reduction.core)
        node = np.empty(renumbered.num_nodes, np.int64)  # one of the caller's nodes for each node
        node[renumbered.node] = np.arange(graph.num_nodes)
        node = node[reduction.component == UNREACHABLE]
        return eliminate(reduction.core, (graph.lat[node], graph.lon[node]))

    def with_components(self) -> tuple[DeviceGraph, Uint32s]:
        """Return the core together with the components, and the nodes there; see `reduction.with_components`."""

        def prepare() -> tuple[RenumberedGraph, Uint32s]:
            graph, node = with_components(self.renumbered, self.reduction)
            return RenumberedGraph(graph, "natural"), node

        def make() -> tuple[DeviceGraph, Uint32s]:
            renumbered, node = self.renumbered.derived("with components", prepare)
            return DeviceGraph(self.device, renumbered, self), node

        made: tuple[DeviceGraph, Uint32s] = self.shared("with components", make)
        return made

    def reweight(self, renumbered: RenumberedGraph, changed: npt.NDArray[np.int64] | None) -> bool:
        """Return False: the arcs of the core depend on the weights, so the graph must be reduced anew."""
        return False


class ReducedSearch(Resource):
    """Search on a reduced graph.

    Iterations, counters and traces are those of the algorithm on the core, with the node ids of the core.

    Parameters
    ----------
    graph : ReducedGraph
        The graph.
    kind : type of DeviceAlgorithm
        Algorithm for the core.
    counting : int
        What the kernels count, an index into `COUNTING`.
    **parameters : int, optional
        Parameters of the algorithm.

    Attributes
    ----------
    distances : Buffer
        Distances of all nodes of the graph.
    terminals : Buffer
        Seeds and targets of the last search by the node ids of the whole graph, for the walk back.
    """

    NAME: ClassVar[str] = "reduced"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="nodes with few neighbours leave the graph; a search finds distances in the core, then all others",
        source=f"peeling of dead ends and contraction of chains, as common in route planning; {GEISBERGER}",
        complexity="that of the algorithm on the core, and a dispatch for each round of the elimination",
        use="street maps, most of whose nodes have two or three neighbours",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()
    RUNS_ON: ClassVar[str] = VULKAN

    def __init__(
        self, graph: ReducedGraph, kind: type[DeviceAlgorithm], *, counting: int = 0, **parameters: Any
    ) -> None:
        super().__init__(graph)
        self._graph, self._counting, self._device = graph, counting, graph.device
        self._is_traced = False
        self._expansion: tuple[Bindings, Bindings, Bindings] | None = None
        self._begins: Bindings | None = None
        self.num_further = len(graph.elimination.place) - graph.elimination.core.num_nodes
        self._upward = UpwardSearch(graph.elimination)
        try:
            self._device.require(4 * graph.num_nodes, "a search on this reduced graph")
            self._make()
            # Made last and so closed first: submissions must end before their buffers are freed.
            given = {name: value for name, value in parameters.items() if value is not None}
            of_core: Mapping[str, Any] = kind.core_parameters(graph.core, graph.renumbered, given)
            self._inner = kind(graph.core, counting=counting, afterwards=self, owner=self, **of_core)
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        device = self._device
        self.distances = Buffer(device, 4 * self._graph.num_nodes, name="the distances", owner=self)
        self.terminals = Buffer(device, 16 * MAX_TERMINALS, mapped=True, name="the terminals", owner=self)
        self._near = Buffer(device, _NEAR_BYTES, name="the nodes near the seeds", owner=self)
        self._near_words = Buffer(device, _NEAR_BYTES, mapped=True, name="the next nodes near the seeds", owner=self)
        above = max(8 + 8 * self.num_further, _LEAST_ABOVE)
        self._above = Buffer(device, above, name="the eliminated nodes near the seeds", owner=self)
        name = "the next eliminated nodes near the seeds"
        self._above_words = Buffer(device, above, mapped=True, name=name, owner=self)
        self._above_bytes = _LEAST_ABOVE
        self._timestamps = Timestamps(device, 2, owner=self)
        self._each = device.tuned["flat.items"]  # nodes of an invocation
        size = min(device.tuned["flat.workgroup_size"], device.limits.workgroup_size)
        self._expand = Kernel(device, "expand", bindings=4, push_constants=1, workgroup_size=size, owner=self)
        self._lower = Kernel(device, "expand_inside", bindings=3, workgroup_size=size, owner=self)
        self._level = Kernel(device, "expand_level", bindings=3, push_constants=4, workgroup_size=size, owner=self)

    def begins_like(self) -> int:
        """Return the size of the copy of eliminated nodes that the seeds reach; see `Afterwards`."""
        return self._above_bytes

    def begin(self, recording: Recording) -> None:
        """Record the copies of the nodes that seeds reach outside of the core; see `Afterwards`."""
        recording.copy(self._near_words, self._near, _NEAR_BYTES)
        recording.copy(self._above_words, self._above, self._above_bytes)

    def start(self, recording: Recording, distances: Buffer, state: Buffer) -> None:
        """Record the distances of eliminated nodes that the seeds reach; see `Afterwards`."""
        if self.num_further == 0:
            return
        if self._begins is None:
            self._begins = self._lower.on(self._above, distances, state)
        recording.barrier()  # both dispatches write distances and the state, though not the same words
        recording.bind(self._begins)
        recording.dispatch_for(self._begins, self._above_bytes // 8, self._each)

    def finish(self, recording: Recording, state: Buffer) -> None:
        """Record the computation of the distances of all nodes from those of the core; see `Afterwards`."""
        if self._expansion is None:
            core, records = self._inner.distances, self._graph.records
            level = self._level.on(self._graph.arcs_in, core, state)
            expand = self._expand.on(core, records, self.distances, state)
            self._expansion = level, expand, self._lower.on(self._near, self.distances, state)
        level, expand, lower = self._expansion
        if self._graph.elimination.levels:
            recording.bind(level)
        for nodes in self._graph.elimination.levels:
            recording.push(level, *nodes)
            recording.dispatch_for(level, nodes.size, self._each)
            recording.barrier()
        recording.bind(expand)
        recording.push(expand, self._graph.num_nodes)
        recording.dispatch_for(expand, self._graph.num_nodes, self._each)
        recording.barrier()
        self._lowering(recording, lower, _NEAR_BYTES // 8)

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Find distances; see `Algorithm`."""
        graph, inner = self._graph, self._inner
        places = np.array([*seeds, *targets], np.uint32).reshape(-1)
        if places.nbytes <= self.terminals.nbytes:  # no caller asks for a path of a search with more
            self.terminals.view()[: len(places)] = places
        found = graph.surroundings.search(seeds)
        upward = self._upward.search(found.exits)
        best, through, overflow = self._targets(targets, found, upward)
        fits_near = _put_pairs(self._near_words.view(), found.near)
        self._put_above(upward.above)
        # If arcs lead to no core node, a seed that is out of reach begins a search that ends at once.
        core_seeds = list(map(tuple, upward.cores.tolist())) or [(0, UNREACHABLE)]
        # Some core nodes replace each terminal. If they are too many, the search only does not end early.
        fits = not targets or len(core_seeds) + len(through) <= inner.terminals.nbytes // 8
        self._is_traced = bool(found.exits)
        if found.exits:
            outcome = inner.search(core_seeds, through if fits else [])
        else:
            names = ("iterations", *inner.COUNTERS, *(TOTALS if self._counting else ()))
            outcome = Outcome(UNREACHABLE, False, 0.0, dict.fromkeys(names, 0))
        more_ms = 0.0 if found.exits and fits_near else self._lower_separately(found.near, from_core=bool(found.exits))
        beyond = False
        if not fits:
            best, beyond = self._best(targets)
        saturated = graph.reduction.saturated or graph.elimination.saturated
        return Outcome(
            min(best, outcome.best),
            outcome.overflow or overflow or beyond or found.overflow or upward.overflow or saturated,
            outcome.device_ms + more_ms,
            outcome.counters,
        )

    def _put_above(self, above: npt.NDArray[np.uint32]) -> None:
        """Write the eliminated nodes that the seeds reach for the device."""
        words = self._above_words.view()
        _put_pairs(words, above)
        self._above_bytes = _LEAST_ABOVE
        while self._above_bytes < 8 + above.nbytes:
            self._above_bytes = min(_LARGER * self._above_bytes, words.nbytes)

    def _targets(
        self, targets: Sequence[Terminal], found: Inside, upward: UpwardLabels
    ) -> tuple[int, Sequence[Terminal], bool]:
        """Return the length of the best path outside of the core, the targets in it, and whether sums overflow."""
        best, overflow = UNREACHABLE, False
        if not targets:
            return best, (), overflow
        around: dict[int, int] = {}
        for node, offset in targets:
            first, from_first, second, from_second = self._graph.reduction.records[node].tolist()
            for core, weight in ((first, from_first), (second, from_second)):
                if weight == UNREACHABLE:
                    continue
                if weight + offset >= UNREACHABLE:
                    overflow = True
                else:
                    around[core] = min(weight + offset, around.get(core, UNREACHABLE))
            near = found.distance(node)
            overflow |= near < UNREACHABLE <= near + offset
            best = min(best, near + offset)
        back = self._upward.search(around, backward=True)
        below = dict(upward.above.tolist())
        meets = [below[node] + rest for node, rest in back.above.tolist() if node in below]
        overflow |= back.overflow or max(meets, default=0) >= UNREACHABLE
        return min([best, *meets]), list(map(tuple, back.cores.tolist())), overflow

    def _best(self, targets: Sequence[Terminal]) -> tuple[int, bool]:
        """Return the length of the path to the best target by the final distances, and whether a length overflows."""
        distances = self.read()
        lengths = [int(distances[node]) + offset for node, offset in targets if distances[node] != UNREACHABLE]
        return min([UNREACHABLE, *lengths]), any(length >= UNREACHABLE for length in lengths)

    def _lower_separately(self, near: npt.NDArray[np.uint32], *, from_core: bool) -> float:
        """Lower the distances of nodes near the seeds in a submission of its own.

        This is needed if the nodes are too many for the buffer of the batches, or no seed leads to the core.

        Returns
        -------
        float
            Milliseconds on the device.
        """
        parts: list[Resource] = []
        try:
            nbytes = 8 + near.nbytes
            many = Buffer(self._device, nbytes, mapped=True, name="the many nodes near the seeds", owner=self)
            parts.append(many)
            _put_pairs(many.view(), near)
            lower = self._lower.on(many, self.distances, self._inner.state)
            parts.append(lower)
            recording = Recording(self._device, owner=self)
            parts.append(recording)
            with recording.record():
                recording.barrier("all", "all")
                recording.timestamp(self._timestamps, 0)
                if not from_core:
                    recording.fill(self.distances, UNREACHABLE)
                    recording.barrier("transfer", "compute")
                self._lowering(recording, lower, len(near))
                recording.timestamp(self._timestamps, 1)
                recording.barrier("all", "all")
            recording.submit()
            recording.wait()
        finally:
            for part in reversed(parts):
                part.close()
        return self._timestamps.between()

    def _lowering(self, recording: Recording, lower: Bindings, num_near: int) -> None:
        recording.bind(lower)
        recording.dispatch_for(lower, num_near, self._each)
        recording.barrier()

    def read(self) -> Uint32s:
        """Return the distances of the last search; see `Algorithm`."""
        return read_values(self.distances, np.uint32, self._graph.num_nodes)

    @property
    def is_current(self) -> bool:
        """Whether the search is still usable: new weights need a new graph, which closes this one. See `Algorithm`."""
        return not self.closed

    def trace(self) -> npt.NDArray[Any]:
        """Return the iterations of the last search in the core; see `Algorithm`."""
        return self._inner.trace() if self._is_traced else np.empty(0, TRACE)

    def walker(self) -> PathWalker:
        """Return a walker along the distances of the whole graph; see `Algorithm`."""
        return PathWalker(self._graph, self.distances, self.terminals)

    def voronoi(self, most_seeds: int) -> DeviceVoronoi:
        """Return a finder of nearest seeds in the whole graph; see `Algorithm`."""
        return DeviceVoronoi(self._graph, self.distances, most_seeds, self)

    def reader(self, nodes: Uint32s) -> Gather:
        """Return a reader of the distances of some nodes; see `Algorithm`."""
        return Gather(self._device, self.distances, nodes, self)


def _put_pairs(words: Uint32s, pairs: npt.NDArray[np.uint32]) -> bool:
    """Write pairs behind their number, or no pairs if there is no room for them; return whether there is."""
    fits = 2 + pairs.size <= len(words)
    words[:2] = len(pairs) if fits else 0, 0
    if fits:
        words[2 : 2 + pairs.size] = pairs.reshape(-1)
    return fits
