"""Resources: what others own, and when each is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vkssp.gpu.recording import Recording
from vkssp.resource import Resource


def all_owned(resource: Resource) -> Iterator[Resource]:
    """Yield the resources that were made from one, and those made from them."""
    for owned in resource.owned:
        yield owned
        yield from all_owned(owned)


def own_recordings(resource: Any) -> list[Recording]:
    """Return the recordings that were made from a resource itself, the oldest first."""
    return [part for part in resource.owned if isinstance(part, Recording)]


def watch_closing(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Resource],
    before: Callable[[Any], object] = lambda closed: None,
    after: Callable[[Any], object] = lambda closed: None,
) -> None:
    """Call functions with each resource of a kind, before it is closed for the first time and after that.

    The functions must not keep the resource: Python 3.11 crashes if one is collected while the patch is undone.
    """
    close = kind.close

    def watched(self: Resource) -> None:
        is_open = not self.closed
        if is_open:
            before(self)
        close(self)
        if is_open:
            after(self)

    monkeypatch.setattr(kind, "close", watched)
