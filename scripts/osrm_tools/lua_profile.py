"""Profiles of vkssp for the profiles of OSRM, which are Lua programs."""

from __future__ import annotations

from pathlib import Path

#: Profiles of vkssp by the names of OSRM's.
NAMES = {"bicycle": "bike"}


def profile_of(path: Path) -> str | Path:
    """Return the profile of vkssp, a name or a file, that does what a Lua profile does."""
    return NAMES.get(path.stem, path.stem)
