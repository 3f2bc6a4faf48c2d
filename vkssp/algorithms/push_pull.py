"""Pushing along arcs or pulling, whichever looks at fewer arcs (Beamer et al., 2012; Chakaravarthy et al., 2014).

Nodes that the last iteration changed push: they relax the arcs that leave them. Where these are many, all nodes pull
instead: each looks at the arcs that enter it, the lightest first, up to those that are too heavy to improve it. In a
graph with hubs most nodes are little farther than a hub, so that they look at few of their arcs.

Phases in a trace: 0 changed nodes push, 1 all nodes pull, 2 the seeds are marked. Rows of more than some arcs are
divided; in a trace only their first parts count as nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter, Terminal
from vkssp.engine.arrays import Array
from vkssp.engine.device_algorithm import (
    MOST_TERMINALS,
    STATE_SHARED,
    WORKGROUP_SIZE,
    WORKGROUPS,
    DeviceAlgorithm,
    Step,
    state_dtype,
)
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE
from vkssp.prepared.light_arcs import later_pieces, light_arcs
from vkssp.references import BEAMER, CHAKARAVARTHY

_PIECE_CONSTANT, _STEPS_CONSTANT, _LANES_CONSTANT = 2, 3, 4
#: Arcs of a row that are handled together; the other ones of the row are divided into parts of so many.
PIECE = 256
#: Times that one invocation looks at four arcs of a row; what is left of it is then shared by several.
STEPS = 2
#: Least number of invocations that share what is left of a row.
LEAST_LANES = 8
# Phase in which the seeds are marked, see shaders/include/push_pull_state.glsl.
_SEED = 2
# Bytes of a seed: a node and a distance.
_SEED_BYTES = 8
# Bytes of shared memory per invocation, and for everything else.
_SHARED_PER_INVOCATION, _SHARED_BESIDES = 32, 320
# Least number of arcs that are pushed whatever the graph's number of arcs.
_LEAST_PUSHED = 32


class PushPull(DeviceAlgorithm):
    """Search on a device that pushes or pulls; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "push_pull"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="few changed nodes relax their arcs; if many have changed, all nodes look at their lightest arcs",
        source=f"{BEAMER}; {CHAKARAVARTHY}",
        complexity="as many iterations as the shortest paths have arcs; a tenth of m relaxations on graphs with hubs",
        use="graphs with hubs, such as social networks",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "push_share", 1, 2**31, None, "nodes pull if those that changed have more than 1 / push_share of all arcs"
        ),
        Parameter("workgroup_size", 1, 1024, None, WORKGROUP_SIZE.meaning, power_of_two=True),
        WORKGROUPS,
    )
    BINDINGS: ClassVar[int] = 11
    STATE: ClassVar[np.dtype[Any]] = state_dtype(
        ("phase", "nearest", "pulls"),
        *(("nearest_gap", 32), "next_nearest", ("degree_gap", 32), "next_degree", ("end_gap", 32)),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("pulls",)
    OWN_BYTES: ClassVar[float] = 0.375
    SWEEPS: ClassVar[float] = 1 / 8

    def _graph_bytes(self, *, at_most: bool) -> int:
        graph, num_arcs = self._graph, self._graph.renumbered.num_arcs
        out = graph.missing("first_out", 4 * (self._num_nodes + 1))
        if not graph.missing("light arcs both ways", 1):  # with the arcs that leave nodes
            return out
        if not at_most and light_arcs(graph.renumbered).is_undirected:
            return out + graph.missing("arcs light first", 8 * num_arcs)
        into = graph.missing("light arcs both ways", 8 * num_arcs + 4 * self._num_nodes)
        return out + into + graph.missing("arcs", 8 * num_arcs)

    def _rows_of_arcs(self) -> tuple[tuple[Array, ...], Buffer, int, int]:
        """Return rows and arcs that leave and that enter nodes; pieces, and their numbers."""
        graph = self._graph

        def make() -> Any:
            found = light_arcs(graph.renumbered)
            pieces = [later_pieces(first, PIECE) for first in (found.first_out, found.first_in)]
            beside = (*graph.upload({"the pieces": np.concatenate(pieces)}), *map(len, pieces))
            if found.is_undirected:
                arcs = graph.arcs_light_first(found.arcs)
                return (graph.first_out, arcs, graph.first_out, arcs), *beside
            names = {"first_in": found.first_in, "the light arcs in": found.arcs_in}
            into = graph.upload_arrays(names, ("the light arcs in",), split=graph.splits_arcs)
            return (graph.first_out, graph.arcs, *into), *beside

        rows, pieces, pieces_out, pieces_in = graph.shared("light arcs both ways", make)
        return rows, pieces, pieces_out, pieces_in

    def _steps(self) -> Sequence[Step]:
        tuned, limits = self._device.tuned, self._device.limits
        rows, pieces, pieces_out, pieces_in = self._rows_of_arcs()
        share = self._parameters["push_share"] or tuned["push_pull.push_share"]
        usual, most = tuned["push_pull.workgroup_size"], tuned["push_pull.workgroups"]
        fitting = (limits.shared_memory - STATE_SHARED - _SHARED_BESIDES) // _SHARED_PER_INVOCATION
        default = 1 << (min(self._size(default=usual, software=usual), fitting).bit_length() - 1)
        size = self._parameters["workgroup_size"] or default

        groups = self._groups(self._num_nodes, size, default=most, software=most)
        self._seeds_at = 12 * -(-self._num_nodes // 32)
        # The terminals have room for as many seeds, if there are no targets.
        most_seeds = max(MOST_TERMINALS, self._most_seeds)
        self._changed = self._buffer("the changed nodes", self._seeds_at + _SEED_BYTES * most_seeds)
        kernel = self._kernel(
            "push_pull",
            *(self.terminals, self.distances, *rows, pieces, self._changed, self.distances),
            workgroup_size=size,
            push_constants=4,
            constants={_PIECE_CONSTANT: PIECE, _STEPS_CONSTANT: STEPS, _LANES_CONSTANT: LEAST_LANES},
            shared_bytes=_SHARED_PER_INVOCATION * size + _SHARED_BESIDES,
        )
        most_pushed = max(_LEAST_PUSHED, self._graph.renumbered.num_arcs // share)
        return [Step(kernel, groups, (self._num_nodes, pieces_out, pieces_in, most_pushed))]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._changed, 0, 12 * -(-self._num_nodes // 32))
        recording.copy(self.seeds, self._changed, _SEED_BYTES * num_seeds, 0, self._seeds_at)

    def _initial(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> Mapping[str, int]:
        return {"phase": _SEED, "nearest": min(offset for _, offset in seeds), "next_nearest": UNREACHABLE}
