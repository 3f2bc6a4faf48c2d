"""Patchwork: a road network of any size, made of copies of real ones, for measurements of how costs grow.

Copies lie in the cells of a lattice and are joined by roads. A lattice that is halved again and again has separators
as long as its borders, which grow with the square root of the nodes; those of real road networks grow more slowly. So
the lattice is halved, each half is halved, and so on, and across the border of two halves lead as many roads as a
law gives for the places of both: like the cube root, by default, with a factor that is measured.

In a graph with turns a node is a place and the street by which a traveller has come there. A road from one place to
another therefore adds a node, as an import would: all nodes of the place where it begins lead to it, and from it lead
the streets that leave the place where it ends, each with the costliest of the turns into it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief, own
from vkssp.errors import GraphError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.csr import ranges

Indices = npt.NDArray[np.int64]

#: Roads across the border of two halves, by the places of both: `ROADS` times places to the power of `EXPONENT`.
#: METIS's separators of the networks of DIMACS (264,346 to 1,524,453 nodes) have 0.35 to 0.83 times the cube root.
ROADS, EXPONENT = 0.6, 1 / 3
#: Degrees from a cell to the next at the most, and from the first to the last, north and east.
_MOST_STEP, _MOST_NORTH, _MOST_EAST = 0.5, 80.0, 170.0
#: Share of a cell that a copy covers in each direction.
_COVER = 0.98
# Places along a side of a tile at which roads may begin.
_STEPS = 64


class Joint(NamedTuple):
    """Two-way road between copies.

    Attributes
    ----------
    cell, other : int
        The cells that it joins, by row and then by column.
    place, other_place : int
        A place of each of their tiles.
    """

    cell: int
    other: int
    place: int
    other_place: int


@dataclass(frozen=True, eq=False)
class Tile:
    """Road network that copies are made of.

    Attributes
    ----------
    graph : Graph
        The network, with coordinates.
    place : numpy.ndarray
        Place of each node, shape (num_nodes,), int64; without turns each node is a place.
    nodes : list of numpy.ndarray
        Nodes of each place at which joints may begin, by its number in `sides`.
    sides : numpy.ndarray
        For the western, eastern, southern and northern side, and for steps along each, the nearest place, as an index
        into `nodes`; shape (4, steps), int64.
    num_places : int
        Number of places.
    has_turns : bool
        Whether nodes are places with the streets by which travellers have come.
    road : int
        Weight of a road that joins copies: the median of all weights.
    """

    __repr__ = brief

    graph: Graph
    place: Indices
    nodes: list[Indices]
    sides: Indices
    num_places: int
    has_turns: bool
    road: int

    @classmethod
    def of(cls, graph: Graph) -> Tile:
        """Return the tile of a road network.

        Raises
        ------
        GraphError
            If the network has no coordinates, or no arcs.
        """
        if graph.lat is None or graph.lon is None or graph.num_arcs == 0:
            raise GraphError("a tile needs coordinates and arcs; give a graph of a street map")
        from scipy.spatial import cKDTree

        has_turns = graph.streets is not None and graph.streets.junction is not None
        place = np.arange(graph.num_nodes)
        if graph.streets is not None and graph.streets.junction is not None:
            place = np.unique(graph.streets.junction, return_inverse=True)[1].astype(np.int64)
        usable = np.flatnonzero(_is_usable(graph))
        by_place = usable[np.argsort(place[usable], kind="stable")]
        bounds = np.flatnonzero(np.diff(place[by_place])) + 1
        nodes = np.split(by_place, bounds)
        at = np.array([some[0] for some in nodes])
        unit = np.stack([_unit(graph.lat), _unit(graph.lon)], axis=1)
        along, edge = (np.arange(_STEPS) + 0.5) / _STEPS, np.zeros(_STEPS)
        borders = ((along, edge), (along, edge + 1), (edge, along), (edge + 1, along))
        tree = cKDTree(unit[at])
        sides = np.stack([tree.query(np.stack(border, axis=1))[1] for border in borders])
        road = max(1, int(np.median(graph.weight)))
        return cls(graph, place, nodes, sides.astype(np.int64), int(place.max()) + 1, has_turns, road)

    def arcs_away(self, place: int) -> Indices:
        """Return one arc for each street that leaves a place, the one with the costliest turn, as ids of arcs."""
        nodes, graph = self.nodes[place], self.graph
        first = graph.first_out[nodes].astype(np.int64)
        arcs = ranges(first, graph.first_out[nodes + 1] - first)
        arcs = arcs[np.lexsort((graph.weight[arcs], graph.head[arcs]))]
        is_last = np.ones(len(arcs), np.bool_)
        is_last[:-1] = graph.head[arcs][1:] != graph.head[arcs][:-1]
        return arcs[is_last]


def _is_usable(graph: Graph) -> npt.NDArray[np.bool_]:
    """Return whether each node may have a joint: all can be reached from all, and trips neither begin nor end there."""
    from scipy.sparse import csgraph

    _, part = csgraph.connected_components(graph.to_scipy(), directed=True, connection="strong")
    found: npt.NDArray[np.bool_] = part == np.argmax(np.bincount(part))
    if graph.streets is not None and graph.streets.layer is not None:
        inner = found & (graph.streets.layer == 0)
        found = inner if inner.any() else found
    return found


def _unit(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values moved and stretched to the range from 0 to 1."""
    least = float(values.min())
    return (values - least) / max(float(values.max()) - least, 1e-9)


