"""Messages of the logger ``vkssp`` on standard error, as much as the user asked for."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from vkssp.terminal import is_terminal, print_error

_NAME = "vkssp"
_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}


class _Printer(logging.Handler):
    """Handler that prints each record as one line; with its time since the start if all records are shown."""

    def __init__(self, began: float | None) -> None:
        super().__init__()
        self._began = began

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        try:
            text = record.getMessage()
            if self._began is not None:
                text = f"{time.perf_counter() - self._began:.2f} s  {text}"
            print_error(text, prefix=f"{_NAME}: ", colour=_COLOURS.get(record.levelno, "bold"))
        except Exception:
            self.handleError(record)


@contextmanager
def messages_shown(verbosity: int) -> Iterator[None]:
    """Print the records of the logger during the block.

    Parameters
    ----------
    verbosity : int
        1: all records, also for debugging; 0: warnings, and on a terminal also notices of what takes long; -1: errors.
    """
    normal = logging.INFO if is_terminal(sys.stderr) else logging.WARNING
    level = {1: logging.DEBUG, -1: logging.ERROR}.get(verbosity, normal)
    logger, printer = logging.getLogger(_NAME), _Printer(time.perf_counter() if verbosity > 0 else None)
    before = logger.level
    logger.addHandler(printer)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(printer)
        logger.setLevel(before)
