"""Lanes before an intersection: which of them lead onto which street."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

#: Directions of lanes by the words of the tag ``turn:lanes``, and the angles that they mean: 180 is straight, less is
#: to the right. Lanes that merge go straight on.
_WORDS = {
    "reverse": ("uturn", 0.0),
    "sharp_right": ("sharp right", 45.0),
    "right": ("right", 90.0),
    "slight_right": ("slight right", 135.0),
    "through": ("straight", 180.0),
    "merge_to_left": ("straight", 180.0),
    "merge_to_right": ("straight", 180.0),
    "slight_left": ("slight left", 225.0),
    "left": ("left", 270.0),
    "sharp_left": ("sharp left", 315.0),
}
_NONE = "none"
#: Order of directions on one lane.
_ORDER = ("straight", "sharp right", "right", "slight right", "slight left", "left", "sharp left", "uturn")
#: Degrees of the cost of a direction that leads onto no street.
_UNMATCHED = 80.0


class Lanes(NamedTuple):
    """Lanes from left to right.

    Attributes
    ----------
    indications : tuple of tuple of str
        Directions that are marked on each lane, ``("none",)`` if none are.
    angles : tuple of (str, float)
        Directions that are marked on any lane, from right to left, and the angles that they mean.
    """

    indications: tuple[tuple[str, ...], ...]
    angles: tuple[tuple[str, float], ...]


@lru_cache(maxsize=4096)
def lanes_of(text: str) -> Lanes:
    """Return the lanes that a tag ``turn:lanes`` describes."""
    indications = []
    angles: dict[str, float] = {}
    for lane in text.split("|"):
        words = dict(_WORDS[word] for word in (part.strip() for part in lane.split(";")) if word in _WORDS)
        angles |= words
        indications.append(tuple(sorted(words, key=_ORDER.index)) or (_NONE,))
    return Lanes(tuple(indications), tuple(sorted(angles.items(), key=lambda one: one[1])))


@lru_cache(maxsize=4096)
def matched(text: str, turns: tuple[float, ...]) -> tuple[dict[int, str], frozenset[str]]:
    """Match the directions of lanes with streets.

    Parameters
    ----------
    text : str
        The tag ``turn:lanes``.
    turns : tuple of float
        Angles of the streets that may be entered, ascending.

    Returns
    -------
    found : dict
        Direction that leads onto each street, by its index.
    left : frozenset of str
        Directions that lead onto no street here.
    """
    tags = list(lanes_of(text).angles)
    if tags and tags[0][0] == "uturn" and not (turns and turns[0] <= 0.0):
        # A road back, beside the street, is to the left.
        tags = [*tags[1:], (tags[0][0], 350.0)]
    # Costs of the cheapest way to match the first tags with the first streets, in their order.
    size = len(turns)
    costs = [[0.0] * (size + 1) for _ in range(len(tags) + 1)]
    chosen = [[2] * (size + 1) for _ in range(len(tags) + 1)]
    for i, (_, angle) in enumerate(tags, 1):
        costs[i][0], chosen[i][0] = costs[i - 1][0] + _UNMATCHED, 1
        for j in range(1, size + 1):
            apart = abs(angle - turns[j - 1])
            costs[i][j], chosen[i][j] = min(
                (costs[i - 1][j - 1] + min(apart, 360.0 - apart), 0),
                (costs[i - 1][j] + _UNMATCHED, 1),
                (costs[i][j - 1], 2),
            )
    i, j = len(tags), size
    found: dict[int, str] = {}
    left = set()
    while i:
        if chosen[i][j] == 0:
            found[j - 1] = tags[i - 1][0]
            i, j = i - 1, j - 1
        elif chosen[i][j] == 1:
            left.add(tags[i - 1][0])
            i -= 1
        else:
            j -= 1
    return found, frozenset(left)


def valid_lanes(text: str, turns: tuple[float, ...], taken: int) -> tuple[bool, ...]:
    """Return whether each lane leads onto one of some streets, given as for `matched`; all false if none is known to.

    Lanes without a direction lead straight on, and onto the outer streets that no lane names.
    """
    lanes = lanes_of(text).indications
    found, _ = matched(text, turns)
    tag = found.get(taken)
    plain = [lane == (_NONE,) for lane in lanes]
    straightest = min(range(len(turns)), key=lambda k: abs(turns[k] - 180.0))
    valid = [tag in lane for lane in lanes]
    if taken == straightest:
        valid = [one or none for one, none in zip(valid, plain, strict=True)]
    elif tag is None and any(plain):
        onward = [k for k in range(len(turns)) if turns[k] > 0.0]
        if taken == onward[0]:
            valid[-1] = plain[-1]
        elif taken == onward[-1]:
            valid[0] = plain[0]
    return tuple(valid)
