"""Where streets meet: ferries and streets on which no trip begins, names that return, and unlike streets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.osm_maps import write_osm
from vkssp import Router, read_graph

#: A road from 1 to the pier 2, a ferry to the pier 3, and a road from there to 4, at right angles.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (-0.01, 0.01), 4: (-0.01, 0.02)}
WAYS = [(1, [1, 2], {"highway": "primary"}), (2, [2, 3], {"route": "ferry"}), (3, [3, 4], {"highway": "primary"})]


@pytest.mark.parametrize("rounded", [False, True])
def test_boarding_takes_the_time_of_a_turn(tmp_path: Path, rounded: bool) -> None:
    profile = tmp_path / "car.toml"
    profile.write_text(f'extends = "car"\nround_pieces = {str(rounded).lower()}\n')
    graph = read_graph(write_osm(tmp_path / "m.osm", NODES, WAYS), profile=profile, turns="costs")
    with Router(graph, device="cpu") as router:
        ends = [(1, 2), (2, 3), (3, 4), (1, 4)]
        to, ferry, off, whole = (router.route(NODES[a], NODES[b], steps=True) for a, b in ends)
        assert whole.duration_s == pytest.approx(to.duration_s + ferry.duration_s + off.duration_s, abs=0.1)
        crossing = graph.weight[graph.streets.carried].min() - graph.streets.turn[graph.streets.carried].min()
        assert ferry.duration_s > 0.1 * crossing + 2.0
        table = router.table([NODES[2]], [NODES[3], NODES[4]]).read()["duration"]
        assert table[0, 0] == pytest.approx(ferry.duration_s)
        assert table[0, 1] == pytest.approx(router.route(NODES[2], NODES[4]).duration_s)
        assert [step.type for step in ferry.legs[0].steps] == ["depart", "arrive"]
        assert sum(step.duration_s for step in ferry.legs[0].steps) == pytest.approx(ferry.duration_s)


@pytest.mark.parametrize(("names", "steps"), [(("A", "B", "A"), 2), (("A", "B", "C"), 4)])
def test_names_that_return_are_one_street_at_any_distance(tmp_path: Path, names: tuple[str, ...], steps: int) -> None:
    ways = [(at + 1, [at + 1, at + 2], {"highway": "primary", "name": name}) for at, name in enumerate(names)]
    graph = read_graph(write_osm(tmp_path / "m.osm", NODES, ways), turns="costs")
    with Router(graph, device="cpu") as router:
        assert len(router.route(NODES[1], NODES[4], steps=True).legs[0].steps) == steps


@pytest.mark.parametrize(("names", "least"), [(("A", "A"), 0.0), (("A", "B"), 2.0)])
def test_turns_between_unlike_streets_cost_where_two_meet(tmp_path: Path, names: tuple[str, ...], least: float) -> None:
    ways = [(at + 1, [at + 1, at + 2], {"highway": "primary", "name": name}) for at, name in enumerate(names)]
    (tmp_path / "p.toml").write_text('extends = "bike"\n[turns]\neverywhere = true\n')
    path = write_osm(tmp_path / "m.osm", {at: NODES[at] for at in (1, 2, 3)}, ways)
    graph = read_graph(path, profile=tmp_path / "p.toml", turns="costs")
    with Router(graph, device="cpu") as router:
        both, one, two = (router.route(NODES[a], NODES[b]).duration_s for a, b in ((1, 3), (1, 2), (2, 3)))
    assert both - one - two == pytest.approx(least, abs=0.1) if least == 0.0 else both - one - two > least
