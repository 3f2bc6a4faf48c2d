"""What shader and host must agree on, read from the compiled shaders."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import ON_DEVICE, class_of, grid, make_solver
from tests.support.paths import ROOT
from tests.support.spirv import Module, all_shaders, dtype_layout
from vkssp import Decay, Graph, Solver, prepare
from vkssp.algorithm import row_of
from vkssp.batch import block_resident_batch
from vkssp.cch import labels, lower_arcs, pairs, recustomized, top, topology, unpack
from vkssp.engine import path, voronoi
from vkssp.engine.device_algorithm import STEP, STEP_WORDS, TRACE_ROWS, DeviceAlgorithm, widened_state
from vkssp.generate import rmat, uniform_random
from vkssp.gpu import kernel
from vkssp.gpu.device import Device
from vkssp.graph.distance_type import DISTANCE_TYPES
from vkssp.prepared.seed_groups import Groups
from vkssp.solver import session, session_batch

SHADERS = ROOT / "shaders"
#: Kernels that know nothing of a search's state.
WITHOUT_STATE = {"start", "start_64", "path", "path_parents", "path_jump", "path_stride", "path_fill"}
#: Bindings that a shader does not use, but others that are given the same arrays.
UNUSED = {"recustomize_begin": {4}}
Made = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Names and arguments of the kernels that are made."""
    result: Made = []
    original = kernel.Kernel.__init__

    def watched(self: kernel.Kernel, device: Device, name: str, **arguments: Any) -> None:
        result.append((name, arguments))
        original(self, device, name, **arguments)

    monkeypatch.setattr(kernel.Kernel, "__init__", watched)
    return result


@pytest.mark.parametrize(
    ("algorithm", "bits"),
    [
        (name, bits)
        for name in ON_DEVICE
        for bits in class_of(name).DESCRIPTION.distance_bits
        if issubclass(class_of(name), DeviceAlgorithm)
    ],
)
def test_the_state_is_the_same_in_all_shaders_of_an_algorithm(
    device: Device, made: Made, algorithm: str, bits: int
) -> None:
    kind: Any = class_of(algorithm)
    of_bits = DISTANCE_TYPES[bits]
    state = widened_state(kind.STATE, kind.DISTANCES, of_bits)
    make_solver(grid(4), algorithm, device, distance_bits=bits).close()
    shaders = {name for name, _ in made} - WITHOUT_STATE
    assert shaders
    for shader in shaders:
        module = Module(shader)
        assert without_step(module) == dtype_layout(state)[len(words_of_step(state)) + 1 :]
        assert module.struct("Row") == dtype_layout(row_of(of_bits))


def without_step(module: Module) -> list[tuple[str, int]]:
    """Return the names and places of all words of a state behind those that workgroups read at their start."""
    (loop, at_loop), (own, at_own) = module.struct("StateBuffer")
    assert (loop, at_loop, own) == ("loop", 0, "state")
    step, *rest = module.struct("Loop")
    assert step == ("step", 0)
    return rest + [(name, at_own + offset) for name, offset in module.struct("State")]


def words_of_step(state: np.dtype[Any]) -> list[str]:
    """Return the names of the words that workgroups read at their start, which have the same size."""
    names = [name for name, _ in dtype_layout(state)]
    words = names[: names.index("unused")]
    assert names[len(words) + 1] == "ticket"
    size = state["done"].itemsize
    assert [state.fields[name][1] for name in words] == list(range(0, size * len(words), size))
    assert state.fields["ticket"][1] == size * STEP_WORDS
    return words


def constants_of(source: Path) -> dict[str, int]:
    """Return the places that a shader source names in `step`."""
    own = re.findall(r"const uint (\w+) = OWN_STEP(?: \+ (\d+))?;", source.read_text())
    return {name.lower(): len(STEP) + int(place or 0) for name, place in own}


def test_the_words_that_workgroups_read_first_have_the_same_places_on_both_sides() -> None:
    include = SHADERS / "include"
    loop = (include / "loop_state.glsl").read_text()
    for place, name in enumerate((*STEP, "own_step")):
        assert f"const uint {name.upper()} = {place};" in loop
    assert f"const uint STEP_WORDS = {STEP_WORDS};" in loop
    states: dict[str, Any] = {"block_resident_batch": block_resident_batch.STATE}
    for name in ON_DEVICE:
        for kind in class_of(name).__mro__:
            if "STATE" in vars(kind):
                states[kind.__module__.rpartition(".")[2]] = vars(kind)["STATE"]
    for stem, state in states.items():
        files = [path for path in (include / f"{stem}_state.glsl", include / f"{stem}.glsl") if path.exists()]
        own = words_of_step(state)[len(STEP) :]
        assert (constants_of(files[0]) if files else {}) == {word: len(STEP) + i for i, word in enumerate(own)}


