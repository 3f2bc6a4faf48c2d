"""Standard input and standard output in the place of files, which the name ``-`` stands for.

What comes by standard input is kept in a temporary file, since most formats need a file that can be read again. Its
ending follows from its first bytes, as readers go by endings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from vkssp.commands.common import READ, WRITTEN
from vkssp.errors import QueryError
from vkssp.log import logger
from vkssp.options import STANDARD, is_standard_output
from vkssp.terminal import is_terminal

# Endings of files that are written in several steps, or are several files.
_ON_DISK = (".gpkg", ".shp", ".shp.zip")
# Endings of files that hold text, which a terminal can show.
_TEXTS = (".csv", ".json", ".geojson", ".html", ".tntp", ".kml", ".gpx")


@contextmanager
def standard_streams(args: argparse.Namespace) -> Iterator[tuple[bool, bool]]:
    """Let arguments that are ``-`` be names of files for standard input and standard output during the block.

    Yields
    ------
    tuple of (bool, bool)
        Whether standard output is an output file, and whether there is any output file.

    Raises
    ------
    QueryError
        If two arguments are the same stream, or if data that are no text would go to a terminal.
    """
    with ExitStack() as stack:
        _read(args, stack)
        written = [name for name in WRITTEN if getattr(args, name, None) is not None]
        is_data = _write(args, stack, [name for name in written if is_standard_output(getattr(args, name))])
        yield is_data, bool(written)


def _read(args: argparse.Namespace, stack: ExitStack) -> None:
    """Put the name of a file with the content of standard input in the place of ``-``."""
    given = [(name, value) for name in READ if (value := getattr(args, name, None)) is not None]
    places = [(name, at) for name, value in given for at, one in enumerate(_listed(value)) if one == STANDARD]
    if not places:
        return
    if len(places) > 1:
        what = " and ".join(name.replace("_", "-") for name, _ in places)
        raise QueryError(f"standard input can be only one of {what}; give files for the others")
    if sys.stdin is None or not hasattr(sys.stdin, "buffer"):
        raise QueryError("standard input is closed; open it, or give a file")
    from vkssp.streams import kept_stream

    if is_terminal(sys.stdin):
        logger(__name__).info("reading standard input; end it with Ctrl-D")
    path = stack.enter_context(kept_stream(sys.stdin.buffer))
    (name, at), value = places[0], getattr(args, places[0][0])
    setattr(args, name, [*value[:at], str(path), *value[at + 1 :]] if isinstance(value, list) else str(path))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _write(args: argparse.Namespace, stack: ExitStack, names: list[str]) -> bool:
    """Put the name that stands for standard output in the place of ``-``; return whether there was one."""
    if len(names) > 1:
        raise QueryError(f"standard output can be only one of {' and '.join(names)}; give files for the others")
    for name in names:
        ending = getattr(args, name)[1:].lower()
        if is_terminal(sys.stdout) and ending not in _TEXTS:
            raise QueryError("these data are no text for a terminal; send standard output to a file or a program")
        from vkssp.files import ZARR, standard_output

        if ending == ZARR:
            raise QueryError("Zarr arrays are a folder, which standard output is not; give a name for it")
        if ending in _ON_DISK:
            raise QueryError(f"{ending} files need a place on a disk, which standard output is not; give a file name")
        setattr(args, name, stack.enter_context(standard_output(ending)))
    return bool(names)
