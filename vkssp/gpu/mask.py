"""Mask of what a device can do, so that tests see a device with lower limits or without a feature.

The environment variable VKSSP_MASK holds words: ``storage_range=65536`` lowers the limit of `Limits` of this name, and
``-int64`` takes a feature of `DeviceInfo.features` away. A limit is never raised, so that a masked device keeps its
promises. Graphs of a few MiB then take the paths of the code that are meant for graphs of many GiB.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from vkssp.checks import shown
from vkssp.errors import DeviceError

#: Environment variable that holds the mask.
MASK_VARIABLE = "VKSSP_MASK"


def masked(
    limits: dict[str, Any], features: Collection[str], known: Collection[str]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the limits and features of a device that the mask leaves.

    Parameters
    ----------
    limits : dict of str to int or float
        Limits by the names of the fields of `Limits`.
    features : collection of str
        Features, as `DeviceInfo.features` names them.
    known : collection of str
        Features that any device may have.

    Raises
    ------
    DeviceError
        If a word of the mask is neither a limit with a whole number from 1 on nor a feature that is taken away.
    """
    left, lowered = set(features), dict(limits)
    for word in os.environ.get(MASK_VARIABLE, "").replace(",", " ").split():
        name, _, value = word.partition("=")
        if word[:1] == "-" and word[1:] in known:
            left.discard(word[1:])
        elif isinstance(limits.get(name), int) and value.isdecimal() and int(value):
            lowered[name] = min(limits[name], int(value))
        else:
            names = ", ".join(each for each, limit in limits.items() if isinstance(limit, int))
            raise DeviceError(
                f"{MASK_VARIABLE} has {shown(word)}; give limits like storage_range=65536 ({names}), or features to do "
                f"without, like -int64 ({', '.join(sorted(known))})"
            )
    return lowered, frozenset(left)
