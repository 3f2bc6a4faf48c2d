from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vkssp.errors import QueryError
from vkssp.generate import (
    barabasi_albert,
    from_expression,
    gnm,
    is_expression,
    kronecker,
    martin,
    rmat,
    road_grid,
    uniform_random,
)
from vkssp.graph import Graph


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("road:9", lambda: road_grid(9)),
        ("road:9,2,0.9,shape_nodes=1", lambda: road_grid(9, 2, 0.9, 1)),
        ("rmat:5", lambda: rmat(5)),
        ("rmat:5,degree=16,seed=3", lambda: rmat(5, 16, 3)),
        ("rmat: 5, 16, seed = 3", lambda: rmat(5, 16, 3)),
        ("rmat:degree=4,scale=5", lambda: rmat(5, 4)),
        (
            "rmat:5,a=0.4,b=0.3,c=0.2,weights=0-9,undirected=false,permute=True",
            lambda: rmat(5, a=0.4, b=0.3, c=0.2, weights=(0, 9), undirected=False, permute=True),
        ),
        ("kronecker:5,3", lambda: kronecker(5, 3)),
        ("random:40,3", lambda: uniform_random(40, 3)),
        ("martin:1_000,3", lambda: martin(1000, 3)),
        ("ba:40,3,weights=5-6", lambda: barabasi_albert(40, 3, weights=(5, 6))),
        ("gnm:40,100,undirected=false", lambda: gnm(40, 100, undirected=False)),
    ],
)
def test_expressions(expression: str, expected: Callable[[], Graph]) -> None:
    assert is_expression(expression)
    found, called = from_expression(expression), expected()
    assert all(np.array_equal(getattr(found, name), getattr(called, name)) for name in ("first_out", "head", "weight"))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("smallworld:9", "no graph family 'smallworld'; give one of road, rmat, kronecker, random, martin, ba, gnm"),
        ("rmat", "'rmat' lacks scale; give rmat:SCALE"),
        ("rmat:", "'rmat:' lacks scale; give rmat:SCALE"),
        ("ba:9", "lacks attached; give ba:NUM_NODES,ATTACHED"),
        ("ba:attached=9", "lacks num_nodes; give ba:NUM_NODES,ATTACHED"),
        ("rmat:5,size=9", "rmat has no argument 'size'; it has scale, degree, seed, a, b, c, weights"),
        ("martin:9,7,1,5", "more arguments than martin takes without names: num_nodes, predecessors, seed"),
        ("rmat:5,seed=3,9", "'9' in 'rmat:5,seed=3,9' follows an argument with a name"),
        ("rmat:5,scale=6", "scale is given twice"),
        ("rmat:5,", "degree is ''; give a whole number"),
        ("rmat:x", "scale is 'x'; give a whole number"),
        ("rmat:5,a=x", "a is 'x'; give a number"),
        ("rmat:5,permute=2", "permute is '2'; give true or false"),
        ("rmat:5,weights=9", "weights is '9'; give smallest and largest, like 1-100"),
        ("rmat:99", "scale is 99; give 1 to 30"),
        ("rmat:5,weights=9-1", r"weights is \(9, 1\)"),
    ],
)
def test_wrong_expressions(expression: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as raised:
        from_expression(expression)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["berlin.osm.pbf", "rmat", "rmat.graph", "C:\\maps\\rmat", "", ":", "RMAT:5", "./rmat:5"]
)
def test_what_is_no_expression(text: str) -> None:
    assert not is_expression(text)
