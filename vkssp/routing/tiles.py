"""Raster tiles of other hosts behind a map."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from vkssp.checks import shown
from vkssp.errors import QueryError

#: Address of a tile: a host, perhaps with a port and with ``{s}`` for one of several, and a path. No character of it
#: may end an entry of a page's security policy.
_ADDRESS = re.compile(r"(https?)://((?:\{s\}\.)?[A-Za-z0-9.-]+(?::[0-9]{1,5})?)(/[^\s\"'<>\\;,^`|]*)\Z")


@dataclass(frozen=True)
class Tiles:
    """Raster tiles that a page asks other hosts for.

    Attributes
    ----------
    url : str
        Address of a tile, with ``{z}``, ``{x}`` and ``{y}``, and perhaps ``{s}`` before the host, for a, b or c, and
        ``{r}``, for @2x on dense screens.
    attribution : str
        Text that credits the makers of the tiles.

    Raises
    ------
    QueryError
        If the address is none of tiles.
    """

    url: str
    attribution: str = ""

    def __post_init__(self) -> None:
        """Check the address."""
        found = _ADDRESS.match(self.url) if isinstance(self.url, str) else None
        if found is None or not all(part in found[3] for part in ("{z}", "{x}", "{y}")):
            cure = "give an address of https with {z}, {x} and {y}, such as https://tiles.example.org/{z}/{x}/{y}.png"
            raise QueryError(f"tiles is {shown(self.url)}; {cure}")
        if not isinstance(self.attribution, str):
            raise QueryError(f"attribution is {shown(self.attribution)}; give a text")

    @property
    def origin(self) -> str:
        """Hosts of the tiles, as a page's security policy names them."""
        found = _ADDRESS.match(self.url)
        assert found is not None
        return f"{found[1]}://{found[2].replace('{s}', '*')}"


def checked_tiles(tiles: Any) -> Tiles | None:
    """Return tiles, given as they are, or by their address; raise `QueryError` if they are neither."""
    return tiles if isinstance(tiles, Tiles | None) else Tiles(tiles)
