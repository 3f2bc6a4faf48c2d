"""Basemaps that the live map shows, as stored answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from weakref import WeakKeyDictionary, WeakValueDictionary

import vkssp
from vkssp.graph import Graph
from vkssp.graph.basemap import Basemap
from vkssp.routing.basemap import basemap_payload
from vkssp.server.stored import StoredAnswer, digest_of


class Basemaps:
    """Basemaps of graphs, each encoded and compressed when it is first asked for.

    Parameters
    ----------
    headers : mapping of str to str
        Headers of the answers.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers, self._lock = headers, threading.RLock()
        self._digests: WeakKeyDictionary[Basemap, str] = WeakKeyDictionary()
        # Graphs of several profiles have the same basemap, each a copy of its own.
        self._answers: WeakKeyDictionary[Basemap, StoredAnswer] = WeakKeyDictionary()
        self._by_digest: WeakValueDictionary[str, StoredAnswer] = WeakValueDictionary()

    def digest(self, graph: Graph) -> str:
        """Return a digest of a graph's basemap, which graphs of the same extract share; empty if there is none."""
        basemap = _basemap_of(graph)
        if basemap is None:
            return ""
        with self._lock:
            found = self._digests.get(basemap)
            if found is None:
                found = self._digests[basemap] = _digest(basemap)
            return found

    def answer(self, graph: Graph) -> StoredAnswer | None:
        """Return a graph's basemap as JSON for the page's script ``basemap.js``, or None if there is none."""
        basemap, digest = _basemap_of(graph), self.digest(graph)
        if basemap is None:
            return None
        with self._lock:
            found = self._answers.get(basemap) or self._by_digest.get(digest)
            if found is None:
                # ASCII: names may hold bytes that were not valid UTF-8 in their source.
                body = json.dumps(basemap_payload(basemap), separators=(",", ":")).encode("ascii")
                found = StoredAnswer(body, "application/json", self._headers, digest)
            self._answers[basemap] = self._by_digest[digest] = found
            return found


def _basemap_of(graph: Graph) -> Basemap | None:
    basemap = graph.streets.basemap if graph.streets is not None else None
    return None if basemap is None or not (len(basemap.kind) or len(basemap.place)) else basemap


def _digest(basemap: Basemap) -> str:
    arrays = [getattr(basemap, name).tobytes() for name in Basemap.DTYPES]
    # Another version may encode it in another way.
    rest = json.dumps([vkssp.__version__, basemap.surrounded, [len(array) for array in arrays], basemap.place_names])
    return digest_of(*arrays, rest.encode("ascii"))
