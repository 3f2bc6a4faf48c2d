"""Profiles as files: what they may say, and how a mistake in one is told."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.osm_maps import LINE, RESIDENTIAL, ROAD, STEP, graph_of, tags, trip, write_osm
from tests.support.paths import ROOT
from vkssp.cli import main
from vkssp.errors import QueryError
from vkssp.osm import import_extract, read_extract
from vkssp.osm.profile import CAR, FOLDER, PROFILES, profile_named, read_profile
from vkssp.osm.ways import way_attributes
from vkssp.reading import read_graph

CAR_TEXT = (FOLDER / "car.toml").read_text(encoding="utf-8")
DOCUMENT = ROOT / "docs" / "profiles.md"

#: The least that a profile has to say.
LEAST = """\
vehicle = "a cart"
default_speed = 3
[speeds.highway]
residential = 6
[access]
keys = ["access"]
open = ["yes"]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """Write the car's profile with one text replaced."""
    assert CAR_TEXT.count(old) == 1, old
    return written(tmp_path, CAR_TEXT.replace(old, new))


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def refused(path: Path | str) -> str:
    with pytest.raises(QueryError) as caught:
        profile_named(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def same(a: Any, b: Any) -> bool:
    """Return whether two profiles say the same, name aside."""
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a) if field.name != "name"]
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)


def test_the_least_profile_has_the_defaults_that_are_documented(tmp_path: Path) -> None:
    profile = read_profile(written(tmp_path, LEAST))
    assert (profile.name, profile.vehicle, profile.default_speed) == ("my", "a cart", 3)
    assert profile.speeds == {"highway": {"residential": 6}}
    assert profile.highest_speed == 300 and not profile.areas and profile.pushing is None
    assert profile.harmless_construction == {"no"}
    assert profile.closed == profile.separate == profile.caps == profile.factors == {}
    assert profile.route_speeds == profile.bridge_speeds == {}
    assert profile.oneway.keys == profile.limits.keys == () and profile.limits.share == 1
    assert profile.size.height == profile.size.weight == 0 and profile.access.snap_prevention == {}
    assert profile.access.others == "absent" and profile.access.enough_for == frozenset()
    assert profile.barriers.open is None and profile.barriers.blocked == frozenset()
    # It imports: one-way streets, limits and barriers are nothing to it.
    nodes = {**LINE, 2: (*LINE[2], {"barrier": "bollard"})}
    ways = [(1, [3, 2, 1], {**ROAD, "oneway": "yes", "maxspeed": "3"})]
    graph = graph_of(tmp_path, nodes, ways, tmp_path / "my.toml")
    assert trip(graph, LINE[1], LINE[3]) == round(2 * STEP * 3.6 / 6 * 10)


def test_a_copy_makes_the_same_graph_and_a_slower_class_another(tmp_path: Path) -> None:
    # From 1 to 3 along the residential street, or round by 8 on a tertiary one, some 1.4 times as far.
    nodes = {**LINE, 8: (0.001, 0.002)}
    ways = [(1, [1, 2, 3], ROAD), (2, [1, 8, 3], {"highway": "tertiary", "maxspeed": "31.25"})]
    tertiary = round(2**0.5 * STEP * 3.6 / 25 * 10) * 2
    copy = written(tmp_path, CAR_TEXT)
    assert same(read_profile(copy), CAR) and read_profile(copy).name == "my"
    assert trip(graph_of(tmp_path, nodes, ways, copy), LINE[1], LINE[3]) == 2 * RESIDENTIAL
    slower = changed(tmp_path, "\nresidential = 25\n", "\nresidential = 10\n")
    assert not same(read_profile(slower), CAR)
    by_foot_path = graph_of(tmp_path, nodes, ways, slower)
    assert trip(by_foot_path, LINE[1], LINE[3]) == pytest.approx(tertiary, abs=2)
    assert round(2 * STEP * 3.6 / 10 * 10) in by_foot_path.weight.tolist()


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("share = 0.8", "share = 0.5", 40, 25),
        ("share = 0.8", "share = 0.8\nonly_lower = true", 40, 25),
        ("\ndefault_speed = 10", "\ndefault_speed = 10\nhighest_speed = 30", 40, 30),
        ("[caps.surface]\n", "[caps.surface]\nasphalt = 12\n", 40, 12),
        ("[caps.surface]\n", "[caps.lit]\nno = 22\n[caps.surface]\n", 40, 22),
        ("[factors.service]\n", "[factors.surface]\nasphalt = 0.75\n[factors.service]\n", 40, 30),
    ],
)
def test_a_key_changes_a_speed(tmp_path: Path, old: str, new: str, before: float, after: float) -> None:
    ways = [(1, [1, 2], {**ROAD, "maxspeed": "50", "surface": "asphalt", "lit": "no"})]
    for profile, speed in (("car", before), (changed(tmp_path, old, new), after)):
        graph = graph_of(tmp_path, LINE, ways, profile)
        assert graph.weight.tolist() == [round(STEP * 3.6 / speed * 10)] * 2


