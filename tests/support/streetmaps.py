"""Small street maps made by hand."""

from __future__ import annotations

import numpy as np

from vkssp import Graph, Streets
from vkssp.graph.geo import haversine

#: Degrees of one unit of the maps' coordinates, about 111 m.
UNIT = 1e-3


def street_map(
    nodes: list[tuple[float, float]],
    streets: list[tuple[int, int, int] | tuple[int, int, int, list[tuple[float, float]]]],
    oneways: tuple[int, ...] = (),
    ferries: tuple[int, ...] = (),
) -> Graph:
    """Make a graph from nodes (y, x) and streets (from, to, weight[, points between]), all in `UNIT`."""
    places = np.array(nodes, float).reshape(-1, 2) * UNIT
    tail, head, weight, polyline, backward, length, points, first = [], [], [], [], [], [], [], [0]
    for index, (start, end, cost, *between) in enumerate(streets):
        shape = np.concatenate(
            [places[[start]], np.array(between[0] if between else []).reshape(-1, 2) * UNIT, places[[end]]]
        )
        metres = float(haversine(*shape[:-1].T, *shape[1:].T).sum())
        points.append(np.rint(shape * 1e7))
        first.append(first[-1] + len(shape))
        for t, h, back in ((start, end, False), (end, start, True)):
            if back and index in oneways:
                continue
            tail.append(t)
            head.append(h)
            weight.append(cost)
            polyline.append(index)
            backward.append(back)
            length.append(metres)
    by_tail = np.argsort(tail, kind="stable")
    attributes = Streets(
        length=np.array(length, np.float32)[by_tail],
        way=np.array(polyline, np.int64)[by_tail] + 100,
        carried=np.isin(polyline, ferries)[by_tail],
        name=np.array(polyline, np.uint32)[by_tail] + 1,
        names=("", *(f"Street {i}" for i in range(len(streets)))),
        polyline=np.array(polyline, np.uint32)[by_tail],
        backward=np.array(backward, np.bool_)[by_tail],
        polyline_first=np.array(first, np.uint32),
        points=np.concatenate(points).astype(np.int32),
        seconds_per_weight=0.1,
    )
    plain = Graph.from_edges(tail, head, weight, num_nodes=len(nodes))
    return Graph.from_csr(
        plain.first_out, plain.head, plain.weight, lat=places[:, 0], lon=places[:, 1], streets=attributes
    )
