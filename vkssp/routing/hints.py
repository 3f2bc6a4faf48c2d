"""Hints: texts that name the piece of a street that a place was snapped to, so that the search can be left out."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.routing.lines import Polylines, Snap

# Version, digest of the streets, street, piece, latitude and longitude of the place.
_FORMAT = struct.Struct("<B8sIIdd")
_VERSION = 1


class Hints:
    """Hints of the streets of a graph; no part of them depends on weights.

    Parameters
    ----------
    polylines : Polylines
        The streets.
    point_node : numpy.ndarray, optional
        OSM node id of each point, int64.

    """

    def __init__(self, polylines: Polylines, point_node: npt.NDArray[np.int64] | None) -> None:
        self._polylines, self._point_node = polylines, point_node

    @cached_property
    def ways(self) -> npt.NDArray[np.uint8]:
        """For each polyline, whether arcs run along it forward (1), backward (2) or both ways (3)."""
        lines, found = self._polylines, np.zeros(len(self._polylines.first) - 1, np.uint8)
        for backward, bit in ((False, 1), (True, 2)):
            found[np.unique(lines.polyline_of[lines.backward == backward])] |= bit
        return found

    @cached_property
    def digest(self) -> bytes:
        """Digest of the streets, 8 bytes."""
        found = hashlib.blake2b(digest_size=8)
        for array in self._polylines:
            found.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return found.digest()

    def encode(self, lat: float, lon: float, snap: Snap) -> str:
        """Return the hint of a place that was snapped to a point."""
        packed = _FORMAT.pack(_VERSION, self.digest, snap.polyline, snap.segment, lat, lon)
        return base64.urlsafe_b64encode(packed).decode("ascii")

    def decode(self, hint: str, lat: float, lon: float) -> tuple[int, int] | None:
        """Return street and piece that a hint names; None if it is not a hint of this place and these streets."""
        try:
            version, digest, line, piece, *place = _FORMAT.unpack(base64.b64decode(hint, b"-_", validate=True))
        except (binascii.Error, struct.error, ValueError):
            return None
        first = self._polylines.first
        if version != _VERSION or digest != self.digest or place != [lat, lon] or line >= len(first) - 1:
            return None
        return (line, piece) if piece < first[line + 1] - first[line] - 1 else None

    def nodes(self, snap: Snap) -> tuple[int, int] | None:
        """Return the OSM ids of the two ends of the piece that a point lies on, in the direction of travel."""
        if self._point_node is None:
            return None
        at = self._polylines.first.item(snap.polyline) + snap.segment
        ends = self._point_node.item(at), self._point_node.item(at + 1)
        return ends[::-1] if self.ways.item(snap.polyline) == 2 else ends
