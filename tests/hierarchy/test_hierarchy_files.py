from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, random_graphs
from tests.support.hierarchies import is_hierarchy
from tests.support.saved_graphs import npy, rewritten, same
from vkssp import FormatError, Graph, GraphError, prepare
from vkssp.cli import main
from vkssp.graph import bulk
from vkssp.graph.hierarchy import Hierarchy
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.supernodes import build

pytest.importorskip("numba")
pytest.importorskip("pymetis")

Arrays = dict[str, np.ndarray]


def prepared(side: int = 9) -> Graph:
    return prepare(grid(side, seed=4))


def arrays_of(graph: Graph) -> Arrays:
    return {name: getattr(graph.hierarchy, name).copy() for name in Hierarchy.ARRAYS}


@given(random_graphs())
def test_what_is_saved_is_loaded(tmp_path: Path, graph: Graph) -> None:
    graph = prepare(graph)
    graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert same(graph, loaded) and loaded.hierarchy is not None
    before = arrays_of(graph)
    for name, array in arrays_of(loaded).items():
        assert array.dtype == np.uint32 and np.array_equal(array, before[name])
        assert not getattr(loaded.hierarchy, name).flags.writeable
    replace(graph, hierarchy=None).save(tmp_path / "g")
    assert Graph.load(tmp_path / "g").hierarchy is None


