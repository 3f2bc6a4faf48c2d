"""Reader of text files as blocks of whole, numbered lines; files may be compressed or in a tar archive."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from vkssp.checks import no_file
from vkssp.errors import FormatError
from vkssp.terminal import progress_bar

#: Bytes that are read at a time; small enough that the data made from them stays in a core's cache.
BLOCK = 1 << 20
#: Largest length of a line in bytes; a line of METIS has all neighbours of a node, but not millions of them.
LONGEST_LINE = 1 << 26
#: Endings of the names of compressed files. They serve to find and strip names; the content tells the compression.
COMPRESSED = (".gz", ".bz2", ".xz")

_OPENERS: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
#: Name endings of the members of an archive that may be graphs.
_GRAPHS = (".gr", ".mtx", ".graph", ".metis", ".txt", ".edgelist", ".edges", ".el", ".tsv", ".csv")


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Turn errors during the reading of a file into a `FormatError`."""
    damage = "is truncated or damaged"
    try:
        yield
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as error:
        # The errors of gzip and bz2 for a damaged file have no number.
        if error.errno is None:
            raise FormatError(f"{path} {damage} ({error}); get it again") from error
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError) as error:
        raise FormatError(f"{path} {damage} ({error}); get it again") from error


class Lines:
    """Lines of a text, to be taken singly or in blocks.

    Parameters
    ----------
    path : Path
        The file.
    member : str, optional
        Member to read if the file is an archive; by default the member that is a graph.
    progress : bool
        Whether to show a progress bar on stderr once reading takes over a second; it counts bytes of the file itself,
        compressed or not.

    Attributes
    ----------
    name : str
        Name of the text in messages.
    file_name : str
        Name of the file, or of the archive's member, without the endings of compressed files.
    members : list of str
        All files of the archive; empty if the file is not an archive.
    line : int
        Number of the first line that has not been taken.
    progress : bool
        Whether a progress bar is shown.
    """

    def __init__(self, path: Path, member: str | None = None, *, progress: bool = False) -> None:
        self.path, self.progress = path, progress
        self.name = str(path)
        self.members: list[str] = []
        self.line = 1
        self._text = b""  # whole lines that have been read
        self._at = 0  # where the first line that has not been taken begins
        self._partial: list[bytes] = []  # parts of a line whose end has not been read
        name = path.name
        with ExitStack() as stack, _failures(path):
            file = _File.opened(stack, path, progress)
            stream = _unpacked(stack, file)
            if stream.peek(262)[257:262] == b"ustar":
                self.members = _members(stream)
                member = member or _graph_among(path, self.members)
                stack.close()
                file = _File.opened(stack, path, progress)
                stream = _member(stack, _unpacked(stack, file), member)
                self.name, name = f"{member} in {path}", PurePosixPath(member).name
            self._file, self._stream = file, stream
            self._stack = stack.pop_all()
        for ending in COMPRESSED:
            name = name.removesuffix(ending)
        self.file_name = name

    def __enter__(self) -> Lines:
        """Return the lines; the file is closed when the block ends."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._stack.close()

    def peek(self) -> bytes:
        """Return the next whole lines without taking them; empty at the end."""
        if self._at == len(self._text):
            self._text, self._at = self._read(), 0
        elif self._at:
            self._text, self._at = self._text[self._at :], 0
        return self._text

    def comments(self, marks: bytes) -> Iterator[tuple[int, bytes]]:
        """Take lines while they are blank or begin with one of `marks`; yield their numbers and texts."""
        while self._at < len(self._text) or self.peek():
            end = self._text.index(b"\n", self._at) + 1
            text = self._text[self._at : end].strip()
            if text and text[0] not in marks:
                return
            self._at, self.line = end, self.line + 1
            yield self.line - 1, text

    def next(self, marks: bytes = b"") -> tuple[int, bytes]:
        """Take the next line that is neither blank nor a comment, and all lines before it.

        Parameters
        ----------
        marks : bytes
            Characters with which comments begin.

        Returns
        -------
        tuple of int and bytes
            The line's number, and the line without surrounding blanks; empty at the end.
        """
        for _ in self.comments(marks):
            pass
        text, _, _ = self.peek().partition(b"\n")
        if text:
            self._at, self.line = len(text) + 1, self.line + 1
        return self.line - 1, text.strip()

    def skip(self, count: int) -> None:
        """Take some bytes of the next line."""
        self.peek()
        self._at += count

    def width(self, marks: bytes) -> int:
        """Return the number of words of the next line that is neither blank nor a comment; take all lines before it."""
        for _ in self.comments(marks):
            pass
        return len(self.peek().partition(b"\n")[0].split())

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Take all remaining lines; yield blocks of whole lines, each after the number of its first line."""
        while text := self.peek():
            number = self.line
            self._text, self._at = b"", 0
            self.line += text.count(b"\n")
            yield number, text

    def error(self, reason: str, line: int | None = None) -> FormatError:
        """Return the error for the file, or for a line of it."""
        return FormatError(f"{self.name} {reason}" if line is None else f"{self.name}, line {line}: {reason}")

    def _read(self) -> bytes:
        """Return the next whole lines of the file; a newline is added to a last line without one."""
        while True:
            with _failures(self.path):
                piece = self._stream.read(BLOCK)
            self._file.bar.update(0)  # keeps the bar alive: a block may come from bytes that were read long ago
            end = piece.rfind(b"\n") + 1
            if end or not piece:
                text = b"".join([*self._partial, piece[:end]])
                self._partial = [piece[end:]] if end < len(piece) else []
                return text if end or not text else text + b"\n"
            self._partial.append(piece)
            if sum(map(len, self._partial)) > LONGEST_LINE:
                raise self.error(f"is longer than {LONGEST_LINE} bytes; there is no graph in this file", self.line)


