"""Files of tables, written row by row while the tables are computed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import flag, named, path_of, shown
from vkssp.cores import num_cores
from vkssp.csv_file import csv_writer
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional
from vkssp.files import ZARR, ZARR_MARKS, atomic_folder, atomic_write
from vkssp.terminal import progress_bar

if TYPE_CHECKING:
    from vkssp.solver.table import Table

#: Metrics of tables: seconds and metres as float32, NaN if there is no path; weights as uint32, 2**32 - 1 if none.
#: Weights of 64 bits are uint64, 2**64 - 1 if there is no path; real weights float64, infinite; see `Table.dtypes`.
DTYPES = {"duration": np.dtype(np.float32), "distance": np.dtype(np.float32), "weight": np.dtype(np.uint32)}
#: Block of rows of a table: an array for each metric.
Block = dict[str, npt.NDArray[Any]]
#: Endings of files that tables can be written to.
ENDINGS = (".npy", ".zarr", ".csv", ".parquet")
#: Bytes of a chunk of rows in a .zarr folder.
CHUNK_BYTES = 16 << 20
# Blocks that wait beside the block that is being written.
_WAITING_BLOCKS = 1
# Bytes of chunks that are compressed and written at a time.
_WRITING_BYTES = 512 << 20
_PARQUET = "Parquet files need", "write .npy or .csv"
#: Columns of a table in a file.
COLUMNS = {"duration": "duration_s", "distance": "distance_m", "weight": "weight"}


def check_ending(path: str | Path) -> None:
    """Raise an error unless a table can be written to a file of this name.

    Raises
    ------
    FormatError
        If its ending names no known format.
    QueryError
        If a library that writes the format is not installed.
    """
    suffix = path_of(path).suffix.lower()
    if suffix not in ENDINGS:
        raise FormatError(f"cannot write a table to {path}: its name must end in one of {', '.join(ENDINGS)}")
    if suffix == ".parquet":
        pyarrow_for(*_PARQUET)
    if suffix == ZARR:
        _import_zarr()


def _import_zarr() -> Any:
    return optional("zarr", "Zarr arrays need", "table", "write .npy or .csv")


def write_table(
    path: str | Path,
    table: Table,
    sources: Sequence[int] | Sequence[str] | None = None,
    targets: Sequence[int] | Sequence[str] | None = None,
    *,
    progress: bool = False,
) -> int:
    """Write a table to a file, row by row, so that it need not fit into memory.

    The file appears only when it is complete. Except for pipes, rows are written while the next rows are computed.

    Parameters
    ----------
    path : str or Path
        Name of the file. With .npy: an array of shape (sources, targets), of the metric's type, or for several metrics
        of a structured type with a field for each. With .zarr: a folder with an array of that shape for each metric,
        in chunks of rows that several threads compress and write, and arrays ``source`` and ``target`` of names. With
        .csv or .parquet: a line for each source and target, with columns ``source``, ``target``, and those of
        ``duration_s``, ``distance_m`` and ``weight`` that the table has; empty, or null, if there is no path. Parquet
        has a row group for each block of rows.
    table : Table
        The table.
    sources, targets : sequence of int or str, optional
        Names of sources and targets; their numbers by default. NumPy arrays have no names.
    progress : bool
        Whether to show a progress bar on stderr once it takes over a second.

    Returns
    -------
    int
        Number of pairs that a path connects.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError, DistanceOverflowError
        As the computation of the table does.
    """
    check_ending(path)
    if not hasattr(table, "metrics"):
        raise QueryError(f"table is {shown(table)}; give a Table, such as Router.table returns")
    rows, columns = names_of(table, sources, targets)
    progress = flag(progress, "progress")
    writers: dict[str, Any] = {".npy": _npy, ZARR: _zarr, ".csv": _csv, ".parquet": _parquet}
    suffix, reached = Path(path).suffix.lower(), 0
    place: Any = atomic_folder(path, ZARR_MARKS) if suffix == ZARR else atomic_write(path)
    with (
        place as opened,
        writers[suffix](opened, table, rows, columns) as write,
        progress_bar(shown=progress, total=len(rows), unit=" rows") as bar,
        closing(_written(table, write, beside=suffix == ZARR or _is_file(opened))) as written,
    ):
        for count, found in written:
            reached += found
            bar.update(count)
    return reached


def names_of(
    table: Table, sources: Sequence[int] | Sequence[str] | None, targets: Sequence[int] | Sequence[str] | None
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the checked names of sources and targets, by default their numbers.

    Raises
    ------
    QueryError
        If they are no names, or not as many as sources and targets.
    """
    rows, columns = (
        range(count) if ids is None else named(ids, name)
        for count, ids, name in zip(table.shape, (sources, targets), ("sources", "targets"), strict=True)
    )
    if (len(rows), len(columns)) != table.shape:
        raise QueryError(
            f"there are names for {len(rows)} sources and {len(columns)} targets, "
            f"and the table has {table.shape[0]} and {table.shape[1]}; name all of them"
        )
    return rows, columns


