"""Names of nodes: what callers call them, if that is not their position in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import Error, array_of, choice, is_many, is_missing, shown, unmasked
from vkssp.errors import GraphError, QueryError
from vkssp.graph.csr import Uint32s

#: Default of the argument `names`: nodes get names if their ids are not small integers.
AUTO: Final = "auto"
# Integer ids are small, and so positions, up to the first number, or up to the second one for each edge.
_SMALL, _SMALL_FOR_EACH = 1 << 20, 16
# Integers that floats hold exactly.
_EXACT = 2.0**53
# A longer range is no list of edges, and takes too much memory.
_MOST_OF_RANGE = 2**32

#: Names of nodes by position, int64 or object.
Names = npt.NDArray[Any]


class NameIndex:
    """Positions of nodes by their names.

    Parameters
    ----------
    names : numpy.ndarray
        Name of each node, shape (num_nodes,), int64 or object, all different.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._places: dict[Any, int] | None = None
        if names.dtype == np.int64:
            self._order = np.argsort(names, kind="stable")
            self._sorted = names[self._order]
        else:
            self._places = dict(zip(names.tolist(), range(len(names)), strict=True))

    def find(self, name: Any) -> int | None:
        """Return the position of a node, or None if no node has the name."""
        if self._places is not None:
            try:
                return self._places.get(name)
            except TypeError:  # it cannot be hashed
                return None
        integers = _integers([name])
        if integers is None:
            return None
        at = int(np.searchsorted(self._sorted, integers[0]))
        return int(self._order[at]) if at < len(self._sorted) and self._sorted[at] == integers[0] else None

    def find_all(self, names: Any, argument: str) -> Uint32s:
        """Return the positions of nodes, shape (k,), uint32; errors call the names `argument`.

        Raises
        ------
        QueryError
            If a name is that of no node.
        """
        integers = _integers(names) if self._places is None else None
        if integers is not None and len(self._sorted):
            at = np.searchsorted(self._sorted, integers)
            at[at == len(self._sorted)] = 0
            if (self._sorted[at] == integers).all():
                return self._order[at].astype(np.uint32)
        items = items_of_names(names, argument, QueryError)
        found = [self.find(name) for name in items]
        if None in found:
            missing = found.index(None)
            raise self.unknown(f"{argument}[{missing}]", items[missing])
        return np.array(found, np.uint32)

    def unknown(self, argument: str, name: object) -> QueryError:
        """Return the error for a name that no node has."""
        cure = f"such as {shown(self._names[0])}" if len(self._names) else "but this graph has no nodes"
        return QueryError(f"{argument} is {shown(name)}, and no node has this name; give names of nodes, {cure}")


def numbered(tail: Any, head: Any, names: Any, *, are_positions: bool) -> tuple[Any, Any, Names | None]:
    """Return the ends of edges as positions of nodes, and the names of the nodes, if these have any.

    Parameters
    ----------
    tail, head : array_like
        Ids of nodes, shape (num_edges,) each.
    names : str, bool or array_like
        See `vkssp.Graph.from_edges`.
    are_positions : bool
        Whether integer ids are positions, whatever their size, if `names` is ``"auto"``.

    Returns
    -------
    tail, head : array_like
        As they were, not checked, if they are positions already; otherwise of shape (num_edges,) each, uint32.
    names : numpy.ndarray or None
        Name of each node, shape (num_nodes,), int64 or object.

    Raises
    ------
    GraphError
        If an id cannot be a name.
    """
    is_auto = isinstance(names, str)
    if is_auto:
        choice(names, "names", (AUTO,), GraphError)
    elif not isinstance(names, bool | np.bool_):
        return tail, head, checked_names(names)
    elif not names:
        return tail, head, None
    tail, head = unmasked(tail, "tail", GraphError), unmasked(head, "head", GraphError)
    tails, heads = _integers(tail), _integers(head)
    if tails is not None and heads is not None:
        most = max(_SMALL, _SMALL_FOR_EACH * len(tails))
        are_small = all(not len(ids) or 0 <= ids.min() <= ids.max() < most for ids in (tails, heads))
        if is_auto and (are_positions or are_small):
            return tail, head, None
        _check_lengths(tails, heads)
        named, number = np.unique(np.concatenate([tails, heads]), return_inverse=True)
        ends = own(number.astype(np.uint32))
        return ends[: len(tails)], ends[len(tails) :], own(named)
    # Numbers that are not whole are mistakes rather than names.
    if is_auto and (_are_numbers(tail) or _are_numbers(head)):
        return tail, head, None
    items = items_of_names(tail, "tail"), items_of_names(head, "head")
    _check_lengths(*items)
    alternating = np.fromiter(chain.from_iterable(zip(*items, strict=True)), object, 2 * len(items[0]))
    try:
        place, found = _by_first(alternating)
    except TypeError:  # something cannot be hashed
        place, found = np.empty(0, np.uint32), np.full(1, None)
    if any(map(is_missing, found)):
        _check_names(items[0], "tail")
        _check_names(items[1], "head")
    return own(place[::2].copy()), own(place[1::2].copy()), own(found)


