#!/usr/bin/env python3
"""Results that stay on the device, beside the same results in memory of the host: milliseconds, and what libraries see.

  scripts/measure_device_results.py USA-road-t.NY.gr.gz --device 0
  scripts/measure_device_results.py road:64 --device 0 --trees 1 64 --table 100 --calls 5

The graph is prepared and searched by `phast`. Each row has the median and the quartiles of calls that return the
results on the device and of calls that return them to the host, which take turns, and the time on the device. Each
result is compared with the host's by torch and by cupy, where they are installed, and by NumPy. Then follow the parts
of which the memory of the largest result costs time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp import Device, DeviceArray, QueryError, Solver, prepare
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import table
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.exporting import shared_blocks
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines


def spread(seconds: list[float], share: int = 1) -> str:
    """Return the median and the quartiles in milliseconds, of each of some parts."""
    low, middle, high = np.quantile(np.array(seconds) * 1e3 / share, [0.25, 0.5, 0.75])
    return f"{middle:.4g} ({low:.4g}..{high:.4g})"


def timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    began = time.perf_counter()
    result = ask()
    return time.perf_counter() - began, result


def compare(found: DeviceArray, expected: npt.NDArray[Any]) -> list[str]:
    """Compare a result with the host's by each library, and return the names of those that were there.

    Raises
    ------
    SystemExit
        If a library sees something else.
    """
    seen: dict[str, Any] = {"numpy": found.numpy()}
    if find_spec("torch"):
        import torch  # type: ignore[import-not-found,unused-ignore]

        tensor = torch.from_dlpack(found)
        pointers = {tensor.data_ptr()}
        seen["torch"] = tensor.cpu().numpy()
        if found.device != "cpu":
            by_interface = torch.as_tensor(found, device=found.device)
            pointers.add(by_interface.data_ptr())
            seen["torch, by CUDA's interface"] = by_interface.cpu().numpy()
        if len(pointers) > 1:
            raise SystemExit("torch has copied the array")
        total = torch.from_dlpack(found).view(torch.int32).to(torch.int64).sum().item()
        if total != int(expected.view(np.int32).sum(dtype=np.int64)):
            raise SystemExit(f"torch's sum is {total}")
    if find_spec("cupy") and found.device != "cpu":
        import cupy  # type: ignore[import-not-found,unused-ignore]

        array = cupy.from_dlpack(found)
        seen["cupy"] = array.get()
        seen["cupy, by CUDA's interface"] = cupy.asarray(found).get()
        if int(array.max()) != int(expected.max()):
            raise SystemExit("cupy's largest value is another")
    for name, values in seen.items():
        if not np.array_equal(values, expected):
            raise SystemExit(f"{name} sees other values than the host")
    return list(seen)


def memory_parts(device: Device, nbytes: int) -> list[str]:
    """Return a line with the times of the memory of a result: allocation, import, and its end."""
    blocks = shared_blocks(device)
    if blocks is None:
        return []
    parts: dict[str, list[float]] = {"allocation": [], "import": [], "closing": [], "end": []}
    for _ in range(10):
        seconds, buffer = timed(lambda: Buffer(device, nbytes, name="a result", exported=True))
        parts["allocation"].append(seconds)
        seconds, memory = timed(lambda buffer=buffer: blocks.importer.take(buffer))  # type: ignore[misc]
        parts["import"].append(seconds)
        parts["closing"].append(timed(buffer.close)[0])
        began = time.perf_counter()
        del memory
        parts["end"].append(time.perf_counter() - began)
    parts_ms = ", ".join(f"{name} {spread(seconds)}" for name, seconds in parts.items())
    return ["", f"memory of {nbytes / 2**20:,.0f} MiB, milliseconds: {parts_ms}"]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument("--trees", type=int, nargs="+", default=[1, 16, 256, 1024], help="trees at once")
    parser.add_argument("--table", type=int, nargs="*", default=[1000], help="rows and columns of square tables")
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs at once")
    parser.add_argument("--calls", type=int, default=30, help="calls of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest)")
    args = parser.parse_args()

    def run() -> None:
        if min(*args.trees, args.pairs, args.calls, *args.table, 1) < 1:
            raise QueryError("--trees, --table, --pairs and --calls take 1 or more")
        graph = read_graph(args.graph)
        ready = graph if graph.hierarchy is not None else prepare(graph, progress=True)
        rng, rows, largest, seen = np.random.default_rng(args.seed), [], 0, list[str]()
        with Device(args.device) as device, Solver(ready, "phast", device) as solver:
            asked: list[tuple[str, int, Callable[[], DeviceArray], Callable[[], npt.NDArray[Any]]]] = []
            for count in args.trees:
                nodes: Any = rng.integers(graph.num_nodes, size=count) if count > 1 else graph.num_nodes // 2
                on_device = lambda nodes=nodes: solver.distances_on_device(nodes)  # noqa: E731
                asked.append((f"{count:,} trees", count, on_device, lambda nodes=nodes: solver.distances(nodes)))
                largest = max(largest, 4 * count * graph.num_nodes)
            for side in args.table:
                ends = rng.integers(graph.num_nodes, size=(2, side))
                asked.append(
                    (
                        f"table, {side:,} x {side:,}",
                        1,
                        lambda ends=ends: solver.table_on_device(*ends),
                        lambda ends=ends: solver.table(*ends),
                    )
                )
            ends = rng.integers(graph.num_nodes, size=(2, args.pairs))
            of_pairs = lambda ends=ends: solver.pairs_on_device(*ends)  # noqa: E731
            asked.append((f"{args.pairs:,} pairs", 1, of_pairs, lambda ends=ends: solver.pairs(*ends)))
            for name, share, on_device, on_host in asked:
                seen = compare(on_device(), on_host())
                times: tuple[list[float], list[float]] = [], []
                for _ in range(args.calls):
                    times[0].append(timed(on_device)[0])
                    times[1].append(timed(on_host)[0])
                rows.append((name, *(spread(one, share) for one in times)))
            parts = memory_parts(device, largest)
            where = where_and_when(device)
        lines = [
            f"{where['device']['name']} ({where['device']['driver']}), {where['commit']}; {args.graph}, "
            f"{graph.num_nodes:,} nodes; milliseconds, of each tree; medians and quartiles "
            f"of {args.calls} calls; the same for {', '.join(seen)}",
            "",
            *table(("", "left on the device", "in memory of the host"), rows),
            *parts,
        ]
        print_lines(lines)

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
