#!/usr/bin/env python3
"""Checks of a release: sdist and wheel, built in isolation, and the wheel used in clean environments of each Python.

  scripts/check_release.py                                    all checks; the results lie in .cache/release
  scripts/check_release.py --release v1.2.0 --require-all     the checks of a tag; a Python that is missing is a failure
  scripts/check_release.py --wheel vkssp-1.2.0-py3-none-any.whl --python 3.13     only the environments, of this wheel

The wheel is built from the sdist, and once more from the checkout: both must have the same content. Then each Python
gets two environments, with the oldest and with the newest dependencies that the wheel allows, all of them wheels. There
the commands and the examples of README.md run, and, with all extras installed, those of docs/. No compiler may be
called there. A Python that is not found, and that uv cannot download, is reported as not run. The tools are those of
[dependency-groups] in pyproject.toml; glslangValidator compiles the shaders.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for tests.support, which needs no package

from tests.support.documents import blocks_of  # noqa: E402

WORK = ROOT / ".cache" / "release"
DIST, TOOLS = WORK / "dist", WORK / "tools"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
#: Extras for work on the repository; users of the wheel need none of them.
OWN_EXTRAS = ("dev", "docs")
#: What --tests needs beside pytest's options in pyproject.toml.
TEST_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "networkx")
COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "cargo", "rustc", "glslang", "glslangValidator")

Environment = dict[str, str]


class CheckError(Exception):
    """A check failed."""


def say(text: str) -> None:
    print(text, flush=True)


def run(command: Sequence[str | Path], *, cwd: Path = WORK, env: Environment | None = None, stdin: str = "") -> str:
    """Run a command and return its output; raise `CheckError` with the end of what it said if it fails."""
    environment = {**(os.environ if env is None else env), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "UV_PYTHON", "PIP_REQUIRE_VIRTUALENV"):
        if env is None:
            environment.pop(name, None)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        raise CheckError(f"{' '.join(map(str, command))[:300]}: exit code {done.returncode}\n{said[-4000:]}")
    return done.stdout


def tool(name: str) -> Path:
    return TOOLS / "bin" / name


def install_tools() -> None:
    """Make the environment of the tools, or bring it up to date."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if not tool("python").exists():
        venv.create(TOOLS, with_pip=True, clear=True)
    run([tool("python"), "-m", "pip", "install", "--quiet", *project["dependency-groups"]["release"]])


# ---- the distributions ----


