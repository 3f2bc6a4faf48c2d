"""Commands with ``--scheduler``: they write what they write without it, but workers of a cluster compute it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.clusters import cluster_here
from tests.support.graphs import grid
from tests.support.table_places import places_of
from vkssp import Graph, read_graph
from vkssp.cli import main
from vkssp.dask.worker_solvers import SOLVERS

pytest.importorskip("distributed")
zarr, dataset = pytest.importorskip("zarr"), pytest.importorskip("pyarrow.dataset")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a cluster in this process."""
    SOLVERS.configure("cpu")
    with cluster_here() as client:
        yield str(client.scheduler.address)
    SOLVERS.close()
    SOLVERS.configure()


def write_places(path: Path, places: list[tuple[float, float]]) -> Path:
    with path.open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["id", "lat", "lon"])
        lines.writerows([f"p{at}", *place] for at, place in enumerate(places))
    return path


def test_places(scheduler: str, tmp_path: Path, andorra: tuple[Graph, str], capsys: pytest.CaptureFixture[str]) -> None:
    graph, path = andorra
    places = write_places(tmp_path / "p.csv", places_of(graph, 6, 1))
    given = ["table", path, "--sources", str(places), "--metrics", "duration,distance"]
    assert main([*given, "--device", "cpu", "-o", str(tmp_path / "one.zarr")]) == 0
    for name in ("two.zarr", "two.parquet", "two.parquet"):  # the second time the folder is there
        capsys.readouterr()
        assert main([*given, "--scheduler", scheduler, "-o", str(tmp_path / name), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["sources"] == told["targets"] == 11 and told["reached"] == 121
    one, two = (zarr.open_group(tmp_path / name, mode="r") for name in ("one.zarr", "two.zarr"))
    for name in ("source", "duration_s", "distance_m"):
        assert np.array_equal(one[name][:], two[name][:])
    frame = dataset.dataset(tmp_path / "two.parquet").to_table().to_pandas()
    assert np.array_equal(frame["duration_s"].to_numpy(), one["duration_s"][:].reshape(-1))
    assert frame["origin_id"][0] == "p0"
    write_places(places, [*places_of(graph, 6, 1), (50.0, 50.0)])
    assert main([*given, "--scheduler", scheduler, "-o", str(tmp_path / "three.zarr")]) == 2
    assert "p.csv, line 13: source 11 is 50.00000,50.00000, which is not on" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--reverse"], ["--targets", "all"], ["--limit", "3"]])
def test_nodes(scheduler: str, tmp_path: Path, more: list[str]) -> None:
    def written(graph: Graph, *options: str) -> Any:
        graph.save(tmp_path / "g.graph")
        nodes = tmp_path / "n.csv"
        nodes.write_text("node\n1\n5\n30\n")
        path = tmp_path / f"{len(options)}.zarr"
        assert (
            main(["table", str(tmp_path / "g.graph"), "--sources", str(nodes), "-o", str(path), *more, *options]) == 0
        )
        return zarr.open_group(path, mode="r")["weight"][:]

    graph = grid(6)
    assert np.array_equal(written(graph), written(graph, "--scheduler", scheduler))


def test_files_that_workers_cannot_write_together(
    scheduler: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    nodes = tmp_path / "n.csv"
    nodes.write_text("node\n1\n5\n30\n7\n")
    given = ["table", "road:6", "--sources", str(nodes), "--targets", "all"]
    same_files(given, scheduler, tmp_path, ".csv")
    capsysbinary.readouterr()
    assert main([*given, "--scheduler", scheduler, "-o", "-"]) == 0
    assert capsysbinary.readouterr().out.decode().split() == (tmp_path / "one.csv").read_text().split()


def same_files(given: list[str], scheduler: str, folder: Path, ending: str) -> None:
    """Check that a command writes the same file with and without workers."""
    one, two = folder / f"one{ending}", folder / f"two{ending}"
    assert main([*given, "--device", "cpu", "-o", str(one)]) == 0
    assert main([*given, "--scheduler", scheduler, "-o", str(two)]) == 0
    assert one.read_text() == two.read_text()


@pytest.fixture(scope="module")
def andorra(tmp_path_factory: pytest.TempPathFactory, andorra_path: Path) -> tuple[Graph, str]:
    """The graph of Andorra, and its file."""
    graph, path = read_graph(andorra_path), tmp_path_factory.mktemp("graphs") / "andorra.graph"
    graph.save(path)
    return graph, str(path)


def test_accessibility(scheduler: str, tmp_path: Path, andorra: tuple[Graph, str]) -> None:
    graph, path = andorra
    jobs = write_places(tmp_path / "p.csv", places_of(graph, 6, 1))
    given = ["accessibility", path, str(jobs), "--minutes", "5,10", "--decay", "gaussian:300", "--nearest", "2"]
    for more in (["--grid", "3000"], ["--metric", "distance", "--reverse"]):
        given[4] = "5,10" if more[0] == "--grid" else "900"
        given[3] = "--minutes" if more[0] == "--grid" else "--limits"
        same_files([*given, *more], scheduler, tmp_path, ".csv")


def test_isochrones(
    scheduler: str, tmp_path: Path, andorra: tuple[Graph, str], capsys: pytest.CaptureFixture[str]
) -> None:
    graph, path = andorra
    places = write_places(tmp_path / "p.csv", places_of(graph, 12, 4))
    given = ["isochrone", path, "--minutes", "1,3", "--reverse", "--places", str(places)]
    same_files(given, scheduler, tmp_path, ".geojson")
    assert main([*given[:4], "--from", "42.5,1.5", "--scheduler", scheduler]) == 2
    assert "--scheduler is for many places" in capsys.readouterr().err


def test_errors_name_the_line(
    scheduler: str, tmp_path: Path, andorra: tuple[Graph, str], capsys: pytest.CaptureFixture[str]
) -> None:
    graph, path = andorra
    good, bad = places_of(graph, 2, 4), tmp_path / "bad.csv"
    jobs = write_places(tmp_path / "p.csv", good)
    write_places(bad, [*good, (50.0, 50.0)])
    for given in (["isochrone", path, "--places", str(bad)], ["accessibility", path, str(jobs), "--origins", str(bad)]):
        assert main([*given, "--minutes", "1", "--scheduler", scheduler, "-o", str(tmp_path / "o.geojson")]) == 2
        assert f"{bad}, line {len(good) + 2}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [
        ["--measures", "closeness,harmonic,eccentricity,reached,farness,straightness", "--limit", "100", "--reverse"],
        ["--measures", "closeness,betweenness", "--sample", "20", "--metric", "distance", "--seed", "3"],
        ["--measures", "betweenness", "--streets", "--limit", "60"],
    ],
)
def test_centrality(scheduler: str, tmp_path: Path, andorra: tuple[Graph, str], more: list[str]) -> None:
    same_files(["centrality", andorra[1], *more], scheduler, tmp_path, ".csv")


def test_extents(scheduler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, told = ["centrality", "road:6", "-o", str(tmp_path / "c.csv"), "--json"], []
    for more in (["--device", "cpu"], ["--scheduler", scheduler]):
        capsys.readouterr()
        assert main([*given, *more]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["diameter"] == told[1]["diameter"] and told[0]["radius"] == told[1]["radius"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "t.txt"], "its name must end in one of .npy, .zarr, .csv, .parquet"),
        (["-o", "t.zarr", "--device", "cpu"], "--device is of this machine"),
        (["-o", "t.zarr", "--scheduler", "nowhere"], "no scheduler of dask answers at 'nowhere'"),
    ],
)
def test_what_cannot_be_asked(
    scheduler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], text: str
) -> None:
    nodes = tmp_path / "n.csv"
    nodes.write_text("node\n1\n")
    options[1] = str(tmp_path / options[1])
    assert main(["table", "road:4", "--sources", str(nodes), "--scheduler", scheduler, *options]) == 2
    assert text in capsys.readouterr().err
