"""The basemap of an extract: the sea beside a coast, lakes and places, in the graph and in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.osm_maps import write_osm
from tests.support.saved_graphs import npy, rewritten
from vkssp import FormatError, Graph, read_graph
from vkssp.cli import main
from vkssp.graph.basemap import SEA, WATER
from vkssp.osm import importer
from vkssp.osm.basemap import shapes_of


def coast(tmp_path: Path) -> Path:
    """Write an extract with a street, a coast, a lake and a town."""
    lake = {5: (0.02, 0.02), 6: (0.02, 0.03), 7: (0.03, 0.03), 8: (0.03, 0.02)}
    town = {9: (0.01, 0.01, {"place": "town", "name": "Port"})}
    nodes = {1: (0.0, 0.0), 2: (0.05, 0.05), 3: (0.025, 0.1), 4: (0.025, -0.05), **lake, **town}
    # Land lies to the left of a coast that runs west, which is south of it.
    ways = [
        (1, [1, 2], {"highway": "residential"}),
        (2, [3, 4], {"natural": "coastline"}),
        (3, [5, 6, 7, 8, 5], {"natural": "water"}),
    ]
    return write_osm(tmp_path / "coast.osm", nodes, ways)


def test_a_graph_and_its_file_hold_sea_and_lakes(tmp_path: Path) -> None:
    graph = read_graph(coast(tmp_path))
    assert graph.streets is not None and graph.streets.basemap is not None
    found = graph.streets.basemap
    assert found.kind.tolist() == [SEA, WATER] and not found.surrounded
    assert found.place_names == ("Port",)
    sea = found.points[: found.first[1]]
    assert sea[:, 0].min() >= 250_000 - 1 and sea[:, 0].max() > 500_000
    graph.save(tmp_path / "coast.graph")
    loaded = Graph.load(tmp_path / "coast.graph").streets
    assert loaded is not None and loaded.basemap is not None
    assert np.array_equal(loaded.basemap.points, found.points) and loaded.basemap.kind.tolist() == found.kind.tolist()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kind", np.array([0, 9], np.uint8), "basemap.kind holds 9; give 0 to 5"),
        ("kind", np.array([4, 2], np.uint8), "basemap.kind has a further ring of a shape that has none"),
        ("kind", np.array([0], np.uint8), "basemap.first must have one entry more than basemap.kind"),
        ("first", np.array([0, 10, 12], np.uint32), "a ring fewer than four"),
        ("first", np.array([0, 2**32 - 1, 12], np.uint32), "a ring fewer than four"),
        ("first", np.array([0, 7, 12], np.int64), "basemap.first is int64; give an array of dtype uint32"),
        ("points", np.full((12, 2), 2**31 - 1, np.int32), "basemap.points holds one that is not on the Earth"),
        ("points", np.zeros((12, 3), np.int32), "basemap.points has shape"),
        ("place", np.zeros((2, 2), np.int32), "basemap.place has shape"),
        ("place_kind", np.array([9], np.uint8), "basemap.place_kind holds 9; give 0 to 8"),
        ("place_names", np.frombuffer(b"a\0b\0", np.uint8), "basemap.place has shape"),
        ("place_names", np.array(2**33), "basemap.place_names has dtype int64"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path: Path, name: str, content: npt.NDArray[Any], message: str) -> None:
    path = tmp_path / "coast.graph"
    read_graph(coast(tmp_path)).save(path)
    rewritten(path, f"basemap_{name}.npy", npy(content))
    with pytest.raises(FormatError, match=message) as caught:
        Graph.load(path)
    assert str(path) in str(caught.value)


def test_the_command_line_leaves_the_basemap_out_and_puts_tiles_below(tmp_path: Path) -> None:
    extract, saved, drawn = coast(tmp_path), tmp_path / "coast.graph", tmp_path / "r.html"
    assert main(["import", str(extract), str(saved), "--no-basemap", "-q"]) == 0
    streets = Graph.load(saved).streets
    assert streets is not None and streets.basemap is None
    route = ["route", str(saved), "--from", "0,0", "--to", "0.05,0.05", "--device", "cpu", "--map", str(drawn)]
    assert main([*route, "--tiles", "https://tiles.example.org/{z}/{x}/{y}.png", "--attribution", "A & B"]) == 0
    page = drawn.read_text("utf-8")
    assert '"url":"https://tiles.example.org/{z}/{x}/{y}.png","attribution":"A &amp; B"' in page
    assert " https://tiles.example.org" in page.partition("<style>")[0], "the security policy names the host"


def test_commands_read_the_basemap_if_they_draw_or_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extract, page, saved = str(coast(tmp_path)), tmp_path / "r.html", tmp_path / "coast.graph"
    made: list[Any] = []

    def noting(*args: Any) -> Any:
        made.append(shapes_of(*args))
        return made[-1]

    monkeypatch.setattr(importer, "shapes_of", noting)
    route = ["route", extract, "--from", "0,0", "--to", "0.05,0.05", "--device", "cpu"]
    assert main(route) == 0 and not made
    assert main([*route, "--map", str(page)]) == 0
    assert len(made) == 1 and "Port" in page.read_text("utf-8")
    assert main(["prepare", extract, str(saved), "-q"]) == 0
    streets = Graph.load(saved).streets
    assert streets is not None and streets.basemap is not None and streets.basemap.place_names == ("Port",)
