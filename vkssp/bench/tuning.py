"""Tuner of the constants of `vkssp.tunables` for a device: each candidate is timed and verified beside the best so far.

A coordinate search: constants are tried one after the other, each with all of its candidates, by the measurement that
it matters to most. The best values so far and the candidate run in turn on two logical devices of the same GPU, so that
its clock and other programs concern both alike. A candidate is the best so far if its median is less by more than the
spread of both, and if all of its answers are those of the CPU.

The best of many candidates may owe its time to chance, such as the place of its solver's buffers in memory, which stays
the same in all runs of a solver; and a constant may matter to several measurements. So each constant's best value is
then compared with the value before by new times: in all measurements that read the constant, on two networks, in
rounds with new solvers each. It is kept only if its own measurement is faster in all rounds, and if no measurement is
slower in all rounds.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

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
#: Networks of other sizes, on which no value that is kept may be slower.
SECOND_ROADS, SECOND_SOFTWARE_ROADS, SECOND_HUBS, SECOND_SOFTWARE_HUBS = "road:1024", "road:32", "rmat:18", "rmat:8"
# Runs in turn, of which the medians count, after some that warm up; milliseconds of a run at least, which is repeated
# until then; and least gain, as a part of the time.
_RUNS, _WARM_UP, _LEAST_MS, _LEAST_GAIN = 9, 2, 2.0, 0.02
# Rounds that confirm a value, and runs of each. A value that changes nothing is faster in all five once in 32 times.
_ROUNDS, _RUNS_OF_ROUND = 5, 3
# Distances of a table of rows.
_MOST_DISTANCES = 1 << 24

_Answers = npt.NDArray[Any]
_T = TypeVar("_T")
_log = logger(__name__)


@dataclass(frozen=True)
class Case:
    """Networks that measurements use.

    Attributes
    ----------
    place : str
        Words that follow the name of a measurement in reports, such as " on the second network"; empty for the first.
    roads, hubs : RenumberedGraph
        A road network, and one with hubs.
    prepared : RenumberedGraph or None
        The road network with its hierarchy, if it has one.
    nodes : numpy.ndarray
        Drawn nodes of the road network, shape (2, 2**14), uint32.
    """

    place: str
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
    "target in blocks": Judge("roads", "block_resident", _few_singles),  # whose length is not predicted
    "tree": Judge("prepared", "phast", _trees),
    "pair": Judge("prepared", "phast", _few_singles),
    "few pairs": Judge("prepared", "phast", _few_pairs),
    "pairs": Judge("prepared", "phast", _many_pairs),
    "table": Judge("prepared", "phast", _table),
    "rows": Judge("prepared", "phast", _rows),
    "rows in blocks": Judge("roads", "block_resident", _rows),
    "customization": Judge("prepared", "phast", _new_weights),
    "search by queues": Judge("roads", "near_far", _trees),
    "push or pull": Judge("hubs", "push_pull", _trees),
    "search with hubs": Judge("hubs", "near_far", _trees),
    "sweeping search": Judge("roads", "delta_step", _trees),
}


class Comparison(NamedTuple):
    """Median times of the best values so far and of a candidate, and the spread of both, in milliseconds."""

    best_ms: float
    candidate_ms: float
    spread_ms: float

    @classmethod
    def of(cls, best: Sequence[float], candidate: Sequence[float]) -> Comparison:
        """Return the comparison of times; the spread is the larger one of the distances between their quartiles."""
        quartiles = [statistics.quantiles(one, n=4) for one in (best, candidate)]
        spread_ms = max(high - low for low, _, high in quartiles)
        return cls(statistics.median(best), statistics.median(candidate), spread_ms)

    @property
    def gain_ms(self) -> float:
        """Time that the candidate takes less."""
        return self.best_ms - self.candidate_ms

    @property
    def is_better(self) -> bool:
        """Whether the candidate is faster by more than the spread."""
        return self.gain_ms > max(self.spread_ms, _LEAST_GAIN * self.best_ms)


class WrongAnswersError(DeviceError):
    """Answers that are not those of the CPU."""


class _UnconfirmedError(Exception):
    """Reason why a value that was faster in the search is not kept."""


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
        For each of these the medians without and with it, and the spread, in milliseconds, in the rounds that have
        confirmed it, beside the values that were kept before.
    tried : int
        Number of candidates that were timed.
    wrong : list of str
        Candidates with wrong answers, which were not kept.
    unconfirmed : list of str
        Values that were faster in the search, but not kept, with the reasons.
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
    unconfirmed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    file: Path | None = None

    def __repr__(self) -> str:
        """Return the device and how many values are not at their defaults."""
        return f"Tuning({self.device!r}, {len(self.values)} values by {self.tried} candidates)"


def compare(
    best: Callable[[], _Answers],
    candidate: Callable[[], _Answers],
    expected: _Answers,
    runs: int = _RUNS,
    *,
    is_candidate_first: bool = False,
) -> Comparison:
    """Time two ways to the same answers in turn, and verify the answers of all runs.

    The two take turns strictly: a run that follows one of its own kind finds its data in caches, and is faster by up to
    a fifth, so each run has to follow one of the other kind.

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
    order = (1, 0) if is_candidate_first else (0, 1)
    run((best, candidate)[order[1]], times)
    for which in order * runs:
        taken[which].append(run((best, candidate)[which], times))
    return Comparison.of(*taken)


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
        Time after which the search ends, without the preparation of graphs; what has been confirmed by then is kept,
        also after Ctrl-C and errors.
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
        search, is_complete = _Search(best, other, graph, found, 60 * limit), False
        try:
            search.run(progress)
            is_complete = True
        finally:  # what has been confirmed before an error, or Ctrl-C, counts
            if is_complete or found.values:
                try:
                    found.file = keep_values(best.info.identity, found.values, found.measured)
                except (OSError, RuntimeError, VksspError) as error:
                    found.left_out.append(f"the file of the values: {error}")
        if best.info.kind != "cpu":
            # What is faster on the CPU may be another now.
            best.tuned = {**defaults(is_software=False), **found.values}
            measured_costs(best, SearchCosts, anew=True)
            measured_costs(best, HierarchyCosts, anew=True)
    return found


