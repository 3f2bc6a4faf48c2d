"""Isochrones around each of many places, from searches at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.street_grid import street_grid
from tests.support.turn_maps import CROSS, ROADS, imported
from vkssp import Graph, QueryError, Router
from vkssp.cli import main
from vkssp.gpu.device import Device

LIMITS = (300, 900, 2500)


@pytest.fixture(scope="module")
def streets() -> Graph:
    graph = street_grid(14)
    return graph.with_weights(np.random.default_rng(2).integers(1, 800, graph.num_arcs))


def places(graph: Graph, count: int) -> list[tuple[float, float]]:
    assert graph.lat is not None and graph.lon is not None
    nodes = np.random.default_rng(5).integers(0, graph.num_nodes, count)
    return list(zip(graph.lat[nodes].tolist(), graph.lon[nodes].tolist(), strict=True))


@pytest.mark.parametrize("algorithm", ["block_resident", "near_far"])
@pytest.mark.parametrize("metric", ["duration", "distance"])
def test_each_is_what_it_is_alone(
    device: Device, streets: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str, metric: str
) -> None:
    graph = imported(tmp_path, CROSS, ROADS, turns="costs")[0] if metric == "distance" else streets
    monkeypatch.setitem(device.tuned, "blocks.searches", 3)
    here = places(graph, 7)
    with Router(graph, algorithm, device, metric=metric) as router:
        each = list(router.isochrones_of_each(here, LIMITS, 20.0))
        assert len(each) == len(here)
        for origin, found in zip(here, each, strict=True):
            alone = router.isochrones(origin, LIMITS, 20.0)
            assert [one.limit for one in found] == [one.limit for one in alone]
            for one, other in zip(found, alone, strict=True):
                assert one.area.equals(other.area) and one.figures == other.figures and one.origin == other.origin


def test_bad_places_are_named_before_anything_is_searched(device: Device, streets: Graph) -> None:
    with Router(streets, "block_resident", device) as router:
        good = places(streets, 1)[0]
        for bad, message in (
            ([], "there are no places; give at least one"),
            ([good, (91.0, 0.0)], r"places\[1\]"),
            ([good, good, (80.0, 100.0)], r"places\[2\]"),
        ):
            with pytest.raises(QueryError, match=message):
                router.isochrones_of_each(bad, LIMITS)
        with pytest.raises(QueryError, match="limits is"):
            router.isochrones_of_each([good], [])
        found = router.isochrones_of_each([good, good], LIMITS)
        next(found)
        router.set_weights(streets.weight * 2)
        with pytest.raises(QueryError, match="weights changed"):
            list(router.isochrones_of_each([good, good], LIMITS)) and list(found)


def test_the_command_writes_them_place_by_place(
    device: Device, streets: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, table, output = tmp_path / "g.npz", tmp_path / "p.csv", tmp_path / "i.geojson"
    streets.save(graph)
    here = places(streets, 4)
    table.write_text("id,lat,lon\n" + "".join(f"stop {i},{lat},{lon}\n" for i, (lat, lon) in enumerate(here)))
    command = ["isochrone", str(graph), "--places", str(table), "--limits", "300,900"]
    assert main([*command, "--output", str(output), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    features = json.loads(output.read_text())["features"]
    assert [one["properties"]["place"] for one in features] == [f"stop {i}" for i in range(4) for _ in range(2)]
    assert [one["properties"]["limit"] for one in features] == [900, 300] * 4
    assert [one["place"] for one in printed["places"]] == [f"stop {i}" for i in range(4)]
    with Router(streets, device=device) as router:
        (small, large) = router.isochrones(here[2], [300, 900])
    assert printed["places"][2]["isochrones"] == [small.figures, large.figures]
    for options, message in (
        ([], "--places needs --output"),
        (["--map", str(tmp_path / "m.html"), "--output", str(output)], "--places needs --output and has no --map"),
        (["--output", str(table)], "cannot write"),
    ):
        assert main([*command, *options]) == 2
        assert message in capsys.readouterr().err
    table.write_text("3\n4\n")
    assert main([*command, "--output", str(output)]) == 2
    assert "has nodes; give places" in capsys.readouterr().err
    table.write_text("lat,lon\n" + f"{here[0][0]},{here[0][1]}\n80,100\n")
    assert main([*command, "--output", str(tmp_path / "none.geojson")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz", "i.geojson", "p.csv"]
