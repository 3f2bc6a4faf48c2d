"""Parser of short texts that describe a graph, for the command line: the family, a colon, and its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from vkssp.checks import instance, shown
from vkssp.errors import QueryError
from vkssp.generate.attachment import barabasi_albert
from vkssp.generate.gnm import gnm
from vkssp.generate.rmat import kronecker, rmat
from vkssp.generate.road import road_grid
from vkssp.generate.uniform import martin, uniform_random
from vkssp.graph import Graph

#: Generator of each family.
FAMILIES: dict[str, Callable[..., Graph]] = {
    "road": road_grid,
    "rmat": rmat,
    "kronecker": kronecker,
    "random": uniform_random,
    "martin": martin,
    "ba": barabasi_albert,
    "gnm": gnm,
}


def is_expression(text: str) -> bool:
    """Return whether a text begins with a family and a colon, so that it does not name a file."""
    name, colon, _ = text.partition(":") if isinstance(text, str) else ("", "", "")
    return bool(colon) and name in FAMILIES


def _value(name: str, text: str, example: Any) -> Any:
    """Convert a text to a value of the same kind as the argument's default."""
    try:
        if isinstance(example, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(example, float):
            return float(text)
        if isinstance(example, tuple):
            low, high = text.split("-")
            return int(low), int(high)
        return int(text)
    except (KeyError, ValueError):
        kinds = {bool: "true or false", float: "a number", tuple: "smallest and largest, like 1-100"}
        raise QueryError(f"{name} is {text!r}; give {kinds.get(type(example), 'a whole number')}") from None


def from_expression(text: str) -> Graph:
    """Generate the graph that a text like ``rmat:20`` or ``rmat:20,degree=16,seed=3,weights=1-100`` describes.

    Parameters
    ----------
    text : str
        Name of a family in `FAMILIES`, a colon, and the arguments of its function, separated by commas: first
        positional arguments, then arguments with names. Weights are given as smallest-largest.

    Raises
    ------
    QueryError
        If the family or an argument is unknown, or an argument is missing, given twice or out of range.
    """
    family, _, rest = instance(text, str, "text", "give a text such as rmat:20").partition(":")
    if family not in FAMILIES:
        raise QueryError(f"there is no graph family {shown(family)}; give one of {', '.join(FAMILIES)}")
    function = FAMILIES[family]
    parameters = inspect.signature(function).parameters
    in_order = [name for name, what in parameters.items() if what.kind is what.POSITIONAL_OR_KEYWORD]
    given: dict[str, Any] = {}
    named = False
    for position, part in enumerate(rest.split(",") if rest else ()):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if equals:
            named = True
        elif named:
            raise QueryError(f"{part!r} in {text!r} follows an argument with a name; give it a name, too")
        elif position >= len(in_order):
            raise QueryError(f"{text!r} has more arguments than {family} takes without names: {', '.join(in_order)}")
        else:
            name, value = in_order[position], name
        if name not in parameters:
            raise QueryError(f"{family} has no argument {name!r}; it has {', '.join(parameters)}")
        if name in given:
            raise QueryError(f"{name} is given twice in {text!r}; give it once")
        given[name] = _value(name, value, parameters[name].default)
    missing = [name for name, what in parameters.items() if what.default is what.empty and name not in given]
    if missing:
        usage = ",".join(name.upper() for name, what in parameters.items() if what.default is what.empty)
        raise QueryError(f"{text!r} lacks {missing[0]}; give {family}:{usage}")
    return function(**given)
