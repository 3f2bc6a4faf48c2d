"""The network with pandana's methods, beside pandana itself on the same edges, and beside NetworkX where it differs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas
import pytest

from tests.support.osmnx_graphs import andorra_network
from vkssp import DistanceOverflowError, QueryError
from vkssp.interop.pandana_network import AGGREGATIONS, Network

pandana = pytest.importorskip("pandana", reason="needs pandana")
#: Arguments of the constructor; pandana's network, ours, a distance with some nodes, and whether edges lead both ways.
Edges, Both = tuple[Any, ...], tuple[Any, Network, float, bool]


@pytest.fixture(autouse=True)
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Keep what pandana prints."""
    yield
    capfd.readouterr()


def town(seed: int, whole: bool, twoway: bool) -> Edges:
    """Return a random network of several components, with ids in any order and parallel edges."""
    rng = np.random.default_rng(seed)
    count = 60
    ids = pandas.Index(rng.permutation(1000)[:count])
    x, y = (pandas.Series(rng.random(count), ids) for _ in range(2))
    ends = [pandas.Series(ids[rng.integers(0, count, 80)]) for _ in range(2)]
    weight = rng.integers(1, 9, 80) if whole else rng.random(80) * 9
    return x, y, *ends, pandas.DataFrame({"metres": weight} | ({"minutes": rng.random(80)} if whole else {})), twoway


def andorra() -> Edges:
    """Return the streets of Andorra la Vella, directed, by metres."""
    network = andorra_network()
    nodes = pandas.DataFrame({key: dict(network.nodes(data=key)) for key in ("x", "y")})
    rows = [(tail, head, length) for tail, head, length in network.edges(data="length")]
    edges = pandas.DataFrame(rows, columns=["from", "to", "metres"])
    return nodes["x"], nodes["y"], edges["from"], edges["to"], edges[["metres"]], False


NETWORKS: dict[str, Callable[[], Edges]] = {
    "whole": lambda: town(1, True, True),
    "real": lambda: town(2, False, True),
    "one way": lambda: town(3, False, False),
    "andorra": andorra,
}


@pytest.fixture(scope="module", params=NETWORKS)
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """Yield a network of both kinds."""
    edges = NETWORKS[request.param]()
    with Network(*edges, device="cpu") as ours:
        yield pandana.Network(*edges), ours, 400.0 if request.param == "andorra" else 7.0, edges[-1]


def places(network: Network, count: int) -> tuple[pandas.Series, pandas.Series]:
    """Return places near the nodes, some at the same node, with texts as ids."""
    rng = np.random.default_rng(5)
    low_x, low_y, high_x, high_y = network.bbox
    index = pandas.Index([f"place {at}" for at in range(count)])
    x, y = low_x + rng.random(count) * (high_x - low_x), low_y + rng.random(count) * (high_y - low_y)
    return pandas.Series(x, index), pandas.Series(y, index)


def test_lengths_and_paths(both: Both) -> None:
    theirs, ours, _, twoway = both
    rng = np.random.default_rng(7)
    a, b = (rng.choice(ours.node_ids, 300) for _ in range(2))
    with pytest.warns(UserWarning, match="unconn|unconntected"):
        wanted = theirs.shortest_path_lengths(a, b, "metres")
    with pytest.warns(UserWarning, match="no path joins"):
        found = ours.shortest_path_lengths(a, b, "metres")
    assert found == wanted and 4294967.295 in found
    arcs: dict[tuple[Any, Any], float] = {}
    edges = ours.edges_df
    for tail, head, metres in zip(edges["from"], edges["to"], edges["metres"], strict=True):
        for pair in [(tail, head), (head, tail)][: 1 + twoway]:
            arcs[pair] = min(arcs.get(pair, np.inf), max(0.001, int(metres * 1000) / 1000))
    for at, path in enumerate(ours.shortest_paths(a[:40], b[:40], "metres")):
        assert len(path) == 0 if found[at] == 4294967.295 else (path[[0, -1]] == [a[at], b[at]]).all()
        if len(path):
            total = sum(arcs[pair] for pair in itertools.pairwise(path))
            assert total == pytest.approx(found[at], abs=1e-6)
    at = int(np.argmax(np.array(found) < 4294967))
    assert ours.shortest_path(a[at], b[at], "metres").dtype == theirs.shortest_path(a[at], b[at], "metres").dtype
    assert ours.shortest_path_length(a[at], b[at], "metres") == found[at]


