#!/usr/bin/env python3
"""Make executables named as OSRM's in a folder, which hand their work to one resident process of vkssp."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("extract", "partition", "customize", "contract", "datastore", "routed")
#: Libraries whose presence OSRM's test suite takes for a complete build.
LIBRARIES = ("", "_extract", "_contract", "_customize", "_partition")


def make_executables(folder: Path) -> None:
    """Fill a folder with the executables, and with what the test suite looks for beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    (folder / "python").write_text(sys.executable)
    # Without site packages and the user's settings Python starts in a third of the time.
    python = os.path.realpath(sys.executable)
    for tool in TOOLS:
        path = folder / f"osrm-{tool}"
        path.unlink(missing_ok=True)
        path.write_text(
            f"#!{python} -IS\nimport sys\nsys.path.insert(0, {str(HERE)!r})\n"
            f"from client import main\nsys.exit(main({tool!r}, {str(folder)!r}))\n"
        )
        path.chmod(0o755)
    # The suite keeps prepared data by a digest of these files, so they tell one state of the sources from another.
    digest = hashlib.sha256()
    package = HERE.parents[1] / "vkssp"
    for file in sorted((*package.rglob("*.py"), *package.rglob("*.toml"), *HERE.glob("*.py"))):
        digest.update(file.read_bytes())
    for library in LIBRARIES:
        (folder / f"libosrm{library}.so").write_text(digest.hexdigest())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the executables go")
    make_executables(parser.parse_args().folder)
