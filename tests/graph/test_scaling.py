"""Real weights as whole multiples of a unit: exact where there is one, else rounded within the stated bound."""

from __future__ import annotations

import copy
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vkssp import Graph, GraphError, QueryError, prepare, z_order
from vkssp.graph.scaling import largest_distance
from vkssp.graph.traffic import changed_weights


def chain(weights: Any, **options: Any) -> Graph:
    """Return a path with these weights."""
    count = len(weights)
    return Graph.from_edges(np.arange(count), np.arange(1, count + 1), weights, **options)


def units_of(graph: Graph) -> list[Fraction]:
    """Return the weights, as the graph has them, without any rounding."""
    assert graph.scale is not None
    return [Fraction(int(weight)) * Fraction(graph.scale) for weight in graph.weight]


EXACT: list[tuple[Any, float]] = [
    ([12.5, 0.25, 3.0], 0.01),
    (np.arange(0, 50, 0.1), 0.1),  # with rounding errors of the steps
    ([0.1, 0.2, 0.3, 0.1 + 0.2], 0.1),
    (np.array([0.1, 0.2, 12.3], np.float32), 0.1),
    ([1.0, 2.0, 7.0], 1.0),
    ([2.0**-40, 3 * 2.0**-38], 2.0**-40),
    ([1 / 3, 2 / 3, 5 / 3], 1 / 3),
    (np.array([5, 12, 60]) / 60, 1 / 60),
    ([1e290, 3e290, 2e290], 1e290),
    ([1e12, 3e12], 1e12),
    ([5e-324, 1.5e-323], 5e-324),
    ([0.0, 0.0], 1.0),
    (np.zeros(0), 1.0),
    ([np.pi], np.pi),
    (np.array([0.5, 1.5], np.float16), 0.1),
    (np.array([0.5, 1.5], np.longdouble), 0.1),
    (np.array([0.1, 0.7], np.float32), 0.1),
    ([Decimal("0.1"), 2, 0.5, Fraction(3, 10)], 0.1),
]


@pytest.mark.parametrize(("weights", "scale"), EXACT, ids=lambda value: str(value)[:20])
def test_weights_with_a_common_unit_are_exact(weights: Any, scale: float) -> None:
    graph = chain(weights)
    assert graph.scale == pytest.approx(scale, rel=1e-15, abs=0) and graph.weight_error == 0.0
    wanted = np.asarray(weights, np.float64)
    eps = max(np.finfo(getattr(weights, "dtype", np.float64)).eps, np.finfo(np.float64).eps)
    assert np.allclose(graph.to_scipy().data, wanted, rtol=2 * float(eps), atol=0)


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any),
    st.sampled_from([1.0, 0.5, 0.1, 0.25, 0.01, 1e-3, 1e-6, 2.0**-10, 7.0, 1e9]),
)
def test_multiples_of_a_number_are_exact(multiples: list[int], unit: float) -> None:
    weights = np.array(multiples) * unit
    graph = chain(weights)
    assert graph.weight_error == 0.0 and graph.weight.dtype == np.uint32
    assert np.allclose(graph.to_scipy().data, weights, rtol=1e-15, atol=0)


MAGNITUDES = st.one_of(
    st.floats(0, 1e-6), st.floats(0, 1e9), st.floats(1e-300, 1e-290), st.floats(0, 1e290), st.floats(0, 1), st.just(0.0)
)


@given(st.lists(MAGNITUDES, min_size=1, max_size=40))
def test_no_weight_is_wrong_by_more_than_is_said_nor_that_by_more_than_half_a_unit(weights: list[float]) -> None:
    graph = chain(np.array(weights))
    assert graph.scale is not None
    # The bound is for the weights as they were given, but for the last bit of a float.
    for weight, rounded in zip(map(Fraction, weights), units_of(graph), strict=True):
        assert abs(weight - rounded) <= Fraction(graph.weight_error) + abs(weight) * Fraction(2) ** -50
    assert graph.weight_error <= graph.scale / 2 * (1 + 1e-12)
    assert sum(units_of(graph)) <= Fraction(graph.scale) * (2**32 - 2)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40), st.sampled_from([0.5, 1e-3, 3.7]))
def test_a_scale_can_be_chosen(weights: list[float], scale: float) -> None:
    for wanted in (np.array(weights), np.array(weights).astype(np.int64)):
        graph = chain(wanted, scale=scale)
        assert graph.scale == scale
        assert (np.abs(graph.to_scipy().data - wanted) <= scale / 2 * (1 + 1e-9)).all()


