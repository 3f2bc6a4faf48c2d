"""The command that finds the routes of pairs in a file, and the files that pairs are read from."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tests.support.street_grid import STEP, street_grid
from vkssp import FormatError, Graph, Router
from vkssp.cli import main
from vkssp.routing.pairs_file import COLUMNS, read_pairs
from vkssp.terminal import progress_bar

#: Pairs in a grid of streets, four columns.
PAIRS = np.random.default_rng(2).uniform(0, 5 * STEP, (7, 4)).round(6)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A file of a grid, and far from it a street that nothing leads to."""
    whole = street_grid(6)
    assert whole.lat is not None and whole.lon is not None
    tail, head = np.append(whole.tail, [36, 37]), np.append(whole.head, [37, 36])
    lat, lon = np.append(whole.lat, [0.2, 0.2]), np.append(whole.lon, [0.2, 0.21])
    made = Graph.from_edges(tail, head, np.append(whole.weight, [1, 1]), lat=lat, lon=lon)
    made.save(tmp_path / "a.graph")
    return tmp_path / "a.graph"


def written(path: Path, name: str, pairs: Any = PAIRS, ids: list[str] | None = None) -> Path:
    """Write pairs to a file of some format."""
    file, rows = path / name, np.asarray(pairs).tolist()
    if file.suffix == ".parquet":
        columns = {column: [row[at] for row in rows] for at, column in enumerate(COLUMNS)}
        parquet.write_table(pyarrow.table(columns | ({} if ids is None else {"id": ids})), file)
    elif file.suffix == ".geojson":
        lines = [{"type": "LineString", "coordinates": [[b, a], [0, 0], [d, c]]} for a, b, c, d in rows]
        features = [
            {"type": "Feature", "geometry": line, "properties": {} if ids is None else {"id": ids[at]}}
            for at, line in enumerate(lines)
        ]
        file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    else:
        with file.open("w", newline="") as stream:
            lines_of_text = csv.writer(stream)
            lines_of_text.writerow([*COLUMNS, *([] if ids is None else ["id"])])
            lines_of_text.writerows([*row, *([] if ids is None else [ids[at]])] for at, row in enumerate(rows))
    return file


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.geojson"])
def test_pairs_are_read_some_at_a_time(tmp_path: Path, name: str) -> None:
    for ids in (None, list("abcdefg")):
        blocks = list(read_pairs(written(tmp_path, name, ids=ids), 3))
        assert [len(block.ids) for block in blocks] == [3, 3, 1]
        read = [(*a, *b) for block in blocks for a, b in zip(block.origins, block.destinations, strict=True)]
        assert np.array_equal(np.array(read), PAIRS)
        assert [one for block in blocks for one in block.ids] == (list(range(7)) if ids is None else ids)
    for wrong, told in (([], "no pairs"), ([[0, 0, 0, np.nan]], "p")):
        with pytest.raises(FormatError, match=told):
            list(read_pairs(written(tmp_path, name, wrong or np.zeros((0, 4))), 3))


@pytest.mark.parametrize("text", ["lat,lon\n1,2\n", "from_lat,from_lon,to_lat,to_lon\n1,2,3\n", ""])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(FormatError, match=r"p\.csv"):
        list(read_pairs(tmp_path / "p.csv", 3))


@pytest.mark.parametrize("coordinates", [[[10**400, 0], [0, 0]], [[0, 0], [0, -(10**400)]], ["12", "34"], "12"])
def test_lines_of_other_things_than_positions_are_refused(tmp_path: Path, coordinates: Any) -> None:
    (tmp_path / "p.geojson").write_text(json.dumps({"type": "LineString", "coordinates": coordinates}))
    with pytest.raises(FormatError, match="feature 0 is no GeoJSON line; give LineStrings of two positions lon,lat"):
        list(read_pairs(tmp_path / "p.geojson", 3))


