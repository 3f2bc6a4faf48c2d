"""Functions of scipy.sparse.csgraph beside scipy's own, and scipy's tests of them."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph as of_scipy

from tests.conftest import EXAMPLES
from tests.support.paths import ROOT
from vkssp import Device, Graph, Solver, csgraph

WEIGHTS: dict[str, Any] = {
    "whole": lambda rng, size: rng.integers(0, 5, size).astype(float),
    "int32": lambda rng, size: rng.integers(0, 2**31 - 1, size, np.int32),
    "uint32": lambda rng, size: rng.integers(0, 2**32, size, np.uint32),  # with one that no graph takes, at times
    "int64": lambda rng, size: rng.integers(0, 2**40, size),
    "bool": lambda rng, size: rng.random(size) < 0.9,
    "tenths": lambda rng, size: rng.integers(0, 9, size) / 10,
    "random": lambda rng, size: rng.random(size),
    "float32": lambda rng, size: rng.random(size, np.float32),
    "huge": lambda rng, size: rng.random(size) * 1e300,
    "wide": lambda rng, size: 10.0 ** rng.uniform(-12, 12, size),
}


def matrix_of(seed: int, kind: str) -> Any:
    """A matrix with zeros that are stored, parallel arcs and loops, perhaps not sorted."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    count = rng.integers(0, 8, size)
    first = np.concatenate([[0], np.cumsum(count)])
    return sparse.csr_array(
        (WEIGHTS[kind](rng, first[-1]), rng.integers(0, size, first[-1]), first), shape=(size, size)
    )


def check_predecessors(
    matrix: Any, distance: np.ndarray, before: np.ndarray, sources: np.ndarray, directed: bool
) -> None:
    """Check that each row of predecessors has arcs of a tree whose float sums are the distances."""
    entries = matrix.tocoo()  # whose parallel arcs are not added up
    arcs: dict[tuple[int, int], list[float]] = {}
    for tail, head, weight in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
        for arc in ((tail, head),) if directed else ((tail, head), (head, tail)):
            arcs.setdefault(arc, []).append(float(weight))
    size = matrix.shape[0]
    for row, roots in enumerate(sources.reshape(len(distance), -1).tolist()):
        for node in range(size):
            at, steps = node, 0
            if before[row, node] < 0:
                assert before[row, node] == -9999
                assert np.isinf(distance[row, node]) or node in roots
                continue
            lengths = [distance[row, before[row, node]] + weight for weight in arcs[int(before[row, node]), node]]
            assert distance[row, node] in lengths
            while before[row, at] >= 0:
                at, steps = int(before[row, at]), steps + 1
                assert steps <= size
            assert at in roots


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(WEIGHTS)), directed=st.booleans(), data=st.data())
@settings(max_examples=EXAMPLES)
def test_random_matrices(seed: int, kind: str, directed: bool, data: st.DataObject) -> None:
    matrix = matrix_of(seed, kind)
    searched = matrix.astype(np.float64)  # parallel arcs are added up, unless they are of this type
    size = matrix.shape[0]
    indices = np.array(data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4)))
    expected = of_scipy.dijkstra(matrix, directed, indices)
    found = csgraph.dijkstra(matrix, directed, indices)
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    finite = expected[np.isfinite(expected)]
    limit = float(data.draw(st.sampled_from([0.0, 0.25, *finite, *np.nextafter(finite, 0), np.median(finite)])))
    limited, before = csgraph.dijkstra(matrix, directed, indices, True, limit=limit)
    assert np.array_equal(limited, of_scipy.dijkstra(matrix, directed, indices, limit=limit))
    assert before.dtype == np.int32 and before.shape == limited.shape
    check_predecessors(searched, limited, before, indices % size, directed)
    for function in (csgraph.shortest_path, csgraph.johnson, csgraph.bellman_ford):
        for unweighted in (False, True):
            every, before = function(matrix, directed=directed, return_predecessors=True, unweighted=unweighted)
            assert np.array_equal(every, of_scipy.dijkstra(matrix, directed, unweighted=unweighted))
            units = sparse.csr_array((np.ones(searched.nnz), searched.indices, searched.indptr), shape=matrix.shape)
            check_predecessors(units if unweighted else searched, every, before, np.arange(size), directed)
    near, before, sources = csgraph.dijkstra(matrix, directed, indices, True, limit=limit, min_only=True)
    assert np.array_equal(near, of_scipy.dijkstra(matrix, directed, indices, limit=limit, min_only=True))
    assert np.array_equal(near, csgraph.dijkstra(matrix, directed, indices, limit=limit, min_only=True))
    check_predecessors(searched, near[None], before[None], indices % size, directed)
    assert sources.dtype == np.int32 and np.array_equal(sources < 0, np.isinf(near))
    roots = before < 0
    assert np.array_equal(sources[roots], np.where(np.isinf(near), -9999, np.arange(size))[roots])
    assert np.array_equal(sources[~roots], sources[before[~roots]])
    assert set((indices % size).tolist()) <= set(sources.tolist())


