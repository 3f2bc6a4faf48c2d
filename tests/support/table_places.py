"""Places of tables, drawn at random."""

from __future__ import annotations

import numpy as np

from vkssp import Graph

Place = tuple[float, float]


def places_of(graph: Graph, count: int, seed: int) -> list[Place]:
    """Return places all over a map, some of them right on a junction or on the same street."""
    assert graph.lat is not None and graph.lon is not None and graph.streets is not None
    rng = np.random.default_rng(seed)
    nodes = rng.integers(0, graph.num_nodes, count)
    near = np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1) + rng.normal(0, 3e-4, (count, 2))
    exact = near[: count // 4]
    exact[:] = np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1)[: count // 4]
    line = graph.streets.polyline_points(int(np.argmax(np.diff(graph.streets.polyline_first.astype(np.int64)))))
    along = [tuple(line[len(line) * i // 4]) for i in (1, 2, 3)]
    inside = [tuple(place) for place in near.tolist()]
    return [*inside, *((float(lat), float(lon)) for lat, lon in along), inside[0], inside[-1]]