def test_a_way_on_which_times_pass_32_bits_is_named(tmp_path: Path) -> None:
    text = LEAST.replace("residential = 6", "residential = 0.1") + "[factors.surface]\nmud = 0.01\n"
    path = written(tmp_path, text)
    nodes, ways = {1: (0.0, 0.0), 2: (0.0, 1.1)}, [(7, [1, 2], {**ROAD, "surface": "mud"})]
    with pytest.raises(QueryError, match=r"way 7 takes longer than 32 bits hold at 0.001 km/h; give a cart higher"):
        graph_of(tmp_path, nodes, ways, path)


@pytest.mark.parametrize(
    ("old", "new", "text", "speed"),
    [
        ('others = "open"', 'others = "absent"', "highway=track motor_vehicle=seasonal", 0),
        ('others = "open"', 'others = "absent"', "highway=track motor_vehicle=seasonal access=yes", 10),
        ('others = "open"', 'others = "neutral"', "highway=track motor_vehicle=seasonal access=yes", 0),
        ('enough_for = ["*"]', 'enough_for = ["track"]', "highway=footway access=yes", 0),
        ('enough_for = ["*"]', 'enough_for = ["track"]', "highway=track access=yes", 10),
        ('restricted_opens = ["unknown"]', "", "highway=track access=unknown", 0),
    ],
)
def test_access_keys_open_ways_without_a_speed(tmp_path: Path, old: str, new: str, text: str, speed: float) -> None:
    assert way_attributes(tags(text), CAR).forward == 10
    assert way_attributes(tags(text), read_profile(changed(tmp_path, old, new))).forward == speed


PUSHING = '[pushing]\nspeed = 4\nkeys = ["foot"]\n'
TRACK = 'enough_for = ["*"]'