def test_predecessors_are_scipys_where_no_two_nodes_are_equally_near() -> None:
    rng = np.random.default_rng(5)
    for weights in (rng.random(2000), rng.integers(1, 2**20, 2000)):
        matrix = sparse.coo_array((weights, rng.integers(0, 300, (2, 2000))), shape=(300, 300)).tocsr()
        for directed in (True, False):
            found, expected = (of.dijkstra(matrix, directed, None, True) for of in (csgraph, of_scipy))
            assert np.array_equal(found[1], expected[1])


DENSE = np.array([[0, 3, 3, 0, np.inf], [0, 0, np.nan, 2, 4], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [2, 0, 0, 2, 0.5]])
CYCLE = np.array([[0, 1.0, 0], [0, 0, -3], [1, 0, 0]])
NEGATIVE = np.array([[0, 5.0, 0], [0, 0, -3], [1, 0, 0]])


def outcome(function: Any, *given: Any, **named: Any) -> Any:
    try:
        found = function(*given, **named)
    except Exception as error:
        return type(error), str(error)
    return [(one.dtype, one.shape, one.tolist()) for one in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.filterwarnings("ignore")
def test_other_input_and_errors_are_as_in_scipy() -> None:
    masked = np.ma.masked_values(np.nan_to_num(DENSE, posinf=0.0), 0.0)
    asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for given_ in (DENSE, DENSE.tolist(), masked, sparse.csc_array(np.nan_to_num(DENSE, posinf=0.0)), np.zeros((0, 0))):
        asked.append(("dijkstra", (given_,), {}))
        if not isinstance(given_, list):  # which shortest_path of scipy does not take
            asked.append(("shortest_path", (given_,), {"directed": False}))
    for indices in (2, -1, [[0, 1], [2, 2]], np.uint8(3), [], [5], [-6], 1.0, "a", [0.5], None):
        asked += [
            (name, (DENSE,), {"indices": indices, **more})
            for name in ("dijkstra", "johnson", "bellman_ford", "shortest_path")
            for more in ({}, {"return_predecessors": True})
        ]
        asked.append(("dijkstra", (DENSE,), {"indices": indices, "min_only": True, "return_predecessors": True}))
    asked += [("dijkstra", (DENSE,), {"limit": limit, "indices": 1}) for limit in (-1, np.nan, "x", None, 0, 4, True)]
    for matrix in (NEGATIVE, CYCLE, np.zeros((2, 3)), [1, 2], 3, "x", None, DENSE + 1j):
        for method in ("auto", "FW", "D" if matrix is DENSE else "J", "BF", "?", 3):
            asked.append(("shortest_path", (matrix, method), {}))
    for data in ([np.inf, 1.0], [np.nan, 1.0]):
        asked.append(("dijkstra", (sparse.csr_array((data, ([0, 1], [1, 2])), shape=(3, 3)),), {}))
    asked.append(("shortest_path", (DENSE, "FW"), {"indices": 0}))
    for name, given_2, named in asked:
        found, expected = (outcome(getattr(of, name), *given_2, **named) for of in (csgraph, of_scipy))
        assert str(found) == str(expected), (name, given_2, named)  # inf and NaN compare as text
    with pytest.raises(of_scipy.NegativeCycleError):
        csgraph.johnson(CYCLE)
    assert csgraph.NegativeCycleError is of_scipy.NegativeCycleError
    overwritten = np.array([[0, 3.0, 9], [0, 0, 2], [1, 0, 0]])
    found = csgraph.shortest_path(overwritten, "FW", overwrite=True)
    assert np.array_equal(overwritten, found) and found[0, 2] == 5.0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[weakref.ref[Solver]]]:
    """Solvers that the functions make, not kept alive: a driver opens a device only some dozen times at once."""
    solvers: list[weakref.ref[Solver]] = []

    def make(*given: Any, **named: Any) -> Solver:
        solver = Solver(*given, **named)
        solvers.append(weakref.ref(solver))
        return solver

    csgraph.clear_cache()
    monkeypatch.setattr(csgraph, "Solver", make)
    yield solvers
    csgraph.clear_cache()


