"""Subcommand ``vkssp doctor``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from vkssp.commands.common import Result
from vkssp.commands.doctor_facts import driver_files, install_lines, is_writable, packages, shaders, variables
from vkssp.commands.parser import CommandParser
from vkssp.errors import FormatError
from vkssp.options import Help
from vkssp.terminal import Marked

SUMMARY = "check this installation: packages, drivers and devices, and what to install"
EXAMPLE = "vkssp doctor"
# Seconds for a probe. The first search on the CPU compiles kernels, which takes some ten seconds.
_TIMEOUT_S = 60.0
_OK, _WARNING, _FAILURE = ("ok", "green"), ("note", "yellow"), ("FAILED", "red")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_S,
        metavar="S",
        help=Help(
            f"seconds for each driver and device to answer (default: {_TIMEOUT_S:.0f})",
            "; a search that compiles kernels for the first time takes some ten",
        ),
    )


class _Report:
    """Lines of the report, and the checks for programs."""

    def __init__(self) -> None:
        self.checks: list[dict[str, Any]] = []
        self.lines: list[str] = []

    def add(self, mark: tuple[str, str], name: str, text: str, cure: str = "") -> None:
        """Add a check, with what to do about it."""
        state = {_OK: "ok", _WARNING: "note", _FAILURE: "failed"}[mark]
        self.checks.append({"check": name, "state": state, "text": text, "cure": cure})
        self.lines.append(Marked(f"{mark[0]:8}", mark[1], f"{name:10} {text}"))
        if cure:
            self.lines.append(f"{'':19}{cure}")


def run(args: argparse.Namespace) -> Result:
    """Check the installation."""
    report = _Report()
    with ThreadPoolExecutor(4) as threads:
        files = driver_files()
        sound = [file for file in files if not file["trouble"]]
        default, cpu, listed = (threads.submit(_probe, args, name) for name in ("default", "cpu", "list"))
        of_files = [threads.submit(_probe, args, "list", files=file["file"]) for file in sound]
        devices = listed.result().get("devices", [])
        usable = [one for one in devices if not one["unusable"]]
        searches = [threads.submit(_probe, args, "device", str(one["index"])) for one in usable]
        for file, probe in zip(sound, of_files, strict=True):
            file |= _devices_of(probe.result())
        for device, search in zip(usable, searches, strict=True):
            device["search"] = search.result()
        found = {"default": default.result(), "cpu": cpu.result(), "vulkan": listed.result()}
    needed, extras = packages()
    _add_packages(report, needed)
    needs = _add_vulkan(report, found["vulkan"], files)
    for device in devices:
        _add_device(report, device)
    _add_cpu(report, found["cpu"])
    _add_folders(report, found["cpu"])
    if _add_shaders(report):
        needs.append("compiler")
    _add_settings(report)
    _add_extras(report, extras)
    install = install_lines(needs) if needs else []
    if needs:
        report.add(_WARNING, "install", "for Vulkan: " + (" or ".join(install) or _elsewhere(needs)))
    for name, value in (set_variables := variables()).items():
        report.lines.append(f"{'':8}{'variable':10} {name}={value}")
    works = "error" not in found["default"] and not found["default"]["wrong"]
    args.exit_code = 0 if works else 1
    _add_default(report, found["default"], works)
    result = {
        "works": works,
        "checks": report.checks,
        "packages": needed,
        "extras": extras,
        "driver_files": files,
        "devices": devices,
        **found,
        "install": install,
        "variables": set_variables,
    }
    return result, report.lines


def _probe(args: argparse.Namespace, *arguments: str, files: str | None = None) -> dict[str, Any]:
    """Run a probe in a process of its own, with the drivers of one file or with all; return its result or an error."""
    environment = dict(os.environ)
    root = str(Path(__file__).resolve().parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), root]))
    if files is not None:
        environment |= {"VK_DRIVER_FILES": files, "VK_ICD_FILENAMES": files}
        environment.pop("VK_ADD_DRIVER_FILES", None)
    command = [sys.executable, "-P", "-m", "vkssp.commands.doctor_probe", *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=args.timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"gave no answer within {args.timeout:g} s", "hangs": True}
    except OSError as error:
        return {"error": f"no process can be started: {error.strerror or error}"}
    try:
        result: dict[str, Any] = json.loads(done.stdout.decode("utf-8", "replace").splitlines()[-1])
        return result
    except (IndexError, ValueError):
        return {"error": _end_of(done), "crashes": True}


def _end_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return how a process ended that printed no result."""
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
    try:
        how = f"ends the process by {signal.Signals(-done.returncode).name}"
    except ValueError:
        how = f"ends the process with exit code {done.returncode}"
    return f"{how} ({last[0]:.200})" if last[0] else how


def _devices_of(listed: dict[str, Any]) -> dict[str, Any]:
    """Return what a probe says of a driver file: its devices, or what is wrong."""
    if "error" not in listed:
        return {"devices": [one["name"] for one in listed["devices"]]}
    is_idle = listed["error"].startswith("no Vulkan driver found")  # installed for hardware that is not here
    return {"devices": [], "trouble": "" if is_idle else listed["error"]}


def _add_packages(report: _Report, needed: list[dict[str, Any]]) -> None:
    from vkssp import __version__

    python = f"Python {platform.python_version()} ({sys.executable}), {platform.platform()}"
    report.add(_OK, "vkssp", f"{__version__}, {python}")
    wrong = [one for one in needed if not one["ok"]]
    texts = [f"{one['name']} {one['installed'] or 'missing'}" for one in needed]
    cure = "pip install " + " ".join(f"'{one['name']}{one['needs']}'" for one in wrong) if wrong else ""
    if needed:
        report.add(_FAILURE if wrong else _OK, "packages", ", ".join(texts), cure)