def test_the_state_of_a_batch_is_the_same_on_both_sides(device: Device, made: Made) -> None:
    with Solver(grid(4), "block_resident", device) as solver:
        next(solver.table([0, 1, 2], chunked=True))  # smaller ones are made of pairs
    for shader in {name for name, _ in made if name.startswith("block_resident_batch_")}:
        module = Module(shader)
        layout = dtype_layout(block_resident_batch.STATE)
        assert without_step(module) == layout[len(words_of_step(block_resident_batch.STATE)) + 1 :]
        fields = module.struct("Search")
        assert [(name, 4 * word) for word, name in enumerate(name for name, _ in fields)] == fields
        assert [fields[word][0] for word in block_resident_batch.SEARCH] == ["row", "next_row", "checked_for"]
        assert fields[-1] == ("gap", 4 * 10) and block_resident_batch.SEARCH_WORDS == 16
    assert [offset for _, offset in Module("block_resident_batch_emit").struct("Wanted")] == list(
        range(0, block_resident_batch.WANTED_BYTES, 4)
    )


def test_the_ring_of_the_trace_has_as_many_rows_on_both_sides() -> None:
    rows = re.findall(r"const uint TRACE_ROWS = (\d+);", (SHADERS / "include" / "loop.glsl").read_text())
    assert rows == [str(TRACE_ROWS)]


def test_the_state_of_voronoi_is_the_same_on_both_sides() -> None:
    for shader in ("voronoi_hook", "voronoi_jump"):
        assert Module(shader).struct("VoronoiState") == dtype_layout(voronoi.STATE)
    each = re.findall(r"const uint ARCS_EACH = (\d+);", (SHADERS / "engine" / "voronoi_hook.comp").read_text())
    assert each == [str(voronoi.ARCS_EACH)]


def test_the_header_of_a_path_is_the_same_on_both_sides() -> None:
    for shader in ("path", "path_stride", "path_fill"):
        *header, arcs = Module(shader).struct("Path")
        assert header == dtype_layout(path.HEADER)
        assert arcs == ("path", path.HEADER.itemsize)


