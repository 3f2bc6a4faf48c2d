"""Distances of 64 bits: exact up to 2**64 - 2, the same in all places, and those of 32 bits where these suffice."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_data
from tests.support.graphs import check_counters, check_path, grid, random_graphs, scipy_dijkstra
from vkssp import (
    DeviceError,
    DistanceOverflowError,
    Graph,
    NoRouteError,
    QueryError,
    Router,
    Solver,
    SolverPool,
    prepare,
    read_graph,
)
from vkssp.algorithms import choice
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.cli import main
from vkssp.cpu.device import CpuDevice
from vkssp.engine.shaders import NEEDS_64
from vkssp.generate import rmat
from vkssp.gpu.device import Device
from vkssp.gpu.instance import DeviceInfo
from vkssp.solver import several
from vkssp.solver.costs import Line, SearchCosts, keep_costs
from vkssp.solver.table_maker import table_of_nodes

HEAVIEST, LARGEST, UNREACHABLE = 2**32 - 2, 2**64 - 2, 2**64 - 1
#: Offsets of seeds: sums pass 2**32 and, from the last ones, 2**64.
OFFSETS = (0, 7, 2**32, 2**63, LARGEST - 3 * 2**32, LARGEST - 3, LARGEST)
Make = Callable[..., Solver]
Seeds = list[tuple[int, int]]


@pytest.fixture(params=["cpu", "device"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return a maker of solvers with distances of 64 bits in one of the two places."""
    if request.param == "cpu":
        return partial(Solver, algorithm="dijkstra", distance_bits=64)
    return partial(Solver, algorithm="near_far", device=able(request), distance_bits=64)


def able(request: pytest.FixtureRequest) -> Device:
    """Return the device; skip the test if it has no 64-bit integers."""
    device: Device = request.getfixturevalue("device")
    if not device.info.features >= set(NEEDS_64):
        pytest.skip(f"{device.info.name} has no 64-bit integers")
    return device


def exact(graph: Graph, seeds: Seeds) -> list[int | None]:
    """Return distances by the textbook, in Python's integers, which have no limit; None where no path leads."""
    first, head, weight = graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist()
    found: list[int | None] = [None] * graph.num_nodes
    heap = [(offset, node) for node, offset in seeds]
    heapq.heapify(heap)
    while heap:
        near, node = heapq.heappop(heap)
        if found[node] is not None:
            continue
        found[node] = near
        for arc in range(first[node], first[node + 1]):
            heapq.heappush(heap, (near + weight[arc], head[arc]))
    return found


def check(wanted: list[int | None], limit: int | None, ask: Callable[[], Any]) -> bool:
    """Check distances, or that there is an error if one does not fit; return whether there is."""
    if limit is None and any(one is not None and one > LARGEST for one in wanted):
        with pytest.raises(DistanceOverflowError, match=r"passes 2\*\*64 - 2, .* give smaller offsets"):
            ask()
        return True
    most = LARGEST if limit is None else limit
    found = ask()
    assert found.dtype == np.uint64
    assert found.tolist() == [UNREACHABLE if one is None or one > most else one for one in wanted]
    return False


def heavy_graph(seed: int) -> Graph:
    """A graph with loops, parallel arcs, cycles of weight zero, and weights whose sums pass 32 bits."""
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, 24, (2, 60))
    weight = rng.choice([0, 1, 7, 2**31, HEAVIEST - 1, HEAVIEST], 60, p=[0.3, 0.1, 0.1, 0.1, 0.2, 0.2])
    return Graph.from_edges([*tail, 3], [*head, 3], [*weight, 0], num_nodes=26)


