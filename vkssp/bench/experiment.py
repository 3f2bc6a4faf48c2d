"""Experiments of a benchmark: graphs, algorithms with parameters, and numbers of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vkssp.algorithm import AUTO, CPU, VULKAN
from vkssp.algorithms.choice import checked, checked_type, current, places_of
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.bench.peers import peer_named
from vkssp.cpu.device import CpuDevice
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.prepared.reduction import REDUCTIONS
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.solver.solver import Solver


@dataclass(frozen=True)
class Run:
    """Algorithm with parameters.

    Attributes
    ----------
    algorithm : str
        Name of the algorithm, or ``"auto"``; ``NAME@cpu`` for one that runs on Vulkan devices and on the CPU.
    parameters : mapping of str to int
        Parameters that differ from the defaults.
    reduction : str, optional
        Whether the graph is reduced first; see `vkssp.Solver`.
    distance_bits : int
        Bits of distances; see `vkssp.Solver`.
    """

    algorithm: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    reduction: str | None = None
    distance_bits: int = 32

    def __post_init__(self) -> None:
        """Check the name and the parameters."""
        name, place = self._parts
        checked(name, self.parameters, place, checked_type(self.distance_bits))
        if self.reduction not in (None, *REDUCTIONS):
            raise QueryError(f"reduction is {self.reduction!r}; choose one of {', '.join(REDUCTIONS)}")

    @classmethod
    def parse(cls, text: str) -> Run:
        """Parse a run of the form ``NAME[@cpu][,PARAMETER=N...][,reduction=WORD][,distance_bits=N]``.

        Raises
        ------
        QueryError
            If the text has another form, or the algorithm has no such parameter.
        """
        name, *pairs = text.split(",")
        parameters, reduction = {}, None
        for pair in pairs:
            key, _, value = pair.partition("=")
            if key == "reduction":
                reduction = value
                continue
            try:
                parameters[key.replace("-", "_")] = int(value)
            except ValueError:
                raise QueryError(f"run is {text!r}; write NAME,PARAMETER=N, such as near_far,delta=1000") from None
        return cls(name, parameters, reduction, parameters.pop("distance_bits", 32))

    def __str__(self) -> str:
        """Return the run in the form that `parse` reads."""
        return run_text(self.algorithm, self.settings)

    @property
    def settings(self) -> dict[str, int | str]:
        """Parameters, the reduction if it was given, and the bits of distances if they are not 32."""
        reduction = {} if self.reduction is None else {"reduction": self.reduction}
        bits = {} if self.distance_bits == 32 else {"distance_bits": self.distance_bits}
        return {**self.parameters, **reduction, **bits}

    @property
    def runs_on(self) -> str:
        """Place where the algorithm runs, ``"vulkan"`` or ``"cpu"``."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str]:
        """Name of the algorithm, and the place that its name and ``@cpu`` stand for, whatever VKSSP_DEVICE says."""
        name, at, place = self.algorithm.partition("@")
        if at and place != CPU:
            raise QueryError(f"algorithm is {self.algorithm!r}; write {name}, or {name}@{CPU} for the CPU")
        name, device = current(name, place or None)
        places = places_of(name, checked_type(self.distance_bits))
        if device == CPU and CPU not in places:
            raise QueryError(f"{name} runs on Vulkan devices only; leave @{CPU} out, or choose another algorithm")
        return name, CPU if device == CPU else places[0]

    def solver(
        self, graph: Graph | RenumberedGraph, device: Device | CpuDevice, counters: str = "iterations"
    ) -> Solver:
        """Return a solver for a graph: on the CPU if the run or the device asks for it, else on the device."""
        name, place = self._parts
        options: dict[str, Any] = {"counters": counters, "distance_bits": self.distance_bits, **self.parameters}
        where = CPU if place == CPU and isinstance(device, Device) else device
        return Solver(graph, name, where, reduction=self.reduction, **options)


def run_text(algorithm: str, parameters: Mapping[str, int | str]) -> str:
    """Return an algorithm and its parameters in one word."""
    return ",".join([algorithm, *(f"{name}={value}" for name, value in parameters.items())])


@dataclass(frozen=True)
class Experiment:
    """Graphs, runs, and settings of the measurement.

    Attributes
    ----------
    graphs : sequence of str
        Files, or expressions of `vkssp.generate` such as ``rmat:20``.
    runs : sequence of Run
        Runs to measure on each graph.
    peers : sequence of str
        Other libraries to measure, by their names in `vkssp.bench.peers`; a library that is not installed gets a row
        with an error.
    sources : int
        Number of random sources, each of which reaches more than a tenth of the nodes.
    seed : int
        Seed of the sources.
    repetitions : int
        Number of timed searches from each source.
    warm_up_s : float
        Seconds of searches before the timed ones: a device that was idle is slow at first.
    limit_s : float
        Seconds after which a run, and Dijkstra's algorithm before it, starts no further source.
    reading : mapping of str to object
        Further arguments of `vkssp.read_graph` for files.
    more : mapping of str to sequence of Run
        Additional runs for some of the graphs.
    """

    graphs: Sequence[str]
    runs: Sequence[Run]
    peers: Sequence[str] = ()
    sources: int = 8
    seed: int = 1
    repetitions: int = 3
    warm_up_s: float = 0.7
    limit_s: float = 60.0
    reading: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Sequence[Run]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, low in (("sources", 1), ("seed", 0), ("repetitions", 1)):
            if getattr(self, name) < low:
                raise QueryError(f"{name} is {getattr(self, name)}; give {low} or more")
        if not self.limit_s >= 0:
            raise QueryError(f"limit is {self.limit_s}; give seconds, 0 or more")
        for name, needed in (("graphs", "a graph"), ("runs", "an algorithm")):
            if not getattr(self, name):
                raise QueryError(f"there is nothing to measure; give {needed} at least")
        for name in self.peers:
            peer_named(name)


#: Default runs: the automatic choice, and the device algorithms that are fast on any graph.
DEFAULT_RUNS = (
    Run(AUTO),
    *(
        Run(name)
        for name, classes in ALGORITHMS.items()
        if VULKAN in classes and not name.startswith(("martin", "dijkstra"))
    ),
)

#: Experiment of ``vkssp bench --suite``.
SUITE = Experiment(
    graphs=("road:2048", "rmat:20", "random:98304,200", "ba:1000000,12", "gnm:1000000,12000000", "martin:4194304"),
    runs=DEFAULT_RUNS,
    sources=5,
    limit_s=5.0,
)
