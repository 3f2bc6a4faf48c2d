"""Demand between pairs of nodes, as callers give it: checks, and entries by source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import array_of, dtype_of
from vkssp.errors import QueryError
from vkssp.graph import Uint32s
from vkssp.graph.csr import rows_of
from vkssp.prepared.aggregates import Int64s

#: Bits of the sum of all demand.
SUM_BITS = 62


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a demand, source by source.

    Attributes
    ----------
    sources : numpy.ndarray
        Sources, shape (s,), uint32.
    first : numpy.ndarray
        First entry of each, shape (s + 1,), int64.
    nodes : numpy.ndarray
        Target of each entry, shape (k,), uint32.
    amount : numpy.ndarray
        Demand of each entry, shape (k,), int64 or float64.
    shaped : callable
        Returns an array with an item for each entry in the shape in which the demand was given.
    """

    sources: Uint32s
    first: Int64s
    nodes: Uint32s
    amount: npt.NDArray[Any]
    shaped: Callable[[npt.NDArray[Any]], Any]

    def fixed(self) -> tuple[Int64s, int]:
        """Return amounts as multiples of 2**-exponent, int64, and the exponent."""
        return in_fixed_point(self.amount)


def in_fixed_point(amount: npt.NDArray[Any]) -> tuple[Int64s, int]:
    """Return checked amounts as multiples of 2**-exponent, int64, and the exponent: 0 if they are whole numbers."""
    if amount.dtype.kind != "f" or bool((amount == np.trunc(amount)).all()):
        return amount.astype(np.int64), 0
    exponent = SUM_BITS - 1 - int(np.frexp(float(amount.sum()))[1])
    return np.rint(np.ldexp(amount, exponent)).astype(np.int64), exponent


def entries_of(demand: Any, sources: Uint32s, targets: Uint32s, num_nodes: int, *, whole: bool) -> Entries:
    """Return the entries of a demand.

    Parameters
    ----------
    demand : array_like or sparse matrix
        Amounts, shape (s, t), or shape (s,) if there are as many targets as sources.
    sources, targets : numpy.ndarray
        Checked nodes, shapes (s,) and (t,), uint32.
    num_nodes : int
        Number of nodes of the graph.
    whole : bool
        Whether pairs without demand are entries, too.

    Raises
    ------
    QueryError
        If the demand has another shape, or has amounts that are no finite numbers from 0 on.
    """
    shape = len(sources), len(targets)
    expected = f"give an array or a sparse matrix of shape {shape}, or one number for each pair"
    if hasattr(demand, "tocsr"):
        if demand.shape != shape:
            raise QueryError(f"demand has shape {demand.shape}; {expected}")
        try:
            matrix = demand.tocoo(copy=False)
            given = np.asarray(matrix.data)
            check_amounts(given)
            kind = np.float64 if given.dtype.kind == "f" else np.int64
            matrix = type(matrix)((given.astype(kind), (matrix.row, matrix.col)), shape=shape).tocsr()
        except ValueError as error:
            if isinstance(error, QueryError):
                raise
            raise QueryError(f"demand is no valid sparse matrix ({error}); make it again") from None
        matrix.sum_duplicates()  # in 64 bits
        amount = matrix.data
        like = type(matrix)
        return Entries(
            sources,
            matrix.indptr.astype(np.int64),
            targets[matrix.indices],
            amount,
            lambda found: like((found, matrix.indices, matrix.indptr), shape=shape),
        )
    table = array_of(demand, "demand", "numbers, one for each pair", QueryError)
    if table.ndim == 1 and shape[0] == shape[1] == len(table):
        amount = _amounts(table)
        offsets, order = rows_of(sources, num_nodes)
        origins = np.flatnonzero(np.diff(offsets.astype(np.int64))).astype(np.uint32)
        first = np.append(offsets[origins], len(order)).astype(np.int64)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return Entries(origins, first, targets[order], amount[order], lambda found: found[back])
    if table.shape != shape:
        raise QueryError(f"demand has shape {table.shape}; {expected}")
    amount = _amounts(table.reshape(-1))
    if whole or 2 * np.count_nonzero(amount) >= len(amount):
        first = np.arange(shape[0] + 1) * shape[1]
        return Entries(sources, first, np.tile(targets, shape[0]), amount, lambda found: found.reshape(shape))
    row, column = np.nonzero(table)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(row, minlength=shape[0]))])

    def shaped(found: npt.NDArray[Any]) -> npt.NDArray[Any]:
        result = np.zeros(shape, found.dtype)
        result[row, column] = found
        return result

    return Entries(sources, first, targets[column], amount.reshape(shape)[row, column], shaped)


def check_amounts(given: npt.NDArray[Any]) -> None:
    """Check that amounts are finite numbers from 0 on, with a sum that fits."""
    if given.dtype.kind not in "biuf":
        raise QueryError(f"demand has dtype {dtype_of(given)}; give numbers")
    # A sum of integers might pass 64 bits.
    with np.errstate(over="ignore"):
        total = float(given.sum(dtype=np.float64))
    if not (float(given.min(initial=0)) >= 0 and np.isfinite(total)):
        raise QueryError("demand has numbers that are negative or not finite; give amounts from 0 on")
    if total >= 2.0**SUM_BITS:
        raise QueryError("demand has a sum beyond 2**62; divide it by a factor")


def _amounts(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return checked amounts, int64 or float64."""
    check_amounts(given)
    return given.astype(np.float64 if given.dtype.kind == "f" else np.int64)
