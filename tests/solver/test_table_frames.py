"""Tables as DataFrames, Datasets and Arrow: the values and names of the table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from tests.support.streetmaps import street_map
from vkssp import Graph, MemoryShortageError, QueryError, Router, Solver
from vkssp.solver.table import Table
from vkssp.solver.table_maker import table_of_nodes

PLACES = [(0.0001, 0.0002), (0.0009, 0.0001), (0.005, 0.0051)]


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    """A router between two islands."""
    nodes = [(0, 0), (0, 1), (1, 1), (1, 0), (5, 5), (5, 6)]
    streets = [(0, 1, 10), (1, 2, 20), (2, 3, 30), (3, 0, 40), (4, 5, 50)]
    with Router(street_map(nodes, streets), device="cpu") as opened:
        yield opened


def test_dataframes(router: Router) -> None:
    table = router.table(PLACES[:2], PLACES, ["duration", "distance", "weight"])
    values = table.read()
    frame = table.to_dataframe(["a", "b"])
    assert list(frame) == ["origin_id", "destination_id", "duration_s", "distance_m", "weight"]
    assert frame["origin_id"].tolist() == ["a"] * 3 + ["b"] * 3 and frame["destination_id"].tolist() == [0, 1, 2] * 2
    assert np.array_equal(frame["duration_s"], values["duration"].reshape(-1), equal_nan=True)
    assert frame["weight"].dtype == "UInt32" and frame["weight"].isna().tolist() == [False, False, True] * 2
    assert frame["duration_s"].isna().tolist() == [False, False, True] * 2
    wide = table.to_dataframe(["a", "b"], [7, 8, 9], wide=True)
    assert wide.columns.names == ["metric", "destination_id"] and wide.index.name == "origin_id"
    assert wide.loc["b", ("duration_s", 7)] == values["duration"][1, 0]
    assert pandas.isna(wide.loc["a", ("weight", 9)]) and wide.loc["a", ("weight", 8)] == values["weight"][0, 1]
    single = router.table(PLACES).to_dataframe(wide=True)
    assert single.shape == (3, 3) and single.columns.name == "destination_id" and single.loc[0, 0] == 0
    # A wide table of a long one is the same.
    pivoted = frame.pivot(index="origin_id", columns="destination_id", values="distance_m")
    assert np.array_equal(pivoted.to_numpy(), values["distance"], equal_nan=True)


def test_weights_of_other_types() -> None:
    """Real weights are NaN where no path leads, and whole ones of 64 bits NA."""
    heavy = 2**32 - 2
    for weights, options, dtype in (([0.5, 0.25], {}, "float64"), ([heavy, heavy], {"distance_bits": 64}, "UInt64")):
        with Solver(Graph.from_edges([0, 1], [1, 2], weights), device="cpu", **options) as solver:
            table = table_of_nodes(solver, [0, 1, 2])
            told = table.to_dataframe()["weight"]
            assert told.dtype == dtype and told.isna().tolist() == [False] * 3 + [True, False, False, True, True, False]
            assert told[2] == sum(weights)
            wide = table.to_dataframe(wide=True)
            assert wide.loc[0, 2] == sum(weights) and pandas.isna(wide.loc[2, 0])
            assert wide.dtypes.tolist() == [dtype] * 3
            assert table.to_arrow().read_all().column("weight").null_count == 3
            assert table.to_xarray()["weight"].values[0, 2] == sum(weights)


def test_names_of_other_libraries(router: Router) -> None:
    names = pandas.DataFrame({"id": ["x", "y", "z"]}, index=[5, 6, 7])
    frame = router.table(PLACES).to_dataframe(names["id"], names.index)
    assert frame["origin_id"].tolist()[::3] == ["x", "y", "z"] and frame["destination_id"].tolist()[:3] == [5, 6, 7]


def test_datasets(router: Router) -> None:
    table = router.table(PLACES[:2], PLACES, ["duration", "weight"])
    found = table.to_xarray(["a", "b"])
    assert found["duration_s"].dims == ("origin", "destination") and found.sizes == {"origin": 2, "destination": 3}
    assert np.array_equal(found["duration_s"], table.read()["duration"], equal_nan=True)
    assert found["duration_s"].attrs["units"] == "s"
    assert float(found["origin_lat"].sel(origin="b")) == PLACES[1][0]
    assert found["destination_lon"].to_numpy().tolist() == [lon for _, lon in PLACES]
    with Solver(router.graph, device="cpu") as solver:
        plain = table_of_nodes(solver, [0, 1], [2]).to_xarray()
    assert set(plain.coords) == {"origin", "destination"}


def test_rows_of_a_reverse_table_are_destinations(router: Router) -> None:
    metrics = ["duration", "weight"]
    inward, outward = router.table(PLACES[:2], PLACES, metrics, reverse=True), router.table(PLACES, PLACES[:2], metrics)
    ends, (a, b) = ["origin_id", "destination_id"], (["a", "b"], ["x", "y", "z"])
    frame, wanted = inward.to_dataframe(a, b), outward.to_dataframe(b, a)
    pandas.testing.assert_frame_equal(frame.set_index(ends).sort_index(), wanted.set_index(ends).sort_index())
    found = polars.DataFrame(inward.to_arrow(a, b)).select(wanted.columns).sort(ends)
    assert found.equals(polars.DataFrame(outward.to_arrow(b, a)).sort(ends))
    found_set, wanted_set = inward.to_xarray(a, b), outward.to_xarray(b, a)
    assert found_set["weight"].dims == ("destination", "origin") and found_set.equals(wanted_set.transpose())
    assert inward.to_dataframe(a, b, wide=True).index.name == "destination_id"
    turned, arcs = router.graph.reversed()
    with Solver(turned, device="cpu") as solver:
        nodes = table_of_nodes(solver, [0, 1], [2], forward=(router.graph, arcs)).to_dataframe()
    assert list(nodes)[:2] == ["destination_id", "origin_id"]


def test_arrow(router: Router) -> None:
    table = router.table(PLACES, metrics=["duration", "weight"])
    frame = table.to_dataframe()
    found = pyarrow.table(table)
    assert found.column_names == list(frame) and found.column("duration_s").null_count == 4
    assert found.column("weight").to_pylist() == [None if one is pandas.NA else one for one in frame["weight"]]
    assert polars.DataFrame(table)["origin_id"].to_list() == frame["origin_id"].tolist()
    # Some rows at a time.
    pieces: list[Any] = [{"weight": np.full((2, 1), at, np.uint32)} for at in range(3)]
    batches = list(Table((6, 1), ("weight",), lambda *_: iter(pieces)).to_arrow(list("abcdef")))
    assert [batch.num_rows for batch in batches] == [2, 2, 2]
    assert [batch.column("origin_id").to_pylist() for batch in batches] == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_what_does_not_suit(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    table = router.table(PLACES)
    for make in (table.to_dataframe, table.to_xarray, table.to_arrow):
        with pytest.raises(QueryError, match="there are names for 1 sources and 3 targets"):
            make(["a"])
    with pytest.raises(QueryError, match="wide is 'yes'"):
        table.to_dataframe(wide="yes")  # type: ignore[arg-type]
    huge = Table((2**31, 2**31), ("weight",), lambda *_: iter([]))
    for attempt in (huge.to_dataframe, huge.to_xarray):
        with pytest.raises(MemoryShortageError, match="write it to a file"):
            attempt()
    for module, make, extra in (
        ("pandas", table.to_dataframe, "pandas"),
        ("xarray", table.to_xarray, "pandas"),
        ("pyarrow", table.to_arrow, "table"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(QueryError, match=rf"need {module}, which is not installed; pip install 'vkssp\[{extra}\]'"):
            make()
