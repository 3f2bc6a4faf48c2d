"""Commands in little address space: each works, or says in one line that memory is lacking."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from vkssp import MemoryShortageError, QueryError, memory, read_graph
from vkssp.cli import main

resource = pytest.importorskip("resource")
linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
MIB = 2**20


@pytest.fixture(scope="module")
def andorra(tmp_path_factory: pytest.TempPathFactory, andorra_path: Path) -> Path:
    path = tmp_path_factory.mktemp("little") / "andorra.graph"
    read_graph(andorra_path).save(path)
    (path.parent / "places.csv").write_text("lat,lon\n42.5075,1.5218\n42.54,1.60\n")
    return path


def run_within(mebibytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of so much address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MIB, mebibytes * MIB))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(
        [sys.executable, "-m", "vkssp", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


ROUTE = ("route", "GRAPH", "--from", "42.5075,1.5218", "--to", "42.54,1.60")
TABLE = ("table", "GRAPH", "--sources", "PLACES")


# What became of them before is said behind; which of the two becomes of them now depends on the machine.
@linux
@pytest.mark.parametrize(
    ("mebibytes", "arguments"),
    [
        (80, ["--help"]),  # OpenBLAS ended the process
        (150, ["info", "GRAPH"]),  # a traceback of an import
        (200, ["devices"]),  # an empty list
        (200, ["import", "EXTRACT", "OUT"]),  # "no OpenStreetMap extract, or a truncated one"
        (230, ["import", "EXTRACT", "OUT", "--turns", "costs"]),  # no end, as OpenBLAS waited for memory
        (300, ["import", "EXTRACT", "OUT", "--turns", "costs"]),  # the same with two cores
        (300, ["distances", "GRAPH", "--source", "0"]),  # "no Vulkan driver found"
        (450, ["distances", "GRAPH", "--source", "0"]),  # VK_ERROR_OUT_OF_DEVICE_MEMORY
        (650, [*ROUTE]),  # a segmentation fault
        (250, [*ROUTE, "--algorithm", "dijkstra"]),  # "standard output: Could not find/load libllvmlite.so"
        (200, [*TABLE, "--output", "OUT.parquet"]),  # "pyarrow, which is not installed"
    ],
    ids=lambda value: str(value) if isinstance(value, int) else value[0],
)
def test_each_command_works_or_names_memory(
    andorra: Path, andorra_path: Path, tmp_path: Path, mebibytes: int, arguments: list[str]
) -> None:
    if "dijkstra" in arguments and importlib.util.find_spec("numba") is None:
        pytest.skip("needs numba")
    if "OUT.parquet" in arguments and importlib.util.find_spec("pyarrow") is None:
        pytest.skip("needs pyarrow")
    files = {"GRAPH": andorra, "PLACES": andorra.parent / "places.csv", "EXTRACT": andorra_path}
    files |= {name: tmp_path / name for name in ("OUT", "OUT.parquet")}
    done = run_within(mebibytes, *(str(files.get(argument, argument)) for argument in arguments))
    if done.returncode == 0:
        assert not done.stderr and ("GiB)" in done.stdout or arguments != ["devices"])
    else:
        assert done.returncode == 2 and not done.stdout and not list(tmp_path.iterdir())
        assert done.stderr.count("\n") == 1 and "not enough memory" in done.stderr
        assert f"limit of address space, {mebibytes} MiB (ulimit -v)" in done.stderr


@linux
def test_much_address_space_is_no_limit(andorra: Path) -> None:
    done = run_within(1 << 16, *ROUTE[:1], str(andorra), *ROUTE[2:])
    assert done.returncode == 0 and not done.stderr


@linux
def test_little_is_reserved_only_where_little_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    path = list(sys.meta_path)
    memory.save_addresses()
    memory.guard_imports()
    memory.require_addresses(2**62, "a planet")
    assert "OPENBLAS_NUM_THREADS" not in os.environ and sys.meta_path == path

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 200 * MIB
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    monkeypatch.setattr(sys, "meta_path", path)
    monkeypatch.setitem(sys.modules, "ctypes", None)  # or this process would be another from now on
    memory.save_addresses()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    memory.require_addresses(100 * MIB, "a village")
    with pytest.raises(MemoryShortageError, match=r"not enough memory: a town takes about 400 MiB .*ulimit -v"):
        memory.require_addresses(400 * MIB, "a town")
    memory.guard_imports()
    monkeypatch.setattr(memory, "LIBRARIES", {"antigravity": 400, "this": 1})
    with pytest.raises(MemoryShortageError, match="the library antigravity takes about 400 MiB"):
        importlib.import_module("antigravity")
    assert importlib.util.find_spec("this") is not None


def raised(error: BaseException, cause: BaseException | None = None, *, hidden: bool = False) -> BaseException:
    """Return an error as it is after it was raised, while another one was handled."""
    try:
        try:
            if cause is not None:
                raise cause
        except BaseException:
            if hidden:
                raise error from None
            raise error  # noqa: B904
        raise error
    except BaseException as found:
        return found


SEGMENT = ImportError("libscipy.so: failed to map segment from shared object")
NO_THREAD = RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("error", "is_limited", "expected"),
    [
        (MemoryError(), False, True),
        (raised(QueryError("this needs numba, which is not installed"), SEGMENT, hidden=True), False, True),
        (raised(QueryError("the profile is wrong"), KeyError("speed")), False, False),
        (RuntimeError("std::bad_alloc"), False, True),
        (OSError(12, "Cannot allocate memory"), False, True),
        (OSError(2, "No such file or directory", "out of memory.osm"), False, False),
        (QueryError("out of memory.osm is no graph"), True, False),
        (NO_THREAD, False, False),
        (NO_THREAD, True, True),
        (RuntimeError("Resource temporarily unavailable"), True, True),
    ],
)
def test_errors_for_lack_of_memory_are_known(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, is_limited: bool, expected: bool
) -> None:
    limit = 2**62 if is_limited else resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert memory.is_shortage(error) == expected


def test_what_fails_for_lack_of_memory_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(args: object) -> None:
        raise raised(QueryError("algorithms on the CPU need numba"), SEGMENT, hidden=True)

    monkeypatch.setattr("vkssp.commands.algorithms.run", fail)
    assert main(["algorithms"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("vkssp: there is not enough memory; ") and error.count("\n") == 1
