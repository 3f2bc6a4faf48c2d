"""Road networks of any size, made of copies of real ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

from tests.conftest import DATA
from vkssp import Graph, GraphError, read_graph
from vkssp.bench.patchwork import EXPONENT, ROADS, Layout, Tile


@pytest.fixture(scope="module")
def plain() -> Tile:
    pytest.importorskip("osmium")
    return Tile.of(read_graph(DATA / "andorra.osm.pbf", turns="none"))


@pytest.fixture(scope="module")
def turning() -> Tile:
    pytest.importorskip("osmium")
    return Tile.of(read_graph(DATA / "andorra.osm.pbf", turns="costs"))


def crossing(layout: Layout, at: int) -> int:
    """Return the number of roads that join columns below `at` to others."""
    return sum((one.cell % layout.columns < at) != (one.other % layout.columns < at) for one in layout.joints())


def test_roads_across_borders_grow_as_the_law_says(plain: Tile) -> None:
    layout = Layout([plain], 8, 4)
    places = np.array([32, 16, 8]) * plain.num_places
    wanted = np.rint(ROADS * places**EXPONENT)
    # The whole is halved from west to east, so are its halves, and then the four parts from south to north.
    assert crossing(layout, 4) == wanted[0]
    assert crossing(layout, 2) == wanted[1] == crossing(layout, 6)
    # Roads that would join the same two places are one road.
    assert 0.8 < sum(one.cell // 8 < 2 <= one.other // 8 for one in layout.joints()) / (4 * wanted[2]) <= 1
    # Neighbours in the north and the south have roads to each other alone.
    assert all(one.other - one.cell in (1, 8) for one in layout.joints())


@pytest.mark.parametrize("kind", ["plain", "turning"])
def test_copies_are_joined_and_otherwise_unchanged(kind: str, request: pytest.FixtureRequest) -> None:
    tile: Tile = request.getfixturevalue(kind)
    layout = Layout([tile], 3, 2)
    graph, one = layout.graph(), tile.graph
    n, joints = one.num_nodes, list(layout.joints())
    assert graph.num_nodes == 6 * n + (2 * len(joints) if tile.has_turns else 0)
    strong = [
        np.bincount(csgraph.connected_components(some.to_scipy(), directed=True, connection="strong")[1]).max()
        for some in (one, graph)
    ]
    assert strong[1] == 6 * strong[0] + graph.num_nodes - 6 * n
    tail, head = graph.tail.astype(np.int64), graph.head.astype(np.int64)
    for cell in range(6):
        is_inside = (tail // n == cell) & (head // n == cell)
        np.testing.assert_array_equal(tail[is_inside] - cell * n, one.tail)
        np.testing.assert_array_equal(head[is_inside] - cell * n, one.head)
        np.testing.assert_array_equal(graph.weight[is_inside], one.weight)
    assert graph.lat is not None and graph.lon is not None and one.lat is not None
    # The copies lie apart from each other.
    south, north = (graph.lat[:n], graph.lat[3 * n : 4 * n])
    assert south.max() < north.min() and graph.lon[:n].max() < graph.lon[n : 2 * n].min()


def test_a_road_leads_where_other_streets_of_its_places_lead(turning: Tile) -> None:
    layout = Layout([turning], 2, 1)
    graph, n = layout.graph(), turning.graph.num_nodes
    joints = list(layout.joints())
    for number, joint in enumerate(joints):
        for back in (0, 1):
            node = 2 * n + 2 * number + back
            begin, end = (joint.place, joint.other_place)[:: -1 if back else 1]
            cells = (joint.cell, joint.other)[:: -1 if back else 1]
            arcs_in = graph.head == node
            np.testing.assert_array_equal(np.sort(graph.tail[arcs_in]), cells[0] * n + turning.nodes[begin])
            assert (graph.weight[arcs_in] == turning.road).all()
            away = slice(int(graph.first_out[node]), int(graph.first_out[node + 1]))
            others = [
                (int(turning.graph.head[arc]), int(turning.graph.weight[arc]))
                for state in turning.nodes[end]
                for arc in range(int(turning.graph.first_out[state]), int(turning.graph.first_out[state + 1]))
            ]
            costliest = {head: max(weight for to, weight in others if to == head) for head, _ in others}
            found = dict(zip((graph.head[away] - cells[1] * n).tolist(), graph.weight[away].tolist(), strict=True))
            assert found == costliest and len(found) == away.stop - away.start


def test_sizes_and_tiles_that_fit(plain: Tile, turning: Tile) -> None:
    layout = Layout.for_nodes([plain], 50 * plain.graph.num_nodes)
    assert (layout.columns, layout.rows) == (7, 7)
    assert len(list(Layout.for_nodes([plain], 1).joints())) == 0
    for tiles in ([], [plain, turning]):
        with pytest.raises(GraphError, match="all have turns"):
            Layout.for_nodes(tiles, 1000)
    with pytest.raises(GraphError, match="coordinates"):
        Tile.of(Graph.from_edges([0], [1], [1]))
