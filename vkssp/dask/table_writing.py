"""Writing of tables in place by many tasks; a run that was stopped goes on where it was."""

from __future__ import annotations

import os
import re
import shutil
import socket
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import flag, is_storable, path_of, shown
from vkssp.dask.blocks import Blocks
from vkssp.dask.cluster import connected, resources_of
from vkssp.dask.driver import results
from vkssp.dask.graph_source import hash_of
from vkssp.dask.manifest import Manifest
from vkssp.dask.question import Facts, TableQuestion
from vkssp.dask.step_times import WRITE, timed
from vkssp.dask.table_store import ENDINGS, PARQUET, PARQUET_MARK, TableStore, told_by
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional
from vkssp.files import ZARR_MARKS, atomic_folder, check_folder
from vkssp.solver.table_file import names_of
from vkssp.terminal import progress_bar

#: Ending of the folder that holds an unfinished table, and its manifest.
PARTIAL = ".partial"
_MANIFEST = "manifest.jsonl"
# Unfinished tables: a task of a run that was stopped may write to one after all has been removed.
_UNFINISHED = re.compile(r"[0-9a-f]{32}\.(zarr|parquet)(\.new)?")


def write_block(store: TableStore, first: int, end: int) -> int:
    """Compute some rows, write them, and return the number of pairs that a path connects; a task of a worker."""
    block = SOLVERS.block(store.question, first, end)
    try:
        with timed(WRITE):
            return store.write(block, first, end)
    except (QueryError, FormatError) as error:  # this process lacks a library, or a folder, that the caller has
        raise type(error)(f"on the worker at {socket.gethostname()}: {error}") from error


def check_name(path: str | Path) -> None:
    """Raise an error unless tasks can write a table of this name.

    Raises
    ------
    FormatError
        If its ending names no format, something else is there, or nothing can be written there.
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
    target = Path(os.path.realpath(path))
    if told_by(target):
        return  # it may be what is asked for, which nothing is written for
    if not os.access(target.parent, os.W_OK):
        raise FormatError(f"cannot write {path}: {target.parent} is not writable; choose another folder")
    _check_aside(path, _aside(target))


def _check_aside(path: str | Path, aside: Path) -> None:
    """Raise a `FormatError` if the folder of an unfinished table is something else."""
    if not aside.exists() or (aside / _MANIFEST).is_file():
        return
    if not aside.is_dir() or not all(_UNFINISHED.fullmatch(one.name) for one in aside.iterdir()):
        raise FormatError(f"cannot write {path}: {aside} is something else; remove it, or choose another name")


def _aside(target: Path) -> Path:
    """Return the folder that holds a table until it is complete."""
    return target.with_name(f"{target.name}{PARTIAL}")


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
    if wrong := [name for ids in (rows, columns) for name in ids if isinstance(name, str) and not is_storable(name)]:
        raise QueryError(f"{shown(wrong[0])} is a name that no file can hold; give sources and targets other names")
    told = {
        "vkssp": question.version,
        "graph": question.graph.digest,
        "question": hash_of([question.token, rows, columns]),
    }
    aside, here = _aside(target), told_by(target)
    if told.items() <= here.items() and isinstance(here.get("reached"), int):
        with suppress(FormatError, OSError):  # an unfinished table of another question stays
            if (aside / _MANIFEST).is_file():
                with Manifest.opened(aside / _MANIFEST, told, blocks):
                    shutil.rmtree(aside, ignore_errors=True)
        return int(here["reached"])
    ending = target.suffix.lower()
    _check_aside(path, aside)
    try:
        aside.mkdir(exist_ok=True)
        with Manifest.opened(aside / _MANIFEST, told, blocks) as manifest:
            store = TableStore(question, facts, str(aside / f"{manifest.name}{ending}"), ending, rows, columns)
            store.make(manifest.blocks, anew=not manifest.done)
            _fill(store, manifest, cluster, progress)
            reached = sum(int(one["reached"]) for one in manifest.done.values())
            store.close({**told, "reached": reached})
            with atomic_folder(target, _marks(path)) as new:
                new.rmdir()
                os.replace(store.folder, new)
            shutil.rmtree(aside, ignore_errors=True)  # nobody else may begin in it meanwhile
    except OSError as error:
        raise FormatError(
            f"cannot write {path}: {error.strerror or error}; make room, or choose another place"
        ) from error
    with suppress(OSError):
        if os.name == "nt":  # an open file could not be removed
            (aside / _MANIFEST).unlink()
        aside.rmdir()
    return reached


def _fill(store: TableStore, manifest: Manifest, cluster: Any, progress: bool) -> None:
    """Compute and write the blocks that are missing."""
    blocks = manifest.blocks
    there = {
        first
        for first, one in manifest.done.items()
        if isinstance(one.get("reached"), int) and store.has(first, one["end"], blocks.chunk)
    }
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
        for number, reached in made:
            first, end = missing[number]
            manifest.add(first, end, {"reached": reached})
            bar.update(end - first)
