"""Simplification of overviews, against its definition and a line that OSRM has simplified."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from vkssp.server.simplification import simplified

#: Lines of Monaco, and what OSRM 26.10 shows of them; (c) OpenStreetMap contributors, ODbL.
LINES = json.loads((Path(__file__).parent / "osrm_overviews.json").read_text())


def test_lines_are_simplified_as_by_osrm() -> None:
    for full, overview in LINES:
        shown = simplified(np.array(full)[:, ::-1])
        np.testing.assert_array_equal(shown[:, ::-1], overview)


def test_ends_and_corners_stay() -> None:
    line = np.array([[0.0, 0.0], [0.0, 1.0], [1e-7, 2.0], [1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(simplified(line), line[[0, 2, 3, 4]])
    np.testing.assert_array_equal(simplified(line[:2]), line[:2])
