"""Orders and partitions by processes of their own: the same as in this one, and no burden to what waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, random_graphs
from tests.support.paths import ROOT
from vkssp import Graph, MemoryShortageError, VksspError, prepare
from vkssp.hierarchy import coarsening, dissection, metis, metis_process
from vkssp.hierarchy.dissection import cover, separate
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.metis import MetisProcess

pytest.importorskip("pymetis")
#: Parts of a stand-in for the library.
_SILENT = """
import os
def CSRAdjacency(*_): pass
def Options(**_): pass
"""
#: A stand-in for the library that computes for ever and lets no other Python code run meanwhile.
_BUSY = """
import ctypes, os
def CSRAdjacency(*_): pass
def Options(**_): pass
def nested_dissection(*_, **__):
    open(os.path.join(os.path.dirname(__file__), "begun"), "w").write(str(os.getpid()))
    while True:
        ctypes.PyDLL(None).sleep(600)
"""


def order_of_grid(side: int = 20, parts: int = 1) -> list[int]:
    first, neighbour = Edges.of(grid(side, seed=4)).both_ways()
    process = MetisProcess()
    try:
        found = process.ask(first.astype(np.int32), neighbour, parts)
        assert np.array_equal(process.ask(first.astype(np.int32), neighbour, parts), found)
    finally:
        process.close()
    return found.tolist()


def stand_in(folder: Path, code: str) -> Path:
    """Make a library in a folder, and return its path."""
    path = folder / "pymetis" / "__init__.py"
    path.parent.mkdir()
    path.write_text(code)
    return path


def begun(folder: Path) -> int:
    """Wait until the stand-in in a folder computes, and return the number of its process."""
    for _ in range(6000):
        if (folder / "begun").exists() and (text := (folder / "begun").read_text()):
            return int(text)
        time.sleep(0.01)
    raise AssertionError("it did not begin")


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_process_computes_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    here = order_of_grid()
    assert sorted(here) == list(range(400))
    calls = []
    original = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **options: calls.append(1) or original(*args, **options))
    monkeypatch.setattr(metis, "MOST_NODES_HERE", 0)
    assert order_of_grid() == here and calls == [1]
    # Programs that have Python inside would start themselves.
    for executable in ("/usr/bin/qgis", "", None):
        monkeypatch.setattr(sys, "executable", executable)
        assert order_of_grid() == here and calls == [1]
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert order_of_grid() == here


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("os.abort()", MemoryShortageError, "ran out of memory, or was killed; use a smaller graph"),
        ("os.kill(os.getpid(), 9)", MemoryShortageError, "ran out of memory, or was killed"),
        ("raise MemoryError", MemoryShortageError, "ran out of memory"),
        ("os.kill(os.getpid(), 11)", VksspError, "its process ended with -11; try again"),
        ("return [[1]]", VksspError, "its process ended with 1; try again"),
    ],
)
def test_a_process_that_fails_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, kind: type[VksspError], words: str
) -> None:
    library = types.ModuleType("pymetis")
    library.__file__ = str(stand_in(tmp_path, f"{_SILENT}def nested_dissection(*_, **__):\n    {body}\n"))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    monkeypatch.setattr(metis, "MOST_NODES_HERE", 0)
    with pytest.raises(VksspError, match=words) as caught:
        order_of_grid()
    assert type(caught.value) is kind and str(caught.value).startswith("the order of 400 nodes was not computed: ")


def test_a_process_that_does_not_start_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = order_of_grid()
    (tmp_path / "empty.py").touch()
    monkeypatch.setattr(metis_process, "__file__", str(tmp_path / "empty.py"))
    monkeypatch.setattr(metis, "MOST_NODES_HERE", 0)
    assert order_of_grid() == here


#: Prepares a graph with the stand-in, in the main thread.
_PREPARING = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.support.graphs import grid
from vkssp import prepare
from vkssp.hierarchy import metis
metis.MOST_NODES_HERE = 0
try:
    prepare(grid(20))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_what_waits_for_it(tmp_path: Path, number: int) -> None:
    library = stand_in(tmp_path, _BUSY).parent
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _PREPARING, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as preparing:
        computing = begun(library)
        assert computing != preparing.pid and is_running(computing)
        preparing.send_signal(number)
        output, _ = preparing.communicate(timeout=60)
        assert (preparing.returncode, output) == ((0, "interrupted\n") if number == signal.SIGINT else (-number, ""))
    for _ in range(6000):
        if not is_running(computing):
            break
        time.sleep(0.01)
    assert not is_running(computing)


@pytest.mark.skipif(sys.platform != "linux", reason="sets the cores of a process")
def test_the_hierarchy_is_the_same_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissection, "NODES_A_PART", 300)
    monkeypatch.setattr(coarsening, "COARSE_ENOUGH", 10)
    monkeypatch.setattr(coarsening, "NODES_A_RANGE", 500)
    monkeypatch.setattr(metis, "MOST_NODES_HERE", 0)
    graph, cores = grid(60, seed=2), os.sched_getaffinity(0)
    found = prepare(graph).hierarchy
    try:
        os.sched_setaffinity(0, {min(cores)})
        alone = prepare(graph).hierarchy
    finally:
        os.sched_setaffinity(0, cores)
    assert found is not None and alone is not None and np.array_equal(found.node, alone.node)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(0, 40))
def test_covers_are_the_smallest(seed: int, left: int, right: int, edges: int) -> None:
    rng = np.random.default_rng(seed)
    here = rng.integers(0, left, edges).astype(np.uint32)
    there = (100 + rng.integers(0, right, edges)).astype(np.uint32)
    found = cover(here, there)
    assert len(np.unique(found)) == len(found) and (np.isin(here, found) | np.isin(there, found)).all()
    bipartite = nx.Graph(zip(here.tolist(), there.tolist(), strict=True))
    assert len(found) == len(nx.bipartite.maximum_matching(bipartite, set(here.tolist()))) // 2


@given(random_graphs(max_nodes=80), st.sampled_from([2, 4, 8]), st.integers(0, 2**32 - 1))
def test_separators_separate_the_halves_of_any_parts(graph: Graph, count: int, seed: int) -> None:
    edges = Edges.of(graph)
    given_part = np.random.default_rng(seed).integers(0, count, graph.num_nodes).astype(np.int32)
    part = given_part.copy()
    separators = separate(edges, part, count)
    assert len(separators) == count and (part[np.concatenate(separators)] == -1).all()
    assert (part == np.where(part < 0, -1, given_part)).all() and sum(map(len, separators)) == (part < 0).sum()
    left = (part[edges.low] >= 0) & (part[edges.high] >= 0)
    assert (part[edges.low][left] == part[edges.high][left]).all()
    # What a separator of a half is for stands in that half alone.
    for number in range(1, count):
        width = count >> number.bit_length() - 1
        assert (given_part[separators[number]] // width == number - count // width).all()
