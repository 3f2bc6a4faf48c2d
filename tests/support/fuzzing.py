"""Whether readers survive damaged files: each gives an error of one line or a good graph, and nothing else.

    python -m tests.support.fuzzing --minutes 20 monaco.osm.pbf freiburg.osm.bz2

damages the files given, or small ones of all kinds that are made here, and imports them in a process of its own. What
is found is printed with the name, kind and seed that repeat it: ``--repeat map.osm.pbf:blobs:17``.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.support.hierarchies import is_hierarchy
from tests.support.mutations import mutations_for
from vkssp import Graph, VksspError
from vkssp.cli import main as vkssp

#: What a process may have at all, and what a damaged file may take more than the same file undamaged.
ADDRESS_SPACE, MORE_MEMORY = 8 << 30, 256 << 20
#: Seconds after which a case is given up as one that never ends.
PATIENCE = 60.0
_OLD = b"an older file"


class Case(NamedTuple):
    """A file, a kind of damage, and the seed that it is drawn from."""

    path: Path
    mutation: str
    seed: int

    def __str__(self) -> str:
        return f"{self.path.name}:{self.mutation}:{self.seed}"


class Result(NamedTuple):
    """What became of a case: "refused", "graph", or a fault, and how that is explained."""

    kind: str
    text: str


def damaged(case: Case) -> bytes:
    """Return the damaged file of a case."""
    return mutations_for(case.path.name)[case.mutation](random.Random(f"{case}"), case.path.read_bytes())


def check_graph(graph: Graph) -> None:
    """Raise `AssertionError` if anything in a graph does not fit."""
    first, head, weight = (array.astype(np.int64) for array in (graph.first_out, graph.head, graph.weight))
    assert first[0] == 0 and first[-1] == len(head) == len(weight) and (np.diff(first) >= 0).all()
    assert not len(head) or 0 <= head.min() <= head.max() < graph.num_nodes
    assert not len(weight) or weight.max() < 2**32 - 1
    if graph.lat is not None:
        assert graph.lon is not None and graph.lat.shape == graph.lon.shape == (graph.num_nodes,)
        assert (np.abs(graph.lat) <= 90).all() and (np.abs(graph.lon) <= 180).all()
    assert graph.hierarchy is None or is_hierarchy(graph.hierarchy, graph)
    streets = graph.streets
    if streets is None:
        return
    points, line = streets.points.astype(np.int64), streets.polyline_first.astype(np.int64)
    assert line[0] == 0 and line[-1] == len(points) and (np.diff(line) >= 2).all()
    assert (np.abs(points[:, 0]) <= 900_000_000).all() and (np.abs(points[:, 1]) <= 1_800_000_000).all()
    for name in streets.PER_ARC:
        assert getattr(streets, name).shape == (graph.num_arcs,)
    assert (streets.length >= 0).all()
    assert streets.seconds_per_weight >= 0 and np.isfinite(streets.seconds_per_weight)
    assert streets.names[0] == "" and (streets.name < len(streets.names)).all()
    assert (streets.polyline < len(line) - 1).all()
    if streets.junction is not None:
        assert streets.junction.shape == (graph.num_nodes,) and streets.junction.dtype == np.uint32
    if streets.turn is not None:
        assert streets.turn.shape == (graph.num_arcs,) and (streets.turn <= graph.weight).all()


def same(one: Graph, other: Graph) -> bool:
    """Return whether two graphs are equal in all that they have."""

    def arrays(graph: Graph) -> dict[str, Any]:
        values = vars(graph) | (vars(graph.streets) if graph.streets is not None else {})
        if graph.hierarchy is not None:
            values |= {f"hierarchy_{name}": getattr(graph.hierarchy, name) for name in graph.hierarchy.ARRAYS}
        basemap = values.pop("basemap", None)
        if basemap is not None:
            values |= {f"basemap_{name}": value for name, value in vars(basemap).items()}
        return {name: value for name, value in values.items() if name not in ("streets", "hierarchy", "tail")}

    mine, its = arrays(one), arrays(other)
    return mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)


def attempt(case: Case, folder: Path) -> Result:
    """Import a damaged file and return what became of it; raise `AssertionError` if something is wrong with that."""
    path, target = folder / case.path.name, folder / "out"
    path.write_bytes(damaged(case))
    target.write_bytes(_OLD)
    try:
        if path.suffix == ".graph":
            return _loaded(case, path)
        return _imported(path, target)
    finally:
        path.unlink()
        target.unlink()
        left = [other.name for other in folder.iterdir()]
        assert not left, f"{left} left behind"


def _loaded(case: Case, path: Path) -> Result:
    try:
        graph = Graph.load(path)
    except VksspError as error:
        assert "\n" not in str(error) and str(path) in str(error), f"unclear: {error}"
        return Result("refused", str(error))
    check_graph(graph)
    if case.mutation == "bytes":  # checksums guard these
        assert same(graph, Graph.load(case.path)), "another graph"
        return Result("graph", "")
    undamaged = _undamaged(case.path)
    rng = random.Random(f"{case} asked")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        for arguments in rng.sample(commands_for(undamaged, path, Path(scratch), rng), 2):
            status, text = _run(arguments)
            assert status == 2 or not text, f"{arguments[0]} warned: {text}"
    return Result("graph", "")


@functools.cache
def _undamaged(path: Path) -> Graph:
    """Return an undamaged graph after all commands have been asked of it, so that what they load is loaded."""
    graph = Graph.load(path)
    with tempfile.TemporaryDirectory() as scratch:
        for arguments in commands_for(graph, path, Path(scratch), random.Random(1)):
            status, text = _run(arguments)
            assert status == 0 and not text, f"{arguments}: {text}"
    return graph


def commands_for(graph: Graph, path: Path, folder: Path, rng: random.Random) -> list[list[str]]:
    """Return commands that ask what can be asked of a saved graph.

    Parameters
    ----------
    graph : Graph
        The graph before it was damaged, which places and nodes are taken from.
    path : Path
        The damaged graph.
    folder : Path
        Where files that the commands read are written, and those that they write may be.
    rng : random.Random
        What draws places, nodes and algorithms.
    """
    solver = ["--algorithm", rng.choice(("dijkstra", "dijkstra", "delta_step_buckets", "auto"))]
    nodes, arcs, traffic = (folder / name for name in ("nodes.csv", "arcs.csv", "traffic.csv"))
    some = rng.choices(range(graph.num_nodes) if graph.names is None else graph.names.tolist(), k=4)
    nodes.write_text("node\n" + "".join(f"{node}\n" for node in some))
    arcs.write_text("arc,weight\n0,99999\n")
    commands = [
        ["info", str(path)],
        ["distances", str(path), "--source", str(some[0]), *solver, "--traffic", str(arcs)],
        ["table", str(path), "--sources", str(nodes), "--output", str(folder / "nodes.npy"), *solver],
        ["service-areas", str(path), "--sources", str(nodes), "--output", str(folder / "nodes.csv.npy"), *solver],
    ]
    if graph.lat is None or graph.lon is None:
        return commands
    chosen = rng.choices(range(graph.num_nodes), k=4)
    places = [f"{graph.lat[node] + rng.uniform(0, 1e-3)},{graph.lon[node]}" for node in chosen]
    listed = folder / "places.csv"
    listed.write_text("lat,lon\n" + "".join(f"{place}\n" for place in places))
    ends = ["--from", places[0], "--to", places[1]]
    limits = ["--minutes", "1,9"] if graph.streets is not None else ["--limits", "1,9999"]
    metric = ["--metric", rng.choice(("duration", "distance"))]
    lat, lon = (float(np.median(values)) for values in (graph.lat, graph.lon))
    box = [[lon + 4e-4, lat - 1e-5], [lon + 5e-4, lat - 1e-5], [lon + 5e-4, lat + 1e-5], [lon + 4e-4, lat - 1e-5]]
    avoided = folder / "avoid.geojson"
    avoided.write_text(json.dumps({"type": "Polygon", "coordinates": [box]}))
    commands += [
        ["route", str(path), *ends, "--via", places[2], "--map", str(folder / "r.html"), *metric, *solver],
        ["route", str(path), *ends, "--steps", "--output", str(folder / "r.geojson"), "--avoid", str(avoided), *solver],
        ["table", str(path), "--sources", str(listed), "--output", str(folder / "t.csv"), *metric, *solver],
        ["isochrone", str(path), "--from", places[3], *limits, "--output", str(folder / "i.geojson"), *solver],
        ["nearest", str(path), "--at", places[0], "--number", "3"],
        ["service-areas", str(path), "--sources", str(listed), "--output", str(folder / "a.geojson"), *metric, *solver],
    ]
    if graph.streets is not None:
        traffic.write_text(f"way,speed_kmh\n{graph.streets.way[0]},7\n")
        commands.append(["route", str(path), *ends, "--traffic", str(traffic), *solver])
    return commands


def _run(arguments: list[str]) -> tuple[int, str]:
    """Return the status of a command and what it wrote to stderr; raise `AssertionError` if that is no error."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = vkssp([*arguments, "--json"])
    text = errors.getvalue()
    if status == 0:
        return status, text
    assert status == 2 and text.count("\n") == 1 and text.startswith("vkssp: ") and not out.getvalue(), text
    assert "not enough memory" not in text, text
    return status, text.strip()


