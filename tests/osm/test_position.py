"""How far a file has been read that a library opened, and the progress bar of such files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import osmium
import pytest

from tests.osm.test_osm_import import LINE, ROAD, write_osm
from vkssp.osm import extract, import_extract
from vkssp.osm.position import ReadPosition


def test_the_position_in_a_file_that_others_opened(tmp_path: Path) -> None:
    path = tmp_path / "a file"
    path.write_bytes(bytes(1000))
    with path.open("rb") as before:
        position = ReadPosition(path)
        before.read()
        descriptor = os.open(path, os.O_RDONLY)
        os.read(descriptor, 300)
        assert position.bytes_read() == 300
        os.lseek(descriptor, 100, os.SEEK_SET)
        assert position.bytes_read() == 300, "it never falls"
        os.close(descriptor)
        (tmp_path / "other").write_bytes(b"")
        with (tmp_path / "other").open("rb"):  # which has the same descriptor
            assert position.bytes_read() == position.size == 1000


@pytest.mark.parametrize("ending", ["osm", "osm.gz", "osm.bz2", "osm.pbf"])
def test_the_bar_of_any_file_knows_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    plain, path = write_osm(tmp_path / "plain.osm", LINE, [(1, [1, 2], ROAD)]), tmp_path / f"map.{ending}"
    with osmium.SimpleWriter(str(path)) as writer:
        for item in osmium.FileProcessor(str(plain)):
            writer.add(item)
    bars: list[Any] = []

    class Bar:
        def __init__(self, total: int) -> None:
            self.total, self.done = total, 0
            bars.append(self)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, more: int) -> None:
            assert more >= 0
            self.done += more

    monkeypatch.setattr(extract, "progress_bar", lambda *_, total, **__: Bar(total))
    import_extract(path, progress=True)
    assert bars and all(bar.total == bar.done == path.stat().st_size for bar in bars)
