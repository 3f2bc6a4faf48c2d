"""Folders of the checkout, and of the larger data beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
#: Larger real graphs and extracts, not part of the repository.
SHARED = ROOT.parent / "shared" / "data"
