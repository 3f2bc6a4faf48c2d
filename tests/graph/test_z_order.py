"""Numberings along the Z-order curve that several cores compute."""

from __future__ import annotations

import numpy as np
import pytest

from vkssp.graph import bulk, order
from vkssp.graph.order import z_order


@pytest.mark.parametrize("corners", [False, True])
def test_any_number_of_cores_finds_the_same_order(monkeypatch: pytest.MonkeyPatch, corners: bool) -> None:
    rng = np.random.default_rng(7)
    # Most points in one corner have one key, the largest that there is.
    lat, lon = (rng.choice([0.0, 1.0], 20_000, p=[0.1, 0.9]) if corners else rng.random(20_000) for _ in range(2))
    alone = z_order(lat, lon)
    monkeypatch.setattr(order, "MANY", 1 << 13)
    monkeypatch.setattr(bulk, "MANY", 1 << 13)
    for cores in (2, 7):
        monkeypatch.setattr(order, "num_cores", lambda cores=cores: cores)
        found = z_order(lat, lon)
        assert np.array_equal(found.node, alone.node) and np.array_equal(found.rank, alone.rank)
    assert np.array_equal(found.rank[found.node], np.arange(20_000))
