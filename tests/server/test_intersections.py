"""Intersections that compiled code writes as JSON, against those that are objects."""

from __future__ import annotations

import numpy as np
import orjson

from vkssp.jit import kernels
from vkssp.route import Crossings, Intersections, Lane
from vkssp.server.answers.intersections import IntersectionsJson


def crossings_at(points: np.ndarray) -> Crossings:
    rng = np.random.default_rng(3)
    first = np.concatenate([[0], np.cumsum(rng.integers(1, 5, len(points)))])
    bearings, entry = rng.integers(0, 360, first[-1]), rng.random(first[-1]) < 0.5
    ways = np.minimum(rng.integers(-1, 4, (len(points), 2)), np.diff(first)[:, None] - 1)
    lanes = {2: (Lane(("left", "straight"), True), Lane(("none",), False)), 5: (Lane(("right",), False),)}
    classes = np.where(rng.random(len(points)) < 0.3, rng.integers(0, 4, len(points)), 0)
    return Crossings(points, first, bearings, entry, ways, lanes, classes, ("toll", "ferry ⛴"))


def test_they_are_as_those_of_objects() -> None:
    rng = np.random.default_rng(1)
    # Multiples of 1e-7 degrees, half of which lie in the middle between two microdegrees.
    points = rng.integers(-180 * 10**6, 180 * 10**6, (3000, 2)) / 10**6 + 5e-7 * rng.integers(0, 2, (3000, 2))
    points[:4] = [(0.0, -0.0), (4e-7, -6e-7), (9e-6, -1e-5), (1.2e-5, -180.0)]
    points[4:8] = [(90.0, 0.1), (0.0000005, 0.0000015), (-0.0000025, 179.9999995), (12.3456785, 0.9999995)]
    crossings = crossings_at(points)
    texts = IntersectionsJson()
    for begin, end in ((0, 1), (1, 8), (8, 8), (8, 2999), (2999, 3000)):
        some = Intersections(crossings, begin, end)
        assert len(some) == end - begin and some == tuple(some)
        assert orjson.dumps(texts.of(some)) == orjson.dumps(texts.of(tuple(some)))


def test_room_is_enough_for_the_longest() -> None:
    module = kernels("vkssp.server.kernels.intersections")
    points, ways = np.array([[-89.123456, -179.123456]]), np.full((1, 2), 63)
    crossings = Crossings(
        points, np.array([0, 64]), np.full(64, 359), np.zeros(64, bool), ways, {}, np.zeros(1, int), ()
    )
    text = orjson.dumps(IntersectionsJson().of(Intersections(crossings, 0, 1)))
    assert len(text) < module.MOST + 64 * module.MOST_OF_STREET
    assert orjson.loads(text)[0]["entry"] == [False] * 64 and orjson.loads(text)[0]["out"] == 63
