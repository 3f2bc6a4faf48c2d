"""The check of an installation: with drivers that crash, hang or are not there, and folders that cannot be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from vkssp.cli import main
from vkssp.commands.doctor_facts import PACKAGES, driver_files, is_writable, packages, shaders
from vkssp.gpu.device import Device

pytestmark = pytest.mark.skipif(os.name != "posix", reason="drivers are found by files")

#: Modules in the place of the package vulkan, which every probe imports that looks for devices.
MISSING = "raise OSError('cannot load library libvulkan.so.1')"
CRASHES = "import os\nos.abort()"
HANGS = "import time\ntime.sleep(600)"


def doctor(
    tmp_path: Path, *arguments: str, vulkan: str = "", has_text: bool = True, **environment: str
) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the report for programs, and the report for people unless that is not looked at."""
    path = str(ROOT)
    if vulkan:
        (tmp_path / "vulkan.py").write_text(vulkan)
        path = f"{tmp_path}{os.pathsep}{ROOT}"
    given = {**os.environ, "PYTHONPATH": path, "VKSSP_CONFIG": os.devnull, **environment}
    command = [sys.executable, "-m", "vkssp", "doctor", *arguments]
    done = [
        subprocess.run([*command, *more], env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
        for more in (["--json"], [])[: 1 + has_text]
    ]
    assert done[0].returncode == done[-1].returncode and done[0].stderr == done[-1].stderr == ""
    return done[0].returncode, json.loads(done[0].stdout), done[-1].stdout


def states(report: dict[str, Any], check: str) -> list[tuple[str, str]]:
    return [(one["state"], one["text"]) for one in report["checks"] if one["check"] == check]


def test_a_sound_installation(tmp_path: Path, device: Device) -> None:
    code, report, text = doctor(tmp_path)
    assert code == 0 and report["works"] is True
    (found,) = (one for one in report["devices"] if one["name"] == device.info.name)
    assert found["search"]["wrong"] == 0 and found["driver"] == device.info.driver
    assert any(device.info.name in file["devices"] for file in report["driver_files"])
    assert report["cpu"]["wrong"] == report["default"]["wrong"] == 0 and report["cpu"]["cache"]
    assert report["vulkan"]["loader"].startswith("/") and states(report, "loader")[0][0] == "ok"
    assert {"numba", "numpy", "vulkan"} <= {one["name"] for one in report["packages"]}
    assert states(report, "shaders") == [("ok", f"{shaders()[0]} are compiled")]
    assert f"device {found['index']}" in text and "distances are right" in text
    assert text.splitlines()[-1].startswith("ok      result     vkssp works, on ")
    assert "\x1b" not in text


def test_without_the_loader_the_cpu_works(tmp_path: Path) -> None:
    code, report, _ = doctor(tmp_path, vulkan=MISSING, has_text=False)
    assert code == 0 and report["works"] and report["devices"] == []
    assert "the Vulkan loader is not installed" in states(report, "loader")[0][1]
    assert report["install"] == [] or any("vulkan" in line for line in report["install"])
    assert states(report, "install")[0][0] == "note"
    code, report, text = doctor(tmp_path, vulkan=MISSING, VKSSP_DEVICE="0")
    assert code == 1 and not report["works"] and "FAILED  result     vkssp does not work: the Vulkan loader" in text
    assert report["variables"]["VKSSP_DEVICE"] == "0" and "variable   VKSSP_DEVICE=0" in text


def test_a_driver_that_crashes_is_told_and_not_fatal(tmp_path: Path) -> None:
    code, report, text = doctor(tmp_path, vulkan=CRASHES, VKSSP_DEVICE="cpu")
    (state, told), *_ = states(report, "loader")
    assert state == "failed" and "ends the process by SIGABRT" in told
    assert all(state == "failed" for state, _ in states(report, "driver"))
    assert code == 0 or "ends the process" in text, "searches on the CPU may look for devices, too"
    assert len(text.splitlines()) > 5


def test_a_driver_that_hangs_is_told(tmp_path: Path) -> None:
    _, report, _ = doctor(tmp_path, "--timeout", "3", vulkan=HANGS, has_text=False, VKSSP_DEVICE="cpu")
    assert states(report, "loader") == [("failed", "gave no answer within 3 s")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no driver file"),
        ('{"ICD": {}}', "is no driver file"),
        ("[1]", "is no driver file"),
        ('{"ICD": {"library_path": 7}}', "is no driver file"),
        ('{"ICD": {"library_path": "./none.so"}}', "names the library ./none.so, which does not exist"),
        (None, "no such file or directory"),
    ],
)
def test_broken_driver_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, words: str) -> None:
    file = tmp_path / "icd.json"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("VK_DRIVER_FILES", str(file))
    (found,) = driver_files()
    assert found["file"] == str(file) and words in found["trouble"]


def test_a_broken_driver_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "icd.json").write_text('{"ICD": {"library_path": "/none.so", "api_version": "1.3"}}')
    files = {name: str(tmp_path / "icd.json") for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")}
    code, report, _ = doctor(tmp_path, has_text=False, **files)
    assert code == 0 and report["devices"] == []
    assert states(report, "driver")[0][0] == "failed" and "names the library /none.so" in str(report)
    assert "no Vulkan driver found: VK_DRIVER_FILES is" in states(report, "loader")[0][1]


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_writable(tmp_path / "a" / "b") and not is_writable(tmp_path / "file" / "b")
    assert not (tmp_path / "a").exists()
    nowhere = str(tmp_path / "file" / "cache")
    code, report, _ = doctor(tmp_path, has_text=False, XDG_CACHE_HOME=nowhere)
    (of_cpu, _), (of_devices, told) = states(report, "cache")
    assert (code, of_cpu, of_devices) == (0, "ok", "note") and f"{nowhere}/vkssp cannot be written" in told
    assert "make it writable, or set XDG_CACHE_HOME" in str(report["checks"])


def test_a_broken_configuration_is_reported(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("x")
    code, report, _ = doctor(tmp_path, has_text=False, VKSSP_CONFIG=str(tmp_path / "c.toml"))
    assert code == 0 and states(report, "config")[0][0] == "failed"


def test_packages_and_extras_are_those_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=1.26", "none-such>=2", "pytest>=900; extra == 'table'", 'none (>=1) ; extra == "dev"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)
    needed, extras = packages()
    assert [(one["name"], one["ok"]) for one in needed] == [("numpy", True), ("none-such", False)]
    assert [(one["name"], one["ok"]) for one in extras] == [("table", False)]
    assert needed[1]["installed"] is None and extras[0]["packages"][0]["installed"]


def test_missing_packages_and_shaders_are_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda _: ["none-such>=2", "h4>=1; extra == 'hexagons'"])
    monkeypatch.setattr("vkssp.commands.doctor.shaders", lambda: (3, ["gather"]))
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "pip install 'none-such>=2'" in text and "pip install 'vkssp[hexagons]'" in text
    assert "1 of 3 are missing: gather" in text


def test_system_packages_are_those_of_the_setup_script() -> None:
    debian = PACKAGES["apt-get install"]
    for command, known in PACKAGES.items():
        manager = command.split()[0]
        code = f". scripts/_setup.sh; package_names {manager} {' '.join(debian.values())}"
        done = subprocess.run(["bash", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.split() == list(known.values()), manager
