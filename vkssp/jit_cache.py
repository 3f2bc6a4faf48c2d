"""Cache of compiled kernels on disk, and a notice while a kernel is compiled; importing this imports numba.

numba keeps compiled code beside the source file or, where that folder cannot be written, in the cache folder of the
user. It replaces files as a whole, so that several processes may share them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import event, serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from vkssp.log import logger

#: Seconds of compilation after which the notice appears.
NOTICE_S = 1.0
_NOTICE = "compiling code for this CPU, which is needed once for each installation"
_log = logger(__name__)


class _Checked(CompileResultCacheImpl):
    """Form of compiled code in files: with a digest, since damaged or other machine code would end the process.

    The digest is also of what the code was compiled from. numba writes the index before the code, and two processes may
    choose the same name for code of different types: the index may name a file that holds other code.
    """

    #: What the next code is compiled from; see `Cache`.
    key: Any = None

    def reduce(self, data: Any) -> tuple[bytes, bytes]:
        code = serialize.dumps(super().reduce(data))  # type: ignore[no-untyped-call]
        return self._digest(code), code

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, code = payload
        if self._digest(code) != digest:
            raise ValueError("compiled code is damaged, or other code")
        return super().rebuild(target_context, pickle.loads(code))  # type: ignore[no-untyped-call]

    def _digest(self, code: bytes) -> bytes:
        return hashlib.sha256(repr(self.key).encode() + code).digest()


class Cache(FunctionCache):
    """Cache of a function; what cannot be read or written is compiled again, and strangers' files are not read.

    Raises
    ------
    RuntimeError
        If no folder can be written, or another user may write to the folder.
    """

    _impl_class = _Checked

    def __init__(self, function: Callable[..., Any], *, allocates: bool = True) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._allocates = allocates
        folder = Path(self.cache_path)
        if not is_trusted(folder, Path(function.__code__.co_filename)):
            raise RuntimeError(f"{folder} belongs to another user, or everybody may write to it")
        self._sources = _digest(Path(function.__code__.co_filename).parent)

    def _index_key(self, *arguments: Any) -> Any:
        # numba compares only the file of the function, which may call functions of other files in the same folder.
        self._impl.key = *super()._index_key(*arguments), self._sources  # type: ignore[no-untyped-call]
        return self._impl.key

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled code for some types, or None."""
        with suppress(Exception), nullcontext() if self._allocates else _unprepared(context):
            return super().load_overload(signature, context)  # type: ignore[no-untyped-call]
        return None  # a damaged file raises whatever pickle raises

    def save_overload(self, *arguments: Any) -> None:
        """Save compiled code, if there is space; replace a damaged index."""
        for _ in range(2):
            with suppress(Exception):
                super().save_overload(*arguments)  # type: ignore[no-untyped-call]
                return
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]


@contextmanager
def _unprepared(context: Any) -> Generator[None, None, None]:
    """Let numba not prepare the compiler in the block, which takes longer than to load code that makes no arrays.

    numba prepares it before it compiles anyway.
    """
    context.refresh = lambda: None
    try:
        yield
    finally:
        del context.refresh  # again that of its class


def folder_of(function: Callable[..., Any]) -> tuple[Path | None, str]:
    """Return the folder of the compiled code of a function, or None and the reason why none can be kept."""
    try:
        return Path(Cache(function).cache_path), ""
    except RuntimeError as error:
        return None, str(error)


@cache
def _digest(folder: Path) -> bytes:
    """Return a digest of the source files of a folder."""
    sha = hashlib.sha256()
    with suppress(OSError):
        for path in sorted(folder.glob("*.py")):
            sha.update(hashlib.sha256(path.read_bytes()).digest())
    return sha.digest()


def is_trusted(folder: Path, source: Path) -> bool:
    """Return whether only this user, root, or the owner of a source file may write to a folder of compiled code."""
    if not hasattr(os, "getuid"):
        return True
    owners = {os.getuid(), 0}
    with suppress(OSError):
        owners.add(source.stat().st_uid)
    with suppress(OSError):
        found = folder.stat()
        return found.st_uid in owners and not (found.st_mode & stat.S_IWOTH)
    return False


class Notice(event.Listener):
    """Listener that logs once that kernels are compiled, if this takes longer than `NOTICE_S` in all."""

    def __init__(self) -> None:
        self._depth, self._began, self._seconds = 0, 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._is_told = False

    def on_start(self, event: Any) -> None:
        """Start the clock."""
        self._depth += 1
        if self._depth > 1 or self._is_told or not event.data["dispatcher"].py_func.__module__.startswith("vkssp."):
            return
        self._began = time.perf_counter()
        self._timer = threading.Timer(max(0.0, NOTICE_S - self._seconds), self._tell)
        self._timer.daemon = True
        self._timer.start()

    def on_end(self, event: Any) -> None:
        """Stop the clock."""
        self._depth -= 1
        timer = self._timer
        if self._depth == 0 and timer is not None:
            timer.cancel()
            self._timer = None
            seconds = time.perf_counter() - self._began
            self._seconds += seconds
            _log.debug("compiled %s in %.2f s", event.data["dispatcher"].py_func.__name__, seconds)

    def _tell(self) -> None:
        self._is_told = True
        _log.info("%s ...", _NOTICE)