def test_short_floats_without_a_common_unit_are_told_to_be_rounded() -> None:
    weights = np.random.default_rng(3).random(50).astype(np.float32)
    graph = chain(weights)
    off = np.abs(graph.to_scipy().data - weights.astype(np.float64)).max()
    assert graph.scale is not None and 0 < off <= graph.weight_error <= graph.scale / 2
    exact = chain(weights, max_weight_error=0)
    assert exact.weight_error == 0 and np.array_equal(exact.to_scipy().data, weights.astype(np.float64))


@pytest.mark.parametrize("weights", [[Decimal(1), "2"], [0.5, None], [Fraction(1, 2), True], ["1.5", "2"]])
def test_objects_that_are_no_numbers_are_no_weights(weights: list[Any]) -> None:
    with pytest.raises(
        GraphError, match=r"weight(\[1\] is ('2'|None|True); give numbers| has dtype <U3; give numbers)"
    ):
        chain(weights)


def test_the_type_tells_whole_from_real_weights_and_the_values_do_not() -> None:
    for whole in ([1, 2], (1, 2), np.array([1, 2], np.int8), np.array([1, 2], np.uint64), np.array([1, 2], object), []):
        graph = chain(whole)
        assert graph.scale is None and graph.weight_error == 0.0 and graph.to_scipy().dtype == np.uint32
        assert "unit" not in repr(graph)
    for real in ([1.0, 2.0], [1, 2.0], np.array([1, 2], np.float16), np.zeros(0), np.array([1.0, 2.0])):
        graph = chain(real)
        assert graph.scale == 1.0 or len(real) == 2
        assert graph.scale is not None and graph.to_scipy().dtype == np.float64
    assert chain([1.0, 2.0], scale=None).scale is None
    with pytest.raises(GraphError, match=r"weight.0. is 12.5; scale and round"):
        chain([12.5], scale=None)


def test_the_unit_of_rounded_weights_leaves_room_for_the_largest_distance() -> None:
    weights = np.random.default_rng(1).random(5000)
    graph = chain(weights)
    assert graph.scale is not None
    farthest = weights.sum() / graph.scale
    assert 2**31 < farthest < 2**32 / 1.2
    assert repr(graph).endswith(f"unit {graph.scale:.6g}, rounded)")


def test_the_largest_distance_is_found_in_each_part_of_a_graph() -> None:
    # Two paths, of which the second one, of fewer nodes, is longer; arcs lead away from the first node of each.
    first, second = np.arange(60), 100 + np.arange(40)
    tail, weights = np.concatenate([first, second]), np.concatenate([np.full(60, 0.7), np.full(40, 500.3)])
    random = np.random.default_rng(3).permutation(200)
    graph = Graph.from_edges(random[tail], random[tail + 1], weights, num_nodes=200, scale=0.1)
    found = largest_distance(graph.first_out, graph.head, graph.to_scipy().data)
    assert found == pytest.approx(40 * 500.3)


def test_weights_as_large_as_floats_can_be() -> None:
    assert chain([1e298, 2.5e298]).weight_error == 0.0
    with pytest.raises(GraphError, match=r"weights add up to more than the largest float"):
        chain([1.7e308, 1.6e308])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GraphError, match=r"weight.0. is inf; give finite weights"):
            chain(np.array([1e4000], np.longdouble))


@pytest.mark.parametrize("scale", [0, -0.1, float("nan"), float("inf"), 1e300, "large", True, [1.0], 1j])
def test_what_is_no_scale_is_refused(scale: Any) -> None:
    with pytest.raises(GraphError, match=r"^scale is .*; give 'auto', None, or your units for one unit of weight"):
        chain([1.0], scale=scale)


def test_a_weight_that_does_not_fit_into_a_scale_is_named() -> None:
    with pytest.raises(GraphError, match=r"weight.1. is 90000.5, more than 2..32 - 2 units of 1e-05; give a scale of "):
        chain([0.25, 90000.5], scale=1e-5)


@pytest.fixture
def real() -> Graph:
    random = np.random.default_rng(5)
    places = {"lat": random.random(30), "lon": random.random(30)}
    tail, head = random.integers(0, 30, (2, 90))
    return Graph.from_edges(
        tail, head, random.random(90), names=[f"n{node}" for node in range(30)], max_weight_error=0.5, **places
    )


def attributes(graph: Graph) -> tuple[Any, ...]:
    assert graph.names is not None
    return graph.scale, graph.weight_error, graph.weight.tolist(), graph.names.tolist(), graph.max_weight_error