def case_for(graph: Graph | None, device: Device, found: Tuning, *, is_second: bool = False) -> Case:
    """Return the networks for measurements on a device; the second ones are of another size."""
    if device.info.kind == "cpu":
        texts = (SECOND_SOFTWARE_ROADS, SECOND_SOFTWARE_HUBS) if is_second else (SOFTWARE_ROADS, SOFTWARE_HUBS)
    else:
        texts = (SECOND_ROADS, SECOND_HUBS) if is_second else (ROADS, HUBS)
    place = " on the second network" if is_second else ""
    roads = graph or from_expression(texts[0])
    prepared = roads
    try:
        prepared = roads if roads.hierarchy is not None else prepare(roads)
    except (QueryError, GraphError) as error:
        found.left_out.append(f"measurements with a hierarchy{place}: {error}")
    return Case(
        place,
        RenumberedGraph(roads, "auto"),
        RenumberedGraph(from_expression(texts[1]), "auto"),
        None if prepared.hierarchy is None else RenumberedGraph(prepared, "hierarchy"),
        np.random.default_rng(1).integers(0, roads.num_nodes, (2, 1 << 14)).astype(np.uint32),
    )


class _Noted(dict[str, int]):
    """Values of constants, with a note of those that are read."""

    def __init__(self, values: Mapping[str, int], read: set[str]) -> None:
        super().__init__(values)
        self._read = read

    def __getitem__(self, name: str) -> int:
        self._read.add(name)
        return super().__getitem__(name)


