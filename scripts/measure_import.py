#!/usr/bin/env python3
"""Times and memory of imports of a large extract, on some numbers of cores, each in a process of its own.

  scripts/measure_import.py iceland-latest.osm.pbf --nodes 103000000 --cores 2 16

makes an extract of copies (scripts/tile_extract.py) in a temporary folder, and imports it and the source with each
value of --turns. The column "one thread" has the seconds in which at most one thread was at work. With --stages, each
stage of an import has its seconds and its processor time: where they are equal, one thread did all the work. First the
source is imported once more, which is not measured, so that all code has been compiled. Graphs made on different
numbers of cores must be the same, byte for byte. Linux only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import commit
from vkssp.bench.result import save_result, table
from vkssp.errors import FormatError
from vkssp.options import file_name
from vkssp.osm.profile import TURNS
from vkssp.terminal import print_lines

#: Seconds between two looks at the threads of an import.
EACH_S = 0.01


def num_at_work(process: int) -> int:
    """Return how many threads of a process run, or wait for the disk."""
    found = 0
    for path in Path(f"/proc/{process}/task").glob("*/stat"):
        try:
            found += path.read_text().rpartition(")")[2].split()[0] in ("R", "D")
        except OSError:  # the thread has ended
            continue
    return found


def measure(extract: Path, graph: Path, turns: str, cores: int) -> dict[str, Any]:
    """Import an extract on some cores, and return what it took."""
    command = [sys.executable, "-m", "vkssp", "import", str(extract), str(graph), "--turns", turns, "--json", "-q"]
    some = sorted(os.sched_getaffinity(0))[:cores]
    began, looks = time.perf_counter(), [0, 0]
    with tempfile.TemporaryFile("w+") as out:
        # The child process inherits the cores.
        every = os.sched_getaffinity(0)
        os.sched_setaffinity(0, some)
        try:
            child = subprocess.Popen(command, stdout=out)
        finally:
            os.sched_setaffinity(0, every)
        while True:
            process, status, usage = os.wait4(child.pid, os.WNOHANG)
            if process:
                break
            looks[num_at_work(child.pid) > 1] += 1
            time.sleep(EACH_S)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise FormatError(f"the import of {extract} failed with exit code {child.returncode}")
        out.seek(0)
        report = json.load(out)
    return {
        "extract": extract.name,
        "turns": turns,
        "cores": len(some),
        "seconds": seconds,
        "alone_s": seconds * looks[0] / max(1, sum(looks)),
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
        # The start of the program comes before the import, which measures itself.
        "stages": {"start and end": seconds - sum(report["stages"].values()), **report["stages"]},
        "processor": report["processor"],
        "nodes": report["nodes"],
        "arcs": report["arcs"],
        "digest": digest(graph),
    }


def digest(path: Path) -> str:
    """Return a digest of a file."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def lines_of(rows: list[dict[str, Any]]) -> list[str]:
    """Return measurements as a table."""
    return table(
        ["extract, turns", "cores", "seconds", "one thread", "user", "system", "GiB"],
        [
            [
                f"{row['extract']}, {row['turns']}",
                str(row["cores"]),
                *(f"{row[name]:.2f}" for name in ("seconds", "alone_s", "user_s", "system_s")),
                f"{row['peak_bytes'] / 2**30:.2f}",
            ]
            for row in rows
        ],
    )


def stages_of(row: dict[str, Any]) -> list[str]:
    """Return the stages of an import as a table."""
    processor = row["processor"]
    return table(
        ["stage", "seconds", "processor"],
        [
            [name, f"{seconds:.2f}", f"{processor[name]:.2f}" if name in processor else "-"]
            for name, seconds in row["stages"].items()
        ],
    )


def check_same(rows: list[dict[str, Any]]) -> None:
    """Raise `FormatError` if imports of one extract made different graphs."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        if found.setdefault((row["extract"], row["turns"]), row["digest"]) != row["digest"]:
            raise FormatError(f"{row['extract']} with {row['turns']} gives another graph on {row['cores']} cores")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="EXTRACT", help="the extract to copy, a .osm.pbf file")
    parser.add_argument("--nodes", type=int, metavar="N", help="approximate number of nodes (default: no copies)")
    parser.add_argument("--turns", nargs="+", choices=TURNS, default=["none", "costs"], help="(default: none costs)")
    parser.add_argument("--cores", type=int, nargs="+", metavar="N", help="numbers of cores (default: all)")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="imports of each kind (default: 1)")
    parser.add_argument("--stages", action="store_true", help="show the stages of each import")
    parser.add_argument("--folder", type=Path, help="where the extract and graphs are written for a while")
    parser.add_argument("--json", type=file_name, metavar="FILE", help="save the measurements")
    args = parser.parse_args()

    def run() -> None:
        rows: list[dict[str, Any]] = []
        cores = args.cores or [len(os.sched_getaffinity(0))]
        with tempfile.TemporaryDirectory(dir=args.folder) as name:
            folder = Path(name)
            graph = folder / "map.graph"
            extracts = [args.source]
            for turns in args.turns:
                measure(args.source, graph, turns, max(cores))
            if args.nodes:
                began = time.perf_counter()
                extracts.append(folder / "copies.osm.pbf")
                script = Path(__file__).with_name("tile_extract.py")
                command = [sys.executable, str(script), str(args.source), str(extracts[1]), "--nodes", str(args.nodes)]
                if subprocess.run(command, check=False).returncode:
                    raise FormatError("the extract of copies could not be made; see above")
                size = extracts[1].stat().st_size
                print_lines([f"{size / 1e6:.0f} MB of copies in {time.perf_counter() - began:.0f} s"])
            for extract in extracts:
                for turns in args.turns:
                    for number in cores:
                        for _ in range(args.runs):
                            rows.append(measure(extract, graph, turns, number))
                            print_lines(lines_of(rows[-1:]) + (stages_of(rows[-1]) if args.stages else []))
        check_same(rows)
        print_lines(["", *lines_of(rows), "graphs are the same on any number of cores"])
        if args.json:
            save_result(args.json, {"commit": commit(), "rows": rows})

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