@pytest.mark.parametrize(
    "value", ["-5", "0", "5e-324", "0.09", "2500", "nan", "inf", "true", "'25'", "[25]", "2020-02-02"]
)
def test_what_is_no_speed_is_shown(tmp_path: Path, value: str) -> None:
    path = changed(tmp_path, "\nresidential = 25\n", f"\nresidential = {value}\n")
    line = line_of(CAR_TEXT, "residential = 25")
    expected = f"speeds.highway.residential is {value}; give a number from 0.1 to 300"
    assert refused(path) == f"profile {path}, line {line}: {expected}"


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        # Numbers.
        ("\nresidential = 25", "\nresidential = {a = 2}", "speeds.highway.residential", "is a table; give a number"),
        ("\nferry = 5", "\nferry = -1", "route_speeds.ferry", "is -1; give a number from 0.1 to 300"),
        ("\nmovable = 5", "\nmovable = 0", "bridge_speeds.movable", "is 0; give a number from 0.1 to 300"),
        ("\ndefault_speed = 10", "\ndefault_speed = 1e9", "default_speed", "is 1000000000.0; give a number from 0.1"),
        ("\nmud = 10", "\nmud = -10", "caps.surface.mud", "is -10; give 0, or a number from 0.1 to 300"),
        ("\nmud = 10", "\nmud = 5e-324", "caps.surface.mud", "is 5e-324; give 0, or a number from 0.1 to 300"),
        ("\nalley = 0.5", "\nalley = 0", "factors.service.alley", "is 0; give a number from 0.01 to 2"),
        ("\ndrive-thru = 0.5", '\n"drive thru" = 5', 'factors.service."drive thru"', "is 5; give a number"),
        ("share = 0.8", "share = 80", "limits.share", "is 80; give a number from 0.01 to 2"),
        ("height = 2.0", "height = 200", "size.height", "is 200; give a number from 0 to 100"),
        ("weight = 2000", "weight = -1", "size.weight", "is -1; give a number from 0 to 1e+06"),
        ("\nlift_gate = 60", "\nlift_gate = -6", "barriers.seconds.lift_gate", "is -6; give a number from 0 to 864"),
        # Other types.
        ('vehicle = "a car"', "vehicle = 3", "vehicle", "is 3; give a text in quotes"),
        ('vehicle = "a car"', 'vehicle = ""', "vehicle", "is ''; give a text in quotes"),
        ("restricted = true", "restricted = 1", "access.carpool_roads_restricted", "is 1; give true or false"),
        (TRACK, 'enough_for = "track"', "access.enough_for", "is 'track'; give a list of texts"),
        (TRACK, "enough_for = [1]", "access.enough_for", "holds 1; give texts in quotes"),
        (TRACK, 'enough_for = ["a", "a"]', "access.enough_for", "holds 'a' twice"),
        ('highway = ["steps"]', 'highway = "steps"', "closed.highway", "is 'steps'; give a list of texts"),
        ("[limits]\n", "[limits.keys]\n", "limits.keys", "is a table; give a list of texts"),
        ("[caps.surface]\n", "[caps]\nsurface = 3\n[caps.x]\n", "caps.surface", "is 3; it has to be a table"),
        # Keys.
        ("\ndefault_speed", "\ndefault_sped", "default_sped", "is no key that a profile has; did you mean default_s"),
        ("share = 0.8", "shares = 0.8", "limits.shares", "is no key that limits has; did you mean share?"),
        ("share = 0.8", "xyz = 0.8", "limits.xyz", "it takes keys, place_keys, share, only_lower"),
        ("[limits]", "[limit]", "limit", "did you mean limits?"),
        ("[route_speeds]", "[route_speed.ferry]", "route_speed", "did you mean route_speeds?"),
        ('vehicle = "a car"', 'vehicle = "a car"\nname = "car"', "name", "is no key that a profile has"),
        # What contradicts itself.
        ('open = [\n    "yes"', 'open = [\n    "private"', "access.restricted", "holds 'private', as access.open does"),
        ('open = [\n    "yes"', 'open = [\n    "Yes"', "access.open", "holds 'Yes'; write it in lower case"),
        ('service = ["private"]', 'service = "private"', "access.snap_prevention.service", "is 'private'; give a list"),
        (
            'service = ["private"]',
            'service = ["pivate"]',
            "access.snap_prevention.service",
            "holds 'pivate', which nei",
        ),
        (
            'service = ["private"]',
            'service = ["no"]',
            "access.snap_prevention.service",
            "which neither access.open nor",
        ),
        ('others = "open"', 'others = "closed"', "access.others", "is 'closed'; give one of absent, neutral, open"),
        ('_opens = ["unknown"]', '_opens = ["no"]', "access.restricted_opens", "holds 'no', which access.restricted"),
        ("[access.snap_prevention]", "[access.snap_preventions]", "access.snap_preventions", "did you mean snap_p"),
        ("\nlift_gate = 60", "\nentrance = 60", "barriers.seconds.entrance", "is in the list of barriers, too"),
        ("[barriers]\n", "[barriers]\nblocked = []\n", "barriers", "needs one of two lists"),
        ('"motor_vehicle", "vehicle", "access"]', "]\nkey = []", "access.key", "did you mean keys?"),
        ('["motorcar", "motor_vehicle", "vehicle", "access"]', "[]", "access.keys", "is empty; give at least"),
        ("[limits]\n", PUSHING.replace('"foot"', "") + "[limits]\n", "pushing.keys", "is empty; give at least"),
        ("[limits]\n", PUSHING + 'asked = ["walk"]\n[limits]\n', "pushing.asked", "which access.blocked lacks"),
        (
            "[limits]\n",
            PUSHING + 'asked = ["no"]\nnever = ["no"]\n[limits]\n',
            "pushing.never",
            "holds 'no', as pushing.asked does; leave one out",
        ),
    ],
)
def test_a_mistake_is_told_by_line_and_key(tmp_path: Path, old: str, new: str, key: str, words: str) -> None:
    path = changed(tmp_path, old, new)
    message = refused(path)
    assert message.startswith(f"profile {path}, line ")
    assert f": {key} " in message and words in message
    # The line is the one that says it: the key at its beginning, or the header of its table.
    number = int(message.removeprefix(f"profile {path}, line ").split(":")[0])
    line = path.read_text(encoding="utf-8").splitlines()[number - 1]
    last = key.rsplit('."')[-1].strip('"') if '"' in key else key.rsplit(".")[-1]
    assert re.match(rf'(\[([\w]+\.)*{re.escape(last)}[\].]|"?{re.escape(last)}"? *=)', line), line


