"""OSM nodes along routes, against the ways of the extract."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import osmium
import pytest

from tests.support.osm_maps import ANDORRA, streets_of
from vkssp import Graph, GraphError, Router
from vkssp.osm import import_extract

HOME, SHOP, PASS = (42.5078, 1.5211), (42.5361, 1.5828), (42.5425, 1.7337)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_a_route_passes_nodes_that_follow_each_other_on_its_ways(turns: str) -> None:
    graph, _ = import_extract(ANDORRA, turns=turns)
    streets = streets_of(graph)
    links = {
        (int(way.id), a.ref, b.ref)
        for way in osmium.FileProcessor(str(ANDORRA), osmium.osm.WAY)
        for first, second in zip(list(way.nodes)[:-1], list(way.nodes)[1:], strict=True)
        for a, b in ((first, second), (second, first))
    }
    with Router(graph, "dijkstra") as router:
        route = router.route(HOME, PASS, via=[SHOP])
    legs = [leg for leg in route.legs if len(leg.arcs)]
    assert len(legs) == 2
    for leg in legs:
        for arc in leg.arcs.tolist():
            along = streets.nodes_along(np.array([arc])).tolist()
            way = int(streets.way[arc])
            assert all(a == b or (way, a, b) in links for a, b in pairwise(along))
        ends = [streets.nodes_along(np.array([arc]))[[0, -1]].tolist() for arc in leg.arcs.tolist()]
        passed = [end for _, end in ends[:-1]]
        assert passed == [begin for begin, _ in ends[1:]]
        ids = leg.osm_nodes
        assert ids is not None
        # A gate, and the turn at a junction, is one place.
        assert ids.tolist() == [b for a, b in zip([None, *passed], passed, strict=False) if a != b]
    assert route.osm_nodes is not None
    assert set(route.osm_nodes.tolist()) == {node for leg in legs for node in leg.osm_nodes.tolist()}  # type: ignore[union-attr]

    nodes, which = streets.nodes_of([*route.osm_nodes.tolist(), 1])
    assert set(route.nodes.tolist()) <= set(nodes.tolist()) and which.max() == len(route.osm_nodes) - 1
    assert streets.node is not None and (streets.node[nodes] == route.osm_nodes[which]).all()


def test_graphs_without_ids_say_so() -> None:
    graph, _ = import_extract(ANDORRA, turns="none")
    streets = replace(streets_of(graph), node=None, point_node=None)
    bare = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)
    with Router(bare, "dijkstra") as router:
        assert router.route(HOME, PASS, via=[SHOP]).osm_nodes is None
    for ask in (lambda: streets.nodes_of([1]), lambda: streets.nodes_along(np.array([0]))):
        with pytest.raises(GraphError, match="import the extract again"):
            ask()
