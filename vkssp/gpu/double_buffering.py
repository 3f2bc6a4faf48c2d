"""Double buffering of submissions: the host prepares the next one while the device executes this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import TypeVar

from vkssp.gpu.recording import Recording

_Item = TypeVar("_Item")


def double_buffered(submissions: Iterable[tuple[Recording, _Item]]) -> Generator[_Item, None, None]:
    """Yield the item of each submission, in order, after the device has executed it.

    The submission after it has been made by then. When the generator is closed, or after an error, it waits for what is
    under way, so that the caller may use all buffers again.

    Parameters
    ----------
    submissions : iterable of (Recording, object)
        Submits a recording whenever it yields one, with buffers that the submission before does not use.

    Raises
    ------
    DeviceError
        If the device is lost or does not answer.
    """
    under_way: deque[tuple[Recording, _Item]] = deque()
    try:
        for submission in submissions:
            under_way.append(submission)
            if len(under_way) == 2:
                yield _executed(under_way)
        while under_way:
            yield _executed(under_way)
    finally:
        for recording, _ in under_way:
            recording.wait()


def _executed(under_way: deque[tuple[Recording, _Item]]) -> _Item:
    under_way[0][0].wait()  # it stays in the list if this is interrupted
    return under_way.popleft()[1]
