"""Bucket width of the algorithms that use buckets."""

from __future__ import annotations

from collections.abc import Sequence

from vkssp.algorithm import Parameter, Terminal
from vkssp.graph import UNREACHABLE

#: The parameter.
DELTA = Parameter("delta", 1, UNREACHABLE - 1, None, "width of a bucket, in units of weight")
#: Default bucket width in mean arc weights.
DELTA_PER_MEAN = 100.0


def default_delta(mean: float, per_mean: float = DELTA_PER_MEAN) -> int:
    """Return a bucket width for the mean of a graph's weights.

    Wide buckets relax some arcs more than once but need fewer sweeps, and on a road network the time goes into the
    number of sweeps; the multiple of the mean weight was measured, see docs/performance-log.md.
    """
    return int(min(max(1.0, per_mean * mean), UNREACHABLE - 1))


def first_bucket(
    delta: int, seeds: Sequence[Terminal], targets: Sequence[Terminal], narrower: int = 64
) -> dict[str, int]:
    """Return how the state of a search with a near and a far part begins, but for the length of the near one.

    That for a target begins with a bucket that is so many times narrower, so that a near one need not wait for all of a
    wide one. Each is twice as wide as the one before, up to `delta`; see widened() in shaders/include/distance.glsl.
    """
    low = min(offset for _, offset in seeds)
    first = max(1, delta // narrower) if targets else delta
    return {
        "delta": first,
        "widest": delta,
        "low": low,
        "threshold": min(low + first, UNREACHABLE),
        "far_nearest": UNREACHABLE,
        "buckets": 1,
    }
