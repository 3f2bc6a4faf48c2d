"""Memory that threads use again: the system clears new memory page by page, which takes as long as reading a blob."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt


class Room:
    """Arrays for what a thread needs only for a moment; each thread has its own.

    The arrays live as long as the room. What they hold at first is arbitrary.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def array(self, name: str, size: int, dtype: Any = np.int64) -> npt.NDArray[Any]:
        """Return an array of a size, valid until the thread asks for one of the same name again."""
        kept: dict[str, npt.NDArray[Any]] = self._of_thread.__dict__
        found = kept.get(name)
        if found is None or len(found) < size or found.dtype != dtype:
            # Room for somewhat more, since blobs differ; memory that nothing is written to costs nothing.
            found = kept[name] = np.empty(size + size // 4, dtype)
        return found[:size]
