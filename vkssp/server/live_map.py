"""Live map: the page at the server's root, with streets as tiles, a basemap and a search for names of streets."""

from __future__ import annotations

import html
import math
import re
import threading
from collections.abc import Awaitable, Callable
from functools import cached_property
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vkssp.graph import Graph
from vkssp.graph.mercator import in_tile, latitude_of
from vkssp.routing.snap import StreetIndex
from vkssp.routing.tiles import Tiles
from vkssp.server.basemaps import Basemaps
from vkssp.server.dataset import Datasets
from vkssp.server.errors import RequestError
from vkssp.server.stored import StoredAnswer

#: Files of the page by their names in URLs, with their types; nothing else is ever read.
_FILES = {
    "map.css": ("vkssp.server", "pages/map.css", "text/css"),
    "map.js": ("vkssp.server", "pages/map.js", "text/javascript"),
    "api.js": ("vkssp.server", "pages/api.js", "text/javascript"),
    "background.js": ("vkssp.server", "pages/background.js", "text/javascript"),
    "instructions.js": ("vkssp.server", "pages/instructions.js", "text/javascript"),
    "labels.js": ("vkssp.server", "pages/labels.js", "text/javascript"),
    "streets.js": ("vkssp.server", "pages/streets.js", "text/javascript"),
    "decode.js": ("vkssp.routing", "decode.js", "text/javascript"),
    "canvas.js": ("vkssp.routing", "canvas.js", "text/javascript"),
    "basemap.js": ("vkssp.routing", "basemap.js", "text/javascript"),
    "leaflet.css": ("vkssp.routing", "vendor/leaflet.css", "text/css"),
    "leaflet.js": ("vkssp.routing", "vendor/leaflet.js", "text/javascript"),
}
#: Units of a tile along its side, which has 256 pixels, and between points of a street that is drawn.
EXTENT, _LEAST_STEP = 4096, 6
#: Largest zoom of tiles, and the least at which all streets are shown; below it at least the ranks up to these, and
#: more while the lines take not more than a share of the map where there are streets.
_MOST_ZOOM, _ALL_ZOOM = 19, 13
_RANKS = ((6, 1), (8, 2), (10, 4), (12, 6))
_RANK_BITS, _MOST_RANK, _DENSEST = 31, 15, 0.02
# Streets of a tile, and names that a search returns, at the most.
_MOST_STREETS, _MOST_NAMES = 20_000, 12
_TILE = re.compile(r"[0-9]{1,2}/[0-9]{1,6}/[0-9]{1,6}\Z")