def test_every_kernel_is_made_with_the_bindings_and_constants_of_its_shader(
    device: Device, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(path, "MOST_ARCS", 0)  # as where nodes have many
        for bits in DISTANCE_TYPES:
            with Solver(grid(4), "near_far", device, distance_bits=bits) as solver:
                solver.path(0, 15)
    for algorithm in ON_DEVICE:
        for bits in class_of(algorithm).DESCRIPTION.distance_bits:
            with make_solver(grid(4), algorithm, device, distance_bits=bits) as solver:
                solver.path(0, 15)
    with Solver(grid(4), "near_far", device, reduction="full") as solver:
        next(solver.table([0], chunked=True))
    with monkeypatch.context() as patch:
        patch.setattr(lower_arcs, "enough_paths", lambda *_: 0)  # as after many paths
        with Solver(prepare(grid(4)), "phast", device) as solver:
            solver.path(0, 15)
            solver.search_paths(*(Groups.of([[(end, 0)]] * session_batch.FEW_SEARCHES) for end in (0, 15)))
    for algorithm in ("block_resident", "phast"):
        with Solver(grid(4), algorithm, device) as solver:
            next(solver.table([0, 1, 2], chunked=True))  # smaller ones are made of pairs
    with Solver(prepare(Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [0, 0, 1, 1])), "phast", device) as solver:
        solver.distances(0)  # two nodes at the same place are one
    with Solver(grid(4), "phast", device) as solver:
        solver.accessibility(range(16), [5], decays=Decay.linear(9))
        solver.centrality()
        solver.centrality(sample=2)
        solver.flows([0, 1], [2], [[1], [1]])
    with monkeypatch.context() as patch:
        patch.setattr(top, "many_arcs", lambda _: 1)  # as where supernodes have many
        patch.setattr(pairs, "ARCS_A_LEVEL", -1)
        patch.setattr(pairs, "ARCS_A_PATH", 0)
        with Solver(grid(4), "phast", device) as solver:
            solver.path(0, 15)
    with monkeypatch.context() as patch:  # as where pairs are many, and hierarchies large
        patch.setattr(session, "MANY_PAIRS", 0)
        patch.setattr(labels, "PAIRS_A_NODE", (0.0, 0.0))
        patch.setattr(recustomized, "FEWEST_ARCS", 0)
        patch.setattr(recustomized, "MOST_WORK", 1)
        patch.setattr(device, "tuned", {**device.tuned, "bundles.nodes": 99, "bundles.trees": 0, "sweeps.leaves": 1})
        for is_split in (False, True):  # arrays in one buffer each, and in several
            patch.setattr(topology, "is_split", lambda *_, is_split=is_split: is_split)
            with Solver(prepare(grid(4)), "phast", device) as solver:
                solver.pairs([0, 1], [2, 3])
                next(solver.table([0, 1, 2], chunked=True))
                solver.accessibility(range(16), [5])
                solver.distances([0, 1, 2])
                solver.table([0, 1, 2], [*range(16), 0])  # nodes that are not all, each once
                solver.distances(0)
                solver.set_weights(solver.graph.weight[:1], [0])
                solver.distance(0, 1)
            patch.setattr(pairs, "FEWEST", 0)
            with Solver(prepare(grid(4)), "phast", device, label_mib=0) as solver:
                solver.pairs([0, 1], [2, 3])
        patch.setattr(top, "many_arcs", lambda _: 1)
        patch.setattr(pairs, "ARCS_A_LEVEL", -1)
        with Solver(prepare(grid(4)), "phast", device) as solver:
            solver.distance(0, 15)
    with monkeypatch.context() as patch:  # a hierarchy and a graph whose arcs do not fit
        for most in ("_MOST", "_SOFTWARE_MOST"):  # the arcs of a path fit
            patch.setattr(unpack, most, 1000)
        patch.setattr(device, "limits", replace(device.limits, storage_range=100_000))
        with Solver(prepare(grid(60)), "phast", device) as solver:
            solver.path(0, 15)
    for bits in DISTANCE_TYPES:
        with Solver(grid(4), "near_far", device, distance_bits=bits) as solver:
            solver.set_weights(grid(4).weight)
            solver.nearest([0, 1])
            solver.trees(0)
            solver.table([0], [1])
    with monkeypatch.context() as patch:  # subgroups without arithmetic, and arcs in one buffer or several
        patch.setattr(device, "info", replace(device.info, features=device.info.features - {"subgroup_arithmetic"}))
        for limits in (device.limits, replace(device.limits, storage_range=65536)):
            for bits in DISTANCE_TYPES:
                patch.setattr(device, "limits", limits)
                make_solver(rmat(10, 36), "near_far", device, distance_bits=bits).close()
    with monkeypatch.context() as patch:  # arcs in several buffers
        patch.setattr(device, "limits", replace(device.limits, storage_range=65536))
        for graph in (rmat(10, 36), uniform_random(3600, 5)):
            for algorithm in set(ON_DEVICE) - {"block_resident", "phast"}:
                make_solver(graph, algorithm, device).close()
            for bits in DISTANCE_TYPES:
                with Solver(graph, "near_far", device, distance_bits=bits) as solver:
                    solver.path(graph.tail[0], graph.head[0])
                    solver.nearest([0, 1])
                    solver.trees(0)
                    solver.set_weights(graph.weight[::-1])
                with Solver(graph, "delta_step", device) as solver:
                    solver.set_weights(graph.weight[::-1])
    assert {name for name, _ in made} == set(all_shaders()), "a shader that no kernel uses, or the other way round"
    modules = {name: Module(name) for name in all_shaders()}
    # Capabilities of subgroups beyond the basic one, which some devices lack.
    of_subgroups = {name for name, module in modules.items() if module.capabilities & set(range(62, 69))}
    assert of_subgroups == {"near_far", "near_far_64", "near_far_split", "near_far_64_split"}
    for name, arguments in made:
        module = modules[name]
        assert module.bindings | UNUSED.get(name.removesuffix("_split"), set()) == set(range(arguments["bindings"])), (
            name
        )
        assert len(module.push_constants) == arguments.get("push_constants", 0), name
        assert module.constants == {kernel.WORKGROUP_SIZE, *(arguments.get("constants") or {})}, name
