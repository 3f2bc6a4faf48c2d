"""Facts for ``vkssp doctor`` that need no driver: packages, driver files, folders, variables."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

#: Extras for users; the others are for work on the package itself.
_NOT_FOR_USERS = ("dev", "docs")
#: Environment variables that list driver files: the first two replace the folders of the loader, the third adds to it.
_REPLACING, _ADDING = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"), "VK_ADD_DRIVER_FILES"
# Environment variables that matter, by their beginnings and by their names.
_BEGINNINGS = ("VKSSP_", "VK_", "NUMBA_", "CLICOLOR")
_VARIABLES = (
    "COLUMNS",
    "DYLD_LIBRARY_PATH",
    "FORCE_COLOR",
    "LD_LIBRARY_PATH",
    "NO_COLOR",
    "TQDM_DISABLE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
)
#: Names of system packages, by package manager; scripts/_setup.sh has the same.
PACKAGES = {
    "apt-get install": {"loader": "libvulkan1", "driver": "mesa-vulkan-drivers", "compiler": "glslang-tools"},
    "dnf install": {"loader": "vulkan-loader", "driver": "mesa-vulkan-drivers", "compiler": "glslang"},
    "pacman -S": {"loader": "vulkan-icd-loader", "driver": "vulkan-swrast", "compiler": "glslang"},
    "brew install": {"loader": "vulkan-loader", "driver": "molten-vk", "compiler": "glslang"},
}
_SPIRV_MAGIC = b"\x03\x02\x23\x07"


def packages() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the packages that vkssp needs, and its extras; both lists are empty if vkssp is not installed as one.

    Returns
    -------
    tuple of list of dict
        For each package ``name``, ``needs``, the version that is ``installed`` or None, and whether it is ``ok``. For
        each extra ``name``, ``packages`` in the same form, and whether it is ``ok``.
    """
    needed: list[dict[str, Any]] = []
    extras: dict[str, list[dict[str, Any]]] = {}
    try:
        requirements = metadata.requires("vkssp") or []
    except metadata.PackageNotFoundError:
        return [], []
    for requirement in requirements:
        text, _, marker = requirement.partition(";")
        match = re.match(r"\s*([\w.-]+)(?:\[[^]]*\])?\s*\(?([^)]*)\)?", text)
        extra = re.search(r"""extra\s*==\s*['"]([\w-]+)['"]""", marker)
        if match is None or (extra is not None and extra[1] in _NOT_FOR_USERS):
            continue
        one = _package(match[1], match[2].strip())
        (needed if extra is None else extras.setdefault(extra[1], [])).append(one)
    return needed, [
        {"name": name, "packages": some, "ok": all(one["ok"] for one in some)} for name, some in extras.items()
    ]


def _package(name: str, needs: str) -> dict[str, Any]:
    try:
        installed: str | None = metadata.version(name)
    except metadata.PackageNotFoundError:
        installed = None
    least = re.search(r">=\s*([\d.]+)", needs)
    is_old = installed is not None and least is not None and _numbers(installed) < _numbers(least[1])
    return {"name": name, "needs": needs, "installed": installed, "ok": installed is not None and not is_old}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0])[:3])


def driver_files() -> list[dict[str, Any]]:
    """Return the files that tell the Vulkan loader of drivers (ICDs), with what is wrong with each, if anything.

    Source: the search of the Khronos Vulkan loader, docs/LoaderDriverInterface.md of its repository.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in _manifests():
        found.setdefault(os.path.realpath(path), {"file": str(path), **_manifest(path)})
    return list(found.values())


def _manifests() -> Iterator[Path]:
    replaced = next((value for name in _REPLACING if (value := os.environ.get(name))), None)
    listed = [replaced, os.environ.get(_ADDING)]
    for entry in (Path(entry) for value in listed if value for entry in value.split(os.pathsep) if entry):
        yield from sorted(entry.glob("*.json")) if entry.is_dir() else [entry]
    if replaced is None:
        for folder in _folders():
            yield from sorted(folder.glob("vulkan/icd.d/*.json"))


def _folders() -> Iterator[Path]:
    """Yield the folders that the loader searches; on Windows drivers are in the registry."""
    if sys.platform == "win32":
        return
    home = os.environ.get("HOME", "")
    for name, default in (
        ("XDG_CONFIG_HOME", f"{home}/.config"),
        ("XDG_CONFIG_DIRS", "/etc/xdg"),
        ("", "/etc"),
        ("XDG_DATA_HOME", f"{home}/.local/share"),
        ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
        ("", "/opt/homebrew/share"),
    ):
        yield from (Path(folder) for folder in (os.environ.get(name) or default).split(":") if folder)


def _manifest(path: Path) -> dict[str, Any]:
    """Return the library that a driver file names, and what is wrong with the file; both may be empty."""
    try:
        with open(path, "rb") as stream:
            content = json.loads(stream.read(1 << 20))
        library = content["ICD"]["library_path"]
        if not isinstance(library, str):
            raise TypeError
    except OSError as error:
        return {"library": "", "trouble": (error.strerror or str(error)).lower()}
    except (ValueError, KeyError, TypeError):
        return {"library": "", "trouble": "is no driver file: JSON with ICD.library_path"}
    # A name without a folder is looked up by the system.
    if os.sep in library or "/" in library:
        there = path.parent / library
        if not there.exists():
            return {"library": library, "trouble": f"names the library {library}, which does not exist"}
    return {"library": library, "trouble": ""}


def shaders() -> tuple[int, list[str]]:
    """Return the number of compiled shaders that there should be, and those that are missing or no SPIR-V."""
    folder = Path(__file__).resolve().parent.parent / "spirv"
    try:
        wanted = [str(name) for name in json.loads((folder / "manifest.json").read_text())]
    except (OSError, ValueError):
        return 0, []
    missing = []
    for name in wanted:
        try:
            with open(folder / f"{name}.spv", "rb") as stream:
                if stream.read(4) != _SPIRV_MAGIC:
                    raise OSError
        except OSError:
            missing.append(name)
    return len(wanted), missing


def is_writable(folder: Path) -> bool:
    """Return whether a file can be written into a folder, or into a folder that is still to be made."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False


def variables() -> dict[str, str]:
    """Return the environment variables that are set and change what vkssp, its compiler or the Vulkan loader do."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_BEGINNINGS) or (name in _VARIABLES and value)
    }


def install_lines(needs: list[str]) -> list[str]:
    """Return the commands that install system packages, keys of a row of `PACKAGES`, by the managers of this system."""
    lines = []
    for command, known in PACKAGES.items():
        if shutil.which(command.split()[0]):
            root = "" if command.startswith("brew") else "sudo "
            lines.append(f"{root}{command} {' '.join(known[need] for need in needs)}")
    return lines
