"""The figure of where the time of single calls goes."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.paths import ROOT
from tests.support.scripts import load_script, run_script
from vkssp.errors import FormatError

DOCS = ROOT / "docs"
PARTS = ("before", "driver and device", "between", "after")


def row(name: str, whole: float, device: float | None, *parts: float) -> dict[str, Any]:
    """Return a row of times in milliseconds, as time_calls.py has them: medians and quartiles."""
    found = {part: [middle, 0.0, 9.0] for part, middle in zip(PARTS, parts, strict=True)}
    on_device = None if device is None else [device, 0.0, 9.0]
    return {"name": name, "call_ms": [whole, 0.0, 9.0], "device_ms": on_device, "parts_ms": found}


ROWS = [
    row("a tree", 0.388, 0.261, 0.075, 0.289, 0.003, 0.026),
    row("a path", 0.176, None, 0.039, 0.104, 0.001, 0.028),
    {"name": "10,000 pairs", "call_ms": [0.5, 0.4, 0.6], "device_ms": None},
    row("1,024 trees", 2.08, None, 0.273, 1.6, 0.003, 0.153),
]


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    """Write rows as where_time_goes.py does; return the name of the file."""
    path.write_text(json.dumps({"calls": {"rows": rows}}))
    return str(path)


def test_parts_of_calls_are_read(tmp_path: Path) -> None:
    tree, path = load_script("draw_calls").read_calls(written(tmp_path / "rows.json", ROWS))
    assert (tree.name, tree.whole) == ("a tree", 0.388)
    expected = {"host: before": 0.075, "driver, and waiting": 0.028, "device": 0.261, "host: between": 0.003}
    assert tree.parts == pytest.approx(expected | {"host: after": 0.026})
    assert path.parts["driver and device"] == 0.104 and "device" not in path.parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("| a tree | 0.388 |", "no times of calls; give what where_time_goes.py --json has written"),
        ('{"pairs": {"rows": []}}', "no times of calls"),
        ('[{"rows": []}]', "no times of calls"),
        (json.dumps({"calls": {"rows": [ROWS[0] | {"call_ms": ["soon"]}]}}), "no times of calls"),
        (json.dumps({"calls": {"rows": [ROWS[0] | {"parts_ms": {"before": [0.1]}}]}}), "no times of calls"),
        (json.dumps({"calls": {"rows": ROWS[2:]}}), "no call whose parts were measured and that takes at most 1 ms"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(FormatError, match=rf"rows\.json has {message}"):
        load_script("draw_calls").read_calls(str(tmp_path / "rows.json"))


def test_the_page_shows_the_rows_that_its_figure_is_drawn_from() -> None:
    head = ("query", "by the call", "before", "driver and device", "of that on the device", "between", "after")
    _, table = (DOCS / "where_time_goes.md").read_text("utf-8").split(f"\n| {' | '.join(head)} | stands on |\n")
    lines = takewhile(bool, table.splitlines()[1:])
    shown = {name: cells for name, *cells in ([cell.strip() for cell in line.split("|")[1:8]] for line in lines)}
    for of in json.loads((DOCS / "calls.json").read_text())["calls"]["rows"]:
        before, submitted, between, after = (of["parts_ms"][part] for part in PARTS)
        medians = (of["call_ms"], before, submitted, of["device_ms"], between, after)
        assert shown.pop(of["name"]) == ["" if times is None else f"{times[0]:.3f}" for times in medians], of["name"]
    assert [name[:10] for name in shown] == ["100 routes"], "of another step"


def test_the_figure_is_written(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    image = pytest.importorskip("matplotlib.image")
    figure = tmp_path / "calls.png"
    done = run_script("draw_calls", DOCS / "calls.json", figure)
    assert done.returncode == 0 and figure.stat().st_size > 5000, done.stderr
    if f"version{matplotlib.__version__},".encode() in (DOCS / "calls.png").read_bytes():  # others place text otherwise
        assert np.array_equal(image.imread(figure), image.imread(DOCS / "calls.png"))
    done = run_script("draw_calls", tmp_path / "none.json", tmp_path / "other.png")
    assert done.returncode == 2 and "cannot read" in done.stderr and not (tmp_path / "other.png").exists()
