from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.sparse import csgraph

from vkssp.errors import QueryError
from vkssp.generate import (
    FAMILIES,
    attachment,
    barabasi_albert,
    from_expression,
    gnm,
    kronecker,
    martin,
    rmat,
    road_grid,
    uniform_random,
)
from vkssp.graph import Graph, large


def same(one: Graph, other: Graph) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("first_out", "head", "weight"))


def degrees(graph: Graph) -> np.ndarray:
    return np.diff(graph.first_out.astype(np.int64))


def is_two_way(graph: Graph) -> bool:
    """Whether the arcs, with their weights and multiplicities, are the same when turned round."""
    arcs = np.stack([graph.tail, graph.head, graph.weight])
    turned = arcs[[1, 0, 2]]
    return np.array_equal(arcs[:, np.lexsort(arcs)], turned[:, np.lexsort(turned)])


def sha256(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<u4").tobytes())
    return digest.hexdigest()


def test_the_road_grid_is_the_one_that_figures_are_published_for() -> None:
    """Digests of the rows and of the arcs as (head, weight) pairs, made by an independent program."""
    graph = road_grid(64)
    assert sha256(graph.first_out) == FIRST_OUT
    assert sha256(np.stack([graph.head, graph.weight], axis=1)) == ARCS


FIRST_OUT = "4aa9de037567914ea6698f31824896631b152ef3e8729dff27ec9756bfe30f13"
ARCS = "409fd16a4fa8e8453509f6e09d39bc1b30edfa10a30d1775c813f16c51cc7aec"

DIGESTS = {
    "road:20,3": "c3ae486b71554d1a64f03f0e4142114a1ec6983b4db887d18c486481c6cf5aac",
    "road:20,shape_nodes=2": "2922683b29565af578467c76621c6dc2c1c6baa6fe36ad04391cc24575848600",
    "rmat:8": "5f1fef7d98b8291bbf2e295255b1cd621eb99da189a653bc171bc715ffe15b57",
    "rmat:8,5,2,undirected=false,permute=true": "6cfe06957c4be676d5b7dd5ee01de994d861dc32472bda9122699d26b2f5b2de",
    "kronecker:7": "29021dd867fb9ff59e05ccefddbf5899b59bab3cef4ff2e706342930c77c3e40",
    "random:200,11": "6e231f2cd25847ca7f0da46f66fca7dfe6443f579a3e4d5134742035d6fe7b3f",
    "martin:300": "e2e1885d2016c4d6d00bbba82d1061501af1284555329d7e92fdd9cc4248db38",
    "ba:300,4": "18efd584920b08237df678b36892ba388203976439a9de7a809542057354b598",
    "gnm:200,900": "72cbf12244b4f9ef5a8d5b6396b8c96f40318105b9e1f6e56b14e7e37ef2746a",
    "gnm:50,2000,undirected=false": "6bb85214986c193cdedf59453ac0e6d3d46d160986792e3912b129a1f88db807",
}


@pytest.mark.parametrize("expression", DIGESTS)
def test_the_same_seed_gives_the_same_graph_everywhere(expression: str) -> None:
    """Published figures are for these graphs: another sequence of random choices would make them worthless."""
    graph = from_expression(expression)
    assert sha256(graph.first_out, graph.head, graph.weight) == DIGESTS[expression]


@pytest.mark.parametrize("expression", ["road:9", "rmat:6", "kronecker:6", "random:50,9", "martin:50", "ba:50,4"])
def test_another_seed_gives_another_graph(expression: str) -> None:
    assert not same(from_expression(expression), from_expression(expression + ",seed=2"))


def test_road_grids_of_any_side_are_two_way() -> None:
    for side in (2, 3, 100):
        graph = road_grid(side, seed=7)
        assert graph.num_nodes == side * side
        assert is_two_way(graph)
    one, other = road_grid(100, seed=7, keep=1.0), road_grid(100, seed=8, keep=1.0)
    assert np.array_equal(one.head, other.head) and not np.array_equal(one.weight, other.weight)


@pytest.mark.parametrize("shape_nodes", [1, 2, 3, 7])
def test_shape_nodes_lengthen_streets_without_changing_them(shape_nodes: int) -> None:
    plain, shaped = road_grid(40), road_grid(40, shape_nodes=shape_nodes)
    streets = plain.num_arcs // 2
    assert shaped.num_nodes == plain.num_nodes + shape_nodes * streets
    assert shaped.num_arcs == plain.num_arcs * (shape_nodes + 1)
    assert int(shaped.weight.sum()) == int(plain.weight.sum())
    assert is_two_way(shaped)
    # Every degree occurs as often as before, but for those of the shape nodes.
    before, after = np.bincount(degrees(plain), minlength=5), np.bincount(degrees(shaped), minlength=5)
    assert (after - before).tolist() == [0, 0, shape_nodes * streets, 0, 0]
    # Ends of arcs have ids close to each other.
    assert np.median(np.abs(shaped.tail.astype(int) - shaped.head.astype(int))) < shaped.num_nodes / 100


def ids_of_junctions(side: int, parts: int) -> np.ndarray:
    """Return the ids of the junctions of a grid without gaps, row by row, whose streets have that many arcs."""
    line = range(parts * (side - 1) + 1)
    places = [(x, y) for x in line for y in line if x % parts == 0 or y % parts == 0]
    # Z-order: the bits of both coordinates in turns.
    places.sort(key=lambda place: [bit for pair in zip(*(f"{z:010b}" for z in place), strict=True) for bit in pair])
    junctions = {place: node for node, place in enumerate(places) if place[0] % parts == place[1] % parts == 0}
    return np.array([junctions[place] for place in sorted(junctions)])


def distances(graph: Graph, source: int) -> np.ndarray:
    # With 32-bit indices: scipy 1.11 takes no others.
    index = (graph.head.astype(np.int32), graph.first_out.astype(np.int32))
    matrix = sparse.csr_matrix((graph.weight.astype(float), *index), shape=(graph.num_nodes, graph.num_nodes))
    return csgraph.dijkstra(matrix, indices=source)


@pytest.mark.parametrize("shape_nodes", [2, 3])
def test_distances_between_junctions_stay_the_same(shape_nodes: int) -> None:
    side = 12
    plain, shaped = road_grid(side, keep=1.0), road_grid(side, keep=1.0, shape_nodes=shape_nodes)
    here, there = ids_of_junctions(side, 1), ids_of_junctions(side, shape_nodes + 1)
    for at in (0, 77):
        assert np.array_equal(distances(shaped, there[at])[there], distances(plain, here[at])[here])


def test_streets_are_split_evenly() -> None:
    graph = road_grid(30, shape_nodes=4)
    lightest, heaviest = (int(of(graph.weight)) for of in (np.min, np.max))
    assert lightest == 61 // 3.5 // 5 and heaviest == -(-240 // 5)
    grid = road_grid(12, keep=1.0, shape_nodes=4)
    shape = np.setdiff1d(np.arange(grid.num_nodes), ids_of_junctions(12, 5))
    first = grid.first_out[shape]
    assert np.all(degrees(grid)[shape] == 2)
    steps = np.abs(grid.weight[first].astype(int) - grid.weight[first + 1].astype(int))
    assert set(steps.tolist()) == {0, 1}
    # More arcs than weight leaves zeros, and no more of them than that takes.
    thin = road_grid(2, keep=1.0, shape_nodes=299)
    assert set(np.unique(thin.weight)) == {0, 1}
    assert int(thin.weight.sum()) == int(road_grid(2, keep=1.0).weight.sum())


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("block", [1, 50, 1 << 22])
def test_long_lists_of_arcs_become_the_same_rows(block: int, both_ways: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "BLOCK", block)
    rng = np.random.default_rng(5)
    tail, head, weight = (rng.integers(0, 20, 500, np.uint32) for _ in range(3))
    found = large.graph_from_arcs(22, tail, head, weight, both_ways=both_ways)
    if both_ways:
        tail, head, weight = (np.concatenate(pair) for pair in ((tail, head), (head, tail), (weight, weight)))
    assert same(found, Graph.from_edges(tail, head, weight, num_nodes=22))


def test_rows_of_no_arcs() -> None:
    nothing = np.zeros(0, np.uint32)
    graph = large.graph_from_arcs(3, nothing, nothing, nothing, both_ways=True)
    assert graph.first_out.tolist() == [0, 0, 0, 0] and graph.num_arcs == 0


def quarters(graph: Graph, bit: int) -> np.ndarray:
    """Return the parts of the arcs that fall into each quarter, as one bit of their ends has it."""
    quarter = 2 * (graph.tail >> bit & 1) + (graph.head >> bit & 1)
    return np.bincount(quarter, minlength=4) / graph.num_arcs


def test_rmat_arcs_fall_into_the_quarters_as_asked() -> None:
    graph = rmat(14, a=0.5, b=0.25, c=0.1, undirected=False)
    assert graph.num_arcs == 32 * 2**14
    for bit in range(14):  # a standard deviation is 0.0007
        assert quarters(graph, bit) == pytest.approx([0.5, 0.25, 0.1, 0.15], abs=0.004)
    # And at each level independently of the others.
    upper_left = (graph.tail < 2**13) & (graph.head < 2**13)
    for bit in (0, 12):
        below = (graph.tail[upper_left] >> bit & 1).mean()
        assert below == pytest.approx(0.25, abs=0.005)


def test_all_cores_draw_the_same_rmat_edges_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("vkssp.generate.rmat")  # the package has the function under this name
    monkeypatch.setattr(module, "CHUNK", 256)
    for arguments in ({}, {"degree": 7, "seed": 3, "permute": True}, {"a": 0, "b": 0, "c": 1.0}):
        with monkeypatch.context() as patch:
            patch.setattr(module, "MANY", 2**40)
            expected = rmat(9, **arguments)
        for many in (1, 1200):
            monkeypatch.setattr(module, "MANY", many)
            assert same(rmat(9, **arguments), expected)


def test_rmat_with_the_whole_probability_in_one_quarter() -> None:
    for corner, tail, head in (({"a": 1.0}, 0, 0), ({"b": 1.0}, 0, 31), ({"c": 1.0}, 31, 0), ({}, 31, 31)):
        graph = rmat(5, **({"a": 0, "b": 0, "c": 0} | corner), undirected=False)
        assert set(graph.tail) == {tail} and set(graph.head) == {head}


def test_undirected_rmat_has_each_edge_both_ways() -> None:
    graph = rmat(10, degree=7)
    assert graph.num_nodes == 1024 and graph.num_arcs == 7 * 1024
    assert is_two_way(graph)
    # Loops and parallel edges are as they fell.
    assert np.any(graph.tail == graph.head)
    assert len(set(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))) < graph.num_arcs
    assert (graph.weight.min(), graph.weight.max()) == (1, 255)


