"""Parts of the suite once more: under the validation layers, on a second driver, and with the CPU as the device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile

import pytest

from tests.support.graphs import ON_DEVICE
from tests.support.paths import ROOT
from vkssp.gpu.ffi import enumerate_all, text

LAYER = "VK_LAYER_KHRONOS_validation"
SUITE = (
    "tests/solver/test_solver.py",
    "tests/solver/test_solver_use.py",
    "tests/solver/test_distance_bits.py",
    "tests/solver/test_device_results.py",
    "tests/algorithms/test_algorithms.py",
    "tests/batch/test_block_resident_batch.py",
    "tests/solver/test_nearest_sources.py",
    "tests/algorithms/test_phast.py",
    "tests/cch/test_unpack.py",
    "tests/cch/test_unique_paths.py",
    "tests/cch/test_recustomized.py",
    "tests/cch/test_split_hierarchies.py",
    "tests/cch/test_path_entries.py",
    "tests/cch/test_bundles.py",
    "tests/batch/test_row_writer.py",
    "tests/solver/test_trees.py",
    "tests/solver/test_labels.py",
    "tests/solver/test_query_labels.py",
    "tests/batch/test_label_table.py",
)
#: Tests that each algorithm passes at least.
FEWEST = 10
#: Processes that run the suite side by side.
PROCESSES = 2
#: Not what a driver has no part in, and not graphs whose size shows nothing that small ones do not.
CHOSEN = "not (cpu or grids or star or long_path or real or generated or clones or tiles or pairs or road_network)"
#: What the driver has little part in: arguments, counters, traces, many questions of one kind.
HOST = ("tests/solver/test_solver_use.py", "tests/algorithms/test_algorithms.py")
#: Of these, no algorithms whose kernels are recorded as those of others are.
UNDER_LAYERS = (
    f"{CHOSEN} and not ((test_solver_use.py or test_algorithms.py)"
    " and (bellman_ford or delta_step_array or delta_step_subgroup or martin or dijkstra_scan))"
)
#: On a second driver, no failures, which are simulated, and no limits of memory or bindings, which are set lower.
ON_SECOND = f"{CHOSEN} and not (fails or memory_allows or binds_little)"
#: What asks most of the questions that name no device.
ASKING = (
    "tests/commands/test_cli.py",
    "tests/commands/test_cli_routing.py",
    "tests/routing/test_isochrone.py",
    "tests/routing/test_nearest.py",
    "tests/routing/test_router.py",
    "tests/routing/test_steps.py",
    "tests/solver/test_pool.py",
)
#: Where scripts/test has put SwiftShader, a software driver with small subgroups and workgroups.
SWIFTSHADER = os.environ.get("VKSSP_SWIFTSHADER_ICD", "")
COMPLAINT = re.compile(r"VUID|SYNC-HAZARD|UNASSIGNED|Validation (Error|Warning)|Validation Performance", re.IGNORECASE)


def run(*commands: list[str], **environment: str) -> str:
    """Run Python in other processes, side by side, and return all that they and the layers print."""
    given = {**os.environ, "VKSSP_TEST_EXAMPLES": "3", **environment}
    given.pop("LP_NUM_THREADS", None)  # workgroups run at the same time here, and one by one in the rest of the tests
    with ExitStack() as stack:
        runs = []
        for arguments in commands:
            output = stack.enter_context(TemporaryFile())
            process = subprocess.Popen(
                [sys.executable, *arguments], env=given, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )
            stack.callback(process.kill)
            runs.append((process, output))
        printed = ""
        for process, output in runs:
            code = process.wait(timeout=1200)  # a search that never ends must not keep the whole run
            output.seek(0)
            own = output.read().decode(errors="replace")
            assert code == 0, own[-6000:]
            printed += own
    return printed


def suite(files: Sequence[str], chosen: str, **environment: str) -> str:
    # Without -s pytest would keep what the layers print of passing tests to itself.
    arguments = ["-m", "pytest", "-v", "-s", "-p", "no:cacheprovider", "-k", chosen]
    # One process leaves half of a machine idle; one for each file would spend most of its time on its start.
    output = run(*([*arguments, *files[first::PROCESSES]] for first in range(PROCESSES)), **environment)
    for algorithm in ON_DEVICE:
        assert len(re.findall(rf"\[{algorithm}\b[^]]*\] .*PASSED", output)) >= FEWEST, f"{algorithm} is not covered"
    return output


@pytest.fixture(scope="module")
def validation() -> dict[str, str]:
    layers = {text(p.layerName) for p in enumerate_all("vkEnumerateInstanceLayerProperties", "VkLayerProperties")}
    if LAYER not in layers:
        assert "CI" not in os.environ, "the validation layers must be there in CI"
        pytest.skip("the validation layers are not installed (Debian and Ubuntu: vulkan-validationlayers)")
    return {
        "VKSSP_DEVICE": "0",  # otherwise questions that name no device would go to the CPU
        "VK_INSTANCE_LAYERS": LAYER,
        "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    }


@pytest.mark.parametrize("algorithm", ["delta_step", "near_far", "crauser", "dijkstra_scan"])
def test_the_layers_see_a_missing_barrier(validation: dict[str, str], algorithm: str) -> None:
    """Without this, a suite that prints nothing might only mean that nobody looks."""
    program = f"""
from tests.support.graphs import grid
from vkssp import Solver
from vkssp.gpu.recording import Recording
Recording.barrier = lambda self, before="", after="": None
Solver(grid(5), "{algorithm}", 0).path(0, 24)
"""
    assert "SYNC-HAZARD" in run(["-c", program], **validation)


@pytest.mark.timeout(1200)
def test_the_suite_is_clean_under_the_validation_layers(validation: dict[str, str]) -> None:
    output = suite(SUITE, UNDER_LAYERS, **validation)
    assert not COMPLAINT.search(output), output[:6000]


def test_what_names_no_device_passes_where_the_cpu_is_selected() -> None:
    """CONTRIBUTING.md says how to run the whole suite so."""
    arguments = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "not (loader or driver or crauser)"]
    output = run([*arguments, *ASKING], VKSSP_DEVICE="cpu")
    for path in ASKING:
        assert len(re.findall(rf"^{path}::.* PASSED", output, re.MULTILINE)) > 5, f"{path} is not covered"


@pytest.mark.timeout(1200)
def test_the_suite_passes_on_swiftshader() -> None:
    if not SWIFTSHADER:
        pytest.skip("SwiftShader is not there; scripts/test fetches it on Debian")
    # The first name is the newer one; older loaders know only the second.
    driver = {"VK_DRIVER_FILES": SWIFTSHADER, "VK_ICD_FILENAMES": SWIFTSHADER, "VKSSP_DEVICE": "SwiftShader"}
    suite([path for path in SUITE if path not in HOST], ON_SECOND, **driver)