class _File(io.FileIO):
    """File that reports to a progress bar how much of it has been read."""

    bar: Any

    @classmethod
    def opened(cls, stack: ExitStack, path: Path, progress: bool) -> _File:
        """Open a file for reading; the stack closes the file and the bar."""
        file = stack.enter_context(cls(path))
        bar = progress_bar(
            title=f"Reading {path.name}",
            shown=progress,
            total=os.fstat(file.fileno()).st_size or None,  # unknown for a pipe
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            miniters=0,  # only time decides when the bar is drawn: few bytes may unpack to very many
        )
        file.bar = stack.enter_context(bar)
        return file

    def readinto(self, buffer: Any, /) -> int | None:
        """Read bytes, and update the bar."""
        count = super().readinto(buffer)
        self.bar.update(count or 0)
        return count


def _unpacked(stack: ExitStack, file: _File) -> Any:
    """Return a buffered stream of a file's decompressed content."""
    stream: Any = stack.enter_context(io.BufferedReader(file))
    start = stream.peek(6)
    for magic, opener in _OPENERS:
        if start.startswith(magic):
            stream = io.BufferedReader(stack.enter_context(opener(stream)), BLOCK)
            break
    return stream


def _members(stream: IO[bytes]) -> list[str]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        return [member.name for member in archive if member.isfile()]


def _member(stack: ExitStack, stream: IO[bytes], name: str) -> Any:
    archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))
    for member in archive:
        if member.isfile() and member.name == name:
            return archive.extractfile(member)
    raise FormatError(f"{name} is not in the archive")


def _graph_among(path: Path, names: list[str]) -> str:
    """Return the member of an archive that is a graph: the only one, or the one named like its folder."""
    graphs = []
    for name in names:
        file = PurePosixPath(name)
        other = file.name.lower().startswith((".", "readme", "license")) or file.stem.endswith("_coord")
        if file.name.endswith(_GRAPHS) and not other:
            graphs.append(name)
    alike = [name for name in graphs if PurePosixPath(name).stem == PurePosixPath(name).parent.name]
    for found in (graphs, alike):
        if len(found) == 1:
            return found[0]
    held = f"{len(graphs)} graphs ({', '.join(graphs[:3])})" if graphs else f"no graph among {len(names)} files"
    raise FormatError(f"{path} is an archive with {held}; unpack it and give one file")
