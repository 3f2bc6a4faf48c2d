"""Scaling of real weights: the unit in which they are whole numbers, exactly if there is such a unit, or rounded.

Weights have a common unit if they are whole numbers, or decimal or binary fractions such as 12.5 and 0.25, or multiples
of any other number. Otherwise the unit is chosen so that the largest distance, which two searches estimate, uses the 32
bits. A path is then wrong by at most half a unit for each of its arcs. If that is more than the caller accepts, the
unit is smaller, and distances need 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import is_fixed, own
from vkssp.checks import column_of, index_of, number_of, shown, whole_numbers
from vkssp.errors import GraphError
from vkssp.graph.bulk import checked_uint32, greatest_of
from vkssp.graph.csr import Floats, Uint32s, transposed
from vkssp.graph.units import MOST_SCALE, MOST_UNITS, Units, real_weights
from vkssp.memory import require

#: Default of the argument `scale`: the unit is chosen.
AUTO: Final = "auto"
# Weights are rounded to a unit in which this many times the estimated largest distance fits.
_ROOM = 1.25
# Whole numbers are exact in float64 up to this.
_MOST_WHOLE = 2.0**53
# From as many nodes or arcs on scipy does not search.
_MOST_ARCS = 2**31 - 1
# Least number of bytes that scipy's searches take for each node and arc.
_SEARCH_NODE_BYTES, _SEARCH_ARC_BYTES = 48, 24
_SCALE = "give a number for scale, which needs no estimate"
# Fewest weights that all cores copy and check.
_MANY = 1 << 16
# Number of weights that a unit is tried with before all are.
_SAMPLE = 1024
_EPS = float(np.finfo(np.float64).eps)
_CURE = "; floats, such as np.asarray(weight, float), may be larger"


class Scaled(NamedTuple):
    """Weights as searches use them.

    Attributes
    ----------
    weight : numpy.ndarray
        Weights in units, shape (num_arcs,), uint32.
    scale : float or None
        The caller's units for one of these; None if the caller's weights are whole numbers.
    error : float
        Largest difference between an arc's weight and the multiple of the unit; 0 if it is only that of floats, which
        are rounded themselves.
    """

    weight: Uint32s
    scale: float | None
    error: float

    def take(self, arcs: npt.NDArray[Any]) -> Scaled:
        """Return the weights of some arcs, in their order."""
        return self._replace(weight=own(self.weight[arcs]))


class GivenWeights(NamedTuple):
    """Weights of the caller, checked.

    Attributes
    ----------
    values : numpy.ndarray
        Whole numbers, uint32, or real numbers, float64.
    eps : float or None
        Relative precision of real numbers; None for whole numbers.
    """

    values: npt.NDArray[Any]
    eps: float | None

    def take(self, arcs: npt.NDArray[Any]) -> GivenWeights:
        """Return the weights of some arcs, in their order."""
        return GivenWeights(own(self.values[arcs]), self.eps)


def checked_scale(scale: Any) -> float | str | None:
    """Return the argument `scale`: ``"auto"``, None, or a positive number.

    Raises
    ------
    GraphError
        If it is something else, or so large that distances might pass the largest float.
    """
    if scale is None or (isinstance(scale, str) and scale == AUTO):
        return scale
    number = number_of(scale)
    if number is None or not 0 < number <= MOST_SCALE:
        raise GraphError(
            f"scale is {shown(scale)}; give 'auto', None, or your units for one unit of weight, a number above 0 up to "
            f"{MOST_SCALE:.1g}"
        )
    return number


def given_weights(weight: npt.ArrayLike, scale: float | str | None, name: str = "weight") -> GivenWeights:
    """Return the caller's weights: real numbers if their type is floating or the scale a number, else whole ones.

    Raises
    ------
    GraphError
        If one is no weight; the message names the entry, its value and the cure.
    """
    if _is_large(weight) and not isinstance(scale, float):
        array = np.asarray(weight)
        if array.dtype == np.uint32 and array.flags.c_contiguous and is_fixed(array):
            found = array if greatest_of(array, 0) <= MOST_UNITS else None
        else:
            found = checked_uint32(array, MOST_UNITS)
        if found is not None:  # else there is an error to be told
            return GivenWeights(found, None)
    if scale is None:
        return GivenWeights(whole_numbers(weight, name, "weights", MOST_UNITS), None)
    array = column_of(weight, name, "weights", GraphError)
    is_empty_list = array.size == 0 and not hasattr(weight, "dtype")  # which NumPy takes for floats
    are_whole = array.dtype.kind in "iub" or (array.dtype.kind == "O" and None not in map(index_of, array.tolist()))
    if scale == AUTO and (are_whole or is_empty_list):
        return GivenWeights(whole_numbers(array, name, "weights", MOST_UNITS, cure=_CURE), None)
    eps = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else _EPS
    return GivenWeights(real_weights(array, name), max(eps, _EPS))


def _is_large(weight: npt.ArrayLike) -> bool:
    """Return whether weights are an array of so many integers that copying and checking them pays on all cores."""
    is_plain = isinstance(weight, np.ndarray) and weight.ndim == 1 and weight.dtype.kind in "iu"
    return is_plain and len(weight) >= _MANY  # type: ignore[arg-type]


def checked_error(error: Any) -> float:
    """Return the argument `max_weight_error`, infinite if it is None.

    Raises
    ------
    GraphError
        If it is not a number from 0 on.
    """
    number = math.inf if error is None else number_of(error)
    if number is None or not number >= 0:
        raise GraphError(f"max_weight_error is {shown(error)}; give a number in your units, from 0 on, or leave it out")
    return number


def scaled(
    weights: GivenWeights, scale: float | str | None, first_out: Uint32s, head: Uint32s, most_error: float = math.inf
) -> Scaled:
    """Return weights in units, of a chosen unit if `scale` is ``"auto"``.

    Raises
    ------
    GraphError
        If a weight does not fit into 32 bits in units of a given size, if rounding makes a weight wrong by more than
        `most_error`, if weights add up to more than the largest float, or if the graph is too large for an estimate.
    """
    values = weights.values
    if weights.eps is None:
        return Scaled(values, None, 0.0)
    if scale == AUTO:
        return _chosen(values, weights.eps, first_out, head, most_error)
    assert isinstance(scale, float)
    found = in_units(values, scale, weights.eps)
    if found.error > most_error:
        raise GraphError(
            f"in units of {scale:g} weights are wrong by up to {found.error:.3g}, more than max_weight_error, "
            f"{most_error:g}; give a smaller scale, or 'auto'"
        )
    return found


def in_units(values: Floats, scale: float, eps: float = _EPS) -> Scaled:
    """Return weights in units of a given size, rounded to the nearest.

    Raises
    ------
    GraphError
        If a weight does not fit into 32 bits.
    """
    whole = np.rint(Units(scale).whole(values))
    if whole.max(initial=0.0) > MOST_UNITS:
        at = int(np.argmax(values))
        raise GraphError(
            f"weight[{at}] is {values[at]}, more than 2**32 - 2 units of {scale:g}; give a scale of "
            f"{values[at] / MOST_UNITS:.3g} or more"
        )
    return _rounded(values, whole, scale, eps)


def _rounded(values: Floats, whole: Floats, scale: float, eps: float) -> Scaled:
    off = np.abs(values - Units(scale).sums(whole))
    # The rounding of short floats is none of ours only where it is much less than a unit, which whole numbers are near.
    least = np.where(2 * eps * values <= scale / 8, 2 * eps, 2 * _EPS) * values
    error = 0.0 if (off <= least).all() else float(off.max())
    return Scaled(own(whole.astype(np.uint32)), scale, error)


def _chosen(values: Floats, eps: float, first_out: Uint32s, head: Uint32s, most_error: float) -> Scaled:
    """Return weights in a common unit if they have one in which distances fit, or else rounded to a suitable one.

    Where rounding makes a weight wrong by more than `most_error`, only weights fit into 32 bits, not all distances.
    """
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        return Scaled(own(np.zeros(len(values), np.uint32)), 1.0, 0.0)
    farthest: float | None = None
    exact: Scaled | None = None
    for scale, whole in common_units(values, eps):
        if scale > MOST_SCALE:
            continue
        if whole.max() <= MOST_UNITS and bound_of_distances(first_out, whole) <= MOST_UNITS:
            return _rounded(values, whole, scale, eps)
        divisor = float(np.gcd.reduce(whole.astype(np.int64)))
        if largest > MOST_UNITS * scale * divisor:
            continue
        farthest = farthest or largest_distance(first_out, head, values)
        if exact is None and most_error < math.inf:
            factor = 1.0 if whole.max() <= MOST_UNITS else divisor
            exact = _rounded(values, whole / factor, scale * factor, eps)
        for factor in (1.0, divisor):
            if farthest <= MOST_UNITS * scale * factor and scale * factor <= MOST_SCALE:
                return _rounded(values, whole / factor, scale * factor, eps)
    farthest = farthest or largest_distance(first_out, head, values)
    # Of the smallest floats no smaller unit is one.
    scale = max(farthest * _ROOM / MOST_UNITS, float(np.finfo(np.float64).smallest_subnormal))
    if not scale <= MOST_SCALE:
        raise GraphError("weights add up to more than the largest float, 1.8e308; divide them by a common factor")
    found = in_units(values, scale, eps)
    if found.error > most_error:
        found = exact or in_units(values, largest / MOST_UNITS, eps)
    if found.error > most_error:
        raise GraphError(
            f"weights are up to {largest:g}, so that those of 32 bits are wrong by up to {found.error:.3g}, more than "
            f"max_weight_error, {most_error:g}; give a larger one"
        )
    return found


def fit_32_bits(first_out: Uint32s, head: Uint32s, weight: Uint32s, unit: float) -> bool:
    """Return whether all distances, in a larger unit, fit into 32 bits, with some room, as far as two searches tell."""
    whole = weight / unit
    if not whole.any() or bound_of_distances(first_out, whole) <= MOST_UNITS:
        return True
    if max(len(first_out), len(head)) >= _MOST_ARCS:
        return False
    return largest_distance(first_out, head, whole) * _ROOM <= MOST_UNITS


def bound_of_distances(first_out: Uint32s, whole: npt.NDArray[Any]) -> float:
    """Return a bound of distances: a shortest path leaves each node at most once."""
    has_arcs = np.flatnonzero(first_out[1:] > first_out[:-1])
    return float(np.maximum.reduceat(whole, first_out[has_arcs]).sum())


def common_units(values: Floats, eps: float = _EPS) -> Iterator[tuple[float, Floats]]:
    """Yield units of which all weights are multiples, except for the rounding of floats, and these multiples.

    Parameters
    ----------
    values : numpy.ndarray
        Weights from 0 on, not all of them 0, shape (num_arcs,), float64.
    eps : float
        Relative precision of the weights.

    Yields
    ------
    tuple of (float, numpy.ndarray)
        A unit, and the multiples, whole numbers, float64: the largest of 1, 1/10, 1/100 and so on, then the largest
        power of two, then any other unit.
    """
    positive = values[values > 0]
    sample = positive[:: max(1, len(positive) // _SAMPLE)]
    for candidates in _candidates(sample, float(positive.max()), eps):
        for unit in candidates:
            whole = None if _multiples(sample, unit, eps) is None else _multiples(values, unit, eps)
            if whole is not None:
                yield unit, whole
                break


def _candidates(sample: Floats, largest: float, eps: float) -> Iterator[list[float]]:
    """Yield lists of units, in descending order, that weights may be multiples of."""
    most = min(_MOST_WHOLE, 1 / (32 * eps))  # beyond, all numbers are near to whole ones
    yield [float(f"1e-{digits}") for digits in range(16) if largest * 10.0**digits <= most]
    fractions, exponents = np.frexp(sample)
    bits = np.ldexp(fractions, 53).astype(np.int64)
    last = np.frexp((bits & -bits).astype(np.float64))[1] - 1
    unit = math.ldexp(1.0, int((exponents - 53 + last).min()))
    yield [unit] if unit > 0 and largest <= unit * _MOST_WHOLE else []
    # Euclid's algorithm; smaller remainders than the smallest useful unit stand for 0.
    least, divisor = largest / MOST_UNITS, largest
    noise = max(least / 2, 64 * eps * largest)
    for value in sample.tolist():
        while value > noise:
            divisor, value = value, abs(math.remainder(divisor, value))
        if divisor < least:
            break
    yield [largest / round(largest / divisor)] if divisor >= least else []


def _multiples(values: Floats, unit: float, eps: float) -> Floats | None:
    """Return weights as multiples of a unit, whole numbers, or None if one is none."""
    units = Units(unit)
    whole: Floats = np.rint(units.whole(values))
    if not whole.max() <= _MOST_WHOLE or (np.abs(values - units.sums(whole)) > 2 * eps * values).any():
        return None
    return whole


def largest_distance(first_out: Uint32s, head: Uint32s, values: Floats) -> float:
    """Return an estimate of the largest distance between nodes, by two searches: from a node, and to the farthest one.

    It is a distance that occurs, or the largest weight; in road networks few others are larger. Where the first search
    reaches less than half of the nodes, searches are made in each connected part of the graph.

    Parameters
    ----------
    first_out, head : numpy.ndarray
        Rows of arcs, at least one of them.
    values : numpy.ndarray
        Weights from 0 on, not all of them 0, shape (num_arcs,), float64.

    Raises
    ------
    GraphError
        If the graph has 2**31 - 1 arcs or more, too many for scipy's searches.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    num_nodes, num_arcs = len(first_out) - 1, len(head)
    if max(num_nodes, num_arcs) >= _MOST_ARCS:
        raise GraphError(f"the largest distance over {num_arcs:,} arcs cannot be estimated; give a number for scale")
    require(
        _SEARCH_NODE_BYTES * num_nodes + _SEARCH_ARC_BYTES * num_arcs, "an estimate of the largest distance", _SCALE
    )
    largest = float(values.max())
    relative = values / largest  # so that no sum passes the largest float
    offsets, heads = first_out.astype(np.int32), head.astype(np.int32)
    there = sparse.csr_array((relative, heads, offsets), shape=(num_nodes, num_nodes))
    degree, parts = np.diff(offsets), np.zeros(num_nodes, np.int64)

    def search(rows: Any, sources: npt.NDArray[Any]) -> Floats:
        found: Floats = csgraph.dijkstra(rows, indices=sources, min_only=True)
        return np.where(np.isfinite(found), found, -1.0)

    def first_by_part(value: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        by_part = np.lexsort((-value, parts))
        first: npt.NDArray[np.int64] = by_part[np.unique(parts[by_part], return_index=True)[1]]
        return first

    near = search(there, np.array([np.argmax(degree)]))
    if 2 * np.count_nonzero(near >= 0) < np.count_nonzero(degree):
        parts = csgraph.connected_components(there, connection="weak")[1]
        sources = first_by_part(degree)
        near = search(there, sources[degree[sources] > 0])
    ends = first_by_part(near)
    far = search(transposed(offsets, heads, relative, num_nodes), ends[near[ends] >= 0])
    return max(1.0, float(near.max()), float(far.max())) * largest
