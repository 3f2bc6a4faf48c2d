"""Amounts of pieces of streets between successive nodes of OpenStreetMap, in whole units, as OSRM has them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.streets import MOST_PIECE_UNITS
from vkssp.osm.segments import Floats, Segments, steps_between

Pieces = npt.NDArray[np.uint32]


def shared_pieces(
    values: Floats, segments: Segments, even: npt.NDArray[np.bool_], unit: float, *, ellipsoid: bool
) -> Pieces:
    """Return the shares of pieces in values of segments, in whole units, at least one each.

    Parameters
    ----------
    values : numpy.ndarray
        Values of each segment along its way and against it, infinity if not allowed, shape (num_segments, 2).
    segments : Segments
        The segments.
    even : numpy.ndarray
        Whether the pieces of each segment have equal shares, not shares by length, shape (num_segments,), bool.
    unit : float
        The unit.
    ellipsoid : bool
        As for `cut_ways`.

    Returns
    -------
    numpy.ndarray
        For the piece after each point, as `Streets.piece_weight`; 0 where a direction is not allowed, and on links of
        gates, which have no length. Shape (num_points, 2), uint32.
    """
    lat, lon = segments.points.T
    metres = steps_between(np.ascontiguousarray(lat), np.ascontiguousarray(lon), ellipsoid=ellipsoid)
    inside, segment = _inside(segments)
    count = np.bincount(segment, minlength=len(even))
    share = np.where(even[segment], 1.0 / count[segment], metres[inside] / np.maximum(segments.length[segment], 1e-9))
    found = np.zeros((len(segments.points), 2), np.uint32)
    for side in (0, 1):
        driven = (values[:, side] - segments.wait)[segment]
        counts = (segments.length[segment] > 0) & np.isfinite(driven)
        units = np.maximum(np.rint(share * np.where(counts, driven, 0.0) / unit), 1.0)
        found[inside, side] = np.where(counts, np.minimum(units, MOST_PIECE_UNITS), 0)
    return own(found)


def equal_pieces(values: Floats, segments: Segments, units: int) -> Pieces:
    """Return the same number of units for each piece, as `shared_pieces` does its shares."""
    inside, segment = _inside(segments)
    found = np.zeros((len(segments.points), 2), np.uint32)
    counts = (segments.length[:, None] > 0) & np.isfinite(values)
    found[inside] = np.where(counts[segment], min(units, MOST_PIECE_UNITS), 0)
    return own(found)


def sums_of(pieces: Pieces, values: Floats, segments: Segments, unit: float) -> Floats:
    """Return values of segments, those with length replaced by the sums of their pieces, in the unit of values."""
    inside, segment = _inside(segments)
    sums = np.column_stack(
        [np.bincount(segment, weights=pieces[inside, side], minlength=len(values)) for side in (0, 1)]
    )
    has_pieces = (segments.length[:, None] > 0) & np.isfinite(values)
    return np.where(has_pieces, sums * unit + segments.wait[:, None], values)


def _inside(segments: Segments) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the points after which a piece follows, and the segment of each."""
    first = segments.polyline_first.astype(np.int64)
    has_piece = np.ones(len(segments.points), np.bool_)
    has_piece[first[1:] - 1] = False
    return np.flatnonzero(has_piece), np.repeat(np.arange(len(first) - 1), np.diff(first) - 1)
