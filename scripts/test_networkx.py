#!/usr/bin/env python3
"""NetworkX's own tests, run against the backend, and the number of calls that it answered.

  scripts/test_networkx.py                       all tests of the functions that the backend has
  scripts/test_networkx.py --counts -k voronoi   with a table of calls; other options are those of pytest

Each function of the backend must have been called at least once, unless -k selects tests. A call that the backend
refuses falls back to NetworkX, as it does for users.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections import Counter

import networkx as nx
import pytest

from vkssp.interop.networkx_backend.info import FUNCTIONS

TESTS = (
    "networkx.algorithms.shortest_paths",
    "networkx.algorithms.tests.test_distance_measures",
    "networkx.algorithms.tests.test_efficiency",
    "networkx.algorithms.tests.test_voronoi",
    "networkx.algorithms.centrality.tests.test_betweenness_centrality",
    "networkx.algorithms.centrality.tests.test_closeness_centrality",
    "networkx.algorithms.centrality.tests.test_harmonic_centrality",
)


class Calls(logging.Handler):
    """Calls that the dispatcher of NetworkX tells of: those that the backend answered, and those that fell back."""

    def __init__(self) -> None:
        super().__init__()
        self.answered, self.fallen = Counter[str](), Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a call."""
        if isinstance(record.args, tuple) and len(record.args) > 1:
            name = str(record.args[1])
            self.answered[name] += record.msg.startswith("Using backend '%s' for call")
            is_fallen = "falling back to use 'networkx'" in record.msg or record.msg.startswith("Falling back")
            self.fallen[name] += is_fallen and name in FUNCTIONS


def main() -> int:
    """Run the tests."""
    calls, options = Calls(), sys.argv[1:]
    has_counts = "--counts" in options
    options = [option for option in options if option != "--counts"]
    logger = logging.getLogger("networkx.utils.backends")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False  # pytest would print the arguments of all calls
    logger.addHandler(calls)
    os.environ.update(NETWORKX_TEST_BACKEND="vkssp", NETWORKX_FALLBACK_TO_NX="True")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the configuration of tests here is none of theirs
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--pyargs", *TESTS, *options])
        os.chdir(os.path.dirname(folder))
    if has_counts:
        print(f"{'function':45}{'answered':>9}{'fallen back':>13}")
        for name in FUNCTIONS:
            print(f"{name:45}{calls.answered[name]:9}{calls.fallen[name]:13}")
    answered, fallen = calls.answered.total(), calls.fallen.total()
    print(
        f"{answered} calls of {len(+calls.answered)} functions were answered by vkssp, {fallen} fell back to NetworkX"
    )
    there = [name for name in FUNCTIONS if getattr(getattr(nx, name, None), "name", "") == name]  # by its newest name
    missing = [name for name in there if not calls.answered[name]]
    if missing and "-k" not in options:
        print(f"never answered: {', '.join(missing)}", file=sys.stderr)
        return 1
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
