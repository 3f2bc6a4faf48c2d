"""Node numberings, and the numbering along the Z-order curve, which gives neighbours on the map close ids.

With close ids the ranges of ids that `delta_step` scans stay short, and the distances that a workgroup touches stay in
cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief, fixed, own
from vkssp.checks import array_of, dtype_of, real_numbers, shown
from vkssp.cores import num_cores, run_all
from vkssp.errors import GraphError
from vkssp.graph.bulk import MANY, in_pieces


@dataclass(frozen=True, eq=False)
class Order:
    """Renumbering of nodes, stored in both directions. Make an order with `from_nodes`, which checks its argument.

    Attributes
    ----------
    rank : numpy.ndarray
        New id of each old one, shape (num_nodes,), uint32.
    node : numpy.ndarray
        Old id of each new one, shape (num_nodes,), uint32.
    """

    __repr__ = brief

    rank: npt.NDArray[np.uint32]
    node: npt.NDArray[np.uint32]

    def __post_init__(self) -> None:
        """Protect the arrays from changes; their contents have been checked already."""
        for name in ("rank", "node"):
            array: Any = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != np.uint32 or array.ndim != 1:
                raise GraphError(f"{name} is {shown(array)}, not checked; make an order with Order.from_nodes")
            object.__setattr__(self, name, fixed(array))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks."""
        return type(self).from_nodes, (self.node,)

    @classmethod
    def from_nodes(cls, node: npt.ArrayLike) -> Order:
        """Make an order from the old ids in their new sequence.

        Raises
        ------
        GraphError
            If `node` does not hold every id from 0 on exactly once.
        """
        given = array_of(node, "node", "node ids")
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise GraphError(
                f"node has shape {given.shape} and dtype {dtype_of(given)}; give a one-dimensional permutation"
            )
        nodes = given.astype(np.int64)
        rank = np.full(len(nodes), -1, np.int64)
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= len(nodes)):
            raise GraphError(f"node holds ids outside 0 to {len(nodes) - 1}; give a permutation")
        rank[nodes] = np.arange(len(nodes))
        if np.any(rank < 0):
            raise GraphError(f"node leaves out id {int(np.argmin(rank))}; give a permutation")
        return cls(own(rank.astype(np.uint32)), own(nodes.astype(np.uint32)))

    @property
    def is_identity(self) -> bool:
        """Whether every node keeps its id."""
        return bool(np.array_equal(self.node, np.arange(len(self.node), dtype=np.uint32)))


# Points whose bounding square has a smaller side count as one point: the division by such a side would overflow.
_LEAST_SIDE = 1e-290


def spread_bits(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Move bit i of each 32-bit value to bit 2i."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        values = (values | (values << np.uint64(shift))) & np.uint64(mask)
    return values


def z_order(lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64]) -> Order:
    """Return the numbering of points along the Z-order curve (Morton 1966).

    Parameters
    ----------
    lat, lon : numpy.ndarray
        Coordinates in degrees, shape (num_nodes,) each. The curve covers their bounding square, so that its cells are
        as wide as high.

    Notes
    -----
    Points of the same cell, such as equal points, keep their given sequence.

    Raises
    ------
    GraphError
        If the coordinates are not finite numbers, or if `lat` and `lon` differ in length.
    """
    lat, lon = real_numbers(lat, "lat"), real_numbers(lon, "lon")
    if len(lat) != len(lon):
        raise GraphError(f"lat has {len(lat)} entries and lon {len(lon)}; give one of each per node")
    for values, name in ((lat, "lat"), (lon, "lon")):
        if not np.isfinite(values).all():
            at = int(np.argmin(np.isfinite(values)))
            raise GraphError(f"{name}[{at}] is {values[at]}; give finite numbers")
    if len(lat) == 0:
        return Order.from_nodes(np.zeros(0, np.uint32))
    # A degree of longitude is shorter than a degree of latitude. Without this factor, cells far north would be thin.
    west, south, north = lon.min(), lat.min(), lat.max()
    width = np.cos(np.radians(np.clip((south + north) / 2, -89.0, 89.0)))
    side = max(float((lon.max() - west) * width), float(north - south))
    scale = (2**32 - 1) / side if side > _LEAST_SIDE else 0.0
    key = np.empty(len(lat), np.uint64)

    def compute(some: slice) -> None:
        x = ((lon[some] - west) * width * scale).astype(np.uint64)
        y = ((lat[some] - south) * scale).astype(np.uint64)
        key[some] = spread_bits(x) | (spread_bits(y) << np.uint64(1))

    in_pieces(len(key), compute)
    node = _sorted_by(key)
    rank = np.empty(len(node), np.uint32)
    rank[node] = np.arange(len(node), dtype=np.uint32)
    return Order(own(rank), own(node))


def _sorted_by(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """Return the stable order of keys; if they are many, each core sorts a range of them."""
    if len(key) < MANY or num_cores() == 1:
        return np.argsort(key, kind="stable").astype(np.uint32)
    sample = np.sort(key[:: len(key) >> 12])
    bounds = sample[np.arange(1, num_cores()) * len(sample) // num_cores()]

    def sort(number: int) -> npt.NDArray[np.uint32]:
        # All keys from the bound before up to this core's own; the first and the last core have only one.
        is_mine = np.ones(len(key), np.bool_) if number == 0 else key >= bounds[number - 1]
        if number < len(bounds):
            is_mine &= key < bounds[number]
        mine = np.flatnonzero(is_mine).astype(np.uint32)
        return mine[np.argsort(key[mine], kind="stable")]

    return np.concatenate(run_all([partial(sort, number) for number in range(len(bounds) + 1)]))
