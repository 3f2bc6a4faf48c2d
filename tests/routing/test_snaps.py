"""Points on streets as arrays, against the same points one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.streetmaps import UNIT, street_map
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps

COLUMNS = ("polyline", "fraction", "segment", "lat", "lon", "share")


def check(snaps: Snaps, expected: Sequence[Snap | None]) -> None:
    """Compare points with others, and their arrays."""
    assert len(snaps) == len(expected)
    for row, one in enumerate(expected):
        assert snaps[row] == one
        if one is None:
            assert snaps.polyline[row] == -1 and snaps.fraction[row] == 0.5
            assert not snaps.is_inside[row] and not snaps.has_arcs[row]
            continue
        assert [getattr(snaps, name)[row] for name in COLUMNS] == [getattr(one, name) for name in COLUMNS]
        assert snaps.has_arcs[row] == (one.arcs is not None) and snaps.is_inside[row] == (one.inside is not None)
        assert snaps.at(row) is snaps[row]


def test_points_are_those_of_each_place() -> None:
    # A triangle, and a street that can only be left, near which some places are snapped to the triangle.
    nodes = [(0.0, 0.0), (0.0, 10.0), (8.0, 4.0), (1.0, 1.0)]
    graph = street_map([*nodes], [(0, 1, 9), (1, 2, 9, [(5.0, 8.0)]), (2, 0, 9), (3, 0, 9)], oneways=(3,))
    index = StreetIndex(graph, radius_m=300)
    places = np.random.default_rng(1).uniform(-6.0, 16.0, (200, 2)) * UNIT
    expected, snaps = index.trip_ends(places), index.snaps_of_trips(places)
    assert None in expected and any(one is not None and one.is_end for one in expected)
    check(snaps, expected)
    check(Snaps.of(expected), expected)
    rows = np.array([3, 150, 3, 7])
    for points in (snaps, Snaps.of(expected)):
        check(points.take(rows), [expected[row] for row in rows.tolist()])
        check(points[20:50], expected[20:50])
        dropped = np.arange(200) % 3 == 0
        kept = [None if is_dropped else one for one, is_dropped in zip(expected, dropped.tolist(), strict=True)]
        check(points.without(dropped), kept)
        check(points, expected)
        other = Snap(2, 0.25, 0, 1.0, 2.0, 3.0, arcs=(4,), share=0.25)
        copy = points.copy()
        copy.put(5, other)
        check(copy, [*expected[:5], other, *expected[6:]])
        check(points, expected)
