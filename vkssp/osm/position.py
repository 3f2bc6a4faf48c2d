"""Position in a file that a library opened itself and reads, without telling how far it is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: Descriptors of files that are looked at. A process may have more, but a new file gets the lowest that is free.
_MOST_FILES = 1 << 10


class ReadPosition:
    """Position in a file that is opened after this was made, by its descriptor.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    size : int
        Bytes of the file.
    """

    def __init__(self, path: Path) -> None:
        about = path.stat()
        self.size, self._file = about.st_size, (about.st_dev, about.st_ino)
        self._others, self._last = set(self._open()), 0
        self._descriptor: int | None = None

    def bytes_read(self) -> int:
        """Return the bytes before the position, of a file that has been opened; all of them once it is closed again."""
        if self._descriptor is None:  # looked for only once, which takes a millisecond
            self._descriptor = next((one for one in self._open() if one not in self._others), -1)
        found = self.size
        if self._is_open(self._descriptor):
            with suppress(OSError):  # it has just been closed
                found = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        else:
            self._descriptor = -1
        self._last = max(self._last, min(found, self.size))
        return self._last

    def _open(self) -> list[int]:
        return [descriptor for descriptor in range(_MOST_FILES) if self._is_open(descriptor)]

    def _is_open(self, descriptor: int) -> bool:
        """Return whether a descriptor is of the file."""
        if descriptor < 0:
            return False
        with suppress(OSError):
            about = os.fstat(descriptor)
            return (about.st_dev, about.st_ino) == self._file
        return False
