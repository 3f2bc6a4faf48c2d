#!/usr/bin/env python3
"""Compiler of shaders/*/*.comp to vkssp/spirv/*.spv by glslangValidator, with a check by spirv-val if it is installed.

The wheel build runs this script, and so does vkssp in a checkout after a change of a shader's source. Only modules that
are out of date are compiled: vkssp/spirv/manifest.json holds the digest of the sources of each module.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "shaders"
INCLUDES = SOURCES / "include"
OUTPUT = ROOT / "vkssp" / "spirv"
MANIFEST = OUTPUT / "manifest.json"
TARGET = "vulkan1.2"
#: Shaders that are also compiled with a definition, under their names with an ending after all others: devices whose
#: subgroups cannot add or vote, see scan.glsl; distances of 64 bits, see distance.glsl; lists of supernodes that hang
#: on few changes, see affected.glsl; arrays in several buffers, see split.glsl.
VARIANTS = {
    "_no_subgroups": ("NO_SUBGROUPS", ("near_far",)),
    "_64": (
        "DISTANCE_BITS=64",
        (
            *("near_far", "start", "gather", "path", "path_parents", "path_stride"),
            *("voronoi_begin", "voronoi_hook", "tree_arcs"),
        ),
    ),
    "_listed": (
        "LISTED",
        (
            *("customize_basic_outside", "customize_basic_fronts", "customize_closure"),
            *("customize_perfect", "customize_prune"),
        ),
    ),
    "_split": (
        "SPLIT_ARRAYS",
        (
            *("near_far", "push_pull", "bellman_ford", "bellman_ford_edge", "bellman_ford_subgroup"),
            *("delta_step", "delta_step_array", "delta_step_subgroup"),
            *("dijkstra_scan", "threshold_relax", "threshold_relax_predecessors"),
            *("path", "path_parents", "path_fill", "voronoi_hook", "tree_arcs", "reweigh"),
            *("customize_weights", "customize_basic_outside", "customize_basic_fronts"),
            *("customize_closure", "customize_perfect", "customize_perfect_outside", "customize_clear"),
            *("customize_prune", "customize_pack", "recustomize_begin", "recustomize_gather", "recustomize_pack"),
            *("recustomize_restore", "recustomize_spread", "label_rows", "label_symmetry", "query_rows"),
            *(
                "query_places",
                "phast_bundle_arcs",
                "phast_bundles",
                "phast_climb",
                "phast_few_pairs",
                "phast_fit",
                "phast_mark",
                "phast_meet",
                "phast_pairs",
                "phast_sweep",
                "phast_unpack",
            ),
            *(
                "phast_unpack_many",
                "phast_path",
                "phast_upward",
                "phast_upward_many",
                "phast_sweep_many",
                "phast_records",
                "phast_leaf_rows",
                "phast_column_arcs",
            ),
        ),
    ),
}


class ShaderError(Exception):
    """A shader does not compile, or the compiler is missing."""


def sources() -> dict[str, Path]:
    """Return the source of every module by its name; names are unique across folders."""
    found = {path.stem: path for path in sorted(SOURCES.glob("*/*.comp"))}
    for ending, (_, names) in VARIANTS.items():
        found |= {f"{name}{ending}": path for name, path in found.items() if path.stem in names}
    return found


def options(name: str) -> list[str]:
    """Return the compiler's options for a module."""
    endings = name.removeprefix(sources()[name].stem)
    return [f"-D{definition}" for ending, (definition, _) in VARIANTS.items() if ending in endings]


def digests() -> dict[str, str]:
    """Return the digest of every module's source with its included files and options."""
    common = hashlib.sha256(TARGET.encode())
    for path in sorted(INCLUDES.glob("*.glsl")):
        common.update(path.name.encode() + b"\0" + path.read_bytes())
    result = {}
    for name, path in sources().items():
        digest = common.copy()
        digest.update(path.read_bytes() + "".join(options(name)).encode())
        result[name] = digest.hexdigest()
    return result


def _built() -> dict[str, str]:
    try:
        manifest = json.loads(MANIFEST.read_text())
    except (OSError, ValueError):
        return {}
    return {name: digest for name, digest in manifest.items() if (OUTPUT / f"{name}.spv").exists()}


def stale() -> list[str]:
    """Return the names of the shaders whose module is missing or older than its source."""
    built = _built()
    return [name for name, digest in digests().items() if built.get(name) != digest]


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ShaderError(f"{name}: {command[0]} failed\n{done.stdout}{done.stderr}".rstrip())


def _compile(name: str, folder: Path) -> None:
    compiler = shutil.which("glslangValidator") or shutil.which("glslang")
    if compiler is None:
        raise ShaderError(
            "glslangValidator is not installed, and the shaders have to be compiled; install it "
            "(Debian and Ubuntu: apt install glslang-tools; Fedora and Arch: glslang; macOS: brew install glslang)"
        )
    module = folder / f"{name}.spv"
    source = sources()[name]
    target = ["-V", "--quiet", "--target-env", TARGET, f"-I{INCLUDES}", *options(name)]
    _run([compiler, *target, "-o", str(module), str(source)], name)
    validator = shutil.which("spirv-val")
    if validator:
        _run([validator, "--target-env", TARGET, str(module)], name)


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".part-{os.urandom(6).hex()}")
    try:
        temporary.write_bytes(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def build(*, force: bool = False) -> list[str]:
    """Compile the modules that are out of date, and return their names.

    Raises
    ------
    ShaderError
        If the compiler is missing or a shader does not compile. No module is replaced then.
    """
    wanted = digests()
    if not wanted:
        raise ShaderError(f"no shaders in {SOURCES}")
    todo = sorted(wanted) if force else stale()
    try:
        _build(todo, wanted)
    except OSError as error:
        raise ShaderError(
            f"cannot write the compiled shaders to {OUTPUT}: {error.strerror}; make it writable"
        ) from error
    return todo


def _build(todo: list[str], wanted: dict[str, str]) -> None:
    OUTPUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                list(pool.map(partial(_compile, folder=Path(folder)), todo))
            finally:  # after an error, or Ctrl-C, what has not begun does not
                pool.shutdown(cancel_futures=True)
        for name in todo:
            _replace(OUTPUT / f"{name}.spv", (Path(folder) / f"{name}.spv").read_bytes())
    for module in OUTPUT.glob("*.spv"):
        if module.stem not in wanted:
            module.unlink()
    if todo or _built() != wanted:
        _replace(MANIFEST, json.dumps(wanted, indent=1).encode())


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--force", action="store_true", help="compile all modules, also those up to date")
    args = parser.parse_args()
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) == signal.SIG_DFL:
            signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))
    try:
        done = build(force=args.force)
    except ShaderError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"compiled {len(done)} of {len(digests())} shaders into {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
