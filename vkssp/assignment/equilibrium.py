"""User equilibrium of traffic: flows at which no traveller has a faster path (J. G. Wardrop, 1952).

It is the minimum of a convex function of the flows, the sum over all arcs of the integral of their delay function (M.
Beckmann, C. McGuire, C. Winsten, Studies in the economics of transportation, 1956).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy import sparse

from vkssp.algorithms.choice import current
from vkssp.arrays import brief
from vkssp.assignment.delays import Floats, dot
from vkssp.assignment.demand import CheckedClass, checked_classes
from vkssp.assignment.loading import Loading
from vkssp.assignment.network import TrafficNetwork
from vkssp.checks import choice, instance, number_of, real_numbers, shown, whole_number
from vkssp.errors import QueryError
from vkssp.features.frames import dataframe

#: Methods, best first, and their short names.
METHODS = {
    "biconjugate": "biconjugate",
    "conjugate": "conjugate",
    "frank-wolfe": "frank-wolfe",
    "msa": "msa",
    "bfw": "biconjugate",
    "cfw": "conjugate",
    "fw": "frank-wolfe",
}
# Accuracy of step lengths, and most evaluations for one.
_STEP_ACCURACY, _MOST_TRIES = 1e-12, 60
# Part of the demand by which flows of another run may miss it at a node.
_BALANCE = 1e-6
# Costs of all arcs together, for the whole demand, of which sums and products still fit into 64 bits.
_MOST_COSTS = 1e300
# Largest weight of the last direction's target in the next conjugate one.
_MOST_CONJUGATE = 0.99


@dataclass(frozen=True)
class Iteration:
    """Iteration of an assignment.

    Attributes
    ----------
    number : int
        Its number, from 1 on.
    gap : float
        Relative gap of the flows at its beginning: the share of the total cost that would be saved if all travellers
        took the shortest paths at the costs of these flows, and costs stayed as they are.
    objective : float
        The objective function of these flows.
    step : float
        Length of the step from these flows to the next ones; 0 for the last iteration.
    seconds : float
        Time since the assignment began.
    """

    number: int
    gap: float
    objective: float
    step: float
    seconds: float


class Start(Protocol):
    """Flows to begin with.

    Attributes
    ----------
    flow : numpy.ndarray
        Flow of each arc in passenger car equivalents, all classes together, shape (num_arcs,), float64.
    class_flows : dict of str to numpy.ndarray
        Flow of each user class in vehicles, shape (num_arcs,), float64, by the names of classes.
    digest : str
        Digest of the arcs and the demand that the flows are of.
    """

    @property
    def flow(self) -> Floats: ...  # noqa: D102

    @property
    def class_flows(self) -> dict[str, Floats]: ...  # noqa: D102

    @property
    def digest(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Flows of an assignment, and what they cost.

    Attributes
    ----------
    flow : numpy.ndarray
        Flow of each arc in passenger car equivalents, all classes together, shape (num_arcs,), float64.
    class_flows : dict of str to numpy.ndarray
        Flow of each user class in vehicles, shape (num_arcs,), float64, by the names of classes.
    network : TrafficNetwork
        The network.
    time : numpy.ndarray
        Time on each arc at these flows, shape (num_arcs,), float64.
    cost : numpy.ndarray
        Time and the network's fixed cost of each arc, shape (num_arcs,), float64.
    gap : float
        Relative gap, see `Iteration`.
    objective : float
        Objective function.
    converged : bool
        Whether the gap is as small as was asked for.
    iterations : list of Iteration
        What happened.
    device : str
        Name of the device that found the last paths.
    classes : list of CheckedClass
        The user classes, with checked arrays.
    """

    __repr__ = brief

    flow: Floats
    class_flows: dict[str, Floats]
    network: TrafficNetwork
    time: Floats
    cost: Floats
    gap: float
    objective: float
    converged: bool
    iterations: list[Iteration]
    device: str
    classes: list[CheckedClass] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Digest of the arcs and the demand that the flows are of."""
        return digest_of(self.network, self.classes)

    def to_dataframe(self) -> Any:
        """Return the arcs as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            ``tail`` and ``head`` (names of nodes), ``flow``, ``time``, ``cost``, and ``flow_NAME`` of each of several
            user classes; a row for each arc.

        Raises
        ------
        QueryError
            If pandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        names = self.network.node_names
        columns = {"tail": names[self.network.tail], "head": names[self.network.head]}
        columns |= {"flow": self.flow, "time": self.time, "cost": self.cost}
        if len(self.class_flows) > 1:
            columns |= {f"flow_{name}": flow for name, flow in self.class_flows.items()}
        return dataframe(columns)


