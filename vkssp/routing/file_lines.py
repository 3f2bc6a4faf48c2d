"""Lines of a file that places stand in, for errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class FileLines(NamedTuple):
    """Lines of a file, by the numbers of the places that stand in them.

    Attributes
    ----------
    path : Path
        The file.
    kind : str
        What the file has: ``"line"``, counted from 1 with the header, ``"row"``, ``"feature"`` or ``"entry"``, from 0
        on, or ``"track point"``, from 1 on.
    numbers : sequence of int
        The line of each place.
    """

    path: Path
    kind: str
    numbers: Sequence[int]

    def of(self, place: int) -> str:
        """Return the file and the line of a place, such as ``trips.csv, line 5``."""
        return f"{self.path}, {self.kind} {self.numbers[place]}"