def _written(table: Table, write: Callable[[Block], None], *, beside: bool) -> Generator[tuple[int, int], None, None]:
    """Write the blocks of a table while the next ones are computed; yield the rows and connected pairs of each."""
    name = table.metrics[0]

    def take(block: Block) -> tuple[int, int]:
        write(block)
        return len(block[name]), num_reached(block[name])

    with ThreadPoolExecutor(1, "vkssp-table") as thread:
        waiting: deque[Future[tuple[int, int]]] = deque()
        try:
            for block in table:
                if beside:
                    try:
                        waiting.append(thread.submit(take, block))
                    except RuntimeError:  # the program is about to end, or may have no more threads
                        beside = False
                while len(waiting) > (_WAITING_BLOCKS if beside else 0):
                    yield waiting.popleft().result()
                if not beside:
                    yield take(block)
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


def num_reached(values: npt.NDArray[Any]) -> int:
    """Return the number of pairs that a path connects."""
    return values.size - int(np.count_nonzero(is_missing(values)))


def is_missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs that no path connects."""
    missing: npt.NDArray[np.bool_] = (
        ~np.isfinite(values) if values.dtype.kind == "f" else values == missing_value(values.dtype)
    )
    return missing


def missing_value(dtype: np.dtype[Any]) -> float:
    """Return the value that stands for no path in an array: of seconds and metres NaN, of real weights infinity."""
    if dtype.kind == "f":
        return np.nan if dtype == np.float32 else np.inf
    return int(np.iinfo(dtype).max)


@contextmanager
def _npy(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    fields = [(COLUMNS[name], dtype) for name, dtype in table.dtypes.items()]
    dtype = np.dtype(fields) if len(fields) > 1 else fields[0][1]
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": table.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    with _on_its_way(stream) as hurry:

        def write(block: Block) -> None:
            if len(fields) == 1:
                stream.write(np.ascontiguousarray(block[table.metrics[0]]).data)
            else:
                packed: npt.NDArray[Any] = np.empty(block[table.metrics[0]].shape, dtype)
                for name, values in block.items():
                    packed[COLUMNS[name]] = values
                stream.write(packed.tobytes())
            hurry()

        yield write


def _is_file(stream: IO[bytes]) -> bool:
    """Return whether a stream is a file. A pipe may block for ever, and Ctrl-C must not wait for it."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:
        return False


@contextmanager
def _on_its_way(stream: IO[bytes]) -> Iterator[Callable[[], None]]:
    """Yield a function that flushes written data to disk in the background, so that less is left for the end."""
    if not _is_file(stream):
        yield lambda: None
        return
    number, synchronize = stream.fileno(), getattr(os, "fdatasync", os.fsync)
    with ThreadPoolExecutor(1, "vkssp-table") as thread:
        running: Future[None] | None = None

        def hurry() -> None:
            nonlocal running
            if running is not None and not running.done():
                return
            if running is not None:
                running.result()  # a disk reports an error only once
            stream.flush()
            with contextlib.suppress(RuntimeError):  # without a thread the data are flushed at the end
                running = thread.submit(synchronize, number)

        yield hurry
        if running is not None:
            running.result()