@pytest.mark.parametrize("seed", range(3))
def test_all_queries_are_exact_or_errors(make: Make, seed: int) -> None:
    graph, rng = heavy_graph(seed), np.random.default_rng(seed)
    rows = [exact(graph, [(node, 0)]) for node in range(graph.num_nodes)]
    assert any(2**32 <= one for row in rows for one in row if one is not None)
    errors = 0
    with make(graph) as solver:
        sources, targets = rng.integers(0, graph.num_nodes, (2, 9)).tolist()
        pairs = list(zip(sources, targets, strict=True))
        check([rows[u][v] for u, v in pairs], None, lambda: solver.pairs(sources, targets))
        check(rows[sources[0]], None, lambda: solver.distances(sources[0]))
        for limit in (None, 3, 2**32, LARGEST):
            few = [rows[u][v] for u in sources for v in targets]
            check(few, limit, partial(table, solver, sources, targets, limit=limit))
            check([*rows[4], *rows[5]], limit, partial(table, solver, [4, 5], range(26), limit=limit))
        for u, v in pairs:
            wanted = rows[u][v]
            assert solver.distance(u, v) == (UNREACHABLE if wanted is None else wanted)
            if wanted is None:
                with pytest.raises(NoRouteError):
                    solver.path(u, v)
            else:
                check_path(graph, solver.path(u, v), u, v, wanted)
        for offset in OFFSETS:
            seeds = [(sources[0], offset), (sources[1], offset // 2), (sources[1], offset)]
            best = exact(graph, seeds)
            for limit in (None, offset, LARGEST):
                errors += check(best, limit, partial(solver.distances, seeds, limit=limit))
            errors += check(best, None, partial(nearest, solver, sources[:2], [offset, offset // 2]))
            errors += check_between(graph, solver, seeds, [(targets[0], offset), (targets[1], LARGEST)])
    assert 1 < errors < 28


def nearest(solver: Solver, sources: Any, offsets: Any) -> np.ndarray:
    return solver.nearest(sources, offsets).distance


def table(solver: Solver, sources: Any, targets: Any, limit: int | None) -> np.ndarray:
    return np.concatenate(list(solver.table(sources, targets, limit=limit, chunked=True))).reshape(-1)


def check_between(graph: Graph, solver: Solver, seeds: Seeds, targets: Seeds) -> bool:
    """Check the path between the best of some seeds and targets; return whether its weight does not fit."""
    near = exact(graph, seeds)
    sums = [near[node] + offset for node, offset in targets if near[node] is not None]  # type: ignore[operator]
    if not sums:
        with pytest.raises(NoRouteError):
            solver.path(seeds, targets)
    elif min(sums) > LARGEST:
        with pytest.raises(DistanceOverflowError):
            solver.path(seeds, targets)
        return True
    else:
        path = solver.path(seeds, targets)
        (u, v), inside = path.nodes[[0, -1]].tolist(), int(graph.weight[path.arcs].sum(dtype=np.uint64))
        ends = [a + b for node, a in seeds if node == u for there, b in targets if there == v]
        assert path.weight == min(sums) == inside + min(ends) and isinstance(path.weight, int)
    return False


def test_the_largest_distance_and_the_next_one(make: Make) -> None:
    graph = Graph.from_edges([0, 1, 1], [1, 2, 2], [HEAVIEST, 1, 2], num_nodes=4)
    with make(graph) as solver:
        most = LARGEST - HEAVIEST - 1
        assert solver.unreachable == UNREACHABLE
        assert solver.distances([(0, most)]).tolist() == [most, LARGEST - 1, LARGEST, UNREACHABLE]
        assert solver.path([(0, most)], 2).weight == LARGEST
        assert solver.path([(0, most - 5)], [(2, 5)]).arcs.tolist() == [0, 1]
        with pytest.raises(DistanceOverflowError):
            solver.distances([(0, most + 1)])
        assert solver.distances([(0, most + 1)], limit=LARGEST).tolist()[1:] == [LARGEST, UNREACHABLE, UNREACHABLE]
        assert solver.path([(0, most + 1)], 1).weight == LARGEST, "what was not asked for need not fit"
        for offset in (UNREACHABLE, -1, 0.5):
            with pytest.raises(QueryError, match=f"give 0 to {LARGEST}"):
                solver.distances([(0, offset)])  # type: ignore[list-item]
            with pytest.raises(QueryError, match=r"offsets\[0\] is"):
                solver.nearest([0], [offset])
        with pytest.raises(QueryError, match=f"0 to {LARGEST}"):
            solver.distances(0, limit=UNREACHABLE)


@given(graph=random_graphs(), ends=st.tuples(*[st.integers(0, 10**6)] * 4))
def test_answers_of_32_bits_where_they_suffice(device: Device, graph: Graph, ends: tuple[int, ...]) -> None:
    """Also the same paths and sources of several that are shortest, and on the CPU the same work."""
    u, v, a, b = (end % graph.num_nodes for end in ends)
    places: list[tuple[str, Any]] = [("dijkstra", "cpu"), ("near_far", device)]
    if not device.info.features >= set(NEEDS_64):
        places.pop()
    routes = []
    for name, place in places:
        with (
            Solver(graph, name, place, counters="totals") as narrow,
            Solver(graph, name, place, counters="totals", distance_bits=64) as wide,
        ):
            found, wanted = wide.distances(u), narrow.distances(u).astype(np.uint64)
            wanted[wanted == narrow.unreachable] = UNREACHABLE
            assert found.dtype == np.uint64 and np.array_equal(found, wanted)
            if name == "dijkstra":
                assert wide.last is not None and narrow.last is not None and wide.last.counters == narrow.last.counters
            seeds, targets = [(u, 3), (a, 0)], [(v, 0), (b, 2)]
            paths = [solver.search_path(seeds, targets) for solver in (narrow, wide)]
            routes += [path if path is None else (*path[:3], path[3].tolist()) for path in paths]
            nearest = [solver.nearest([u, a, b], [1, 0, 1]) for solver in (narrow, wide)]
            assert np.array_equal(nearest[0].source, nearest[1].source)
    assert all(route == routes[0] for route in routes)


@pytest.mark.parametrize("name", ["dimacs9/USA-road-t.NY.gr.gz"])
def test_a_real_graph_with_weights_as_heavy_as_may_be(make: Make, name: str) -> None:
    graph = read_graph(shared_data(name))
    factor = HEAVIEST // int(graph.weight.max())
    graph = graph.with_weights(graph.weight * np.uint32(factor))
    wanted = exact(graph, [(1000, 0)])
    farthest = max(range(graph.num_nodes), key=lambda node: wanted[node] or 0)
    assert (wanted[farthest] or 0) > 10 * 2**32
    with make(graph) as solver:
        check(wanted, None, lambda: solver.distances(1000))
        path = solver.path(1000, farthest)
        check_path(graph, path, 1000, farthest, wanted[farthest] or 0)


def test_long_paths_large_stars_and_hubs(make: Make) -> None:
    """Where llvmpipe ends loops, where nodes are cut into pieces, and where light arcs come first."""
    count = 3000
    path = Graph.from_edges(range(count), range(1, count + 1), [HEAVIEST] * count)
    rng = np.random.default_rng(5)
    star = Graph.from_edges([0] * 80_000, range(1, 80_001), rng.integers(0, HEAVIEST, 80_000))
    hubs = rmat(9, 24, seed=4)
    hubs = hubs.with_weights(rng.choice(np.array([0, 1, 2**20, HEAVIEST], np.uint32), hubs.num_arcs))
    for graph, source in ((path, 0), (star, 0), (hubs, 3)):
        for offset in (0, LARGEST - count * HEAVIEST):
            with make(graph) as solver:
                check(exact(graph, [(source, offset)]), None, partial(solver.distances, [(source, offset)]))
    with make(path) as solver:
        assert solver.path(0, count).weight == count * HEAVIEST


def test_parameters_of_near_far(request: pytest.FixtureRequest) -> None:
    """Narrow and wide buckets, short queues, and lists that run full."""
    device, rng = able(request), np.random.default_rng(6)
    sparse = grid(20, seed=2)
    sparse = sparse.with_weights(rng.integers(2**31, HEAVIEST, sparse.num_arcs))
    dense = Graph.from_edges(*rng.integers(0, 150, (2, 6000)), rng.integers(0, HEAVIEST, 6000), num_nodes=150)
    for graph in (sparse, dense):
        wanted = exact(graph, [(3, 0)])
        for delta in (2**30, 2**40, LARGEST):
            for rounds, size in ((1, 20), (16, 64), (4, 1)):
                more = {"delta": delta, "rounds": rounds, "workgroup_size": size, "workgroups": 3}
                with Solver(graph, "near_far", device, distance_bits=64, **more) as solver:
                    check(wanted, None, lambda: solver.distances(3))
                    assert solver.distance(3, 100) == wanted[100]
    with pytest.raises(QueryError, match=f"near_far takes 1 to {LARGEST}"):
        Solver(sparse, "near_far", device, distance_bits=64, delta=LARGEST + 1)


def test_many_seeds_and_a_trace_beyond_32_bits(make: Make) -> None:
    graph = grid(12, seed=3, low=2**31, high=HEAVIEST)
    seeds = [(node, node * 2**34) for node in range(graph.num_nodes)]  # more than targets may have
    with make(graph, counters="trace") as solver:
        check(exact(graph, seeds), None, lambda: solver.distances(seeds))
        check(exact(graph, [(5, 2**40)]), None, lambda: solver.distances([(5, 2**40)]))
        rows = solver.trace()
        assert solver.last is not None and len(rows) == solver.last.counters["iterations"]
        assert rows["low"].dtype == np.uint64 and rows["low"].min() == 2**40
    with Solver(graph, "dijkstra", counters="trace", distance_bits=32) as solver:
        solver.distances(5, limit=2**32 - 2)
        check_counters(solver)


def test_weights_that_change_clones_and_other_graphs(make: Make) -> None:
    graph = grid(9, seed=1)
    with make(graph) as solver, solver.clone() as clone, solver.for_graph(grid(5)) as other:
        assert other.distances(0).dtype == clone.distances(0).dtype == np.uint64
        # Zeros make cycles, so that another copy of the graph is made.
        for factor, arcs in ((10**7, slice(None)), (3 * 10**7, slice(0, 5)), (0, slice(7, 30)), (2, slice(None))):
            ids = np.arange(graph.num_arcs)[arcs]
            solver.set_weights(graph.weight[ids] * np.uint32(factor), ids)
            for one in (solver, clone):
                check(exact(solver.graph, [(3, 2**50)]), None, lambda one=one: one.distances([(3, 2**50)]))
        with pytest.raises(QueryError, match="chunked"):
            solver.distances(3, chunked=True)


def test_pools_and_companions_of_gpus(
    device: Device, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = grid(20, seed=1, low=2**30, high=HEAVIEST)
    graph = replace(graph, lat=None, lon=None)
    able(request)
    wanted = [exact(graph, [(node, 0)]) for node in range(40)]
    with SolverPool(graph, devices=[device, "cpu"], distance_bits=64) as pool:
        assert pool.algorithm == "near_far, dijkstra" and pool.unreachable == UNREACHABLE
        assert pool.distances(range(40)).tolist() == wanted
        assert pool.distance(0, 399) == wanted[0][399] == pool.path(0, 399).weight
        with pool.for_graph(graph) as other:
            assert other.distances(3).tolist() == wanted[3]
        with pytest.raises(QueryError, match="betweenness works with distances of 32 bits only"):
            pool.betweenness()
    # As if the device were a GPU: the CPU answers beside it.
    monkeypatch.setattr(choice, "hardware_devices", lambda: (device.info,))
    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    keep_costs(device.info, SearchCosts(Line(9.0, 0.0), Line(9.0, 0.0), 1e-9))
    with Solver(graph, distance_bits=64) as solver:
        assert solver.algorithm == "near_far"
        places = set()
        for node in range(12):
            assert solver.distances(node).tolist() == wanted[node]
            places.add(solver.answered_by[1])
            assert solver.distances(node, limit=2**35).dtype == np.uint64
            assert solver.distance(node, 399) == wanted[node][399] == solver.path(node, 399).weight
            assert solver.table([node, 3], [1, 399]).tolist() == [[wanted[u][1], wanted[u][399]] for u in (node, 3)]
        assert places <= {"near_far", "dijkstra"}


def test_what_finds_only_32_bits_says_so(device: Device) -> None:
    graph = prepare(grid(4))
    for name, kinds in ALGORITHMS.items():
        if not any(64 in kind.DESCRIPTION.distance_bits for kind in kinds.values()):
            with pytest.raises(QueryError, match=f"{name} finds distances of 32 bits only; .* near_far, dijkstra"):
                Solver(graph, name, distance_bits=64)
    for bits in (16, 33, "64", 64.0):
        with pytest.raises(QueryError, match=r"distance_bits is .*; give 32 or 64"):
            Solver(graph, distance_bits=bits)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="reduction is 'full', but distances of 64 bits"):
        Solver(graph, distance_bits=64, reduction="full")
    with pytest.raises(QueryError, match="Router works with distances of 32 bits only"):
        Router(graph, distance_bits=64)
    with Solver(graph, device="cpu", distance_bits=64) as solver:
        assert solver.algorithm == "dijkstra", "though there is a hierarchy"
        asked: dict[str, Callable[[], Any]] = {
            "nearest with count": lambda: solver.nearest([0], count=2),
            "accessibility": lambda: solver.accessibility(range(16), [5]),
            "centrality": solver.centrality,
            "straightness": lambda: solver.straightness(reverse=True),
            "betweenness": solver.betweenness,
            "flows": lambda: solver.flows([0], [1], [[1]]),
            "flows_of": lambda: solver.flows_of([([0], [1], [1])]),
            "the metric distance": lambda: table_of_nodes(solver, [0], [1], ["distance"]),
        }
        for query, ask in asked.items():
            with pytest.raises(QueryError, match=f"{query} works with distances of 32 bits only"):
                ask()


def test_devices_without_64_bit_integers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(4, low=HEAVIEST, high=HEAVIEST)
    lacking = replace(device.info, features=device.info.features - {"int64_atomics"}, kind="discrete")
    with monkeypatch.context() as patch:
        patch.setattr(device, "info", lacking)
        for make in (Solver, lambda *options, **more: SolverPool(*options[:2], [options[2]], **more)):
            with pytest.raises(DeviceError, match=r"64 bits need .*shaderBufferInt64Atomics, which .* lacks; .* 'cpu'"):
                make(graph, "auto", device, distance_bits=64)
        with Solver(graph, device=device) as solver:
            assert solver.distance(0, 1) == HEAVIEST
    monkeypatch.delenv("VKSSP_DEVICE", raising=False)

    def infos(*able: bool) -> tuple[DeviceInfo, ...]:
        features = frozenset(device.info.features | set(NEEDS_64))
        of_each = [features if one else frozenset() for one in able]
        return tuple(replace(device.info, index=i, features=own) for i, own in enumerate(of_each))

    for module in (choice, several):
        monkeypatch.setattr(module, "hardware_devices", lambda: infos(False))
    with Solver(graph, distance_bits=64) as solver, SolverPool(graph, distance_bits=64) as pool:
        assert isinstance(solver.device, CpuDevice) and isinstance(pool.device, CpuDevice)
        assert solver.distances(0).tolist() == pool.distances(0).tolist() == exact(graph, [(0, 0)])
    for module in (choice, several):
        monkeypatch.setattr(module, "hardware_devices", lambda: infos(False, True, False))
    kind = choice.checked_type(64)
    assert choice.device_for(None, "vulkan", kind) == 1 and several.chosen("all", "auto", False, kind) == ([1], False)
    assert choice.device_for(None, "vulkan", choice.checked_type(32)) is None
    assert choice.place_of("auto", None, False, kind) == "vulkan"


def test_files_and_commands(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [HEAVIEST, HEAVIEST, 5], num_nodes=4)
    wanted = [[0, 2 * HEAVIEST, None], [HEAVIEST + 5, HEAVIEST, None]]
    names = [tmp_path / f"t{ending}" for ending in (".npy", ".csv", ".parquet", ".zarr")]
    with make(graph) as solver:
        for path in names:
            if path.suffix in (".parquet", ".zarr"):
                pytest.importorskip({".parquet": "pyarrow", ".zarr": "zarr"}[path.suffix])
            assert solver.write_table(path, [0, 1], [0, 2, 3]) == 4
        whole = table_of_nodes(solver, [0, 1], [0, 2, 3], ["weight"])
        flat = [UNREACHABLE if one is None else one for row in wanted for one in row]
        assert whole.dtypes == {"weight": np.uint64} and whole.read()["weight"].reshape(-1).tolist() == flat
    check_files(names, wanted)
    saved, nodes, out = tmp_path / "g.graph", tmp_path / "nodes.csv", tmp_path / "d.npy"
    graph.save(saved)
    nodes.write_text("node\n0\n1\n")
    common = ["--device", "cpu", "--distance-bits", "64"]
    assert main(["distances", str(saved), "--source", "1", "--output", str(out), "--json", *common]) == 0
    assert f'"largest": {HEAVIEST + 5}' in capsys.readouterr().out.replace("\n", "")
    assert np.load(out).tolist() == [HEAVIEST + 5, 0, HEAVIEST, UNREACHABLE]
    table = ["table", str(saved), "--sources", str(nodes), "--targets", "all", "--output", str(tmp_path / "c.npy")]
    assert main([*table, *common]) == 0
    assert np.load(tmp_path / "c.npy")[0].tolist() == [0, HEAVIEST, 2 * HEAVIEST, UNREACHABLE]
    assert main(["distances", str(saved), "--source", "0", "--algorithm", "phast", "--distance-bits", "64"]) == 2
    assert "finds distances of 32 bits only" in capsys.readouterr().err
    places = tmp_path / "places.csv"
    places.write_text("lat,lon\n0,0\n")
    table[table.index(str(nodes))] = str(places)
    assert main([*(word for word in table if word not in ("--targets", "all")), *common]) == 2
    assert "--distance-bits 64 is for tables between nodes" in capsys.readouterr().err
    assert main(["algorithms", "near_far"]) == 0 and "32 or 64 bits" in capsys.readouterr().out
    runs = [word for name in ("dijkstra", "dijkstra,distance_bits=64") for word in ("--run", name)]
    assert main(["bench", "road:16", "--sources", "1", "--repetitions", "1", "--limit", "0", *runs]) == 0
    printed = capsys.readouterr().out
    assert "dijkstra,distance_bits=64" in printed and "wrong" not in printed
    heavy = ["bench", str(saved), "--sources", "1", "--repetitions", "1", "--limit", "0", *runs[2:]]
    assert main(heavy) == 0 and "does not" not in capsys.readouterr().out


def check_files(names: list[Path], wanted: list[list[int | None]]) -> None:
    import zarr
    from pyarrow import parquet

    flat = [one for row in wanted for one in row]
    array, lines, columns, folder = names
    assert np.load(array).dtype == np.uint64
    assert np.load(array).reshape(-1).tolist() == [UNREACHABLE if one is None else one for one in flat]
    with lines.open() as stream:
        assert [row["weight"] for row in csv.DictReader(stream)] == ["" if one is None else str(one) for one in flat]
    assert parquet.read_table(columns)["weight"].to_pylist() == flat
    kept = zarr.open_group(folder, mode="r")["weight"]
    assert kept.fill_value == UNREACHABLE and np.array_equal(kept[:], np.load(array))


def test_scipy_agrees_up_to_its_own_precision(make: Make) -> None:
    """Floats of 64 bits are exact up to 2**53."""
    graph = grid(40, seed=7, low=2**31, high=HEAVIEST)
    with make(graph) as solver:
        found = solver.distances(7)
        assert int(found.max()) > 2**36
        assert np.array_equal(found, scipy_dijkstra(graph, 7))
