"""Program that ``vkssp doctor`` runs in a process of its own, since drivers may crash or hang.

It prints the result of one probe as JSON: ``list`` lists the Vulkan devices, ``device N`` searches on one of them,
``cpu`` by compiled code, and ``default`` on the device that is used if none is named.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vkssp.terminal import print_json

#: A small road network with coordinates; drivers compile the kernels of large ones.
_GRAPH = "road:24"


def _list() -> dict[str, Any]:
    from vkssp.gpu.instance import list_devices
    from vkssp.gpu.libraries import loaded_libraries

    found = list_devices()
    try:
        loaded = [path for path in loaded_libraries() if Path(path).name.startswith("libvulkan.")]
    except OSError:  # only Linux lists them
        loaded = []
    devices = [
        {
            "index": one.index,
            "name": one.name,
            "kind": one.kind_name,
            "driver": one.driver,
            "api_version": one.api_version,
            "unusable": one.unusable,
        }
        for one in found
    ]
    return {"loader": loaded[0] if loaded else "", "devices": devices}


def _search(device: int | str | None) -> dict[str, Any]:
    """Search on a device, and compare the distances with those of a search in Python."""
    from vkssp.generate import from_expression
    from vkssp.solver.solver import Solver

    graph = from_expression(_GRAPH)
    began = time.perf_counter()
    with Solver(graph, device=device) as solver:
        made = time.perf_counter()
        found = solver.distances(0).tolist()
        searched = time.perf_counter()
        answering, algorithm = solver.answered_by
    wanted = _distances(graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist())
    wrong = sum(one != other for one, other in zip(found, wanted, strict=True))
    return {
        "device": answering.info.name,
        "algorithm": algorithm,
        "setup_s": made - began,
        "search_s": searched - made,
        "wrong": wrong,
    }


def _distances(first_out: list[int], head: list[int], weight: list[int]) -> list[int]:
    """Return the distances from node 0 by Dijkstra's algorithm."""
    found = [2**32 - 1] * (len(first_out) - 1)
    found[0] = 0
    queue = [(0, 0)]
    while queue:
        far, node = heapq.heappop(queue)
        if far == found[node]:
            for arc in range(first_out[node], first_out[node + 1]):
                if far + weight[arc] < found[head[arc]]:
                    found[head[arc]] = far + weight[arc]
                    heapq.heappush(queue, (far + weight[arc], head[arc]))
    return found


def _cpu() -> dict[str, Any]:
    from vkssp.jit import kernels
    from vkssp.jit_cache import folder_of

    found = _search("cpu")
    compiled = vars(kernels("vkssp.cpu.kernels.dijkstra")).values()
    folder, reason = folder_of(next(one.py_func for one in compiled if hasattr(one, "py_func")))
    return {**found, "cache": None if folder is None else str(folder), "cache_trouble": reason}


def main(arguments: list[str]) -> int:
    """Run a probe, and print its result or its error as JSON."""
    probes: dict[str, Callable[[], dict[str, Any]]] = {
        "list": _list,
        "cpu": _cpu,
        "default": lambda: _search(None),
        "device": lambda: _search(int(arguments[1])),
    }
    try:
        print_json(probes[arguments[0]]())
    except Exception as error:
        print_json({"error": " ".join(f"{error or type(error).__name__}".split())})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
