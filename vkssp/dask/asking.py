"""Preparation of questions before they are asked: forms of nodes and places, facts, and blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkssp.checks import is_many, shown
from vkssp.dask.blocks import Blocks, blocks_of
from vkssp.dask.cluster import connected, resources_of
from vkssp.dask.driver import facts_of
from vkssp.dask.question import ALL, Facts, Means, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import QueryError
from vkssp.features.places import pairs_of
from vkssp.routing.areas import read_areas


def means_of(algorithm: str, parameters: dict[str, Any], *, is_router: bool, is_backward: bool = False) -> Means:
    """Return how a graph is searched, with areas that have been read.

    Raises
    ------
    QueryError
        If parameters name a device, or areas are not valid.
    """
    if "device" in parameters:
        raise QueryError("device is chosen by each worker; start workers with the environment variable VKSSP_DEVICE")
    if parameters.get("avoid") is not None:
        parameters = {**parameters, "avoid": read_areas(parameters["avoid"])}
    return Means(algorithm, parameters, is_router, is_backward)


def _facts(question: Question, cluster: Any) -> Facts:
    """Return the facts of a question, found by a worker of a cluster if there is one, and else in this process."""
    if cluster is None and not _has_client():
        return SOLVERS.facts(question)
    with connected(cluster) as client:
        return facts_of(client, question, resources_of(client))


def divided(question: Question, cluster: Any, rows: int | None) -> tuple[Facts, Blocks]:
    """Return the facts of a question, and its blocks of so many rows, or by default of what takes about a second."""
    facts = _facts(question, cluster)
    return facts, blocks_of(facts, rows)


def _has_client() -> bool:
    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return False
    return True


def plain(ends: Any, name: str) -> Any:
    """Return nodes or places in a form that can be sent and hashed: an array, or a list of names, pairs or stops.

    Raises
    ------
    QueryError
        If they are no such list, or an empty one; the message calls them `name`.
    """
    if ends is None or (isinstance(ends, str) and ends == ALL):
        return ends
    found = _plain(ends, name)
    if not len(found):
        raise QueryError(f"there are no {name}; give at least one")
    return found


def plain_nodes(nodes: Any, name: str, *, optional: bool = False) -> Any:
    """Return nodes as `plain` does, or None if they are `optional`.

    Raises
    ------
    QueryError
        If they are no list of nodes; the message calls them `name`.
    """
    if (nodes is None and not optional) or isinstance(nodes, str):
        raise QueryError(f"{name} is {shown(nodes)}; give a list or an array of node ids")
    found = plain(nodes, name)
    if are_places(found):
        raise QueryError(f"{name} are places; give nodes, such as those of Router.nearest_nodes")
    return found


def _plain(ends: Any, name: str) -> Any:
    if isinstance(ends, str) or not (is_many(ends) or hasattr(ends, "__array__") or hasattr(ends, "__iter__")):
        raise QueryError(f"{name} is {shown(ends)}; give a list of places or of nodes")
    array = ends if isinstance(ends, np.ndarray) else None
    if array is None and hasattr(ends, "__array__") and not hasattr(ends, "columns") and not hasattr(ends, "geometry"):
        array = np.asarray(ends)  # a Series or a column of another library
    if array is None and is_many(ends):
        first = next(iter(ends), None)
        if isinstance(first, int | np.integer) and not isinstance(first, bool):
            array = np.asarray(ends)
    if array is not None and array.ndim == 1 and array.dtype.kind in "iu":
        return np.ascontiguousarray(array)
    if array is not None and array.ndim == 1:
        return array.tolist()
    listed = pairs_of(ends, name)
    if all(type(place) is tuple and len(place) == 2 and _are_numbers(place) for place in listed):
        return np.array(listed, np.float64).reshape(-1, 2)
    return listed


def _are_numbers(pair: Sequence[Any]) -> bool:
    return all(isinstance(one, float | int | np.floating | np.integer) for one in pair)


def are_places(ends: Any) -> bool:
    """Return whether ends, as `plain` returns them, are places: pairs of numbers, or a list with stops among them."""
    if isinstance(ends, np.ndarray):
        return ends.ndim == 2
    return isinstance(ends, list) and any(hasattr(one, "approach") for one in ends)


def trips_between(origins: Any, opportunities: Any) -> tuple[Any, Any]:
    """Return origins and opportunities in a form that can be sent, or raise `QueryError` if they are no places."""
    begin, end = plain(origins, "origins"), plain(opportunities, "opportunities")
    if (begin is not None and not are_places(begin)) or not are_places(end):
        raise QueryError("origins and opportunities are places; give pairs of latitude and longitude")
    return begin, end