@dataclass(frozen=True, eq=False)
class Layout:
    """Cells of a patchwork, and the roads between them.

    Attributes
    ----------
    tiles : sequence of Tile
        The tiles.
    columns, rows : int
        Numbers of cells.
    roads, exponent : float
        The law of joints; see `ROADS`.
    """

    tiles: Sequence[Tile]
    columns: int
    rows: int
    roads: float = ROADS
    exponent: float = EXPONENT

    @classmethod
    def for_nodes(
        cls, tiles: Sequence[Tile], num_nodes: int, roads: float = ROADS, exponent: float = EXPONENT
    ) -> Layout:
        """Return a layout, as square as possible, of about so many nodes.

        Raises
        ------
        GraphError
            If there are no tiles, or only some of them have turns.
        """
        if not tiles or len({tile.has_turns for tile in tiles}) > 1:
            raise GraphError("tiles must all have turns, or none of them; import all with the same --turns")
        cells = max(1.0, num_nodes * len(tiles) / sum(tile.graph.num_nodes for tile in tiles))
        columns = max(1, round(math.sqrt(cells)))
        return cls(tiles, columns, max(1, round(cells / columns)), roads, exponent)

    def tile(self, cell: int) -> Tile:
        """Return the tile of a cell; those of all cells near each other differ."""
        row, column = divmod(cell, self.columns)
        return self.tiles[(column + 2 * row) % len(self.tiles)]

    def joints(self) -> Iterator[Joint]:
        """Yield the roads between copies, those across the border of the two halves of the lattice first."""
        places = np.array([self.tile(cell).num_places for cell in range(self.columns * self.rows)])
        yield from self._joints(places.reshape(self.rows, self.columns), 0, self.columns, 0, self.rows)

    def _joints(self, places: Indices, west: int, east: int, south: int, north: int) -> Iterator[Joint]:
        """Yield the roads between the cells of a rectangle."""
        wide, high = east - west, north - south
        if wide * high <= 1:
            return
        is_east = wide >= high
        middle = (west + east) // 2 if is_east else (south + north) // 2
        count = self.roads * float(places[south:north, west:east].sum()) ** self.exponent
        step = 1 if is_east else self.columns
        first = south * self.columns + middle - 1 if is_east else (middle - 1) * self.columns + west
        length = high if is_east else wide
        along = (np.arange(max(1, round(count))) + 0.5) / max(1, round(count)) * length
        seen = set()
        for at in along.tolist():
            cell = first + int(at) * (self.columns if is_east else 1)
            part = int(_STEPS * (at % 1.0))
            here, there = self.tile(cell), self.tile(cell + step)
            joint = Joint(
                cell,
                cell + step,
                int(here.sides[1 if is_east else 3, part]),
                int(there.sides[0 if is_east else 2, part]),
            )
            if joint not in seen:
                seen.add(joint)
                yield joint
        halves = (
            ((west, middle, south, north), (middle, east, south, north))
            if is_east
            else ((west, east, south, middle), (west, east, middle, north))
        )
        for half in halves:
            yield from self._joints(places, *half)

    def graph(self) -> Graph:
        """Return the graph of the patchwork: the copies by row and column, then the nodes of the roads between them.

        Coordinates are those of the tiles, moved and shrunk into their cells.

        Raises
        ------
        GraphError
            If there are too many nodes or arcs for 32 bits.
        """
        cells = [self.tile(cell) for cell in range(self.columns * self.rows)]
        first_node = _offsets([tile.graph.num_nodes for tile in cells])
        first_arc = _offsets([tile.graph.num_arcs for tile in cells])
        roads = _Roads(first_node)
        for joint in self.joints():
            here, there = self.tile(joint.cell), self.tile(joint.other)
            weight = round((here.road + there.road) / 2)
            roads.add(joint.cell, here, joint.place, joint.other, there, joint.other_place, weight)
            roads.add(joint.other, there, joint.other_place, joint.cell, here, joint.place, weight)
        tail, head, weight_of = roads.arcs()
        num_nodes, num_arcs = int(first_node[-1]) + roads.num_nodes, int(first_arc[-1]) + len(tail)
        if max(num_nodes, num_arcs) >= UNREACHABLE:
            raise GraphError(f"a graph of {num_nodes:,} nodes and {num_arcs:,} arcs is too large for 32 bits")
        degree = np.zeros(num_nodes, np.int64)
        heads, weights = np.empty(int(first_arc[-1]), np.uint32), np.empty(int(first_arc[-1]), np.uint32)
        lat, lon = np.empty(num_nodes), np.empty(num_nodes)
        step = min(_MOST_STEP, _MOST_NORTH / self.rows, _MOST_EAST / self.columns)
        for cell, tile in enumerate(cells):
            nodes = slice(int(first_node[cell]), int(first_node[cell + 1]))
            arcs = slice(int(first_arc[cell]), int(first_arc[cell + 1]))
            graph = tile.graph
            assert graph.lat is not None and graph.lon is not None
            degree[nodes] = np.diff(graph.first_out)
            np.add(graph.head, np.uint32(nodes.start), out=heads[arcs])
            weights[arcs] = graph.weight
            row, column = divmod(cell, self.columns)
            lat[nodes] = step * (row + _COVER * _unit(graph.lat))
            lon[nodes] = step * (column + _COVER * _unit(graph.lon))
        lat[int(first_node[-1]) :], lon[int(first_node[-1]) :] = lat[roads.at()], lon[roads.at()]
        before = _offsets(degree)
        heads = np.insert(heads, before[tail + 1], head.astype(np.uint32))
        weights = np.insert(weights, before[tail + 1], weight_of.astype(np.uint32))
        degree += np.bincount(tail, minlength=num_nodes)
        rows = own(_offsets(degree).astype(np.uint32)), own(heads), own(weights)
        return Graph.from_csr(*rows, lat=own(lat), lon=own(lon))


