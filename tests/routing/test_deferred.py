"""Parts of a route that are made when they are asked for: they are those of the query, whatever happens meanwhile."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import FrozenInstanceError, asdict, fields, replace
from typing import Any

import numpy as np
import pytest

from tests.support.osm_maps import ANDORRA
from vkssp import Graph, Route, Router, read_graph

HOME, SHOP, PASS = (42.5078, 1.5211), (42.5361, 1.5828), (42.5425, 1.7337)


@pytest.fixture(scope="module")
def andorra() -> Graph:
    return read_graph(ANDORRA)


def found(router: Router) -> Route:
    return router.route(HOME, PASS, via=[SHOP], steps=True)


def told(value: Any) -> Any:
    """Return the fields of a route as plain values, without the duration of the query."""
    if isinstance(value, Route):
        value = replace(value, query_ms=0.0)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [told(item) for item in value]
    return {one.name: told(getattr(value, one.name)) for one in fields(value)} if hasattr(value, "nodes") else value


@pytest.mark.parametrize("metric", ["duration", "distance"])
def test_a_route_outlives_its_router_and_its_weights(andorra: Graph, metric: str) -> None:
    router = Router(andorra, "dijkstra", metric=metric)
    wanted, route = told(found(router)), found(router)
    router.set_weights(np.full(andorra.num_arcs, 10**6))
    assert told(found(router)) != wanted
    owners = [weakref.ref(owner) for owner in (router, router.solver, router.index)]
    router.close()
    del router
    gc.collect()
    assert [owner() for owner in owners] == [None] * 3
    assert told(route) == wanted


def test_copies_have_all_that_the_route_has(andorra: Graph) -> None:
    with Router(andorra, "dijkstra") as router:
        wanted = told(found(router))
        for copied in (
            lambda route: pickle.loads(pickle.dumps(route)),
            copy.copy,
            copy.deepcopy,
            lambda route: replace(route),
            lambda route: Route(**{one.name: getattr(route, one.name) for one in fields(route)}),
        ):
            assert told(copied(found(router))) == wanted
        route = found(router)
        assert asdict(route)["legs"][1]["steps"][0]["instruction"] == route.legs[1].steps[0].instruction
        assert f"{len(found(router).nodes)} nodes" in repr(found(router))
        with pytest.raises(FrozenInstanceError):
            route.points = np.zeros((0, 2))  # type: ignore[misc]
        assert not hasattr(route, "point")


def test_steps_that_nobody_asks_for_are_not_made(andorra: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("steps are made")

    with Router(andorra, "dijkstra") as router:
        monkeypatch.setattr("vkssp.routing.route_assembly.steps_of", refuse)
        assert told(router.route(HOME, PASS))["legs"][0]["steps"] == []
        route = found(router)
        assert len(route.points) > 900
        with pytest.raises(AssertionError, match="steps are made"):
            _ = route.steps
