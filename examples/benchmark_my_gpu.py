#!/usr/bin/env python3
"""Times of all distances from random nodes of three kinds of graphs, on each Vulkan device of this machine.

    python examples/benchmark_my_gpu.py [SCALE]     # graphs of about 2^SCALE nodes; 20 by default

`vkssp bench` measures more, checks every distance, and compares with other libraries.
"""

from __future__ import annotations

import sys

import numpy as np

import vkssp
from vkssp.gpu.instance import list_devices

SOURCES = 16


def main(scale: str = "20") -> None:
    """Measure all devices and print a table of medians, in milliseconds on the device."""
    side, nodes = 2 ** (int(scale) // 2), 2 ** int(scale)
    for expression in (f"road:{side}", f"rmat:{scale}", f"random:{nodes // 16},64"):
        graph = vkssp.read_graph(expression)
        sources = np.random.default_rng(1).choice(np.flatnonzero(np.diff(graph.first_out)), SOURCES)
        expected: np.ndarray | None = None
        for device in list_devices():
            with vkssp.Solver(graph, device=device.index) as solver:
                solver.distances(sources[0])  # warms up
                times = []
                for source in sources:
                    found = solver.distances(source)
                    times.append(solver.timings.device_ms)
                # Distances are the same on every device, bit for bit.
                assert expected is None or np.array_equal(found, expected), device.name
                expected = found
                low, median, high = np.percentile(times, [25, 50, 75])
                print(
                    f"{expression:18} {graph.num_arcs:>12,} arcs  {median:9.3f} ms ({low:.3f}..{high:.3f})  "
                    f"{solver.algorithm} on {device.name}"
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
