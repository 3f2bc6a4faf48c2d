"""Equilibria: conditions that they fulfil by definition, known solutions, all methods and devices."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.conftest import EXAMPLES
from tests.support.paths import SHARED
from vkssp import Device, GraphError, QueryError, Solver
from vkssp.assignment import BPR, Conical, Equilibrium, Iteration, TrafficNetwork, UserClass, equilibrium, loading, tntp
from vkssp.assignment.flows_file import SavedFlows, read_flows

TNTP = SHARED.parent / "tntp"


def drawn_network(seed: int, size: int = 14, zones: int = 5) -> tuple[TrafficNetwork, np.ndarray]:
    """Return a random strongly connected network, and a demand between its zones."""
    rng = np.random.default_rng(seed)
    around = rng.permutation(np.arange(zones, size))
    ends = [*zip(around, np.roll(around, -1), strict=True), *rng.integers(zones, size, (3 * size, 2)).tolist()]
    for zone in range(zones):
        ends += [(zone, int(rng.integers(zones, size))), (int(rng.integers(zones, size)), zone)]
        ends += [(zone, int(rng.integers(zones, size)))]
    tail, head = np.array(ends).T
    count = len(ends)
    free, capacity = rng.random(count) * 10, 10 + 90 * rng.random(count)
    delay = Conical(free, capacity, 2 + 8 * rng.random(count)) if seed % 3 == 0 else BPR(free, capacity)
    network = TrafficNetwork(
        size,
        tail,
        head,
        delay,
        zones=range(zones),
        fixed=rng.random(count) * (seed % 2),
        closed=range(zones) if seed % 4 < 2 else (),
    )
    return network, rng.random((zones, zones)) * 40


def checked_gap(network: TrafficNetwork, classes: list[UserClass], found: Equilibrium) -> float:
    """Return the relative gap of flows by networkx, after a check that they carry the demand."""
    total = sum(one.pce * found.class_flows[one.name] for one in classes)
    assert np.allclose(total, found.flow)
    time = network.delay.time(found.flow)
    mine = least = 0.0
    for one in classes:
        flow, demand = found.class_flows[one.name], np.array(one.demand, float)
        np.fill_diagonal(demand, 0)
        assert (flow >= 0).all()
        balance = np.zeros(network.num_nodes)
        np.add.at(balance, network.tail, flow)
        np.subtract.at(balance, network.head, flow)
        assert np.allclose(balance[network.zones], demand.sum(axis=1) - demand.sum(axis=0))
        if one.open_arcs is not None:
            assert not flow[~np.asarray(one.open_arcs)].any()
        cost = time + (network.fixed if one.fixed is None else np.asarray(one.fixed))
        mine += one.pce * float(flow @ cost)
        for origin, node in enumerate(network.zones.tolist()):
            graph = networkx.DiGraph()
            for arc, (tail, head) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
                may_leave = tail == node or tail not in network.closed
                is_open = one.open_arcs is None or one.open_arcs[arc]
                if may_leave and is_open and cost[arc] <= graph.get_edge_data(tail, head, {"c": np.inf})["c"]:
                    graph.add_edge(tail, head, c=cost[arc])
            lengths = networkx.single_source_dijkstra_path_length(graph, node, weight="c")
            least += one.pce * sum(demand[origin, end] * lengths[at] for end, at in enumerate(network.zones.tolist()))
    return (mine - least) / mine if mine else 0.0


@pytest.mark.parametrize("seed", range(8))
def test_nobody_has_a_faster_path(seed: int) -> None:
    network, demand = drawn_network(seed)
    found = equilibrium(network, demand, gap=1e-6, device="cpu")
    assert found.converged and found.gap <= 1e-6
    assert checked_gap(network, [UserClass(demand)], found) == pytest.approx(found.gap, abs=2e-8)
    assert np.allclose(found.cost, network.delay.time(found.flow) + network.fixed)


@pytest.mark.parametrize("method", ["msa", "frank-wolfe", "conjugate", "biconjugate"])
def test_all_methods_end_at_the_same_flows(method: str) -> None:
    network, demand = drawn_network(1)
    expected = equilibrium(network, demand, gap=1e-8, iterations=5000, device="cpu")
    seen: list[Iteration] = []
    found = equilibrium(network, demand, method=method, gap=1e-3, device="cpu", report=seen.append)
    assert found.converged and seen == found.iterations
    assert found.objective == pytest.approx(expected.objective, abs=found.gap * float(found.cost @ found.flow))
    assert checked_gap(network, [UserClass(demand)], found) == pytest.approx(found.gap, abs=1e-7)
    assert [one.number for one in seen] == list(range(1, len(seen) + 1))
    assert seen[0].objective > found.objective >= expected.objective * (1 - 1e-9)


def test_user_classes() -> None:
    network, demand = drawn_network(5)
    rng = np.random.default_rng(0)
    for seed in range(20):  # arcs that leave all zones connected
        open_arcs = np.random.default_rng(seed).random(network.num_arcs) < 0.85
        trucks = UserClass(
            demand / 7, fixed=3 * rng.random(network.num_arcs), pce=2.5, open_arcs=open_arcs, name="trucks"
        )
        classes = [UserClass(demand, name="cars"), trucks]
        try:
            found = equilibrium(network, classes, gap=1e-6, device="cpu")
        except QueryError:
            continue
        assert checked_gap(network, classes, found) == pytest.approx(found.gap, abs=2e-8)
        break
    else:
        pytest.fail("no network was connected")


def test_braess() -> None:
    """D. Braess, Ueber ein Paradoxon aus der Verkehrsplanung, 1968: a new road makes all travellers slower."""
    # Times 10x, 50 + x, 50 + x, 10x and 10 + x; a tiny free time with a large factor stands for none.
    tail, head = [0, 0, 1, 2, 1], [1, 2, 3, 3, 2]
    free = np.array([1e-8, 50.0, 50.0, 1e-8, 10.0])
    delay = BPR(free, np.ones(5), np.array([10.0, 1.0, 1.0, 10.0, 1.0]) / free, 1)
    demand = [[0, 6], [0, 0]]
    found = equilibrium(TrafficNetwork(4, tail, head, delay, zones=[0, 3]), demand, gap=1e-9, device="cpu")
    assert found.flow == pytest.approx([4, 2, 2, 4, 2], abs=1e-4)
    assert found.cost @ found.flow == pytest.approx(6 * 92, rel=1e-6)
    without = BPR(*(np.asarray(each)[:4] for each in (delay.free_time, delay.capacity, delay.b, delay.power)))
    network = TrafficNetwork(4, tail[:4], head[:4], without, zones=[0, 3])
    found = equilibrium(network, demand, gap=1e-9, device="cpu")
    assert found.cost @ found.flow == pytest.approx(6 * 83, rel=1e-6)


def test_all_devices_give_the_same_bits(device: Device) -> None:
    network, demand = drawn_network(2, 60, 12)
    expected = equilibrium(network, demand, gap=1e-4, algorithm="dijkstra", device="cpu")
    for algorithm, place in (("auto", "cpu"), ("auto", device), ("bellman_ford", device), ("auto", [device, "cpu"])):
        found = equilibrium(network, sparse.csr_matrix(demand), gap=1e-4, algorithm=algorithm, device=place)
        assert np.array_equal(found.flow, expected.flow) and found.gap == expected.gap, algorithm


def test_the_place_is_chosen_by_its_time(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    """A GPU, in whose part is a software device here, is tried once loads on the CPU take long."""
    network, demand = drawn_network(2, 60, 12)
    expected = equilibrium(network, demand, gap=1e-4, device="cpu")
    opened: list[Any] = []

    def solver_on(graph: Any, algorithm: str, place: Any) -> Solver:
        opened.append(Solver(graph, algorithm, device if place is None else place))
        return opened[-1]

    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    monkeypatch.setattr(loading, "place_of", lambda *_: "vulkan")
    monkeypatch.setattr(loading, "solver_on", solver_on)
    for worth_s, count in ((0.0, 2), (1e9, 1)):
        monkeypatch.setattr(loading, "WORTH_S", worth_s)
        found = equilibrium(network, demand, gap=1e-4)
        assert np.array_equal(found.flow, expected.flow)
        assert len(opened) == count and all(one.closed for one in opened)
        assert found.device in [one.device.info.name for one in opened]
        opened.clear()


def test_networks_without_a_useful_hierarchy(monkeypatch: pytest.MonkeyPatch) -> None:
    network, demand = drawn_network(3)
    expected = equilibrium(network, demand, device="cpu")

    def prepare(graph: Any) -> Any:
        raise GraphError("too many arcs")

    monkeypatch.setattr(loading, "prepare", prepare)
    assert np.array_equal(equilibrium(network, demand, device="cpu").flow, expected.flow)
    with pytest.raises(GraphError, match="too many"):
        equilibrium(network, demand, algorithm="phast", device="cpu")


def test_a_run_goes_on() -> None:
    network, demand = drawn_network(4)
    half = equilibrium(network, demand, gap=1e-2, device="cpu")
    whole = equilibrium(network, demand, gap=1e-5, start=half, device="cpu")
    assert whole.iterations[0].gap == pytest.approx(half.gap, rel=1e-9)
    assert len(whole.iterations) < len(equilibrium(network, demand, gap=1e-5, device="cpu").iterations)
    # With other delays the flows are still those of the demand.
    slower = TrafficNetwork(
        network.num_nodes,
        network.tail,
        network.head,
        BPR(np.asarray(network.delay.free_time) * 1.1, network.delay.capacity),
        zones=network.zones,
        closed=network.closed,
    )
    again = equilibrium(slower, demand, gap=1e-5, start=whole, device="cpu")
    assert checked_gap(slower, [UserClass(demand)], again) <= 1.1e-5
    # Times that are far too long at first are forgotten.
    jammed = equilibrium(network, demand * 1000, gap=1e-2, iterations=5, device="cpu")
    other = equilibrium(network, demand, gap=1e-5, start=jammed, device="cpu")
    assert checked_gap(network, [UserClass(demand)], other) <= 1.1e-5
    with pytest.raises(QueryError, match="infinite time; lower demand or start"):
        equilibrium(network, demand, start=np.full(network.num_arcs, 1e308), device="cpu")
    # With another demand only the times are taken.
    more = demand * 1.5
    for start in (whole, whole.flow):
        other = equilibrium(network, more, gap=1e-5, start=start, device="cpu")
        assert checked_gap(network, [UserClass(more)], other) <= 1.1e-5


@given(st.integers(0, 10**6))
@settings(max_examples=max(5, EXAMPLES // 2))
def test_ties_zero_times_and_heavy_arcs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    count = int(rng.integers(2, 5 * size))
    ends = np.concatenate(
        [rng.integers(0, size, (count, 2)), np.stack([np.arange(size), (np.arange(size) + 1) % size], 1)]
    )
    free = rng.choice([0.0, 1.0, 1.0, 2.0, 1e7], len(ends))
    delay = BPR(
        free, rng.choice([1.0, 10.0], len(ends)), rng.choice([0.0, 0.15, 1.0], len(ends)), rng.integers(0, 6, len(ends))
    )
    network = TrafficNetwork(size, *ends.T, delay, zones=range(size))
    demand = rng.integers(0, 4, (size, size)) * rng.choice([1.0, 0.3])
    found = equilibrium(network, demand, gap=1e-3, iterations=300, device="cpu")
    assert checked_gap(network, [UserClass(demand)], found) == pytest.approx(found.gap, abs=1e-5) or not demand.any()


@pytest.mark.parametrize("method", ["msa", "biconjugate"])
@pytest.mark.parametrize("seed", range(4))
def test_costs_that_32_bits_do_not_tell_apart(method: str, seed: int) -> None:
    """A road that costs as much as all others together, and overloads that the first paths make."""
    rng = np.random.default_rng(seed)
    size, zones = 10, 4
    ends = np.concatenate(
        [rng.integers(0, size, (30, 2)), np.stack([np.arange(size), np.roll(np.arange(size), -1)], 1)]
    )
    free, capacity = rng.choice([0.0, 1.0, 3.0], len(ends)) + rng.random(len(ends)), 1 + 100 * rng.random(len(ends))
    free[-3] = 10.0 ** (6 + 2 * seed)
    network = TrafficNetwork(size, *ends.T, BPR(free, capacity, 0.15, rng.choice([1, 4, 8], len(ends))), range(zones))
    demand = rng.random((zones, zones)) * 10.0 ** rng.integers(0, 4, (zones, zones))
    found = equilibrium(network, demand, method=method, gap=1e-5, iterations=60, device="cpu")
    assert checked_gap(network, [UserClass(demand)], found) == pytest.approx(found.gap, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("cost", [1e293, 1e307])
def test_costs_that_cannot_be_summed_up_are_an_error(cost: float) -> None:
    """They are no equilibrium whose gap is 0 since its total cost is infinite, and no search for a unit without end."""
    cheap = [1.0, 1.0]
    for free, fixed, vehicles in ((cheap, [cost, 0.0], 3e8), ([cost, cost], None, 1.0), (cheap, [cost, cost], 1.0)):
        network = TrafficNetwork(2, [0, 0], [1, 1], BPR(free, [1e9, 1e9]), zones=[0, 1], fixed=fixed)
        if cost * vehicles < 1e300:
            assert equilibrium(network, [[0, vehicles], [0, 0]], device="cpu").converged
            continue
        with pytest.raises(QueryError, match=r"arc 0 has a cost of 1e.*too much"):
            equilibrium(network, [[0, vehicles], [0, 0]], device="cpu")


@pytest.mark.parametrize("times", [[1.0], [1.0, -1.0], 5.0])
def test_a_delay_that_returns_no_times_is_told(times: Any) -> None:
    class Odd(BPR):
        def time(self, flow: Any) -> Any:
            return times

    network = TrafficNetwork(2, [0, 0], [1, 1], Odd([1.0, 1.0], [1, 1]), zones=[0, 1])
    with pytest.raises(QueryError, match="delay does not return a time"):
        equilibrium(network, [[0, 1], [0, 0]], device="cpu")


def test_what_does_not_suit_is_told() -> None:
    network, demand = drawn_network(1)
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"gap": 1}, demand, "gap is 1"),
        ({"gap": "x"}, demand, "gap"),
        ({"iterations": 0}, demand, "iterations"),
        ({"method": "newton"}, demand, "method"),
        ({"algorithm": np.arange(3)}, demand, "algorithm is"),
        ({"start": [1.0]}, demand, "start must have"),
        ({}, demand[:2], r"shape \(2, 5\); there are 5 zones"),
        ({}, -demand, "negative"),
        ({}, [["a"] * 5] * 5, "dtype"),
        ({}, [UserClass(demand), UserClass(demand)], "name of its own"),
        ({}, [UserClass(demand, pce=0)], "pce"),
        ({}, [UserClass(demand, fixed=[1.0])], "fixed"),
        ({}, [UserClass(demand, open_arcs=[True])], "open_arcs"),
    ]
    for given_arguments, wanted, text in cases:
        with pytest.raises(QueryError, match=text):
            equilibrium(network, wanted, device="cpu", **given_arguments)
    with pytest.raises(QueryError, match="network"):
        equilibrium(demand, demand)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="report is 5; give a function"):
        equilibrium(network, demand, report=5)  # type: ignore[arg-type]
    found = equilibrium(network, demand, gap=1e-2, device="cpu")
    for wrong in (0 * found.flow, 2 * found.flow):
        with pytest.raises(QueryError, match="does not carry the demand"):
            equilibrium(network, demand, start=SavedFlows(found.flow, {"all": wrong}, found.digest), device="cpu")
    for kind in (np.float16, np.uint8, np.bool_):
        narrow = equilibrium(network, demand.astype(kind), gap=1e-2, device="cpu")
        wide = equilibrium(network, demand.astype(kind).astype(float), gap=1e-2, device="cpu")
        assert np.array_equal(narrow.flow, wide.flow) and narrow.digest == wide.digest
    delay = BPR([1.0, 1.0], [1, 1])
    apart = TrafficNetwork(3, [0, 1], [1, 0], delay, zones=[0, 1, 2], zone_names=["a", "b", "c"])
    with pytest.raises(QueryError, match="no path leads from zone b to zone c"):
        equilibrium(apart, [[0, 1, 0], [1, 0, 1], [0, 0, 0]], device="cpu")
    for arguments, text in (
        ({"zones": [0, 0]}, "zones"),
        ({"zones": [3]}, "zones"),
        ({"zones": [0], "fixed": [1.0]}, "fixed"),
        ({"zones": [0], "fixed": [1.0, -1.0]}, r"fixed\[1\]"),
        ({"zones": [0], "closed": [7]}, "closed"),
        ({"zones": [0], "zone_names": ["a", "b"]}, "zone_names"),
        ({"zones": [0], "coordinates": [1.0]}, "coordinates"),
        ({"zones": [0], "coordinates": "ab"}, "coordinates"),
        ({"zones": [0], "node_names": 5}, "node_names"),
    ):
        with pytest.raises(QueryError, match=text):
            TrafficNetwork(3, [0, 1], [1, 0], delay, **arguments)
    for wrong in (5, None, "ab"):
        with pytest.raises(QueryError, match="delay is"):
            TrafficNetwork(3, [0, 1], [1, 0], wrong, zones=[0])  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="tail has 1 nodes"):
        TrafficNetwork(3, [0], [1, 0], delay, zones=[0])


@pytest.mark.skipif(not TNTP.is_dir(), reason="needs the TNTP collection")
@pytest.mark.parametrize(
    ("folder", "weights"),
    [
        ("SiouxFalls", {}),
        ("Anaheim", {}),
        ("Barcelona", {}),
        ("Chicago-Sketch", {"toll_weight": 0.02, "length_weight": 0.04}),
    ],
)
def test_best_known_flows(folder: str, weights: dict[str, float]) -> None:
    name = TNTP / folder / folder.replace("-", "")
    network = tntp.read_network(f"{name}_net.tntp", **weights)
    found = equilibrium(network, tntp.read_trips(f"{name}_trips.tntp", network), gap=1e-5, device="cpu")
    best = np.asarray(read_flows(f"{name}_flow.tntp", network))
    optimum = float(network.delay.integral(best).sum() + network.fixed @ best)
    assert found.gap <= 1e-5
    assert found.objective == pytest.approx(optimum, rel=1e-5) and found.objective > optimum * (1 - 1e-9)
    assert np.abs(found.flow - best).sum() < 0.01 * best.sum()
