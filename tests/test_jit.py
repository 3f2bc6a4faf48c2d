"""The cache of compiled kernels, and the notice while they are compiled."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import compiler
from numba.core.types.functions import BaseFunction

from tests.support.paths import ROOT
from vkssp import jit_cache
from vkssp.cpu.kernels.vectors import greater, lesser, lower
from vkssp.jit import jit
from vkssp.jit_cache import Notice, is_trusted
from vkssp.jit_compiler import LEFT_OUT

#: Program that loads a kernel, and tells how often its code was found and how often it was compiled.
PROGRAM = """
import numpy as np
from numba.core.registry import cpu_target
prepared = []
context = cpu_target.target_context
load = context.load_additional_registries
context.load_additional_registries = lambda: (prepared.append(1), load())
from vkssp.jit import kernels
kernel = kernels("vkssp.cpu.kernels.voronoi").find
empty = np.empty(0, np.uint32)
kernel(np.zeros(1, np.uint32), empty.reshape(0, 2), empty, empty.reshape(0, 3), empty, empty)
hits, misses = (sum(of.values()) for of in (kernel.stats.cache_hits, kernel.stats.cache_misses))
assert bool(prepared) == bool(misses), "code that is found needs no compiler"
print(hits, misses)
"""


def begin(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=ROOT, stdout=pipe, stderr=pipe, text=True
    )


def end(process: subprocess.Popen[str]) -> tuple[int, int]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    hits, misses = map(int, out.split())
    return hits, misses


def test_kernels_are_compiled_once_on_a_machine(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    processes = [begin(folder) for _ in range(3)]  # which write the same files at the same time
    assert all(sum(end(process)) == 1 for process in processes)
    assert end(begin(folder)) == (1, 0)
    files = [path for path in folder.rglob("*.nb*") if path.is_file()]
    assert {path.suffix for path in files} == {".nbi", ".nbc"}
    for suffix in (".nbi", ".nbc"):
        for content in (b"", b"\x80\x04K", b"no pickle"):
            for path in files:
                if path.suffix == suffix:
                    path.write_bytes(content)
            assert end(begin(folder))[0] == 0, "a damaged file is not used"
            assert end(begin(folder)) == (1, 0), "and is replaced"


def test_damaged_machine_code_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    end(begin(folder))
    (path,) = folder.rglob("*.nbc")
    code = bytearray(path.read_bytes())
    code[code.index(b"\x7fELF") + 80] ^= 255
    path.write_bytes(code)
    assert end(begin(folder)) == (0, 1)
    assert end(begin(folder)) == (1, 0)


def test_a_change_in_a_file_that_a_kernel_calls_is_noticed(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "PYTHONDONTWRITEBYTECODE": "1",  # Python takes a file that changes within a second for the same
    }
    (tmp_path / "outer.py").write_text("import inner\nfrom vkssp.jit import jit\n@jit\ndef f(x): return inner.g(x)\n")
    program = [sys.executable, "-c", "import outer; print(outer.f(1), sum(outer.f.stats.cache_hits.values()))"]
    for number, hits in ((1, 0), (1, 1), (2, 0), (2, 1)):
        inner = f"from vkssp.jit import inlined\n@inlined\ndef g(x): return x + {number}\n"
        (tmp_path / "inner.py").write_text(inner)
        done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.split() == [str(1 + number), str(hits)], done.stderr


def test_code_of_other_types_or_sources_is_not_used(tmp_path: Path) -> None:
    """Processes that write at the same time may leave an index that names a file with other code."""
    cache = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    source = "from vkssp.jit import jit\n@jit\ndef f(x): return x + {}\n"

    def call(argument: str) -> list[str]:
        program = f"import whole; print(whole.f({argument}), sum(whole.f.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout.split()

    def codes() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in sorted(cache.rglob("*.nbc"))}

    (tmp_path / "whole.py").write_text(source.format(1))
    assert [call("1"), call("0.5"), call("1")] == [["2", "0"], ["1.5", "0"], ["2", "1"]]
    (one, its), (other, others) = codes().items()
    one.write_bytes(others)
    other.write_bytes(its)
    assert [call("1"), call("1")] == [["2", "0"], ["2", "1"]]
    before = codes()
    (tmp_path / "whole.py").write_text(source.format(2))
    assert call("1") == ["3", "0"]
    for path, code in before.items():
        path.write_bytes(code)
    assert call("1") == ["3", "0"]


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert end(begin(folder)) == (0, 1)
    (where,) = {path.parent for path in folder.rglob("*.nbi")}
    where.chmod(0o777)
    before = sorted(path.stat().st_mtime_ns for path in where.iterdir())
    assert end(begin(folder)) == (0, 1)
    assert sorted(path.stat().st_mtime_ns for path in where.iterdir()) == before
    source = tmp_path / "source.py"
    source.touch()
    where.chmod(0o755)
    assert is_trusted(where, source)
    assert not is_trusted(tmp_path / "none", source)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("not a folder")
    assert sum(end(begin(folder))) == 1


def test_the_folder_of_compiled_code_or_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from vkssp.cpu.kernels import dijkstra

    function = next(one.py_func for one in vars(dijkstra).values() if hasattr(one, "py_func"))
    folder, reason = jit_cache.folder_of(function)
    assert folder is not None and folder.is_dir() and reason == ""
    monkeypatch.setattr(jit_cache, "is_trusted", lambda *_: False)
    folder, reason = jit_cache.folder_of(function)
    assert folder is None and "belongs to another user" in reason


class _Event:
    """What numba hands to listeners."""

    def __init__(self, module: str) -> None:
        def function() -> None:
            """Stand for a kernel."""

        function.__module__ = module
        self.data = {"dispatcher": type("Dispatcher", (), {"py_func": staticmethod(function)})}


class _Records(logging.Handler):
    """Keeps records, and tells when there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.told, self.records = threading.Event(), list[logging.LogRecord]()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.told.set()


