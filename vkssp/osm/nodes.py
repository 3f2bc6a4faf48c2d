"""Interpretation of the tags of a node: whether a vehicle can pass it, and how long that takes."""

from __future__ import annotations

from dataclasses import dataclass

from vkssp.osm.profile import Profile
from vkssp.osm.values import parse_length
from vkssp.osm.ways import Tags, find_access


@dataclass(frozen=True)
class NodeAttributes:
    """Meaning of the tags of a node.

    Attributes
    ----------
    blocked : bool
        Whether the vehicle cannot pass.
    seconds : float
        Time to pass, in seconds.
    nonsense : tuple of str
        Keys of tags whose values were not understood. These tags count as absent; for access tags,
        `AccessRules.others` of the profile decides.
    """

    blocked: bool = False
    seconds: float = 0.0
    nonsense: tuple[str, ...] = ()


def node_keys(profile: Profile) -> frozenset[str]:
    """Return the keys of all tags of nodes that have a meaning to a vehicle that passes them."""
    pushing = profile.pushing.keys if profile.pushing else ()
    return frozenset({"barrier", "bollard", "kerb", "highway", "sensory", "maxheight", *profile.access.keys, *pushing})


def node_attributes(tags: Tags, profile: Profile) -> NodeAttributes:
    """Return what the tags of a node mean to a vehicle that passes it.

    An access tag takes precedence over the barrier: a bollard with ``access=yes`` can be passed, a gate with
    ``access=no`` cannot. A node with restricted access (``access=private``) can be passed, too, because the
    destinations of its users lie behind it. If an access tag forbids riding but not pushing, the access tags for
    people on foot decide.

    Parameters
    ----------
    tags : mapping of str to str
        The node's tags.
    profile : Profile
        The vehicle.
    """
    nonsense: list[str] = []
    access = find_access(tags, profile.access.keys, profile.access, "", nonsense)
    pushing = profile.pushing
    if pushing and access is not None and access.kind == "blocked" and not access.values & pushing.never:
        # A rider who may not ride here may get off and push.
        access = find_access(tags, pushing.keys, profile.access, "", nonsense)
    if access is not None:
        return NodeAttributes(access.kind == "blocked", 0.0, tuple(nonsense))
    barrier = tags.get("barrier", "")
    if not barrier:
        return NodeAttributes(nonsense=tuple(nonsense))
    rules = profile.barriers
    if barrier in rules.seconds:
        return NodeAttributes(False, rules.seconds[barrier], tuple(nonsense))
    passable = (
        (barrier in rules.open if rules.open is not None else barrier not in (rules.blocked or ()))
        or tags.get("bollard") == "rising"
        or tags.get("kerb") in ("lowered", "flush")
        or (barrier == "kerb" and tags.get("highway") == "crossing")
        # Such a fence warns blind people of a kerb; it does not close the road.
        or (barrier == "fence" and tags.get("sensory") in ("audible", "audio"))
    )
    if barrier == "height_restrictor" and "maxheight" in tags:
        height = parse_length(tags["maxheight"])
        if height is None:
            nonsense.append("maxheight")
        else:
            passable = height >= profile.size.height
    return NodeAttributes(not passable, 0.0, tuple(nonsense))
