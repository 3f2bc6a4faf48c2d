"""Tables in folders that many tasks write at a time: Zarr arrays, or Parquet files, one for each task."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.arrow_file import pyarrow_for
from vkssp.cores import num_cores
from vkssp.dask.blocks import Blocks
from vkssp.dask.question import Facts, TableQuestion
from vkssp.dask.step_times import STORE, SYNCHRONIZE, count
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional
from vkssp.files import ZARR, atomic_write
from vkssp.solver.table import Table
from vkssp.solver.table_file import COLUMNS, Block, arrow_rows, missing_value, num_reached
from vkssp.solver.table_frames import ends_of

PARQUET = ".parquet"
#: File of a folder of Parquet files that tells what they are the answer to, and attribute of a Zarr group that does.
PARQUET_MARK, ATTRIBUTE = "_manifest.json", "vkssp"
#: Endings of folders that tasks can write a table to.
ENDINGS = (ZARR, PARQUET)
_DIGITS = 12
# Pairs of a table whose lines are made at a time: these take more memory than its rows.
_PAIRS = 1 << 22


@dataclass(frozen=True)
class _Stored:
    """Chunk of a metric that is on the disk, and the seconds that its parts have taken."""

    name: str
    reached: int
    stored_s: float
    synchronized_s: float


@dataclass(frozen=True, eq=False)
class TableStore:
    """Folder of a table.

    Attributes
    ----------
    question : TableQuestion
        What the table is the answer to.
    facts : Facts
        Its shape and types.
    folder : str
        The folder, while it is being written.
    ending : str
        ``".zarr"`` or ``".parquet"``.
    sources, targets : sequence
        Names of sources and targets.
    """

    question: TableQuestion
    facts: Facts
    folder: str
    ending: str
    sources: Sequence[Any]
    targets: Sequence[Any]

    def make(self, blocks: Blocks, *, anew: bool) -> None:
        """Make the folder, with all that is no row, unless it is there; `anew` removes what is there."""
        folder = Path(self.folder)
        if anew and folder.exists():
            shutil.rmtree(folder)
        if self.ending == PARQUET:
            folder.mkdir(exist_ok=True)
            return
        if folder.exists():
            return
        folder = folder.with_name(f"{folder.name}.new")  # a folder that is there is complete
        group = _zarr().open_group(folder, mode="w")
        for name, ids in (("source", self.sources), ("target", self.targets)):
            values = np.asarray(ids)
            is_number = values.dtype.kind in "iu"
            array = group.create_array(name, shape=values.shape, dtype=values.dtype if is_number else str)
            array[:] = values if is_number else values.astype(object)
        for name, dtype in self.facts.dtypes.items():
            group.create_array(
                COLUMNS[name],
                shape=self.facts.shape,
                chunks=(min(blocks.chunk, self.facts.shape[0]), self.facts.shape[1]),
                dtype=dtype,
                fill_value=missing_value(dtype),
                dimension_names=("source", "target"),
            )
        os.replace(folder, self.folder)

    def close(self, told: Mapping[str, Any]) -> None:
        """Note in a complete folder what it is the answer to, and remove what writers that were killed have left."""
        within = Path(self.folder)
        for leftover in within.glob(".*.part" if self.ending == PARQUET else "*/c/*/*.partial"):
            leftover.unlink(missing_ok=True)
        if self.ending == PARQUET:
            with atomic_write(within / PARQUET_MARK, "w") as stream:
                json.dump(dict(told), stream)
        else:
            _zarr().open_group(self.folder, mode="r+").attrs[ATTRIBUTE] = dict(told)

    def write(self, block: Block, first: int, end: int) -> int:
        """Write some rows, and return the number of pairs that a path connects when the rows are on the disk.

        Raises
        ------
        FormatError
            If they cannot be written.
        """
        if self.ending == PARQUET:
            self._write_parquet(block, first, end)
            return num_reached(next(iter(block.values())))
        try:
            arrays = {name: _array(self.folder, COLUMNS[name]) for name in block}
            store = partial(self._store, block, arrays, first)
            pieces = [
                (name, max(first, at * array.chunks[0]), min(end, (at + 1) * array.chunks[0]))
                for name, array in arrays.items()
                for at in range(first // array.chunks[0], -(-end // array.chunks[0]))
            ]
            # Chunks together, so that the disk is busy while others are compressed, and few waits are one for it.
            found = list((_writers().map if len(pieces) > 1 else map)(store, pieces))
        except OSError as error:
            raise FormatError(
                f"cannot write {self.folder}: {error.strerror or error}; make room, or choose another place, and go on"
            ) from error
        count(STORE, sum(one.stored_s for one in found))
        count(SYNCHRONIZE, sum(one.synchronized_s for one in found))
        return sum(one.reached for one in found if one.name == next(iter(block)))

    def _store(self, block: Block, arrays: Mapping[str, Any], first: int, piece: tuple[str, int, int]) -> _Stored:
        """Compress and write a chunk, and wait for the disk."""
        name, begin, end = piece
        values, began = block[name][begin - first : end - first], time.perf_counter()
        arrays[name][begin:end] = values
        stored = time.perf_counter()
        _synchronize(self._chunk_files(name, arrays[name].chunks[0], begin, end)[0])
        ended = time.perf_counter()
        return _Stored(name, num_reached(values), stored - began, ended - stored)

    def _write_parquet(self, block: Block, first: int, end: int) -> None:
        table: Table = self.facts.table().part(first, end)
        row, column = ends_of(table)
        names = f"{row}_id", f"{column}_id"
        schema, batch = arrow_rows(table, self.sources[first:end], self.targets, names)
        pyarrow = pyarrow_for("Parquet files need")
        each = max(1, _PAIRS // len(self.targets))
        with atomic_write(self._file(first)) as stream, pyarrow.parquet.ParquetWriter(stream, schema) as writer:
            for at in range(0, end - first, each):
                writer.write_batch(batch({name: values[at : at + each] for name, values in block.items()}))

    def has(self, first: int, end: int, chunk: int) -> bool:
        """Return whether the files of some rows are there."""
        if self.ending == PARQUET:
            return self._file(first).is_file()
        files = (self._chunk_files(name, chunk, first, end) for name in self.facts.dtypes)
        return all(file.is_file() for some in files for file in some)

    def _file(self, first: int) -> Path:
        return Path(self.folder) / f"rows-{first:0{_DIGITS}}.parquet"

    def _chunk_files(self, name: str, chunk: int, first: int, end: int) -> list[Path]:
        within = Path(self.folder) / COLUMNS[name] / "c"
        return [within / str(number) / "0" for number in range(first // chunk, -(-end // chunk))]


def told_by(path: Path) -> dict[str, Any]:
    """Return what a complete folder is the answer to; nothing if it does not say so."""
    with suppress(OSError, ValueError, TypeError, AttributeError, KeyError, QueryError):  # also of damaged files
        if path.suffix.lower() == PARQUET:
            found = json.loads((path / PARQUET_MARK).read_text("utf-8"))
        else:
            found = _zarr().open_group(path, mode="r").attrs[ATTRIBUTE]
        return found if isinstance(found, dict) else {}
    return {}


def _array(folder: str, name: str) -> Any:
    """Return an open Zarr array, all chunks of which are written, also those that have nothing but fill values."""
    state = os.stat(Path(folder) / name / "zarr.json")
    return _opened(folder, name, state.st_ino, state.st_mtime_ns)


@lru_cache(maxsize=8)
def _opened(folder: str, name: str, inode: int, changed: int) -> Any:
    """Return an array that is kept open between tasks, as long as its description is the same file."""
    zarr = _zarr()
    with zarr.config.set({"array.write_empty_chunks": True}):
        return zarr.open_array(folder, path=name, mode="r+")


@lru_cache(maxsize=1)
def _writers() -> ThreadPoolExecutor:
    """Return the threads that write the chunks of all tasks of this process; some of them wait for the disk."""
    return ThreadPoolExecutor(2 * num_cores(), "vkssp-chunk")


def _zarr() -> Any:
    return optional("zarr", "Zarr arrays need", "table", "write .parquet")


def _synchronize(file: Path) -> None:
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())
