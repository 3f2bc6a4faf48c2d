"""Part of a search inside components of removed nodes: from seeds to the core nodes around the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.graph import UNREACHABLE
from vkssp.graph.csr import ranges
from vkssp.jit import kernels
from vkssp.prepared.elimination import Elimination
from vkssp.prepared.reduction import Reduction
from vkssp.prepared.renumbered import RenumberedGraph

Int64s = npt.NDArray[np.int64]

_NONE = np.empty((0, 2), np.uint32)


@dataclass(frozen=True, eq=False)
class Inside:
    """Distances by paths inside the components of the seeds; a path may end at a core node around its component.

    Attributes
    ----------
    near : numpy.ndarray
        Removed nodes, rising within each component, and their distances, shape (k, 2), uint32.
    exits : dict of int to int
        Distances of core nodes, by their ids in the core; core nodes that are seeds are included.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    """

    near: npt.NDArray[np.uint32]
    exits: dict[int, int]
    overflow: bool

    def distance(self, node: int) -> int:
        """Return the distance of a removed node, UNREACHABLE if it was not reached."""
        here = np.flatnonzero(self.near[:, 0] == node)
        return int(self.near[here[0], 1]) if len(here) else UNREACHABLE


class UpwardLabels(NamedTuple):
    """Nodes that a search outside of the core reaches, with their distances: pairs by place, see `Elimination`.

    Attributes
    ----------
    above, cores : numpy.ndarray
        Eliminated nodes from the lowest level upward, and core nodes, shape (k, 2), uint32.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    """

    above: npt.NDArray[np.uint32]
    cores: npt.NDArray[np.uint32]
    overflow: bool


class Surroundings:
    """Arcs of removed nodes, component by component.

    Parameters
    ----------
    reduction : Reduction
        Reduction of the graph.
    renumbered : RenumberedGraph
        The graph.
    """

    def __init__(self, reduction: Reduction, renumbered: RenumberedGraph) -> None:
        self.reduction = reduction
        members, first_member = reduction.members.astype(np.int64), reduction.first_member.astype(np.int64)
        first = renumbered.first_out[members].astype(np.int64)
        degree = renumbered.first_out[members + 1].astype(np.int64) - first
        rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
        arcs = renumbered.arcs[ranges(first, degree)]
        heads = arcs[:, 0].astype(np.int64)
        component = np.repeat(np.arange(len(first_member) - 1), np.diff(first_member))
        of_arc = np.repeat(component, degree)
        # Core nodes around a component come after its own nodes, and have no arcs.
        outside = reduction.component[heads] == UNREACHABLE
        around, number = np.unique(of_arc[outside] * renumbered.num_nodes + heads[outside], return_inverse=True)
        first_exit = np.searchsorted(around // max(1, renumbered.num_nodes), np.arange(len(first_member)))
        self._first_exit = first_exit.astype(np.int64)
        self._exit = reduction.records[around % max(1, renumbered.num_nodes), 0].copy()
        self._place = np.zeros(renumbered.num_nodes, np.int32)
        self._place[members] = np.arange(len(members)) - first_member[component]
        head = self._place[heads]
        sizes = np.diff(first_member)
        head[outside] = number - self._first_exit[of_arc[outside]] + sizes[of_arc[outside]]
        self._head, self._weight, self._rows = head.astype(np.int32), arcs[:, 1].copy(), rows

    def search(self, seeds: Sequence[Terminal]) -> Inside:
        """Search from seeds inside their components, without relaxing arcs of core nodes.

        Parameters
        ----------
        seeds : sequence of (int, int)
            Nodes with their offsets.
        """
        reduction = self.reduction
        if len(seeds) == 1:  # most searches begin at one node, and arrays take longer than the search
            ((node, offset),) = seeds
            part = reduction.component.item(node)
            if part == UNREACHABLE:
                return Inside(_NONE, {reduction.records.item(node, 0): offset}, False)
            begin, end = reduction.first_member.item(part), reduction.first_member.item(part + 1)
            around = self._first_exit.item(part + 1) - self._first_exit.item(part)
            num_arcs = self._rows.item(end) - self._rows.item(begin)
            of_one = np.array([node], np.int64), np.array([offset], np.int64)
            return self._search(*of_one, {}, end - begin, around, end - begin + around, num_arcs + 1)
        nodes, offsets = np.array(seeds, np.int64).reshape(-1, 2).T
        part_of = reduction.component[nodes]
        is_core = part_of == UNREACHABLE
        exits: dict[int, int] = {}
        _put_least(exits, reduction.records[nodes[is_core], 0], offsets[is_core])
        removed = np.flatnonzero(~is_core)
        if len(removed) == 0:
            return Inside(_NONE, exits, False)
        removed = removed[np.argsort(part_of[removed], kind="stable")]
        parts = np.unique(part_of[removed])
        begins, ends = (
            reduction.first_member[parts].astype(np.int64),
            reduction.first_member[parts + 1].astype(np.int64),
        )
        exits_of = self._first_exit[parts + 1] - self._first_exit[parts]
        sizes, arcs_of = ends - begins, self._rows[ends] - self._rows[begins]
        room = int(sizes.sum()), int(exits_of.sum()), int((sizes + exits_of).max()), int(arcs_of.max()) + len(removed)
        return self._search(nodes[removed], offsets[removed], exits, *room)

    def _search(
        self,
        nodes: Int64s,
        offsets: Int64s,
        exits: dict[int, int],
        num_near: int,
        num_left: int,
        num_labels: int,
        num_entries: int,
    ) -> Inside:
        """Search from removed nodes, those of a component together, given how much memory that takes."""
        reduction = self.reduction
        near, left = np.empty((num_near, 2), np.uint32), np.empty((num_left, 2), np.int64)
        num_near, num_left, fits = _compiled().search_components(
            *(nodes, offsets),
            *(reduction.component, reduction.first_member, reduction.members),
            self._rows,
            self._head,
            self._weight,
            self._place,
            self._first_exit,
            self._exit,
            np.empty(num_labels, np.int64),
            np.empty(num_entries, np.uint64),
            near,
            left,
        )
        beyond = []
        for core, distance in left[:num_left].tolist():
            if distance >= UNREACHABLE:
                beyond.append(core)
            else:
                exits[core] = min(distance, exits.get(core, UNREACHABLE))
        # A path from another component may reach the same core node with a sum that fits.
        return Inside(near[:num_near], exits, not fits or any(core not in exits for core in beyond))


class UpwardSearch:
    """Search from nodes that were eliminated up to the core, and from the core down to such nodes.

    Its memory is that of one search, so threads need objects of their own.

    Parameters
    ----------
    elimination : Elimination
        The elimination.
    """

    def __init__(self, elimination: Elimination) -> None:
        self._elimination = elimination
        num_nodes, self._num_core = len(elimination.place), elimination.core.num_nodes
        self._label = np.full(num_nodes, _compiled().NEVER, np.int64)
        self._heap = np.empty(num_nodes - self._num_core, np.uint64)
        self._above = np.empty((num_nodes - self._num_core, 2), np.uint32)
        self._cores = np.empty((self._num_core, 2), np.uint32)

    def search(self, values: dict[int, int], *, backward: bool = False) -> UpwardLabels:
        """Return what is reached from nodes without leaving the core again.

        Parameters
        ----------
        values : dict of int to int
            Distances to begin with, by the nodes before the elimination.
        backward : bool
            Whether to follow arcs from their heads to their tails.
        """
        count, rows = len(values), self._elimination.incoming if backward else self._elimination.outgoing
        num_above, num_cores, over = _compiled().search_upward(
            np.fromiter(values.keys(), np.int64, count),
            np.fromiter(values.values(), np.int64, count),
            self._elimination.place,
            self._num_core,
            rows.first,
            rows.arcs,
            self._label,
            self._heap,
            self._above,
            self._cores,
        )
        return UpwardLabels(self._above[:num_above].copy(), self._cores[:num_cores].copy(), over)


def _compiled() -> Any:
    return kernels("vkssp.prepared.seed_kernels")


def _put_least(least: dict[int, int], keys: npt.NDArray[Any], values: Int64s) -> None:
    """Put values into a dictionary, the least for each key."""
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        least[key] = min(value, least.get(key, UNREACHABLE))
