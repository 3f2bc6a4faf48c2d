"""The tags of a node: whether a vehicle gets past it, and how long that takes."""

from __future__ import annotations

from dataclasses import dataclass

from vkssp.osm.profile import Profile
from vkssp.osm.values import parse_length
from vkssp.osm.ways import Tags, find_access


@dataclass(frozen=True)
class NodeAttributes:
    """What the tags of a node say.

    Attributes
    ----------
    blocked : bool
        Whether the vehicle cannot pass.
    seconds : float
        How long it takes to pass.
    nonsense : tuple of str
        Keys of tags whose values were not understood; they were taken for absent, those of access tags for what the
        profile says.
    """

    blocked: bool = False
    seconds: float = 0.0
    nonsense: tuple[str, ...] = ()


def node_attributes(tags: Tags, profile: Profile) -> NodeAttributes:
    """Return what the tags of a node mean to a vehicle on its way over it.

    An access tag decides before the barrier does: bollards with ``access=yes`` let pass, gates with
    ``access=no`` do not. A restricted one (``access=private``) lets pass, too: behind it is where its users
    go. Where a tag forbids to ride, but one may push, those for people on foot count.

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
        # Who may not ride here may get off.
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
        # A fence that warns the blind of a kerb stands for no fence across the road.
        or (barrier == "fence" and tags.get("sensory") in ("audible", "audio"))
    )
    if barrier == "height_restrictor" and "maxheight" in tags:
        height = parse_length(tags["maxheight"])
        if height is None:
            nonsense.append("maxheight")
        else:
            passable = height >= profile.size.height
    return NodeAttributes(not passable, 0.0, tuple(nonsense))