def test_copies_keep_scale_error_and_names(real: Graph, tmp_path: Path) -> None:
    real.save(tmp_path / "g")
    for other in (copy.copy(real), copy.deepcopy(real), pickle.loads(pickle.dumps(real)), Graph.load(tmp_path / "g")):
        assert attributes(other) == attributes(real)
    assert attributes(prepare(real)) == attributes(real)
    backward, arcs = real.reversed()
    assert (backward.scale, backward.weight_error) == (real.scale, real.weight_error)
    assert backward.max_weight_error == real.renumbered(z_order(real.lat, real.lon))[0].max_weight_error == 0.5
    assert np.array_equal(backward.weight, real.weight[arcs]) and backward.names is not None
    assert backward.names.tolist() == attributes(real)[3]
    assert real.lat is not None and real.lon is not None and real.names is not None
    order = z_order(real.lat, real.lon)
    renumbered, arcs = real.renumbered(order)
    assert renumbered.names is not None and renumbered.names.tolist() == real.names[order.node].tolist()
    assert (renumbered.scale, renumbered.weight_error) == (real.scale, real.weight_error)
    assert np.array_equal(renumbered.weight, real.weight[arcs])
    again = real.with_weights(real.to_scipy().data, scale=real.scale)
    assert attributes(again)[0] == real.scale and attributes(again)[2:] == attributes(real)[2:]
    assert real.with_weights(real.weight).scale is None


def test_from_scipy_takes_the_type_of_the_matrix_and_gives_it_back() -> None:
    dense = np.array([[0.0, 12.5], [0.25, 0.0]])
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        graph = Graph.from_scipy(sparse.coo_array(dense).asformat(kind))
        assert graph.scale == 0.01 and np.array_equal(graph.to_scipy().toarray(), dense)
    assert Graph.from_scipy(sparse.csr_array(np.eye(2))).scale == 1.0
    assert Graph.from_scipy(sparse.csr_array(np.eye(2)), scale=None).scale is None


def test_a_matrix_that_cannot_change_is_shared() -> None:
    arrays = [np.array(values, np.int32) for values in ([5, 7], [1, 0], [0, 1, 2])]
    for array in arrays:
        array.flags.writeable = False
    matrix = sparse.csr_array(tuple(arrays), shape=(2, 2))
    graph = Graph.from_scipy(matrix)
    assert np.shares_memory(graph.weight, matrix.data) and np.shares_memory(graph.head, matrix.indices)
    assert np.shares_memory(graph.first_out, matrix.indptr)
    assert graph.weight.tolist() == [5, 7]


def test_coarser_weights_are_told_to_be_wrong_by_as_much_as_they_are() -> None:
    weights = np.random.default_rng(2).random(300)
    graph = chain(weights)
    for _ in range(12):
        coarser = graph.coarsened()
        assert graph.scale is not None and coarser.scale == 2 * graph.scale
        assert graph.weight_error <= coarser.weight_error <= coarser.scale
        assert np.abs(coarser.to_scipy().data - weights).max() <= coarser.weight_error
        # Errors cancel: their mean is far below the largest one.
        assert abs((coarser.to_scipy().data - weights).mean()) < 0.2 * coarser.weight_error
        graph = coarser
    assert chain([2.0, 4.0]).coarsened().weight_error == 0.0
    assert chain([2.0, 5.0]).coarsened().weight_error == 1.0
    with pytest.raises(GraphError, match="distances fit only if weights are divided"):
        chain([2, 5]).coarsened()


def test_changed_weights_keep_the_unit_where_it_suits() -> None:
    exact, rounded = chain([12.5, 0.25, 3.0]), chain(np.random.default_rng(1).random(50))
    assert changed_weights(exact, [1.25, 2, 3])[0].scale == 0.01
    assert changed_weights(exact, [4], [1])[0].to_scipy().data.tolist() == [12.5, 4.0, 3.0]
    finer = changed_weights(exact, [1.2345], [1])[0]
    assert (finer.scale, finer.weight_error) == (0.0001, 0.0)
    assert finer.to_scipy().data.tolist() == [12.5, 1.2345, 3.0]
    assert rounded.scale is not None
    changed, arcs = changed_weights(rounded, [0.3, 0.7], [4, 2])
    assert changed.scale == rounded.scale and arcs is not None and arcs.tolist() == [4, 2]
    assert np.allclose(changed.to_scipy().data[[4, 2]], [0.3, 0.7], atol=changed.weight_error, rtol=0)
    assert np.array_equal(np.delete(changed.weight, [4, 2]), np.delete(rounded.weight, [4, 2]))
    # One that does not fit doubles the unit, and one that is not exact is rounded to a new one if all are known.
    large, arcs = changed_weights(rounded, [3e3], [0])
    assert arcs is None and large.scale is not None and np.log2(large.scale / rounded.scale) % 1 == 0
    assert np.abs(large.to_scipy().data[1:] - rounded.to_scipy().data[1:]).max() <= large.weight_error
    others = np.random.default_rng(2).random(50)
    assert changed_weights(rounded, others)[0].scale == rounded.scale
    small = changed_weights(rounded, 1e-6 * others)[0]
    assert small.scale is not None and small.scale < 1e-5 * rounded.scale
    assert changed_weights(chain([1, 2]), np.array([3.0, 4.0]))[0].scale is None


