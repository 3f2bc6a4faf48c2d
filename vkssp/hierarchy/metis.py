"""Partitions and orders of graphs by METIS: in this process for small graphs, in separate ones for others.

G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", 1998. No other
Python code of a process can run during the library's functions, which take seconds for a million nodes. Ctrl-C and
other threads would wait for them.
"""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.errors import GraphError, MemoryShortageError, QueryError, VksspError
from vkssp.hierarchy import metis_process
from vkssp.hierarchy.edges import Int32s

#: Number of nodes up to which this process computes an order. That takes up to a tenth of a second, as long as the
#: start of another process.
MOST_NODES_HERE = 16384
#: Most neighbours of all nodes: the library has 32 bits with a sign for each number.
MOST_NEIGHBOURS = 2**31 - 1
# The same in all runs, so that a graph always gets the same hierarchy.
_SEED = 1


def require_metis() -> Any:
    """Return the module pymetis.

    Raises
    ------
    QueryError
        If pymetis cannot be imported.
    """
    try:
        return importlib.import_module("pymetis")
    except ImportError as error:
        raise QueryError(
            f"preparing a graph needs pymetis ({error}); install it by 'pip install pymetis', which needs a C++ "
            "compiler on some systems, or by 'conda install -c conda-forge pymetis', or prepare the graph elsewhere"
        ) from None


class MetisProcess:
    """Process that computes partitions and orders, one after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    def ask(
        self,
        first: Int32s,
        neighbour: Int32s,
        parts: int = 1,
        weights: tuple[Int32s, Int32s] | None = None,
        number: int = 0,
    ) -> Int32s:
        """Return the part of each node, or, for one part, the nodes in an order for elimination, shape (num_nodes,).

        Where no process can be started, this one computes.

        Parameters
        ----------
        first, neighbour : numpy.ndarray
            Offsets of the neighbours of each node, and the neighbours, int32.
        parts : int
            Number of parts.
        weights : tuple of numpy.ndarray, optional
            Weight of each node and of the edge to each neighbour, int32, for parts that are equally heavy and have
            light edges between them.
        number : int
            Number of the try; each one has other random numbers, the same in all runs.

        Raises
        ------
        GraphError
            If the library cannot number the neighbours of all nodes.
        MemoryShortageError
            If there is too little memory.
        VksspError
            If the library fails.
        """
        if len(neighbour) > MOST_NEIGHBOURS:
            raise GraphError(
                f"METIS can number {MOST_NEIGHBOURS:,} neighbours of nodes, and the graph that it has to divide has "
                f"{len(neighbour):,}; prepare parts of it, or search it without preparing it, such as by near_far"
            )
        num_nodes = len(first) - 1
        if num_nodes == 0:
            return np.zeros(0, np.int32)
        if (num_nodes <= MOST_NODES_HERE and parts == 1) or not self._is_running():
            found = metis_process.answer(require_metis(), first, neighbour, parts, _SEED + number, weights)
            return np.array(found, np.int32)
        assert self._process is not None
        graph: Any = self._process.stdin
        answer: Any = self._process.stdout
        found = np.empty(num_nodes, np.int32)
        with suppress(BrokenPipeError):  # the exit code says more
            asked = np.array([num_nodes, len(neighbour), parts, _SEED + number, weights is not None], np.uint64)
            for array in (asked, first, neighbour, *(weights or ())):
                graph.write(array.data)
            graph.flush()
        if answer.readinto(found.data.cast("B")) != found.nbytes:
            raise _failure(num_nodes, self._process.wait())
        return found

    def _is_running(self) -> bool:
        """Start the process unless it runs; return False if none can start."""
        # In programs that embed Python, `sys.executable` is the program.
        if self._process is None and "python" in Path(sys.executable or "").name.lower():
            library = Path(require_metis().__file__).parent.parent
            folders = [str(library), *filter(None, sys.path)]  # the library imports others
            command = [sys.executable, "-I", "-S", metis_process.__file__, *folders]
            with suppress(OSError):
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
                output: Any = self._process.stdout
                self._is_ready = output.read(1) == metis_process.READY
        return self._is_ready

    def close(self) -> None:
        """End the process at once; may be called at any moment, also while another thread waits for it."""
        process = self._process
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError, ValueError):  # what was not written, or another thread reads
                    stream.close()  # type: ignore[union-attr]


def _failure(num_nodes: int, code: int) -> VksspError:
    """Return the error for the exit code of the process."""
    what = f"the order of {num_nodes:,} nodes was not computed: its process"
    if code in (metis_process.NO_MEMORY, -signal.SIGABRT, -getattr(signal, "SIGKILL", 9)):
        return MemoryShortageError(f"{what} ran out of memory, or was killed; use a smaller graph, or free memory")
    return VksspError(f"{what} ended with {code}; try again, or search the graph without preparing it")
