"""Files that are written whole or not at all, and checks of their names before work is spent on them."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from vkssp.checks import path_of
from vkssp.errors import FormatError
from vkssp.signals import undoing

#: Ending of folders that hold Zarr arrays, and the files that mark such a folder.
ZARR, ZARR_MARKS = ".zarr", ("zarr.json", ".zgroup", ".zarray")
#: Endings of file names, by content; the name of a saved graph may have no ending.
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "a saved graph": (".graph", ".npz", ""),
    "a NumPy array": (".npy",),
    "CSV": (".csv",),
    "GeoJSON": (".geojson", ".json"),
    "HTML": (".html", ".htm"),
    "JSON": (".json",),
}
# Folders of devices and open files, whose names have no endings.
_DESCRIPTORS = ("/dev", "/dev/fd", "/proc/self/fd")
# Number of attempts to remove a folder.
_ATTEMPTS = 10
# Names that stand for standard output; see `standard_output`.
_standard: set[str] = set()


def cache_folder() -> Path:
    """Return the folder for what can be computed or measured again; it may not exist yet.

    Raises
    ------
    RuntimeError
        If there is no home folder.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vkssp"


class _Written(io.RawIOBase):
    """Write-only stream around a pipe or device; numpy would ask a file for its position, but a pipe has none."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes."""
        return self._stream.write(data)


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block succeeds and is removed when the block fails.

    If `path` is a link, the target of the link is replaced. Pipes and devices, such as /dev/stdout, are written to
    directly. A file that replaces another keeps its mode and, if the system permits, its owner and group. The mode of a
    new file follows the umask.

    Raises
    ------
    FormatError
        If the file cannot be written, or if the existing file is write-protected.
    """
    if is_standard(path):
        with _standard_stream(path, mode) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path_of(path)))
    encoding = None if "b" in mode else "utf-8"
    try:
        if _is_special(path):
            with open(path, mode, encoding=encoding) as stream:
                through: Any = _Written(stream) if "b" in mode else stream
                yield through
            return
        before = _state(target)
        # The name is known before the file exists, so that an interrupt cannot leave the file behind.
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


@contextmanager
def standard_output(ending: str) -> Iterator[str]:
    """Yield a name that `atomic_write` takes for standard output during the block, with the ending of a format."""
    name = f"-{ending}"  # as on the command line
    _standard.add(name)
    try:
        yield name
    finally:
        _standard.discard(name)


def is_standard(path: str | Path) -> bool:
    """Return whether a name stands for standard output; see `standard_output`."""
    return bool(_standard) and os.fspath(path) in _standard


@contextmanager
def _standard_stream(path: str | Path, mode: str) -> Iterator[IO[Any]]:
    """Open standard output for data; messages must go elsewhere."""
    try:
        sys.stdout.flush()
        binary: Any = _Written(sys.stdout.buffer)
        if "b" in mode:
            yield binary
        else:
            text = io.TextIOWrapper(binary, "utf-8", newline="", write_through=True)
            yield text
            text.flush()
            text.detach()
        sys.stdout.flush()
    except BrokenPipeError as error:
        sys.stdout = None
        raise _unwritable(path, error) from error
    except OSError as error:
        raise _unwritable(path, error) from error


def _temporary(target: Path) -> Path:
    """Return an unused hidden name beside a target."""
    return target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _state(target: Path) -> os.stat_result | None:
    """Return owner, group and mode of a file that is to be replaced, or None if it does not exist.

    Raise `OSError` if the file is write-protected: replacing it by renaming would not respect the protection.
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
        if os.stat(path).st_gid != before.st_gid:  # the rights of one group are not for another group
            mode &= ~0o070 | (mode & 0o007) << 3
    os.chmod(path, mode)


def _unwritable(path: str | Path, error: OSError) -> FormatError:
    # numpy raises an error without a reason when a write is incomplete.
    reason = error.strerror or "the disk may be full"
    return FormatError(f"cannot write {path}: {reason}; choose a place that exists, is writable and has room")


