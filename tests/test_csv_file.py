"""Comma-separated values there and back, whatever they contain."""

from __future__ import annotations

import csv
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vkssp.csv_file import csv_lines, csv_writer

FIELDS = st.text(st.sampled_from('a,;"\r\n\t é\u2028'), max_size=5)


@given(st.lists(st.lists(FIELDS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_fields_there_and_back(tmp_path_factory: object, rows: list[list[str]]) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "fields.csv"  # type: ignore[attr-defined]
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv_writer(stream).writerows(rows)
    with csv_lines(path) as lines:
        assert list(lines) == rows
    with open(path, encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == rows


def test_lines_end_in_a_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv_writer(stream).writerows([["id", 1], ["a\rb", 0.5]])
    assert path.read_bytes() == b'id,1\n"a\rb",0.5\n'
