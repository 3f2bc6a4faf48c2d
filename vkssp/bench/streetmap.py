"""Map of streets as pixels: a matrix holds how much of each pixel the streets of each node cover.

A street belongs to its two ends, half to each. Its shape is sampled twice per pixel, and each sample is spread over the
four pixels around it. A matrix (pixels by nodes) holds the sums. The matrix is made once; then a picture in any colours
of the nodes is one matrix product, which takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph, Uint32s
from vkssp.graph.csr import within
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]
#: Colour behind all streets.
BACKGROUND = "#0d1117"
# Pixels from one sample to the next.
_STEP = 0.5
# Pieces of streets that are sampled at a time, because the samples take much more memory than the matrix.
_PIECES = 1 << 20
# Width of a street in pixels by its speed in km/h: main roads are drawn wider.
_SPEEDS, _WIDTHS = (20.0, 50.0, 100.0), (0.6, 0.9, 1.9)
# Percentiles of the points that bound the picture, because extracts have a few streets that lead far out of their area.
_INSIDE = (0.3, 99.7)


def rgb(colour: str) -> Floats:
    """Return red, green and blue of ``#rrggbb``, from 0 to 1."""
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


class Window(NamedTuple):
    """Area that a map shows, by its edges in degrees."""

    south: float
    west: float
    north: float
    east: float

    @property
    def shape(self) -> float:
        """Ratio of width to height, on the ground."""
        return float(np.cos(np.radians((self.south + self.north) / 2)) * (self.east - self.west)) / (
            self.north - self.south
        )


def window_of(
    graph: Graph, shapes: tuple[float, float] | None = None, centre: tuple[float, float] | None = None
) -> Window:
    """Return a window on the streets of a graph.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates.
    shapes : tuple of (float, float), optional
        Smallest and largest ratio of width to height of the window; the window is cut if its ratio is outside.
    centre : tuple of (float, float), optional
        Latitude and longitude of the middle of a window that is cut, as far as the map allows it.

    Raises
    ------
    QueryError
        If the graph has no coordinates, or no arcs.
    """
    points = StreetIndex(graph).points
    low, high = (np.percentile(points, percent, axis=0) for percent in _INSIDE)
    # The window needs an area even if all streets lie on one line.
    room = np.maximum(0.05 * (high - low).max(), 1e-4) - (high - low)
    low, high = low - np.maximum(room, 0) / 2, high + np.maximum(room, 0) / 2
    shape = Window(*low.tolist(), *high.tolist()).shape
    if shapes is not None:
        wanted = np.clip(shape, *shapes)
        size = (high - low) * (min(shape / wanted, 1.0), min(wanted / shape, 1.0))
        middle = (low + high) / 2 if centre is None else np.asarray(centre)
        low = np.clip(middle - size / 2, low, high - size)
        high = low + size
    return Window(*low.tolist(), *high.tolist())