class _Search:
    """Coordinate search on two logical devices of the same device.

    Parameters
    ----------
    best, other : Device
        The device, opened twice: in the search for the best values so far, and for candidates.
    graph : Graph or None
        Road network to measure on; None for a generated one.
    found : Tuning
        The result, which is filled.
    seconds : float
        Time after which the search ends, without the preparation of graphs.
    """

    def __init__(self, best: Device, other: Device, graph: Graph | None, found: Tuning, seconds: float) -> None:
        self._devices, self._found, self._is_given = (best, other), found, graph is not None
        self._is_software = best.info.kind == "cpu"
        self._cases = [case_for(graph, best, found)]
        self._end = time.monotonic() + seconds
        # The best values so far; for each measurement on each network the right answers and the constants it reads.
        self._values = defaults(is_software=self._is_software)
        self._answers: dict[tuple[str, str], _Answers | None] = {}
        self._read: dict[tuple[str, str], set[str]] = {}

    def run(self, progress: bool) -> None:
        """Try all candidates, or those for which there is time: each constant has an equal part of what is left."""
        names = [(judge, name) for judge in JUDGES for name, one in TUNABLES.items() if one.judge == judge]
        late = 0
        for number, (judge, name) in enumerate(progress_bar(names, "tuning", shown=progress)):
            left_s, usual = self._end - time.monotonic(), self._values[name]
            if left_s <= 0:
                late += 1
                continue
            if self._expected(judge, self._cases[0]) is None:
                continue
            if name not in self._read[judge, self._cases[0].place]:  # all candidates are the same
                self._found.left_out.append(f"{name}: {judge} does not use it on this network")
                continue
            late += not self._try_all(judge, name, left_s / (len(names) - number))
            if self._values[name] != usual:
                self._confirm(judge, name, usual)
        if late:
            self._found.left_out.append(f"all candidates for {late} of {len(names)} constants: give more minutes")

    def _asking(
        self, judge: str, case: Case, device: Device, values: Mapping[str, int]
    ) -> AbstractContextManager[Callable[[], _Answers]]:
        """Open a solver with some values, note which ones it reads, and yield a function that asks it."""
        device.tuned = _Noted(values, self._read.setdefault((judge, case.place), set()))
        return JUDGES[judge].asking(case, device)

    def _expected(self, judge: str, case: Case) -> _Answers | None:
        """Return the CPU's answers to a measurement; None if the device cannot be measured so.

        Raises
        ------
        DeviceError
            If the device's answers are wrong with the best values so far.
        """
        key = (judge, case.place)
        if key not in self._answers:
            self._answers[key] = None
            if JUDGES[judge].graph(case) is not None:
                self._answers[key] = self._verified(judge, case)
        return self._answers[key]

    def _verified(self, judge: str, case: Case) -> _Answers | None:
        device = self._devices[0]
        try:
            with JUDGES[judge].asking(case, CPU) as ask:
                expected = ask()
            with self._asking(judge, case, device, self._values) as ask:
                is_right = np.array_equal(ask(), expected)
        except VksspError as error:  # the device lacks something, or distances of the caller's graph do not fit
            if isinstance(error, DeviceError) and error.is_lost:
                raise
            self._found.left_out.append(f"{judge}{case.place}: {error}")
            return None
        if not is_right:
            wrong = f"{device.info.name} gives wrong answers ({judge}{case.place})"
            raise WrongAnswersError(f"{wrong}; its driver may be at fault")
        return expected

    def _try_all(self, judge: str, name: str, seconds: float) -> bool:
        """Try the candidates for a constant, take the best, and return whether there was time for all of them."""
        best, other = self._devices
        tunable, limits, end = TUNABLES[name], asdict(best.limits), time.monotonic() + seconds
        usual, case = self._values[name], self._cases[0]
        # Those that are near the default come first.
        for value in sorted(tunable.candidates, key=lambda value: abs(math.log((value + 1) / (usual + 1)))):
            if value == usual or not tunable.allows(value, limits):
                continue
            if time.monotonic() > end:
                return False
            values = {**self._values, name: value}
            result = self._measured(f"{name} = {value}", partial(self._compare, judge, case, best, other, values))
            if result is None:
                continue
            self._found.tried += 1
            _log.debug("%s = %d: %.3f ms, not %.3f (spread %.3f)", name, value, *result[1::-1], result.spread_ms)
            if result.is_better:
                self._values = values
        return True

    def _compare(
        self,
        judge: str,
        case: Case,
        best: Device,
        other: Device,
        values: Mapping[str, int],
        runs: int = _RUNS,
        *,
        is_candidate_first: bool = False,
    ) -> Comparison:
        """Compare the best values so far on one device with other values on the other one."""
        expected = self._expected(judge, case)
        assert expected is not None
        by_best, by_other = (self._asking(judge, case, *one) for one in ((best, self._values), (other, values)))
        with by_best as ask_best, by_other as ask_other:
            return compare(ask_best, ask_other, expected, runs, is_candidate_first=is_candidate_first)

    def _measured(self, what: str, measure: Callable[[], _T]) -> _T | None:
        """Return what is measured with a value; None if answers are wrong, or the device refuses it."""
        try:
            return measure()
        except WrongAnswersError:
            _log.warning("%s gives wrong answers with %s, which is not kept", self._found.device, what)
            self._found.wrong.append(what)
        except DeviceError as error:
            if error.is_lost:
                _log.warning("%s was lost with %s", self._found.device, what)
                raise
            self._found.left_out.append(f"{what}: {error}")
        return None

    def _confirm(self, judge: str, name: str, usual: int) -> None:
        """Keep the best value of a constant if new times confirm it, or return to the one before."""
        values, what = self._values, f"{name} = {self._values[name]}"
        self._values = {**values, name: usual}
        try:
            own = self._confirmed(judge, name, values)
        except _UnconfirmedError as error:
            _log.debug("%s is not kept: %s", what, error)
            self._found.unconfirmed.append(f"{what}: {error}")
            return
        self._values = values
        self._found.values[name] = values[name]
        self._found.measured[name] = {"default_ms": own.best_ms, "ms": own.candidate_ms, "spread_ms": own.spread_ms}

    def _confirmed(self, judge: str, name: str, values: Mapping[str, int]) -> Comparison:
        """Return the times of a constant's own measurement without and with its new value.

        Raises
        ------
        _UnconfirmedError
            If the value shall not be kept.
        """
        first = self._cases[0]
        own = self._in_all_rounds(judge, first, name, values, is_faster=True)
        if own is None:
            raise _UnconfirmedError(f"{judge} is not faster in all of {_ROUNDS} rounds with new solvers")
        for case in (first, self._second()):
            for one in JUDGES:
                if one == judge and case is first:
                    continue
                # Only constants that a measurement reads change its time.
                if self._expected(one, case) is None or name not in self._read[one, case.place]:
                    continue
                slower = self._in_all_rounds(one, case, name, values, is_faster=False)
                if slower is not None:
                    times = f"{slower.candidate_ms:.3f} ms, {slower.best_ms:.3f} without it"
                    raise _UnconfirmedError(f"{one}{case.place} takes {times}")
        return own

    def _in_all_rounds(
        self, judge: str, case: Case, name: str, values: Mapping[str, int], *, is_faster: bool
    ) -> Comparison | None:
        """Return the medians of all rounds if other values are faster, or slower, in each of them, and by enough.

        The solvers of each round are new, and the two logical devices take turns at the values. The first round that
        says otherwise is the last.

        Raises
        ------
        _UnconfirmedError
            If there is no time, an answer is wrong, or the device refuses the value.
        """
        what, rounds = f"{name} = {values[name]}", list[Comparison]()
        for number in range(_ROUNDS):
            if time.monotonic() > self._end:
                raise _UnconfirmedError("no time to confirm it; give more minutes")
            devices = self._devices[::-1] if number % 2 else self._devices
            ask = partial(
                self._compare, judge, case, *devices, values, _RUNS_OF_ROUND, is_candidate_first=number % 2 > 0
            )
            result = self._measured(f"{what} ({judge}{case.place})", ask)
            if result is None:
                raise _UnconfirmedError(f"{judge}{case.place} fails with it")
            if not (result.gain_ms > 0 if is_faster else result.gain_ms < 0):
                return None
            rounds.append(result)
        found = Comparison.of([one.best_ms for one in rounds], [one.candidate_ms for one in rounds])
        return found if abs(found.gain_ms) > _LEAST_GAIN * found.best_ms else None

    def _second(self) -> Case:
        """Return the second networks, which are made when the first value is confirmed, without counting the time."""
        if len(self._cases) == 1:
            began = time.monotonic()
            # Beside a network of the caller, the one that is generated by default is another.
            usual = SOFTWARE_ROADS if self._is_software else ROADS
            roads = from_expression(usual) if self._is_given else None
            self._cases.append(case_for(roads, self._devices[0], self._found, is_second=True))
            self._end += time.monotonic() - began
        return self._cases[1]
