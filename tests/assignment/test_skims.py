"""Skims: costs between zones against networkx, and sums along the same paths."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from tests.assignment.test_equilibrium import drawn_network
from vkssp import QueryError
from vkssp.assignment import BPR, TrafficNetwork, UserClass, equilibrium, skims


def paths_of(network: TrafficNetwork, cost: np.ndarray, is_open: np.ndarray, origin: int) -> networkx.DiGraph:
    """Return the cheapest arc between any two nodes, without those out of other closed nodes."""
    graph = networkx.DiGraph()
    for arc in np.flatnonzero(is_open).tolist():
        tail, head = int(network.tail[arc]), int(network.head[arc])
        if (tail == origin or tail not in network.closed) and cost[arc] <= graph.get_edge_data(
            tail, head, {"c": np.inf}
        )["c"]:
            graph.add_edge(tail, head, c=float(cost[arc]), arc=arc)
    graph.add_nodes_from(network.zones.tolist())
    return graph


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_costs_are_those_of_cheapest_paths(seed: int) -> None:
    network, demand = drawn_network(seed)
    rng = np.random.default_rng(seed)
    is_open = np.ones(network.num_arcs, np.bool_)
    is_open[9:51] = rng.random(42) < 0.8  # the other arcs join all zones
    fixed = rng.random(network.num_arcs)
    classes = [UserClass(demand, name="cars"), UserClass(demand / 9, fixed=fixed, open_arcs=is_open)]
    found = equilibrium(network, classes, gap=1e-3, device="cpu")
    metres = rng.integers(1, 1000, network.num_arcs)
    for user, dear, allowed in (("cars", network.fixed, is_open | True), ("all", fixed, is_open)):
        tables = skims(found, {"metres": metres}, user=user, device="cpu")
        assert list(tables) == ["cost", "time", "metres"]
        for row, origin in enumerate(network.zones.tolist()):
            graph = paths_of(network, found.time + dear, allowed, origin)
            lengths, paths = networkx.single_source_dijkstra(graph, origin, weight="c")
            for column, end in enumerate(network.zones.tolist()):
                if end == origin:
                    assert [table[row, column] for table in tables.values()] == [0, 0, 0]
                    continue
                arcs = [graph.edges[pair]["arc"] for pair in zip(paths[end], paths[end][1:], strict=False)]
                assert tables["cost"][row, column] == pytest.approx(lengths[end], rel=1e-6)
                # Paths of random costs are unique.
                assert tables["time"][row, column] == pytest.approx(found.time[arcs].sum(), rel=1e-6)
                assert tables["metres"][row, column] == metres[arcs].sum()


def test_extreme_costs_and_what_does_not_suit() -> None:
    # A heavy arc that a trip needs, one that none needs, a node far from all zones, and zones that no path joins.
    tail, head = [0, 1, 0, 2, 0], [1, 2, 2, 0, 3]
    network = TrafficNetwork(
        5, tail, head, BPR([1e-3, 1e6, 1e9, 2.0, 1e12], np.ones(5), 0.0), zones=[0, 1, 2, 4], length=[1, 2, 3, 4, 5]
    )
    demand = np.zeros((4, 4))
    demand[0, 1] = 1
    found = equilibrium(network, demand, device="cpu")
    nan = np.nan
    expected = [[0, 1e-3, 1e6 + 1e-3, nan], [1e6 + 2, 0, 1e6, nan], [2, 2.001, 0, nan], [nan, nan, nan, 0]]
    np.testing.assert_allclose(skims(found, device="cpu")["cost"], expected, rtol=1e-9)
    for given, message in (
        ({"values": 3}, "values is 3; give a dictionary"),
        ({"values": {"km": [1]}}, r"values\['km'\] has 1 values; give one for each of 5 arcs"),
        ({"user": "lorries"}, "user"),
    ):
        with pytest.raises(QueryError, match=message):
            skims(found, **given)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="found is"):
        skims(network)  # type: ignore[arg-type]
