"""The notebooks in examples/ run as they stand, from their own folder, and have no output of another run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
#: The notebook whose output is kept, since that of a machine is no other's; the site shows it.
KEPT = "gpu_benchmark"
#: What the notebooks show, besides tables.
DRAWN = {"osmnx_city": 3, "accessibility": 4, "betweenness": 2, "gpu_benchmark": 0}
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def outputs(notebook: Any) -> list[Any]:
    """Return the outputs of all cells."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("may_use_vulkan")
def test_a_notebook_runs_offline_and_draws(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing listens there
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    shown = outputs(notebook)
    assert not [output for output in shown if output.get("name") == "stderr"]
    drawings = [output for output in shown if "<svg" in output.get("data", {}).get("text/html", "")]
    assert len(drawings) == DRAWN[path.stem]
    texts = [output["data"]["text/plain"] for output in shown if "text/plain" in output.get("data", {})]
    assert max(map(len, texts), default=0) < 3000 and len(json.dumps(notebook)) < 600_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert {path.stem for path in NOTEBOOKS} == set(DRAWN)
    assert bool(outputs(notebook)) is (path.stem == KEPT)
    assert notebook.metadata.kernelspec.name == "python3"
