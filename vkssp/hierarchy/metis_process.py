"""Program that calls METIS: graphs from standard input, partitions or orders of them to standard output.

It runs as a separate file and imports neither this package nor numpy, so that it starts in a few hundredths of a
second.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Answer of the program when it is ready for a graph.
READY = b"\n"
#: Exit code if memory is short.
NO_MEMORY = 3


def _end_with_parent() -> None:
    """Let the system end this process when the parent ends, which closes the other end of standard input.

    No Python code can do this, since none runs during the library's functions. On systems without this feature, the
    process ends after the function.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([0], [], [], 0)[0]:  # the parent has ended already
            sys.exit(1)


def _listen_only() -> None:
    """Undo `_end_with_parent`, so that the next graph does not end the process."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) & ~os.O_ASYNC)


def answer(metis: Any, first: Any, neighbour: Any, parts: int, seed: int, weights: Any) -> Any:
    """Return the part of each node or, if there is one part, the nodes in an order for elimination.

    Parameters
    ----------
    metis : module
        The module pymetis.
    first, neighbour : buffer
        Offsets of the neighbours of each node, and the neighbours, int32.
    parts : int
        Number of parts, or 1 for an order.
    seed : int
        Seed of the library's random numbers.
    weights : tuple of buffer or None
        Weights of nodes and edges, int32, for parts.
    """
    graph, options = metis.CSRAdjacency(first, neighbour), metis.Options(seed=seed)
    if parts == 1:
        return metis.nested_dissection(graph, options=options)[0]
    of_nodes, of_edges = weights or (None, None)
    return metis.part_graph(parts, graph, vweights=of_nodes, eweights=of_edges, options=options, recursive=False)[1]


def main(folders: list[str]) -> None:
    """Answer until standard input ends, with the libraries in some folders."""
    # The parent handles Ctrl-C; on Windows it cannot do so while it waits for this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN if os.name == "posix" else signal.SIG_DFL)
    sys.path.extend(folders)
    import pymetis

    asked, answered = sys.stdin.buffer, sys.stdout.buffer
    answered.write(READY)
    answered.flush()
    while size := asked.read(40):
        nodes, entries, parts, seed, is_weighted = array("Q", size)
        counts = (nodes + 1, entries, nodes, entries) if is_weighted else (nodes + 1, entries)
        first, neighbour, *weights = (memoryview(asked.read(4 * count)).cast("i") for count in counts)
        _end_with_parent()
        found = array("i", answer(pymetis, first, neighbour, parts, seed, weights))
        if len(found) != nodes:
            sys.exit(1)
        _listen_only()
        answered.write(found)
        answered.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MemoryError:
        sys.exit(NO_MEMORY)
