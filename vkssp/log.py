"""Logger ``vkssp`` and its children, for all messages of the library, which prints nothing itself.

A program that wants the messages sets the logger up, such as by ``logging.basicConfig(level="DEBUG")``. Levels:
warnings tell what may be wrong, notices (INFO) what takes long, and DEBUG what is done and how long it takes.
"""

from __future__ import annotations

import logging

#: Name of the logger.
NAME = "vkssp"
# Without a handler, Python would print warnings.
logging.getLogger(NAME).addHandler(logging.NullHandler())


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, given by its name."""
    return logging.getLogger(name)
