"""Tables by tasks of dask: what they hold is what solvers and routers say, bit for bit, however rows are divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid
from tests.support.table_places import places_of
from vkssp import Graph, QueryError, Router, Solver, read_graph
from vkssp.dask import lazy as lazy_module
from vkssp.dask.graph_source import source_of
from vkssp.dask.question import TableQuestion
from vkssp.dask.worker_solvers import SOLVERS, WorkerSolvers
from vkssp.errors import ClusterError, DeviceError, DistanceOverflowError, FormatError
from vkssp.solver.table_maker import table_of_nodes

pytest.importorskip("distributed")
dask = pytest.importorskip("vkssp.dask")


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Graph, Path]:
    graph = grid(12)
    graph.save(tmp_path / "grid.graph")
    return graph, tmp_path / "grid.graph"


@pytest.mark.parametrize("there", [False, True], ids=["here", "cluster"])
def test_nodes(client: Any, saved: tuple[Graph, Path], there: bool) -> None:
    graph, path = saved
    sources, targets = np.arange(0, 144, 7), np.arange(5, 100, 9)
    cluster = client if there else None

    def value(lazy: Any) -> Any:
        return client.compute(lazy).result() if there else lazy.compute()

    with Solver(graph, device="cpu") as solver:
        for given in (path, graph):
            table = dask.table(given, sources, targets, rows=4, cluster=cluster)
            assert table.metrics == ("weight",) and repr(table).endswith("weight, 6 blocks)")
            assert table.to_array().chunks == ((4, 4, 4, 4, 4, 1), (11,))
            assert np.array_equal(value(table.to_array()), solver.table(sources, targets))
            if there:
                whole = table.gathered()
                assert np.array_equal(whole.read()["weight"], solver.table(sources, targets))
                assert np.array_equal(whole.part(3, 9).read()["weight"], solver.table(sources[3:9], targets))
        limited = dask.table(path, sources, "all", limit=6, reverse=True, cluster=cluster).to_array()
        back = np.stack([solver.distances(node, limit=6) for node in range(144)])[:, sources].T
        assert np.array_equal(value(limited), back)
        lazy = dask.distances(path, sources, cluster=cluster)
        assert np.array_equal(value(lazy), solver.distances(sources)) and lazy.dtype == np.uint32
        whole = dask.pairs(graph, sources[:11], targets, rows=3, cluster=cluster)
        assert np.array_equal(value(whole), solver.pairs(sources[:11], targets))


def test_places(client: Any, andorra_path: Path) -> None:
    graph = read_graph(andorra_path, turns="costs")
    places, metrics = places_of(graph, 9, 3), ["duration", "distance"]
    names = [f"p{number}" for number in range(len(places))]
    with Router(graph, device="cpu", small_component_size=50) as router:
        whole = router.table(places, places[:6], metrics)
        table = dask.table(graph, places, places[:6], metrics, rows=5, cluster=client, small_component_size=50)
        found = client.compute(table.to_xarray(names, names[:6])).result()
        assert found.identical(whole.to_xarray(names, names[:6]))
        frame, expected = client.compute(table.to_dataframe()).result(), whole.to_dataframe()
        assert list(frame.columns) == ["origin_id", "destination_id", "duration_s", "distance_m"]
        assert frame.reset_index(drop=True).equals(expected)
        back = router.table(places[:4], places, reverse=True).to_dataframe()
        lazy = dask.table(graph, np.array(places[:4]), places, rows=3, reverse=True).to_dataframe()
        assert lazy.dtypes.equals(back.dtypes) and lazy.compute().reset_index(drop=True).equals(back)


def test_names_and_real_weights() -> None:
    graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "a"], [0.5, 0.25, 4.0])
    with Solver(graph, device="cpu") as solver:
        found = dask.table(graph, ["a", "b", "c"], ["c", "a"], rows=2).to_array().compute()
        assert np.array_equal(found, solver.table(["a", "b", "c"], ["c", "a"])) and found.dtype == np.float64
    # The second block would be in larger units than the first one.
    heavy = Graph.from_edges(range(4), [1, 2, 3, 4], [1.0, 1.0, 2.0**31, 2.0**31], scale=1.0)
    with pytest.raises(DistanceOverflowError, match="blocks of one result cannot have several units"):
        dask.table(heavy, [0, 1, 2, 3], [1, 2, 3, 4], rows=2)


def test_forms_of_nodes_and_places() -> None:
    pandas = pytest.importorskip("pandas")
    graph = grid(5)
    nodes = dask.table(graph, [3, 4, 8]).to_array().compute()
    for given in (range(3, 5), pandas.Series([3, 4]), np.array([3, 4], np.uint8), iter([3, 4]), (3, 4)):
        assert np.array_equal(dask.table(graph, given, [3, 4, 8]).to_array().compute(), nodes[:2])
    named = Graph.from_edges(["a", "b"], ["b", "c"], [1, 2])
    expected = dask.table(named, ["a", "b"], ["c"]).to_array().compute()
    for names in (pandas.Series(["a", "b"]), np.array(["a", "b"]), np.array(["a", "b"], object)):
        assert np.array_equal(dask.table(named, names, ["c"]).to_array().compute(), expected)


def test_what_cannot_be_asked(saved: tuple[Graph, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, path = saved
    for given, error, text in (
        (([144],), QueryError, "sources\\[0\\] is 144"),
        (([1], None, "time"), QueryError, "metrics is 'time'"),
        (([1], [(1.0, 2.0)]), QueryError, "places and nodes"),
        (([(1.0, 2.0)],), QueryError, "is not on this map"),
        ((5,), QueryError, "sources is 5"),
        (([],), QueryError, "there are no sources; give at least one"),
    ):
        with pytest.raises(error, match=text):
            dask.table(path, *given)
    for ask, *given in (
        (dask.pairs, None, [1]),
        (dask.pairs, "all", [1]),
        (dask.flows, None, [1], [[1]]),
        (dask.skims, "all", [1], {}),
        (dask.centrality, "all"),
        (dask.distances, None),
    ):
        with pytest.raises(QueryError, match=r"sources is (None|'all'); give a list or an array of node ids"):
            ask(path, *given)
    with pytest.raises(QueryError, match="values has "):
        dask.node_accessibility(path, None, 3)
    for address in ("nowhere", "http://127.0.0.1:1"):
        with monkeypatch.context() as patch, pytest.raises(ClusterError, match="no scheduler of dask answers at"):
            patch.setattr("distributed.Client.__init__", lambda *given: given[len(given)])  # it would take long to end
            dask.table(path, [1], cluster=address)
    for more, text in (
        ({"rows": 0}, "rows is 0"),
        ({"device": 0}, "VKSSP_DEVICE"),
        ({"cluster": 7}, "cluster is 7"),
        ({"algorithm": "best"}, "algorithm"),
    ):
        with pytest.raises(QueryError, match=text):
            dask.table(graph, [1], **more)
    with pytest.raises(QueryError, match="metric is 'distance', and the table has weight"):
        dask.table(graph, [1]).to_array("distance")
    (tmp_path / "a.csv").write_text("1 2\n")
    with pytest.raises(FormatError, match="is no saved graph"):
        dask.table(tmp_path / "a.csv", [1])


def test_versions_and_files_that_differ_are_errors(saved: tuple[Graph, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    import vkssp

    graph, path = saved
    lazy = dask.table(path, [1, 2, 3], rows=1).to_array()
    graph.with_weights(graph.weight + 1).save(path)
    assert lazy[0].compute().shape == (3,), "the worker has the graph that was asked for"
    fresh = WorkerSolvers()
    fresh.configure("cpu")
    monkeypatch.setattr(lazy_module, "SOLVERS", fresh)
    with monkeypatch.context() as patch:  # a file that is replaced all the time by one of the same content
        load, times = Graph.load, list[Path]()

        def replaced(of: Path) -> Graph:
            found = load(of)
            if len(times) < 2:
                times.append(of)
                other.with_suffix(".new").write_bytes(other.read_bytes())
                other.with_suffix(".new").replace(other)
            return found

        other = path.with_name("other.graph")
        graph.save(other)
        patch.setattr(Graph, "load", replaced)
        assert source_of(other).load().num_nodes == 144 and len(times) == 2
    with pytest.raises(FormatError, match=r"grid\.graph has changed since"):
        lazy.compute()
    lazy = dask.table(path, [1, 2, 3], rows=1).to_array()
    monkeypatch.setattr(vkssp, "__version__", "99.0")
    with pytest.raises(QueryError, match=r"and this worker has vkssp 99\.0; install one version"):
        lazy.compute()


def test_a_device_that_is_lost_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy, block, losses = dask.table(grid(4), [1, 2, 3], rows=1).to_array(), TableQuestion.block, [2]

    def lose(self: TableQuestion, *given: Any) -> Any:
        if losses[0]:
            losses[0] -= 1
            error = DeviceError("the device is lost")
            error.is_lost = True
            raise error
        return block(self, *given)

    monkeypatch.setattr(TableQuestion, "block", lose)
    with pytest.raises(DeviceError, match="lost"):
        lazy[:1].compute()
    losses[0] = 1
    assert lazy.compute().shape == (3, 3)


def test_a_process_keeps_few_solvers_and_closes_them() -> None:
    for side in range(2, 9):
        dask.table(grid(side), [1])
    kept = SOLVERS.solvers
    assert [solver.graph.num_nodes for solver in kept] == [25, 36, 49, 64]
    SOLVERS.close()
    assert all(solver.closed for solver in kept) and not SOLVERS.solvers


def test_table_of_nodes_by_metrics(andorra: Graph) -> None:
    with Solver(andorra, device="cpu") as solver:
        whole = table_of_nodes(solver, range(40), range(20), ["duration", "distance"]).read()
        lazy = dask.table(andorra, range(40), range(20), ["duration", "distance"], rows=7)
        for metric, values in whole.items():
            assert np.array_equal(lazy.to_array(metric).compute(), values, equal_nan=True)