def test_a_missing_key_is_told_with_the_line_of_its_table(tmp_path: Path) -> None:
    for gone, line, key in (
        ('vehicle = "a cart"\n', None, "vehicle"),
        ("default_speed = 3\n", None, "default_speed"),
        ("[speeds.highway]\nresidential = 6\n", None, "speeds"),
        ('keys = ["access"]\n', 5, "access.keys"),
        ('open = ["yes"]\n', 5, "access.open"),
    ):
        message = refused(written(tmp_path, LEAST.replace(gone, "")))
        where = f", line {line}" if line else ""
        assert message == f"profile {tmp_path / 'my.toml'}{where}: {key} is missing; every profile needs it"
    assert "line 3: speeds is empty" in refused(written(tmp_path, LEAST.replace("residential = 6\n", "")))
    assert "barriers needs one of" in refused(written(tmp_path, LEAST + "[barriers]\n"))


@pytest.mark.parametrize(
    "text",
    ["vehicle = \n", "[access\n", 'open = ["yes"\n', "a = 1\na = 2\n", "[access]\n", "= 3\n", "x = " + "[" * 5000],
)
def test_what_is_not_toml_is_told_by_line(tmp_path: Path, text: str) -> None:  # fmt: skip
    message = refused(written(tmp_path, LEAST + text))
    found = re.match(r"profile \S+, line (\d+): this is not TOML: \w", message)
    assert found and 8 <= int(found[1]) <= 10


def test_keys_are_found_wherever_toml_lets_them_stand(tmp_path: Path) -> None:
    for text, line in (
        ('speeds.highway = {residential = 6, "a b" = -1}\n', 3),
        ("# speeds.highway = 3\nspeeds . highway . x = -1\n", 4),
        ("  [ speeds . 'highway' ] # speeds\n\n  'x' = -1\n", 5),
        ('[closed]\nhighway = [\n  "x = 1",\n]\n[speeds]\nhighway.x = -1\n', 8),
    ):
        start = 'vehicle = "a cart"\ndefault_speed = 3\n'
        end = '[access]\nkeys = ["access"]\nopen = ["yes"]\n'
        message = refused(written(tmp_path, start + text + end))
        assert f"line {line}: speeds.highway." in message and "is -1" in message