def equilibrium(
    network: TrafficNetwork,
    demand: Any,
    *,
    method: str = "biconjugate",
    gap: float = 1e-4,
    iterations: int = 1000,
    start: Start | npt.ArrayLike | None = None,
    algorithm: str = "auto",
    device: Any = None,
    report: Callable[[Iteration], object] | None = None,
) -> Equilibrium:
    """Assign a demand to a network so that no traveller has a faster path.

    Parameters
    ----------
    network : TrafficNetwork
        The network.
    demand : array_like, sparse matrix or list of UserClass
        Vehicles from each zone to each other zone, shape (num_zones, num_zones), from 0 on; or several user classes.
    method : str
        ``"biconjugate"`` or ``"conjugate"`` Frank-Wolfe (M. Mitradjieva, P. O. Lindberg, The stiff is moving: conjugate
        direction Frank-Wolfe methods with applications to traffic assignment, Transportation Science 47 (2), 2013);
        ``"frank-wolfe"`` (L. LeBlanc, E. Morlok, W. Pierskalla, An efficient approach to solving the road network
        equilibrium traffic assignment problem, 1975); or ``"msa"``, the method of successive averages. Also
        ``"bfw"``, ``"cfw"`` and ``"fw"``.
    gap : float
        Relative gap at which the assignment ends; see `Iteration`.
    iterations : int
        Number of iterations after which it ends in any case; each finds the shortest paths of all zones once.
    start : Equilibrium, SavedFlows or array_like, optional
        Flows to begin with. Those of another run are taken on if they are of the same arcs and the same demand, even if
        delays or fixed costs have changed. Of others, and of an array with the flow of each arc, shape (num_arcs,),
        only the times count: the first paths are shortest at these times.
    algorithm, device : optional
        See `vkssp.Solver`; several devices share the work. Results are the same on all devices. If neither is chosen,
        the CPU begins, and a GPU goes on if it is faster.
    report : callable, optional
        Is called with each `Iteration` when it ends.

    Returns
    -------
    Equilibrium
        The flows; `Equilibrium.converged` tells whether the gap was reached.

    Raises
    ------
    QueryError
        If an argument is invalid, no path leads between zones that have a demand, or costs are too large to be summed
        up.

    Examples
    --------
    >>> from vkssp.assignment import BPR, TrafficNetwork, equilibrium
    >>> network = TrafficNetwork(2, [0, 0], [1, 1], BPR([10.0, 15.0], [100, 200]), zones=[0, 1])
    >>> found = equilibrium(network, [[0, 300], [0, 0]], gap=1e-6)
    >>> found.flow.round(1).tolist(), found.time.round(2).tolist()
    ([140.8, 159.2], [15.9, 15.9])
    """
    began = time.perf_counter()
    instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files")
    algorithm, device = current(algorithm, device)
    name = METHODS[choice(method, "method", METHODS)]
    target = number_of(gap)
    if target is None or not 0 <= target < 1:
        raise QueryError(f"gap is {shown(gap)}; give a share of all costs below 1, such as 1e-4")
    most = whole_number(iterations, "iterations", 1, 10**9, "give a number of iterations from 1 on")
    if report is not None and not callable(report):
        raise QueryError(f"report is {shown(report)}; give a function that takes an Iteration, such as print")
    classes = checked_classes(network, demand)
    first = _first_flow(network, start)
    # Times may be infinite, which `_cost` tells.
    with ExitStack() as stack, np.errstate(over="ignore", invalid="ignore"):
        loadings = [stack.enter_context(Loading(network, one, algorithm, device, target)) for one in classes]
        state = _State(network, classes)

        def loaded(times: Floats) -> Floats:
            return np.stack([one.flows(_cost(network, times, one)) for one in loadings])

        if _has_classes(start) and start.digest == digest_of(network, classes):
            state.flows = np.stack([_class_flow(start, one, network) for one in classes])
        else:
            state.flows = loaded(network.delay.time(np.zeros(network.num_arcs) if first is None else first))
        done: list[Iteration] = []
        directions = _Directions(name)
        while True:
            state.measure()
            shortest = loaded(state.time)
            relative = state.gap_to(shortest)
            step, is_last = 0.0, relative <= target or len(done) + 1 == most
            if not is_last:
                step = directions.advance(state, shortest, len(done) + 1)
            passed = time.perf_counter() - began
            done.append(Iteration(len(done) + 1, relative, state.objective, step, passed))
            if report is not None:
                report(done[-1])
            if is_last:
                break
        used = loadings[0].device
    return Equilibrium(
        state.total,
        {one.name: flow for one, flow in zip(classes, state.flows, strict=True)},
        network,
        state.time,
        state.time + network.fixed,
        relative,
        state.objective,
        relative <= target,
        done,
        used,
        classes,
    )


