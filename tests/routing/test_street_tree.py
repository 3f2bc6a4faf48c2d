"""The tree of boxes around streets, and the search for the nearest piece in it, beside a look at all pieces."""

from __future__ import annotations

import numpy as np
import pytest

from vkssp.graph.geo import haversine, metres_between, part_before_nearest, plane_at
from vkssp.graph.hilbert import hilbert_index
from vkssp.jit import kernels
from vkssp.routing.street_tree import street_tree


def random_lines(count: int, longest: int, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random lines; with few decimals many of them touch, cross and repeat each other."""
    rng = np.random.default_rng(count)
    first = np.concatenate([[0], np.cumsum(rng.integers(2, longest, count))])
    steps = rng.normal(0, 0.02, (first[-1], 2))
    steps[first[:-1]] = rng.uniform((60, -30), (61, -28), (count, 2))
    points = np.concatenate([np.cumsum(part, axis=0) for part in np.split(steps, first[1:-1])])
    return first, points.round(decimals)


@pytest.mark.parametrize(
    ("count", "longest", "decimals"), [(1, 3, 6), (7, 4, 1), (60, 40, 6), (300, 20, 1), (9, 600, 2)]
)
def test_the_nearest_piece_is_the_first_of_all_that_are_as_near(count: int, longest: int, decimals: int) -> None:
    first, points = random_lines(count, longest, decimals)
    tree, find_pieces = street_tree(first, points), kernels("vkssp.routing.kernels.snap").find_pieces
    points.flags.writeable = False
    line = np.repeat(np.arange(count), np.diff(first))
    begin = np.flatnonzero(line[:-1] == line[1:])
    runs = [np.arange(run[0], run[1]) for run in tree.runs]
    assert sorted(np.concatenate(runs).tolist()) == begin.tolist()
    rng = np.random.default_rng(1)
    allowed = rng.random(count) < 0.8
    allowed[0] = True
    allowed.flags.writeable = False
    waiting = np.empty(len(tree.first), np.int64)
    for place in np.concatenate([rng.uniform((59.9, -30.2), (61.1, -27.8), (40, 2)), rng.choice(points, 40)]).round(2):
        around = np.repeat(place[None], len(begin), axis=0)
        start = plane_at(points[begin], around)
        step = plane_at(points[begin + 1], around) - start
        along = part_before_nearest(start, step)
        # Whole micrometres, as the search takes them.
        metres = np.floor(np.hypot(*(start + along[:, None] * step).T) / 1e-6 + 0.5) * 1e-6
        for limit in (500.0, 20_000.0, 1e6):
            is_near = (metres <= limit) & allowed[line[begin]]
            wanted = np.stack([metres, line[begin], begin - first[line[begin]], along], axis=1)[is_near]
            wanted = wanted[np.lexsort(wanted.T[2::-1])]
            one, each = np.zeros((1, 4)), np.zeros((len(begin), 4))
            counts = [find_pieces(*place, limit, *tree, points, allowed, waiting, found) for found in (one, each)]
            assert counts[1] == len(wanted) and (counts[0] > 0) == (len(wanted) > 0)
            np.testing.assert_array_equal(each[np.lexsort(each.T[2::-1])][len(begin) - len(wanted) :], wanted)
            if len(wanted):
                np.testing.assert_array_equal(one[0], wanted[0])


def test_the_distance_of_two_points_is_the_same_one_by_one() -> None:
    ends = np.random.default_rng(0).uniform((-90, -180), (90, 180), (200, 2, 2))
    ends[::2, 1] = ends[::2, 0] + 1e-4
    one_by_one = [metres_between(*start, *end) for start, end in ends.tolist()]
    np.testing.assert_allclose(one_by_one, haversine(*ends[:, 0].T, *ends[:, 1].T), rtol=1e-12)


def test_the_kernel_of_hilberts_curve_does_what_the_function_does() -> None:
    across, up = np.random.default_rng(2).integers(0, 2**32, (2, 40), dtype=np.uint32)
    found = np.empty(40, np.uint64)
    kernels("vkssp.routing.kernels.hilbert").put_hilbert_indices(across, up, found)
    assert found.tolist() == [hilbert_index(*place) for place in zip(across.tolist(), up.tolist(), strict=True)]
