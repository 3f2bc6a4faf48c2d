"""The street network of a graph for guidance: its streets by side, where they meet, and what they are called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct
from vkssp.graph.csr import rows_of
from vkssp.graph.manoeuvres import Manoeuvre, unpacked
from vkssp.graph.streets import MODES, Streets
from vkssp.guidance.kernels.net import (
    BEARING,
    CARRIED,
    CIRCULAR,
    FLAGS,
    FOLLOW,
    HEAD,
    HEADS_FIRST,
    LENGTH,
    LINK,
    MINOR,
    MODE,
    MOTORWAY,
    NAME,
    OPEN,
    PARTNER,
    ROUND,
    Net,
)
from vkssp.jit import kernels

_RANK_BITS = 31
#: Columns of `Net.side`; those that are made here later are of the tail for now.
_COLUMNS = (
    *("tail", "head", "tail", "name", "ref", "pronunciation", "exits", "lanes", "destinations", "rank", "flags"),
    *("mode", "num_lanes", "tail", "tail", "classes"),
)
#: Metres of the radius up to which a roundabout may be like an intersection, and its streets: how many at most, and how
#: many degrees apart at least.
_SMALL_RING_M = 15.0
_MOST_STREETS, _CLEAR_DEGREES = 4, 60.0
#: Pieces of a roundabout that are looked at.
_MOST_OF_RING = 200
#: Bits of `Streets.road_class` above the rank, and those of sides.
_CLASS_BITS = ((32, MOTORWAY), (64, MINOR), (128, CIRCULAR))


class GuidanceNetwork:
    """Street network of a graph for guidance, whatever the weights of the graph.

    Parameters
    ----------
    first_out, head : numpy.ndarray
        Rows of the graph and heads of its arcs.
    streets : Streets or None
        The streets; None if arcs have neither names nor kinds.
    lengths : numpy.ndarray
        Metres of each arc.
    polylines : tuple
        Offsets of polylines, their points in degrees, the polyline of each arc, and whether it runs along it backward.

    Attributes
    ----------
    net : Net
        Arrays for compiled functions.
    side : numpy.ndarray
        Side of each arc, shape (num_arcs,), int64: twice its polyline, plus one against it.
    texts : tuple of str
        Texts of streets.
    way : numpy.ndarray or None
        OSM way of each side.
    class_names : tuple of str
        Names of the classes of streets.
    manoeuvres : dict of int to list of Manoeuvre
        Instructions that the map gives itself, by place.
    """

    def __init__(
        self,
        first_out: npt.NDArray[Any],
        head_node: npt.NDArray[Any],
        streets: Streets | None,
        lengths: npt.NDArray[Any],
        polylines: tuple[Any, ...],
    ) -> None:
        first, points, polyline_of, backward = polylines
        num_nodes = len(first_out) - 1
        tail_node = np.repeat(np.arange(num_nodes), np.diff(first_out).astype(np.int64))
        self.side = 2 * polyline_of.astype(np.int64) + backward
        self.way = None if streets is None else _ways(streets.way, self.side, 2 * (len(first) - 1))
        sides = self.side, 2 * (len(first) - 1)
        self.class_names = () if streets is None else streets.class_names
        self._classes = None if streets is None or streets.classes is None else _ways(streets.classes, *sides)
        self._left_hand = None if streets is None or streets.left_hand is None else _ways(streets.left_hand, *sides)
        self.texts, same = _listed(("",) if streets is None else streets.names)
        count = 2 * (len(first) - 1)
        arc = np.full(count, -1, np.int64)
        arc[self.side] = np.arange(len(self.side))
        is_open = arc >= 0
        known = np.where(is_open, arc, arc[np.arange(count) ^ 1])
        metres = lengths.astype(np.float64)
        empty = metres <= 0
        place = _places(num_nodes, streets)
        tail, head = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
        real = np.flatnonzero((known >= 0) & ~empty[known])
        source, target = place[tail_node], place[head_node]
        of = known[real]
        tail[real] = np.where(is_open[real], source[of], target[of])
        head[real] = np.where(is_open[real], target[of], source[of])

        flags, rank, columns = _columns(streets, known, is_open)
        columns["ref"] = same[columns["ref"]]
        num_places = int(place.max(initial=-1)) + 1
        place_first, by_place = rows_of(tail[real].astype(np.uint32), num_places)
        arc_side = np.where(empty, -1, self.side)
        pairs = distinct(self.side[~empty] * num_nodes + head_node[~empty].astype(np.int64))
        heads_first = np.searchsorted(pairs // num_nodes, np.arange(count + 1))
        data = [text.encode("utf-8", "surrogateescape") for text in self.texts]
        text_first = np.concatenate([[0], np.cumsum([len(one) for one in data])]).astype(np.int64)
        columns |= {"tail": tail, "head": head, "rank": rank, "flags": flags}
        columns["classes"] = np.zeros(count, np.int64) if self._classes is None else self._classes
        table = np.zeros((count + 1, len(_COLUMNS)), np.int64)
        for at, name in enumerate(_COLUMNS):
            table[:count, at] = columns[name]
        table[:count, [FOLLOW, PARTNER]] = -1
        table[:, HEADS_FIRST] = heads_first
        metric = np.zeros((count, 3))
        metric[:, LENGTH] = np.where(known >= 0, metres[known], 0.0)
        net = Net(
            side=table,
            metric=metric,
            first_out=first_out.astype(np.int64),
            arcs=np.column_stack([head_node.astype(np.int64), arc_side]),
            heads=pairs % num_nodes,
            place_first=place_first.astype(np.int64),
            place_sides=real[by_place],
            line_first=first.astype(np.int64),
            points=np.asarray(points, np.float64),
            text_first=text_first,
            text=np.frombuffer(b"".join(data) or b"\0", np.uint8),
            knows_turns=streets is not None and streets.turn is not None,
        )
        module = kernels("vkssp.guidance.kernels.shape")
        module.join_sides(net)
        directions = kernels("vkssp.guidance.kernels.direction")
        directions.find_bearings(net, np.zeros((directions.MOST_POINTS, 3)))
        module.join_carriageways(net)
        self.net = net
        self._ring_kinds: dict[int, int] = {}
        known_ones = None if streets is None else streets.manoeuvres
        self.manoeuvres: dict[int, list[Manoeuvre]] = {}
        if known_ones is not None and streets is not None and streets.node is not None:
            node_of = dict(zip(streets.node.tolist(), place.tolist(), strict=True))
            for one in unpacked(known_ones):
                if one.node in node_of:
                    self.manoeuvres.setdefault(node_of[one.node], []).append(one)

    def way_of(self, side: int) -> int:
        """Return the OSM way of a side."""
        assert self.way is not None
        return int(self.way[side])

    def mode_name(self, side: int) -> str:
        """Return the mode of travel on a side."""
        return MODES[int(self.net.side[side, MODE])]

    def classes_of(self, sides: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the classes of some sides, bits by the position of their names in `class_names`."""
        return np.zeros(len(sides), np.int64) if self._classes is None else self._classes[sides].astype(np.int64)

    def driving_side(self, side: int) -> str:
        """Return the side of the street on which traffic keeps."""
        return "left" if self._left_hand is not None and self._left_hand[side] else "right"

    def ring_kind(self, side: int) -> int:
        """Return what kind of roundabout a side is part of.

        0 is a roundabout, 1 a rotary, large and with a name of its own, and 2 a small one whose streets lead in clearly
        different directions, as at an intersection.
        """
        found = self._ring_kinds.get(side)
        if found is None:
            ring = self._ring(side)
            found = self._kind_of_ring(ring)
            self._ring_kinds |= dict.fromkeys(ring, found)
        return found

    def _ring(self, side: int) -> list[int]:
        """Return the sides of a roundabout from one of them on."""
        net, ring = self.net, [side]
        while len(ring) < _MOST_OF_RING:
            here = ring[-1]
            begin, end = net.place_first[net.side[here, HEAD] : net.side[here, HEAD] + 2].tolist()
            onward = [
                other
                for other in net.place_sides[begin:end].tolist()
                if other != here ^ 1 and net.side[other, FLAGS] & (ROUND | CIRCULAR) and net.side[other, FLAGS] & OPEN
            ]
            if not onward or side in onward:
                break
            following = min(onward)
            if following in ring:
                break
            ring.append(following)
        return ring

    def _kind_of_ring(self, ring: list[int]) -> int:
        net = self.net
        radius = net.metric[ring, LENGTH].sum() / (2.0 * math.pi)
        names = {int(net.side[side, NAME]) for side in ring}
        places, beside, bearings = 0, set[int](), []
        is_simple = True
        for side in ring:
            begin, end = net.place_first[net.side[side, HEAD] : net.side[side, HEAD] + 2].tolist()
            others = [s for s in net.place_sides[begin:end].tolist() if not net.side[s, FLAGS] & (ROUND | CIRCULAR)]
            beside |= {int(net.side[s, NAME]) for s in others}
            places += bool(others)
            is_simple &= len(others) <= 1 and all(net.side[s, FLAGS] & net.side[s ^ 1, FLAGS] & OPEN for s in others)
            bearings += net.metric[others, BEARING].tolist()
        clear = all(
            abs((one - two + 180.0) % 360.0 - 180.0) >= _CLEAR_DEGREES
            for at, one in enumerate(bearings)
            for two in bearings[:at]
        )
        if radius <= _SMALL_RING_M and is_simple and clear and places <= _MOST_STREETS:
            return 2
        (name, *more) = names
        return int(radius > _SMALL_RING_M and name != 0 and not more and name not in beside)


