"""What shader and host must agree on, read from the compiled shaders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graphs import grid
from tests.spirv import Module, all_shaders, dtype_layout
from vkssp import Solver
from vkssp.gpu import kernel
from vkssp.gpu.device import Device
from vkssp.solvers import delta_step, path


def test_the_state_of_delta_step_is_the_same_on_both_sides() -> None:
    for shader in ("delta_step", "delta_step_start"):
        assert Module(shader).struct("State") == dtype_layout(delta_step.STATE)


def test_the_header_of_a_path_is_the_same_on_both_sides() -> None:
    *header, arcs = Module("path").struct("Path")
    assert header == dtype_layout(path.HEADER)
    assert arcs == ("path", path.HEADER.itemsize)


def test_every_kernel_is_made_with_the_bindings_and_constants_of_its_shader(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, dict[str, Any]] = {}
    original = kernel.Kernel.__init__

    def watched(self: kernel.Kernel, device: Device, name: str, **arguments: Any) -> None:
        made[name] = arguments
        original(self, device, name, **arguments)

    monkeypatch.setattr(kernel.Kernel, "__init__", watched)
    with Solver(grid(4), device=device) as solver:
        solver.route(0, 15)
    assert set(made) == set(all_shaders()), "a shader that no kernel uses, or the other way round"
    for name, arguments in made.items():
        module = Module(name)
        assert module.bindings == set(range(arguments["bindings"]))
        assert len(module.push_constants) == arguments.get("push_constants", 0)
        assert module.constants == {kernel.WORKGROUP_SIZE, *arguments.get("constants", {})}
