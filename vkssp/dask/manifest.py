"""Manifest of a result that is being written: what it is the answer to, and which blocks of it are there.

A manifest is a file of JSON objects, one a line. The first one tells the question and the division into blocks; each
other one a block that has reached the disk. A process may end while it writes a line, so that the last line may be
torn; it does not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from vkssp.dask.blocks import Blocks
from vkssp.errors import FormatError

_FORMAT = "vkssp manifest"
_START = json.dumps({"format": _FORMAT}).encode()[:-1]
# Seconds after which lines are flushed to disk at the latest.
_SYNC_S = 1.0
# What hashes in a manifest stand for.
_HASHES = {
    "graph": "graph, or its weights, are others",
    "question": "question is another one (sources, targets, their names, the limit, metrics, or what else was given)",
}


class Manifest:
    """Open manifest, which no other process can open meanwhile.

    Attributes
    ----------
    blocks : Blocks
        The division into blocks, that of the first run if there was one.
    done : dict of int to dict
        What is known of each block that is there, by its first row.
    name : str
        Random name of the result: tasks that an earlier result of the same path has left running know another one.
    """

    def __init__(self, stream: BinaryIO, blocks: Blocks, done: dict[int, dict[str, Any]], name: str) -> None:
        self._stream, self.blocks, self.done, self.name = stream, blocks, done, name
        self._synced = time.monotonic()

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, question: Mapping[str, Any], blocks: Blocks) -> Iterator[Manifest]:
        """Open a manifest, which is made if there is none.

        Parameters
        ----------
        path : Path
            The file.
        question : mapping
            What the result is the answer to, as JSON has it.
        blocks : Blocks
            Division into blocks, for a new manifest.

        Raises
        ------
        FormatError
            If it is the manifest of another result, if another process has it open, or if it cannot be written.
        """
        with open(path, "a+b") as stream:
            _lock(stream, path)
            if not path.exists() or not os.path.samestat(os.fstat(stream.fileno()), os.stat(path)):
                raise FormatError(f"another process has just written {path.parent}; look at its result, and ask again")
            stream.seek(0)
            *lines, torn = stream.read().split(b"\n")
            header = {"format": _FORMAT, **question}
            if not lines and _START.startswith(torn[: len(_START)]):
                stream.truncate(0)
                name = uuid.uuid4().hex
                division = {"rows": blocks.count, "block": blocks.rows, "chunk": blocks.chunk, "name": name}
                stream.write(json.dumps({**header, **division}).encode() + b"\n")
                _flush(stream)
                yield cls(stream, blocks, {}, name)
                return
            try:
                told, *others = [json.loads(line) for line in lines]
                for key, value in header.items():
                    if told.get(key) != value:
                        differs = _HASHES.get(key, f"{key} is {told.get(key)!r:.80} and not {value!r:.80}")
                        raise FormatError(
                            f"{path.parent} has the beginning of another result, whose {differs}; ask the same again, "
                            "or remove the folder"
                        )
                count, blocks = blocks.count, Blocks(told["rows"], told["block"], told["chunk"])
                ranges = dict(blocks.ranges()) if blocks.count == count else {}
                if not ranges or not 0 < blocks.chunk <= blocks.rows:
                    raise ValueError("its blocks are none of the result")
                name = uuid.UUID(told["name"]).hex  # part of a path
                done = {int(one["first"]): one for one in others if ranges.get(one["first"]) == one["end"]}
            except FormatError:
                raise
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise FormatError(f"{path} is damaged ({error}); remove the folder, and begin again") from None
            stream.truncate(sum(len(line) + 1 for line in lines))  # a torn line would swallow the next one
            yield cls(stream, blocks, done, name)
            _flush(stream)

    def add(self, first: int, end: int, facts: Mapping[str, Any]) -> None:
        """Note that a block is there."""
        entry = {"first": first, "end": end, **facts}
        self.done[first] = entry
        self._stream.write(json.dumps(entry).encode() + b"\n")
        self._stream.flush()
        if time.monotonic() - self._synced >= _SYNC_S:
            _flush(self._stream)
            self._synced = time.monotonic()


def _flush(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _lock(stream: BinaryIO, path: Path) -> None:
    """Keep other processes from opening a manifest; on storage without locks, and on Windows, nothing does."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FormatError(f"another process is writing {path.parent}; wait for it, or choose another name") from None
    except OSError:
        return