def _imported(path: Path, target: Path) -> Result:
    status, text = _run(["import", str(path), str(target), *_options(path)])
    if status == 0:
        assert not text, f"warned: {text}"
        check_graph(Graph.load(target))
        return Result("graph", "")
    assert str(path) in text, f"unclear: {text}"
    assert target.read_bytes() == _OLD, "the old file is gone"
    return Result("refused", text)


def _options(path: Path) -> list[str]:
    return ["--turns", "costs"] if ".osm" in path.name else []


def _peak() -> int:
    """Return the largest number of bytes that this process had since `_forget_peak`."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _work(connection: Connection) -> None:
    """Take cases and tell what became of them, until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory(prefix="vkssp-fuzz-") as name:
        while (case := connection.recv()) is not None:
            before = 0
            try:
                if case.path.suffix == ".saved":
                    _undamaged(case.path)
                _forget_peak()
                before = _peak()
                result = attempt(case, Path(name))
            except BaseException as error:
                result = Result("fault", f"{type(error).__name__}: {error}"[:500])
            # Files of a few megabytes are imported in less than this, damaged or not.
            allowed = MORE_MEMORY + 40 * case.path.stat().st_size
            if (more := _peak() - before) > allowed:
                result = Result("fault", f"took {more >> 20} MiB: {result}")
            connection.send(result)


