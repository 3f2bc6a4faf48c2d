#!/usr/bin/env python3
"""scipy's own tests of shortest paths, with the functions of vkssp.csgraph in place of scipy's.

  scripts/test_scipy.py [options of pytest]      for example  -k dijkstra -v

All tests of the module run, those of functions that vkssp.csgraph does not have (yen, construct_dist_matrix) with
scipy's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from scipy.sparse.csgraph.tests import test_shortest_path

from vkssp import csgraph


class Patched:
    """Plugin of pytest that replaces the functions in scipy's module of tests, and counts their calls."""

    def __init__(self) -> None:
        self.calls = 0

    def pytest_collection_finish(self) -> None:
        """Replace the functions, before the first test."""
        for name in ("shortest_path", "dijkstra", "johnson", "bellman_ford"):
            setattr(test_shortest_path, name, self._counted(getattr(csgraph, name)))

    def _counted(self, function):
        def called(*given, **named):
            self.calls += 1
            return function(*given, **named)

        return called


def main() -> int:
    """Run the tests."""
    plugin = Patched()
    file = Path(test_shortest_path.__file__)
    # Not this project's options of pytest, and not scipy's marks of other tests.
    own = ["-c", os.devnull, "--rootdir", str(file.parent), "-p", "no:cacheprovider", "--confcutdir", str(file.parent)]
    options = ["-q", *own, str(file), *sys.argv[1:]]
    code = int(pytest.main(options, plugins=[plugin]))
    print(f"{plugin.calls} calls of vkssp.csgraph by tests of scipy")
    return code if plugin.calls else 1


if __name__ == "__main__":
    sys.exit(main())