@contextmanager
def _zarr(folder: Path, table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    width = max(dtype.itemsize for dtype in table.dtypes.values())
    each = max(1, min(len(rows), CHUNK_BYTES // (width * len(columns))))
    chunk_bytes = each * len(columns) * sum(dtype.itemsize for dtype in table.dtypes.values())
    writers = max(1, min(num_cores(), _WRITING_BYTES // max(1, chunk_bytes), -(-len(rows) // each)))

    def make() -> dict[str, Any]:
        zarr = _import_zarr()
        group = zarr.open_group(folder, mode="w")
        for name, ids in (("source", rows), ("target", columns)):
            values = np.asarray(ids)
            is_number = values.dtype.kind in "iu"
            array = group.create_array(name, shape=values.shape, dtype=values.dtype if is_number else str)
            array[:] = values if is_number else values.astype(object)  # NumPy 1 has no other strings of any length
        # zarr would compare all values with the fill value in its one thread, on which all writers wait.
        with zarr.config.set({"array.write_empty_chunks": True}):
            return {
                name: group.create_array(
                    COLUMNS[name],
                    shape=table.shape,
                    chunks=(each, len(columns)),
                    dtype=dtype,
                    fill_value=missing_value(dtype),
                    dimension_names=("source", "target"),
                )
                for name, dtype in table.dtypes.items()
            }

    def store(chunk: Block, begin: int, end: int) -> None:
        for name, array in arrays.items():
            array[begin:end] = chunk[name][: end - begin]

    # In other threads, since zarr's own threads go on after Ctrl-C ends its call, and would make files in a folder that
    # is being removed; in several, since the compression of a chunk takes longer than most searches for its rows.
    with ThreadPoolExecutor(writers, "vkssp-zarr") as threads:

        def begun(work: Callable[..., Any], *given: Any) -> Future[Any]:
            try:
                return threads.submit(work, *given)
            except RuntimeError:  # the program is about to end, or may have no more threads
                done: Future[Any] = Future()
                done.set_result(work(*given))
                return done

        arrays, writing = begun(make).result(), deque[tuple[Future[Any], Block]]()

        def free_chunk() -> Block:
            """Return memory for a chunk, which may have to be written before."""
            if len(writing) < writers:
                return {name: np.empty((each, len(columns)), dtype) for name, dtype in table.dtypes.items()}
            oldest, chunk = writing.popleft()
            oldest.result()
            return chunk

        # A chunk is compressed as a whole, so it is written once, when it has all of its rows.
        waiting, at = free_chunk(), 0

        def write(block: Block) -> None:
            nonlocal waiting, at
            count = len(block[table.metrics[0]])
            first = 0
            while first < count:
                place = at % each
                size = min(each - place, count - first)
                for name, values in block.items():
                    waiting[name][place : place + size] = values[first : first + size]
                first, at = first + size, at + size
                if at % each == 0 or at == len(rows):
                    writing.append((begun(store, waiting, at - (at - 1) % each - 1, at), waiting))
                    waiting = free_chunk()

        try:
            yield write
            for one, _ in writing:
                one.result()
        finally:
            for one, _ in writing:
                one.cancel()


@contextmanager
def _csv(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    import io

    text = io.TextIOWrapper(stream, "utf-8", newline="")
    lines = csv_writer(text)
    lines.writerow(["source", "target", *(COLUMNS[name] for name in table.metrics)])
    at = iter(rows)

    def cells(values: npt.NDArray[Any]) -> list[Any]:
        # Single precision has seven digits; further digits of a double are noise.
        plain = (values.astype(np.float64).round(3) if values.dtype == np.float32 else values).astype(object)
        plain[is_missing(values)] = ""
        listed: list[Any] = plain.tolist()
        return listed

    def write(block: Block) -> None:
        for row in range(len(block[table.metrics[0]])):
            source = next(at)
            parts = [cells(block[name][row]) for name in table.metrics]
            lines.writerows(zip([source] * len(columns), columns, *parts, strict=True))

    try:
        yield write
        text.flush()
    finally:
        text.detach()


def arrow_rows(
    table: Table, rows: Sequence[Any], columns: Sequence[Any], names: tuple[str, str] = ("source", "target")
) -> tuple[Any, Callable[[Block], Any]]:
    """Return the Arrow schema of a table, a row for each pair, and a function that makes batches of successive blocks.

    Parameters
    ----------
    table : Table
        The table.
    rows, columns : sequence
        Names of sources and targets.
    names : tuple of (str, str)
        Names of the columns of these.
    """
    pyarrow = pyarrow_for(*_PARQUET)
    types = {name: pyarrow.from_numpy_dtype(dtype) for name, dtype in table.dtypes.items()}
    sources, targets = pyarrow.array(rows), pyarrow.array(columns)
    fields = [(COLUMNS[name], types[name]) for name in table.metrics]
    schema = pyarrow.schema([(names[0], sources.type), (names[1], targets.type), *fields])
    at = 0

    def batch(block: Block) -> Any:
        nonlocal at
        count = len(block[table.metrics[0]])
        arrays = [
            sources.take(pyarrow.array(np.repeat(np.arange(at, at + count), len(columns)))),
            pyarrow.concat_arrays([targets] * count),
            *(
                pyarrow.array(block[name].reshape(-1), types[name], mask=is_missing(block[name]).reshape(-1))
                for name in table.metrics
            ),
        ]
        at += count
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    return schema, batch


@contextmanager
def _parquet(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    schema, batch = arrow_rows(table, rows, columns)
    with pyarrow_for(*_PARQUET).parquet.ParquetWriter(stream, schema) as writer:
        yield lambda block: writer.write_batch(batch(block))
