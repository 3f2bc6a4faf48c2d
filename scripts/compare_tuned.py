#!/usr/bin/env python3
"""Times of a tuned device beside its default values: what `vkssp tune` has gained, also on other networks.

  vkssp tune && scripts/compare_tuned.py --graph road:1024 --json gain.json

Each measurement of `vkssp tune` runs with the defaults and with the kept values in turn; all answers are compared with
those of the CPU.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from vkssp import Device, DeviceError, QueryError
from vkssp.algorithm import CPU
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import about, save_result, table
from vkssp.bench.tuning import JUDGES, Tuning, WrongAnswersError, case_for, compare
from vkssp.files import check_writable
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines
from vkssp.tunables import changed, defaults


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the times of all measurements on a device."""
    graph = None if args.graph is None else read_graph(args.graph)
    with Device(args.device) as tuned, Device(tuned.info.index) as usual:
        is_software = usual.info.kind == "cpu"
        usual.tuned = defaults(is_software=is_software)
        if not changed(tuned.tuned, is_software=is_software):
            raise QueryError(f"{tuned.info.name} has no values but the defaults; run vkssp tune, or unset VKSSP_TUNED")
        case, rows, left_out = case_for(graph, tuned, Tuning(tuned.info.name, tuned.info.driver)), [], []
        for name, judge in JUDGES.items():
            if judge.graph(case) is None:
                continue
            try:
                with judge.asking(case, CPU) as ask:
                    expected = ask()
                with judge.asking(case, usual) as by_default, judge.asking(case, tuned) as by_tuned:
                    found = compare(by_default, by_tuned, expected)
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
        return {**where_and_when(tuned), **result}


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=file_name, help="road network, such as road:1024 (default: as vkssp tune)")
    parser.add_argument("--device", help="index or part of the name of a Vulkan device (default: the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

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
