"""Base of the algorithms on a device: buffers, state, loop, counters and the walk back along a path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, TOTALS, TRACE, VULKAN, Description, Outcome, Parameter, Terminal, row_of
from vkssp.engine.arrays import Array, of_arrays
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.gather import Gather
from vkssp.engine.loop import Loop
from vkssp.engine.path import PathWalker
from vkssp.engine.shaders import needs_of, shader_of, widened
from vkssp.engine.voronoi import DeviceVoronoi
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.download import read_values
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.terminals import least_of_each
from vkssp.resource import Resource

#: Words that every workgroup reads at its start, and the names of the first; see shaders/include/loop_state.glsl.
STEP_WORDS, STEP = 16, ("done", "iterations", "num_seeds", "num_targets")
#: Same layout as Loop in shaders/include/loop_state.glsl behind the words of a step.
LOOP = np.dtype(
    [
        *((name, np.uint32) for name in ("ticket", "best", "overflow", "cut_short")),
        ("work", np.uint32, len(TOTALS)),
        ("totals", np.uint32, 2 * len(TOTALS)),
    ]
)
#: Specialization constant of every kernel with a state; it says what the kernel counts.
COUNTING_CONSTANT = 1
#: Records of the ring buffer that the device writes a trace to; same as TRACE_ROWS in shaders/include/loop.glsl.
TRACE_ROWS = 1024
#: Multiple of the usual number of workgroups above which a search is not repeated with more.
MOST_GROUPS = 512

#: Seeds and targets of a search, together, that are in one buffer. In a reduced graph several replace each of the
#: caller's.
MOST_TERMINALS = 8 * MAX_TERMINALS

#: Bytes of shared memory of a kernel with a state, in loop.glsl and for what the compiler adds.
STATE_SHARED = 192
# Word of the distance of unreachable nodes.
_ALL_ONES = 2**32 - 1

#: Parameters that most algorithms have.
WORKGROUP_SIZE = Parameter("workgroup_size", 1, 1024, None, "invocations in a workgroup")
WORKGROUPS = Parameter("workgroups", 1, 65535, None, "workgroups of a dispatch")


def state_dtype(step: Sequence[str], *fields: str | tuple[str, int]) -> np.dtype[Any]:
    """Return the layout of a state.

    Parameters
    ----------
    step : sequence of str
        The algorithm's own words among those that every workgroup reads at its start.
    *fields : str or tuple of (str, int)
        Its other words, or arrays of words.
    """
    words = [*STEP, *step, ("unused", STEP_WORDS - len(STEP) - len(step))]
    behind = [(field, np.uint32) if isinstance(field, str) else (field[0], np.uint32, field[1]) for field in fields]
    begin = [(word, np.uint32) if isinstance(word, str) else (word[0], np.uint32, word[1]) for word in words]
    return np.dtype([*begin, *LOOP.descr, *behind])


def widened_state(layout: np.dtype[Any], distances: Collection[str], distance_type: DistanceType) -> np.dtype[Any]:
    """Return the layout of a state for distances of a type, given the fields of its own part that are distances."""
    assert layout.names is not None
    step = layout.names[: layout.names.index("ticket")]
    return widened(layout, {*step, "best", *distances}, distance_type)


def rounded_up(count: int) -> int:
    """Return the next power of two, but at least 64, so that counts which differ little become the same."""
    return max(64, 1 << max(0, count - 1).bit_length())


class Afterwards(Protocol):
    """Work that follows a search in the same submissions, and finds the distances of further nodes.

    Attributes
    ----------
    num_further : int
        Number of nodes whose distances follow those of the graph in the buffer of distances.
    """

    num_further: int

    def begins_like(self) -> object:
        """Return the value that `begin` and `start` depend on; if it is unchanged, nothing is recorded again."""

    def begin(self, recording: Recording) -> None:
        """Record the preparation at the beginning of a search; a barrier from transfers to kernels follows it."""

    def start(self, recording: Recording, distances: Buffer, state: Buffer) -> None:
        """Record kernels that write distances of further nodes before the first iteration; a barrier follows them."""

    def finish(self, recording: Recording, state: Buffer) -> None:
        """Record the work at the end of every batch; only its result after the state says "done" counts."""


@dataclass(frozen=True)
class Step:
    """One dispatch of an iteration: a kernel, the number of workgroups, and the push constants."""

    kernel: Bindings
    workgroups: int
    pushed: tuple[int, ...]


class DeviceAlgorithm(Resource):
    """Base class of all algorithms on a device.

    A subclass defines the dispatches of an iteration (`_steps`), the initial values of its own part of the state
    (`_initial`), and the other fills and copies at the beginning of a search (`_begin`).

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    counting : int
        What the kernels count, an index into `COUNTING`.
    afterwards : Afterwards, optional
        Work that follows each search.
    owner : Resource, optional
        Resource that closes the algorithm, by default the graph.
    distance_type : DistanceType
        Type of the distances; one of those that the description names.
    **parameters : int, optional
        Parameters that `PARAMETERS` declares.

    Attributes
    ----------
    distances : Buffer
        Distances, by node; then those of further nodes that `afterwards` finds.
    terminals : Buffer
        Seeds and targets of the last search.
    state : Buffer
        Progress of the search, see `STATE`.
    loop : Loop
        Loop over the iterations.
    ended : numpy.void
        Copy of the state from the end of the last search.
    """

    NAME: ClassVar[str]
    DESCRIPTION: ClassVar[Description]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]
    RUNS_ON: ClassVar[str] = VULKAN
    #: Layout of the state for distances of 32 bits, and the names of its fields that are distances.
    STATE: ClassVar[np.dtype[Any]]
    DISTANCES: ClassVar[frozenset[str]] = frozenset()
    #: Fields of the state that are also counters.
    COUNTERS: ClassVar[tuple[str, ...]] = ()
    #: Whether nodes with very many arcs are cut into pieces; the pieces have distances, too.
    CUTS_NODES: ClassVar[bool] = False
    #: Bytes that the algorithm needs for each node beside the distances.
    OWN_BYTES: ClassVar[float] = 0
    #: Share of the graph that an iteration goes over; 0 if few nodes take part in most of them.
    SWEEPS: ClassVar[float] = 1
    #: Most storage buffers of a kernel.
    BINDINGS: ClassVar[int]

    def __init__(
        self,
        graph: DeviceGraph,
        *,
        counting: int = 0,
        afterwards: Afterwards | None = None,
        owner: Resource | None = None,
        distance_type: DistanceType = BITS_32,
        **parameters: Any,
    ) -> None:
        super().__init__(owner or graph)
        self.distance_type, self._unreachable = distance_type, distance_type.unreachable
        self._layout = widened_state(self.STATE, self.DISTANCES, distance_type)
        self._afterwards, self._num_further = afterwards, 0 if afterwards is None else afterwards.num_further
        self._graph, self._counting, self._num_nodes = graph, counting, graph.num_nodes
        self._parameters = {parameter.name: parameter.default for parameter in self.PARAMETERS} | parameters
        self._device = graph.device
        # Each invocation costs time on a software device; a GPU needs many to be busy.
        self._software = graph.device.info.kind == "cpu"
        self._trace: list[npt.NDArray[Any]] = []
        self.ended = np.zeros(1, self._layout)[0]
        self.parts: list[Resource] = []
        self._more_groups = 1
        try:
            if self.BINDINGS > self._device.limits.storage_buffers:
                raise DeviceError(
                    f"{self.NAME} needs {self.BINDINGS} storage buffers in a kernel, {self._device.info.name} has "
                    f"{self._device.limits.storage_buffers}; choose another algorithm, or leave it out"
                )
            self._require_memory()
            self._make()
        except BaseException:
            self.close()
            raise

    @classmethod
    def core_parameters(cls, core: DeviceGraph, whole: RenumberedGraph, given: Mapping[str, int]) -> Mapping[str, int]:
        """Return the parameters of searches in the core of a graph, among them those that the caller has given."""
        return given

    def _require_memory(self) -> None:
        """Raise `DeviceError` if the device has too little memory, before any is allocated."""
        own = (self.distance_type.nbytes + self.OWN_BYTES) * self._num_nodes
        own += self.distance_type.nbytes * self._num_further
        if own + self._graph_bytes(at_most=True) > self._device.free_bytes():
            self._device.require(int(own) + self._graph_bytes(at_most=False), f"{self.NAME} on this graph")

    def _graph_bytes(self, *, at_most: bool) -> int:
        """Return the bytes of the graph's arrays that the device still lacks, or a bound that is quick to compute."""
        graph = self._graph
        rows, arcs = 4 * (self._num_nodes + 1), 8 * graph.renumbered.num_arcs
        return graph.missing("first_out", rows) + graph.missing("arcs", arcs)

    def _make(self) -> None:
        num_distances = self._num_nodes + (self._graph.num_pieces if self.CUTS_NODES else 0) + self._num_further
        self.distances = self._buffer("the distances", self.distance_type.nbytes * num_distances)
        most = 2 * self.distance_type.nbytes * MOST_TERMINALS
        self.terminals = Buffer(self._device, most, mapped=True, name="the terminals", owner=self)
        self.seeds = self.terminals
        # Buffer for more seeds than `terminals` holds; made when a search first needs it.
        self._many: tuple[Buffer, Bindings] | None = None
        self._most_seeds = 0
        self.state = self._buffer("the state", self._layout.itemsize)
        self._first = Buffer(self._device, self._layout.itemsize, mapped=True, name="the first state", owner=self)
        self._row = row_of(self.distance_type)
        self._rows = self._buffer("the trace", self._row.itemsize * (TRACE_ROWS if self._counting > 1 else 1))
        size = min(64, self._device.limits.workgroup_size)
        self.parts = []  # parts made from here on can be made again
        name = self._shader("start")
        start = Kernel(self._device, name, bindings=3, workgroup_size=size, owner=self)
        self._start = start.on(self.distances, self.terminals, self.state)
        self._make_loop()

    def _make_loop(self) -> None:
        """Make the algorithm's own buffers and kernels and the loop; close earlier ones first."""
        for part in reversed(self.parts):
            part.close()
        self.parts = []
        steps = self._steps()
        self._planned = self._graph.renumbered.spread

        def iterate(recording: Recording, times: int) -> None:
            for number in range(times):
                for step in steps:
                    if number == 0 or len(steps) > 1:
                        recording.bind(step.kernel)
                        recording.push(step.kernel, *step.pushed)
                    recording.dispatch(step.workgroups)
                    recording.barrier()

        trace = (self._rows, self._row, TRACE_ROWS) if self._counting > 1 else None
        graph = self._graph.renumbered
        work = int(self.SWEEPS * (graph.num_nodes + graph.num_arcs))
        self.loop = Loop(self._device, self.state, self._layout, iterate, trace, work, self, self._finish())
        self.parts.append(self.loop)

    @property
    def more_groups(self) -> int:
        """How many times the usual number of workgroups a search has."""
        return self._more_groups

    @property
    def is_current(self) -> bool:
        """Whether the algorithm still suits the weights of the graph, which may have changed; see `Algorithm`."""
        return not self.closed and self._graph.renumbered.spread.fits(self._planned)

    def _finish(self) -> Callable[[Recording], None] | None:
        """Return the function that records the end of every batch."""
        afterwards = self._afterwards
        return None if afterwards is None else lambda recording: afterwards.finish(recording, self.state)

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        buffer = Buffer(self._device, nbytes, name=name, owner=self)
        self.parts.append(buffer)
        return buffer

    def _kernel(
        self,
        name: str,
        *buffers: Array,
        workgroup_size: int,
        push_constants: int = 1,
        constants: Mapping[int, int] | None = None,
        shared_bytes: int = 0,
    ) -> Bindings:
        """Return a kernel bound to the state, the trace and the given buffers."""
        shader, of_split = of_arrays(self._device, self._shader(name), buffers)
        kernel = Kernel(
            self._device,
            shader,
            bindings=2 + len(buffers),
            push_constants=push_constants,
            workgroup_size=workgroup_size,
            constants={COUNTING_CONSTANT: self._counting, **of_split, **(constants or {})},
            shared_bytes=STATE_SHARED + shared_bytes,
            needs=needs_of(self.distance_type),
            owner=self,
        )
        self.parts.append(kernel)
        return kernel.on(self.state, self._rows, *buffers)

    def _shader(self, name: str) -> str:
        return shader_of(name, self.distance_type)

    def _size(self, name: str = "workgroup_size", default: int = 256, software: int = 32) -> int:
        """Return the size of a workgroup: the parameter, or a default that the device supports."""
        default = min(software if self._software else default, self._device.limits.workgroup_size)
        return self._parameters[name] or default

    def _groups(self, items: int, size: int, default: int = 1024, software: int = 4) -> int:
        """Return the number of workgroups for a number of items; further workgroups would only take tickets."""
        wanted = self._parameters["workgroups"] or self._more_groups * (software if self._software else default)
        return min(max(1, -(-items // size)), wanted, self._device.limits.workgroups)

    def _steps(self) -> Sequence[Step]:
        """Make the algorithm's own buffers and kernels, and return the dispatches of an iteration."""
        raise NotImplementedError

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        """Return the initial values of the algorithm's own part of the state; fields left out begin at zero."""
        return {}

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        """Record the fills and copies at the beginning of a search, beside those of the distances."""

    def _begins_like(self, seeds: Sequence[Terminal]) -> tuple[int, ...]:
        """Return the values that `_begin` depends on; if they are unchanged, nothing is recorded again."""
        return (len(seeds),)

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Find distances; see `Algorithm`."""
        seeds = self._place(seeds, targets)
        initial = self._first.view(self._layout)

        def begin(recording: Recording) -> None:
            recording.fill(self.distances, _ALL_ONES)
            recording.copy(self._first, self.state, self._layout.itemsize)
            self._begin(recording, len(seeds))
            if self._afterwards is not None:
                self._afterwards.begin(recording)
            recording.barrier("transfer", "compute")
            start = self._start if self._many is None or is_few else self._many[1]
            recording.bind(start)
            recording.dispatch_for(start, about)
            if self._afterwards is not None:
                self._afterwards.start(recording, self.distances, self.state)
            recording.barrier()

        # What is recorded suits all searches of about as many seeds.
        about, is_few = rounded_up(len(seeds)), self.seeds is self.terminals
        further = None if self._afterwards is None else self._afterwards.begins_like()
        while True:
            # Set in each round: parts that were made again can have other initial values.
            self._first.view()[:] = 0
            loop = {"best": self._unreachable, "num_seeds": len(seeds), "num_targets": len(targets)}
            for name, value in (*loop.items(), *self._initial(seeds, targets).items()):
                initial[name] = value
            key = (*self._begins_like(seeds), about, is_few, further)
            state, milliseconds, self._trace = self.loop.run(begin, key, to_all=not targets)
            if not state["cut_short"]:
                break
            self._spread()
        self.ended = state
        counters = {"iterations": int(state["iterations"]), **{name: int(state[name]) for name in self.COUNTERS}}
        if self._counting:
            totals = np.ascontiguousarray(state["totals"]).view("<u8") + state["work"]
            counters.update(zip(TOTALS, totals.tolist(), strict=True))
        return Outcome(int(state["best"]), bool(state["overflow"]), milliseconds, counters)

    def _place(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Sequence[Terminal]:
        """Write seeds and targets for the device, and return the seeds that were written.

        A search with many seeds has no targets, and its caller does not ask for the seed of a path. So only the best
        seed of each node is kept.
        """
        dtype = self.distance_type.dtype
        places = np.array([*seeds, *targets], dtype).reshape(-1, 2)
        self.seeds = self.terminals
        if places.nbytes > self.terminals.nbytes:
            places = places[least_of_each(*places.T)]
            seeds = [(node, offset) for node, offset in places.tolist()]
        if places.nbytes > self.terminals.nbytes:
            if self._many is None or len(places) > self._most_seeds:
                self._many = self._make_many(len(places))
            self.seeds, _ = self._many
        self.seeds.view(dtype)[: places.size] = places.reshape(-1)
        return seeds

    def _make_many(self, count: int) -> tuple[Buffer, Bindings]:
        """Return a buffer for `count` seeds and the kernel that begins a search from it; close earlier ones."""
        self._most_seeds = 1 << (count - 1).bit_length()
        nbytes = 2 * self.distance_type.nbytes * self._most_seeds
        buffer = Buffer(self._device, nbytes, mapped=True, name="the seeds", owner=self)
        start = self._start.kernel.on(self.distances, buffer, self.state)
        # A new loop is younger than the buffer, so it closes first and waits for submissions that use the buffer. The
        # new parts also suffice for the seeds.
        self._make_loop()
        for part in reversed(self._many or ()):
            part.close()
        return buffer, start

    def _spread(self) -> None:
        """Distribute the work over more workgroups, because the device ends the loops of its invocations too early."""
        name = self._device.info.name
        if self._parameters["workgroups"] or self._more_groups > MOST_GROUPS:
            raise DeviceError(
                f"{name} ends the long loops of {self.NAME} before their time, so that its distances would be wrong; "
                "set more workgroups, or choose another device or an algorithm that runs on the CPU, such as dijkstra"
            )
        self._more_groups *= 8
        self._make_loop()

    def read(self) -> npt.NDArray[Any]:
        """Return the distances of the last search; see `Algorithm`."""
        return read_values(self.distances, self.distance_type.dtype, self._num_nodes)

    def trace(self) -> npt.NDArray[Any]:
        """Return the iterations of the last search; see `Algorithm`."""
        return np.concatenate(self._trace) if self._trace else np.empty(0, TRACE)

    def walker(self) -> PathWalker:
        """Return a walker along the distances; see `Algorithm`."""
        return PathWalker(self._graph, self.distances, self.terminals, distance_type=self.distance_type)

    def voronoi(self, most_seeds: int) -> DeviceVoronoi:
        """Return a finder of nearest seeds; see `Algorithm`."""
        return DeviceVoronoi(self._graph, self.distances, most_seeds, self, self.distance_type)

    def reader(self, nodes: Uint32s) -> Gather:
        """Return a reader of the distances of some nodes; see `Algorithm`."""
        return Gather(self._device, self.distances, nodes, self, self.distance_type)
