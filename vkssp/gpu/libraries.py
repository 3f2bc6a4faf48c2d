"""Libraries of drivers in the memory of this process."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

#: NVIDIA's libraries take thread-local memory each time they are loaded, of which a process has enough for some thirty
#: times; what they give back cannot be used again.
KEPT = "nvidia"


def keep_loaded() -> None:
    """Keep the libraries loaded of drivers that a process can load only some times; on Linux, where this is known."""
    if not hasattr(os, "RTLD_NODELETE"):
        return
    with suppress(OSError):
        for path in loaded_libraries():
            if KEPT in os.path.basename(path):
                with suppress(OSError):
                    ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_NOLOAD | os.RTLD_NODELETE)


def loaded_libraries() -> set[str]:
    """Return the paths of the libraries that this process has loaded, as Linux lists them.

    Raises
    ------
    OSError
        If there is no list.
    """
    fields = (line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines())
    return {field[5] for field in fields if len(field) == 6 and ".so" in os.path.basename(field[5])}
