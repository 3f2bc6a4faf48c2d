"""Several threads that begin at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def at_once(works: Sequence[Callable[[], object]]) -> None:
    """Do works in a thread each, all beginning together; raise what one of them raises."""
    begin, trouble = threading.Barrier(len(works)), []

    def do(work: Callable[[], object]) -> None:
        begin.wait(60)
        try:
            work()
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=do, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "two wait for each other"
    if trouble:
        raise trouble[0]