@pytest.mark.parametrize(
    ("weights", "arcs", "error", "words"),
    [
        ([np.nan, 1.0], None, GraphError, "weights.0. is nan"),
        ([1.0], None, GraphError, "weights has 1 entries and the graph 2 arcs"),
        ([-1.0], [1], GraphError, "weights.0. is -1.0; weights must not be negative"),
        ([1.0, 2.0], [1, 1], QueryError, "arc 1 is to weigh 1.0 and 2.0"),
        ([1.0], [1, 0], GraphError, "give one weight per arc"),
    ],
)
def test_what_is_no_change_of_real_weights_is_refused(weights: Any, arcs: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        changed_weights(chain([0.5, 0.75]), weights, arcs)


def test_weights_are_as_exact_as_is_asked_for() -> None:
    weights = 100 * np.random.default_rng(3).random(199)
    rounded = chain(weights, max_weight_error=1e-3)
    assert 1e-7 < rounded.weight_error < 1e-3 and rounded.distance_bits == 32
    finer = chain(weights, max_weight_error=1e-7)
    assert 0 < finer.weight_error <= 1e-7 and finer.distance_bits == 64
    assert np.abs(finer.to_scipy().data - weights).max() <= finer.weight_error
    # Weights with a common unit are exact in it, though the distances are beyond 32 bits in it.
    decimal = np.round(np.append(weights, 4e6), 3)
    assert chain(np.tile(decimal, 5)).weight_error > 0
    exact = chain(np.tile(decimal, 5), max_weight_error=0)
    assert (exact.scale, exact.weight_error, exact.distance_bits) == (0.001, 0.0, 64)
    # Larger units that are exact, too, are no loss.
    even = chain(np.full(1000, 4e6), scale=0.5, max_weight_error=0)
    assert even.weight[0] == 8_000_000 and even.distance_bits == 32
    assert even.coarsened().weight_error == 0.0
    assert chain([1, 2], max_weight_error=0).distance_bits == 32
    assert chain([], max_weight_error=0).distance_bits == 32


def test_coarser_weights_are_refused_where_they_would_be_too_wrong() -> None:
    graph = chain([0.5, 0.25], max_weight_error=0.02)
    assert graph.scale == 0.01
    graph = graph.coarsened()
    assert (graph.scale, graph.weight_error) == (0.02, 0.01)
    with pytest.raises(GraphError, match=r"weights would be wrong by 0\.03, more than 0\.02; ask a Solver that has"):
        graph.coarsened()


def test_changed_weights_are_as_exact_as_is_asked_for() -> None:
    weights = 100 * np.random.default_rng(3).random(199)
    graph = chain(weights, max_weight_error=1e-3)
    whole, _ = changed_weights(graph, 1e4 * weights)
    assert whole.weight_error <= whole.max_weight_error == 1e-3 and whole.distance_bits == 64
    some, _ = changed_weights(graph, [3e6 + np.pi], [7])
    assert some.weight_error <= 1e-3
    assert np.abs(some.to_scipy().data - np.concatenate([weights[:7], [3e6 + np.pi], weights[8:]])).max() <= 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_weight_error": -1}, "max_weight_error is -1; give a number in your units, from 0 on"),
        ({"max_weight_error": "0"}, "max_weight_error is '0'; give a number"),
        ({"max_weight_error": float("nan")}, "max_weight_error is nan; give a number"),
        ({"max_weight_error": 1e-9}, r"weights are up to 1e\+06, so that those of 32 bits are wrong by up to"),
        ({"max_weight_error": 0.1, "scale": 1}, r"in units of 1 weights are wrong by up to 0\.142, more than"),
    ],
)
def test_errors_that_cannot_be_kept_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        chain([np.pi, 1e6], **options)
