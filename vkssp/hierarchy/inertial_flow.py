"""Orders by inertial flow, computed by RoutingKit: in this process for small graphs, in a separate one for others.

No other Python code can run during the library's function, which takes half a minute for a core of a million nodes.
Ctrl-C and other threads would wait for it, and if memory is short, the function ends its process.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import MemoryShortageError, VksspError
from vkssp.graph import Floats, Uint32s
from vkssp.hierarchy import order_process
from vkssp.hierarchy.extra import require_library
from vkssp.signals import undoing

#: Number of nodes up to which this process computes the order. That takes up to a fifth of a second; the start of
#: another process takes a twentieth.
MOST_NODES_HERE = 16384


def inertial_order(num_nodes: int, tail: Uint32s, head: Uint32s, lat: Floats, lon: Floats) -> Uint32s:
    """Return the nodes of a graph in an order for elimination, shape (num_nodes,), uint32.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    tail, head : numpy.ndarray
        Both nodes of each edge or arc, shape (num_edges,) each.
    lat, lon : numpy.ndarray
        Coordinates of the nodes, both in the same unit, shape (num_nodes,) each.

    Raises
    ------
    MemoryShortageError
        If there is too little memory.
    VksspError
        If the library fails.
    """
    library = require_library()
    if num_nodes == 0:  # the library would crash
        return np.zeros(0, np.uint32)
    arrays = [tail, head, lat.astype(np.float32), lon.astype(np.float32)]
    order = None
    # In programs that embed Python, `sys.executable` is the program.
    if num_nodes > MOST_NODES_HERE and "python" in Path(sys.executable or "").name.lower():
        order = _order_elsewhere(num_nodes, arrays, str(Path(library.__file__).parent.parent))
    if order is None:
        # The library takes sequences; a memoryview is one without a Python object for each number.
        order = np.array(library.compute_order_inertial(num_nodes, *(array.data for array in arrays)), np.uint32)
    return order


def _order_elsewhere(num_nodes: int, arrays: Sequence[npt.NDArray[Any]], folder: str) -> Uint32s | None:
    """Return the order that another process computes with the library in a folder; None if no process can start."""
    command = [sys.executable, "-I", "-S", order_process.__file__, folder]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    graph: Any = process.stdin
    answer: Any = process.stdout
    order = np.empty(num_nodes, np.uint32)
    try:
        with undoing(process.kill):
            if answer.read(1) != order_process.READY:
                return None
            with suppress(BrokenPipeError):  # the exit code says more
                for array in (np.array([num_nodes, len(arrays[0])], np.uint64), *arrays):
                    graph.write(array.data)
                graph.flush()
            # The pipe to the process stays open, since the process ends when the pipe closes.
            if answer.readinto(order.data.cast("B")) == order.nbytes:
                return order
            code = process.wait()
    finally:
        process.wait()
        for stream in (graph, answer):
            with suppress(OSError):
                stream.close()
    raise _failure(num_nodes, code)


def _failure(num_nodes: int, code: int) -> VksspError:
    """Return the error for the exit code of the process."""
    what = f"the order of {num_nodes:,} nodes was not computed: its process"
    if code in (order_process.NO_MEMORY, -signal.SIGABRT, -getattr(signal, "SIGKILL", 9)):
        return MemoryShortageError(f"{what} ran out of memory, or was killed; use a smaller graph, or free memory")
    return VksspError(f"{what} ended with {code}; try again, or search the graph without preparing it")
