"""Files that are written whole or not at all, and checks of their names before work is spent on them."""

from __future__ import annotations

import io
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from vkssp.checks import path_of
from vkssp.errors import FormatError
from vkssp.signals import undoing

#: Arrays in folders, and the files by which one knows them.
ZARR, ZARR_MARKS = ".zarr", ("zarr.json", ".zgroup", ".zarray")
#: Endings of the names of files, by what is written there; a saved graph may have a name without one.
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "a saved graph": (".graph", ".npz", ""),
    "a NumPy array": (".npy",),
    "CSV": (".csv",),
    "GeoJSON": (".geojson", ".json"),
    "HTML": (".html", ".htm"),
    "JSON": (".json",),
}
# Folders of names for open files and devices, which have no endings.
_DESCRIPTORS = ("/dev", "/dev/fd", "/proc/self/fd")
# How often it is tried to remove a folder.
_ATTEMPTS = 10


class _Written(io.RawIOBase):
    """A stream that is only written to: of a file numpy would ask where in it it is, which a pipe cannot tell."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Return that it is."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes."""
        return self._stream.write(data)


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that takes `path`'s place when the block ends well and leaves nothing behind when it does not.

    A link keeps pointing to where it does; what is no file, such as /dev/stdout or a pipe, is written to as it is.
    A file that replaces another keeps its mode and, where the system permits, its owner and group; a new one follows
    the umask.

    Raises
    ------
    FormatError
        If the file cannot be written, or one of that name is write-protected.
    """
    target = Path(os.path.realpath(path_of(path)))
    encoding = None if "b" in mode else "utf-8"
    try:
        if _is_special(path):
            with open(path, mode, encoding=encoding) as stream:
                through: Any = _Written(stream) if "b" in mode else stream
                yield through
            return
        before = _state(target)
        # Known before the file is there, so that nothing can come between making it and removing it.
        temporary = _temporary(target)
        with undoing(lambda: temporary.unlink(missing_ok=True)):
            with open(temporary, mode.replace("w", "x"), encoding=encoding, opener=_open_private) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            _inherit(temporary, before)
            os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error) from error


def _temporary(target: Path) -> Path:
    """Return a hidden name beside a target, which nothing has."""
    return target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _state(target: Path) -> os.stat_result | None:
    """Return owner, group and mode of a file that is to be replaced, None where there is none.

    A file that is write-protected raises `OSError`, as it does where it is opened: renaming would not ask.
    """
    try:
        handle = os.open(target, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


def _inherit(path: str | Path, before: os.stat_result | None) -> None:
    """Give a replacement the owner, group and mode of the original; a new file gets the mode that the umask leaves."""
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)
        return
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown"):
        for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
            with suppress(OSError):  # only the superuser gives files away
                os.chown(path, owner, group)
        if os.stat(path).st_gid != before.st_gid:  # what one group could do says nothing of another
            mode &= ~0o070 | (mode & 0o007) << 3
    os.chmod(path, mode)


def _unwritable(path: str | Path, error: OSError) -> FormatError:
    # numpy's own error has no reason: it could not write as much as it had.
    reason = error.strerror or "the disk may be full"
    return FormatError(f"cannot write {path}: {reason}; choose a place that exists, is writable and has room")


@contextmanager
def atomic_folder(path: str | Path, marks: Sequence[str]) -> Iterator[Path]:
    """Make a folder that takes `path`'s place when the block ends well and leaves nothing behind when it does not.

    Parameters
    ----------
    path : str or Path
        Where it goes.
    marks : sequence of str
        Names of files one of which a folder that is there already has to hold, so that no other kind is replaced.

    Raises
    ------
    FormatError
        If it cannot be written, or there is something else.
    """
    target = Path(os.path.realpath(path_of(path)))
    check_folder(path, marks)
    aside = _temporary(target)
    new, old = aside / "new", aside / "old"

    def undo() -> None:
        if not target.exists() and old.exists():
            os.replace(old, target)
        # A thread may be writing to it still.
        for _ in range(_ATTEMPTS):
            shutil.rmtree(aside, ignore_errors=True)
            if not aside.exists():
                return

    try:
        with undoing(undo):
            aside.mkdir(0o700)
            new.mkdir()
            yield new
            # No folder takes the place of one that holds something. That one waits aside, and returns if anything
            # fails.
            if target.exists():
                _inherit(new, os.stat(target))
                os.replace(target, old)
            os.replace(new, target)
    except OSError as error:
        raise _unwritable(path, error) from error


def check_folder(path: str | Path, marks: Sequence[str]) -> None:
    """Raise `FormatError` if `atomic_folder` could not make a folder at a path."""
    target = Path(os.path.realpath(path))
    if target.exists() and not any((target / mark).is_file() for mark in marks):
        raise FormatError(f"cannot write {path}: there is something else; choose another name")
    if not target.parent.is_dir():
        raise FormatError(f"cannot write {path}: {target.parent} is no folder; make it first")


def _is_special(path: str | Path) -> bool:
    """Return whether there is something at a path that is no file; where links of pipes lead to has no name."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_ending(path: str | Path, content: str) -> None:
    """Check that the name of a file says what is written there.

    Parameters
    ----------
    path : str or Path
        The file. Devices, pipes and names of open files, such as /dev/stdout, may be called anything.
    content : str
        What is written, a key of `ENDINGS`.

    Raises
    ------
    FormatError
        If the name has another ending, or is empty.
    """
    path_of(path)
    if not os.fspath(path):
        raise FormatError(f"the name of the file for {content} is empty; give one")
    is_open = os.path.dirname(os.path.abspath(path)) in _DESCRIPTORS
    if not is_open and not _is_special(path) and Path(path).suffix.lower() not in ENDINGS[content]:
        known = " or ".join(filter(None, ENDINGS[content]))
        raise FormatError(f"cannot write {path}: what is written is {content}, and its name must end in {known}")


def check_writable(path: str | Path, *others: str | Path | None, content: str | None = None) -> None:
    """Check that a file can be made at a path, before hours of work are spent on what goes there.

    Parameters
    ----------
    path : str or Path
        The file.
    *others : str, Path or None
        Files that it must not be: those that are read, or written, too.
    content : str, optional
        What is written, a key of `ENDINGS`; the name has to have one of its endings.

    Raises
    ------
    FormatError
        If it cannot be made, or must not be.
    """
    target = Path(os.path.realpath(path_of(path)))
    for other in others:
        if other and os.path.realpath(other) == str(target):
            raise FormatError(
                f"cannot write {path}: it is {other}, which is needed for something else; choose another name"
            )
    if Path(path).suffix.lower() == ZARR:
        check_folder(path, ZARR_MARKS)
    elif target.is_dir():
        raise FormatError(f"cannot write {path}: it is a folder; give a file name in it")
    if not _is_special(path) and not target.parent.is_dir():
        raise FormatError(f"cannot write {path}: {target.parent} is no folder; make it first")
    special = _is_special(path)
    if not os.access(path if special else target.parent, os.W_OK):
        raise FormatError(f"cannot write {path}: {target.parent} is not writable; choose another folder")
    if target.is_file() and not os.access(target, os.W_OK):
        raise FormatError(f"cannot write {path}: it is write-protected; choose another name, or allow writing to it")
    if content is not None:
        check_ending(path, content)