def build() -> Path:
    """Build the sdist, a wheel from it and one from the checkout; compare these, and return the first."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([tool("python"), "-m", "build", "--installer", "uv", "--outdir", DIST, ROOT])
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    shutil.rmtree(WORK / "again", ignore_errors=True)
    run([tool("python"), "-m", "build", "--installer", "uv", "--wheel", "--outdir", WORK / "again", ROOT])
    (again,) = (WORK / "again").glob("*.whl")
    first, second = content(wheel), content(again)
    if differing := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        raise CheckError(f"{sdist.name} does not build the wheel of the checkout: {', '.join(differing)} differ")
    say(f"built {sdist.name} and {wheel.name}")
    return wheel


def write_recipe(version: str) -> None:
    """Write the conda recipe that builds the sdist as it lies on PyPI."""
    (sdist,) = DIST.glob("*.tar.gz")
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    address = "https://pypi.org/packages/source/v/vkssp/vkssp-${{ version }}.tar.gz"
    recipe = (ROOT / ".conda" / "vkssp" / "recipe.yaml").read_text(encoding="utf-8")
    for pattern, text in (
        (r"(?m)^  version: \$\{\{ env\.get.*$", f'  version: "{version}"'),
        (r"(?m)^  path: \.\./\.\.$", f"  url: {address}\n  sha256: {digest}"),
    ):
        recipe, count = re.subn(pattern, lambda _, text=text: text, recipe)
        if count != 1:
            raise CheckError(f".conda/vkssp/recipe.yaml has {count} lines like {pattern}, not one")
    (WORK / "recipe.yaml").write_text(recipe, encoding="utf-8")


def content(wheel: Path) -> dict[str, int]:
    """Return the names of the files of a wheel with their checksums."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def metadata_of(wheel: Path) -> dict[str, list[str]]:
    """Return the fields of a wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = HeaderParser().parsestr(archive.read(name).decode())
    return {field: message.get_all(field, []) for field in message}


def check_distributions(wheel: Path, release: str) -> None:
    """Check the form and the content of the sdist and the wheel, and the version of a release."""
    if not wheel.name.endswith("-py3-none-any.whl"):
        raise CheckError(f"{wheel.name} is not for any platform")
    run([tool("twine"), "check", "--strict", *DIST.iterdir()])
    run([tool("check-wheel-contents"), wheel])
    names = content(wheel)
    tracked = run(["git", "ls-files", "vkssp"], cwd=ROOT).split() if (ROOT / ".git").exists() else []
    sources = runpy.run_path(str(ROOT / "scripts" / "build_shaders.py"))["sources"]
    shaders = [f"vkssp/spirv/{name}.spv" for name in sources()]
    if missing := {*tracked, *shaders} - {name for name in {*tracked} if name.endswith(".LICENSE")} - names.keys():
        raise CheckError(f"{wheel.name} lacks {', '.join(sorted(missing))}")
    expected = {*tracked, *shaders, "vkssp/spirv/manifest.json"}
    if stray := {name for name in names if ".dist-info/" not in name} - expected:
        raise CheckError(f"{wheel.name} has files that are not in the repository: {', '.join(sorted(stray))}")
    version = metadata_of(wheel)["Version"][0]
    if release:
        if f"v{version}" != release:
            raise CheckError(f"the version is {version}, not {release.removeprefix('v')}; check out the tag {release}")
        changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        if re.fullmatch(r"[\d.]+", version) and f"\n## [{version}] - " not in changes:
            raise CheckError(f"CHANGELOG.md has no heading '## [{version}] - DATE'")
    say("twine, check-wheel-contents, the list of files and the version: passed")


def check_boms(wheel: Path) -> None:
    """Validate the bill of materials in the wheel, and write one of the wheel with its newest dependencies."""
    unpacked = WORK / "sboms"
    shutil.rmtree(unpacked, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        boms = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
        paths = [Path(archive.extract(name, unpacked)) for name in boms]
    validator = (
        "import sys; from cyclonedx.schema import SchemaVersion;"
        "from cyclonedx.validation.json import JsonStrictValidator;"
        "sys.exit(str(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()) or '') or 0)"
    )
    for path in paths:
        run([tool("python"), "-c", validator, path])
    run([tool("uv"), "venv", "--quiet", "--clear", "--python", sys.executable, WORK / "dependencies"])
    install(WORK / "dependencies", "newest", wheel, ())
    output = WORK / f"{wheel.name.removesuffix('-py3-none-any.whl')}.cdx.json"
    options = ["--spec-version", "1.6", "--output-reproducible", "--output-file", output]
    run([tool("cyclonedx-py"), "environment", *options, WORK / "dependencies" / "bin" / "python"])
    components = json.loads(output.read_text(encoding="utf-8"))["components"]
    say(f"{', '.join(path.name for path in paths)} is valid; {output.name} lists {len(components)} components")


# ---- clean environments ----


def find_python(version: str) -> str:
    """Return an interpreter for `uv venv`: pyenv's, whose shims uv cannot ask, or else what uv finds or downloads."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for path in sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True):
        return str(path)
    return version


def make_environment(version: str, resolution: str) -> Path:
    """Make an empty environment; raise `LookupError` if there is no such Python."""
    folder = WORK / f"{version}-{resolution}"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        run([tool("uv"), "venv", "--quiet", "--python", find_python(version), folder])
    except CheckError as error:
        raise LookupError(f"no interpreter ({str(error).splitlines()[-1].strip()})") from None
    return folder