def test_long_compilation_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vkssp")
    kept, logger = _Records(), logging.getLogger("vkssp")
    logger.addHandler(kept)
    notice, own = Notice(), _Event("vkssp.cpu.kernels.path")
    monkeypatch.setattr(jit_cache, "NOTICE_S", 1000.0)
    try:
        for event in (own, _Event("others")):
            notice.on_start(event)
            notice.on_start(event)  # a kernel that the kernel calls
            notice.on_end(event)
            notice.on_end(event)
        monkeypatch.setattr(jit_cache, "NOTICE_S", 0.0)
        notice.on_start(_Event("others"))
        notice.on_end(_Event("others"))
        assert not kept.told.wait(0.2)
        for _ in range(2):
            notice.on_start(own)
            assert kept.told.wait(30)
            notice.on_end(own)
    finally:
        logger.removeHandler(kept)
    (record,) = kept.records
    assert record.name == "vkssp.jit_cache" and "compiling code for this CPU" in record.getMessage()


def test_what_kernels_do_without_is_left_out_of_numba() -> None:
    state = compiler.StateDict(func_ir=None, flags=compiler.Flags())
    assert set(LEFT_OUT) < {step for step, _ in compiler.DefaultPassBuilder.define_nopython_pipeline(state).passes}


def test_numba_is_as_before_after_a_kernel_with_an_error() -> None:
    before = BaseFunction.get_call_type
    with pytest.raises(numba.TypingError):
        jit(lambda number: number + number.none)(1)
    assert BaseFunction.get_call_type is before


def test_numba_with_other_inner_parts_compiles_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "vkssp.jit_compiler", None)
        assert jit(lambda numbers, at: numbers[at] + 1)(np.array([3, 4]), 1) == 5
    monkeypatch.setattr(numba, "__version__", "9.0.1")
    assert jit(lambda numbers, at: numbers[at] + 2)(np.array([3, 4]), 1) == 6


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64])
def test_lesser_and_greater_integers(kind: Any) -> None:
    both = numba.njit(lambda one, other: (lesser(one, other), greater(one, other)))
    limits = np.iinfo(kind)
    for one in (limits.min, 0, 7, limits.max):
        for other in (limits.min, 1, 7, limits.max):
            assert both(kind(one), kind(other)) == (min(one, other), max(one, other))
    with pytest.raises(numba.TypingError):
        both(kind(1), np.int8(1))


def test_an_element_is_lowered_as_a_number_without_a_sign() -> None:
    array = np.array([2**32 - 1, 5, 2**31], np.uint32)
    kernel = numba.njit(lambda array, at, value: lower(array, at, value))
    for at, value in ((0, 2**31 + 1), (1, 2**31), (2, 3)):
        kernel(array, np.uint64(at), np.uint32(value))
    assert array.tolist() == [2**31 + 1, 5, 3]
