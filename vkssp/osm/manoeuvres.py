"""Relations of the type ``manoeuvre`` or ``maneuver``: instructions that the map gives itself."""

from __future__ import annotations

from collections.abc import Iterable

from vkssp.graph.manoeuvres import KINDS, MODIFIERS, Manoeuvre
from vkssp.osm.ways import Tags

#: Tags that name the kind of manoeuvre.
MANOEUVRE_KEYS = ("manoeuvre", "maneuver")


def read_manoeuvre(tags: Tags, members: Iterable[tuple[str, str, int]]) -> Manoeuvre | None:
    """Return the manoeuvre of a relation, None if it is none or not complete.

    Parameters
    ----------
    tags : mapping of str to str
        The tags of the relation.
    members : iterable of (str, str, int)
        Role of each member, its kind ("n", "w" or "r") and its OSM id.
    """
    if tags.get("type") not in MANOEUVRE_KEYS:
        return None
    word = next((tags[key] for key in MANOEUVRE_KEYS if tags.get(key)), "").replace("_", " ")
    origin = target = 0
    nodes: list[int] = []
    between: list[int] = []
    for role, kind, key in members:
        if role == "from" and kind == "w":
            origin = key
        elif role == "to" and kind == "w":
            target = key
        elif role == "via":
            (nodes if kind == "n" else between).append(key)
    direction = tags.get("direction", "").replace("_", " ")
    if word == "uturn":
        word, direction = "turn", "uturn"
    if not origin or not target or len(nodes) != 1 or word not in KINDS:
        return None
    modifier = MODIFIERS.index(direction) if direction in MODIFIERS else -1
    return Manoeuvre(nodes[0], KINDS.index(word), modifier, (origin, *between, target))
