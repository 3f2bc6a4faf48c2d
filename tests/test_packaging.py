"""What a user installs: the wheel needs no compiler, and a checkout rebuilds a shader that was changed.

``scripts/check_release.py`` does what takes longer: environments, and the tools of package indexes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import vkssp
from tests.support.paths import ROOT
from tests.support.spirv import all_shaders
from vkssp.routing.page import VALUE_SCRIPTS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
needs_hatchling = pytest.mark.skipif(
    not (importlib.util.find_spec("hatchling") and importlib.util.find_spec("hatch_vcs")),
    reason="needs hatchling and hatch-vcs",
)
PROGRAM = """
from vkssp import Graph, Solver
with Solver(Graph.from_edges([0, 1], [1, 2], [3, 4]), "delta_step") as solver:
    print(solver.distances(0).tolist())
"""


def run(where: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(where)}
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        [sys.executable, *arguments], cwd=where, env=environment, capture_output=True, text=True, check=False
    )


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack an archive of our own; Python 3.11 before 3.11.4, as Debian 12 has it, knows no filters."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)


#: Imports each public name, and each part of the package, as the first thing of it.
IMPORTS = """
import importlib, pkgutil, sys
import vkssp
parts = [module.name for module in pkgutil.iter_modules(vkssp.__path__) if module.name != "__main__"]
for name in [*vkssp.__all__, *parts]:
    for module in [module for module in sys.modules if module.partition(".")[0] == "vkssp"]:
        if name in parts or module == "vkssp":  # names are in parts, which are imported anew once each
            del sys.modules[module]
    first = importlib.import_module("vkssp")
    assert name not in vars(first)
    assert getattr(first, name) is vars(first)[name], name
    if name in parts:
        assert vars(first)[name].__name__ == f"vkssp.{name}"
assert not hasattr(first, "nowhere") and {*vkssp.__all__, "__version__"} <= {*dir(importlib.reload(first))}
exec("from vkssp import *")
assert {*vkssp.__all__} <= {*globals()}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what a clone has, without anything compiled."""
    for name in ("vkssp", "shaders", "scripts", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "spirv"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def compiled(checkout: Path) -> Path:
    """The copy with the compiled shaders of this checkout, which are up to date since the package is imported."""
    shutil.copytree(ROOT / "vkssp" / "spirv", checkout / "vkssp" / "spirv")
    return checkout


@pytest.fixture
def nearly_compiled(compiled: Path) -> Path:
    """The copy without a few of the compiled shaders; setting up a fresh clone compiles all."""
    for name in ("start", "start_64", "delta_step"):
        (compiled / "vkssp" / "spirv" / f"{name}.spv").unlink()
    return compiled


@pytest.mark.usefixtures("may_use_vulkan")
@needs_hatchling
def test_the_wheel_works_without_a_compiler(nearly_compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    checkout = nearly_compiled
    built = run(checkout, "-m", "hatchling", "build", "-t", "wheel")
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (checkout / "dist").glob("*.whl")
    installed = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        names = set(archive.namelist())
    files = {path.relative_to(checkout).as_posix() for path in (checkout / "vkssp").rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name and not name.endswith(".LICENSE")}
    assert {f"vkssp/spirv/{name}.spv" for name in all_shaders()} | {"vkssp/py.typed"} <= files
    assert {f"vkssp/routing/{name}" for name in VALUE_SCRIPTS} <= files
    told = next(installed.glob("*.dist-info"))
    assert {name for name in names if not name.startswith(told.name)} == files, "all of the package, and nothing else"
    assert wheel.name.endswith("-py3-none-any.whl")
    assert {path.relative_to(told).as_posix() for path in (told / "licenses").rglob("*") if path.is_file()} == {
        "licenses/LICENSE",
        "licenses/vkssp/routing/vendor/leaflet.LICENSE",
    }
    assert "License-Expression: MIT AND BSD-2-Clause\n" in (told / "METADATA").read_text(encoding="utf-8")
    assert [path.name for path in (told / "sboms").iterdir()] == ["bundled.cdx.json"]
    done = run(installed, "-c", PROGRAM, path="/nowhere")
    assert done.stdout == "[0, 3, 7]\n", done.stderr
    done = run(installed, "-m", "vkssp", "--version", path="/nowhere")
    assert done.stdout == f"vkssp {wheel.name.split('-')[1]}\n", done.stderr


@needs_hatchling
def test_a_build_without_a_compiler_says_what_to_install(checkout: Path) -> None:
    built = run(checkout, "-m", "hatchling", "build", "-t", "wheel", path="/nowhere")
    assert built.returncode and built.stderr.startswith("vkssp: glslangValidator is not installed"), built.stderr


def git(where: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=N", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *arguments], cwd=where, capture_output=True, text=True, check=True).stdout


@needs_hatchling
@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_version_is_that_of_the_tag(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    def told(where: Path = checkout) -> tuple[str, str]:
        done = run(where, "-m", "hatchling", "metadata")
        metadata = json.loads(done.stdout)
        (revision,) = set(re.findall(r"/blob/(\S+?)/docs/", metadata["readme"]["text"]))
        return metadata["version"], revision

    for name in (".git_archival.txt", ".gitattributes", ".gitignore"):
        shutil.copy(ROOT / name, checkout)
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "one")
    version, revision = told()
    assert re.fullmatch(r"0\.1\.dev1\+g[0-9a-f]+", version) and revision == "HEAD"
    git(checkout, "tag", "v1.2.3rc1")
    assert told() == ("1.2.3rc1", "v1.2.3rc1")
    git(checkout, "tag", "v1.2.3")
    git(checkout, "archive", "--output", "archive.tar", "HEAD")
    archive = tmp_path_factory.mktemp("archive")
    with tarfile.open(checkout / "archive.tar") as stream:
        unpack(stream, archive)
    assert told(archive) == ("1.2.3", "v1.2.3")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "two")
    (checkout / "archive.tar").unlink()
    version, revision = told()
    assert re.fullmatch(r"1\.2\.4\.dev1\+g[0-9a-f]+", version) and revision == "HEAD"


def test_the_package_tells_its_version_without_git_and_only_when_asked(tmp_path: Path) -> None:
    assert vkssp.__version__ == importlib.metadata.version("vkssp")
    shutil.copy(ROOT / "vkssp" / "__init__.py", tmp_path)
    (tmp_path / "vkssp").mkdir()
    shutil.move(tmp_path / "__init__.py", tmp_path / "vkssp")
    program = """
