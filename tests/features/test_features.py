"""Features: what they are made of, the tables that they become, and GeoJSON as RFC 7946 has it."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import shapely

from tests.support.graphs import grid
from tests.support.streetmaps import UNIT, street_map
from vkssp import Features, Graph, QueryError

SQUARE = street_map([(0, 0), (0, 1), (1, 1), (1, 0)], [(0, 1, 10), (1, 2, 10, [(0, 2)]), (2, 3, 10)], oneways=(2,))


def test_arcs_are_lines_in_their_direction() -> None:
    found = Features.of_arcs(SQUARE, {"flow": np.arange(5) / 2})
    assert list(found.columns) == ["arc", "tail", "head", "weight", "way", "name", "length_m", "flow"]
    assert SQUARE.lat is not None and SQUARE.lon is not None
    for arc, line in enumerate(found.shapes):
        ends = shapely.get_coordinates(line)[[0, -1], ::-1]
        nodes = [SQUARE.tail[arc], SQUARE.head[arc]]
        assert ends == pytest.approx(np.stack([SQUARE.lat[nodes], SQUARE.lon[nodes]], axis=1))
    assert {shapely.get_num_coordinates(line) for line in found.shapes} == {2, 3}
    assert found.columns["name"].tolist()[:2] == ["Street 0", "Street 0"]
    some = Features.of_arcs(SQUARE, {"flow": [7.5, None]}, [4, 0])
    assert some.columns["arc"].tolist() == [4, 0] and some.shapes[1].equals(found.shapes[0])
    straight = Features.of_arcs(grid(3))
    assert list(straight.columns) == ["arc", "tail", "head", "weight"] and straight.kinds == {"LineString"}
    assert Features.of_arcs(Graph.from_edges([0], [1], [1])).shapes is None


def test_features_of_any_objects_with_a_shape() -> None:
    class Thing:
        def __init__(self) -> None:
            self.__geo_interface__ = {"type": "Point", "coordinates": (3.0, 4.0)}

    feature = {"type": "Feature", "properties": {"a": 1, "b": [1, 2]}, "geometry": None}
    found = Features.of([Thing(), shapely.Point(1, 2), feature, {**feature, "properties": None}], "mixed")
    assert [None if shape is None else shape.wkt for shape in found.shapes] == [
        "POINT (3 4)",
        "POINT (1 2)",
        None,
        None,
    ]
    assert found.columns["a"].tolist() == [None, None, 1, None]
    assert found.columns["b"].tolist() == [None, None, "[1, 2]", None] and found.name == "mixed"
    assert Features.of(found) is found
    again = Features.of(found.__geo_interface__)
    assert again.columns["a"].tolist() == found.columns["a"].tolist() and again.shapes[0].equals(found.shapes[0])
    assert len(Features.of(shapely.Point(1, 2))) == 1
    for wrong in ([1], [{"type": "Feature"}], 5, [{"type": "Point", "coordinates": "here"}], [{"type": "Blob"}], "ab"):
        with pytest.raises(QueryError, match=r"things"):
            Features.of(wrong)


def test_dataframes() -> None:
    columns: dict[str, Any] = {
        "text": np.array(["ü", None], object),
        "whole": np.array([5, None], object),
        "real": np.array([1.5, np.nan], np.float32),
        "big": np.array([2**32 - 1, 0], np.uint32),
        "yes": np.array([True, False]),
    }
    found = Features.of_places([(1.0, 2.0), (3.0, 4.0)], columns, ["a", "b"])
    frame = found.to_dataframe()
    assert list(frame) == ["id", "lat", "lon", *columns]
    assert frame["whole"].dtype == "Int64" and frame["whole"].isna().tolist() == [False, True]
    assert frame["text"].iloc[0] == "ü" and pandas.isna(frame["text"].iloc[1]) and frame["real"].dtype == np.float32
    assert frame[["lat", "lon"]].to_numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    mapped = found.to_geodataframe()
    assert mapped.crs == "EPSG:4326" and mapped.geometry.iloc[1].wkt == "POINT (4 3)" and "lat" not in mapped
    # What comes out goes in again, also with pandas' own values for what is missing.
    back = Features({name: mapped[name] for name in ["id", *columns]}, mapped.geometry)
    pandas.testing.assert_frame_equal(back.to_dataframe(), frame)


def test_arrow_s_interface() -> None:
    found = Features.of_places([(1.0, 2.0), (3.0, 4.0)], {"n": [5, None], "t": ["\ud800", "b\0"]})
    table = pyarrow.table(found)
    assert table.column("n").to_pylist() == [5, None] and table.column("t").to_pylist() == ["\ufffd", "b\ufffd"]
    assert polars.DataFrame(found)["id"].to_list() == [0, 1]
    frame = geopandas.GeoDataFrame.from_arrow(found)
    assert frame.geometry.tolist() == found.shapes.tolist() and frame.crs.to_authority() == ("OGC", "CRS84")


def test_a_line_over_the_180th_meridian_is_cut_and_areas_stay() -> None:
    there = street_map([(0, 179_990), (0, 179_999)], [(0, 1, 5)])
    assert there.streets is not None
    graph = Graph.from_edges([0], [1], [1], lat=np.array([-17.0, -16.0]), lon=np.array([179.5, -179.5]))
    (line,) = Features.of_arcs(graph).shapes
    assert line.wkt == "MULTILINESTRING ((179.5 -17, 180 -16.5), (-180 -16.5, -179.5 -16))"
    assert Features.of_arcs(there).shapes[0].bounds == pytest.approx((179.99, 0, 179.999, 0))
    assert UNIT == 1e-3


def test_geojson() -> None:
    found = Features({"a": [1.5, None], "b": np.array([2**40, 3])}, [shapely.Point(1, 2), shapely.Point()])
    first, second = found.__geo_interface__["features"]
    assert first == {
        "type": "Feature",
        "properties": {"a": 1.5, "b": 2**40},
        "geometry": {"type": "Point", "coordinates": (1.0, 2.0)},
    }
    assert second["properties"] == {"a": None, "b": 3} and second["geometry"]["coordinates"] == ()
    assert geopandas.GeoDataFrame.from_features(found).geometry.iloc[0].wkt == "POINT (1 2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Features([1, 2]), "columns is .*; give a dict"),
        (lambda: Features({1: [2]}), "column 1; give each a name"),
        (lambda: Features({"a": 5}), r"columns\['a'\] is 5"),
        (lambda: Features({"a": np.zeros((2, 2))}), r"columns\['a'\] has shape \(2, 2\)"),
        (lambda: Features({"a": np.zeros(2, complex)}), "dtype complex128"),
        (lambda: Features({"a": [1, 2], "b": [3]}), r"columns\['b'\] has 1 values for 2 rows"),
        (lambda: Features({"a": [1]}, [5]), r"shapes\[0\] is 5; give shapely geometries"),
        (lambda: Features({}, 5), "shapes is 5; give a list of shapely geometries"),
        (lambda: Features({"a": np.ma.array([1, 2], mask=[0, 1])}), r"columns\['a'\] has masked entries"),
        (lambda: Features({"geometry": [1]}, [None]), "rename the column"),
        (lambda: Features({"a": [1]}, None, ""), "give the name of the layer"),
        (lambda: Features.of_nodes("graph"), "graph is 'graph'; give a Graph"),  # type: ignore[arg-type]
        (lambda: Features.of_nodes(SQUARE, nodes=[9]), r"nodes\[0\] is 9"),
        (lambda: Features.of_places([(1.0, 2.0)], ids=["a", "b"]), "there are 2 ids for 1 places"),
        (lambda: Features.of_places([(1.0, 2.0)], shapes=[]), "there are 0 shapes for 1 places"),
        (lambda: Features({"a": [1]}).to_geodataframe(), "take to_dataframe"),
    ],
)
def test_what_are_no_features(make: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        make()


def test_nothing_at_all() -> None:
    empty = Features({"a": []}, [])
    assert len(empty) == 0 and len(empty.to_geodataframe()) == 0 and empty.__geo_interface__["features"] == []
    assert len(Features({})) == 0 and "0 rows" in repr(Features({}))


def test_features_are_called_and_weighted_as_the_caller_does() -> None:
    named = Graph.from_edges(["a", "b"], ["b", "c"], [12.5, 0.25], lat=[0, 0, 1], lon=[0, 1, 1])
    arcs = Features.of_arcs(named)
    assert arcs.columns["tail"].tolist() == ["a", "b"] and arcs.columns["head"].tolist() == ["b", "c"]
    assert arcs.columns["weight"].tolist() == [12.5, 0.25]
    assert Features.of_nodes(named).columns["node"].tolist() == ["a", "b", "c"]
    some = Features.of_nodes(named, nodes=["c", "a"])
    assert some.columns["node"].tolist() == ["c", "a"]
    assert some.shapes is not None and (some.shapes[0].x, some.shapes[0].y) == (1, 1)
