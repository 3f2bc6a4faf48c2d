"""Lifetimes of owners of Vulkan objects: each closes once, in order, at the latest when it is garbage collected."""

from __future__ import annotations

import itertools
import os
import threading
from types import TracebackType
from typing import NoReturn, Self, SupportsIndex

from vkssp.errors import QueryError

#: Cure for a process that needs a device and was forked from a process with an open device.
AFTER_FORK = (
    "start processes by multiprocessing's 'spawn' or 'forkserver', or open devices and solvers only after the fork"
)
_sequence = itertools.count()


class Resource:
    """Object that must be closed; a context manager whose `close` may be called any number of times.

    An owner holds the resources made from it and closes them, the youngest first, before it closes itself. The
    references are strong: weak references are cleared before finalizers run, so a device could not find its buffers.

    A forked process has no claim on its parent's devices: closing an inherited resource has no effect.

    `copy` and `pickle` are refused, because a copy would close objects that the original still uses.

    Attributes
    ----------
    growths : int
        How often the object has made larger buffers, or further ones, for its questions: as long as this stays the
        same, so does `memory_bytes`, which takes longer to compute.
    """

    growths = 0

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
        """Close the resources made from this object, then the object itself; later calls do nothing."""
        if self.inherited:  # another thread of the parent may have been closing it
            return
        with self._closing:
            if self.closed:
                return
            self.closed = True
        if self.is_abandoned:
            return
        closings = [self._owned[made].close for made in sorted(self._owned, reverse=True)]
        trouble: BaseException | None = None
        for closing in (*closings, self._release):
            try:
                closing()
            except BaseException as error:  # the rest must be closed all the same, also after Ctrl-C
                if not isinstance(error, Exception):
                    self.settle()  # it may have interrupted a wait for work on the rest
                if trouble is None or (isinstance(trouble, Exception) and not isinstance(error, Exception)):
                    trouble = error
        if self._owner is not None:
            self._owner._owned.pop(self._made, None)
            self._owner = None  # so that the two are no cycle, whose memory only the garbage collector would free
        if trouble is not None:
            raise trouble

    @property
    def serial(self) -> int:
        """Place of the object in the order in which resources are made; no two have the same."""
        return self._made

    @property
    def owned(self) -> list[Resource]:
        """Open resources that were made from this object."""
        return list(self._owned.values())

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled."""
        other = "clone() makes another on the same graph" if hasattr(self, "clone") else "make another"
        raise QueryError(
            f"a {type(self).__name__} owns resources, and cannot be copied or pickled; {other}, and "
            "another process makes its own"
        )

    def settle(self) -> None:
        """Wait until the device of this object has finished all work, also through interrupts."""
        owner = self._owner  # None as soon as another thread has closed this object
        if owner is not None:
            owner.settle()

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the process that made the object."""
        return os.getpid() != self._process

    @property
    def is_abandoned(self) -> bool:
        """Whether the object was made from a device that does not answer, so that it is never released."""
        owner = self._owner
        return owner is not None and owner.is_abandoned

    @property
    def memory_bytes(self) -> int:
        """Bytes of data that this object and the resources made from it hold."""
        return self._own_bytes() + sum(owned.memory_bytes for owned in list(self._owned.values()))

    def _own_bytes(self) -> int:
        """Return the bytes of data that this object itself holds."""
        return 0

    def _release(self) -> None:
        """Release the object's own resources; called once."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the object."""
        self.close()

    def __del__(self) -> None:
        """Close the object when it is garbage collected."""
        # An object whose constructor failed may be incomplete, and at interpreter exit modules may be gone already.
        try:  # and not contextlib.suppress, which may be gone as well
            self.close()
        except Exception:
            pass