def test_windows_files_count_lines_alike(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode())
    assert read_profile(path).vehicle == "a cart"
    path.write_bytes(LEAST.replace("= 6", "= -6").replace("\n", "\r\n").encode())
    assert "line 4: speeds.highway.residential is -6" in refused(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert refused(missing) == f"profile {missing} does not exist; check the path"
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    assert refused(folder).startswith(f"cannot read profile {folder}: ")
    assert refused("a\0b.toml").endswith("a path holds no zero character")
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'# 1\n# 2\nvehicle = "v\xe9lo"\n')
    assert refused(latin) == f"profile {latin}, line 3: this is not UTF-8; save it as UTF-8"


def test_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [profile_named(name) for name in ("car", "bike", "foot")] == list(PROFILES.values())
    expected = "profile 'tank' is unknown; choose one of: car, bike, foot, or give the path of a .toml file"
    assert refused("tank") == expected
    monkeypatch.chdir(tmp_path)
    written(tmp_path, LEAST)
    assert profile_named("my.toml").vehicle == profile_named(Path("my.toml")).vehicle == "a cart"
    # A file is no name: what is called car stays the car.
    (tmp_path / "car").write_text(LEAST)
    assert profile_named("car") is CAR


def test_the_profile_is_read_before_the_extract_and_named_in_the_report(tmp_path: Path) -> None:
    path = written(tmp_path, LEAST.replace("= 6", "= -6"))
    for read in (read_extract, import_extract, read_graph):
        with pytest.raises(QueryError, match=r"line 4: speeds\.highway\.residential is -6"):
            read(tmp_path / "missing.osm.pbf", profile=path)
    source = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)])
    _, report = import_extract(source, profile=written(tmp_path, LEAST))
    assert report.profile == str(path) and f"for profile '{path}'" in report.lines()[0]
    assert report.as_dict()["profile"] == str(path)
    assert import_extract(source, profile="foot")[1].profile == "foot"


def test_the_command_line_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)]))
    path = str(written(tmp_path, LEAST))
    assert main(["import", source, str(tmp_path / "a.graph"), "--profile", path]) == 0
    written(tmp_path, LEAST.replace("residential", "residential = 3 #"))
    assert main(["import", source, str(tmp_path / "b.graph"), "--profile", path]) == 0
    capsys.readouterr()
    written(tmp_path, LEAST + "colour = 1")
    assert main(["import", source, str(tmp_path / "c.graph"), "--profile", path]) == 2
    told = capsys.readouterr().err
    assert (
        told.startswith(f"vkssp: profile {path}, line 8: access.colour is no key that access has")
        and told.count("\n") == 1
    )
    assert not (tmp_path / "c.graph").exists()


def all_keys(table: Any) -> set[str]:
    """Return the names of a table's keys, and of those of the tables in it."""
    keys = set()
    for field in dataclasses.fields(table):
        keys.add(field.name)
        value = getattr(table, field.name)
        if dataclasses.is_dataclass(value):
            keys |= all_keys(value)
    return keys


def test_the_document_has_every_key_and_its_example_is_a_profile(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`[^`\n]+`", text))))
    assert all_keys(PROFILES["bike"]) - {"name"} <= named
    example, *_ = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    beside = LEAST.replace("[speeds.highway]\nresidential = 6\n", "")
    profile = read_profile(written(tmp_path, beside + example))
    assert (profile.speeds["highway"]["residential"], profile.size.height) == (15, 2.6)
    assert "ferry" not in profile.route_speeds


def test_profiles_that_come_along_use_words_that_mean_something() -> None:
    for name, profile in PROFILES.items():
        assert profile.name == name
        text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        assert "OSRM" in text.split("\n\n")[0], "the origin of the facts"
        tables: list[Mapping[str, Any]] = [*profile.speeds.values(), *profile.caps.values(), *profile.factors.values()]
        assert all(tables)
