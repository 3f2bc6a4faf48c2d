"""Program that computes an order by inertial flow: graph from standard input, order to standard output.

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

#: Answer of the program when it is ready for the graph.
READY = b"\n"
#: Exit code if memory is short.
NO_MEMORY = 3


def _end_with_parent() -> None:
    """Let the system end this process when the parent ends, which closes the other end of standard input.

    No Python code can do this, since none runs during the library's function. On systems without this feature, the
    process ends after the function.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([0], [], [], 0)[0]:  # the parent has ended already
            sys.exit(1)


def main(folder: str) -> None:
    """Compute the order with the library in a folder."""
    # The parent handles Ctrl-C; on Windows it cannot do so while it waits for this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN if os.name == "posix" else signal.SIG_DFL)
    sys.path.append(folder)
    import routingkit_cch

    graph, answer = sys.stdin.buffer, sys.stdout.buffer
    answer.write(READY)
    answer.flush()
    nodes, edges = array("Q", graph.read(16))
    ends: list[Any] = [memoryview(graph.read(4 * edges)).cast("I") for _ in range(2)]
    places: list[Any] = [memoryview(graph.read(4 * nodes)).cast("f") for _ in range(2)]
    _end_with_parent()
    order = array("I", routingkit_cch.compute_order_inertial(nodes, *ends, *places))
    answer.write(order)
    answer.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except MemoryError:
        sys.exit(NO_MEMORY)
