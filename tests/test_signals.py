"""Signals, closed streams, and what the command line's entry imports before it is ready for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import grid
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")


@contextmanager
def started(code: str, *arguments: str, ignored: Sequence[int] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run code, and give the process once it has printed ``ready``."""

    def ignore() -> None:
        # Whatever those who run the tests ignore, as nohup does.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=ignore,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit code, and what has been printed since the process was ready."""
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


#: The command line, on a disk that takes for ever to put the output in its place.
_WRITING = """
import os, sys, time
replace = os.replace

def replace_slowly(source, target):
    if os.path.basename(target).startswith("out."):
        os.replace = replace
        print("ready", flush=True)
        time.sleep(600)
    replace(source, target)

os.replace = replace_slowly
from vkssp.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "command", "name"),
    [
        (signal.SIGTERM, "import TEXT OUT", "out.graph"),
        (signal.SIGINT, "distances GRAPH --source 0 --algorithm dijkstra --trace OUT", "out.csv"),
        (signal.SIGHUP, "table GRAPH --sources NODES --algorithm dijkstra --output OUT", "out.npy"),
        (signal.SIGTERM, "table GRAPH --sources NODES --algorithm dijkstra --output OUT", "out.zarr"),
    ],
)
def test_a_signal_leaves_nothing_unfinished(tmp_path: Path, number: int, command: str, name: str) -> None:
    if "dijkstra" in command:
        pytest.importorskip("numba")
    output = tmp_path / name
    if name.endswith(".zarr"):
        pytest.importorskip("zarr")
        output.mkdir()
        output /= "zarr.json"
    output.write_text("the one before")
    (tmp_path / "in.gr").write_text("p sp 2 1\na 1 2 3\n")
    grid(9).save(tmp_path / "in.graph")
    np.savetxt(tmp_path / "nodes.csv", np.arange(3), "%d", header="node", comments="")
    names = {"TEXT": "in.gr", "GRAPH": "in.graph", "NODES": "nodes.csv", "OUT": name}
    before = sorted(tmp_path.rglob("*"))
    with started(
        _WRITING, *(str(tmp_path / names[word]) if word in names else word for word in command.split())
    ) as one:
        assert any(path.name.startswith(f".{name}.") for path in tmp_path.iterdir())
        one.send_signal(number)
        assert ended(one) == (128 + number, "", "")
    assert sorted(tmp_path.rglob("*")) == before and output.read_text() == "the one before"


#: A program that has something to remove at its end, which it says.
_PROGRAM = """
import atexit, hashlib, os, sys, time
from vkssp.signals import run, undoing

def ready():
    print("ready", flush=True)

def remove():
    if held:
        for _ in range(20):
            time.sleep(0.02)
        held.clear()
        os.write(1, b"removed\\n")

class Losing:
    def __del__(self):
        ready()
        time.sleep(600)

def work():
    with undoing(remove):
        held.append(1)
        {}
    return 0

held = []
sys.exit(run(work))
"""


def program(body: str) -> str:
    return _PROGRAM.replace("{}", body)


@pytest.mark.parametrize(
    "body",
    [
        "ready(); time.sleep(600)",
        "ready(); hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)",  # does not answer
        "Losing()",
        "sys.path.insert(0, sys.argv[1]); import slow",
    ],
    ids=["sleeping", "in a library", "in a finalizer", "importing"],
)
def test_what_is_unfinished_goes_wherever_a_signal_comes(tmp_path: Path, body: str) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    with started(program(body), str(tmp_path)) as one:
        one.send_signal(signal.SIGTERM)
        assert ended(one) == (143, "removed\n", "")


def test_further_signals_do_not_stop_the_removal() -> None:
    with started(program("ready(); time.sleep(600)")) as one:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 3:
            one.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                one.wait(0.01)
        code, output, errors = ended(one)
    assert (code, errors) == (130, "") and set(output.splitlines()) == {"removed"}


def test_signals_that_are_ignored_stay_ignored() -> None:
    with started(program("ready(); time.sleep(1)"), ignored=[signal.SIGHUP]) as one:
        one.send_signal(signal.SIGHUP)
        assert ended(one) == (0, "removed\n", "")


def test_a_signal_at_the_end_of_the_interpreter_says_nothing() -> None:
    code = program("atexit.register(lambda: (ready(), time.sleep(600)))")
    with started(code.replace("held.append(1)", "")) as one:
        one.send_signal(signal.SIGINT)
        assert ended(one) == (130, "", "")


#: Sends Ctrl-C when the module with a certain number is looked for, after the entry of the command line.
_AT_IMPORT = """
import os, signal, sys
from vkssp.__main__ import main

class Finder:
    left = int(sys.argv.pop(1))

    def find_spec(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
print("ready", flush=True)
sys.exit(main())
"""


@pytest.mark.parametrize("number", [1, 2, 3, 10, 60, 200])
def test_ctrl_c_while_the_command_line_starts(number: int) -> None:
    with started(_AT_IMPORT, str(number), "algorithms") as one:
        assert ended(one) == (130, "", "")


def test_commands_start_no_threads_for_linear_algebra() -> None:
    code = "import os, sys; from vkssp.__main__ import main; sys.argv = ['vkssp', 'algorithms', '--json']; main()"
    code += "; print(os.environ['OPENBLAS_NUM_THREADS'])"
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for more, number in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=given | more, capture_output=True, text=True, check=True)
        assert done.stdout.split()[-1] == number


def test_the_entry_imports_little() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"vkssp": "vkssp.__main__:main"}
    code = "import sys; before = {*sys.modules}; import vkssp.__main__; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "vkssp vkssp.__main__\n"


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-", ">&-"])
def test_closed_streams(tmp_path: Path, closed: str) -> None:
    (tmp_path / "in.gr").write_text("p sp 2 1\na 1 2 3\n")
    command = f"'{sys.executable}' -m vkssp import in.gr out.graph {closed}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    if closed == ">&-":
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "standard output is closed" in done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, "2 nodes, 1 arcs\nwrote out.graph\n")
    assert sorted(os.listdir(tmp_path)) == ["in.gr"] + ["out.graph"] * (closed != ">&-")


def test_a_file_does_not_get_the_number_of_a_closed_stream() -> None:
    code = "import os; from vkssp.signals import run; run(lambda: print(os.open(os.devnull, 0) > 2) or 0)"
    command = f"'{sys.executable}' -c '{code}' 0<&- 2>&-"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("--help", 0), ("distances in.graph --source 0 --algorithm dijkstra --output /dev/stdout", 141)],
)
def test_a_pipe_that_is_closed_ends_a_command_quietly(tmp_path: Path, arguments: str, code: int) -> None:
    if "dijkstra" in arguments:
        pytest.importorskip("numba")
    grid(9).save(tmp_path / "in.graph")
    command = f"'{sys.executable}' -m vkssp {arguments} | true; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