def _by_first(items: Names) -> tuple[Uint32s, Names]:
    """Return the number of each item among the different ones, in the order in which they are met, and these.

    Raises
    ------
    TypeError
        If an item cannot be hashed.
    """
    # Sorting hashes takes a third of the time of a dictionary, which reads its strings at random places.
    hashes = np.fromiter(map(hash, items), np.int64, len(items))
    _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    found, numbers = items[first[order]], rank[number]
    if (items == found[numbers]).all():
        return numbers, found
    places: dict[Any, int] = {}  # different items have the same hash, such as -1 and -2
    numbers = np.array([places.setdefault(item, len(places)) for item in items], np.uint32)
    return numbers, np.fromiter(places, object, len(places))


def checked_names(names: Any) -> Names:
    """Return names by position as an array: int64 if all of them are integers of 64 bits, or else object.

    Raises
    ------
    GraphError
        If something cannot be a name, or two nodes have the same.
    """
    found = _integers(unmasked(names, "names", GraphError))
    if found is None:
        items = items_of_names(names, "names")
        _check_names(items, "names")
        found = np.fromiter(items, object, len(items))
        different = len(set(items))
    else:
        different = len(np.unique(found))
    if different < len(found):
        seen: set[Any] = set()
        for at, name in enumerate(found.tolist()):
            if name in seen:
                raise GraphError(f"names[{at}] is {shown(name)}, as another one is; give each node its own name")
            seen.add(name)
    return own(found)


def items_of_names(values: Any, argument: str, error: Error = GraphError) -> list[Any]:
    """Return names as a list of Python objects: numbers, texts, tuples and others."""
    if isinstance(values, list | tuple):
        items = list(values)
        kinds = set(map(type, items))
        if any(issubclass(kind, np.generic) for kind in kinds):
            items = [item.item() if isinstance(item, np.number | np.str_ | np.bool_) else item for item in items]
        return items
    array = array_of(values, argument, "nodes", error)
    if array.ndim != 1:
        raise error(f"{argument} has {array.ndim} dimensions; give a one-dimensional array of nodes")
    # Dates would become numbers.
    return list(array) if array.dtype.kind in "mMV" else list(array.tolist())


def names_in_file(nodes: Any) -> list[Any]:
    """Return what a file calls nodes: integers if all of their names are integers of 64 bits, or else texts."""
    items = items_of_names(nodes, "nodes", QueryError)
    if all(type(item) is int and -(2**63) <= item < 2**63 for item in items):
        return items
    return [item if isinstance(item, str) else repr(item) for item in items]


def _check_lengths(tails: Sequence[Any] | npt.NDArray[Any], heads: Sequence[Any] | npt.NDArray[Any]) -> None:
    if len(tails) != len(heads):
        raise GraphError(f"tail has {len(tails)} entries and head {len(heads)}; give as many of each")


def _check_names(items: Sequence[Any], argument: str) -> None:
    """Raise an error for the first object that cannot be a name."""
    for at, item in enumerate(items):
        try:
            hash(item)
        except TypeError:
            what = f"{argument}[{at}] is {shown(item)}, which cannot be hashed"
            raise GraphError(f"{what}; give numbers, texts or tuples") from None
        if is_missing(item):
            raise GraphError(f"{argument}[{at}] is {shown(item)}, which stands for a missing value; give it a name")


def _are_numbers(values: Any) -> bool:
    """Return whether values are nothing but numbers that are not whole, or truth values, or no list at all."""
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        return array.ndim != 1 or array.dtype.kind in "bfc"
    if not is_many(values) or isinstance(values, range):
        return True
    return all(issubclass(kind, bool | float | np.inexact | np.bool_) for kind in set(map(type, values)))


def _integers(values: Any) -> npt.NDArray[np.int64] | None:
    """Return integers of 64 bits, perhaps given as floats, shape (k,), or None for anything else."""
    items = values
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "iufO":
            return None
        if array.dtype.kind != "O":
            return _whole(array)
        items = array.tolist()
    elif not is_many(values) or (isinstance(values, range) and len(values) > _MOST_OF_RANGE):
        return None
    kinds = set(map(type, items))
    if bool in kinds or not all(issubclass(kind, int | float | np.integer | np.floating) for kind in kinds):
        return None
    try:
        if any(issubclass(kind, float | np.floating) for kind in kinds):
            return _whole(np.array(items, np.float64))
        return np.array(items, np.int64)
    except OverflowError:
        return None


def _whole(array: npt.NDArray[Any]) -> npt.NDArray[np.int64] | None:
    """Return numbers as integers of 64 bits, or None if they are no such integers."""
    if array.dtype.kind == "f" and not (np.abs(array) < _EXACT).all():
        return None
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        return None
    found = array.astype(np.int64, copy=False)
    return found if array.dtype.kind != "f" or bool((found == array).all()) else None
