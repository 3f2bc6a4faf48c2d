"""Graphs as tasks name them: a file with the hash of its content, or a graph in memory with the hash of its arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from operator import itemgetter
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np

from vkssp.checks import no_file, path_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional
from vkssp.graph import Graph, checked_graph
from vkssp.reading import is_saved

# Bytes that are read at a time, and attempts to load a file while others replace it.
_READ_BYTES, _ATTEMPTS = 16 << 20, 3
# Values whose text tells all of them.
_PLAIN = (bool, int, float, complex, str, bytes, range, np.generic, np.dtype, PurePath, Enum)


class Hash:
    """Hash of values and arrays, the same in every process."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, value: Any) -> None:
        """Add a value: an array, an object with fields, a list, a mapping, a plain value, or what can be pickled."""
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            self._text(f"array {value.dtype.str} {value.shape}")
            self._hash.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        elif is_dataclass(value) and not isinstance(value, type):
            self.add({field.name: getattr(value, field.name) for field in fields(value)})
        elif isinstance(value, dict):
            self._text(f"mapping {len(value)}")
            for key, one in sorted(((repr(key), one) for key, one in value.items()), key=itemgetter(0)):
                self._text(key)
                self.add(one)
        elif isinstance(value, np.ndarray | list | tuple):
            items = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else list(value)
            self._text(f"list {len(items)}")
            for item in items:
                self.add(item)
        elif hasattr(value, "wkb"):  # a shape
            self._text(f"shape {value.wkb_hex}")
        elif value is None or isinstance(value, _PLAIN):
            self._text(f"{type(value).__name__} {value!r}")
        else:  # such as a function or a sparse matrix, whose text does not tell it from another one
            pickle = optional("cloudpickle", "arguments such as decays need", "dask")
            self._text(type(value).__name__)
            self._hash.update(pickle.dumps(value))

    def _text(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._hash.update(len(data).to_bytes(8, "little") + data)

    def read(self, stream: IO[bytes]) -> None:
        """Add the rest of a stream."""
        while data := stream.read(_READ_BYTES):
            self._hash.update(data)

    @property
    def digest(self) -> str:
        """The hash of what was added so far, in hexadecimal."""
        return self._hash.hexdigest()


def hash_of(value: Any) -> str:
    """Return the hash of one value; see `Hash.add`."""
    made = Hash()
    made.add(value)
    return made.digest


@dataclass(frozen=True)
class GraphFile:
    """Saved graph on storage that all workers share.

    Attributes
    ----------
    path : str
        Absolute path of the file.
    digest : str
        Hash of its content.
    """

    path: str
    digest: str

    def load(self) -> Graph:
        """Return the graph.

        Raises
        ------
        FormatError
            If the file is not there, or has changed.
        """
        return read_unchanged(self.path, self.digest, Graph.load)


@dataclass(frozen=True, eq=False)
class GraphInMemory:
    """Graph that is sent to the workers.

    Attributes
    ----------
    graph : Graph
        The graph.
    digest : str
        Hash of its arrays.
    """

    graph: Graph
    digest: str

    def load(self) -> Graph:
        """Return the graph.

        Raises
        ------
        FormatError
            If it is not the one that was sent.
        """
        if hash_of(self.graph) != self.digest:
            raise FormatError("a graph has arrived damaged, or of another version of the libraries; send it again")
        return self.graph

    @cached_property
    def path(self) -> str:
        """What errors call the graph."""
        return repr(self.graph)


GraphSource = GraphFile | GraphInMemory


def source_of(graph: Graph | str | Path) -> GraphSource:
    """Return a graph as tasks name it.

    Parameters
    ----------
    graph : Graph, str or Path
        A graph, or the file of a saved graph.

    Raises
    ------
    FormatError
        If there is no such file, or it holds no saved graph.
    QueryError
        If it is neither.
    """
    if isinstance(graph, Graph):
        return GraphInMemory(graph, hash_of(graph))
    if not isinstance(graph, str | os.PathLike):
        checked_graph(graph, QueryError)
        raise QueryError(f"graph is {shown(graph)}; give a Graph, or the path of a saved one")
    path = Path(os.path.abspath(path_of(graph, "graph")))
    if path.is_dir() or not is_saved(path):
        raise FormatError(f"{path} is no saved graph; save one by Graph.save, or give the Graph of vkssp.read_graph")
    return GraphFile(str(path), file_digest(str(path)))


def read_unchanged(path: str, digest: str, read: Callable[[str], Graph]) -> Graph:
    """Return the graph that a function reads from a file whose content has a hash.

    Raises
    ------
    FormatError
        If the file is not there, or has changed.
    """
    for _ in range(_ATTEMPTS):
        before, found = _hashed(path)
        if found != digest:
            break
        graph = read(path)
        if _state(path) == before:
            return graph
        # Another file has the name now, which may have the same content.
    raise FormatError(f"{path} has changed since the work was planned; save graphs under new names, and ask again")


def file_digest(path: str) -> str:
    """Return the hash of the content of a file."""
    return _hashed(path)[1]


def _state(path: str) -> tuple[int, ...]:
    """Return what changes whenever another file has the name or, in general, the file is written."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _hashed(path: str) -> tuple[tuple[int, ...], str]:
    made = Hash()
    try:
        before = _state(path)
        with open(path, "rb") as stream:
            made.read(stream)
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    return before, made.digest
