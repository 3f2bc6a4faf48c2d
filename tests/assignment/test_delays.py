"""Delay functions beside numeric integrals and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from vkssp import QueryError
from vkssp.assignment import BPR, Conical


@pytest.mark.parametrize(
    "delay",
    [
        BPR([10.0, 6.0, 3.0, 2.0, 1.0], [1000, 500, 10, 7, 1], [0.15, 1, 0.15, 2, 0], [4, 1, 0, 0.5, 4]),
        BPR([10.0, 0.0], [1000, 500], 0.15, 4.9),
        Conical([10.0, 6.0, 0.0], [1000, 500, 10], [4, 1.1, 9]),
    ],
)
def test_integrals_and_slopes(delay: BPR | Conical) -> None:
    capacity = np.asarray(delay.capacity)
    for share in (0.01, 0.5, 1.0, 3.0):
        flow, step = share * capacity, 1e-6 * capacity
        more, less = delay.time(flow + step), delay.time(flow - step)
        assert delay.slope(flow) == pytest.approx((more - less) / (2 * step), rel=1e-5, abs=1e-12)
        for arc in range(len(delay)):

            def time_at(x: float, arc: int = arc) -> float:
                return float(delay.time(np.full(len(delay), x))[arc])

            assert delay.integral(flow)[arc] == pytest.approx(quad(time_at, 0, flow[arc], limit=200)[0], rel=1e-6)
    nothing = np.zeros(len(delay))
    assert np.isfinite(delay.slope(nothing)).all()
    assert not delay.integral(nothing).any()


def test_what_the_papers_say() -> None:
    assert BPR([10.0], [7.0]).time(np.array([7.0])).tolist() == [11.5]
    conical = Conical([10.0], [7.0], 5)
    assert conical.time(np.array([7.0])).tolist() == [20.0]
    assert conical.time(np.array([0.0])) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("kind", "arguments", "text"),
    [
        (BPR, ([1.0, -1.0], [1, 1]), r"free_time\[1\] is -1.0; give finite numbers from 0 on"),
        (BPR, ([1.0], [0]), r"capacity\[0\] is 0.0; give finite numbers above 0"),
        (BPR, ([1.0], [1], [np.nan]), r"b\[0\]"),
        (BPR, ([1.0, 2.0], [1, 2, 3]), "capacity has 3 numbers for 2 arcs"),
        (BPR, (["x"], [1]), "free_time"),
        (BPR, ([1.0, [2.0]], [1]), "free_time is no array"),
        (BPR, (np.ma.array([1.0, 2.0], mask=[0, 1]), [1, 1]), "free_time has masked entries"),
        (Conical, ([1.0], [1], 1.0), r"alpha\[0\] is 1.0; give numbers above 1"),
    ],
)
def test_bad_numbers(kind: type[BPR] | type[Conical], arguments: tuple[list[float], ...], text: str) -> None:
    with pytest.raises(QueryError, match=text):
        kind(*arguments)
