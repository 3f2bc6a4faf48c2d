"""Phantom nodes of many points at once, against those of each point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.paths import ROOT
from vkssp import read_graph
from vkssp.routing import many_phantoms
from vkssp.routing.many_phantoms import many_direct, many_goals, many_starts
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode


def least(ends: list[PhantomNode]) -> list[PhantomNode]:
    """Return the first of the best phantom nodes at each node."""
    best: dict[int, PhantomNode] = {}
    for end in sorted(ends, key=lambda end: end.weight):
        best.setdefault(end.node, end)
    return [end for end in ends if end == best[end.node]]


#: Profile by which pieces of streets weigh whole units, beside the default.
WHOLE_PIECES = ROOT / "scripts" / "osrm_tools" / "profiles" / "car.toml"


@pytest.mark.parametrize(
    ("turns", "profile", "avoids"),
    [
        ("costs", "car", False),
        ("none", "car", False),
        ("costs", WHOLE_PIECES, False),
        ("none", WHOLE_PIECES, False),
        ("costs", "car", True),
        ("none", "car", True),
    ],
)
def test_many_are_as_one_by_one(
    andorra_path: Path, monkeypatch: pytest.MonkeyPatch, turns: str, profile: str | Path, avoids: bool
) -> None:
    # Too little room at first.
    monkeypatch.setattr(many_phantoms, "ROOM_EACH", 0)
    monkeypatch.setattr(many_phantoms, "ROOM", 3)
    graph, rng = read_graph(andorra_path, turns=turns, profile=profile), np.random.default_rng(7)
    assert graph.lat is not None and graph.lon is not None
    area = shapely.box(1.52, 42.50, 1.53, 42.51) if avoids else None
    index = StreetIndex(graph, area)
    chosen = rng.integers(0, graph.num_nodes, 300)
    places = np.stack([graph.lat[chosen], graph.lon[chosen]], axis=1)
    # At junctions, near them, and many on few streets.
    places[100:] += rng.uniform(-4e-4, 4e-4, (200, 2))
    places[200:] = places[200] + rng.uniform(-2e-4, 2e-4, (100, 2))
    snaps = [snap for snap in index.trip_ends(places) if snap is not None]
    assert len(snaps) == 300 and sum(snap.is_end for snap in snaps) > 50
    for many, find in ((many_starts, find_starts), (many_goals, find_goals)):
        found = many(index, [*snaps, None])
        assert [found[row] for row in range(301)] == [*(least(find(index, snap)) for snap in snaps), []]
        assert found.node.dtype == found.weight.dtype == np.uint32
    starts, goals = [*snaps[:250], None], [None, *snaps[50:]]
    same = SameStreet(index, goals)
    expected = [
        (row, goal, weight, first.arc, last.at - first.at, first.metres + last.metres)
        for row, snap in enumerate(starts)
        for goal, weight, first, last in (() if snap is None else same.ways_from(snap))
    ]
    found = zip(*(column.tolist() for column in many_direct(index, starts, goals)), strict=True)
    assert list(found) == sorted(expected) and len(expected) > 1000