import sys, vkssp
assert not {"importlib.metadata", "subprocess", "numpy"} & {*sys.modules}
print(vkssp.__version__)
"""
    done = run(tmp_path, "-S", "-c", program)  # without the folder of installed packages
    assert done.stdout == "0+unknown\n", done.stderr


def test_the_bill_of_materials_is_of_the_bundled_files() -> None:
    bill = json.loads((ROOT / "scripts" / "bundled.cdx.json").read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["licenses"] == [{"expression": PROJECT["project"]["license"]}]
    files = [file for component in bill["components"] for file in component["components"]]
    digests = {file["name"]: file["hashes"][0]["content"] for file in files}
    vendored = [path for path in (ROOT / "vkssp").rglob("vendor/*") if path.suffix != ".LICENSE"]
    assert digests == {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in vendored
    }
    leaflet = (ROOT / "vkssp" / "routing" / "vendor" / "leaflet.js").read_text(encoding="utf-8")
    assert f"Leaflet {bill['components'][0]['version']}," in leaflet[:200]


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / ".conda" / "vkssp" / "recipe.yaml").read_text(encoding="utf-8"))

    def needed(section: str) -> set[str]:
        lines = recipe["requirements"][section]
        everywhere = [line for line in lines if isinstance(line, str)]
        return {
            line.replace(" ", "")
            for line in (*everywhere, *(one for line in lines if isinstance(line, dict) for one in line["then"]))
        }

    project = PROJECT["project"]
    renamed = {requirement.partition(";")[0].replace("osmium", "pyosmium") for requirement in project["dependencies"]}
    assert needed("run") == {*renamed, "python>=${{python_min}}", "__unix"}
    assert {*PROJECT["build-system"]["requires"]} <= needed("host")
    assert recipe["context"]["python_min"] == project["requires-python"].removeprefix(">=")
    assert recipe["build"]["python"]["entry_points"] == [f"vkssp = {project['scripts']['vkssp']}"]
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (project["description"], project["license"])
    assert about["homepage"] == project["urls"]["Homepage"] and all(
        (ROOT / name).is_file() for name in about["license_file"]
    )


def test_the_recipe_of_a_release_has_the_address_and_the_digest_of_the_sdist(tmp_path: Path) -> None:
    write_recipe = runpy.run_path(str(ROOT / "scripts" / "check_release.py"))["write_recipe"]
    write_recipe.__globals__.update(WORK=tmp_path, DIST=tmp_path)
    (tmp_path / "vkssp-1.2.3.tar.gz").write_bytes(b"sdist")
    write_recipe("1.2.3")
    text = (tmp_path / "recipe.yaml").read_text(encoding="utf-8")
    assert f"  sha256: {hashlib.sha256(b'sdist').hexdigest()}\n" in text and '  version: "1.2.3"\n' in text
    assert "path:" not in text and "env.get" not in text


@needs_hatchling
def test_links_of_the_package_s_page_lead_to_files_of_the_repository(checkout: Path, tmp_path_factory: Any) -> None:
    """Also in a build from the sdist; the text of README.md, with its code, is the same otherwise."""
    built = run(checkout, "-m", "hatchling", "build", "-t", "sdist")
    assert built.returncode == 0, built.stdout + built.stderr
    unpacked = tmp_path_factory.mktemp("sdist")
    with tarfile.open(next((checkout / "dist").glob("*.tar.gz"))) as archive:
        unpack(archive, unpacked)
    (folder,) = unpacked.iterdir()
    project = PROJECT["project"]
    source = project["urls"]["Source"]
    assert all(url == source or url.startswith(f"{source}/") for url in project["urls"].values())
    for where in (checkout, folder):
        told = json.loads(run(where, "-m", "hatchling", "metadata").stdout)
        assert told["urls"] == project["urls"]
        text = told["readme"]["text"]
        plain = (where / "README.md").read_text(encoding="utf-8")
        links, images = (f"{source}/{kind}/HEAD/" for kind in ("blob", "raw"))
        assert text.replace(links, "").replace(images, "") == plain != text
        for mark, target in re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", text):
            assert target.startswith("https://"), target
            if target.startswith(source):
                begin = images if mark else links
                assert target.startswith(begin)
                assert (ROOT / target.removeprefix(begin).partition("#")[0]).is_file(), target
        assert not re.search(r"<(img|a)\b|^\[[^]]+\]:", text, re.MULTILINE), "no other kind of link"


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_checkout_compiles_what_was_changed_and_nothing_else(nearly_compiled: Path) -> None:
    checkout = nearly_compiled
    assert run(checkout, "-c", PROGRAM).stdout == "[0, 3, 7]\n"
    modules = {path: path.read_bytes() for path in (checkout / "vkssp" / "spirv").glob("*.spv")}
    times = {path: path.stat().st_mtime_ns for path in modules}
    assert len(modules) == len(all_shaders())
    # Unchanged, it needs no compiler.
    assert run(checkout, "-c", PROGRAM, path="/nowhere").stdout == "[0, 3, 7]\n"
    assert times == {path: path.stat().st_mtime_ns for path in modules}

    changed = {checkout / "vkssp" / "spirv" / f"start{ending}.spv" for ending in ("", "_64")}  # for both widths
    source = checkout / "shaders" / "engine" / "start.comp"
    text, line = source.read_text(), "atomicMin(dist[uint(terminals[i].x)], terminals[i].y);"
    assert line in text
    source.write_text(text.replace(line, line.replace("].y)", "].y + 2)")))
    assert run(checkout, "-c", PROGRAM).stdout == "[2, 5, 9]\n"
    assert {path for path in modules if path.read_bytes() != modules[path]} == changed


def test_a_changed_include_counts_as_a_change(compiled: Path) -> None:
    stale = "import sys; sys.path.insert(0, 'scripts'); import build_shaders; print(len(build_shaders.stale()))"
    assert run(compiled, "-c", stale).stdout == "0\n"
    include = compiled / "shaders" / "include" / "distance.glsl"
    include.write_text(include.read_text() + "\n// a word more\n")
    assert run(compiled, "-c", stale).stdout == f"{len(all_shaders())}\n"


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_shader_that_does_not_compile_leaves_the_old_ones_and_says_why(compiled: Path) -> None:
    before = {path.name: path.read_bytes() for path in (compiled / "vkssp" / "spirv").iterdir()}
    source = compiled / "shaders" / "path" / "path.comp"
    source.write_text(source.read_text() + "\nthis is no GLSL\n")
    built = run(compiled, "scripts/build_shaders.py")
    assert built.returncode == 1 and "path: " in built.stderr and "Traceback" not in built.stderr
    assert before == {path.name: path.read_bytes() for path in (compiled / "vkssp" / "spirv").iterdir()}
    used = run(compiled, "-c", PROGRAM)
    assert used.returncode != 0 and "DeviceError: path: " in used.stderr


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_changed_shader_without_a_compiler_is_a_clear_error(checkout: Path) -> None:
    done = run(checkout, "-c", PROGRAM, path="/nowhere")
    assert "glslangValidator is not installed" in done.stderr.splitlines()[-1]


def test_names_are_imported_when_they_are_asked_for() -> None:
    done = run(ROOT, "-c", IMPORTS)
    assert done.returncode == 0, done.stderr