def _listed(names: tuple[str, ...]) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Return texts with lists of numbers in one form, and the index of this form of each text."""
    texts = list(names)
    same = np.arange(len(names))
    number = {text: at for at, text in enumerate(names)}
    for at, text in enumerate(names):
        if ";" in text:
            listed = "; ".join(part.strip() for part in text.split(";") if part.strip())
            if listed not in number:
                number[listed] = len(texts)
                texts.append(listed)
            same[at] = number[listed]
    return tuple(texts), same


def _ways(way: npt.NDArray[Any], side: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return the OSM way, or another value of its arcs, of each side; 0 for those of no arc."""
    found = np.zeros(count, np.int64)
    found[side ^ 1] = way
    found[side] = way
    return found


def _places(num_nodes: int, streets: Streets | None) -> npt.NDArray[np.int64]:
    """Return the place of each node: all nodes of one node of OpenStreetMap are one place."""
    same = None if streets is None else streets.node if streets.node is not None else streets.junction
    if same is None:
        return np.arange(num_nodes)
    return np.unique(same, return_inverse=True)[1].astype(np.int64)


def _columns(
    streets: Streets | None, known: npt.NDArray[np.int64], is_open: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]]]:
    """Return flags, ranks, and indices of texts, of each side, given an arc along it or against it."""
    count, there = len(known), known >= 0
    flags = np.where(is_open, OPEN, 0).astype(np.int64)

    def column(name: str, directed: bool = False) -> npt.NDArray[np.int64]:
        array: Any = None if streets is None else getattr(streets, name, None)
        if array is None:
            return np.zeros(count, np.int64)
        return np.where(is_open if directed else there, array[known].astype(np.int64), 0)

    for bit, name in ((ROUND, "roundabout"), (LINK, "link"), (CARRIED, "carried")):
        flags |= bit * column(name)
    if streets is not None and streets.road_class is not None:
        kind = column("road_class")
        rank = kind & _RANK_BITS
        for bit, own in _CLASS_BITS:
            flags |= np.where(kind & bit, own, 0)
    else:
        rank = np.where(flags & LINK, 5, 4)
    columns = {name: column(name) for name in ("name", "ref", "pronunciation", "exits", "num_lanes", "mode")}
    columns |= {name: column(name, directed=True) for name in ("destinations", "lanes")}
    if streets is not None and getattr(streets, "mode", None) is None:
        columns["mode"] = np.where(flags & CARRIED, MODES.index("ferry"), 0)
    # Streets without a name have their number as one; guidance tells them apart.
    columns["name"] = np.where(columns["name"] == columns["ref"], 0, columns["name"])
    return flags, rank, columns
