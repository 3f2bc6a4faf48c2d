"""Errors about places of files: which line of a file a place stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vkssp.errors import VksspError

if TYPE_CHECKING:
    from vkssp.routing.file_lines import FileLines

# What errors call a place of many: "origin 4", "places[4]", or "via1_lat,via1_lon of pair 4".
_NUMBERED = re.compile(r"(?:.* of )?(\w+)[ \[](\d+)\]?")


@contextmanager
def naming_lines(lines_of: Mapping[str, FileLines], first: int = 0) -> Iterator[None]:
    """Put the file and the line of a place before errors about it.

    Parameters
    ----------
    lines_of : dict of str to FileLines
        Lines of the places, by what errors call one of them, such as ``origin``.
    first : int
        Number of the first place in errors.
    """
    try:
        yield
    except VksspError as error:
        match = _NUMBERED.fullmatch(error.place or "")
        lines = None if match is None else lines_of.get(match[1])
        if match is None or lines is None:
            raise
        raise type(error)(f"{lines.of(int(match[2]) - first)}: {error}") from None
