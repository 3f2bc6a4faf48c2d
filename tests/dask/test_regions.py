"""The same work on many graphs: each is prepared once, and again only if its file, or what is wanted, changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.graphs import grid
from vkssp import ClusterError, FormatError, QueryError, Solver
from vkssp.dask import regions as module

pytest.importorskip("distributed")
dask = pytest.importorskip("vkssp.dask")


def farthest(solver: Solver, name: str) -> tuple[str, str, int]:
    return name, solver.algorithm, int(solver.distances(0).max())


def test_regions(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"r{side}": tmp_path / f"{side}.graph" for side in (5, 3, 9)}
    for side in (5, 3, 9):
        grid(side).save(files[f"r{side}"])
    read, made = module.read_graph, list[str]()

    def counted(path: str, **given: Any) -> Any:
        made.append(Path(path).name)
        return read(path, **given)

    monkeypatch.setattr(module, "read_graph", counted)
    cache = tmp_path / "cache" / "graphs"
    asked = {"router": False, "cluster": client}
    found = dask.map_regions(farthest, files, cache, **asked)
    expected = {}
    for side in (5, 3, 9):
        with Solver(grid(side), device="cpu") as solver:
            expected[f"r{side}"] = (f"r{side}", "phast", int(solver.distances(0).max()))
    assert found == expected and list(found) == ["r5", "r3", "r9"]
    assert sorted(made) == ["3.graph", "5.graph", "9.graph"] and len(list(cache.iterdir())) == 3
    made.clear()
    assert dask.map_regions(farthest, files, cache, **asked) == found and not made
    grid(4).save(files["r3"])
    again = dask.map_regions(farthest, files, cache, **asked)
    assert made == ["3.graph"] and again["r5"] == found["r5"] and again["r3"][2] != found["r3"][2]
    same = {f"s{number}": files["r9"] for number in range(6)}  # several tasks make one file at a time
    shutil.rmtree(cache)
    assert {one[2] for one in dask.map_regions(farthest, same, cache, **asked).values()} == {found["r9"][2]}
    assert len(list(cache.iterdir())) == 1
    plain = dask.map_regions(farthest, {"r5": files["r5"]}, cache, prepared=False, **asked)
    assert plain == {"r5": ("r5", "dijkstra", found["r5"][2])} and len(list(cache.iterdir())) == 2


def test_a_file_that_changes_while_it_is_read(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "a.graph", module.read_graph
    grid(3).save(path)

    def replaced(*given: Any, **named: Any) -> Any:
        grid(4).save(path)
        return read(*given, **named)

    monkeypatch.setattr(module, "read_graph", replaced)
    with pytest.raises(FormatError, match=r"a\.graph has changed since the work was planned"):
        dask.map_regions(farthest, {"a": path}, tmp_path / "c", router=False, cluster=client)
    assert not list((tmp_path / "c").iterdir()), "nothing is kept under the hash of other content"


def fail(solver: Solver, name: str) -> None:
    raise ValueError(f"no {name}")


def test_what_cannot_be_done(client: Any, tmp_path: Path) -> None:
    grid(3).save(tmp_path / "a.graph")
    files = {"a": tmp_path / "a.graph"}
    with pytest.raises(ClusterError, match="ValueError: no a"):
        dask.map_regions(fail, files, tmp_path / "c", router=False, cluster=client)
    with pytest.raises(QueryError, match="function is 'f'"):
        dask.map_regions("f", files, tmp_path / "c")
    with pytest.raises(QueryError, match="regions is"):
        dask.map_regions(farthest, [tmp_path / "a.graph"], tmp_path / "c")
    with pytest.raises(QueryError, match="reading is 5; give a dictionary"):
        dask.map_regions(farthest, files, tmp_path / "c", reading=5)
    with pytest.raises(FormatError, match=r"b\.graph does not exist"):
        dask.map_regions(farthest, {"b": tmp_path / "b.graph"}, tmp_path / "c")
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match="cannot make"):
        dask.map_regions(farthest, files, tmp_path / "file" / "c")
