"""The programs in examples/ run as they stand."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

ARGUMENTS = {"benchmark_my_gpu": ["8"]}
LAST_LINE = {
    "route_on_a_map": "wrote route.html",
    "table_to_parquet": "wrote table.parquet",
    "benchmark_my_gpu": " on ",
}
NEEDS = {"table_to_parquet": "pyarrow"}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    if path.stem in NEEDS and importlib.util.find_spec(NEEDS[path.stem]) is None:
        pytest.skip(f"needs {NEEDS[path.stem]}")
    done = subprocess.run(
        [sys.executable, str(path), *ARGUMENTS.get(path.stem, [])],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert LAST_LINE[path.stem] in done.stdout.splitlines()[-1]