def test_numpy_alone_loads_it(tmp_path: Path) -> None:
    prepared().save(tmp_path / "g")
    code = (
        "import sys; sys.modules.update(numba=None, pymetis=None); from vkssp import Graph; "
        "print(Graph.load(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "g")], capture_output=True, text=True, check=True)
    assert done.stdout == "Graph(81 nodes, 288 arcs, coordinates, hierarchy)\n"


def set_to(name: str, at: int, value: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][at] = value

    return change


def put(name: str, make: Callable[[np.ndarray], object]) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = make(arrays[name])  # type: ignore[assignment]

    return change


def without_an_ancestor(arrays: Arrays) -> None:
    """Take the first ancestor out of the longest list of which the parent has it, too."""
    first = arrays["first_ancestor"].astype(np.int64)
    group = int(np.argmax(np.diff(first)))
    arrays["ancestor"] = np.delete(arrays["ancestor"], first[group])
    arrays["first_ancestor"][group + 1 :] -= 1


def without_a_parents_ancestor(arrays: Arrays) -> None:
    """Take an ancestor out of the list of a supernode below which another has it."""
    first, first_node = arrays["first_ancestor"].astype(np.int64), arrays["first_node"]
    for group in range(len(first) - 2, -1, -1):
        ancestors = arrays["ancestor"][first[group] : first[group + 1]]
        if len(ancestors):
            parent = int(np.searchsorted(first_node, ancestors[-1], side="right")) - 1
            shared = np.isin(arrays["ancestor"][first[parent] : first[parent + 1]], ancestors)
            if shared.sum() > 1:
                arrays["ancestor"] = np.delete(arrays["ancestor"], first[parent] + np.flatnonzero(shared)[0])
                arrays["first_ancestor"][parent + 1 :] -= 1
                return
    raise AssertionError("there is none")


def one_level_less(arrays: Arrays) -> None:
    arrays["first_of_level"] = np.delete(arrays["first_of_level"], 2)


DAMAGE = {
    "a type": (put("node", lambda a: a.astype(np.int64)), "for node shape .* and dtype int64, not one-dimensional"),
    "a shape": (put("ancestor", lambda a: a.reshape(1, -1)), "for ancestor shape"),
    "no array": (put("ancestor", lambda a: None), "for ancestor None"),
    "too few nodes": (put("node", lambda a: a[:-1]), "a first_node that does not go from 0 to 80"),
    "no offsets": (put("first_of_level", lambda a: a[:0]), "a first_of_level that does not go from 0"),
    "too few lists": (put("first_ancestor", lambda a: a[:-1]), "not as many offsets of nodes as of ancestors"),
    "a supernode without nodes": (set_to("first_node", 1, 0), "a first_node that goes from 0 to 0 at 1"),
    "a late begin": (set_to("first_ancestor", 0, 1), "a first_ancestor that does not go from 0"),
    "an offset that falls": (set_to("first_ancestor", -2, 2**31), "a first_ancestor that goes from"),
    "a level without supernodes": (put("first_of_level", lambda a: a[[0, *range(len(a))]]), "from 0 to 0 at 1"),
    "a node that is not there": (set_to("node", 0, 81), "has a node 81, and ids go from 0 to 80"),
    "a node twice": (put("node", lambda a: np.where(a == 5, 6, a).astype(np.uint32)), "no rank for node 5"),
    "an ancestor below": (set_to("ancestor", 0, 80), "an ancestor at 80 of supernode .*, which does not lie above it"),
    "ancestors that fall": (put("ancestor", lambda a: np.sort(a)[::-1].copy()), "does not lie above|do not ascend"),
    "levels that are one": (one_level_less, "not in a later level than its lowest ancestor"),
    "a first level that is two": (put("first_of_level", lambda a: np.delete(a, 1)), "ancestors in level 0"),
    "a list that is short": (without_an_ancestor, "does not join nodes|none of its parent's"),
    "a parent's list that is short": (without_a_parents_ancestor, "none of its parent's|does not join nodes"),
    "other nodes": (put("node", lambda a: np.roll(a, 1)), "of another graph: it does not join nodes .* which arc"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(tmp_path: Path, name: str) -> None:
    graph = prepared()
    change, message = DAMAGE[name]
    arrays = arrays_of(graph)
    change(arrays)
    with pytest.raises(GraphError, match=f"the hierarchy .*({message}).*; make it with vkssp.prepare"):
        Hierarchy(**arrays).check(graph)
    graph.save(tmp_path / "g")
    if name == "no array":
        return
    for part, array in arrays.items():
        rewritten(tmp_path / "g", f"hierarchy_{part}.npy", npy(array))
    with pytest.raises(FormatError, match=f"g is damaged .*({message})"):
        Graph.load(tmp_path / "g")


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_in_pieces_by_several_cores(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(bulk, "PIECE", 5)
    monkeypatch.setattr(bulk, "MANY", 1)
    graph = prepared()
    assert graph.hierarchy is not None
    graph.hierarchy.check(graph)
    change, message = DAMAGE[name]
    arrays = arrays_of(graph)
    change(arrays)
    with pytest.raises(GraphError, match=f"the hierarchy .*({message}).*; make it with vkssp.prepare"):
        Hierarchy(**arrays).check(graph)


@given(random_graphs(max_nodes=25), st.integers(0, 2**32 - 1))
def test_the_check_agrees_with_one_by_sets(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    elimination = eliminate(Edges.of(graph), rng.permutation(graph.num_nodes).astype(np.uint32))
    right = build(elimination)
    for _ in range(30):
        arrays = {name: getattr(right, name).copy() for name in Hierarchy.ARRAYS}
        array = arrays[rng.choice(Hierarchy.ARRAYS)]
        kind = rng.integers(3)
        if len(array):
            at = rng.integers(len(array))
            if kind == 0:
                array[at] = rng.integers(graph.num_nodes + 2)
            elif kind == 1:
                array[at] = (
                    int(array[at]) + int(rng.choice([-1, 1]))
                ) % 2**32  # also below 0, which is the largest number
            else:
                other = rng.integers(len(array))
                array[[at, other]] = array[[other, at]]
        if rng.random() < 0.2 and len(arrays["ancestor"]):  # a list without one of its ancestors
            at = int(rng.integers(len(arrays["ancestor"])))
            arrays["ancestor"] = np.delete(arrays["ancestor"], at)
            arrays["first_ancestor"][arrays["first_ancestor"] > at] -= 1
        changed, is_accepted = Hierarchy(**arrays), True
        try:
            changed.check(graph)
        except GraphError:
            is_accepted = False
        assert is_accepted == is_hierarchy(changed, graph)


def test_closure_is_checked() -> None:
    """Lists that hold all arcs of the graph, but not what elimination joins."""
    graph = Graph.from_edges([0, 0, 1], [1, 2, 3], [1, 1, 1])
    # By rank: node 0 lies below 2 and 1, which have to be joined, and 1 below 3.
    joined = Hierarchy(*(np.array(array, np.uint32) for array in JOINED))
    joined.check(graph)
    node, first_node, _, _, _ = JOINED
    apart = node, first_node, [0, 0, 0, 1, 3], [0, 1, 2], [0, 2, 3, 4]
    with pytest.raises(GraphError, match="an ancestor at 1 of supernode 3 that is none of its parent's, 2"):
        Hierarchy(*(np.array(array, np.uint32) for array in apart)).check(graph)


JOINED = [3, 2, 1, 0], [0, 1, 2, 3, 4], [0, 0, 1, 3, 5], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4]


def test_the_hierarchy_of_another_graph_is_refused(tmp_path: Path) -> None:
    graph, smaller = prepared(), prepared(8)
    assert graph.hierarchy is not None and smaller.hierarchy is not None
    with pytest.raises(GraphError, match="is for 64 nodes and the graph has 81"):
        smaller.hierarchy.check(graph)
    turned = np.arange(81).reshape(9, 9).T.ravel()
    graph.hierarchy.check(graph)
    shuffled = np.random.default_rng(2).permutation(81)
    for name in (turned, shuffled):
        other = Graph.from_edges(name[graph.tail], name[graph.head], graph.weight)
        if name is shuffled:
            with pytest.raises(GraphError, match="of another graph"):
                graph.hierarchy.check(other)
            replace(other, hierarchy=graph.hierarchy).save(tmp_path / "g")
            with pytest.raises(FormatError, match=r"g is damaged .*of another graph"):
                Graph.load(tmp_path / "g")
        else:  # a grid turned over is one, too
            graph.hierarchy.check(other)


def test_a_part_that_is_missing_is_refused(tmp_path: Path) -> None:
    graph = prepared()
    for name in Hierarchy.ARRAYS:
        graph.save(tmp_path / "g")
        content = (tmp_path / "g").read_bytes()
        known, other = f"hierarchy_{name}".encode(), f"hierarchy_{name[::-1]}x"[: len(f"hierarchy_{name}")].encode()
        (tmp_path / "g").write_bytes(content.replace(known + b".npy", other + b".npy"))
        with pytest.raises(FormatError, match=rf"g is damaged \(hierarchy_{name} missing\)"):
            Graph.load(tmp_path / "g")
        # And where the header does not know of it either, with the right checksum.
        with zipfile.ZipFile(tmp_path / "g") as archive:
            header = archive.read("header.npy").replace(known + b'"', other + b'"')
        rewritten(tmp_path / "g", "header.npy", header)
        with pytest.raises(FormatError, match=rf"g is damaged \('hierarchy_{name}'\)"):
            Graph.load(tmp_path / "g")


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graph = grid(9, seed=4)
    graph.save(tmp_path / "plain")
    hierarchy = prepared().hierarchy
    assert hierarchy is not None
    assert main(["prepare", str(tmp_path / "plain"), str(tmp_path / "g"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    numbers = {
        "arcs": hierarchy.num_arcs,
        "supernodes": hierarchy.num_supernodes,
        "levels": hierarchy.num_levels,
        "tree_height": int(hierarchy.depth.max()) + 1,
    }
    assert (result["nodes"], result["arcs"], result["hierarchy"]) == (81, 288, numbers) and result["seconds"] > 0
    assert same(Graph.load(tmp_path / "g"), graph)
    assert main(["info", str(tmp_path / "g"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hierarchy"] == numbers
    assert main(["info", str(tmp_path / "plain"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hierarchy"] is None
    assert main(["prepare", str(tmp_path / "plain"), str(tmp_path / "other")]) == 0
    said = f"a hierarchy of {hierarchy.num_arcs:,} arcs both ways"
    assert said in capsys.readouterr().out
    assert main(["info", str(tmp_path / "other")]) == 0
    assert f"prepared: {said}" in capsys.readouterr().out


def test_the_command_refuses_before_it_works(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid(5).save(tmp_path / "g")
    source = str(tmp_path / "g")

    def refused(*arguments: str) -> str:
        assert main(["prepare", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and captured.err.count("\n") == 1
        return captured.err

    assert "too many to be of use; search it without preparing it" in refused("random:20000,20", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("vkssp.commands.prepare.load", lambda *_: pytest.fail("read before it was known"))
    assert "no folder; make it first" in refused(source, str(tmp_path / "none" / "out"))
    assert "choose another name" in refused(source, source)
    assert "its name must end in .graph" in refused(source, str(tmp_path / "out.osm.pbf"))
    monkeypatch.setitem(sys.modules, "pymetis", None)
    assert "pip install pymetis" in refused(source, str(tmp_path / "out"))