def install(environment: Path, resolution: str, wheel: Path, extras: Sequence[str], more: Sequence[str] = ()) -> None:
    """Install the wheel with its dependencies, all of them as wheels, and check that they go together."""
    fields = metadata_of(wheel)
    wanted = []
    for requirement in fields["Requires-Dist"]:
        name, _, marker = requirement.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if extra is None or extra[1] in extras:
            # Named one by one, since the lowest versions are taken only of what the command names.
            rest = re.sub(r"(\s+and\s+)?extra == ['\"][\w-]+['\"]", "", marker).strip()
            wanted.append(f"{name.strip()} ; {rest}" if rest else name.strip())
    into = ["--quiet", "--python", environment / "bin" / "python"]
    options = ["--only-binary", ":all:", "--resolution", RESOLUTIONS[resolution]]
    run([tool("uv"), "pip", "install", *into, *options, wheel, *wanted])
    if more:  # tools, with what is there
        kept = run([tool("uv"), "pip", "freeze", *into]).splitlines(keepends=True)
        (environment / "kept.txt").write_text("".join(line for line in kept if "==" in line), encoding="utf-8")
        run([tool("uv"), "pip", "install", *into, "--constraint", environment / "kept.txt", *more])
    run([tool("uv"), "pip", "check", *into])


