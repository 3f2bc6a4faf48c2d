"""Points at which legs meet, and the pieces of streets that they are on, as OSRM tells them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.osm_maps import write_osm
from vkssp import Router, read_graph
from vkssp.graph.hilbert import hilbert_index
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.limits import Limits

#: Nodes of a street, ten metres apart, with a gap between 5 and 6, and of one that meets it at node 3.
LON = (1.0, 1.00009, 1.00018, 1.00027, 1.000359, 1.000539, 1.000629)
PROFILE = 'extends = "car"\nround_pieces = true\nellipsoid = true\n[speeds.highway]\nprimary = 36\n'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("map")
    nodes = {number: (1.0, lon) for number, lon in enumerate(LON, 1)} | {8: (0.99991, LON[2])}
    ways = [(1, [1, 2, 3, 4, 5, 6, 7], {"highway": "primary"}), (2, [3, 8], {"highway": "primary"})]
    (folder / "p.toml").write_text(PROFILE)
    graph = read_graph(write_osm(folder / "m.osm", nodes, ways), profile=folder / "p.toml", turns="costs")
    with Router(graph, device="cpu") as router:
        yield TestClient(application({"car": Dataset(router)}, Limits(), live_map=False))


# What OSRM answers: the pieces of a trace are the first ones along Hilbert's curve.
@pytest.mark.parametrize(
    ("service", "through", "nodes", "points"),
    [
        ("match", [1, 2, 5, 7], [[1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]], 9),
        ("match", [1, 2, 4], [[1, 2, 3], [2, 3, 4, 5]], 6),
        ("route", [1, 2, 5, 7], [[1, 2], [1, 2, 3, 4, 5], [4, 5, 6, 7]], 9),
    ],
)
def test_points_are_repeated_where_a_piece_has_no_length(
    client: TestClient, service: str, through: list[int], nodes: list[list[int]], points: int
) -> None:
    url = f"/{service}/v1/car/" + ";".join(f"{LON[node - 1]},1" for node in through)
    answer = client.get(f"{url}?overview=full&geometries=geojson&annotations=nodes").json()
    (found,) = answer["matchings" if service == "match" else "routes"]
    assert [leg["annotation"]["nodes"] for leg in found["legs"]] == nodes
    assert len(found["geometry"]["coordinates"]) == points


def test_hilbert_index() -> None:
    """Each point has its own index, and points of successive ones are neighbours."""
    order = sorted((hilbert_index(x, y), x, y) for x in range(16) for y in range(16))
    assert [one for one, _, _ in order] == list(range(256))
    assert all(abs(a[1] - b[1]) + abs(a[2] - b[2]) == 1 for a, b in pairwise(order))