def test_permuted_rmat_is_the_same_graph_with_other_ids() -> None:
    plain, permuted = rmat(10), rmat(10, permute=True)
    assert not same(plain, permuted)
    # As the same edges are drawn, each weight and degree is there as often.
    for measure in (degrees, lambda graph: graph.weight, lambda graph: np.bincount(graph.tail, graph.weight, 1024)):
        assert np.array_equal(np.sort(measure(plain)), np.sort(measure(permuted)))
    # The largest degree is no longer that of node 0.
    assert np.argmax(degrees(plain)) == 0
    assert max(quarters(permuted, 9)) < 0.4 < max(quarters(plain, 9))


def test_kronecker_is_a_permuted_rmat_of_twice_the_degree() -> None:
    assert same(kronecker(8, 5, 3), rmat(8, 10, 3, permute=True))
    assert kronecker(8).num_arcs == 32 * 256


def test_uniform_random_graphs_have_the_same_out_degree_everywhere() -> None:
    graph = uniform_random(1000, 50)
    assert set(degrees(graph)) == {50}
    incoming = np.bincount(graph.head, minlength=1000)
    # Poisson: the variance is the mean.
    assert incoming.var() == pytest.approx(50, rel=0.2)
    assert graph.weight.mean() == pytest.approx(50.5, abs=0.7)
    assert (graph.weight.min(), graph.weight.max()) == (1, 100)


