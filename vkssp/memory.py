"""Checks of free memory before large allocations; the system kills a process that takes too much, without a message."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vkssp.errors import MemoryShortageError, VksspError

#: Smaller allocations, in bytes, are not worth the time of a check.
SMALL = 64 << 20
#: Functions that give up memory which is only kept for later; called when memory is short.
givers: list[Callable[[], None]] = []
#: Folder of the control groups.
GROUPS = Path("/sys/fs/cgroup")
# Messages of libraries that get no memory, in lower case: the loader of libraries, C++, parsers. Messages of libraries
# that get no thread may have other causes, unless address space is limited.
_SIGNS = (
    "failed to map segment",
    "cannot allocate memory",
    "cannot create shared object descriptor",
    "bad_alloc",
    "out of memory",
)
_SIGNS_OF_THREADS = ("can't start new thread", "resource temporarily unavailable")
# With fewer bytes of address space than this, hardly any operation works.
_EXHAUSTED = 8 << 20
#: MiB of address space that libraries take while they are imported (the share of one core if they serve several), plus
#: a tenth. With less, some libraries end the process or wait forever.
LIBRARIES = {
    "numpy": 96,
    "scipy.sparse": 40,
    "scipy.linalg": 90,
    "shapely": 16,
    "osmium": 24,
    "numba": 210,
    "pyarrow": 240,
    "zarr": 48,
}
# Parameter of glibc's mallopt: number of arenas, the parts of address space that threads get memory from.
_M_ARENA_MAX = -8


def free_bytes() -> int | None:
    """Return the bytes of memory that this process can still take, or None if unknown.

    This is the memory that the machine has free or can free at once, or less if a limit of the process or of its
    control groups (containers, batch systems) is lower. Linux only.
    """
    return min(limits(), default=None)


def free_addresses() -> int | None:
    """Return the bytes of address space that this process can still take; None without a limit (``ulimit -v``).

    Address space is not memory: libraries reserve many times what they use.
    """
    limit = _address_limit()
    if limit is None:
        return None
    with suppress(OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0, limit - pages * resource.getpagesize())
    return None


def _address_limit() -> int | None:
    with suppress(OSError, ValueError, ImportError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            return most
    return None


def save_addresses() -> None:
    """Let libraries reserve less address space if it is limited; call this before they are imported.

    OpenBLAS reserves memory for each core when numpy or scipy is imported; this package does not need it. glibc
    reserves 64 MiB for each thread.
    """
    if _address_limit() is None:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(OSError, AttributeError, ImportError):
        import ctypes

        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Give memory that was freed back to the system; glibc keeps that of threads."""
    with suppress(OSError, AttributeError, ImportError, TypeError):  # on systems without the function
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)


def guard_imports() -> None:
    """Let imports of libraries raise `MemoryShortageError` if address space is limited and too little is left."""
    if _address_limit() is not None:
        sys.meta_path.insert(0, _Guard())
        # Progress bars work without the monitor thread.
        warnings.filterwarnings("ignore", "tqdm:disabling monitor support")


class _Guard:
    """Import finder that finds no module, but checks address space before each import."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in LIBRARIES:
            require_addresses(LIBRARIES[name] << 20, f"the library {name}")


def require_addresses(size: int, what: str) -> None:
    """Raise `MemoryShortageError` if too little address space is left for an operation that would crash without it.

    Parameters
    ----------
    size : int
        Bytes that the operation takes.
    what : str
        Name of the operation, for the message.
    """
    save_addresses()
    free = free_addresses()
    if free is not None and size > free:
        raise MemoryShortageError(
            f"not enough memory: {what} takes about {size >> 20} MiB of address space, and {free >> 20} MiB are left "
            f"below the limit of this process; {_cure()}"
        )


def is_shortage(error: BaseException) -> bool:
    """Return whether a lack of memory is the cause of an error, for the many errors that libraries raise then."""
    is_limited = _address_limit() is not None
    signs = _SIGNS + (_SIGNS_OF_THREADS if is_limited else ())
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, MemoryError):
            return True
        if isinstance(cause, OSError) and cause.errno is not None:
            if cause.errno == errno.ENOMEM:
                return True
        # The text of our own errors may be a file's name.
        elif not isinstance(cause, VksspError) and any(sign in str(cause).lower() for sign in signs):
            return True
        cause = cause.__cause__ or cause.__context__
    # Without address space, libraries and Python itself raise errors that they never raise otherwise.
    return is_limited and not isinstance(error, VksspError) and _is_exhausted()


def _is_exhausted() -> bool:
    """Return whether the address space of this process has been nearly used up at some time."""
    limit = _address_limit()
    with suppress(OSError, ValueError):
        lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
        peak = next((int(words[1]) * 1024 for words in lines if words[:1] == ["VmPeak:"]), None)
        return limit is not None and peak is not None and limit - peak < _EXHAUSTED
    return False


@contextmanager
def shortage_named() -> Iterator[None]:
    """Raise `MemoryShortageError` in place of any error in the block that is caused by a lack of memory."""
    try:
        yield
    except MemoryShortageError:
        raise
    except Exception as error:
        if not is_shortage(error):
            raise
        raise MemoryShortageError(f"there is not enough memory; {_cure()}") from error


def _cure() -> str:
    limit = _address_limit()
    if limit is None:
        return "use a smaller graph, or a machine with more"
    return f"raise the limit of address space, {limit >> 20} MiB (ulimit -v); smaller graphs take less"


def require(size: float, what: str, cure: str = "use a smaller one, or a machine with more") -> None:
    """Raise `MemoryShortageError` if an object takes more bytes than are free.

    Parameters
    ----------
    size : float
        Estimate of the least number of bytes that the object takes.
    what : str
        Name of the object, for the message.
    cure : str
        What to do about the shortage, for the message.
    """
    if size < SMALL:
        return
    free = free_bytes()
    if free is not None and size > free:
        for give_up in givers:
            give_up()
        free = free_bytes()
    if free is not None and size > free:
        raise MemoryShortageError(
            f"{what}: that takes about {size / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free; {cure}"
        )


def limits() -> Iterator[int]:
    """Yield the bytes that this process can still take by each limit that is known."""
    with suppress(OSError, ValueError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        sizes = {words[0]: int(words[1]) * 1024 for words in lines if len(words) > 1}
        if "MemAvailable:" in sizes:
            yield sizes["MemAvailable:"] + sizes.get("SwapFree:", 0)
    left = free_addresses()
    if left is not None:
        yield left
    with suppress(OSError, ValueError):
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        own = next((line[3:] for line in groups if line.startswith("0::")), "/")
        group = GROUPS / own.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(GROUPS):
                yield from _left_in(folder)


def _left_in(group: Path) -> Iterator[int]:
    """Yield the bytes that a control group may still take, if it has a limit."""
    with suppress(OSError, ValueError):
        most = int((group / "memory.max").read_text())  # or "max"
        used = int((group / "memory.current").read_text())
        # The system gives up cached files when memory is needed.
        with suppress(OSError):
            for line in (group / "memory.stat").read_text().splitlines():
                if line.startswith("inactive_file "):
                    used -= int(line.split()[1])
        yield max(0, most - used)
