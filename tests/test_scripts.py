"""The shell scripts: what can be checked without installing anything."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

SCRIPTS = (
    "scripts/quickstart",
    "scripts/test",
    "scripts/build_docs",
    "scripts/get_swiftshader",
    "scripts/osrm_acceptance",
    "scripts/test_clients",
    ".ci/run",
)
# Of the system, or beside the Python that runs this.
SHELLCHECK = shutil.which("shellcheck") or shutil.which("shellcheck", path=str(Path(sys.executable).parent))
SETUP = ROOT / "scripts" / "_setup.sh"
# Every package that the scripts may ask for, as Debian names it.
PACKAGES = (
    "python3-venv",
    "libvulkan1",
    "glslang-tools",
    "mesa-vulkan-drivers",
    "vulkan-validationlayers",
    "spirv-tools",
    "nodejs",
    "npm",
    "chromium",
)

pytestmark = pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="needs bash")


def shell(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a shell that has sourced scripts/_setup.sh."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'. "$1"; shift; {code}', "setup", str(SETUP)],
        env=kept | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_can_be_run(name: str) -> None:
    path = ROOT / name
    assert path.stat().st_mode & stat.S_IXUSR
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in path.read_text()


def test_files_with_an_interpreter_can_be_run() -> None:
    files = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.read_bytes()[:2] == b"#!"]
    assert len(files) > len(SCRIPTS)
    assert not [path.name for path in files if not path.stat().st_mode & stat.S_IXUSR]


def test_the_shared_functions_are_not_a_command() -> None:
    assert not SETUP.stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("name", [*SCRIPTS, "scripts/_setup.sh"])
def test_bash_parses_it(name: str) -> None:
    done = subprocess.run(["bash", "-n", str(ROOT / name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not SHELLCHECK, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", [*SCRIPTS, "scripts/_setup.sh"])
def test_shellcheck_finds_nothing(name: str) -> None:
    assert SHELLCHECK
    done = subprocess.run([SHELLCHECK, "-x", name], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_an_active_environment_does_not_leak_in() -> None:
    code = 'printf "%s|" "${PYTHONPATH-}" "${VIRTUAL_ENV-}" "${PIP_TARGET-}" "$PIP_USER" "$PIP_INDEX_URL"'
    polluted = {"PYTHONPATH": "/a", "VIRTUAL_ENV": "/b", "PIP_TARGET": "/c", "PIP_USER": "1"}
    done = shell(code, **polluted, PIP_INDEX_URL="https://example.org/simple")
    assert done.stdout == "|||0|https://example.org/simple|"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_check_and_names_elsewhere(package: str) -> None:
    # Whether it is there depends on the machine; that the question is understood does not.
    done = shell(f"missing_packages {package}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("", package)
    for manager in ("dnf", "pacman", "brew"):
        assert shell(f"package_names {manager} {package}").stdout.strip()
    assert package in shell(f"package_names apt-get {package}").stdout.split()


def test_without_apt_it_says_what_to_install() -> None:
    done = shell("PATH=/nowhere; ensure_packages glslang-tools spirv-tools")
    assert done.returncode == 1
    assert "dnf install glslang spirv-tools\n" in done.stderr
    assert "brew install glslang spirv-tools\n" in done.stderr
    assert done.stderr.rstrip().endswith("run setup again")


def test_a_program_from_elsewhere_counts_as_installed(tmp_path: Path) -> None:
    program = tmp_path / "spirv-val"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = shell(f"PATH='{tmp_path}'; missing_packages glslang-tools spirv-tools")
    assert done.stdout.split() == ["glslang-tools"]


def test_the_variables_of_the_vulkan_loader_are_obeyed(tmp_path: Path) -> None:
    driver = tmp_path / "with a space" / "driver.json"
    driver.parent.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    driver.write_text("{}")
    for value in (driver, driver.parent, f"{empty}:{driver}"):
        assert shell("has_vulkan_driver", VK_DRIVER_FILES=str(value)).returncode == 0
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        for value in (empty, tmp_path / "absent.json"):
            done = shell("has_vulkan_driver", **{variable: str(value)})
            assert done.returncode == 1
            assert str(value) in done.stderr


def test_a_driver_in_the_users_own_folder_is_found(tmp_path: Path) -> None:
    manifest = tmp_path / "vulkan" / "icd.d" / "own_icd.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    done = shell("vulkan_manifests 'icd.d/own*.json'", XDG_DATA_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, f"{manifest}\n")
    assert shell("vulkan_manifests 'icd.d/own*.json'").returncode == 1


def test_python_is_the_only_one_looked_at() -> None:
    done = shell('python_version "$(pythons)"', PYTHON=sys.executable)
    assert done.stdout.split() == ["{}.{}".format(*sys.version_info)]


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    # Runs whatever it is given as Python 3.10 would see it.
    old.write_text(
        "#!/bin/sh\n"
        f"exec '{sys.executable}' -I -c 'import sys; sys.version_info = (3, 10, 9); exec(sys.argv[1])' \"$3\"\n"
    )
    old.chmod(0o755)
    done = shell("set_up dev", PYTHON=str(old))
    assert done.returncode == 1
    assert f"PYTHON is '{old}'" in done.stderr


def test_the_fingerprint_follows_what_an_install_depends_on(tmp_path: Path) -> None:
    def fingerprint(root: Path) -> str:
        done = shell(f"ROOT='{root}'; VENV_PYTHON='{sys.executable}'; fingerprint")
        assert done.returncode == 0, done.stderr
        return done.stdout

    checkout = tmp_path / "checkout"
    (checkout / "scripts").mkdir(parents=True)
    for name in ("pyproject.toml", "scripts/hatch_build.py"):
        shutil.copy(ROOT / name, checkout / name)
    first = fingerprint(checkout)
    assert fingerprint(checkout) == first
    assert fingerprint(checkout.rename(tmp_path / "moved")) != first
    (tmp_path / "moved").rename(checkout)
    assert fingerprint(checkout) == first
    with (checkout / "pyproject.toml").open("a") as stream:
        stream.write("\n")
    assert fingerprint(checkout) != first
