"""Files of traffic in CSV: speeds between OSM nodes, and times of turns, as OSRM takes them."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.checks import no_file, path_of
from vkssp.errors import FormatError


class TrafficRows(NamedTuple):
    """Rows of a file.

    Attributes
    ----------
    nodes : numpy.ndarray
        OSM node ids, int64, shape (k, 2) or (k, 3).
    values : numpy.ndarray
        Speeds in km/h or seconds, shape (k,), float64.
    weights : numpy.ndarray
        Rates or weights of turns, shape (k,), float64: NaN where the row has none, infinity where its column is empty.
    """

    nodes: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


def read_segment_speeds(path: str | Path) -> TrafficRows:
    """Read a file of speeds: ``from,to,km/h`` and, if wanted, the rate; further columns are left out.

    Raises
    ------
    FormatError
        If the file is missing, or a line is none of that; the message names it.
    """
    return _read(path, 2)


def read_turn_penalties(path: str | Path) -> TrafficRows:
    """Read a file of turns: ``from,via,to,seconds`` and, if wanted, the weight; see `read_segment_speeds`."""
    return _read(path, 3)


def _read(path: str | Path, columns: int) -> TrafficRows:
    source = path_of(path)
    nodes: list[list[int]] = []
    values: list[float] = []
    weights: list[float] = []
    try:
        with source.open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), 1):
                if not any(field.strip() for field in row):
                    continue
                try:
                    nodes.append([int(field) for field in row[:columns]])
                    values.append(float(row[columns]))
                    text = row[columns + 1].strip() if len(row) > columns + 1 else None
                    weights.append(math.nan if text is None else float(text) if text else math.inf)
                    if not (math.isfinite(values[-1]) and (columns == 3 or values[-1] >= 0)):
                        raise ValueError
                except (ValueError, IndexError):
                    wanted = "from,to,km/h[,rate]" if columns == 2 else "from,via,to,seconds[,weight]"
                    raise FormatError(
                        f"{source}, line {number}: {','.join(row)[:60]!r} is malformed; give {wanted}"
                    ) from None
    except FileNotFoundError:
        raise no_file(source) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"cannot read {source}: {error}") from error
    return TrafficRows(
        np.array(nodes, np.int64).reshape(-1, columns), np.array(values, np.float64), np.array(weights, np.float64)
    )
