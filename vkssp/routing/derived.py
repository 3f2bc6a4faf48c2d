"""Cache of the routers that were made from another one, without some streets or for another metric."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from vkssp.resource import Resource

_Kept = TypeVar("_Kept", bound=Resource)

#: What was done to the first router, step by step.
Key = tuple[Hashable, ...]


class Derived(Generic[_Kept]):
    """Routers by what makes them differ from the first one, which shares the cache with all of them.

    The router that was asked for least recently is dropped when there are too many; it is closed when nobody uses it
    any more.

    Parameters
    ----------
    most : int
        Number of routers that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._routers: OrderedDict[Key, _Kept] = OrderedDict()

    def get(self, key: Key) -> _Kept | None:
        """Return the router of a key, None if it is not kept."""
        with self._lock:
            return self._routers.get(key)

    def put(self, key: Key, router: _Kept) -> None:
        """Keep a router as the one that was asked for last."""
        with self._lock:
            self._routers[key] = router
            self._routers.move_to_end(key)
            while len(self._routers) > self._most:
                self._routers.popitem(last=False)

    def close(self) -> None:
        """Close the routers that are kept."""
        with self._lock:
            routers = list(self._routers.values())
        for router in routers:
            router.close()
