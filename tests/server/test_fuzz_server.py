"""A server under random, hostile and mutated requests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/fuzz_server.py"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.timeout(300)
def test_no_request_breaks_the_server() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "300", "7"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'200': " in done.stdout