def traps(folder: Path) -> Path:
    """Write programs with the names of compilers, which note that they are called, and fail."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMPILERS:
        path = folder / name
        path.write_text(f"#!/bin/sh\necho {name} >>'{folder}/called'\nexit 99\n", encoding="utf-8")
        path.chmod(0o755)
    return folder


def clean_of(environment: Path) -> Environment:
    """Return the variables of processes that use an environment: without settings of this shell, and with the traps."""
    own = ("PYTHON", "VKSSP_", "NUMBA_", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    path = os.pathsep.join(map(str, (traps(environment / "traps"), environment / "bin", os.environ["PATH"])))
    return {**kept, "PATH": path, "TQDM_DISABLE": "1", "XDG_CACHE_HOME": str(environment / "cache")}


def use_commands(environment: Path, version: str) -> bool:
    """Run commands on the extract of Andorra; return whether there is a Vulkan device."""
    folder, clean, vkssp = environment / "use", clean_of(environment), environment / "bin" / "vkssp"
    for name in ("data", "support"):  # without the package: that of the environment is used
        shutil.copytree(ROOT / "tests" / name, folder / "tests" / name, ignore=shutil.ignore_patterns("__pycache__"))
    if (told := run([vkssp, "--version"], cwd=folder, env=clean).split()) != ["vkssp", version]:
        raise CheckError(f"vkssp --version says {' '.join(told)}, not {version}")
    ends = ["--from", "42.5078,1.5211", "--to", "42.5425,1.7337"]
    (folder / "two.csv").write_text("lat,lon\n42.5078,1.5211\n42.5425,1.7337\n", encoding="utf-8")
    run([vkssp, "import", "tests/data/andorra.osm.pbf", "andorra.graph"], cwd=folder, env=clean)
    route = json.loads(run([vkssp, "route", "andorra.graph", *ends, "--steps", "--json"], cwd=folder, env=clean))
    run([vkssp, "prepare", "andorra.graph", "prepared.graph"], cwd=folder, env=clean)
    again = json.loads(run([vkssp, "route", "prepared.graph", *ends, "--steps", "--json"], cwd=folder, env=clean))
    if route["duration_s"] != again["duration_s"] or len(route["steps"]) < 2:
        raise CheckError("a route in a graph differs from that in the prepared graph, or has no steps")
    run([vkssp, "table", "prepared.graph", "--sources", "two.csv", "--output", "two.npy"], cwd=folder, env=clean)
    devices = json.loads(run([vkssp, "devices", "--json"], cwd=folder, env=clean))["devices"]
    return any(not device["unusable"] for device in devices)


def use_examples(environment: Path, pages: Sequence[Path]) -> None:
    """Run the examples of pages, each in a folder with what they expect there."""
    clean = clean_of(environment)
    for page in pages:
        folder = environment / "pages" / "-".join(page.relative_to(ROOT).with_suffix("").parts)
        shutil.copytree(environment / "use", folder)
        given = json.dumps({"blocks": [asdict(block) for block in blocks_of(page)], "hidden": []})
        run([environment / "bin" / "python", "-m", "tests.support.documents"], cwd=folder, env=clean, stdin=given)


def run_tests(environment: Path, resolution: str, wheel: Path, options: Sequence[str]) -> None:
    """Run tests of the checkout on the installed package."""
    install(environment, resolution, wheel, user_extras(wheel), TEST_TOOLS)
    folder = environment / "tests"
    for name in ("tests", "scripts", "shaders", "docs", "examples", ".ci", ".github", "pyproject.toml", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        folder.mkdir(exist_ok=True)
        copy(ROOT / name, folder / name)
    run([environment / "bin" / "python", "-m", "pytest", "-q", *options], cwd=folder)


def user_extras(wheel: Path) -> list[str]:
    return [extra for extra in metadata_of(wheel)["Provides-Extra"] if extra not in OWN_EXTRAS]


def check_environment(version: str, resolution: str, wheel: Path, tests: Sequence[str]) -> str:
    """Check the wheel in an environment, and return what was done.

    Raises
    ------
    CheckError
        If something fails.
    LookupError
        If there is no interpreter.
    """
    environment = make_environment(version, resolution)
    install(environment, resolution, wheel, ())
    has_vulkan = use_commands(environment, metadata_of(wheel)["Version"][0])
    done = "commands"
    if has_vulkan:
        use_examples(environment, [ROOT / "README.md"])
        install(environment, resolution, wheel, user_extras(wheel))
        pages = sorted((ROOT / "docs").rglob("*.md"))
        use_examples(environment, pages)
        done += f", README.md, {len(pages)} pages of docs with the extras {', '.join(user_extras(wheel))}"
    else:
        done += "; the examples not run, since there is no Vulkan driver"
    if (called := environment / "traps" / "called").exists():
        raise CheckError(f"compilers were called: {called.read_text(encoding='utf-8').split()}")
    if tests:
        run_tests(environment, resolution, wheel, tests)
        done += f", pytest {' '.join(tests)}"
    return done


def check_runners(wheel: Path, version: str) -> None:
    """Run the wheel's command by uvx and by pipx, without an installation."""
    for command in (
        [tool("uvx"), "--quiet", "--from", wheel, "vkssp", "--version"],
        [tool("pipx"), "run", "--spec", wheel, "vkssp", "--version"],
    ):
        if version not in run(command):
            raise CheckError(f"{command[0].name} runs another version")
    say("uvx and pipx run: passed")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", metavar="3.11,3.12", default=",".join(PYTHONS), help="the Pythons; default %(default)s"
    )
    parser.add_argument("--wheel", type=Path, help="check this wheel, and build nothing")
    parser.add_argument(
        "--release", metavar="TAG", default="", help="check that this tag's version and changes are told"
    )
    parser.add_argument("--require-all", action="store_true", help="count a Python that is missing as a failure")
    parser.add_argument(
        "--tests",
        metavar="OPTIONS",
        default="",
        help="run pytest in each environment, too, with these options, such as 'tests/osm tests/routing -n 4'",
    )
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        install_tools()
        wheel = args.wheel.resolve() if args.wheel else build()
        if not args.wheel:
            check_distributions(wheel, args.release)
            write_recipe(metadata_of(wheel)["Version"][0])
        check_boms(wheel)
        check_runners(wheel, metadata_of(wheel)["Version"][0])
    except CheckError as error:
        say(f"failed: {error}")
        return 1
    results = []
    for version in args.python.split(","):
        for resolution in RESOLUTIONS:
            began = time.monotonic()
            try:
                told = f"passed: {check_environment(version, resolution, wheel, shlex.split(args.tests))}"
            except LookupError as error:
                told = f"not run: {error}"
            except CheckError as error:
                told = f"failed: {error}"
            results.append(f"Python {version}, {resolution} dependencies: {told}")
            say(f"{results[-1]} ({time.monotonic() - began:.0f} s)")
    counts = {
        word: sum(f" dependencies: {word}" in line for line in results) for word in ("passed", "failed", "not run")
    }
    say("environments: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    return int(counts["failed"] > 0 or counts["passed"] == 0 or (args.require_all and counts["not run"] > 0))


if __name__ == "__main__":
    sys.exit(main())
