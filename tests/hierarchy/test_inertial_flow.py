"""Orders computed by a process of their own: the same as in this one, and no burden to what waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from tests.support.graphs import grid
from tests.support.paths import ROOT
from vkssp import MemoryShortageError, VksspError
from vkssp.hierarchy import inertial_flow, order_process
from vkssp.hierarchy.inertial_flow import inertial_order
from vkssp.hierarchy.order import places

for name in ("numba", "routingkit_cch"):
    pytest.importorskip(name)
#: A stand-in for the library that computes for ever and lets no other Python code run meanwhile.
_BUSY = """
import ctypes, os
def compute_order_inertial(*_):
    open(os.path.join(os.path.dirname(__file__), "begun"), "w").write(str(os.getpid()))
    while True:
        ctypes.PyDLL(None).sleep(600)
"""


def order_of_grid(side: int = 20) -> list[int]:
    graph = grid(side, seed=4)
    return inertial_order(graph.num_nodes, graph.tail, graph.head, *places(graph)).tolist()


def stand_in(folder: Path, code: str) -> Path:
    """Make a library in a folder, and return its path."""
    path = folder / "routingkit_cch" / "__init__.py"
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
    monkeypatch.setattr(inertial_flow, "MOST_NODES_HERE", 0)
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
        ("return [1]", VksspError, "its process ended with 0"),
    ],
)
def test_a_process_that_fails_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, kind: type[VksspError], words: str
) -> None:
    library = types.ModuleType("routingkit_cch")
    library.__file__ = str(stand_in(tmp_path, f"import os\ndef compute_order_inertial(*_):\n    {body}\n"))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    monkeypatch.setattr(inertial_flow, "MOST_NODES_HERE", 0)
    with pytest.raises(VksspError, match=words) as caught:
        order_of_grid()
    assert type(caught.value) is kind and str(caught.value).startswith("the order of 400 nodes was not computed: ")


def test_a_process_that_does_not_start_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = order_of_grid()
    (tmp_path / "empty.py").touch()
    monkeypatch.setattr(order_process, "__file__", str(tmp_path / "empty.py"))
    monkeypatch.setattr(inertial_flow, "MOST_NODES_HERE", 0)
    assert order_of_grid() == here


#: Prepares a graph with the stand-in, in the main thread.
_PREPARING = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.support.graphs import grid
from vkssp import prepare
from vkssp.hierarchy import inertial_flow
inertial_flow.MOST_NODES_HERE = 0
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
