"""Small towns with turn restrictions, drawn at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import osmium
from hypothesis import strategies as st

from tests.support.lawful import Town
from tests.support.osm_maps import Relation, Way
from tests.support.turn_maps import restriction

SIDE = 3


CORNERS = {10 * y + x: (y / 1000 + x * x / 9000, x / 1000 + y * y / 7000) for y in range(SIDE) for x in range(SIDE)}


EDGES = [(a, a + d) for a in CORNERS for d in (1, 10) if a + d in CORNERS]


@st.composite
def towns(draw: st.DrawFn) -> Town:
    """Make a town of streets between the corners of a grid, some bent, some one-way, with restrictions."""
    nodes: dict[int, Any] = dict(CORNERS)
    for key in draw(st.lists(st.sampled_from(list(CORNERS)), max_size=2)):
        nodes[key] = (*CORNERS[key], {"highway": draw(st.sampled_from(["traffic_signals", "stop", "crossing"]))})
    ways: list[Way] = []
    for key, (a, b) in enumerate(draw(st.lists(st.sampled_from(EDGES), min_size=4, unique=True)), 1):
        refs, bend = [a, b], draw(st.integers(0, 2))
        if bend:
            (y0, x0), (y1, x1) = CORNERS[a], CORNERS[b]
            nodes[1000 + key] = ((y0 + y1) / 2 + (bend - 1) * 1e-4, (x0 + x1) / 2)
            refs = [a, 1000 + key, b]
        tags = {"highway": draw(st.sampled_from(["residential", "primary", "service"]))}
        if draw(st.integers(0, 5)) == 0:
            tags["access"] = "destination"
        if draw(st.integers(0, 3)) == 0:
            tags["oneway"] = draw(st.sampled_from(["yes", "-1"]))
        ways.append((key, refs, tags))
    at = {corner: [key for key, refs, _ in ways if corner in refs] for corner in CORNERS}
    kinds = st.sampled_from(["no_left_turn", "only_straight_on", "no_u_turn", "only_left_turn", "no_straight_on"])
    relations = []
    for _ in range(draw(st.integers(0, 5))):
        corner = draw(st.sampled_from([corner for corner in CORNERS if at[corner]]))
        origin = draw(st.sampled_from(at[corner]))
        between: list[int] = []
        place = corner
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            way = draw(st.sampled_from(at[place]))
            if way in (origin, *between):
                break
            between.append(way)
            refs = next(refs for key, refs, _ in ways if key == way)
            place = refs[-1] if refs[0] == place else refs[0]
        target = draw(st.sampled_from(at[place]))
        # What leads in a circle can be read in two ways.
        if between and (target in (origin, *between) or (len(between) > 1 and place == corner)):
            continue
        relations.append(restriction(draw(kinds), origin, between or corner, target))
    return Town({key: nodes[key] for key in nodes}, ways, relations)


class RealTown(Town):
    """A town as an extract has it, with the one-way rules for cars, and without most of what is closed to them."""

    def is_open(self, step: tuple[int, int, int]) -> bool:
        tags = self.tags[step[0]]
        # A restriction that commands to go on along a closed way commands nothing.
        if next((tags[key] for key in ("motorcar", "motor_vehicle", "vehicle") if key in tags), "yes") == "no":
            return False
        keys = ("oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle", "oneway")
        value = next((tags[key] for key in keys if key in tags), None)
        if value is None and (tags.get("highway") == "motorway" or tags.get("junction") in ("roundabout", "circular")):
            value = "yes"
        return not ((value in ("yes", "true", "1") and step[2] < 0) or (value == "-1" and step[2] > 0))


def read_town(path: Path) -> RealTown:
    nodes: dict[int, Any] = {}
    ways: list[Way] = []
    relations: list[Relation] = []
    for item in osmium.FileProcessor(str(path)).with_locations():
        tags = dict(item.tags)
        if item.is_way() and ("highway" in tags or "route" in tags):
            refs = [node for node in item.nodes if node.location.valid()]
            nodes |= {node.ref: (node.lat, node.lon) for node in refs}
            if len(refs) > 1:
                ways.append((item.id, [node.ref for node in refs], tags))
        elif item.is_relation() and tags.get("type") == "restriction":
            names = {"n": "node", "w": "way", "r": "relation"}
            relations.append(([(m.role, names[m.type], m.ref) for m in item.members], tags))
    return RealTown(nodes, ways, relations)
