"""Phantom nodes: points on arcs, represented by the nodes that a search starts from or looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s


class PhantomNode(NamedTuple):
    """Connection from a point to a node, or from a node to a point.

    Attributes
    ----------
    node : int
        The node.
    weight : int
        Weight between the point and the node.
    arc : int
        The arc that contains both, -1 if the point is the node.
    at : float
        Share of the arc's length that lies before the point.
    metres, seconds : float
        Length and duration of the part between the point and the streets, if it is not on one.
    units : float
        Whole units of a figure that is summed up along paths, of the part of the arc between point and node.
    """

    node: int
    weight: int
    arc: int = -1
    at: float = 0.0
    metres: float = 0.0
    seconds: float = 0.0
    units: float = 0.0


@dataclass(frozen=True, eq=False)
class PhantomNodes:
    """Phantom nodes of many points as arrays, point by point.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of each point's first phantom node, shape (points + 1,), int64.
    node, weight : numpy.ndarray
        Node and weight of each of them, uint32.
    arc : numpy.ndarray
        The arc that contains point and node, -1 if the point is the node, int64.
    at : numpy.ndarray
        Share of the arc's length that lies before the point, float64.
    metres : numpy.ndarray or None
        Metres between the point and the streets, float64; None if all points are on streets.
    units : numpy.ndarray or None
        As in `PhantomNode`, float64; None if no figure in whole units is summed up.
    """

    first: npt.NDArray[np.int64]
    node: Uint32s
    weight: Uint32s
    arc: npt.NDArray[np.int64]
    at: npt.NDArray[np.float64]
    metres: npt.NDArray[np.float64] | None = None
    units: npt.NDArray[np.float64] | None = None

    @classmethod
    def at_nodes(cls, nodes: Uint32s) -> PhantomNodes:
        """Return one point at each of some nodes."""
        count = len(nodes)
        return cls(
            np.arange(count + 1), nodes, np.zeros(count, np.uint32), np.full(count, -1, np.int64), np.zeros(count)
        )

    @property
    def owner(self) -> npt.NDArray[np.int64]:
        """The point of each phantom node."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.first) - 1

    def __getitem__(self, point: int) -> list[PhantomNode]:
        """Return the phantom nodes of a point."""
        here = slice(int(self.first[point]), int(self.first[point + 1]))
        given: dict[str, npt.NDArray[Any]] = {"node": self.node, "weight": self.weight, "arc": self.arc, "at": self.at}
        if self.metres is not None:
            given["metres"] = self.metres
        if self.units is not None:
            given["units"] = self.units
        columns = (column[here].tolist() for column in given.values())
        return [PhantomNode(**dict(zip(given, each, strict=True))) for each in zip(*columns, strict=True)]