def _add_vulkan(report: _Report, listed: dict[str, Any], files: list[dict[str, Any]]) -> list[str]:
    """Add the loader and the drivers; return the system packages that are missing, by the keys of `PACKAGES`."""
    error, needs = listed.get("error", ""), list[str]()
    if "loader is not installed" in error:
        report.add(_WARNING, "loader", error)
        needs.append("loader")
    elif not error:
        report.add(_OK, "loader", listed["loader"] or "the Vulkan loader is installed")
    else:
        state = _WARNING if error.startswith("no Vulkan driver") else _FAILURE
        report.add(state, "loader", error)
    for file in files:
        if file["trouble"]:
            report.add(
                _FAILURE, "driver", f"{file['file']}: {file['trouble']}", "install that driver again, or remove it"
            )
        elif file["devices"]:
            report.add(_OK, "driver", f"{file['file']}: {', '.join(file['devices'])}")
        else:
            report.add(_OK, "driver", f"{file['file']}: no device of its kind")
    if not any(file.get("devices") for file in files) and sys.platform != "win32":
        needs.append("driver")
    return needs


def _add_device(report: _Report, device: dict[str, Any]) -> None:
    name = f"device {device['index']}"
    text = f"{device['name']} ({device['kind']}), {device['driver']}, Vulkan {device['api_version']}"
    if device["unusable"]:
        report.add(_WARNING, name, f"{text}: {device['unusable']}")
    else:
        _add_search(report, name, text, device["search"], "update its driver")


def _add_search(report: _Report, name: str, text: str, search: dict[str, Any], cure: str) -> None:
    if "error" in search:
        report.add(_FAILURE, name, f"{text}: {search['error']}", cure)
    elif search["wrong"]:
        report.add(_FAILURE, name, f"{text}: {search['wrong']} distances are wrong", cure)
    else:
        took = f"{search['setup_s'] + search['search_s']:.1f} s with {search['algorithm']}"
        report.add(_OK, name, f"{text}: distances are right, {took}")


def _add_cpu(report: _Report, search: dict[str, Any]) -> None:
    text = search.get("device", "compiled code")
    _add_search(report, "cpu", text, search, "install numba again: pip install --force-reinstall numba")


def _add_folders(report: _Report, cpu: dict[str, Any]) -> None:
    from vkssp.files import cache_folder

    if "cache" in cpu:
        folder = cpu["cache"]
        if folder is None:
            text = f"none for compiled code, which is made anew in each process: {cpu['cache_trouble']}"
            report.add(_WARNING, "cache", text, "set NUMBA_CACHE_DIR to a folder of yours")
        else:
            report.add(_OK, "cache", f"{folder} for compiled code")
    try:
        own = cache_folder()
    except RuntimeError:
        report.add(_WARNING, "cache", "none for kernels of devices, as there is no home folder", "set HOME")
        return
    if is_writable(own):
        report.add(_OK, "cache", f"{own} for kernels of devices and measured costs")
    else:
        text = f"{own} cannot be written; kernels of devices are compiled anew in each process"
        report.add(_WARNING, "cache", text, "make it writable, or set XDG_CACHE_HOME to a folder of yours")


def _add_shaders(report: _Report) -> bool:
    """Add the compiled shaders; return whether they have to be compiled here."""
    count, missing = shaders()
    is_checkout = (Path(__file__).resolve().parents[2] / "shaders").is_dir()
    if count and not missing:
        report.add(_OK, "shaders", f"{count} are compiled")
        return False
    what = f"{len(missing)} of {count} are missing: {', '.join(missing[:3])}" if count else "none are compiled"
    cure = "scripts/build_shaders.py compiles them" if is_checkout else "pip install --force-reinstall vkssp"
    report.add(_FAILURE, "shaders", what, cure)
    return is_checkout


def _add_settings(report: _Report) -> None:
    from vkssp.commands.settings import read_settings

    try:
        settings = read_settings()
    except FormatError as error:
        report.add(_FAILURE, "config", f"{error}")
        return
    if settings.exists:
        report.add(_OK, "config", f"{settings.path}; 'vkssp config' shows it")


def _add_extras(report: _Report, extras: list[dict[str, Any]]) -> None:
    for extra in extras:
        missing = [one["name"] for one in extra["packages"] if not one["ok"]]
        if missing:
            line = f"pip install 'vkssp[{extra['name']}]'"
            report.add(_WARNING, "extra", f"{extra['name']} lacks {', '.join(missing)}: {line}")
        else:
            report.add(_OK, "extra", f"{extra['name']} is installed")


def _elsewhere(needs: list[str]) -> str:
    words = {"loader": "the Vulkan loader", "driver": "a Vulkan driver", "compiler": "glslangValidator"}
    return f"{' and '.join(words[need] for need in needs)}, by the means of this system"


def _add_default(report: _Report, search: dict[str, Any], works: bool) -> None:
    if works:
        report.add(_OK, "result", f"vkssp works, on {search['device']} if no device is named")
    else:
        why = search.get("error") or f"{search['wrong']} distances on {search['device']} are wrong"
        report.add(_FAILURE, "result", f"vkssp does not work: {why}", "name another device by --device or VKSSP_DEVICE")