def test_martin_graphs_have_the_same_in_degree_everywhere() -> None:
    graph = martin(10000)
    assert set(np.bincount(graph.head, minlength=10000)) == {7}
    assert degrees(graph).var() == pytest.approx(7, rel=0.1)
    # A node's predecessors and the weights have nothing to do with each other.
    for values, mean in ((graph.weight, 5.5), (graph.head, 4999.5)):
        assert values[graph.tail < 5000].mean() == pytest.approx(mean, rel=0.02)
    assert (graph.weight.min(), graph.weight.max()) == (1, 10)
    assert set(np.bincount(martin(40, 3).head, minlength=40)) == {3}


@pytest.mark.parametrize(("num_nodes", "attached"), [(2, 1), (9, 8), (30, 1), (2000, 12), (120, 60)])
def test_new_nodes_are_attached_to_different_older_ones(num_nodes: int, attached: int) -> None:
    graph = barabasi_albert(num_nodes, attached)
    assert graph.num_nodes == num_nodes
    assert graph.num_arcs == 2 * attached * (num_nodes - attached)
    assert is_two_way(graph)
    assert not np.any(graph.tail == graph.head)
    assert len(set(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))) == graph.num_arcs
    older = np.bincount(graph.tail, graph.head < graph.tail, num_nodes)
    assert older.tolist() == [0] + [1] * attached + [attached] * (num_nodes - attached - 1)


