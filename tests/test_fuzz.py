"""Damaged files of all kinds, for a moment; ``python -m tests.support.fuzzing --minutes 20`` is the long form."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support import fuzzing
from tests.support.fuzzing import Case, Worker, cases, check_graph, corpus, same
from tests.support.mutations import mutations_for
from vkssp import Graph, read_graph


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def survey(worker: Worker, paths: list[Path], seeds: range) -> None:
    """Check that damaged files are refused or give good graphs, and that both happen."""
    kinds = set()
    for case in cases(paths, seeds):
        result = worker.run(case)
        assert result.kind != "fault", f"{case}: {result.text}"
        kinds.add(result.kind)
    assert kinds == {"graph", "refused"}


def test_damaged_files_are_refused_or_give_good_graphs(worker: Worker, paths: list[Path]) -> None:
    survey(worker, paths, range(8))


@pytest.mark.slow
def test_many_damaged_files(worker: Worker, paths: list[Path], andorra_path: Path) -> None:
    survey(worker, paths, range(100, 400))
    survey(worker, [andorra_path], range(60))


def test_undamaged_files_give_good_graphs(paths: list[Path]) -> None:
    for path in paths:
        graph = read_graph(path)
        check_graph(graph)
        assert graph.num_arcs > 200 and same(graph, read_graph(path))


def test_damage_is_drawn_from_its_seed(paths: list[Path]) -> None:
    for path in paths:
        for mutation in mutations_for(path.name):
            first, again, other = (fuzzing.damaged(Case(path, mutation, seed)) for seed in (1, 1, 2))
            assert first == again != other


def test_a_process_that_dies_is_a_fault_and_the_next_one_goes_on(paths: list[Path]) -> None:
    worker = Worker()
    case = Case(paths[0], "bytes", 1)
    assert worker.run(case).kind != "fault"
    os.kill(worker.pid, signal.SIGSEGV)
    assert worker.run(case) == ("fault", f"the process died with {-signal.SIGSEGV}")
    assert worker.run(case).kind != "fault"
    worker.close()


def test_a_process_that_does_not_end_is_a_fault(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    worker.run(Case(paths[0], "bytes", 1))
    os.kill(worker.pid, signal.SIGSTOP)
    monkeypatch.setattr(fuzzing, "PATIENCE", 0.1)
    assert worker.run(Case(paths[0], "bytes", 1)) == ("fault", "no end after 0 s")
    worker.close()


def test_what_is_left_behind_or_overwritten_is_a_fault(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(arguments: list[str]) -> int:
        Path(arguments[2]).write_bytes(b"half")
        print(f"vkssp: {arguments[1]} is damaged", file=sys.stderr)
        return 2

    def untidy(arguments: list[str]) -> int:
        (tmp_path / "rest.part").touch()
        Graph.from_edges([0], [1], [2]).save(arguments[2])
        return 0

    case = next(case for case in cases(paths, range(9)) if case.path.suffix == ".osm")
    for main, words in ((broken, "the old file is gone"), (untidy, "left behind")):
        monkeypatch.setattr(fuzzing, "vkssp", main)
        with pytest.raises(AssertionError, match=words):
            fuzzing.attempt(case, tmp_path)


def test_bad_graphs_are_seen(paths: list[Path]) -> None:
    graph = Graph.load(next(path for path in paths if path.name == "costs.graph"))
    streets = graph.streets
    assert streets is not None and streets.turn is not None and streets.junction is not None
    bad = [
        dataclasses.replace(graph, first_out=graph.first_out[::-1]),
        dataclasses.replace(graph, head=graph.head + np.uint32(graph.num_nodes)),
        dataclasses.replace(graph, weight=graph.weight[1:]),
        dataclasses.replace(graph, lat=graph.weight + 90.0),
        *(
            dataclasses.replace(graph, streets=dataclasses.replace(streets, **{name: value}))
            for name, value in (
                ("length", -streets.length),
                ("way", streets.way[1:]),
                ("name", streets.name + np.uint32(len(streets.names))),
                ("polyline", streets.polyline + np.uint32(10**6)),
                ("polyline_first", streets.polyline_first[1:]),
                ("points", streets.points * 4),
                ("junction", streets.junction[1:]),
                ("turn", streets.turn + graph.weight),
            )
        ),
    ]
    check_graph(graph)
    for each in bad:
        with pytest.raises(AssertionError):
            check_graph(each)
        assert not same(graph, each)