def test_a_matrix_that_changes_and_the_cache(made: list[weakref.ref[Solver]]) -> None:
    matrix = sparse.csr_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert csgraph.dijkstra(matrix, indices=0).tolist() == [0, 1, 3]
    assert csgraph.dijkstra(matrix.copy(), indices=1).tolist() == [np.inf, 0, 2]
    assert len(made) == 1
    assert csgraph.dijkstra(matrix, False, 2).tolist() == [3, 2, 0]
    matrix.data[1] = 7.25
    assert csgraph.dijkstra(matrix, False, 2).tolist() == [8.25, 7.25, 0]
    assert csgraph.dijkstra(matrix, indices=0).tolist() == [0, 1, 8.25]
    assert len(made) == 4
    last = made[-1]()
    csgraph.clear_cache()
    assert last is not None and last.session.closed
    assert csgraph.dijkstra(matrix, indices=0).tolist() == [0, 1, 8.25]
    matrices = [matrix_of(seed, "random") for seed in range(8)]
    wrong: list[int] = []

    def ask(seed: int) -> None:
        for _ in range(5):
            if not np.array_equal(csgraph.dijkstra(matrices[seed]), of_scipy.dijkstra(matrices[seed])):
                wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_weights_that_are_rounded_much(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sparse.random_array((3000, 3000), density=0.002, rng=np.random.default_rng(9), format="csr")
    rounded = Graph.from_scipy(matrix, scale=0.05)
    monkeypatch.setattr(Graph, "from_csr", lambda *rows: rounded)
    csgraph.clear_cache()
    # The tree of the search is another one, whose sums are then improved.
    with Solver(rounded) as solver:
        tree = solver.trees(5)
    found, expected = (of.dijkstra(matrix, True, [5, 70], True) for of in (csgraph, of_scipy))
    assert not np.array_equal(tree.predecessor.view(np.int32)[6:], expected[1][0, 6:])
    assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])
    for limit in (0.3, float(np.median(expected[0]))):
        near = [of.dijkstra(matrix, True, [5, 70], limit=limit) for of in (csgraph, of_scipy)]
        assert np.array_equal(*near)
    csgraph.clear_cache()


def test_a_vulkan_device(monkeypatch: pytest.MonkeyPatch, device: Device, made: list[weakref.ref[Solver]]) -> None:
    monkeypatch.setenv("VKSSP_DEVICE", str(device.info.index))
    for kind in ("random", "whole", "int64"):
        matrix = matrix_of(7, kind)
        for asked in ({}, {"return_predecessors": True}, {"indices": [1, 2], "min_only": True}):
            found, expected = (of.dijkstra(matrix, **asked) for of in (csgraph, of_scipy))
            assert np.array_equal(*((one[0] if "return_predecessors" in asked else one) for one in (found, expected)))
        last = made[-1]()
        assert last is not None and last.device.info.name == device.info.name


def test_the_tests_of_scipy() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "test_scipy.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "calls of vkssp.csgraph" in done.stdout
