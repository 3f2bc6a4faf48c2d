"""Meanings of the tags of ways and nodes to a vehicle; each combination of tags is interpreted once.

A country has millions of roads, but few thousand combinations of the tags that matter.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

from vkssp.graph.streets import MODES
from vkssp.osm.extract import BrokenTags
from vkssp.osm.guide import GUIDE_KEYS, Guide, guide_of
from vkssp.osm.manoeuvres import MANOEUVRE_KEYS
from vkssp.osm.nodes import node_attributes, node_keys
from vkssp.osm.profile import Profile
from vkssp.osm.restrictions import conditional_keys, restriction_keys
from vkssp.osm.turn_tags import OBSTACLE_KEYS, Obstacle, TurnCollector
from vkssp.osm.ways import Tags, WayAttributes, way_attributes, way_keys

#: Tags of an object that matter: keys and values by turns.
Combination = tuple[str, ...]


class WantedKeys(NamedTuple):
    """Keys of tags, one of which an object has to have to matter; no relation matters if turns were not requested."""

    way: tuple[str, ...]
    node: tuple[str, ...]
    relation: tuple[str, ...]


def wanted_keys(profile: Profile, turns: str) -> WantedKeys:
    """Return the keys of objects that matter to a vehicle, with turns as for `vkssp.osm.reader.read_roads`."""
    trains = ("railway",) if profile.train_speeds else ()
    ways = {"highway", "route", *trains, *profile.speeds, *(profile.pushing.speeds if profile.pushing else ())}
    nodes = ("barrier", *profile.access.keys, *(("highway",) if turns == "costs" else ()))
    rules = profile.turns
    relations = () if turns == "none" else (*restriction_keys(rules), *conditional_keys(rules), *MANOEUVRE_KEYS)
    return WantedKeys(tuple(sorted(ways)), nodes, relations)


class WayMeaning(NamedTuple):
    """Meaning of a way's tags.

    Attributes
    ----------
    skipped : str
        Reason why the vehicle cannot use the way, empty if it can.
    nonsense : tuple of str
        Keys of tags whose values were not understood.
    speed : tuple of float
        Speed in km/h along the way and against it.
    factor : tuple of float
        Factor of the speed for weights, along the way and against it.
    travel : tuple of int
        A row of `vkssp.osm.roads.RawRoads.travel`.
    duration : float
        Seconds that the way takes from end to end, NaN if unknown.
    flags : tuple of bool
        A row for `vkssp.osm.roads.flag_columns`.
    guide : Guide
        What the tags tell for instructions.
    """

    skipped: str
    nonsense: tuple[str, ...]
    speed: tuple[float, float]
    factor: tuple[float, float]
    travel: tuple[int, int, int, int, bool]
    duration: float
    flags: tuple[bool, bool, bool, bool, bool, bool]
    guide: Guide


class NodeMeaning(NamedTuple):
    """Meaning of a node's tags: see `vkssp.osm.nodes.NodeAttributes`, and the seconds of signals and signs, if any."""

    blocked: bool
    seconds: float
    nonsense: tuple[str, ...]
    obstacle: Obstacle | None


class Meanings:
    """Meanings of tags to a vehicle; several threads may ask.

    Parameters
    ----------
    profile : Profile
        The vehicle.
    turns : TurnCollector, optional
        Says which nodes take time.

    Attributes
    ----------
    way_keys, node_keys : frozenset of str
        Keys of the tags that matter.
    class_names : tuple of str
        Names of the classes of ways.
    """

    def __init__(self, profile: Profile, turns: TurnCollector | None) -> None:
        self._profile, self._turns = profile, turns
        self._attribute_keys = way_keys(profile)
        self.way_keys, self.node_keys = self._attribute_keys | GUIDE_KEYS, node_keys(profile) | OBSTACLE_KEYS
        self.class_names = tuple(profile.classes)
        self._ways: dict[Combination, WayMeaning] = {}
        self._attributes: dict[Combination, WayAttributes] = {}
        self._guides: dict[tuple[Combination, bool, bool], Guide] = {}
        self._nodes: dict[Combination, NodeMeaning] = {}

    def of_way(self, tags: Tags) -> WayMeaning:
        """Return the meaning of a way's tags."""
        # Broken tags cannot be listed.
        if isinstance(tags, BrokenTags):
            return self._meaning(tags, way_attributes(tags, self._profile), guide_of)
        return self.way(_kept(tags, self.way_keys))

    def of_node(self, tags: Tags) -> NodeMeaning:
        """Return the meaning of a node's tags."""
        return self._new_node(tags) if isinstance(tags, BrokenTags) else self.node(_kept(tags, self.node_keys))

    def way(self, combination: Combination) -> WayMeaning:
        """Return the meaning of those tags of a way that matter."""
        found = self._ways.get(combination)
        if found is None:
            tags = _tags(combination)
            found = self._ways[combination] = self._meaning(tags, self._attributes_of(tags), self._guide_of)
        return found

    def _attributes_of(self, tags: Tags) -> WayAttributes:
        # Many combinations differ only in tags for instructions.
        part = _kept(tags, self._attribute_keys)
        found = self._attributes.get(part)
        if found is None:
            found = self._attributes[part] = way_attributes(_tags(part), self._profile)
        return found

    def _guide_of(self, tags: Tags, open_directions: tuple[bool, bool]) -> Guide:
        part = _kept(tags, GUIDE_KEYS)
        found = self._guides.get((part, *open_directions))
        if found is None:
            found = self._guides[part, *open_directions] = guide_of(_tags(part), open_directions)
        return found

    def node(self, combination: Combination) -> NodeMeaning:
        """Return the meaning of those tags of a node that matter."""
        found = self._nodes.get(combination)
        if found is None:
            found = self._nodes[combination] = self._new_node(_tags(combination))
        return found

    def _meaning(
        self, tags: Tags, found: WayAttributes, guide: Callable[[Tags, tuple[bool, bool]], Guide]
    ) -> WayMeaning:
        roundabout = tags.get("junction", "") in self._profile.oneway.junctions
        link = tags.get("highway", "").endswith("_link")
        restricted = found.restricted_forward, found.restricted_backward
        return WayMeaning(
            skipped=found.skipped,
            nonsense=found.nonsense,
            speed=(found.forward, found.backward),
            factor=found.factor,
            travel=(MODES.index(found.modes[0]), MODES.index(found.modes[1]), *found.classes, found.left_hand),
            duration=nan if found.duration is None else found.duration,
            flags=(*restricted, found.carried, found.snappable, roundabout, link),
            guide=guide(tags, (found.forward > 0, found.backward > 0)),
        )

    def _new_node(self, tags: Tags) -> NodeMeaning:
        found = node_attributes(tags, self._profile)
        obstacle = None if self._turns is None else self._turns.obstacle(tags)
        return NodeMeaning(found.blocked, found.seconds, found.nonsense, obstacle)


def _kept(tags: Tags, keys: frozenset[str]) -> Combination:
    return tuple(part for tag in tags.items() if tag[0] in keys for part in tag)


def _tags(combination: Combination) -> Tags:
    return dict(zip(combination[::2], combination[1::2], strict=True))
