"""Lifetimes: whatever owns a Vulkan object closes once, in good order, and at the latest when it is forgotten."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from types import TracebackType
from typing import NoReturn, Self, SupportsIndex

from vkssp.errors import QueryError

#: Cure for a process that needs a device, and was forked from one that has a device open.
AFTER_FORK = (
    "start processes by multiprocessing's 'spawn' or 'forkserver', or open devices and solvers only after the fork"
)
_sequence = itertools.count()


class Resource:
    """Something that must be closed; a context manager whose `close` may be called any number of times.

    An owner holds what was made from it and closes it, the youngest first, before it closes itself. It holds them
    strongly: weak references are cleared before finalizers run, so a forgotten device could not find its buffers.

    A process that was forked has no claim on its parent's devices: what it inherits closes without effect there.

    There are no copies, which would close what the original still uses: `copy` and `pickle` are refused.
    """

    def __init__(self, owner: Resource | None = None) -> None:
        self._owner = owner
        self._owned: dict[int, Resource] = {}
        self._made = next(_sequence)
        self._closing = threading.Lock()
        self._process = os.getpid()
        self.closed = False
        if owner is not None:
            owner._owned[self._made] = self

    def close(self) -> None:
        """Give back what this object holds, after what was made from it; later calls do nothing."""
        with self._closing:
            if self.closed or self.inherited:
                return
            self.closed = True
        if self.is_abandoned:
            return
        closings = [self._owned[made].close for made in sorted(self._owned, reverse=True)]
        trouble: BaseException | None = None
        for closing in (*closings, self._release):
            try:
                closing()
            except BaseException as error:  # the rest must be given back all the same, after Ctrl-C, too
                if not isinstance(error, Exception):
                    self.settle()  # it may have come before something that works on the rest was waited for
                if trouble is None or (isinstance(trouble, Exception) and not isinstance(error, Exception)):
                    trouble = error
        if self._owner is not None:
            self._owner._owned.pop(self._made, None)
        if trouble is not None:
            raise trouble

    @property
    def owned(self) -> list[Resource]:
        """What was made from this object and is not closed."""
        return list(self._owned.values())

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled."""
        other = "clone() makes another on the same graph" if hasattr(self, "clone") else "make another"
        raise QueryError(
            f"a {type(self).__name__} holds what it closes in the end, and is neither copied nor pickled; {other}, and "
            "another process makes its own"
        )

    def settle(self) -> None:
        """Wait until the device that this was made from has nothing left to do, whatever comes."""
        if self._owner is not None:
            self._owner.settle()

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one that made the object."""
        return os.getpid() != self._process

    @property
    def is_abandoned(self) -> bool:
        """Whether this was made from a device that does not answer, and is never given back."""
        return self._owner is not None and self._owner.is_abandoned

    @property
    def memory_bytes(self) -> int:
        """Bytes that this object and what was made from it hold for data."""
        return self._own_bytes() + sum(owned.memory_bytes for owned in list(self._owned.values()))

    def _own_bytes(self) -> int:
        """Return the bytes that this object itself holds for data."""
        return 0

    def _release(self) -> None:
        """Give back what this object itself holds; called once."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the object."""
        self.close()

    def __del__(self) -> None:
        """Close what was forgotten."""
        # An object whose making failed has nothing yet, and at interpreter exit modules may be gone already.
        with contextlib.suppress(Exception):
            self.close()