@contextmanager
def atomic_files(path: str | Path, leftovers: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a name in a temporary folder, for a library that writes a file, or several with the same stem, by name.

    When the block succeeds, the files that are there replace those beside `path`; when it fails, they are removed. One
    file is replaced at once. Of several the old ones are moved aside first, and back if a step fails.

    Parameters
    ----------
    path : str or Path
        The file. If it is a link, the target of the link is replaced.
    leftovers : sequence of str
        Endings of other files of an older version, which are removed: such as ".qix", or "-wal" behind the whole name.

    Raises
    ------
    FormatError
        If a file cannot be written, or is write-protected, or if `path` is no regular file.
    """
    if _is_special(path_of(path)):
        raise FormatError(f"cannot write {path}: such a file needs a place on a disk; give the name of a file")
    target = Path(os.path.realpath(path))
    aside = _temporary(target)
    new, old, placed, is_done = aside / "new", aside / "old", list[Path](), False

    def undo() -> None:
        if not is_done:
            for one in placed:
                one.unlink(missing_ok=True)
            for one in old.iterdir() if old.exists() else ():
                os.replace(one, target.with_name(one.name))
        _remove(aside)

    try:
        with undoing(undo):
            _state(target)
            aside.mkdir(0o700)
            new.mkdir()
            old.mkdir()
            yield new / target.name
            written = sorted(new.iterdir())
            former = [target.with_suffix(end) if end[0] == "." else Path(f"{target}{end}") for end in leftovers]
            former = [one for one in (*former, *(target.with_name(one.name) for one in written)) if one.exists()]
            for one in written:
                _synchronize(one)
                _inherit(one, _state(target.with_name(one.name)))
            if len(written) == 1 and set(former) <= {target}:
                os.replace(written[0], target)
            else:
                for one in dict.fromkeys(former):
                    os.replace(one, old / one.name)
                for one in written:
                    placed.append(target.with_name(one.name))
                    os.replace(one, placed[-1])
            is_done = True
    except OSError as error:
        raise _unwritable(path, error) from error


def _synchronize(path: Path) -> None:
    """Flush a written file to disk; a full disk may be noticed only here."""
    with open(path, "rb+") as stream:
        os.fsync(stream.fileno())


def _remove(folder: Path) -> None:
    """Remove a folder. Another thread may still write to it, so one attempt may not be enough."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


@contextmanager
def atomic_folder(path: str | Path, marks: Sequence[str]) -> Iterator[Path]:
    """Make a temporary folder that replaces `path` when the block succeeds and is removed when the block fails.

    Parameters
    ----------
    path : str or Path
        The folder.
    marks : sequence of str
        Names of files. An existing folder must contain one of them, so that no other kind of folder is replaced.

    Raises
    ------
    FormatError
        If the folder cannot be written, or if `path` is something else.
    """
    target = Path(os.path.realpath(path_of(path)))
    check_folder(path, marks)
    aside = _temporary(target)
    new, old = aside / "new", aside / "old"

    def undo() -> None:
        if not target.exists() and old.exists():
            os.replace(old, target)
        _remove(aside)

    try:
        with undoing(undo):
            aside.mkdir(0o700)
            new.mkdir()
            yield new
            # A folder cannot replace one that is not empty. So the old folder is moved aside, and back if a step fails.
            if target.exists():
                _inherit(new, os.stat(target))
                os.replace(target, old)
            os.replace(new, target)
    except OSError as error:
        raise _unwritable(path, error) from error


def check_folder(path: str | Path, marks: Sequence[str]) -> None:
    """Raise `FormatError` if `atomic_folder` could not make a folder at a path."""
    target = Path(os.path.realpath(path))
    try:
        is_there = target.exists()
    except OSError as error:  # such as a name that is too long
        raise _unwritable(path, error) from error
    if is_there and not any((target / mark).is_file() for mark in marks):
        raise FormatError(f"cannot write {path}: there is something else; choose another name")
    if not target.parent.is_dir():
        raise FormatError(f"cannot write {path}: {target.parent} is no folder; make it first")


def _is_special(path: str | Path) -> bool:
    """Return whether a path exists and is not a regular file; give links unresolved, as pipes have no names."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_ending(path: str | Path, content: str) -> None:
    """Check that the ending of a file name fits the content.

    Parameters
    ----------
    path : str or Path
        The file. Devices, pipes and open files, such as /dev/stdout, may have any name.
    content : str
        Kind of content, a key of `ENDINGS`.

    Raises
    ------
    FormatError
        If the name has another ending, or is empty.
    """
    path_of(path)
    if not os.fspath(path):
        raise FormatError(f"the name of the file for {content} is empty; give one")
    if not is_nameless(path) and Path(path).suffix.lower() not in ENDINGS[content]:
        known = " or ".join(filter(None, ENDINGS[content]))
        raise FormatError(f"cannot write {path} as {content}: its name must end in {known}")


def is_nameless(path: str | Path) -> bool:
    """Return whether a path is a device, a pipe or an open file, such as /dev/stdout, whose name says nothing."""
    return os.path.dirname(os.path.abspath(path)) in _DESCRIPTORS or _is_special(path)


def check_writable(path: str | Path, *others: str | Path | None, content: str | None = None) -> None:
    """Check that a file can be written, before hours of work are spent on its content.

    Parameters
    ----------
    path : str or Path
        The file.
    *others : str, Path or None
        Other files that are read or written, which `path` must not be.
    content : str, optional
        Kind of content, a key of `ENDINGS`; the name must have one of its endings.

    Raises
    ------
    FormatError
        If the file cannot be written, or is one of the others.
    """
    if is_standard(path):
        if content is not None:
            check_ending(path, content)
        return
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
