"""The most memory that a part of a program takes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from vkssp.bench.memory_peak import memory_peak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells the memory of processes")
SIZE = 96 << 20


def test_each_block_has_a_peak_of_its_own() -> None:
    with memory_peak() as large:
        np.ones(SIZE // 8).sum()
    with memory_peak() as small:
        pass
    assert large.nbytes is not None and small.nbytes is not None
    assert large.nbytes - small.nbytes > SIZE // 2


def test_children_count() -> None:
    with memory_peak() as before:
        pass
    code = f"import time; held = b'x' * {SIZE}; print(flush=True); time.sleep(1)"
    with memory_peak() as peak:
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        child.communicate()
    assert before.nbytes is not None and peak.nbytes is not None
    assert peak.nbytes - before.nbytes > SIZE // 2
