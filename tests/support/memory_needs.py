"""What solvers say that they need on a device."""

from __future__ import annotations

import pytest

from vkssp.gpu.device import Device


def record_needs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have every search ask for the exact number of bytes, and return what they ask for."""
    needs: list[int] = []
    monkeypatch.setattr(Device, "free_bytes", lambda device: -1)
    monkeypatch.setattr(Device, "require", lambda device, nbytes, what: needs.append(nbytes))
    return needs