def test_routes_are_written_in_blocks(
    tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vkssp.commands.routes.AT_ONCE", 3)
    pairs = np.concatenate([PAIRS, [[0.2, 0.2, 0, 0]]])
    ids = list("abcdefgh")
    file = written(tmp_path, "p.csv", pairs, ids)
    with Router(Graph.load(graph), device="cpu") as router:
        expected = router.routes(pairs[:, :2], pairs[:, 2:])
    for name in ("r.geojson", "r.parquet", "r.csv", "r.gpkg"):
        output = tmp_path / name
        arguments = ["routes", str(graph), "--pairs", str(file), "-o", str(output), "--device", "cpu", "--json"]
        assert main(arguments) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["pairs"], told["routes"]) == (8, 7)
        if name == "r.csv":
            with output.open(newline="") as stream:
                rows = list(csv.DictReader(stream))
            assert [row["id"] for row in rows] == ids and rows[7]["distance_m"] == ""
            assert [float(row["distance_m"]) for row in rows[:7]] == expected.distance_m[:7].tolist()
            continue
        frame = geopandas.read_parquet(output) if name == "r.parquet" else geopandas.read_file(output)
        assert frame["id"].tolist() == ids and frame.geometry.isna().tolist() == [False] * 7 + [True]
        assert np.allclose(frame["distance_m"][:7], expected.distance_m[:7])
        wanted = expected.to_geodataframe().geometry[:7]
        assert all(one.equals(other) for one, other in zip(frame.geometry[:7], wanted, strict=True))


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_via_points_have_columns_of_their_own(
    tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Of each pair any number, in the order of their numbers; the rest of a row's columns is empty."""
    via = np.random.default_rng(3).uniform(0, 5 * STEP, (3, 2)).round(6).tolist()
    wanted = [[via[0], via[1]], [], [via[2]]]
    columns: dict[str, list[Any]] = {"via10_lon": [via[1][1], None, None], "via10_lat": [via[1][0], None, None]}
    columns |= {"via9_lat": [via[0][0], None, via[2][0]], "via9_lon": [via[0][1], None, via[2][1]]}
    columns |= {column: PAIRS[:3, at].tolist() for at, column in enumerate(COLUMNS)}

    def write() -> None:
        if name == "p.parquet":
            parquet.write_table(pyarrow.table(columns), tmp_path / name)
            return
        rows = [columns, *zip(*columns.values(), strict=True)]
        text = "".join(",".join("" if value is None else str(value) for value in row) + "\n" for row in rows)
        (tmp_path / name).write_text(text)

    write()
    (block,) = read_pairs(tmp_path / name, 5)
    assert block.vias is not None and [[list(place) for place in some] for some in block.vias] == wanted
    output = tmp_path / "r.csv"
    arguments = ["routes", str(graph), "--pairs", str(tmp_path / name), "-o", str(output), "--device", "cpu"]
    with Router(Graph.load(graph), device="cpu") as router:
        for straight in (True, False):
            option = "--continue-straight" if straight else "--no-continue-straight"
            assert main([*arguments, option]) == 0
            with output.open(newline="") as stream:
                found = [float(row["distance_m"]) for row in csv.DictReader(stream)]
            expected = router.routes(PAIRS[:3, :2], PAIRS[:3, 2:], via=wanted, continue_straight=straight)
            assert found == expected.distance_m.tolist()
    assert "pairs" not in capsys.readouterr().err
    monkeypatch.setattr("vkssp.commands.routes.is_watched", lambda args: True)
    monkeypatch.setattr("vkssp.commands.routes.progress_bar", partial(progress_bar, delay=0))
    assert main(arguments) == 0
    assert " pairs" in capsys.readouterr().err, "a bar on a terminal"
    columns["via9_lat"][1] = 0.0  # without its longitude
    write()
    with pytest.raises(FormatError, match=r"(line 3|row 1): via9_lon is empty, but via9_lat is not; give both"):
        list(read_pairs(tmp_path / name, 5))
    columns["via_lat"] = [None] * 3
    write()
    with pytest.raises(FormatError, match="has a column via_lat, but no via_lon"):
        list(read_pairs(tmp_path / name, 5))


def test_rows_that_end_early_and_fields_that_are_wrong(tmp_path: Path) -> None:
    path, head = tmp_path / "p.csv", f"{','.join(COLUMNS)},via1_lat,via1_lon,via2_lat,via2_lon,id\n"
    path.write_text(f"{head}0,0,1,1,2,2,3,3,a\n0,0,1,1,2,2\n0,0,1,1\n")
    (block,) = read_pairs(path, 5)
    assert block.vias == [[(2, 2), (3, 3)], [(2, 2)], []] and block.ids == ["a", "", ""]
    for row, told in (
        ("0,0,1", "to_lon is empty, but to_lat is not; give both"),
        ("0,0,,", "to_lat is empty; give degrees"),
        ("0,0,1,1,,,5,1.52x8", "via2_lon is '1.52x8'; give degrees, such as 42.5075"),
        ("0,0,1,1,1e400,0", "via1_lat is '1e400'; give degrees"),
        ("0,0,1,1,5", "via1_lon is empty, but via1_lat is not"),
    ):
        path.write_text(f"{head}\n0,0,1,1,2,2\n{row}\n")
        with pytest.raises(FormatError, match=f"p.csv, line 4: {told}"):
            list(read_pairs(path, 5))
    for value, told in (("z" * 100_000, "'zzz.*zzz'"), ([1.0] * 9, r"\[1\.0"), ("nan", "'nan'")):
        columns = {column: [0.5] for column in COLUMNS} | {"via1_lat": [value], "via1_lon": [0.5]}
        parquet.write_table(pyarrow.table(columns), tmp_path / "p.parquet")
        with pytest.raises(FormatError, match=f"row 0: via1_lat is {told}") as caught:
            list(read_pairs(tmp_path / "p.parquet", 5))
        assert len(str(caught.value)) < len(str(tmp_path)) + 200


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_columns_that_look_like_via_points_are_read_or_refused(tmp_path: Path, name: str) -> None:
    def read(names: list[str]) -> Any:
        header = [*(column.upper() for column in COLUMNS), *names]
        if name == "p.parquet":
            parquet.write_table(pyarrow.table([[0.5]] * len(header), header), tmp_path / name)
        else:
            (tmp_path / name).write_text(f"{','.join(header)}\n{','.join(['0.5'] * len(header))}\n")
        (block,) = read_pairs(tmp_path / name, 5)
        return block.vias

    others = ["via_hotel_name", "viaduct_lat", "via1_name", "via_2_tax", "vials"]
    assert read(["Via1_Lat", " via1_lon", *others]) == [[(0.5, 0.5)]]
    for form in ("via0_", "via01_", "via_1_", "via-1_", "via1", "via_hotel_", "VIA1234567890_", "via²_"):
        with pytest.raises(FormatError, match=f"{form.lower()}lat', which is not read; name .* via1_lat,via1_lon"):
            read(["via1_lat", "via1_lon", f"{form}lat", f"{form}lon"])
    for words in (["via1_latitude", "via1_longitude"], ["via1_lng", "via1_lat"], ["via1_x", "via1_y"], ["via_latlon"]):
        with pytest.raises(FormatError, match=f"{words[0]}', which is not read"):
            read(words)
    for word in ("via", "via1", "via_1", "via 2", "via1_"):
        with pytest.raises(FormatError, match=f"a column '{word}', which is not read"):
            read(["via_lat", "via_lon", word])
    with pytest.raises(FormatError, match="via_lat,via_lon beside numbered ones; number all"):
        read(["via_lat", "via_lon", "via1_lat", "via1_lon"])
    for twice in (["via1_lat", "via1_lon", "Via1_lon"], ["to_lat"], ["id", "ID"]):
        with pytest.raises(FormatError, match=f"several columns '{twice[-1].lower()}'"):
            read(twice)


def test_errors_name_the_pair_and_leave_no_file(
    tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vkssp.commands.routes.AT_ONCE", 3)
    arguments = ["routes", str(graph), "-o", str(tmp_path / "r.geojson"), "--device", "cpu", "--pairs"]
    for name, line in (("p.csv", "line 6"), ("p.parquet", "row 4"), ("p.geojson", "feature 4")):
        file = written(tmp_path, name, np.concatenate([PAIRS[:4], [[50, 50, 0, 0]]]))
        assert main([*arguments, str(file)]) == 2
        told = capsys.readouterr().err
        assert f"{name}, {line}: origin 4 is 50.00000,50.00000, which is not on this map" in told
    for place in ("50,50", "91,0"):
        rows = [*[f"{STEP},0,0,0,,,,"] * 4, f"{STEP},0,0,0,,,{place}"]
        (tmp_path / "via.csv").write_text(
            "\n".join([f"{','.join(COLUMNS)},via1_lat,via1_lon,via2_lat,via2_lon", "", *rows])
        )
        assert main([*arguments, str(tmp_path / "via.csv")]) == 2
        assert f"via.csv, line 7: via2_lat,via2_lon of pair 4 is {place[:2]}.00000," in capsys.readouterr().err
    file = written(tmp_path, "p.csv", np.concatenate([PAIRS[:4], [[0.2, 0.2, 0, 0]]]))
    assert main([*arguments, str(file), "--strict"]) == 2
    assert "p.csv, line 6: pair 4: no route leads from" in capsys.readouterr().err
    assert not list(tmp_path.glob("*r.geojson*"))
