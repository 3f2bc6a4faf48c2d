"""Bucket width of the algorithms that use buckets."""

from __future__ import annotations

from collections.abc import Sequence

from vkssp.algorithm import Parameter, Terminal
from vkssp.graph import UNREACHABLE

#: Parameter of the bucket width.
DELTA = Parameter("delta", 1, UNREACHABLE - 1, None, "width of a bucket, in units of weight", is_distance=True)
#: Default bucket width in mean arc weights.
DELTA_PER_MEAN = 100.0


def default_delta(mean: float, per_mean: float = DELTA_PER_MEAN, most: int = UNREACHABLE - 1) -> int:
    """Return a bucket width for the mean of a graph's weights.

    Wide buckets relax some arcs more than once but need fewer iterations, and on a road network the number of
    iterations determines the time. The multiple of the mean weight was measured, see docs/performance-log.md.
    """
    return int(min(max(1.0, per_mean * mean), most))


def first_bucket(
    delta: int,
    seeds: Sequence[Terminal],
    targets: Sequence[Terminal],
    narrower: int = 64,
    unreachable: int = UNREACHABLE,
) -> dict[str, int]:
    """Return the initial state of a search with near and far nodes, except for the number of near nodes.

    A search with targets begins with a bucket that is `narrower` times narrower than `delta`, so that a target close to
    the seeds does not wait for a whole wide bucket. Each bucket is twice as wide as the last, up to `delta`; see
    widened() in shaders/include/distance.glsl.
    """
    low = min(offset for _, offset in seeds)
    first = max(1, delta // narrower) if targets else delta
    return {
        "delta": first,
        "widest": delta,
        "low": low,
        "threshold": min(low + first, unreachable),
        "far_nearest": unreachable,
        "buckets": 1,
    }
