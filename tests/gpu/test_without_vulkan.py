"""Machines without a Vulkan loader, and without a driver: all that needs no Vulkan works, on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import DATA, ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hides the loader as Linux finds it")
Run = Callable[..., subprocess.CompletedProcess[str]]
ANDORRA = str(DATA / "andorra.osm.pbf")
TRIP = ("--from", "42.5078,1.5211", "--to", "42.5425,1.7337")


@pytest.fixture(params=["loader", "driver"])
def missing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(missing: str, tmp_path: Path) -> Run:
    """Return a function that runs Python in a process that finds no loader or no driver."""
    environment = {name: value for name, value in os.environ.items() if name != "VKSSP_DEVICE"}
    if missing == "loader":
        (tmp_path / "libvulkan.so.1").touch()  # the first that the dynamic linker finds, and it cannot be loaded
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    else:
        environment |= dict.fromkeys(("VK_DRIVER_FILES", "VK_ICD_FILENAMES"), str(tmp_path / "no.json"))

    def run(*arguments: str, input: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        command, there = [sys.executable, *arguments], {**environment, **variables}
        return subprocess.run(
            command, cwd=ROOT, env=there, input=input, capture_output=True, text=True, timeout=300, check=False
        )

    return run


WORDS = {"loader": "the Vulkan loader is not installed", "driver": "no Vulkan driver found"}


def test_the_python_interface(run: Run, missing: str) -> None:
    program = f"""
import os
import numpy as np
import vkssp
from tests.support.pools import GRAPH, SOURCES, TARGETS, WHOLE
from vkssp.gpu.instance import hardware_devices

assert hardware_devices() == ()
for prepared in (False, True):
    graph = vkssp.prepare(GRAPH) if prepared else GRAPH
    for make in (vkssp.Solver, vkssp.SolverPool):
        for chosen in ((), ("auto", "cpu"), ("dijkstra",), *[("auto", "all")] * (make is vkssp.SolverPool)):
            with make(graph, *chosen) as solver:
                assert isinstance(solver.device, vkssp.CpuDevice)
                assert np.array_equal(solver.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
                assert np.array_equal(solver.distances(int(SOURCES[0])), WHOLE[0])
                assert solver.path(int(SOURCES[0]), 5).weight == WHOLE[0, 5]
                assert solver.pairs(SOURCES, SOURCES[::-1]).tolist() == [
                    WHOLE[i, j] for i, j in enumerate(SOURCES[::-1])
                ]
                solver.set_weights(GRAPH.weight * np.uint32(2))
                assert np.array_equal(solver.distances(int(SOURCES[0])), WHOLE[0] * 2)
    for make in (vkssp.Solver, vkssp.SolverPool):
        for name, device in (("auto", 0), ("near_far", None), ("auto", "llvmpipe")):
            try:
                make(graph, name, device)
            except vkssp.DeviceError as error:
                assert {WORDS[missing]!r} in str(error) and "\\n" not in str(error), error
            else:
                raise AssertionError((name, device))
if pid := os.fork():
    assert os.waitpid(pid, 0)[1] == 0
else:
    with vkssp.SolverPool(GRAPH) as pool:
        os._exit(0 if np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS]) else 1)
"""
    done = run("-c", program)
    assert done.returncode == 0 and not done.stderr, done.stderr


#: Runs commands that all succeed, in one process, and prints a list of what each of them printed.
COMMANDS = """
import contextlib, io, json, sys
from vkssp.cli import main
printed = []
for arguments in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main(arguments) == 0, arguments
    printed.append(output.getvalue())
print(json.dumps(printed))
"""


def test_the_commands(run: Run, missing: str, tmp_path: Path) -> None:
    graph, prepared, area = (str(tmp_path / name) for name in ("andorra.graph", "prepared.graph", "area.geojson"))
    places = tmp_path / "places.csv"
    places.write_text("id,lat,lon\na,42.5078,1.5211\nb,42.5361,1.5828\n")
    by = ((), ("--device", "cpu"), ("--algorithm", "dijkstra"))
    routes = [["route", which, *TRIP, *chosen, "--json"] for which in (graph, prepared) for chosen in by]
    outputs = {str(tmp_path / name): chosen for name, chosen in (("a", ()), ("b", by[1]), ("c", ("--device", "all")))}
    commands = [
        *(["devices"], ["devices", "--json"], ["algorithms"]),
        *(["import", ANDORRA, graph], ["prepare", graph, prepared], *routes),
        *(["info", graph, "--json"], ["distances", graph, "--source", "0"]),
        *(["table", graph, "--sources", str(places), "--output", f"{o}.npy", *chosen] for o, chosen in outputs.items()),
        ["isochrone", graph, "--from", "42.5078,1.5211", "--minutes", "5", "--output", area],
    ]
    done = run("-c", COMMANDS, input=json.dumps(commands))
    assert done.returncode == 0 and not done.stderr, done.stderr
    listed, found, algorithms, _, _, *answers = json.loads(done.stdout)
    assert listed.startswith("* cpu  ") and f"There are no Vulkan devices: {WORDS[missing]}" in listed
    found = json.loads(found)
    assert found["devices"] == [] and found["default"] == "cpu" and found["no_vulkan"].startswith(WORDS[missing])
    assert "dijkstra" in algorithms
    assert len({json.loads(answer)["duration_s"] for answer in answers[: len(routes)]}) == 1
    assert all(np.load(f"{output}.npy").shape == (2, 2) for output in outputs) and Path(area).is_file()

    alone = run("-m", "vkssp", *routes[-3])
    assert alone.returncode == 0 and not alone.stderr, alone.stderr
    assert json.loads(alone.stdout)["duration_s"] == json.loads(answers[0])["duration_s"]
    told = run("-m", "vkssp", "devices", VKSSP_DEVICE="0")
    assert told.returncode == 0 and "there are no Vulkan devices; unset it" in told.stdout
    bench = ("-m", "vkssp", "bench", "road:8", "--sources", "1", "--repetitions", "1")
    measured = run(*bench)
    assert measured.returncode == 0, measured.stderr
    assert "dijkstra" in measured.stdout and "near_far runs on Vulkan devices only" in measured.stdout
    unmeasured = run(*bench, "--run", "near_far")
    assert unmeasured.returncode == 2 and WORDS[missing] in unmeasured.stderr
    refused = run("-m", "vkssp", "route", graph, *TRIP, "--device", "0")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and WORDS[missing] in refused.stderr