@pytest.mark.parametrize("attached", [3, 40])
def test_attachment_in_batches_is_that_of_one_node_after_another(
    attached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = barabasi_albert(1000, attached)
    monkeypatch.setattr(attachment, "BATCH", 1)
    assert same(barabasi_albert(1000, attached), whole)


def attachments(edges: tuple[tuple[int, int], ...], node: int) -> dict[tuple[tuple[int, int], ...], float]:
    """Return what the edges can be once a node has been attached to two others, and how probable each is."""
    degree = np.bincount(np.ravel(edges))
    outcomes: dict[tuple[tuple[int, int], ...], float] = {}
    for first, second in itertools.permutations(range(node), 2):
        grown = (*edges, (node, min(first, second)), (node, max(first, second)))
        probable = degree[first] / degree.sum() * degree[second] / (degree.sum() - degree[first])
        outcomes[grown] = outcomes.get(grown, 0.0) + probable
    return outcomes


def test_small_attached_graphs_are_as_frequent_as_they_are_probable() -> None:
    expected: dict[tuple[tuple[int, int], ...], float] = {((1, 0), (2, 0)): 1.0}
    for node in (3, 4):
        expected = {
            grown: before * probable
            for edges, before in expected.items()
            for grown, probable in attachments(edges, node).items()
        }
    assert sum(expected.values()) == pytest.approx(1)
    found = dict.fromkeys(expected, 0)
    for seed in range(6000):
        graph = barabasi_albert(5, 2, seed)
        older = graph.head < graph.tail
        found[tuple(sorted(zip(graph.tail[older].tolist(), graph.head[older].tolist(), strict=True)))] += 1
    counts, mean = np.array(list(found.values())), 6000 * np.array(list(expected.values()))
    # Chi-squared with one degree of freedom less than there are outcomes.
    assert np.sum((counts - mean) ** 2 / mean) < stats.chi2.ppf(0.999, len(expected) - 1)


def test_degrees_of_attached_nodes_fall_off_as_theory_has_it() -> None:
    """Of a large graph the part m(m+1)/(k(k+1)) of the nodes has k or more edges (Dorogovtsev et al. 2000)."""
    degree = degrees(barabasi_albert(100000, 5))
    for minimum in (6, 10, 20, 50):  # a standard deviation is 3% for the last, and less for the others
        assert np.mean(degree >= minimum) == pytest.approx(5 * 6 / (minimum * (minimum + 1)), rel=0.12)


def test_degrees_of_attached_nodes_are_those_that_networkx_gives() -> None:
    networkx = pytest.importorskip("networkx")
    ours, theirs = [], []
    for seed in range(4):
        ours.append(np.sort(degrees(barabasi_albert(10000, 5, seed))))
        grown = networkx.barabasi_albert_graph(10000, 5, seed=seed)
        theirs.append(np.sort([degree for _, degree in grown.degree]))
    for minimum in (10, 20, 50):
        counts = [np.mean([np.sum(sample >= minimum) for sample in samples]) for samples in (ours, theirs)]
        assert counts[0] == pytest.approx(counts[1], rel=0.12)
    # Had the nodes been attached to any, no matter their degrees, the largest would have some 50.
    largest = [np.mean([sample[-20:].mean() for sample in samples]) for samples in (ours, theirs)]
    assert largest[0] == pytest.approx(largest[1], rel=0.25) and largest[0] > 100


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("num_nodes", [2, 5, 6, 31])
def test_gnm_has_that_many_different_edges(num_nodes: int, undirected: bool) -> None:
    pairs = num_nodes * (num_nodes - 1) // (2 if undirected else 1)
    for num_edges in {0, 1, pairs // 3, pairs // 2 + 1, pairs}:
        graph = gnm(num_nodes, num_edges, undirected=undirected)
        arcs = set(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
        assert graph.num_nodes == num_nodes
        assert graph.num_arcs == len(arcs) == num_edges * (2 if undirected else 1)
        assert all(tail != head for tail, head in arcs)
        assert not undirected or is_two_way(graph)


@pytest.mark.parametrize("num_edges", [3, 7])
def test_every_gnm_edge_is_equally_probable(num_edges: int) -> None:
    counts = np.zeros((5, 5))
    for seed in range(2000):
        graph = gnm(5, num_edges, seed)
        counts[graph.tail, graph.head] += 1
    # Of 10 possible edges; a standard deviation is 20.
    assert counts[~np.eye(5, dtype=bool)] == pytest.approx(2000 * num_edges / 10, abs=100)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: road_grid(0), "side is 0"),
        (lambda: road_grid(1), "side is 1"),
        (lambda: road_grid(65536), "side is 65536"),
        (lambda: road_grid(9.5), r"side is 9\.5; give a whole number"),
        (lambda: road_grid(9, keep=1.5), r"keep is 1\.5; give 0 to 1"),
        (lambda: road_grid(9, keep=float("nan")), "keep is nan"),
        (lambda: road_grid(9, shape_nodes=-1), "shape_nodes is -1"),
        (lambda: road_grid(30000, shape_nodes=1), "shape_nodes is 1; give 0 to 0"),
        (lambda: road_grid(9, seed=-1), "seed is -1"),
        (lambda: rmat(0), "scale is 0"),
        (lambda: rmat(31), "scale is 31"),
        (lambda: rmat(9, 0), "degree is 0"),
        (lambda: rmat(30, 4), "scale 30 with degree 4 makes 4294967296 arcs"),
        (lambda: rmat(9, a=-0.1), r"a is -0\.1"),
        (lambda: rmat(9, b="x"), "b is 'x'; give a number"),
        (lambda: rmat(9, a=0.7, b=0.3, c=0.1), r"a \+ b \+ c is 1\.1"),
        (lambda: rmat(9, seed="x"), "seed is 'x'"),
        (lambda: kronecker(29, 4), "scale 29 with edge_factor 4"),
        (lambda: kronecker(9, 0), "edge_factor is 0"),
        (lambda: uniform_random(0, 3), "num_nodes is 0"),
        (lambda: uniform_random(10, -1), "degree is -1"),
        (lambda: uniform_random(10**6, 10**6), "degree 1000000 for 1000000 nodes makes 1000000000000 arcs"),
        (lambda: martin(2**31), "num_nodes is 2147483648"),
        (lambda: martin(10, -1), "predecessors is -1"),
        (lambda: martin(2**30, 7), r"num_nodes \* predecessors is 7516192768"),
        (lambda: barabasi_albert(1, 1), "num_nodes is 1; give 2"),
        (lambda: barabasi_albert(10, 0), "attached is 0; give 1 to 9"),
        (lambda: barabasi_albert(10, 10), "attached is 10; give 1 to 9"),
        (lambda: barabasi_albert(10**6, 5000), "attached 5000 for 1000000 nodes"),
        (lambda: gnm(10, 46), "num_edges is 46; give 0 to 45"),
        (lambda: gnm(10, 91, undirected=False), "num_edges is 91; give 0 to 90"),
        (lambda: gnm(10, -1), "num_edges is -1"),
        (lambda: gnm(10**6, 2**31), "num_edges 2147483648 makes 4294967296 arcs"),
    ],
)
def test_arguments_out_of_range(make: Callable[[], Graph], argument: str) -> None:
    with pytest.raises(QueryError, match=f"^{argument}") as raised:
        make()
    assert "\n" not in str(raised.value) and "give" in str(raised.value)


@pytest.mark.parametrize("expression", ["rmat:5", "kronecker:5", "random:40,9", "martin:90", "ba:60,9", "gnm:60,500"])
def test_weights_are_those_of_the_range(expression: str) -> None:
    function = FAMILIES[expression.partition(":")[0]]
    arguments = [int(number) for number in expression.partition(":")[2].split(",")]
    assert set(function(*arguments, weights=(3, 5)).weight.tolist()) == {3, 4, 5}
    assert set(function(*arguments, weights=(2**32 - 2, 2**32 - 2)).weight.tolist()) == {2**32 - 2}
    for wrong in ((5, 3), (-1, 3), (0, 2**32 - 1), (1, 2, 3), 7, (0.5, 1)):
        with pytest.raises(QueryError, match=r"^weights is .*; give"):
            function(*arguments, weights=wrong)
