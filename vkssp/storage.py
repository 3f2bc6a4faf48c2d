"""Graphs in one file: an uncompressed .npz archive, so that numpy alone can read it and a checksum guards it."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import path_of
from vkssp.errors import FormatError, GraphError
from vkssp.graph import Graph
from vkssp.hierarchy import Hierarchy
from vkssp.npy_file import read_npy
from vkssp.room import require
from vkssp.rows import own
from vkssp.streets import Streets

_FORMAT = "vkssp graph"
#: Graphs that know of turns have the second, since those who do not know of them would find forbidden routes.
_VERSION, _VERSION_WITH_TURNS = 1, 2
# What a hierarchy makes faster comes out the same without it. Those who do not know of hierarchies pass over arrays
# whose names they do not look for, and so there is no version for graphs that have one.
_HIERARCHY = "hierarchy_"
_CORE = ("first_out", "head", "weight")
_COORDINATES = ("lat", "lon")
_TURNS = ("junction", "turn")
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
_OPTIONAL = Streets.PER_ARC_OR_NONE + Streets.PER_NODE_OR_NONE
#: Names of all arrays that a saved graph may have.
_NAMES = frozenset(
    (
        *_CORE,
        *_COORDINATES,
        *(f"streets_{name}" for name in (*Streets.PER_ARC, *Streets.SHARED, *_OPTIONAL, "names")),
        *(f"{_HIERARCHY}{name}" for name in Hierarchy.ARRAYS),
    )
)


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
    temporary = None
    encoding = None if "b" in mode else "utf-8"
    try:
        if _is_special(path):
            with open(path, mode, encoding=encoding) as stream:
                through: Any = _Written(stream) if "b" in mode else stream
                yield through
            return
        before = _state(target)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _inherit(temporary, before)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


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
    aside = None
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        new, old = aside / "new", aside / "old"
        new.mkdir()
        yield new
        # No folder takes the place of one that holds something. That one waits aside, and returns if anything fails.
        if target.exists():
            _inherit(new, os.stat(target))
            os.replace(target, old)
        os.replace(new, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if aside is not None:
            if not target.exists() and (aside / "old").exists():
                os.replace(aside / "old", target)
            shutil.rmtree(aside, ignore_errors=True)


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


def save_graph(graph: Graph, path: str | Path) -> None:
    """Write a graph to one file; see `Graph.save`."""
    check_ending(path, "a saved graph")
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in _CORE}
    header: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    if graph.lat is not None:
        arrays.update({name: getattr(graph, name) for name in _COORDINATES})
    if graph.streets is not None:
        streets = graph.streets
        arrays.update({f"streets_{name}": getattr(streets, name) for name in Streets.PER_ARC + Streets.SHARED})
        known = [name for name in _OPTIONAL if getattr(streets, name) is not None]
        arrays.update({f"streets_{name}": getattr(streets, name) for name in known})
        if set(known) & set(_TURNS):
            header["version"] = _VERSION_WITH_TURNS
        # Names in one block of UTF-8, ended by zero bytes, which no OSM tag can hold.
        text = "".join(f"{name}\0" for name in streets.names).encode("utf-8", "surrogateescape")
        arrays["streets_names"] = np.frombuffer(text, np.uint8)
        header["seconds_per_weight"] = streets.seconds_per_weight
    if graph.hierarchy is not None:
        arrays.update({f"{_HIERARCHY}{name}": getattr(graph.hierarchy, name) for name in Hierarchy.ARRAYS})
    header["arrays"] = sorted(arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with atomic_write(path) as stream:
        np.savez(stream, **arrays)


def load_graph(path: str | Path) -> Graph:
    """Read a graph that `save_graph` wrote; see `Graph.load`."""
    source = path_of(path)
    try:
        with source.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise FormatError(f"{source} is not a saved graph, or truncated; make one with 'vkssp import'")
            with zipfile.ZipFile(stream) as archive:
                arrays, header = _unpack(archive, source)
    except (FormatError, MemoryError):
        raise
    except FileNotFoundError:
        raise FormatError(f"{source} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {source}: {error.strerror or error}") from error
    # Whatever zipfile and json make of damaged bytes.
    except Exception as error:
        raise FormatError(f"{source} is not a saved graph, or damaged ({error}); import it again") from error
    try:
        streets = _streets_from(arrays, header) if "streets_length" in arrays else None
        core = [arrays[name] for name in _CORE]
        graph = Graph.from_csr(*core, lat=arrays.get("lat"), lon=arrays.get("lon"), streets=streets)
        if not any(name.startswith(_HIERARCHY) for name in arrays):
            return graph
        hierarchy = Hierarchy(*(arrays[f"{_HIERARCHY}{name}"] for name in Hierarchy.ARRAYS))
        hierarchy.check(graph)
        return replace(graph, hierarchy=hierarchy)
    except (GraphError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"{source} is damaged ({error}); import it again") from error


def _unpack(archive: zipfile.ZipFile, source: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and the header of an archive; each array's checksum is verified as it is read."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if "header" not in members:
        raise FormatError(f"{source} is not a graph saved by vkssp; make one with 'vkssp import'")
    if len(members) < len(archive.infolist()):
        raise FormatError(f"{source} is damaged (two of its parts have the same name); import it again")
    # Nothing is packed, and so no small file can hold a large graph.
    if any(m.compress_type != zipfile.ZIP_STORED or m.compress_size != m.file_size for m in members.values()):
        raise FormatError(f"{source} was packed by another program, or damaged; import it again")
    size = sum(member.file_size for member in members.values())
    if size > source.stat().st_size:
        raise FormatError(f"{source} is damaged (it is smaller than what it holds); import it again")
    require(size, f"{source}: a graph of {size / 2**30:.1f} GiB")
    header = json.loads(_text(_array(archive, members.pop("header")), "header"))
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise FormatError(f"{source} is not a graph saved by vkssp; make one with 'vkssp import'")
    if header.get("version") not in (_VERSION, _VERSION_WITH_TURNS):
        version = header.get("version")
        raise FormatError(
            f"{source} has format version {version!r:.20}, this vkssp reads {_VERSION} and {_VERSION_WITH_TURNS}; "
            "import it again"
        )
    # The archive's directory has no checksum; a damaged name must not pass for an array that is not there.
    missing = set(header.get("arrays", _CORE)) - set(members)
    if missing:
        raise FormatError(f"{source} is damaged ({', '.join(sorted(missing)):.60} missing); import it again")
    # Other names are those of later versions, whose graphs are the same without these arrays.
    return {name: own(_array(archive, member)) for name, member in members.items() if name in _NAMES}, header


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return an array of an archive, or raise `ValueError` if it is not what it says, before memory is taken for it."""
    with archive.open(member) as stream:
        try:
            return read_npy(stream, member.file_size)
        except ValueError as error:
            raise ValueError(f"{member.filename} {error}") from None


def _text(array: npt.NDArray[Any], name: str) -> bytes:
    """Return the text that an array holds."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError(f"{name} has dtype {array.dtype} and {array.ndim} dimensions, and no bytes of a text")
    return array.tobytes()


def _streets_from(arrays: dict[str, Any], header: dict[str, Any]) -> Streets:
    text = _text(arrays["streets_names"], "streets.names")
    names = text.decode("utf-8", "surrogateescape").split("\0")[:-1]
    values = {name: arrays[f"streets_{name}"] for name in Streets.PER_ARC + Streets.SHARED}
    values.update({name: arrays.get(f"streets_{name}") for name in _OPTIONAL})
    return Streets(**values, names=tuple(names), seconds_per_weight=float(header["seconds_per_weight"]))