def test_aggregates(both: Both) -> None:
    theirs, ours, distance, _ = both
    nodes = ours.get_node_ids(*places(ours, 90))
    values = pandas.Series(np.random.default_rng(8).normal(20, 9, 90), nodes.index)
    values.iloc[3] = np.nan
    bound = 1e-7 * values.abs().sum()
    for network in (theirs, ours):
        network.set(nodes, values, name="jobs")
        network.set(nodes)
    for kind in (*(one for one in AGGREGATIONS if one != "std"), "AVG", "med"):
        for decay in ("flat", "linear", "exp"):
            for far in (0.1, distance, 3 * distance):
                found = ours.aggregate(far, kind, decay, "metres", "jobs")
                wanted = theirs.aggregate(far, kind, decay, "metres", "jobs")
                pandas.testing.assert_series_equal(found, wanted, rtol=1e-6, atol=bound)
    assert ours.aggregate(distance, imp_name="metres").equals(
        ours.aggregate(distance, "sum", "linear", "metres", "tmp")
    )
    exact = ours.aggregate(distance, "sum", "exponential", "metres", "jobs")
    assert exact.equals(ours.aggregate(distance, "sum", "exp", "metres", "jobs"))


def test_places(both: Both) -> None:
    theirs, ours, distance, twoway = both
    if len(ours.impedance_names) > 1:  # pandana lists each place once for each weight then
        edges = ours.edges_df
        theirs = pandana.Network(
            ours.nodes_df.x, ours.nodes_df.y, edges["from"], edges["to"], edges[["metres"]], twoway
        )
    where = places(ours, 40)
    pandas.testing.assert_series_equal(ours.get_node_ids(*where), theirs.get_node_ids(*where))
    near = ours.get_node_ids(*where, mapping_distance=0.002)
    pandas.testing.assert_series_equal(near, theirs.get_node_ids(*where, mapping_distance=0.002))
    for network in (theirs, ours):
        network.set_pois("shop", 3 * distance, 5, *where)
    for number, far in ((1, None), (5, 99.5)):
        found = ours.nearest_pois(distance, "shop", number, far, "metres", include_poi_ids=True)
        wanted = theirs.nearest_pois(distance, "shop", number, far, "metres", include_poi_ids=True)
        assert list(found) == list(wanted) and found.index.equals(wanted.index)
        numbers = range(1, number + 1)
        pandas.testing.assert_frame_equal(found[[*numbers]], wanted[[*numbers]], rtol=1e-6)
        assert (found.isna() == wanted.isna()).all(axis=None)
        at_node = ours.get_node_ids(*where)
        for one in numbers:  # places at the same distance may change their order
            other = found[f"poi{one}"].ne(wanted[f"poi{one}"]) & found[f"poi{one}"].notna()
            for node in found.index[other]:
                pair = [at_node[found.at[node, f"poi{one}"]], at_node[wanted.at[node, f"poi{one}"]]]
                lengths = ours.shortest_path_lengths([node, node], pair, "metres")
                assert lengths[0] == lengths[1]
    without = ours.nearest_pois(distance, "shop", 60, imp_name="metres", include_poi_ids=True)
    assert (without[60] == distance).all() and without["poi60"].isna().all()


def test_nodes_in_range_and_low_connectivity(both: Both) -> None:
    theirs, ours, distance, _ = both
    nodes = ours.node_ids[[3, 30, 3, 50]]
    found, wanted = (one.nodes_in_range(nodes, distance, "metres") for one in (ours, theirs))
    by = ["source", "destination"]
    pandas.testing.assert_frame_equal(
        found.sort_values(by).reset_index(drop=True), wanted.sort_values(by).reset_index(drop=True)
    )
    assert found.groupby("source", sort=False)["metres"].is_monotonic_increasing.all()
    low = ours.low_connectivity_nodes(distance, 4, "metres")
    assert np.array_equal(low, theirs.low_connectivity_nodes(distance, 4, "metres")) and len(low)


