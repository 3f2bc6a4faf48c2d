"""A small road network, a route in it, and what a browser would see of a map page."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import shapely

from vkssp.graph import Graph
from vkssp.graph.streets import Streets
from vkssp.route import Place, Route

EVIL = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&{{device}}\u2028"
METRES = 111_195.0
VOID = {"meta", "link", "br", "img", "input", "hr"}


def grid(side: int, *, shape_points: int = 3, names: tuple[str, ...] = ("", "Rúa “A” <&> 'ß'")) -> Graph:
    """Return a crooked grid of two-way streets; those along rows are twice as fast as those along columns."""
    random = np.random.default_rng(1)
    lat = 46.0 + np.repeat(np.arange(side), side) * 0.002
    lon = 7.0 + np.tile(np.arange(side), side) * 0.003
    node = np.arange(side * side).reshape(side, side)
    rows, columns = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:])
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in (rows, columns)])
    count = len(pairs)
    along = np.arange(count) < count // 2
    ends = np.stack([lat, lon], 1)[pairs]
    share = np.linspace(0, 1, shape_points + 2)[None, :, None]
    lines = ends[:, :1] * (1 - share) + ends[:, 1:] * share
    lines[:, 1:-1] += random.normal(0, 1e-4, lines[:, 1:-1].shape)
    points = np.rint(lines * 1e7).astype(np.int32)
    steps = np.diff(lines, axis=1) * METRES * [1, np.cos(np.radians(46))]
    length = np.hypot(steps[..., 0], steps[..., 1]).sum(axis=1)
    weight = np.rint(length / np.where(along, 60, 30) * 3.6 * 10).astype(np.int64)
    # Both directions of each, sorted by tail.
    tail, head = np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]])
    by_tail = np.argsort(tail, kind="stable")
    line = np.tile(np.arange(count), 2)[by_tail]
    first_out = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=side * side))])
    streets = Streets(
        length=length[line].astype(np.float32),
        way=line.astype(np.int64) + 100,
        carried=np.zeros(2 * count, np.bool_),
        name=(line % len(names)).astype(np.uint32),
        names=names,
        polyline=line.astype(np.uint32),
        backward=(np.arange(2 * count) >= count)[by_tail],
        polyline_first=(np.arange(count + 1) * (shape_points + 2)).astype(np.uint32),
        points=points.reshape(-1, 2),
        seconds_per_weight=0.1,
    )
    return Graph.from_csr(first_out, head[by_tail], weight[line], lat=lat, lon=lon, streets=streets)


def a_route(graph: Graph, **changes: Any) -> Route:
    assert graph.lat is not None and graph.lon is not None
    last = graph.num_nodes - 1
    points = np.stack([graph.lat[[0, 1, last]], graph.lon[[0, 1, last]]], 1)
    start, end = (Place(lat, lon, lat, lon, 3.0) for lat, lon in points[[0, -1]].tolist())
    values = {
        "points": points,
        "arcs": np.arange(2),
        "nodes": np.array([0, 1, last], np.uint32),
        "weight": 49_800,
        "distance_m": 27_412.0,
        "duration_s": 4980.0,
        "origin": replace(start, name="Début"),
        "destination": end,
        "query_ms": 0.8431,
    }
    return Route(**{"device": "llvmpipe (LLVM 15)", "algorithm": "delta_step", **values, **changes})


class Page(HTMLParser):
    """What a browser would see: elements, their attributes, the text of the panel and the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def payload(self) -> Any:
        ids = [attributes.get("id") for tag, attributes in self.elements if tag == "script"]
        return json.loads(self.texts["script"][ids.index("payload")])


def decode(text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Read the integers one by one, as the format is described."""
    values, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            values.append(value)
            value = shift = 0
    return np.array(values, np.int64)


def decode_points(text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    steps = decode(text).reshape(-1, 2)
    return np.cumsum((steps >> 1) ^ -(steps & 1), axis=0)


def lines_of(payload: Any) -> list[Any]:
    """Return the page's roads as lines in degrees."""
    points = decode_points(payload["points"]) / payload["scale"]
    counts = decode(payload["counts"])
    assert counts.sum() == len(points)
    return [shapely.LineString(part) for part in np.split(points, np.cumsum(counts)[:-1])]
