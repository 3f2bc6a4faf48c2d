"""Texts for people: times of queries, directions and instructions."""

from __future__ import annotations

from functools import lru_cache

_COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
#: Modes of travel in which something carries the traveller.
CARRIERS = ("ferry", "train")
_ADVERBS = {"slight": "slightly", "sharp": "sharply"}


def format_query(milliseconds: float) -> str:
    """Return the duration of a query as a text: "0.84 ms", "120 ms", "1.20 s"."""
    if milliseconds >= 999.5:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 99.5 else f"{milliseconds:.2g} ms"


def compass(degrees: float) -> str:
    """Return the point of the compass nearest to a direction in degrees from north."""
    return _COMPASS[round(degrees / 45.0) % 8]


# Streets recur in routes.
@lru_cache(maxsize=4096)
def street_label(name: str, ref: str) -> str:
    """Return the label of a street: its name, its number, or both."""
    ref = "/".join(part.strip() for part in ref.split(";") if part.strip())
    if not ref or name in (ref, ""):
        return name or ref
    # If a way has no name, its number is its name, spelled as in the map data.
    return ref if name.replace(";", "/").replace(" ", "") == ref.replace(" ", "") else f"{name} ({ref})"


@lru_cache(maxsize=4096)
def instruction(
    kind: str, modifier: str, street: str, exit: int | None = None, destinations: str = "", mode: str = "driving"
) -> str:
    """Return an instruction in English.

    Parameters
    ----------
    kind, modifier : str
        As in `vkssp.route.Step`, or "board" and "disembark"; the modifier of a departure is a point of the compass.
    street : str
        Label of the street after the manoeuvre, empty if it has no name.
    exit : int, optional
        Number of the roundabout's exit to take.
    destinations : str
        Places that signs name, empty if there are none.
    mode : str
        Mode of travel after the manoeuvre.
    """
    onto = f" onto {street}" if street else ""
    if kind in ("turn", "continue"):
        where = onto if kind == "turn" or not street else f" to stay on {street}"
        if modifier == "uturn":
            return f"Make a U-turn{where}"
        return f"Go straight on{onto}" if modifier == "straight" else f"Turn {_turn(modifier)}{where}"
    if kind == "depart":
        return f"Head {modifier} on {street}" if street else f"Head {modifier}"
    if kind == "board":
        return f"Board {street or f'the {mode}'}"
    if kind == "disembark":
        return f"Disembark and continue on {street}" if street else "Disembark and continue"
    if kind == "notification":
        return f"Continue on {street}" if street else f"Continue {mode}"
    if kind in ("roundabout", "rotary", "roundabout turn"):
        return "Enter the roundabout" + ("" if exit is None else f" and take the {_ordinal(exit)} exit{onto}")
    side = modifier.rpartition(" ")[2]
    if kind in ("on ramp", "off ramp"):
        ramp = "Take the ramp" if kind == "on ramp" else "Take the exit"
        toward = f" toward {destinations}" if destinations else onto
        return ramp + ("" if modifier in ("straight", "uturn") else f" on the {side}") + toward
    if modifier == "uturn":
        return f"Make a U-turn{onto}"
    if kind in ("fork", "use lane"):
        return f"Keep {'straight on' if modifier == 'straight' else side}{onto}"
    if kind == "end of road":
        return f"At the end of the road turn {_turn(modifier)}{onto}"
    if kind == "merge":
        return f"Merge{onto}"
    return ("Leave the roundabout" if kind.startswith("exit") else "Continue") + onto


def _turn(modifier: str) -> str:
    degree, _, side = modifier.rpartition(" ")
    return f"{_ADVERBS[degree]} {side}" if degree in _ADVERBS else modifier


def arrival(number: int, is_last: bool, side: str) -> str:
    """Return the instruction at the end of a leg.

    `side` is the side of the street on which the place is, ``"straight"`` if on neither side.
    """
    place = "your destination" if is_last else f"via point {number}"
    return f"Arrive at {place}" + ("" if side == "straight" else f", on the {side}")


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
