"""The basemap of an extract: the sea beside a coast, lakes and places, in the graph and in its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.osm_maps import write_osm
from vkssp import Graph, read_graph
from vkssp.graph.basemap import SEA, WATER


def test_a_graph_and_its_file_hold_sea_and_lakes(tmp_path: Path) -> None:
    lake = {5: (0.02, 0.02), 6: (0.02, 0.03), 7: (0.03, 0.03), 8: (0.03, 0.02)}
    nodes = {1: (0.0, 0.0), 2: (0.05, 0.05), 3: (0.025, 0.1), 4: (0.025, -0.05), **lake}
    # Land lies to the left of a coast that runs west, which is south of it.
    ways = [
        (1, [1, 2], {"highway": "residential"}),
        (2, [3, 4], {"natural": "coastline"}),
        (3, [5, 6, 7, 8, 5], {"natural": "water"}),
    ]
    graph = read_graph(write_osm(tmp_path / "coast.osm", nodes, ways))
    assert graph.streets is not None and graph.streets.basemap is not None
    found = graph.streets.basemap
    assert found.kind.tolist() == [SEA, WATER] and not found.surrounded
    sea = found.points[: found.first[1]]
    assert sea[:, 0].min() >= 250_000 - 1 and sea[:, 0].max() > 500_000
    graph.save(tmp_path / "coast.graph")
    loaded = Graph.load(tmp_path / "coast.graph").streets
    assert loaded is not None and loaded.basemap is not None
    assert np.array_equal(loaded.basemap.points, found.points) and loaded.basemap.kind.tolist() == found.kind.tolist()
