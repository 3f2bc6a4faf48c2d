"""Tests of conditions on the time, of clocks, and of turn restrictions at certain times."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from vkssp import Router, read_graph
from vkssp.errors import FormatError, QueryError
from vkssp.osm.clock import Clock
from vkssp.osm.conditions import Condition, NotUnderstoodError, conditional_values


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        # 2017-05-02 was a Tuesday, 2017-05-06 a Saturday.
        ("Mo-Fr 07:00-10:30", "2017-05-02T07:00 2017-05-05T10:29", "2017-05-02T10:30 2017-05-06T08:00"),
        ("Mo-Fr 07:00-09:30,16:00-18:30", "2017-05-02T16:00", "2017-05-02T12:00"),
        ("Sa-Mo", "2017-05-06T00:00 2017-05-07T23:59 2017-05-08T12:00", "2017-05-09T00:00"),
        ("22:00-06:00", "2017-05-02T23:00 2017-05-02T05:59", "2017-05-02T06:00 2017-05-02T21:59"),
        ("Fr 22:00-26:00", "2017-05-05T22:00 2017-05-06T01:59", "2017-05-05T01:00 2017-05-06T02:00"),
        ("Mo-Fr 07:00-19:00; We off", "2017-05-02T08:00", "2017-05-03T08:00"),
        ("Mo-Su 07:00-19:00; Sa 10:00-12:00", "2017-05-06T11:00 2017-05-05T08:00", "2017-05-06T08:00"),
        ("Mo 08:00-09:00, Tu 10:00-11:00", "2017-05-01T08:30 2017-05-02T10:30", "2017-05-02T08:30"),
        ("Nov-Mar", "2017-12-31T12:00 2017-03-31T12:00", "2017-04-01T00:00 2017-10-31T23:00"),
        ("May 1-15 08:00-18:00", "2017-05-15T08:00", "2017-05-16T08:00 2017-05-15T18:00"),
        ("Dec 24-Jan 06", "2017-12-24T12:00 2018-01-06T12:00", "2018-01-07T00:00"),
        ("2017 May 02-2018 Jun 03", "2017-05-02T00:00 2018-06-03T23:00", "2017-05-01T12:00 2018-06-04T00:00"),
        ("2016-2017 Mo", "2017-05-01T12:00", "2018-05-07T12:00 2017-05-02T12:00"),
        ("2017+", "2030-01-01T00:00", "2016-12-31T23:59"),
        ("week 18-20/2 Tu", "2017-05-02T12:00 2017-05-16T12:00", "2017-05-09T12:00"),
        ("Tu[1],Su[-1] 10:00+", "2017-05-02T23:00 2017-05-28T10:00", "2017-05-09T12:00 2017-05-21T12:00"),
        ("24/7", "2017-05-02T12:00", ""),
        ("PH", "", "2017-01-01T12:00"),
        ("Mo-Fr AND 07:00-10:00", "2017-05-02T08:00", "2017-05-06T08:00 2017-05-02T12:00"),
    ],
)
def test_conditions_hold_at_their_times(text: str, inside: str, outside: str) -> None:
    condition = Condition(text)
    assert [condition.holds(datetime.fromisoformat(one)) for one in inside.split()] == [True] * len(inside.split())
    assert [condition.holds(datetime.fromisoformat(one)) for one in outside.split()] == [False] * len(outside.split())


@pytest.mark.parametrize("text", ["", "weight > 5.5", "Mo-Fr AND wet", "sunset-sunrise", "25:00-26:00", "Mo 7", "Xx"])
def test_other_conditions_are_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        Condition(text)


def test_values_stand_before_their_conditions() -> None:
    found = conditional_values("no_left_turn @ (Mo-Fr 07:00-09:00; Sa off); no_u_turn @ Sa; none @ (wet)")
    assert [value for value, _ in found] == ["no_left_turn", "no_u_turn"]
    assert found[1][1].holds(datetime(2017, 5, 6))


def _zones(path: Path, **boxes: tuple[float, float]) -> Path:
    """Write time zones that are boxes between two longitudes."""
    features = [
        {
            "type": "Feature",
            "properties": {"TZID": name.replace("__", "/")},
            "geometry": {"type": "Polygon", "coordinates": [[[a, -60], [b, -60], [b, 60], [a, 60], [a, -60]]]},
        }
        for name, (a, b) in boxes.items()
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_clocks_show_the_time_of_a_place(tmp_path: Path) -> None:
    zones = _zones(tmp_path / "zones.geojson", Europe__Berlin=(5, 15), America__New_York=(-80, -70))
    clock = Clock(1493719200, zones)  # 10:00 in UTC
    assert [str(clock.at(50, lon))[11:16] for lon in (10, -75)] == ["12:00", "06:00"]
    assert clock.at(50, 20) is None
    assert str(Clock(datetime(2017, 5, 2, 8)).at(50, 10)) == "2017-05-02 08:00:00"
    named = Clock(1493719200, "Asia/Tokyo").at(50, 10)
    assert named is not None
    assert named.hour == 19


def test_bad_times_and_zones_get_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="at is"):
        Clock("noon")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="time_zone is 'Europe/Nowhere'"):
        Clock(0, "Europe/Nowhere")
    with pytest.raises(QueryError, match="leave time_zone out"):
        Clock(datetime(2017, 5, 2), "Europe/Berlin")
    with pytest.raises(FormatError, match="cannot read"):
        Clock(0, tmp_path / "none.geojson")
    (tmp_path / "bad.geojson").write_text("{}")
    with pytest.raises(FormatError, match="TZID"):
        Clock(0, tmp_path / "bad.geojson")


def _crossing(path: Path, tags: dict[str, str]) -> Path:
    """Write a crossing of four streets with a relation on the left turn from south to west."""
    nodes = {1: (0, 0), 2: (-0.002, 0), 3: (0, -0.002), 4: (0.002, 0), 5: (0, 0.002)}
    lines = [f'<node id="{key}" version="1" lat="{lat}" lon="{10 + lon}"/>' for key, (lat, lon) in nodes.items()]
    for way, (here, there) in enumerate(((2, 1), (1, 3), (1, 4), (1, 5)), 11):
        lines.append(
            f'<way id="{way}" version="1"><nd ref="{here}"/><nd ref="{there}"/>'
            f'<tag k="highway" v="primary"/><tag k="name" v="{way}"/></way>'
        )
    told = "".join(f'<tag k="{key}" v="{value}"/>' for key, value in {"type": "restriction", **tags}.items())
    members = '<member type="way" ref="11" role="from"/><member type="node" ref="1" role="via"/>'
    members += '<member type="way" ref="12" role="to"/>'
    lines.append(f'<relation id="21" version="1">{members}{told}</relation>')
    path.write_text(f'<osm version="0.6">{"".join(lines)}</osm>')
    return path


@pytest.mark.parametrize(
    ("tags", "morning", "noon"),
    [
        ({"restriction:conditional": "no_left_turn @ (Mo-Fr 07:00-10:30)"}, False, True),
        ({"restriction:motorcar:conditional": "no_left_turn @ (07:00-10:30)"}, False, True),
        ({"restriction:conditional": "no_left_turn @ (07:00-10:30)", "except": "motorcar"}, True, True),
        ({"restriction": "no_left_turn", "restriction:conditional": "none @ (11:00-13:00)"}, False, True),
        ({"restriction:conditional": "no_left_turn @ (weight > 5)"}, True, True),
    ],
)
def test_restrictions_hold_at_their_times(tmp_path: Path, tags: dict[str, str], morning: bool, noon: bool) -> None:
    source = _crossing(tmp_path / "crossing.osm", tags)

    def turns_left(at: datetime | float, time_zone: Path | None = None) -> bool:
        route = Router(read_graph(source, at=at, time_zone=time_zone), device="cpu").route(
            (-0.0015, 10.0), (0.0, 9.9985)
        )
        return bool(route.distance_m < 400)

    assert [turns_left(datetime(2017, 5, 2, hour)) for hour in (8, 12)] == [morning, noon]
    # 06:00 in UTC is 08:00 in Berlin in summer.
    zones = _zones(tmp_path / "zones.geojson", Europe__Berlin=(5, 15))
    assert [turns_left(1493683200 + hour * 3600, zones) for hour in (6, 10)] == [morning, noon]
