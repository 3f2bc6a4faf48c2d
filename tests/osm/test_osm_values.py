"""Values of tags as numbers."""

from __future__ import annotations

import math

import pytest

from vkssp.osm.values import parse_duration, parse_length, parse_speed, parse_weight


@pytest.mark.parametrize(
    ("text", "kmh"),
    [
        ("50", 50),
        (" 50 ", 50),
        ("50 km/h", 50),
        ("50kmh", 50),
        ("50.5", 50.5),
        ("30 mph", 30 * 1.609),
        ("30mph", 30 * 1.609),
        ("30 mp/h", 30 * 1.609),
        ("10 knots", 18.52),
        ("50;30", 50),
        ("50; 40", 50),
        ("30;20 mph", 30 * 1.609),
        ("none", 140),
        ("walk", 5),
        ("signals", 0),
        ("variable", 0),
        ("IT:urban", 50),
        ("it:rural", 90),
        ("IT:trunk", 110),
        ("IT:motorway", 130),
        ("DE:rural", 100),
        ("DE:motorway", 0),
        ("DE:living_street", 7),
        ("FR:living_street", 0),
        ("CH:motorway", 120),
        ("BE-VLG:rural", 70),
        ("BE:rural", 90),
        ("GB:nsl_single", 60 * 1.609),
        ("DE:zone:30", 30),
        ("DE:zone30", 30),
        ("IS:30", 30),
        ("GB:20 mph", 20 * 1.609),
    ],
)
def test_speed(text: str, kmh: float) -> None:
    assert parse_speed(text) == pytest.approx(kmh)


@pytest.mark.parametrize(
    "text", ["", "fast", "-50", "0", "5000", "50|30", "DE:", "IT:nonsense", "mph", "5 0", "30 @ night"]
)
def test_speed_nonsense(text: str) -> None:
    assert parse_speed(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:30", 1800),
        ("1:05", 3900),
        ("03:00", 10800),
        ("01:02:03", 3723),
        ("04", 240),
        ("7.5", 450),
        ("PT5M", 300),
        ("PT1H30M", 5400),
        ("PT90S", 90),
        ("pt2h", 7200),
        ("P1DT1H", 90000),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "00:00", "1:75", "abc", "P", "PT", "PT0S", "1h30", "-5", "1:2:3:4"])
def test_duration_nonsense(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("text", "metres"),
    [
        ("2.5", 2.5),
        ("2,5", 2.5),
        ("3 m", 3),
        ("3m", 3),
        ("250 cm", 2.5),
        ("8 ft", 2.4384),
        ("6'7\"", 6 * 0.3048 + 7 * 0.0254),
        ("6'7''", 6 * 0.3048 + 7 * 0.0254),
        ("6 ft 7 in", 6 * 0.3048 + 7 * 0.0254),
        ("6'", 6 * 0.3048),
        ("default", math.inf),
        ("none", math.inf),
    ],
)
def test_length(text: str, metres: float) -> None:
    assert parse_length(text) == pytest.approx(metres)


@pytest.mark.parametrize("text", ["", "low", '3 m 5"', "2 2", "-1", "m"])
def test_length_nonsense(text: str) -> None:
    assert parse_length(text) is None


@pytest.mark.parametrize(
    ("text", "kilograms"),
    [
        ("3.5", 3500),
        ("3,5 t", 3500),
        ("7500 kg", 7500),
        ("1 st", 907.18474),
        ("1000 lbs", 453.59237),
        ("unsigned", math.inf),
    ],
)
def test_weight(text: str, kilograms: float) -> None:
    assert parse_weight(text) == pytest.approx(kilograms)


@pytest.mark.parametrize("text", ["", "heavy", "3 m", "-2"])
def test_weight_nonsense(text: str) -> None:
    assert parse_weight(text) is None
