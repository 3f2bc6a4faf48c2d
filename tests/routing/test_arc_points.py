"""Points along arcs in the order of travel, as routes of many pairs copy them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.osm_maps import ANDORRA
from vkssp import Router, prepare, read_graph
from vkssp.routing import arc_points
from vkssp.routing.arc_points import ArcPoints


def ring(moved: float = 0.0) -> Any:
    """Return a ring of four nodes over the 180th meridian, in both directions; some points of its lines repeat."""
    corners = np.array([[0.0, 179.5], [0.0, 180.5], [1.0, 180.5], [1.0, 179.5], [0.0, 179.5]])
    inner = np.array([[0.5, 180.25], [0.5, 180.25], [0.25, -179.75 + 360], [0.25, 180.25], [0.75, 179.75]])
    lines = [np.stack([corners[i], corners[i], *inner[: 2 * i], corners[i + 1], corners[i + 1]]) for i in range(4)]
    first = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    points = np.concatenate(lines)
    points[-1, 0] += moved
    begin, last = first[:-1], first[1:] - 1
    # By tail: from each node forward, then backward.
    along = [((begin[node], last[node]), (last[node - 1], begin[node - 1])) for node in range(4)]
    head = [((node + 1) % 4, (node - 1) % 4) for node in range(4)]
    graph = SimpleNamespace(first_out=np.arange(0, 9, 2), head=np.array(head, np.uint32).reshape(-1))
    rows = np.zeros((8, 4), np.uint32)
    rows[:, :2] = np.array(along).reshape(-1, 2)
    return SimpleNamespace(first=first, points=points, along=rows, graph=graph)


def test_points_of_arcs_follow_their_first_ones_without_repetitions() -> None:
    lines = ring()
    spans, points = ArcPoints(lines).arrays
    for (begin, end), (first, count) in zip(lines.along[:, :2].astype(int), spans.astype(int), strict=True):
        step = 1 if begin < end else -1
        travelled = lines.points[begin : end + step if end + step >= 0 else None : step].copy()
        travelled[:, 1] = (travelled[:, 1] + 180.0) % 360.0 - 180.0
        differs = (travelled[1:] != travelled[:-1]).any(axis=1)
        assert points[first : first + count].tolist() == travelled[1:][differs].tolist()


def test_arcs_that_do_not_meet_have_no_points() -> None:
    assert [len(array) for array in ArcPoints(ring(moved=0.1)).arrays] == [0, 0]


def test_points_of_arcs_are_not_made_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ring()
    needed = 72 * len(lines.points) + 16 * len(lines.along)
    for free, is_made in ((needed, False), (2 * needed, True), (None, True)):
        monkeypatch.setattr(arc_points, "free_bytes", lambda free=free: free)
        assert all(len(array) > 0 for array in ArcPoints(lines).arrays) == is_made


def test_routes_are_the_same_without_points_of_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, rng = prepare(read_graph(ANDORRA)), np.random.default_rng(3)
    assert graph.lat is not None and graph.lon is not None
    nodes = np.stack([graph.lat, graph.lon], axis=1)
    places = rng.choice(nodes, (60, 2))
    with Router(graph) as router:
        points, first = router.routes(places[:, 0], places[:, 1]).points
        assert len(router.index.arc_points.arrays[0]) == graph.num_arcs
        none = np.zeros((0, 2), np.uint32), np.zeros((0, 2))
        for array in none:
            array.flags.writeable = False
        monkeypatch.setitem(router.index.arc_points.__dict__, "arrays", none)
        others, bounds = router.routes(places[:, 0], places[:, 1]).points
    assert np.array_equal(first, bounds) and np.array_equal(points, others)
