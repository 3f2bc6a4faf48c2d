"""What all tests share: the device, the real data where it is there, and how much hypothesis tries."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.paths import DATA, SHARED
from vkssp.algorithms.choice import is_cpu
from vkssp.gpu.device import Device

# Processes of pytest-xdist inherit it.
if "--slow" in sys.argv:
    os.environ.setdefault("VKSSP_TEST_EXAMPLES", "60")
#: What hypothesis tries; tests whose examples are dear take a part of it.
EXAMPLES = int(os.environ.get("VKSSP_TEST_EXAMPLES", "15"))

settings.register_profile(
    "vkssp",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("vkssp")


def pytest_configure() -> None:
    os.environ["VKSSP_CONFIG"] = os.devnull  # not the defaults of whoever runs the tests
    os.environ["VKSSP_TUNED"] = "off"  # nor what is fastest on their devices
    # Workers of pytest share the cores, and threads of llvmpipe in each of them would only wait for one another.
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("LP_NUM_THREADS", "0")
    # Scripts ignore Ctrl-C in what they run in the background, and so would all processes that tests start there.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow; run with --slow"))


def open_device() -> Device:
    """Open the Vulkan device that VKSSP_DEVICE selects, or the default one if that selects the CPU."""
    return Device("" if is_cpu(Device.selected()) else None)


@pytest.fixture(scope="session")
def device() -> Iterator[Device]:
    with open_device() as opened:
        yield opened


@pytest.fixture(scope="session")
def second() -> Iterator[Device]:
    """Open the same device once more: two logical devices stand for two real ones."""
    with open_device() as opened:
        yield opened


@pytest.fixture
def may_use_vulkan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset VKSSP_DEVICE if it selects the CPU: for tests that name algorithms of Vulkan devices, and no device."""
    if is_cpu(Device.selected()):
        monkeypatch.delenv("VKSSP_DEVICE")


@pytest.fixture(autouse=True)
def _gpu_only(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu") and request.getfixturevalue("device").info.kind == "cpu":
        pytest.skip("needs a hardware GPU")


@pytest.fixture(scope="session")
def andorra_path() -> Path:
    return DATA / "andorra.osm.pbf"


def shared_data(name: str) -> Path:
    """Return the path of a file of the larger data, skipping the test where it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not on this machine")
    return path
