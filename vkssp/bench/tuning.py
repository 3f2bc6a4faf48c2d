"""Tuner of the constants of `vkssp.tunables` for a device: each candidate is timed and verified beside the best so far.

A coordinate search: constants are tried one after the other, each with all of its candidates, by the measurement that
it matters to. The best values so far and the candidate run in turn on two logical devices of the same GPU, so that its
clock and other programs concern both alike. A candidate is kept only if its median is less by more than the spread of
both, and if all of its answers are those of the CPU.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import CPU
from vkssp.algorithms.choice import is_cpu
from vkssp.checks import flag, number_of, shown
from vkssp.errors import DeviceError, GraphError, QueryError, VksspError
from vkssp.generate.expression import from_expression
from vkssp.gpu.device import Device
from vkssp.graph import Graph, checked_graph
from vkssp.hierarchy.prepare import prepare
from vkssp.log import logger
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.solver.cost_measurement import measured_costs
from vkssp.solver.costs import HierarchyCosts, SearchCosts
from vkssp.solver.solver import Solver
from vkssp.terminal import progress_bar
from vkssp.tunables import TUNABLES, defaults, forget_values, keep_values

#: Default time limit in minutes.
MINUTES = 5.0
#: Networks for measurements on GPUs, and on software devices: of roads, and with hubs.
ROADS, SOFTWARE_ROADS, HUBS, SOFTWARE_HUBS = "road:512", "road:48", "rmat:17", "rmat:9"
# Runs in turn, of which the medians count, after some that warm up; milliseconds of a run at least, which is repeated
# until then; and least gain, as a part of the time.
_RUNS, _WARM_UP, _LEAST_MS, _LEAST_GAIN = 9, 2, 2.0, 0.02
# Distances of a table of rows.
_MOST_DISTANCES = 1 << 24

_Answers = npt.NDArray[Any]
_log = logger(__name__)


@dataclass(frozen=True)
class Case:
    """Networks that measurements use.

    Attributes
    ----------
    roads, hubs : RenumberedGraph
        A road network, and one with hubs.
    prepared : RenumberedGraph or None
        The road network with its hierarchy, if it has one.
    nodes : numpy.ndarray
        Drawn nodes of the road network, shape (2, 2**14), uint32.
    """

    roads: RenumberedGraph
    hubs: RenumberedGraph
    prepared: RenumberedGraph | None
    nodes: npt.NDArray[np.uint32]


class Judge(NamedTuple):
    """Measurement: whether it needs a hierarchy or hubs, its algorithm, and what it asks a solver."""

    kind: str
    algorithm: str
    ask: Callable[[Solver, Case], _Answers]

    def graph(self, case: Case) -> RenumberedGraph | None:
        """Return the network, or None if there is none of this kind."""
        return {"roads": case.roads, "hubs": case.hubs, "prepared": case.prepared}[self.kind]

    @contextmanager
    def asking(self, case: Case, device: Device | str) -> Iterator[Callable[[], _Answers]]:
        """Open a solver, and yield a function that asks it and returns all answers."""
        graph = self.graph(case)
        assert graph is not None
        if device == CPU:  # by other code
            solver = Solver(graph.graph, "phast" if self.kind == "prepared" else "dijkstra", device)
        elif self.kind == "prepared":
            solver = Solver(
                graph, self.algorithm, device, label_mib=0
            )  # labels of all nodes would answer after some calls
        else:
            solver = Solver(graph, self.algorithm, device)
        with solver:
            yield lambda: self.ask(solver, case)


def _trees(solver: Solver, case: Case) -> _Answers:
    last = solver.graph.num_nodes
    return np.stack([solver.distances(int(node) % last) for node in case.nodes[0, :3]])


def _few_singles(solver: Solver, case: Case) -> _Answers:
    return np.array([solver.distance(*pair) for pair in case.nodes[:, :32].T.tolist()])


def _few_pairs(solver: Solver, case: Case) -> _Answers:
    counts = (48, 100, 200, 400, 1500)
    return np.concatenate([solver.pairs(*case.nodes[:, :count]) for count in counts])


def _many_pairs(solver: Solver, case: Case) -> _Answers:
    return solver.pairs(*case.nodes)


def _table(solver: Solver, case: Case) -> _Answers:
    return np.asarray(solver.table(case.nodes[0, :300], case.nodes[1, :300]))


def _rows(solver: Solver, case: Case) -> _Answers:
    count = max(2, min(1024, _MOST_DISTANCES // max(1, solver.graph.num_nodes)))
    return np.asarray(solver.distances(case.nodes[0, :count]))


def _new_weights(solver: Solver, case: Case) -> _Answers:
    before, found = solver.graph.weight, []
    for added in (1, 0):
        solver.set_weights(before - np.minimum(before, np.uint32(added)))
        found.append(solver.pairs(*case.nodes[:, :64]))
    return np.concatenate(found)


#: Measurements by their names, in the order of the search: what is asked most often first.
JUDGES: dict[str, Judge] = {
    "search in blocks": Judge("roads", "block_resident", _trees),
    "tree": Judge("prepared", "phast", _trees),
    "pair": Judge("prepared", "phast", _few_singles),
    "few pairs": Judge("prepared", "phast", _few_pairs),
    "pairs": Judge("prepared", "phast", _many_pairs),
    "table": Judge("prepared", "phast", _table),
    "rows": Judge("prepared", "phast", _rows),
    "rows in blocks": Judge("roads", "block_resident", _rows),
    "customization": Judge("prepared", "phast", _new_weights),
    "search by queues": Judge("roads", "near_far", _trees),
    "search with hubs": Judge("hubs", "near_far", _trees),
    "sweeping search": Judge("roads", "delta_step", _trees),
}


class Comparison(NamedTuple):
    """Median times of the best values so far and of a candidate, and the spread of both, in milliseconds."""

    best_ms: float
    candidate_ms: float
    spread_ms: float

    @property
    def is_better(self) -> bool:
        """Whether the candidate is faster by more than the spread."""
        return self.best_ms - self.candidate_ms > max(self.spread_ms, _LEAST_GAIN * self.best_ms)


class WrongAnswersError(DeviceError):
    """Answers that are not those of the CPU."""


@dataclass(repr=False)
class Tuning:
    """Result of `tune`.

    Attributes
    ----------
    device, driver : str
        The device.
    values : dict of str to int
        Constants that are not at their defaults.
    measured : dict of str to dict
        For each of these the medians before and after, and the spread, in milliseconds.
    tried : int
        Number of candidates that were timed.
    wrong : list of str
        Candidates with wrong answers, which were not kept.
    left_out : list of str
        Candidates and measurements that the device or the time did not allow, with the reasons.
    file : Path or None
        File of the values, if it could be written.
    """

    device: str
    driver: str
    values: dict[str, int] = field(default_factory=dict)
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    tried: int = 0
    wrong: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    file: Path | None = None

    def __repr__(self) -> str:
        """Return the device and how many values are not at their defaults."""
        return f"Tuning({self.device!r}, {len(self.values)} values by {self.tried} candidates)"


def compare(best: Callable[[], _Answers], candidate: Callable[[], _Answers], expected: _Answers) -> Comparison:
    """Time two ways to the same answers in turn, and verify the answers of all runs.

    Raises
    ------
    WrongAnswersError
        If an answer is wrong.
    """

    def run(ask: Callable[[], _Answers], times: int) -> float:
        found = []
        began = time.perf_counter()
        for _ in range(times):
            found.append(ask())
        milliseconds = 1e3 * (time.perf_counter() - began) / times
        if not all(np.array_equal(one, expected) for one in found):
            raise WrongAnswersError("answers differ from those of the CPU")
        return milliseconds

    for _ in range(_WARM_UP):
        once = min(run(best, 1), run(candidate, 1))
    times = max(1, int(_LEAST_MS / max(once, 1e-3)))
    taken: tuple[list[float], list[float]] = [], []
    for number in range(_RUNS):
        # Each is the first of the two in every other run.
        for which in (0, 1) if number % 2 else (1, 0):
            taken[which].append(run((best, candidate)[which], times))
    quartiles = [statistics.quantiles(one, n=4) for one in taken]
    best_ms, candidate_ms = map(statistics.median, taken)
    return Comparison(best_ms, candidate_ms, max(high - low for low, _, high in quartiles))


def tune(
    device: int | str | None = None,
    graph: Graph | None = None,
    *,
    minutes: float = MINUTES,
    forget: bool = False,
    progress: bool = False,
) -> Tuning:
    """Measure on a device the constants that matter most for speed, and keep those that are faster than the defaults.

    Solvers read the values when they open the device, unless VKSSP_TUNED is "off". Answers do not depend on them.

    Parameters
    ----------
    device : int or str, optional
        Index or part of the name of a Vulkan device, see `Device`.
    graph : Graph, optional
        Road network to measure on; by default one is generated. One without a hierarchy is prepared.
    minutes : float
        Time after which the search ends, without the preparation of a graph; what has been found by then is kept, also
        after Ctrl-C and errors.
    forget : bool
        Whether to remove what has been kept for the device instead.
    progress : bool
        Whether to show a progress bar on the terminal.

    Returns
    -------
    Tuning
        The values and what was measured.

    Raises
    ------
    QueryError
        If an argument is wrong.
    DeviceError
        If there is no such device, it is lost, or its answers are wrong with the default values.
    OSError
        If the file cannot be removed.
    """
    limit = number_of(minutes)
    if limit is None or not 0 < limit < 1e6:
        raise QueryError(f"minutes is {shown(minutes)}; give a number above 0, such as 5")
    if graph is not None:
        checked_graph(graph, QueryError)
        if graph.num_nodes < 2 or graph.distance_bits != 32:
            raise QueryError("graph has less than two nodes, or distances of 64 bits; give a road network, or none")
        # Nodes by their positions, and weights as devices have them.
        graph = replace(graph, names=None, scale=None, weight_error=0.0, max_weight_error=math.inf)
    if isinstance(device, Device) or is_cpu(device):
        raise QueryError("device is an open one, or the CPU; give the index or name of a Vulkan device")
    forget, progress = flag(forget, "forget"), flag(progress, "progress")
    with Device(device) as best, Device(best.info.index) as other:
        found = Tuning(best.info.name, best.info.driver)
        if forget:
            forget_values(best.info.identity)
            return found
        best.tuned = defaults(is_software=best.info.kind == "cpu")
        search, is_complete = _Search(best, other, case_for(graph, best, found), found, 60 * limit), False
        try:
            search.run(progress)
            is_complete = True
        finally:  # what has been found before an error, or Ctrl-C, counts
            if is_complete or found.values:
                try:
                    found.file = keep_values(best.info.identity, found.values, found.measured)
                except (OSError, RuntimeError, VksspError) as error:
                    found.left_out.append(f"the file of the values: {error}")
        if best.info.kind != "cpu":
            # What is faster on the CPU may be another now.
            measured_costs(best, SearchCosts, anew=True)
            measured_costs(best, HierarchyCosts, anew=True)
    return found


def case_for(graph: Graph | None, device: Device, found: Tuning) -> Case:
    """Return the networks for measurements on a device."""
    is_software = device.info.kind == "cpu"
    roads = graph or from_expression(SOFTWARE_ROADS if is_software else ROADS)
    prepared = roads
    try:
        prepared = roads if roads.hierarchy is not None else prepare(roads)
    except (QueryError, GraphError) as error:
        found.left_out.append(f"measurements with a hierarchy: {error}")
    return Case(
        RenumberedGraph(roads, "auto"),
        RenumberedGraph(from_expression(SOFTWARE_HUBS if is_software else HUBS), "auto"),
        None if prepared.hierarchy is None else RenumberedGraph(prepared, "hierarchy"),
        np.random.default_rng(1).integers(0, roads.num_nodes, (2, 1 << 14)).astype(np.uint32),
    )


class _Search:
    """Coordinate search on two logical devices of the same device.

    Parameters
    ----------
    best, other : Device
        The device, opened twice: for the best values so far, and for candidates.
    case : Case
        The networks.
    found : Tuning
        The result, which is filled.
    seconds : float
        Time after which the search ends.
    """

    def __init__(self, best: Device, other: Device, case: Case, found: Tuning, seconds: float) -> None:
        self._best, self._other, self._case, self._found = best, other, case, found
        self._end = time.monotonic() + seconds

    def run(self, progress: bool) -> None:
        """Try all candidates, or those for which there is time: each constant has an equal part of what is left."""
        names = [(judge, name) for judge in JUDGES for name, one in TUNABLES.items() if one.judge == judge]
        expected: dict[str, _Answers | None] = {}
        late = 0
        for number, (judge, name) in enumerate(progress_bar(names, "tuning", shown=progress)):
            left_s = self._end - time.monotonic()
            if left_s <= 0:
                late += 1
                continue
            if judge not in expected:
                expected[judge] = self._expected(judge)
            answers = expected[judge]
            if answers is not None:
                late += not self._try_all(JUDGES[judge], name, answers, left_s / (len(names) - number))
        if late:
            self._found.left_out.append(f"all candidates for {late} of {len(names)} constants: give more minutes")

    def _expected(self, name: str) -> _Answers | None:
        """Return the CPU's answers to a measurement; None if the device cannot be measured so.

        Raises
        ------
        DeviceError
            If the device's answers are wrong with the default values.
        """
        judge = JUDGES[name]
        if judge.graph(self._case) is None:
            return None
        try:
            with judge.asking(self._case, CPU) as ask:
                expected = ask()
            with judge.asking(self._case, self._best) as ask:
                is_right = np.array_equal(ask(), expected)
        except VksspError as error:  # the device lacks something, or distances of the caller's graph do not fit
            if isinstance(error, DeviceError) and error.is_lost:
                raise
            self._found.left_out.append(f"{name}: {error}")
            return None
        if not is_right:
            raise WrongAnswersError(f"{self._best.info.name} gives wrong answers ({name}); its driver may be at fault")
        return expected

    def _try_all(self, judge: Judge, name: str, expected: _Answers, seconds: float) -> bool:
        """Try the candidates for a constant, keep the best, and return whether there was time for all of them."""
        tunable, limits, end = TUNABLES[name], asdict(self._best.limits), time.monotonic() + seconds
        usual = self._best.tuned[name]
        # Those that are near the default come first.
        for value in sorted(tunable.candidates, key=lambda value: abs(math.log((value + 1) / (usual + 1)))):
            if value == usual or not tunable.allows(value, limits):
                continue
            if time.monotonic() > end:
                return False
            self._try(judge, name, value, expected)
        return True

    def _try(self, judge: Judge, name: str, value: int, expected: _Answers) -> None:
        found, best, other = self._found, self._best, self._other
        other.tuned = {**best.tuned, name: value}
        try:
            with judge.asking(self._case, best) as by_best, judge.asking(self._case, other) as by_other:
                result = compare(by_best, by_other, expected)
        except WrongAnswersError:
            _log.warning("%s gives wrong answers with %s = %d, which is not kept", best.info.name, name, value)
            found.wrong.append(f"{name} = {value}")
            return
        except DeviceError as error:
            if error.is_lost:
                _log.warning("%s was lost with %s = %d", best.info.name, name, value)
                raise
            found.left_out.append(f"{name} = {value}: {error}")
            return
        found.tried += 1
        _log.debug("%s = %d: %.3f ms, not %.3f (spread %.3f)", name, value, *result[1::-1], result.spread_ms)
        if result.is_better:
            best.tuned[name] = found.values[name] = value
            before = found.measured.get(name, {}).get("default_ms", result.best_ms)
            found.measured[name] = {"default_ms": before, "ms": result.candidate_ms, "spread_ms": result.spread_ms}
