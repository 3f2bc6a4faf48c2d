"""Graphs of GMNS folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vkssp
from tests.support.osm_maps import streets_of
from vkssp import FormatError, Router, Solver
from vkssp.assignment import gmns

NODES = "node_id,zone_id,x_coord,y_coord\n1,1,1.50,42.50\n2,,1.51,42.50\n5000000000,2,1.51,42.51\n"
LINKS = (
    "link_id,name,from_node_id,to_node_id,directed,length,free_speed,lanes,capacity,geometry\n"
    "a,Rue,1,2,0,1.2,36,1,900,\n"
    'b,,2,5000000000,1,0.9,72,1,900,"LINESTRING (1.51 42.50, 1.512 42.505, 1.51 42.51)"\n'
)
CONFIG = "long_length,speed\nkm,kph\n"


def folder(path: Path, nodes: str = NODES, links: str = LINKS, config: str | None = CONFIG) -> Path:
    (path / "node.csv").write_text(nodes)
    (path / "link.csv").write_text(links)
    if config:
        (path / "config.csv").write_text(config)
    return path


def test_links_become_streets(tmp_path: Path) -> None:
    graph = vkssp.from_gmns(folder(tmp_path))
    assert graph.names is not None and graph.names.tolist() == [1, 2, 5_000_000_000]
    with Solver(graph, "dijkstra") as solver:
        assert solver.distances(1).tolist() == [0, 120, 165]
        assert solver.distances(5_000_000_000).tolist() == [np.inf, np.inf, 0]
        assert solver.distances(2).tolist() == [120, 0, 45]
    # The same links as the network of an assignment, whose free times are minutes.
    network = gmns.read_network(tmp_path)
    assert (network.delay.time(np.zeros(3)) * 60).tolist() == [120, 120, 45]
    streets = streets_of(graph)
    assert streets.way.tolist() == [0, 0, 1] or sorted(streets.way.tolist()) == [0, 0, 1]
    bent = int(np.flatnonzero(streets.way == 1)[0])
    assert streets.points_along(np.array([bent])).round(7).tolist() == [[42.5, 1.51], [42.505, 1.512], [42.51, 1.51]]
    with Router(graph, "dijkstra") as router:
        route = router.route((42.5, 1.5), (42.51, 1.51))
    assert route.duration_s == pytest.approx(165) and route.nodes.tolist() == [2]


def test_shapes_in_a_file_of_their_own(tmp_path: Path) -> None:
    links = LINKS.replace("geometry\n", "geometry_id\n").replace(
        '"LINESTRING (1.51 42.50, 1.512 42.505, 1.51 42.51)"', "x"
    )
    folder(tmp_path, links=links)
    (tmp_path / "geometry.csv").write_text(
        'geometry_id,geometry\nx,"LINESTRING (1.51 42.50, 1.52 42.505, 1.51 42.51)"\n'
    )
    assert streets_of(vkssp.from_gmns(tmp_path)).points.max(axis=0).tolist() == [425_100_000, 15_200_000]


def test_plain_coordinates_and_lengths(tmp_path: Path) -> None:
    graph = vkssp.from_gmns(folder(tmp_path, nodes=NODES.replace("1.50,", "5000,"), config=None))
    assert graph.streets is None and graph.lat is None
    with Solver(graph, "dijkstra") as solver:
        assert solver.distances(1).tolist() == pytest.approx([0, 1.2, 2.1])


@pytest.mark.parametrize(
    ("nodes", "links", "text"),
    [
        (NODES + "2,,1,1\n", LINKS, "node_id is '2'; give each node an id of its own"),
        (NODES, LINKS.replace("1,2,0", "1,9,0"), "to_node_id is '9', which is no node"),
        (NODES, LINKS.replace("1,2,0", "1,2,maybe"), "directed is 'maybe'; give 1 or 0"),
        (NODES, LINKS.replace("LINESTRING", "POLYGON"), "the geometry of link 2 is .*; give a LINESTRING"),
        (NODES, LINKS.replace("1.512 42.505", "151 425"), "geometry that is not in degrees"),
        (NODES, LINKS.replace(",1.2,36", ",,"), "neither a time nor a length for link 1"),
    ],
)
def test_wrong_folders(tmp_path: Path, nodes: str, links: str, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        vkssp.from_gmns(folder(tmp_path, nodes, links))
