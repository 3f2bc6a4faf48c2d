#!/usr/bin/env python3
"""Times of a tuned device beside its default values: what `vkssp tune` has gained, also on other networks.

  vkssp tune && scripts/compare_tuned.py --graph road:1024 --json gain.json

Each measurement of `vkssp tune` runs with the defaults and with the kept values in turn, in rounds with new solvers,
whose two logical devices take turns at the values. All answers are compared with those of the CPU. A measurement that
reads none of the kept values tells what the comparison is worth.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from vkssp import Device, DeviceError, QueryError
from vkssp.algorithm import CPU
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import about, save_result, table
from vkssp.bench.tuning import JUDGES, Case, Comparison, Judge, Tuning, WrongAnswersError, case_for, compare
from vkssp.files import check_writable
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines
from vkssp.tunables import changed, defaults


def compare_in_rounds(
    judge: Judge,
    case: Case,
    devices: tuple[Device, Device],
    values: tuple[dict[str, int], dict[str, int]],
    expected: np.ndarray[Any, Any],
    rounds: int,
) -> Comparison:
    """Return the medians of the times with both values in all rounds, and their spread between rounds."""
    found = []
    for number in range(rounds):
        by_default, by_tuned = devices[:: -1 if number % 2 else 1]
        by_default.tuned, by_tuned.tuned = values
        with judge.asking(case, by_default) as usual, judge.asking(case, by_tuned) as tuned:
            found.append(compare(usual, tuned, expected, is_candidate_first=number % 2 > 0))
    return Comparison.of([one.best_ms for one in found], [one.candidate_ms for one in found])


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the times of all measurements on a device."""
    graph = None if args.graph is None else read_graph(args.graph)
    with Device(args.device) as first, Device(first.info.index) as second:
        is_software = first.info.kind == "cpu"
        usual, tuned = defaults(is_software=is_software), first.tuned
        if not changed(tuned, is_software=is_software):
            raise QueryError(f"{first.info.name} has no values but the defaults; run vkssp tune, or unset VKSSP_TUNED")
        about_device = where_and_when(first)
        case, rows, left_out = case_for(graph, first, Tuning(first.info.name, first.info.driver)), [], []
        for name, judge in JUDGES.items():
            if judge.graph(case) is None:
                continue
            try:
                with judge.asking(case, CPU) as ask:
                    expected = ask()
                found = compare_in_rounds(judge, case, (first, second), (usual, tuned), expected, args.rounds)
            except DeviceError as error:
                if error.is_lost or isinstance(error, WrongAnswersError):
                    raise
                left_out.append(f"{name}: {error}")
                continue
            rows.append(
                {
                    "measurement": name,
                    "default_ms": found.best_ms,
                    "tuned_ms": found.candidate_ms,
                    "spread_ms": found.spread_ms,
                }
            )
        result = {"graph": args.graph, "measurements": rows, "left_out": left_out}
        return {**about_device, **result}


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=file_name, help="road network, such as road:1024 (default: as vkssp tune)")
    parser.add_argument("--device", help="index or part of the name of a Vulkan device (default: the fastest kind)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds with new solvers (default: %(default)s)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()
    if args.rounds < 2 or args.rounds % 2:
        parser.error("--rounds is odd, or below 2; give an even number, so that both devices are first as often")

    def run() -> None:
        if args.json_file:
            check_writable(args.json_file, content="JSON")
        result = measure(args)
        if args.json_file:
            save_result(args.json_file, result)
        cells = [
            [row["measurement"], *(f"{row[key]:.3f}" for key in ("default_ms", "tuned_ms", "spread_ms"))]
            for row in result["measurements"]
        ]
        print_lines([about(result)])
        print_lines(table(("measurement", "default ms", "tuned ms", "spread"), cells))
        print_lines(f"not measured: {one}" for one in result["left_out"])

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
