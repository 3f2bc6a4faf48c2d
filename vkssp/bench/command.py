"""Work of the command ``vkssp bench``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from vkssp.bench.experiment import DEFAULT_RUNS, SUITE, Experiment, Run
from vkssp.bench.measuring import measure
from vkssp.bench.peers import peer_names
from vkssp.bench.result import compare_lines, graph_lines, load_result, save_csv, save_result, tuned_values
from vkssp.errors import QueryError
from vkssp.files import check_writable, is_standard
from vkssp.options import reading


def bench(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Measure an experiment, or compare results."""
    if args.compare:
        given = (args.graphs, args.suite, args.run, args.algorithms, args.peers, args.json_file, args.csv_file)
        if any(given):
            raise QueryError("--compare only reads results; measure first, with --json, and then compare the files")
        if len(args.compare) < 2:
            raise QueryError("--compare takes two results or more; give another that 'vkssp bench --json' wrote")
        results = [load_result(path) for path in args.compare]
        return {"results": results}, compare_lines(results)
    if args.json_file:
        check_writable(args.json_file, args.csv_file, *args.graphs, content="JSON")
    if args.csv_file:
        check_writable(args.csv_file, *args.graphs, content="CSV")
    experiment = _experiment(args)

    wanted = [(path, save) for path, save in ((args.json_file, save_result), (args.csv_file, save_csv)) if path]

    # The result is saved after each run, so that Ctrl-C or the loss of the device does not cost hours of work.
    def keep(result: dict[str, Any]) -> None:
        for path, save in wanted:
            if not is_standard(path):
                save(path, result)

    result = measure(experiment, args.device, progress=args.verbosity >= 0, each=keep)
    for path, save in wanted:
        if is_standard(path):  # all of it, and once
            save(path, result)
    device, version = result["device"], result["commit"] or result["vkssp"]
    api = f", Vulkan {device['api_version']}" if device["api_version"] else ""
    lines = [f"{device['name']} ({device['driver']}{api}), vkssp {version}", *tuned_values(result)]
    lines.append(f"beside {result['host']['cpu']}; milliseconds on the device, medians; all distances verified")
    if experiment.peers:
        lines.append("other libraries: milliseconds of the call")
    for graph in result["graphs"]:
        lines += ["", *graph_lines(graph)]
    for path, _ in wanted:
        lines += ["", f"wrote {path}"]
    return result, lines


def _experiment(args: argparse.Namespace) -> Experiment:
    """Return the experiment that the arguments describe."""
    names = [name for name in args.algorithms.split(",") if name]
    runs = [*map(Run, names), *map(Run.parse, args.run)]
    given = {
        "peers": peer_names(args.peers) or None,
        "sources": args.sources,
        "seed": args.seed,
        "repetitions": args.repetitions,
        "limit_s": args.limit,
        "reading": reading(args),
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if args.suite:
        if args.graphs or runs:
            raise QueryError("--suite has graphs and algorithms of its own; leave them out, or leave --suite out")
        return dataclasses.replace(SUITE, **changes)
    if not args.graphs:
        raise QueryError("there is no graph; give one, such as road:1024 or a file, or --suite")
    return Experiment(graphs=args.graphs, runs=runs or DEFAULT_RUNS, **changes)
