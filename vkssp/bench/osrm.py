"""OSRM for comparison: its programs and profiles, how it prepares an extract, and tables in a process of its own.

OSRM's Python package, osrm-bindings, needs Python 3.12 or newer, and may be installed for another Python than the one
that runs this.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.resource import Resource
from vkssp.routing.places import LatLon

#: OSRM's names for our profiles.
PROFILES = {"car": "car", "bike": "bicycle", "foot": "foot"}
# The program that answers for tables, run by the Python that has osrm-bindings.
_TABLES = Path(__file__).with_name("osrm_tables.py")


class Osrm:
    """OSRM's programs and profiles.

    Parameters
    ----------
    folder : str or Path, optional
        Folder of an unpacked wheel or of a build of osrm-backend; by default this Python's osrm-bindings, or the
        programs of the search path.

    Attributes
    ----------
    programs, profiles : Path
        Folders.
    version : str
        Version that the programs tell.

    Raises
    ------
    QueryError
        If there is no OSRM.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        roots = [Path(folder)] if folder else []
        spec = importlib.util.find_spec("osrm")
        if not folder and spec is not None:
            roots += [Path(place) for place in spec.submodule_search_locations or ()]
        found = shutil.which("osrm-routed")
        if not folder and found:
            roots.append(Path(found).resolve().parent.parent)
        for root in roots:
            for base in (root, root / "osrm", root / "build", root.parent):
                for programs in (base / "bin", base):
                    for profiles in (base / "share/profiles", base / "share/osrm/profiles", root / "profiles"):
                        if (programs / "osrm-routed").exists() and (profiles / "car.lua").exists():
                            self.programs, self.profiles = programs, profiles
                            self.version = self.run("osrm-routed", "--version").strip()
                            return
        where = f"no osrm-routed and profiles/car.lua under {folder}" if folder else "OSRM is not installed"
        raise QueryError(f"{where}; run 'pip install osrm-bindings', or give the folder of an unpacked one with --osrm")

    @classmethod
    def of_python(cls, python: str) -> Osrm:
        """Return the programs of the osrm-bindings that a Python has.

        Raises
        ------
        QueryError
            If there is no such Python, or it has no osrm-bindings.
        """
        command = [python, "-I", "-c", "import osrm; print(osrm.__path__[0])"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise QueryError(f"cannot run {python}: {error.strerror or error}") from error
        if done.returncode:
            raise QueryError(f"{python} has no osrm-bindings; run '{python} -m pip install osrm-bindings'")
        return cls(done.stdout.strip())

    def run(self, program: str, *arguments: str) -> str:
        """Run a program and return its output; raise `QueryError` with its last line if it fails."""
        done = subprocess.run([str(self.programs / program), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no message"]
            raise QueryError(f"{program} failed with {done.returncode}: {last[0]}")
        return done.stdout

    def extract(self, extract: Path, profile: str, folder: Path, *programs: str) -> Path:
        """Extract a map into a folder, run some programs on the result, and return the common part of its file names.

        Parameters
        ----------
        extract : Path
            The map.
        profile : str
            Name of our profile, whose counterpart of OSRM is taken; see `PROFILES`.
        folder : Path
            A folder, which is there.
        *programs : str
            Programs such as ``osrm-contract``.
        """
        link, base = folder / f"map{''.join(extract.suffixes[-2:])}", folder / "map.osrm"
        link.symlink_to(extract.resolve())
        self.run("osrm-extract", "-p", str(self.profiles / f"{PROFILES[profile]}.lua"), str(link))
        for program in programs:
            self.run(program, str(base))
        return base


class OsrmTables(Resource):
    """Tables by OSRM's contraction hierarchy inside a process of its own, which times them itself.

    Parameters
    ----------
    python : str
        The Python that has osrm-bindings.
    base : Path
        Common part of the names of the files that osrm-contract wrote.

    Attributes
    ----------
    version : str
        Version of osrm-bindings.

    Raises
    ------
    QueryError
        If the process ends with an error.
    """

    def __init__(self, python: str, base: Path) -> None:
        super().__init__()
        self._child = subprocess.Popen(
            [python, "-I", str(_TABLES), str(base)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = str(self._reply()["version"])

    def table(self, places: Sequence[LatLon], *, answer: bool = True) -> tuple[float, npt.NDArray[np.float32]]:
        """Return the milliseconds of a table between places, and its seconds, NaN where no route leads.

        Without `answer`, the table is made and timed, but an empty array is returned.
        """
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"places": list(places), "answer": answer}) + "\n")
        self._child.stdin.flush()
        reply = self._reply()
        return float(reply["ms"]), np.array(reply["seconds"], np.float32)

    def _reply(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise QueryError(f"OSRM's process ended with {self._child.wait()}; try {' '.join(self._child.args)}")  # type: ignore[arg-type]
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _release(self) -> None:
        process = getattr(self, "_child", None)
        if process is not None:
            with process:  # closes its input, at which it ends
                process.stdin.close()