class Worker:
    """A process that imports damaged files, and is begun anew where one has killed it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Any = None

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Id of the process."""
        return int(self._process.pid)

    def run(self, case: Case) -> Result:
        """Return what became of a case."""
        if self._process is None:
            self._start()
        try:
            self._connection.send(case)
            # The first answer takes the time that all the modules need.
            if self._connection.poll(PATIENCE):
                result: Result = self._connection.recv()
                return result
            text = f"no end after {PATIENCE:.0f} s"
        except (EOFError, OSError):
            self._process.join(5)
            text = f"the process died with {self._process.exitcode}"
        self._kill()
        return Result("fault", text)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._connection.send(None)
                self._process.join(5)
            self._kill()

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()
        self._process = None


def corpus(folder: Path) -> list[Path]:
    """Make small files of all kinds, and return their paths."""
    from tests.support.fuzz_corpus import write_extracts, write_graphs, write_texts

    extracts = write_extracts(folder)
    return [*extracts, *write_graphs(folder, extracts[0]), *write_texts(folder)]


def cases(paths: Iterable[Path], seeds: range) -> Iterator[Case]:
    """Yield each kind of damage to each file with each of some seeds."""
    named = [(path, mutation) for path in paths for mutation in mutations_for(path.name)]
    for seed in seeds:
        for path, mutation in named:
            yield Case(path, mutation, seed)


def main() -> int:
    """Damage files for some minutes; return 1 if a reader has failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="extracts and graphs to damage")
    parser.add_argument("--minutes", metavar="M", type=float, default=20.0, help="how long (default: 20)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument(
        "--repeat", metavar="NAME:KIND:SEED", help="one case only, and here, not in a process of its own"
    )
    args = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    faults = 0
    with tempfile.TemporaryDirectory(prefix="vkssp-corpus-") as name:
        paths = args.files or corpus(Path(name))
        if args.repeat:
            file, mutation, seed = args.repeat.rsplit(":", 2)
            path = next(path for path in paths if path.name == file)
            with tempfile.TemporaryDirectory() as scratch:
                print(attempt(Case(path, mutation, int(seed)), Path(scratch)))
            return 0
        worker, end = Worker(), time.monotonic() + 60 * args.minutes
        for case in cases(paths, range(args.seed, sys.maxsize)):
            if time.monotonic() > end:
                break
            result = worker.run(case)
            counts.setdefault(f"{case.path.name}:{case.mutation}", Counter())[result.kind] += 1
            if result.kind == "fault":
                faults += 1
                print(f"{case}: {result.text}", flush=True)
        worker.close()
    for what, count in counts.items():
        print(f"{what:40} " + ", ".join(f"{kind} {number}" for kind, number in sorted(count.items())))
    total = sum((count for count in counts.values()), Counter[str]())
    print(f"{total.total()} cases: " + ", ".join(f"{kind} {number}" for kind, number in sorted(total.items())))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
