"""Writing of tables in place by many tasks; a run that was stopped goes on where it was."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import flag, path_of
from vkssp.dask.blocks import Blocks
from vkssp.dask.cluster import connected, resources_of
from vkssp.dask.driver import results
from vkssp.dask.graph_source import hash_of
from vkssp.dask.manifest import Manifest
from vkssp.dask.question import Facts, TableQuestion
from vkssp.dask.table_store import ENDINGS, PARQUET, PARQUET_MARK, TableStore, told_by
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional
from vkssp.files import ZARR_MARKS, atomic_folder, check_folder
from vkssp.solver.table_file import names_of, num_reached
from vkssp.terminal import progress_bar

#: Ending of the folder that holds an unfinished table, and its manifest.
PARTIAL = ".partial"
_MANIFEST = "manifest.jsonl"


@dataclass(frozen=True)
class Written:
    """Result of a task that has written a block.

    Attributes
    ----------
    reached : int
        Number of pairs that a path connects.
    """

    reached: int


def write_block(store: TableStore, first: int, end: int) -> Written:
    """Compute some rows, and write them; a task of a worker."""
    block = SOLVERS.block(store.question, first, end)
    try:
        store.write(block, first, end)
    except QueryError as error:  # this process lacks a library that the caller has
        raise QueryError(f"on the worker at {socket.gethostname()}: {error}") from error
    return Written(num_reached(next(iter(block.values()))))


def check_name(path: str | Path) -> None:
    """Raise an error unless tasks can write a table of this name.

    Raises
    ------
    FormatError
        If its ending names no format, or something else is there.
    QueryError
        If a library that writes the format is not installed.
    """
    suffix = path_of(path).suffix.lower()
    if suffix not in ENDINGS:
        raise FormatError(
            f"cannot write a table to {path} by many tasks: its name must end in one of {', '.join(ENDINGS)}"
        )
    if suffix == PARQUET:
        pyarrow_for("Parquet files need", "write .zarr")
    else:
        optional("zarr", "Zarr arrays need", "table", "write .parquet")
    check_folder(path, _marks(path))


def _marks(path: str | Path) -> tuple[str, ...]:
    return (PARQUET_MARK,) if Path(path).suffix.lower() == PARQUET else ZARR_MARKS


def write_table(
    path: str | Path,
    question: TableQuestion,
    facts: Facts,
    blocks: Blocks,
    sources: Any,
    targets: Any,
    cluster: Any,
    progress: bool,
) -> int:
    """Write a table to a folder, block by block; see `vkssp.dask.DaskTable.write`."""
    check_name(path)
    progress, target = flag(progress, "progress"), Path(os.path.realpath(path))
    rows, columns = names_of(facts.table(), sources, targets)
    told = {
        "vkssp": question.version,
        "graph": question.graph.digest,
        "question": hash_of([question.token, list(rows), list(columns)]),
    }
    aside = target.with_name(f"{target.name}{PARTIAL}")
    here = told_by(target)
    if told.items() <= here.items() and isinstance(here.get("reached"), int):
        shutil.rmtree(aside, ignore_errors=True)
        return int(here["reached"])
    store = TableStore(question, facts, str(aside / target.name), target.suffix.lower(), rows, columns)
    try:
        aside.mkdir(exist_ok=True)
        with Manifest.opened(aside / _MANIFEST, told, blocks) as manifest:
            store.make(manifest.blocks)
            _fill(store, manifest, cluster, progress)
            reached = sum(int(one["reached"]) for one in manifest.done.values())
            store.close({**told, "reached": reached})
        with atomic_folder(target, _marks(path)) as new:
            new.rmdir()
            os.replace(store.folder, new)
    except OSError as error:
        raise FormatError(
            f"cannot write {path}: {error.strerror or error}; make room, or choose another place"
        ) from error
    shutil.rmtree(aside, ignore_errors=True)
    return reached


def _fill(store: TableStore, manifest: Manifest, cluster: Any, progress: bool) -> None:
    """Compute and write the blocks that are missing."""
    blocks = manifest.blocks
    there = {first for first, one in manifest.done.items() if store.has(first, one["end"], blocks.chunk)}
    missing = [(first, end) for first, end in blocks.ranges() if first not in there]
    for first in set(manifest.done) - there:
        del manifest.done[first]
    if not missing:
        return
    with (
        connected(cluster) as client,
        progress_bar(shown=progress, total=blocks.count, unit=" rows") as bar,
        closing(results(client, store, write_block, missing, resources_of(client), "table")) as made,
    ):
        bar.update(blocks.count - sum(end - first for first, end in missing))
        for number, written in made:
            first, end = missing[number]
            manifest.add(first, end, {"reached": written.reached})
            bar.update(end - first)