class StreetMap:
    """Map of a graph's streets, which can be painted in any colours.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates; without `streets` its arcs are straight lines.
    window : Window
        The area to show.
    width : int
        Pixels from west to east.
    distances : numpy.ndarray, optional
        Distances of the nodes, shape (num_nodes,). If several arcs share a polyline, the map shows the nodes of the arc
        that is reached first.

    Attributes
    ----------
    width, height : int
        Size in pixels.
    visible : numpy.ndarray
        Ids of the nodes whose streets are in the picture.
    """

    def __init__(self, graph: Graph, window: Window, width: int, distances: Uint32s | None = None) -> None:
        from scipy import sparse

        self.window, self.width = window, width
        self.height = max(2, 2 * round(width / window.shape / 2))
        self._index = StreetIndex(graph)
        assert graph.lat is not None and graph.lon is not None
        self._lat, self._lon = graph.lat, graph.lon
        self._x, self._y = self.place(*self._index.points.T)
        start, end, thickness = self._ends(graph, distances)
        shape = (self.height * width, graph.num_nodes)
        cover = sparse.csr_array(shape, dtype=np.float32)
        for pixel, street, is_late, amount in self._samples():
            node = np.where(is_late, end[street], start[street])
            values = (amount * thickness[street]).astype(np.float32)
            cover = cover + sparse.csr_array((values, (pixel, node)), shape=shape)
        self._cover = cover
        total = np.asarray(cover.sum(axis=1), np.float32).reshape(-1, 1)
        self._share = 1 / np.maximum(total, 1e-9)
        # A pixel that many streets share is opaque, but never more than that.
        self._opaque = 1 - np.exp(-1.3 * total)
        self.visible = np.unique(cover.indices)
        del self._x, self._y

    def place(self, lat: Any, lon: Any) -> tuple[Any, Any]:
        """Return the position of a place in the picture, in pixels from the left and the upper edge."""
        south, west, north, east = self.window
        return (lon - west) * (self.width / (east - west)), (north - lat) * (self.height / (north - south))

    def inside(self, nodes: npt.NDArray[Any], margin: float) -> npt.NDArray[Any]:
        """Return the given nodes that lie in the picture, at least `margin` pixels from its edges."""
        x, y = self.place(self._lat[nodes], self._lon[nodes])
        edge = np.minimum(np.minimum(x, self.width - x), np.minimum(y, self.height - y))
        return np.asarray(nodes[edge >= margin])

    def paint(self, colours: Floats) -> npt.NDArray[np.float32]:
        """Return the map in the given colours, on `BACKGROUND`.

        Parameters
        ----------
        colours : numpy.ndarray
            Red, green and blue of each node's streets, from 0 to 1, shape (num_nodes, 3).

        Returns
        -------
        numpy.ndarray
            Shape (height, width, 3), float32.
        """
        behind = rgb(BACKGROUND).astype(np.float32)
        mixed = (self._cover @ colours.astype(np.float32)) * self._share
        return np.asarray(behind + self._opaque * (mixed - behind)).reshape(self.height, self.width, 3)

    def density(self, amount: Floats) -> npt.NDArray[np.float32]:
        """Return for each pixel the sum of the nodes' amounts, weighted by how much of the pixel their streets cover.

        Parameters
        ----------
        amount : numpy.ndarray
            Amount of each node, shape (num_nodes,).
        """
        return np.asarray(self._cover @ amount.astype(np.float32), np.float32).reshape(self.height, self.width)

    def _ends(self, graph: Graph, distances: Uint32s | None) -> tuple[Any, Any, Any]:
        """Return the nodes at the start and the end of each street, and the street's width in pixels."""
        index, arcs = self._index, np.arange(graph.num_arcs)
        if distances is not None:
            arcs = np.argsort(np.minimum(distances[graph.tail], distances[graph.head]), kind="stable")
        street, first = np.unique(index.polyline_of[arcs], return_index=True)
        arc = np.zeros(index.num_polylines, np.int64)
        arc[street] = arcs[first]
        tail, head, back = graph.tail[arc], graph.head[arc], index.backward[arc]
        thickness = np.ones(index.num_polylines)
        if graph.streets is not None and graph.streets.seconds_per_weight > 0:
            seconds = np.maximum(graph.weight[arc], 1) * graph.streets.seconds_per_weight
            thickness = np.interp(3.6 * graph.streets.length[arc] / seconds, _SPEEDS, _WIDTHS)
        unused = np.ones(index.num_polylines, np.bool_)
        unused[street] = False
        thickness[unused] = 0
        return np.where(back, head, tail), np.where(back, tail, head), thickness

    def _samples(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield the pixels of samples, their streets, whether they are in a street's second half, and their lengths."""
        first, x, y = self._index.first, self._x, self._y
        street = np.repeat(np.arange(len(first) - 1), np.diff(first) - 1)
        at = np.delete(np.arange(len(x)), first[1:] - 1)
        length = np.hypot(x[at + 1] - x[at], y[at + 1] - y[at])
        passed = np.cumsum(length) - length
        whole = np.bincount(street, length, len(first) - 1)
        middle = passed[first[:-1] - np.arange(len(first) - 1)] + whole / 2
        inside = length > 0
        inside &= (np.maximum(x[at], x[at + 1]) > -1) & (np.minimum(x[at], x[at + 1]) < self.width + 1)
        inside &= (np.maximum(y[at], y[at + 1]) > -1) & (np.minimum(y[at], y[at + 1]) < self.height + 1)
        pieces = np.flatnonzero(inside)
        for some in np.array_split(pieces, -(-len(pieces) // _PIECES) or 1):
            count = np.maximum(np.ceil(length[some] / _STEP), 1).astype(np.int64)
            piece = np.repeat(some, count)
            along = (within(count) + 0.5) / np.repeat(count, count)
            amount = np.repeat(length[some] / count, count)
            here, to = at[piece], at[piece] + 1
            # Coordinates are measured from the middle of the first pixel.
            px, py = (of[here] + along * (of[to] - of[here]) - 0.5 for of in (x, y))
            is_late = passed[piece] + along * length[piece] > middle[street[piece]]
            left, top = np.floor(px).astype(np.int64), np.floor(py).astype(np.int64)
            for column, row in ((0, 0), (1, 0), (0, 1), (1, 1)):
                share = np.abs(1 - column - (px - left)) * np.abs(1 - row - (py - top))
                a, b = left + column, top + row
                shown = (a >= 0) & (a < self.width) & (b >= 0) & (b < self.height)
                yield (b * self.width + a)[shown], street[piece[shown]], is_late[shown], (amount * share)[shown]