def test_attributes(both: Both) -> None:
    theirs, ours, _, _ = both
    pandas.testing.assert_frame_equal(ours.nodes_df, theirs.nodes_df)
    pandas.testing.assert_frame_equal(ours.edges_df, theirs.edges_df)
    assert ours.bbox == theirs.bbox and ours.node_ids.equals(theirs.node_ids)
    assert ours.impedance_names == theirs.impedance_names and ours.node_idx.equals(theirs.node_idx)
    ours.precompute(500)
    assert repr(ours).startswith(f"Network({len(ours.node_ids):,} nodes, ") and os.linesep not in repr(ours)


def line(weights: list[Any], **settings: Any) -> Network:
    """Return a network of nodes a, b, c, ... in a row."""
    ids = [chr(ord("a") + at) for at in range(len(weights) + 1)]
    x, y = pandas.Series(np.arange(len(ids), dtype=float), ids), pandas.Series(0.0, ids)
    return Network(x, y, pandas.Series(ids[:-1]), pandas.Series(ids[1:]), pandas.DataFrame({"w": weights}), **settings)


def test_texts_as_ids_and_no_values() -> None:
    with line([1.5, 2]) as network:
        assert network.shortest_path("a", "c").tolist() == ["a", "b", "c"]
        assert network.nodes_in_range(["c"], 2)["destination"].tolist() == ["c", "b"]
        network.set(pandas.Series(["b", "nowhere"]), pandas.Series([4.0, 5]), "v")
        assert network.aggregate(1.5, "max", name="v").tolist() == [4.0, 4.0, -1.0]
        network.set(pandas.Series([], dtype=object), pandas.Series([], dtype=float), "none")
        kinds = {kind: network.aggregate(1.5, kind, name="none").tolist()[0] for kind in AGGREGATIONS}
        assert kinds == {kind: -1.0 if kind in ("min", "25pct", "median", "75pct", "max") else 0.0 for kind in kinds}
        network.set_pois("none", 1, 1, pandas.Series([], dtype=float), pandas.Series([], dtype=float))
        assert network.nearest_pois(1.5, "none", include_poi_ids=True)[1].tolist() == [1.5] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: n.shortest_path("a", "z"), "nodes_b has 'z', which is no node"),
        (lambda n: n.shortest_path_lengths(["a"], ["b", "c"]), "Origin and destination counts don't match: 1, 2"),
        (lambda n: n.shortest_path_lengths(["a"], ["b"], "metres"), "imp_name is 'metres'; choose one of w"),
        (lambda n: n.aggregate(1, "mode", name="v"), "type is 'mode'; choose one of sum"),
        (lambda n: n.aggregate(1, decay="cubic", name="v"), "decay is 'cubic'; choose"),
        (lambda n: n.aggregate(1, name="jobs"), "name is 'jobs'; choose one of v"),
        (lambda n: n.aggregate(-1, name="v"), "distance is -1; give a distance"),
        (lambda n: n.nearest_pois(1, "shop"), "category is 'shop'"),
        (lambda n: n.nodes_in_range("a", 1), "nodes is 'a'; give a list"),
        (lambda n: n.set_pois("shop", 1, 1), "x_col or y_col is missing"),
        (lambda n: line([1.0, float("nan")]), r"edge_weights\['w'\] has nan at 1; give numbers from 0"),
        (lambda n: line([-1.0]), "has -1.0 at 0"),
        (lambda n: line([5e6]), "has 5000000.0 at 0"),
    ],
)
def test_what_is_wrong_is_named(call: Callable[[Network], object], message: str) -> None:
    with line([1.0, 2.0]) as network:
        network.set(pandas.Series(["a"]), name="v")
        with pytest.raises(QueryError, match=message):
            call(network)


def test_paths_that_pandana_cannot_add_up_are_an_error() -> None:
    with line([4e6, 4e6]) as network, pytest.raises(DistanceOverflowError):
        network.shortest_path_length("a", "c")
