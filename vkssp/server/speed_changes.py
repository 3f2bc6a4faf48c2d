"""Changes of speeds as processes send them to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from vkssp.server.own import parsed_speeds


def speed_change(profile: str, speeds: Mapping[int, float]) -> bytes:
    """Return a change: the body of a request that sets the speeds of a profile."""
    return orjson.dumps({"profile": profile, "speeds": {str(way): speed for way, speed in speeds.items()}})


def joined_changes(changes: Iterable[bytes]) -> list[bytes]:
    """Return one change for each profile that does the same as several, one after the other."""
    joined: dict[str, dict[int, float]] = {}
    for change in changes:
        profile, speeds = parsed_speeds(orjson.loads(change))
        joined.setdefault(profile, {}).update(speeds)
    return [speed_change(profile, speeds) for profile, speeds in joined.items()]
