"""Endings of the names of files of features."""

from __future__ import annotations

from pathlib import Path

_ZIPPED = ".shp.zip"


def ending_of(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, ".shp.zip" as one."""
    path = Path(path)
    return _ZIPPED if path.name.lower().endswith(_ZIPPED) else path.suffix.lower()
