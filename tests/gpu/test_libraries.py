"""Libraries of drivers: kept in memory where a process can load them only some times."""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

from vkssp import Device
from vkssp.gpu import libraries


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's list of libraries")
def test_libraries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    some = next(path for path in libraries.loaded_libraries() if "numpy" in path or "libc" in path)
    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(libraries, "KEPT", os.path.basename(some))
    monkeypatch.setattr(ctypes, "CDLL", lambda path, mode: seen.append((path, mode)))
    libraries.keep_loaded()
    flags = os.RTLD_NOLOAD | os.RTLD_NODELETE
    assert some in [path for path, _ in seen] and all(mode & flags == flags for _, mode in seen)


@pytest.mark.gpu
def test_a_device_is_opened_many_times() -> None:
    for _ in range(80):
        Device().close()
