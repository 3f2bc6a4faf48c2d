"""Whether there is memory for what is about to be made; a process that takes too much is killed without a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vkssp.errors import MemoryShortageError

#: Bytes that are not worth the time that it takes to look.
SMALL = 64 << 20
_GROUPS = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Return how much memory this process can still have, None where the system does not tell.

    That is what the machine has free, or can free at once; or less, where a limit of the process or of its control
    groups (containers, batch systems) says so. Linux only.
    """
    return min(_limits(), default=None)


def require(size: float, what: str, cure: str = "use a smaller one, or a machine with more") -> None:
    """Raise `MemoryShortageError` if something takes more bytes than there are.

    Parameters
    ----------
    size : float
        About how many bytes it takes at the least.
    what : str
        What takes them, for the message.
    cure : str
        What to do about it, for the message.
    """
    if size < SMALL:
        return
    free = free_bytes()
    if free is not None and size > free:
        raise MemoryShortageError(
            f"{what}: that takes about {size / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free; {cure}"
        )


def _limits() -> Iterator[int]:
    with suppress(OSError, ValueError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        sizes = {words[0]: int(words[1]) * 1024 for words in lines if len(words) > 1}
        if "MemAvailable:" in sizes:
            yield sizes["MemAvailable:"] + sizes.get("SwapFree:", 0)
    with suppress(OSError, ValueError, ImportError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(0, most - pages * resource.getpagesize())
    with suppress(OSError, ValueError):
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        own = next((line[3:] for line in groups if line.startswith("0::")), "/")
        group = _GROUPS / own.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(_GROUPS):
                yield from _left_in(folder)


def _left_in(group: Path) -> Iterator[int]:
    """Yield what a control group may still have, if it has a limit."""
    with suppress(OSError, ValueError):
        most = int((group / "memory.max").read_text())  # or "max"
        used = int((group / "memory.current").read_text())
        # What was read from files is given up when memory is needed.
        with suppress(OSError):
            for line in (group / "memory.stat").read_text().splitlines():
                if line.startswith("inactive_file "):
                    used -= int(line.split()[1])
        yield max(0, most - used)
