"""The evaluation scripts, in their small form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.scripts import Done, run_script
from vkssp.bench import load_result

pytest.importorskip("matplotlib")

SCRIPTS = ROOT / "scripts"

#: They measure algorithms of Vulkan devices.
pytestmark = pytest.mark.usefixtures("may_use_vulkan")
#: Words that each table must have, beside its numbers.
EXPECTED = {
    "rmat": ("both", "neither", "near_far", "2^11", "the article: 1,100 million and 40 times"),
    "virtual_warps": ("geometric mean", "the document 6.3", "scale-free", "lanes, chunk 8", "chunk, 32 lanes"),
    "crauser": ("rounds, crauser", "idle, push", "over its CPU twin", "random:500,20", "minimum_workgroup_size"),
}


def run(name: str, *arguments: object) -> Done:
    return run_script(f"evaluate_{name}", *arguments)


def test_every_script_is_tested() -> None:
    assert {path.stem.removeprefix("evaluate_") for path in SCRIPTS.glob("evaluate_*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_small_form_writes_result_table_and_figure(name: str, tmp_path: Path) -> None:
    done = run(name, "--small", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in EXPECTED[name]), done.stdout
    assert (tmp_path / f"{name}.txt").read_text() == done.stdout
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    result = load_result(tmp_path / f"{name}.json")
    assert all(run["error"] is None or "power of two" in run["error"] for g in result["graphs"] for run in g["runs"])
    # The same again from the file, without a device.
    redrawn = tmp_path / "again"
    redrawn.mkdir()
    again = run(name, "--result", str(tmp_path / f"{name}.json"), "--output", str(redrawn))
    assert again.stdout == done.stdout and (redrawn / f"{name}.png").exists()


def test_sweeps_are_drawn_and_narrower_along_the_curve(andorra_path: Path, tmp_path: Path) -> None:
    done = run_script("draw_sweeps", andorra_path, "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    own, curve = (int(line.split(" sweeps of ")[1].split()[0].replace(",", "")) for line in done.stdout.splitlines())
    assert curve < 0.9 * own
    for name in ("sweeps.png", "ids.png", "reads.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"ids.png", "reads.png", "sweeps.png"}


def test_a_folder_that_is_not_there_is_told_at_once() -> None:
    done = run("rmat", "--small", "--output", "/nowhere")
    assert done.returncode == 2 and "/nowhere/rmat.json" in done.stderr and done.stderr.count("\n") == 1