class _Streets:
    """Streets of a graph as tiles show them; what depends on no weights."""

    def __init__(self, index: StreetIndex) -> None:
        self.index = index
        first, (lat, lon) = index.first, index.points.T
        self.south, self.north = (f.reduceat(lat, first[:-1]) for f in (np.minimum, np.maximum))
        self.west, self.east = (f.reduceat(lon, first[:-1]) for f in (np.minimum, np.maximum))
        self.arc = index.arcs_by_polyline[1][index.arcs_by_polyline[0][:-1]]

    @cached_property
    def rank(self) -> npt.NDArray[Any]:
        """Rank of each street, 0 the most important."""
        streets = self.index.graph.streets
        if streets is None or streets.road_class is None:
            return np.full(self.index.num_polylines, 4)
        return np.asarray(streets.road_class[self.arc] & _RANK_BITS)

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """South, west, north and east of the streets, without ferries, which may lead far away."""
        chosen, streets = np.ones(self.index.num_polylines, np.bool_), self.index.graph.streets
        if streets is not None and streets.classes is not None and "ferry" in streets.class_names:
            chosen = (streets.classes[self.arc] >> np.uint32(streets.class_names.index("ferry"))) & 1 == 0
        if not chosen.any():
            chosen[:] = True
        ends = (self.south, np.min), (self.west, np.min), (self.north, np.max), (self.east, np.max)
        south, west, north, east = (float(most(edge[chosen])) for edge, most in ends)
        return south, west, north, east

    @cached_property
    def shown_ranks(self) -> list[int]:
        """The largest rank that tiles of each zoom show."""
        # Of a street that is cut at each junction, the larger side of its box is nearly its length.
        west, north = in_tile(self.north, self.west, 0, 0, 0)
        east, south = in_tile(self.south, self.east, 0, 0, 0)
        length, rank = np.maximum(south - north, east - west), np.minimum(self.rank, _MOST_RANK)
        scale = 2**_ALL_ZOOM
        column = np.floor((west + east) / 2 * scale).astype(np.int64)
        row = np.floor((south + north) / 2 * scale).astype(np.int64)
        cells, cell = np.unique(column * scale + row, return_inverse=True)
        ranks = _MOST_RANK + 1
        sums = np.bincount(cell * ranks + rank, length, len(cells) * ranks).reshape(-1, ranks).cumsum(axis=1)
        column, row, found = cells // scale, cells % scale, [_MOST_RANK]
        for zoom in reversed(range(_ALL_ZOOM)):
            scale //= 2
            column, row = column // 2, row // 2
            cells, cell = np.unique(column * scale + row, return_inverse=True)
            sums = np.stack([np.bincount(cell, part, len(cells)) for part in sums.T], axis=1)
            column, row = cells // scale, cells % scale
            # What is beside a street, not the mean of the map, which is empty for the most part.
            share = (sums**2).sum(axis=0) / np.maximum(sums.sum(axis=0), 1e-300) * scale / 256
            few = int(np.searchsorted(np.maximum.accumulate(share), _DENSEST, "right")) - 1
            least = next((rank for most, rank in _RANKS if zoom <= most), 8)
            found.append(min(found[-1], max(few, least)))
        return found[::-1]

    @cached_property
    def _folded(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Names in lower case in their order, and the index of each."""
        streets = self.index.graph.streets
        names = [] if streets is None else [name.casefold() for name in streets.names]
        order = sorted((at for at in range(1, len(names)) if names[at]), key=names.__getitem__)
        return [names[at] for at in order], np.array(order, np.int64)

    @cached_property
    def _by_name(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        streets = self.index.graph.streets
        assert streets is not None
        order = np.argsort(streets.name[self.arc], kind="stable")
        return order, streets.name[self.arc][order]

    def find(self, text: str) -> list[dict[str, Any]]:
        """Return the streets whose names contain a text, those that begin with it first."""
        wanted = text.strip().casefold()
        streets = self.index.graph.streets
        if not wanted or streets is None:
            return []
        names, number = self._folded
        begin = [at for at, name in enumerate(names) if name.startswith(wanted)]
        inside = [at for at, name in enumerate(names) if wanted in name and not name.startswith(wanted)]
        order, by_order = self._by_name
        found = []
        for at in (begin + inside)[:_MOST_NAMES]:
            name = int(number[at])
            low, high = np.searchsorted(by_order, name), np.searchsorted(by_order, name, "right")
            if low == high:
                continue  # a number of a road
            line = int(order[(low + high) // 2])
            points = self.index.polyline_points(line)
            lat, lon = points[len(points) // 2].tolist()
            found.append({"name": streets.names[name], "lat": round(lat, 6), "lon": round(lon, 6)})
        return found

    def tile(self, graph: Graph, zoom: int, x: int, y: int) -> dict[str, Any]:
        """Return the streets of a tile: rank, km/h, name, OSM way and points of each; see `pages/streets.js`."""
        scale = 2.0**zoom
        west, east = x / scale * 360.0 - 180.0, (x + 1) / scale * 360.0 - 180.0
        north, south = (latitude_of(math.pi * (1.0 - 2.0 * row / scale)) for row in (y, y + 1))
        margin = (east - west) / 16  # so that the strokes of streets beside the tile are not cut off
        chosen = (self.east >= west - margin) & (self.west <= east + margin)
        chosen &= (self.north >= south - margin) & (self.south <= north + margin)
        if zoom < _ALL_ZOOM:
            chosen &= np.minimum(self.rank, _MOST_RANK) <= self.shown_ranks[zoom]
        lines = np.flatnonzero(chosen)
        if len(lines) > _MOST_STREETS:
            lines = np.sort(lines[np.argsort(self.rank[lines], kind="stable")[:_MOST_STREETS]])
        index, streets = self.index, graph.streets
        count = index.first[lines + 1] - index.first[lines]
        offset = np.concatenate([[0], np.cumsum(count)])
        at = np.arange(offset[-1]) - np.repeat(offset[:-1] - index.first[lines], count)
        lat, lon = index.points[at].T
        px, py = (np.rint(side * EXTENT).astype(np.int64) for side in in_tile(lat, lon, zoom, x, y))
        # Points that fall together with the one before are left out, but for the ends.
        line = np.repeat(np.arange(len(lines)), count)
        kept = np.ones(len(at), np.bool_)
        near = (np.abs(np.diff(px)) + np.abs(np.diff(py)) < _LEAST_STEP) & (line[1:] == line[:-1])
        kept[1:][near] = False
        kept[offset[1:] - 1] = True
        px, py, line = px[kept], py[kept], line[kept]
        bounds = np.searchsorted(line, np.arange(len(lines) + 1)).tolist()
        pairs = np.stack([px, py], axis=1).reshape(-1).tolist()
        arcs = self.arc[lines]
        speed = np.rint(_kmh(graph, arcs)).astype(np.int64).tolist()
        names: dict[str, int] = {}
        named = [""] * len(lines) if streets is None else [streets.names[i] for i in streets.name[arcs].tolist()]
        ways = [0] * len(lines) if streets is None else streets.way[arcs].tolist()
        columns = zip(self.rank[lines].tolist(), speed, named, ways, bounds, bounds[1:], strict=False)
        return {
            "extent": EXTENT,
            "streets": [
                [rank, kmh, names.setdefault(name, len(names)), way, pairs[2 * begin : 2 * end]]
                for rank, kmh, name, way, begin, end in columns
            ],
            "names": list(names),
        }


def _kmh(graph: Graph, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the speed of arcs in km/h, 0 where it is not known."""
    streets = graph.streets
    if streets is None:
        return np.zeros(len(arcs))
    if streets.seconds is not None:
        seconds = streets.seconds[arcs].astype(np.float64)
        seconds -= 0.0 if streets.turn_seconds is None else streets.turn_seconds[arcs]
    else:
        seconds = graph.weight[arcs].astype(np.float64)
        seconds = (
            seconds - (0 if streets.turn_weight is None else streets.turn_weight[arcs])
        ) * streets.seconds_per_weight
    metres = streets.length[arcs].astype(np.float64)
    return np.asarray(np.where(seconds > 0.0, 3.6 * metres / np.where(seconds > 0.0, seconds, 1.0), 0.0).clip(0, 999))


class LiveMap:
    """Pages and data of the live map.

    Parameters
    ----------
    datasets : Datasets
        The datasets that it shows.
    run : callable
        Runs a function in a thread and returns its result.
    tiles : Tiles, optional
        Raster tiles behind the streets.
    """

    def __init__(
        self, datasets: Datasets, run: Callable[[Callable[[], Any]], Awaitable[Any]], tiles: Tiles | None = None
    ) -> None:
        self._datasets, self._run, self._tiles = datasets, run, tiles
        self._streets: WeakKeyDictionary[StreetIndex, _Streets] = WeakKeyDictionary()
        self._making = threading.Lock()
        image = "" if tiles is None else f" {tiles.origin}"
        self._headers = {
            # Nothing comes from elsewhere, but for the raster tiles that were asked for.
            "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src 'self' data:{image}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Cache-Control": "no-cache",
        }
        self._files = {name: self._stored(*file) for name, file in _FILES.items()}
        self._page = self._stored("vkssp.server", "pages/map.html", "text/html")
        self._basemaps = Basemaps(self._headers)

    def _stored(self, package: str, path: str, kind: str) -> StoredAnswer:
        return StoredAnswer(files(package).joinpath(path).read_bytes(), f"{kind}; charset=utf-8", self._headers)

    @property
    def routes(self) -> list[Route]:
        """Routes of the page and of its data."""
        return [
            Route("/", self._index, methods=["GET"]),
            Route("/map/config.json", self._config, methods=["GET"]),
            Route("/map/streets/{profile}/{tile:path}", self._tile, methods=["GET"]),
            Route("/map/search/{profile}", self._search, methods=["GET"]),
            Route("/map/basemap/{profile}", self._basemap, methods=["GET"]),
            Route("/map/{name}", self._file, methods=["GET"]),
        ]

    async def _index(self, request: Request) -> Response:
        return self._page.response(request)

    async def _file(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            return Response(b"There is no such file.", 404, media_type="text/plain")
        return found.response(request)

    def _of(self, profile: str) -> tuple[_Streets, Graph]:
        router = self._datasets.find(profile).router
        index = router.index
        with self._making:
            # Indices with other weights share the arrays of points.
            for known, made in self._streets.items():
                if known.points is index.points:
                    return made, router.graph
            made = self._streets[index] = _Streets(index)
            return made, router.graph

    async def _answer(self, make: Callable[[], object]) -> Response:
        try:
            body = await self._run(lambda: orjson.dumps(make()))
        except RequestError as error:
            return self._refused(error)
        return Response(body, headers=self._headers, media_type="application/json")

    def _refused(self, error: RequestError) -> Response:
        told = {"code": error.code, "message": error.message}
        return Response(orjson.dumps(told), error.status, self._headers, "application/json")

    async def _basemap(self, request: Request) -> Response:
        profile = request.path_params["profile"]
        try:
            found = await self._run(lambda: self._basemaps.answer(self._datasets.find(profile).router.graph))
        except RequestError as error:
            return self._refused(error)
        return Response(status_code=204, headers=self._headers) if found is None else found.response(request)

    async def _tile(self, request: Request) -> Response:
        profile, tile = request.path_params["profile"], request.path_params["tile"]

        def make() -> object:
            if not _TILE.match(tile):
                raise RequestError("InvalidQuery", "Give the tile as ZOOM/X/Y.", 400)
            zoom, x, y = map(int, tile.split("/"))
            if zoom > _MOST_ZOOM or max(x, y) >= 2**zoom:
                raise RequestError("InvalidQuery", f"There is no such tile; zooms are 0 to {_MOST_ZOOM}.", 400)
            streets, graph = self._of(profile)
            return streets.tile(graph, zoom, x, y)

        return await self._answer(make)

    async def _search(self, request: Request) -> Response:
        profile, text = request.path_params["profile"], request.query_params.get("q", "")[:100]
        return await self._answer(lambda: {"places": self._of(profile)[0].find(text)})

    async def _config(self, _: Request) -> Response:
        def make() -> object:
            profiles = []
            for name in self._datasets:
                router = self._datasets.find(name).router
                streets = router.graph.streets
                profiles.append(
                    {
                        "name": name,
                        "bounds": self._of(name)[0].bounds,
                        "classes": [] if streets is None or streets.classes is None else list(streets.class_names),
                        "has_durations": router.metric == "duration",
                        "basemap": self._basemaps.digest(router.graph),
                    }
                )
            tiles = self._tiles
            shown = None if tiles is None else {"url": tiles.url, "attribution": html.escape(tiles.attribution)}
            return {"profiles": profiles, "tiles": shown}

        return await self._answer(make)
