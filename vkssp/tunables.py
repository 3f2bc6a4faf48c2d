"""Constants that change speed only, and their values on a device: defaults, or what `vkssp tune` measured there.

Each constant has a default for GPUs, mostly measured on an H200, and one for software devices, measured on llvmpipe.
`vkssp tune` measures others, and keeps those that are faster in a file for each device and driver, beside compiled
pipelines. No value changes an answer: each is a size of workgroups or batches, or the work from which on another way
to the same answer is taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkssp.checks import shown
from vkssp.errors import DeviceError
from vkssp.files import atomic_write, cache_folder
from vkssp.log import logger

#: Environment variable that says whether files of values are read: "off", or anything else.
TUNED_VARIABLE = "VKSSP_TUNED"
# Version of the files and of what the constants mean; to be raised when one of them means something else.
_VERSION = 1
# Values that no constant reaches.
_MOST = 1 << 62
_log = logger(__name__)
#: Files that a warning has been given about.
warned: set[str] = set()


@dataclass(frozen=True)
class Tunable:
    """Constant that changes speed only.

    Attributes
    ----------
    gpu, software : int
        Defaults on GPUs and on software devices.
    candidates : tuple of int
        Values that `vkssp tune` tries; any value from the least to the greatest of them and of the defaults is valid.
    judge : str
        Measurement that the value must make faster, one of those in `vkssp.bench.tuning`; empty if it tries no other
        values. The tuner finds by itself which other measurements read the constant.
    reason : str
        What the constant is, and why the default is what it is.
    limit : str
        Limit of the device that the value must not exceed, a field of `vkssp.gpu.instance.Limits`; empty for none.
    power_of_two : bool
        Whether the value must be a power of two.
    """

    gpu: int
    software: int
    candidates: tuple[int, ...]
    judge: str
    reason: str
    limit: str = ""
    power_of_two: bool = False

    def allows(self, value: object, limits: Mapping[str, Any]) -> bool:
        """Return whether a value is valid on a device with some limits."""
        if type(value) is not int:
            return False
        known = (self.gpu, self.software, *self.candidates)
        fits = min(known) <= value <= max(known) and not (self.limit and value > limits[self.limit])
        return fits and not (self.power_of_two and value & (value - 1))


def _size(gpu: int, software: int, judge: str, reason: str) -> Tunable:
    """Return the number of invocations of a workgroup."""
    return Tunable(gpu, software, (32, 64, 128, 256, 512, 1024), judge, reason, "workgroup_size", power_of_two=True)


def _groups(gpu: int, software: int, judge: str, reason: str) -> Tunable:
    """Return the number of workgroups of a dispatch."""
    return Tunable(gpu, software, (4, 16, 64, 128, 256, 512, 1024), judge, reason, "workgroups")


#: The constants by their names: the module that reads one, or the algorithm, and what it is.
TUNABLES: dict[str, Tunable] = {
    "wait.polling_us": Tunable(
        *(300, 0, (0, 50, 100, 300, 1000), "pair"),
        "time for which a fence is polled: a thread that sleeps wakes up some 30 us late, and most single queries take "
        "less than this (a search whose length is predicted is polled for up to 2 ms more); a software device needs "
        "the core itself",
    ),
    "distances.fewest_sorted": Tunable(
        *(1 << 15, 1 << 20, (), ""),
        "nodes of a graph from which on the device puts the distances of a search into the caller's order: the host's "
        "reads from all over the array take longer than a dispatch; but a kernel has to be made, and a software device "
        "runs on the host itself",
    ),
    "loop.batch_us": Tunable(
        *(500, 500, (125, 250, 500, 1000, 2000), "target in blocks"),
        "time that the iterations of a submission should take: many times that of the host's part of the next one, and "
        "not so much that many iterations follow the end of a search",
    ),
    "near_far.workgroup_size": _size(
        *(256, 32, "search by queues"), "on roads the rounds of one dispatch keep few invocations busy; each costs time"
    ),
    "near_far.workgroups": _groups(
        *(256, 4, "search by queues"), "two workgroups for each processor of a large GPU; more only take tickets"
    ),
    "near_far.rounds": Tunable(
        *(16, 16, (4, 8, 16, 32), "search by queues"),
        "rounds of a dispatch while the queue is short: fewer dispatches, and six to eight in a hundred more visits",
    ),
    "near_far.delta_per_mean": Tunable(
        *(100, 100, (25, 50, 100, 200, 400), "search by queues"),
        "width of a bucket in mean weights: on roads the number of iterations determines the time",
    ),
    "near_far.hub_workgroup_size": _size(
        *(512, 32, "search with hubs"), "in graphs with many arcs a short queue fills the device"
    ),
    "near_far.hub_workgroups": _groups(
        *(256, 4, "search with hubs"), "two workgroups for each processor of a large GPU"
    ),
    "near_far.hub_delta_per_mean": Tunable(
        *(12, 12, (3, 6, 12, 24, 48), "search with hubs"),
        "width of a bucket in mean weights by mean degree: the more arcs, the narrower, since most relaxations improve "
        "nothing",
    ),
    "block_resident.workgroup_size": _size(
        *(1024, 64, "search in blocks"),
        "an invocation for each node of a block of 1,024; the size also bounds the block",
    ),
    "block_resident.workgroups": _groups(
        *(264, 4, "search in blocks"), "two workgroups for each of the 132 processors of an H200"
    ),
    "block_resident.rounds_at_once": Tunable(
        *(4, 1, (1, 2, 4, 8), "search in blocks"),
        "rounds between two barriers: on a GPU a barrier takes as long as a round; on a software device nobody waits",
    ),
    "block_resident.delta_per_mean": Tunable(
        *(250, 250, (60, 125, 250, 500, 1000), "search in blocks"),
        "width of a bucket in mean weights of a path between crossings: wide, as blocks repeat work in shared memory",
    ),
    "push_pull.workgroup_size": _size(*(256, 64, "push or pull"), "as for most sweeps over nodes"),
    "push_pull.workgroups": _groups(
        *(528, 4, "push or pull"), "four for each of the 132 processors of an H100: each costs time in every dispatch"
    ),
    "push_pull.push_share": Tunable(
        *(64, 64, (16, 32, 64, 128, 256), "push or pull"),
        "part of the arcs from which on all nodes pull: a pull looks at one arc in twenty to thirty, in order",
    ),
    "delta_step.workgroup_size": _size(*(256, 32, "sweeping search"), "as for most sweeps over nodes"),
    "delta_step.workgroups": _groups(*(256, 4, "sweeping search"), "two workgroups for each processor of a large GPU"),
    "phast.workgroup_size": _size(
        *(128, 64, "tree"), "levels at the top have few nodes, and small workgroups occupy more processors"
    ),
    "phast.level_invocations": Tunable(
        *(1 << 17, 1 << 17, (1 << 15, 1 << 16, 1 << 17, 1 << 18), "tree"),
        "invocations of a level of a sweep, if its nodes have enough arcs: what keeps a large GPU busy",
    ),
    "phast.lanes": Tunable(
        *(64, 1, (8, 16, 32, 64), "tree"),
        "most invocations of a node of a sweep; on a software device each costs as much as it saves",
        power_of_two=True,
    ),
    "bundles.nodes": Tunable(
        *(352, 0, (), ""), "most nodes of subtrees that a workgroup sweeps in shared memory; 0 sweeps level by level"
    ),
    "bundles.trees": Tunable(
        *(1000, 1000, (), ""),
        "searches from one source before bundles are made: the host sorts nodes as long as so many searches gain",
    ),
    "bundles.size": Tunable(
        *(512, 64, (), ""), "a workgroup reads all arcs of its subtrees at once", "workgroup_size", power_of_two=True
    ),
    "bundles.kept_arcs": Tunable(
        *(512, 512, (), ""), "arcs of its subtrees in shared memory: the fewer, the more workgroups are on a processor"
    ),
    "pairs.size_for_few": _size(
        *(256, 64, "pair"),
        "invocations of each upward search: up to 1,024 pairs are on the device at once, and are faster with more each",
    ),
    "pairs.size_for_many": _size(
        *(128, 64, "few pairs"), "more pairs wait for processors: small workgroups waste less"
    ),
    "top.many_arcs": Tunable(
        *(1 << 13, _MOST, (1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15), "pair"),
        "arcs of a supernode that many workgroups search together; below, one does so without waiting for others",
    ),
    "customization.workgroup_size": _size(*(128, 64, "customization"), "supernodes are small, and there are many"),
    "customization.chain_size": _size(
        *(512, 64, "customization"), "a workgroup that goes from node to node hides the latency of one by the others"
    ),
    "label_pairs.workgroup_size": _size(*(128, 64, "pairs"), "as many pairs of rows as hide the latency of reads"),
    "label_pairs.lanes": Tunable(
        *(8, 8, (1, 2, 4, 8, 16, 32, 64), "pairs"),
        "invocations that walk along a pair of rows: a transaction of 32 bytes of a GPU is eight labels",
        power_of_two=True,
    ),
    "query_labels.few_rows": Tunable(
        *(4, 8, (1, 2, 4, 8, 16), "few pairs"),
        "rows of a tile: small tiles of few rows occupy more processors",
        power_of_two=True,
    ),
    "query_labels.few_size": _size(*(128, 64, "few pairs"), "invocations of such a tile"),
    "query_labels.many_rows": Tunable(
        *(16, 8, (4, 8, 16), "pairs"),
        "rows of a tile, which read the arcs that they share once for all",
        power_of_two=True,
    ),
    "query_labels.many_size": _size(*(128, 64, "pairs"), "invocations of such a tile"),
    "query_labels.many_from": Tunable(
        *(1 << 12, 1 << 12, (1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14), "pairs"),
        "rows from which on large tiles occupy all processors: a guess for a large GPU",
    ),
    "query_pairs.fewest_pairs": Tunable(
        *(128, 128, (32, 64, 128, 256, 512), "few pairs"),
        "pairs from which on labels of their nodes are made: the host sorts fewer in the time of a search",
    ),
    "query_pairs.fewest_arcs": Tunable(
        *(30_000, 0, (0, 10_000, 30_000, 100_000), "few pairs"),
        "arcs of one search from which on labels pay: with fewer, levels take as long as those of many labels",
    ),
    "query_pairs.fewest_arcs_of_all": Tunable(
        *(100_000_000, 0, (10_000_000, 30_000_000, 100_000_000, 300_000_000), "few pairs"),
        "the same for all searches together: with fewer, the host sorts longer than the device searches",
    ),
    "label_table.quads": Tunable(
        *(16, 8, (4, 8, 16), "table"),
        "a quarter of the side of a tile of a table by labels: large tiles read less, and need 256 invocations",
        power_of_two=True,
    ),
    "sweeps.upward_size": _size(
        *(256, 128, "rows"), "an upward search for each workgroup, with few arcs in most supernodes"
    ),
    "sweeps.workgroup_size": Tunable(
        *(256, 256, (64, 128, 256, 512), "rows"),
        "some nodes for all searches of a tile, of 32 invocations at most",
        "workgroup_size",
        power_of_two=True,
    ),
    "sweeps.searches": Tunable(
        *(1024, 32, (32, 128, 256, 512, 1024), "rows"),
        "trees in one batch: each arc is read once for a tile of them; more gain little, and rows come later",
    ),
    "rows.workgroup_size": Tunable(
        *(512, 64, (64, 128, 256, 512), "rows"),
        "four searches of a column for each invocation; on a GPU as many as the piece of columns and searches has",
        "workgroup_size",
        power_of_two=True,
    ),
    "sweeps.leaves": Tunable(
        *(1, 1, (0, 1), "rows"),
        "whether leaves are computed with the rows, if these are to all nodes: less is read and written",
    ),
    "sweeps.subtree_nodes": Tunable(
        *(32, 32, (0, 8, 16, 32, 64, 128), "rows"),
        "most nodes of the subtrees that one invocation sweeps for four searches: caches hold what it reads; 0 sweeps "
        "level by level",
    ),
    "sweeps.subtree_invocations": Tunable(
        *(1 << 18, 1, (1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20), "rows"),
        "invocations from which on subtrees are swept: fewer do not keep a large GPU busy",
    ),
    "labels.workgroup_size": Tunable(
        *(128, 64, (), ""),
        "a row of all labels for each workgroup; made once for some weights",
        "workgroup_size",
        power_of_two=True,
    ),
    "flat.workgroup_size": Tunable(
        *(256, 64, (), ""),
        "kernels with an invocation for each node or arc, which memory bounds at any size",
        "workgroup_size",
        power_of_two=True,
    ),
    "flat.items": Tunable(
        *(1, 8, (), ""),
        "items of an invocation of such kernels: an idle one costs a software device as much as a busy one",
    ),
    "blocks.searches": Tunable(
        *(1024, 8, (8, 32, 128, 256, 512, 1024), "rows in blocks"),
        "searches of a batch in blocks: enough blocks for all processors; a software device gains little by more",
    ),
    "blocks.workgroup_size": Tunable(
        *(256, 64, (64, 128, 256, 512), "rows in blocks"),
        "two nodes of a block of 512 for each invocation: there is enough other work; eight at most, since drivers "
        "compile loops over more for half a minute",
        "workgroup_size",
        power_of_two=True,
    ),
    "blocks.workgroups": _groups(
        *(792, 16, "rows in blocks"), "six workgroups for each of the 132 processors of an H200"
    ),
    "blocks.narrower": Tunable(
        *(6, 6, (2, 4, 6, 12, 24), "rows in blocks"),
        "how much narrower buckets are than those of a single search, which would have too little work in such ones",
    ),
}


def defaults(*, is_software: bool) -> dict[str, int]:
    """Return the default values for GPUs, or for software devices."""
    return {name: one.software if is_software else one.gpu for name, one in TUNABLES.items()}


def changed(values: Mapping[str, int], *, is_software: bool) -> dict[str, int]:
    """Return the values that are not the defaults for GPUs, or for software devices."""
    usual = defaults(is_software=is_software)
    return {name: value for name, value in values.items() if value != usual[name]}


def file_of(identity: Mapping[str, str]) -> Path:
    """Return the file of the values of a device, given what identifies the device and its driver.

    Raises
    ------
    RuntimeError
        If there is no home folder.
    """
    digest = hashlib.sha256(json.dumps(_content_of(identity)).encode()).hexdigest()[:16]
    return cache_folder() / f"tuned-{digest}.json"


def kept_values(identity: Mapping[str, str], limits: Mapping[str, Any]) -> dict[str, int]:
    """Return the values that `keep_values` has kept for a device, if any; those that its limits exclude are left out.

    A file that is damaged, or that is of another device, is ignored with one warning.

    Raises
    ------
    DeviceError
        If VKSSP_TUNED is neither "on" nor "off".
    """
    values = (_read(identity) if is_on() else None) or {}
    return {name: value for name, value in values.items() if name in TUNABLES and TUNABLES[name].allows(value, limits)}


def keep_values(identity: Mapping[str, str], values: Mapping[str, int], measured: Mapping[str, Any]) -> Path:
    """Write the values of a device, with what was measured, and return the file.

    Raises
    ------
    OSError
        If the file cannot be written.
    RuntimeError
        If there is no home folder.
    """
    path = file_of(identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"of": _content_of(identity), "values": dict(values), "measured": dict(measured)}
    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=1).encode())
    return path


def is_tuned(identity: Mapping[str, str]) -> bool:
    """Return whether there is a sound file of the values of a device, and it is read."""
    return is_on() and _read(identity) is not None


def _read(identity: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the values in the file of a device, or None if there is no sound one."""
    try:
        path = file_of(identity)
        content = path.read_bytes()
    except (OSError, RuntimeError):  # not tuned, or no home folder
        return None
    try:
        found = json.loads(content)
        if found["of"] != _content_of(identity):
            raise ValueError("it is of another device")
        return dict(found["values"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if str(path) not in warned:
            warned.add(str(path))
            _log.warning("ignored %s, which is no file of vkssp tune for this device (%s); tune again", path, error)
        return None


def forget_values(identity: Mapping[str, str]) -> None:
    """Remove the values of a device, if there are any.

    Raises
    ------
    OSError
        If the file cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError, RuntimeError):
        file_of(identity).unlink()


def is_on() -> bool:
    """Return whether values that have been kept are used, as VKSSP_TUNED says.

    Raises
    ------
    DeviceError
        If it is neither "on" nor "off".
    """
    chosen = os.environ.get(TUNED_VARIABLE) or "on"
    if chosen.lower() not in ("on", "off"):
        raise DeviceError(f"{TUNED_VARIABLE} is {shown(chosen)}; give on or off, or unset it")
    return chosen.lower() == "on"


def _content_of(identity: Mapping[str, str]) -> dict[str, Any]:
    return {"version": _VERSION, **identity}
