"""Submissions to a device, counted."""

from __future__ import annotations

import pytest

from vkssp import Solver
from vkssp.gpu.recording import Recording


def noted_submissions(monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    """Return a list to which each submission from now on is added."""
    submitted, submit = list[Recording](), Recording.submit

    def noted(self: Recording, first: Recording | None = None) -> None:
        submitted.append(self)
        submit(self, first)

    monkeypatch.setattr(Recording, "submit", noted)
    return submitted


def check_paths_take_one_submission(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search paths from one node and from several in a graph of 289 nodes, after the solver has been warmed up."""
    solver.warm_up()
    submitted = noted_submissions(monkeypatch)
    for seeds, targets in (([(0, 0)], [(288, 0)]), ([(5, 2), (9, 0)], [(200, 1), (3, 9)]), ([(7, 0)], [(7, 0)])):
        submitted.clear()
        assert solver.search_path(seeds, targets) is not None
        assert len(submitted) == 1
