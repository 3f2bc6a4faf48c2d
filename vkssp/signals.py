"""Signals that end a program: Ctrl-C, SIGTERM and SIGHUP remove unfinished work and end it with 128 + their number.

The first signal raises `KeyboardInterrupt` in the main thread, so that everything is closed in order. The work that
`undoing` registers is undone in any case. The program ends after that alone at a second signal, if the exception would
be lost, if the main thread is in a library's function and does not answer, or if closing takes long.

The exit code is 128 + number, and the program does not end by the signal itself: callers see the same code in a shell,
by ``waitpid`` and on Windows, and it also works for the first process of a container, which cannot end itself by a
signal.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

#: Exit code of a program whose output pipe has been closed by the reader, as by SIGPIPE.
CLOSED_PIPE = 128 + 13

# Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Seconds for the main thread to answer, and after that to close everything.
_ANSWER_S, _CLOSE_S = 0.5, 0.5

_undo: dict[object, Callable[[], object]] = {}
_received: int | None = None
_is_over = False
_is_listening = False


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Call a function when the block ends, and when a signal ends the program within it.

    Parameters
    ----------
    undo : callable
        Removes the unfinished work of the block. It may be called at any moment of the block, and more than once.
    """
    key = object()
    _undo[key] = undo
    try:
        yield
    finally:
        undo()
        del _undo[key]


def run(work: Callable[[], int]) -> int:
    """Do the work of a program, ready for signals; return its exit code, or end the program after a signal.

    Signals that are ignored, as SIGHUP is by ``nohup``, stay ignored. Standard streams that are closed lead to the null
    device, except that `sys.stdout` stays None.
    """
    global _is_over
    _is_over = False
    try:
        _open_closed_streams()
        _listen()
        try:
            code = work()
        except BrokenPipeError:
            code = CLOSED_PIPE
        finally:
            if _received is None:
                _flush()
            _is_over = True  # from now on, a signal finds nothing to close
    except BaseException:
        if _received is not None:
            _end(_received)
        raise
    if _received is not None:
        _end(_received)
    return code


def ignore() -> None:
    """Ignore signals from now on: everything is closed, and a signal would only disturb the interpreter's exit."""
    if _is_listening:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)


def _open_closed_streams() -> None:
    # Otherwise a file that is opened later gets the number, and libraries print into that file.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


def _flush() -> None:
    # At the interpreter's end a closed pipe would be reported.
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = None


def _listen() -> None:
    global _is_listening
    if _is_listening or threading.current_thread() is not threading.main_thread():
        return
    _is_listening = True
    reader, writer = os.pipe()
    if os.name == "posix":
        os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    sys.unraisablehook = _on_unraisable
    with suppress(RuntimeError):  # no more threads
        threading.Thread(target=_watch, args=(reader,), name="vkssp-signals", daemon=True).start()
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _on_signal)


def _on_signal(number: int, frame: FrameType | None) -> None:
    global _received
    is_first, _received = _received is None, _received or number
    # Extension modules turn an exception during an import into others, or print it.
    if _is_over or not is_first or _is_importing(frame):
        _end(_received)
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _on_unraisable(unraisable: Any) -> None:
    # A finalizer or a callback has lost the exception.
    if _received is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
        _end(_received)
    sys.__unraisablehook__(unraisable)


def _watch(reader: int) -> None:
    """End the program if the main thread does not; runs in a thread of its own."""
    while (number := os.read(reader, 1)[0]) not in _ENDING:
        pass
    time.sleep(_ANSWER_S)
    if _received is not None:
        time.sleep(_CLOSE_S)
    _end(number)


def _end(number: int) -> NoReturn:
    """Undo unfinished work and end the program at once, without waiting for other threads."""
    for undo in reversed(list(_undo.values())):
        with suppress(Exception):
            undo()
    os._exit(128 + number)