class _State:
    """Flows of all classes, and what follows from them."""

    def __init__(self, network: TrafficNetwork, classes: list[CheckedClass]) -> None:
        self._delay = network.delay
        self.pce = np.array([one.pce for one in classes])
        self._fixed = np.stack([one.fixed for one in classes])
        self.flows = np.zeros((len(classes), network.num_arcs))

    def measure(self) -> None:
        """Compute total flow, times and objective of the flows."""
        self.total = self._in_cars(self.flows)
        self.time = self._delay.time(self.total)
        self.slope = self._delay.slope(self.total)
        self.objective = float(self._delay.integral(self.total).sum()) + self.fixed_cost(self.flows)

    def _in_cars(self, flows: Floats) -> Floats:
        """Return the flows of all classes together, in passenger car equivalents."""
        found: Floats = (self.pce[:, None] * flows).sum(axis=0)
        return found

    def fixed_cost(self, flows: Floats) -> float:
        """Return the fixed costs of flows, in the unit of the objective."""
        return float(self._in_cars(self._fixed * flows).sum())

    def gap_to(self, shortest: Floats) -> float:
        """Return the relative gap, given the flows on shortest paths."""
        mine, least = (
            dot(self.time, self._in_cars(flows)) + self.fixed_cost(flows) for flows in (self.flows, shortest)
        )
        return max(0.0, (mine - least) / mine) if mine > 0 else 0.0

    def product(self, one: Floats, other: Floats) -> float:
        """Return the product of two directions with the second derivative of the objective between them."""
        return dot(self._in_cars(one) * self.slope, self._in_cars(other))

    def step_to(self, aim: Floats) -> float:
        """Return the step towards other flows, from 0 to 1, at which the objective is least."""
        direction = aim - self.flows
        change, fixed = self._in_cars(direction), self.fixed_cost(direction)

        def rise(step: float) -> float:
            return dot(self._delay.time(np.maximum(self.total + step * change, 0)), change) + fixed

        low, high, slope = 0.0, 1.0, dot(self.time, change) + fixed
        if slope >= 0:
            return 0.0
        if rise(1.0) <= 0:
            return 1.0
        step = min(1.0, -slope / max(dot(self.slope, change**2), 1e-300))
        for _ in range(_MOST_TRIES):
            if not low < step < high:
                step = (low + high) / 2
            slope = rise(step)
            low, high = (step, high) if slope < 0 else (low, step)
            if slope == 0 or high - low < _STEP_ACCURACY:
                break
            bend = dot(self._delay.slope(np.maximum(self.total + step * change, 0)), change**2)
            following = step - slope / bend if bend > 0 else (low + high) / 2
            if abs(following - step) < _STEP_ACCURACY:
                break
            step = following
        return step


class _Directions:
    """Search directions of a method.

    A step leads from the flows towards others, its *aim*. Frank-Wolfe aims at the flows on shortest paths. Conjugate
    methods combine these with the aims of the last one or two steps, so that directions are conjugate with respect to
    the second derivative of the objective (Mitradjieva and Lindberg, see `equilibrium`).
    """

    def __init__(self, method: str) -> None:
        self._method = method
        self._aims: list[Floats] = []  # aims of the last steps, the last one first; none after a full step
        self._step = 0.0  # length of the last step

    def advance(self, state: _State, shortest: Floats, number: int) -> float:
        """Move the flows, and return the length of the step."""
        if self._method == "msa":
            step = 1.0 / (number + 1)
            state.flows = state.flows + step * (shortest - state.flows)
            return step
        aim = self._aim(state, shortest)
        step = state.step_to(aim)
        if step == 0.0 and aim is not shortest:  # no descent: begin anew
            self._aims, aim = [], shortest
            step = state.step_to(aim)
        state.flows = state.flows + step * (aim - state.flows)
        self._aims = [] if step == 1.0 or self._method == "frank-wolfe" else [aim, *self._aims[:1]]
        self._step = step
        return step

    def _aim(self, state: _State, shortest: Floats) -> Floats:
        """Return the flows towards which the next step leads, given those on shortest paths.

        `nu` and `mu` are the paper's: the shares of the last aim and of the one before, relative to the share of the
        flows on shortest paths.
        """
        if not self._aims:
            return shortest
        # The direction of Frank-Wolfe, and what is left of the last direction.
        here, last = shortest - state.flows, self._aims[0] - state.flows
        along = state.product(last, here)
        bend = state.product(last, last)
        if not bend > 0:
            return shortest
        if self._method == "conjugate" or len(self._aims) < 2:
            share = along / (along - bend) if along < 0 else 0.0
            share = min(share, _MOST_CONJUGATE)
            return share * self._aims[0] + (1 - share) * shortest
        before = self._aims[1]
        # A multiple of the direction before the last one.
        second = self._step * self._aims[0] + (1 - self._step) * before - state.flows
        bend_before = state.product(second, before - self._aims[0])
        if bend_before == 0:
            return shortest
        mu = max(0.0, -state.product(second, here) / bend_before)
        nu = max(0.0, -along / bend + mu * self._step / (1 - self._step))
        return (shortest + nu * self._aims[0] + mu * before) / (1 + mu + nu)


