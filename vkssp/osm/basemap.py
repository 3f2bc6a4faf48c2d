"""Assembly of the basemap: ways joined to coasts and areas, the sea beside the coast, and simplification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.cores import run_all
from vkssp.graph.basemap import ICE, LAND, RING, RIVER, SEA, WATER, Basemap
from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.graph.streets import COORDINATE_SCALE, LAST_LAT, LAST_LON
from vkssp.jit import kernels
from vkssp.osm.coast import sea_beside
from vkssp.osm.raw_basemap import COAST, RawBasemap, RawPlace, rules_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Points of a basemap, and places with names, at the most.
MOST_POINTS, MOST_PLACES = 300_000, 20_000
#: Metres by which simplification may move a point: the first of them by which there are few enough points. Rings with
#: less than 30 times their square inside are left out.
TOLERANCES_M = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
#: Times `MOST_POINTS` from which on no fine tolerance is tried.
_MANY = 6
#: Points with which a thread deals at once.
_POINTS_AT_ONCE = 1 << 15
_KERNELS = "vkssp.osm.kernels.shapes"
_METRES = METRES_PER_DEGREE * COORDINATE_SCALE
#: Ways of a shape in their order, and whether each runs backward.
_Ring = list[tuple[int, bool]]


class Shapes(NamedTuple):
    """Rings and lines: kind, offset of the first point, and points as latitude and longitude in 1e-7 degrees."""

    kind: Ints
    first: Ints
    points: npt.NDArray[np.int32]

    def take(self, shapes: npt.NDArray[np.bool_] | Ints) -> Shapes:
        """Return some shapes."""
        begin, first = self.first[:-1][shapes], _offsets(np.diff(self.first)[shapes])
        points = np.empty((int(first[-1]), 2), np.int32)
        copy = kernels(_KERNELS).copy_rows
        run_all([partial(copy, low, high, begin, first, self.points, points) for low, high in _parts(first)])
        return Shapes(self.kind[shapes], first, points)

    @property
    def is_ring(self) -> npt.NDArray[np.bool_]:
        """Whether each shape ends where it begins, shape (num_shapes,)."""
        ends = self.points[self.first[1:] - 1] == self.points[self.first[:-1]]
        return np.asarray(ends.all(axis=1) & (np.diff(self.first) > 1))

    @property
    def scale(self) -> Floats:
        """Metres of a unit north and east where each shape begins, shape (num_shapes, 2)."""
        east = np.cos(self.points[self.first[:-1], 0] * np.radians(COORDINATE_SCALE))
        return np.stack([np.ones(len(east)), np.maximum(east, 0.01)], axis=1) * _METRES

    @property
    def area(self) -> Floats:
        """Square metres inside of each ring, negative for those that run clockwise."""
        found = np.empty(len(self.kind))
        compiled = kernels(_KERNELS)
        run_all([partial(compiled.areas, *part, self.first, self.points, found) for part in _parts(self.first)])
        return np.asarray(found * self.scale.prod(axis=1))


def shapes_of(raw: RawBasemap) -> Shapes:
    """Return the shapes of an extract, joined and simplified: most of the work for a basemap."""
    return _limited(_joined(raw))


def basemap_of(shapes: Shapes, places: Sequence[RawPlace], streets: npt.NDArray[np.int32]) -> Basemap:
    """Return the basemap of an extract.

    Parameters
    ----------
    shapes : Shapes
        What `shapes_of` returned.
    places : sequence of RawPlace
        Places that the file holds.
    streets : numpy.ndarray
        Points of the streets: latitude and longitude in 1e-7 degrees, shape (num_points, 2). What a coast that ends
        there divides is assumed to go on beyond them.
    """
    is_coast = shapes.kind == COAST
    coast = shapes.take(is_coast)
    closed, area = coast.is_ring, coast.area
    open_lines = coast.take(~closed)
    lines = np.split(open_lines.points * COORDINATE_SCALE, open_lines.first[1:-1]) if len(open_lines.kind) else []
    # Column by column, which takes a tenth of the time of both at once.
    corners = np.array([[of(column) for column in streets.T] for of in (np.min, np.max)], np.float64) * COORDINATE_SCALE
    sea = [np.rint(ring / COORDINATE_SCALE).astype(np.int32) for ring in (sea_beside(lines, *corners) if lines else ())]
    beside = Shapes(np.full(len(sea), SEA), _offsets([len(ring) for ring in sea]), _rows(sea))
    # Larger rings first, so that an island in a bay lies on top of it.
    order = np.flatnonzero(closed)[np.argsort(-np.abs(area[closed]), kind="stable")]
    rings = coast.take(order)._replace(kind=np.where(area[order] > 0, LAND, SEA))
    rest = shapes.take(~is_coast)
    # An area and its further rings stay together.
    owner = np.maximum.accumulate(np.where(rest.kind == RING, 0, np.arange(len(rest.kind))))
    rank = np.select([rest.kind[owner] == ICE, rest.kind[owner] == WATER], [1, 2], 0)
    rest = rest.take(np.argsort(rank, kind="stable"))
    parts = [beside, rings, rest]
    points = np.concatenate([part.points for part in parts])
    places = sorted(places, key=lambda one: (one.kind, -one.population))[:MOST_PLACES]
    return Basemap(
        kind=own(np.concatenate([part.kind for part in parts]).astype(np.uint8)),
        first=own(_offsets(np.concatenate([np.diff(part.first) for part in parts])).astype(np.uint32)),
        points=own(np.clip(points, (-LAST_LAT, -LAST_LON), (LAST_LAT, LAST_LON)).astype(np.int32)),
        surrounded=bool(not sea and (rings.kind == LAND).any()),
        place=own(np.array([(one.lat, one.lon) for one in places], np.int32).reshape(-1, 2)),
        place_kind=own(np.array([one.kind for one in places], np.uint8)),
        population=own(np.array([one.population for one in places], np.uint32)),
        place_names=tuple(one.name for one in places),
    )


def _parts(first: Ints) -> list[tuple[int, int]]:
    """Return ranges of lines with about the same number of points, by the offset of each line's first point."""
    most = max(1, int(first[-1]) // _POINTS_AT_ONCE)
    ends = np.searchsorted(first, np.linspace(0, first[-1], most + 1)[1:-1]).tolist()
    return [(low, high) for low, high in zip([0, *ends], [*ends, len(first) - 1], strict=True) if low < high]


def _offsets(count: npt.ArrayLike) -> Ints:
    return np.concatenate([[0], np.cumsum(np.asarray(count, np.int64))])


def _rows(parts: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    return np.concatenate(parts) if parts else np.zeros((0, 2), np.int32)


class _Pieces(NamedTuple):
    """Shapes as pieces of ways: kind and number of pieces of each shape, way of each piece, and if it runs backward."""

    kind: Ints
    num_pieces: Ints
    way: Ints
    backward: npt.NDArray[np.bool_]

    @classmethod
    def single(cls, kind: int, ways: Ints) -> _Pieces:
        """Return shapes of one way each."""
        size = len(ways)
        return cls(np.full(size, kind), np.ones(size, np.int64), ways, np.zeros(size, np.bool_))

    @classmethod
    def several(cls, kinds: Sequence[int], shapes: Sequence[_Ring]) -> _Pieces:
        """Return shapes of several ways."""
        pieces = np.array([piece for shape in shapes for piece in shape], np.int64).reshape(-1, 2)
        count = np.array([len(shape) for shape in shapes], np.int64)
        return cls(np.array(kinds, np.int64), count, pieces[:, 0], pieces[:, 1] > 0)


def _joined(raw: RawBasemap) -> Shapes:
    """Return the shapes that the ways are, alone or joined."""
    size = np.diff(raw.first)
    filled = np.flatnonzero(size > 1)
    begin, end = np.zeros(len(size), np.int64), np.zeros(len(size), np.int64)
    begin[filled], end[filled] = raw.node[raw.first[filled]], raw.node[raw.first[filled + 1] - 1]
    coasts = filled[(raw.rules[filled] & rules_of(COAST)) > 0]
    chains = _chains(coasts.tolist(), begin[coasts].tolist(), end[coasts].tolist())
    found = [_Pieces.several([COAST] * len(chains), [[(way, False) for way in chain] for chain in chains])]
    found.append(_Pieces.single(RIVER, filled[(raw.rules[filled] & rules_of(RIVER)) > 0]))
    # Tags of an area are often on its outer ring, too, where they would fill its islands.
    areas = raw.relations
    is_outer = np.isin(raw.way[filled], areas.way[~areas.is_inner])
    place = _places_among(raw.way[filled], areas.way)
    number = np.where(place >= 0, filled[place], -1).tolist() if len(filled) else [-1] * len(areas.way)
    for kind in (ICE, WATER):
        is_kind = (raw.rules[filled] & rules_of(kind)) > 0
        alone = is_kind & (begin[filled] == end[filled]) & ~is_outer
        found.append(_Pieces.single(kind, filled[alone]))
        kinds: list[int] = []
        rings: list[_Ring] = []
        for rules, (first, last) in zip(areas.rules.tolist(), pairwise(areas.first.tolist()), strict=True):
            if rules & rules_of(kind):
                own = _rings(dict.fromkeys(way for way in number[first:last] if way >= 0), begin, end)
                kinds += [kind if at == 0 else RING for at in range(len(own))]
                rings += own
        found.append(_Pieces.several(kinds, rings))
    return _points_of(raw, _Pieces(*(np.concatenate(column) for column in zip(*found, strict=True))))


def _places_among(ordered: Ints, values: Ints) -> Ints:
    """Return the index of each value among distinct, sorted ones, -1 if it is missing."""
    if len(ordered) == 0:
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)


def _points_of(raw: RawBasemap, pieces: _Pieces) -> Shapes:
    """Return shapes by the pieces that they consist of, without the points that the file lacks."""
    way, num_shapes = pieces.way, len(pieces.kind)
    shape = np.repeat(np.arange(num_shapes), pieces.num_pieces)
    begin, size = raw.first[way], np.diff(raw.first)[way]
    # A piece begins with the point at which the one before ends.
    goes_on = np.diff(shape, prepend=-1) == 0
    count = size - goes_on
    first, outside = _offsets(count), np.empty(len(way), np.int64)
    points = np.empty((int(first[-1]), 2), np.int32)
    at = np.where(pieces.backward, begin + size - 1 - goes_on, begin + goes_on)
    given = at, pieces.backward, first, raw.lat, raw.lon, points, outside
    run_all([partial(kernels(_KERNELS).copy_pieces, *part, *given) for part in _parts(first)])
    number = np.bincount(shape, count - outside, num_shapes).astype(np.int64)
    is_whole = not outside.any()
    if not is_whole:
        points = points[(np.abs(points[:, 0]) <= LAST_LAT) & (np.abs(points[:, 1]) <= LAST_LON)]
    shapes = Shapes(pieces.kind, _offsets(number), points)
    if not is_whole:
        shapes = shapes.take(number > 1)
    # Areas of which the file lacks the first node are closed.
    open_rings = np.flatnonzero(~shapes.is_ring & np.isin(shapes.kind, (WATER, ICE, RING)))
    if len(open_rings) == 0:
        return shapes
    count = np.diff(shapes.first)
    count[open_rings] += 1
    first_of = shapes.points[shapes.first[open_rings]]
    closed = np.insert(shapes.points, shapes.first[open_rings + 1], first_of, axis=0)
    return Shapes(shapes.kind, _offsets(count), closed)


def _chains(ways: list[int], begin: list[int], end: list[int]) -> list[list[int]]:
    """Return ways in the order in which each begins where the one before ends."""
    following = defaultdict(list)
    for at, node in enumerate(begin):
        following[node].append(at)
    ends, left, chains = set(end), set(range(len(ways))), []
    # First those that continue no other way, then rings.
    for start in sorted(left, key=lambda at: begin[at] in ends):
        if start not in left:
            continue
        left.remove(start)
        chain = [start]
        while end[chain[-1]] != begin[start]:
            after = next((at for at in following[end[chain[-1]]] if at in left), None)
            if after is None:
                break
            left.remove(after)
            chain.append(after)
        chains.append([ways[at] for at in chain])
    return chains


def _rings(ways: dict[int, None], begin: Ints, end: Ints) -> list[_Ring]:
    """Return the rings that ways form, which may run in any direction."""
    touching = defaultdict(list)
    for way in ways:
        touching[int(begin[way])].append(way)
        touching[int(end[way])].append(way)
    left, rings = dict(ways), []
    while left:
        start = next(iter(left))
        del left[start]
        ring, node = [(start, False)], int(end[start])
        while node != begin[start]:
            after = next((way for way in touching[node] if way in left), None)
            if after is None:
                break
            del left[after]
            backward = int(begin[after]) != node
            ring.append((after, backward))
            node = int(begin[after] if backward else end[after])
        if node == begin[start]:
            rings.append(ring)
    return rings


def _limited(shapes: Shapes) -> Shapes:
    """Return shapes simplified, and without the smallest, so that they have at most `MOST_POINTS` points."""
    first = TOLERANCES_M.index(20.0) if len(shapes.points) > _MANY * MOST_POINTS else 0
    for tolerance in TOLERANCES_M[first:]:
        shapes = _simplified(_large(shapes, 30 * tolerance**2), tolerance)
        if len(shapes.points) <= MOST_POINTS:
            break
    return shapes


def _large(shapes: Shapes, least: float) -> Shapes:
    """Return the rings with at least some square metres inside, and all lines."""
    return _kept(shapes, ~shapes.is_ring | (np.abs(shapes.area) >= least))


def _kept(shapes: Shapes, wanted: npt.NDArray[np.bool_]) -> Shapes:
    """Return some shapes; if the first ring of an area is not wanted, the next one takes its place."""
    is_first, kept = shapes.kind != RING, np.flatnonzero(wanted)
    area = np.cumsum(is_first)[kept]
    leads = np.diff(area, prepend=0) > 0
    kind = np.where(leads, shapes.kind[is_first][area - 1], shapes.kind[kept])
    return shapes.take(kept)._replace(kind=kind)


def _simplified(shapes: Shapes, tolerance: float) -> Shapes:
    """Return shapes less points within some metres of the line without them, and less rings that are flat then."""
    kept, size = np.empty(len(shapes.points), np.bool_), np.empty(len(shapes.kind), np.int64)
    compiled, scale = kernels(_KERNELS), shapes.scale

    def simplify(low: int, high: int) -> None:
        stack = np.empty(2 * int(np.diff(shapes.first[low : high + 1]).max()) + 2, np.int64)
        compiled.simplify(low, high, shapes.first, shapes.points, scale, tolerance, stack, kept, size)

    run_all([partial(simplify, low, high) for low, high in _parts(shapes.first)])
    left = Shapes(shapes.kind, _offsets(size), shapes.points[kept])
    return _kept(left, size >= np.where(shapes.is_ring, 4, 2))
