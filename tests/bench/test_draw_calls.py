"""The figure of where the time of single calls goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scripts import load_script, run_script
from vkssp.errors import FormatError

ROWS = """### first-calls

| series | calls | by the call | on the device |
|---|---|---|---|
| a | 1..50 | 1.2 (1..2) | 1.0 (1..2) |

### calls

| call | by the call | on the device | before | driver and device | between | after | submissions | GB/s |
|---|---|---|---|---|---|---|---|---|
| a tree | 0.388 (0.3..0.4) | 0.261 (0.2..0.3) | 0.075 | 0.289 | 0.003 | 0.026 | 1 |  |
| a path | 0.176 (0.1..0.2) |  | 0.039 | 0.104 | 0.001 | 0.028 | 1 |  |
| 10,000 pairs | 1.03 (1.0..1.1) |  |  |  |  |  |  |  |
| 1,024 trees | 2.08 (2.0..2.1) |  | 0.273 | 1.60 | 0.003 | 0.153 | 1 |  |

| call | kernel | on the device |
|---|---|---|
| a tree | phast_sweep | 0.091 |
"""


def test_parts_of_calls_are_read() -> None:
    tree, path = load_script("draw_calls").calls_in(ROWS, "rows.md")
    assert (tree.name, tree.whole) == ("a tree", 0.388)
    expected = {"host: before": 0.075, "driver, and waiting": 0.028, "device": 0.261, "host: between": 0.003}
    assert tree.parts == pytest.approx(expected | {"host: after": 0.026})
    assert path.parts["driver and device"] == 0.104 and "device" not in path.parts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("| call | by the call |", "| what | by the call |", "has no table of calls"),
        ("0.388", "soon", "the row 'a tree' of the calls has no numbers"),
        ("0.075", "", "no call whose parts"),
    ],
)
def test_other_files_are_refused(old: str, new: str, message: str) -> None:
    text = ROWS.replace(old, new).replace("| a path |", "| a path | 9 |" if not new else "| a path |")
    with pytest.raises(FormatError, match=message):
        load_script("draw_calls").calls_in(text, "rows.md")


def test_the_figure_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "rows.md").write_text(ROWS)
    done = run_script("draw_calls", tmp_path / "rows.md", tmp_path / "calls.png")
    assert done.returncode == 0 and (tmp_path / "calls.png").stat().st_size > 5000, done.stderr
    done = run_script("draw_calls", tmp_path / "calls.png", tmp_path / "other.png")
    assert done.returncode == 2 and "cannot be read as text" in done.stderr and not (tmp_path / "other.png").exists()