def _cost(network: TrafficNetwork, times: Floats, loading: Loading) -> Floats:
    """Return what each arc costs a user class at some times, which a delay of the caller's may have returned."""
    if np.shape(times) != (network.num_arcs,) or (np.asarray(times) < 0).any():
        raise QueryError("delay does not return a time from 0 on for each arc; give BPR or Conical, or mend its method")
    cost: Floats = times + loading.user.fixed
    demand = loading.total * loading.user.pce
    if not cost.sum() * max(1.0, demand) < _MOST_COSTS:
        arc = int(np.argmax(np.where(np.isnan(cost), np.inf, cost)))
        told = f"a cost of {cost[arc]:g}, too much for a demand of {demand:g}"
        if not np.isfinite(cost[arc]):
            told = "an infinite time"
        raise QueryError(f"arc {arc} has {told}; lower demand or start, or give costs in a larger unit")
    return cost


def _has_classes(start: object) -> TypeGuard[Start]:
    return all(hasattr(start, name) for name in ("flow", "class_flows", "digest"))


def _first_flow(network: TrafficNetwork, start: Any) -> Floats | None:
    """Return the flow whose times the first paths are shortest for; None without traffic."""
    if start is None:
        return None
    given: Any = start.flow if _has_classes(start) else start
    flow = real_numbers(given, "start", "the flow of each arc, or flows of another run", QueryError)
    if len(flow) != network.num_arcs or not (np.isfinite(flow) & (flow >= 0)).all():
        raise QueryError(f"start must have a finite flow from 0 on for each of {network.num_arcs} arcs")
    return flow


def _class_flow(start: Start, user: CheckedClass, network: TrafficNetwork) -> Floats:
    """Return the flow of a user class in another run, if it carries the demand."""
    name, num_arcs = f"start.class_flows[{user.name!r}]", network.num_arcs
    if user.name not in start.class_flows:
        raise QueryError(f"start has no flow of the user class {user.name!r}; give the result of a run, or read one")
    flow = real_numbers(start.class_flows[user.name], name, "the flow of each arc", QueryError)
    if len(flow) != num_arcs or not (np.isfinite(flow) & (flow >= 0)).all():
        raise QueryError(f"{name} must have a finite flow from 0 on for each of {num_arcs} arcs")
    out, table = np.zeros(network.num_nodes), sparse.coo_array(user.demand).astype(np.float64)
    np.add.at(out, network.tail, flow)
    np.subtract.at(out, network.head, flow)
    np.subtract.at(out, network.zones[table.coords[0]], table.data)
    np.add.at(out, network.zones[table.coords[1]], table.data)
    if np.abs(out).max(initial=0.0) > _BALANCE * max(float(table.sum()), float(flow.max(initial=0.0))):
        raise QueryError(f"{name} does not carry the demand; give the result of a run, or read one")
    return flow


def digest_of(network: TrafficNetwork, classes: list[CheckedClass]) -> str:
    """Return a digest of the arcs of a network and of the demand of its user classes."""
    sign = hashlib.sha256()
    arrays = [network.tail, network.head, network.zones, network.closed]
    for one in classes:
        sign.update(f"{one.name} {one.pce!r} {one.open_arcs is None} ".encode())
        matrix = sparse.coo_array(one.demand)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        arrays += [*matrix.coords, matrix.data.astype(np.float64)]
        arrays += [] if one.open_arcs is None else [one.open_arcs]
    for array in arrays:
        sign.update(f"{len(array)} ".encode() + np.ascontiguousarray(array).astype(np.float64).tobytes())
    return sign.hexdigest()