class _Roads:
    """Arcs of the roads between copies, and the nodes that they add to a graph with turns."""

    def __init__(self, first_node: Indices) -> None:
        self._first = first_node
        self._tails: list[Indices] = [np.zeros(0, np.int64)]
        self._heads: list[Indices] = [np.zeros(0, np.int64)]
        self._weights: list[Indices] = [np.zeros(0, np.int64)]
        self._at: list[int] = []

    @property
    def num_nodes(self) -> int:
        """Number of the nodes that roads add."""
        return len(self._at)

    def at(self) -> Indices:
        """Return for each node of a road another node at its place."""
        return np.array(self._at, np.int64)

    def add(self, cell: int, tile: Tile, place: int, other: int, other_tile: Tile, at: int, weight: int) -> None:
        """Add a one-way road from a place of one cell to a place of another one."""
        begin, end = self._first[cell] + tile.nodes[place], self._first[other] + other_tile.nodes[at]
        if not tile.has_turns:
            self._append(begin[:1], end[:1], np.array([weight]))
            return
        node = int(self._first[-1]) + len(self._at)
        self._at.append(int(end[0]))
        self._append(begin, np.full(len(begin), node), np.full(len(begin), weight))
        away = other_tile.arcs_away(at)
        heads = self._first[other] + other_tile.graph.head[away].astype(np.int64)
        self._append(np.full(len(away), node), heads, other_tile.graph.weight[away].astype(np.int64))

    def _append(self, tail: Indices, head: Indices, weight: Indices) -> None:
        self._tails.append(tail)
        self._heads.append(head)
        self._weights.append(weight)

    def arcs(self) -> tuple[Indices, Indices, Indices]:
        """Return tail, head and weight of all arcs, by tail."""
        tail, head, weight = (np.concatenate(parts) for parts in (self._tails, self._heads, self._weights))
        order = np.argsort(tail, kind="stable")
        return tail[order], head[order], weight[order]


def _offsets(count: Sequence[int] | Indices) -> Indices:
    """Return the offsets of consecutive parts of given lengths, and the end of the last one."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(count, dtype=np.int64)])
