"""Timing of writing tables to files, compared with plain writes of as many bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s
from vkssp.signals import undoing
from vkssp.solver.solver import Solver
from vkssp.terminal import printable

#: Number of timed repetitions of each; bytes of one plain write call.
REPETITIONS, PIECE_BYTES = 3, 64 << 20


def write(
    solver: Solver,
    path: str | Path,
    sources: npt.NDArray[np.integer[Any]],
    targets: npt.NDArray[np.integer[Any]],
    expected: Mapping[int, Uint32s],
) -> dict[str, Any]:
    """Time `Solver.write_table`, and writing as many bytes into the same folder, both until the disk has the data.

    Parameters
    ----------
    solver : Solver
        The solver that makes the table.
    path : str or Path
        The file of the table; its name ends in .npy. It is kept.
    sources, targets : numpy.ndarray
        Nodes.
    expected : mapping of int to numpy.ndarray
        All distances from some nodes; the rows of these nodes in the file are compared with them.

    Returns
    -------
    dict
        ``bytes``; ``table_s`` and ``plain_s``, the medians of ``all_table_s`` and ``all_plain_s``; ``compared``, the
        number of compared rows.
    """
    solver.write_table(path, sources, targets)  # the objects that make the rows are kept for the timed calls
    compared = _compare(path, sources, targets, expected)
    nbytes = os.path.getsize(path)
    times: dict[str, list[float]] = {"table": [], "plain": []}
    # The two alternate, so that other work of the disk counts for both.
    for _ in range(REPETITIONS):
        Path(path).unlink()  # removing the old file counts for neither
        began = time.perf_counter()
        solver.write_table(path, sources, targets)
        times["table"].append(time.perf_counter() - began)
        times["plain"].append(_write_plainly(Path(path).resolve().parent, nbytes))
    _compare(path, sources, targets, expected)
    found: dict[str, Any] = {"bytes": nbytes, "compared": compared}
    for name, seconds in times.items():
        found |= {f"{name}_s": float(np.median(seconds)), f"all_{name}_s": seconds}
    return found


def _write_plainly(folder: Path, nbytes: int) -> float:
    """Return the seconds of writing `nbytes` bytes to a file in a folder; the file is removed afterwards."""
    # Random bytes, which a file system cannot compress.
    piece = np.random.default_rng(1).bytes(min(nbytes, PIECE_BYTES))
    path = folder / f".plain.{os.urandom(6).hex()}.part"
    with undoing(lambda: path.unlink(missing_ok=True)), open(path, "xb", buffering=0) as stream:
        began = time.perf_counter()
        for start in range(0, nbytes, PIECE_BYTES):
            part = memoryview(piece)[: nbytes - start]
            while len(part):
                part = part[stream.write(part) :]
        os.fsync(stream.fileno())
        return time.perf_counter() - began


def _compare(
    path: str | Path,
    sources: npt.NDArray[np.integer[Any]],
    targets: npt.NDArray[np.integer[Any]],
    expected: Mapping[int, Uint32s],
) -> int:
    """Compare rows of a file, and return their number; end the program if a row is wrong."""
    written = np.load(path, mmap_mode="r")
    if written.shape != (len(sources), len(targets)):
        raise SystemExit(printable(f"{path} has shape {written.shape}"))
    rows = [place for place, source in enumerate(sources.tolist()) if source in expected]
    for place in rows:
        if not np.array_equal(written[place], expected[int(sources[place])][targets]):
            raise SystemExit(printable(f"wrong distances from {sources[place]} in {path}"))
    return len(rows)
