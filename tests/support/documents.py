"""The examples of README.md and docs/*.md: the blocks of a page, and a process that runs them as they stand.

Each block names its language. Blocks of sh and python are run, in their order, in one folder; the text after ``# ->``
is the output of ``print`` in that line. A line above a block may mark it:

    <!-- not run: REASON -->      the block is not run, for this reason
    <!-- file: NAME -->           the block is the content of this file
    <!-- before: COMMAND -->      this shell command runs first, in place of a step that a reader does elsewhere
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.abc
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|file|before): (?P<said>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_SAYS = re.compile(r"#\s->\s(.*)")


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes
    ----------
    page : str
        The page's name.
    line : int
        The line before its first one.
    language, text : str
        Its language and its content.
    mark, said : str
        "not run", "file", "before" or nothing, and the text of the mark.
    """

    page: str
    line: int
    language: str
    text: str
    mark: str
    said: str

    @property
    def runs(self) -> bool:
        """Whether it is run."""
        return self.language in ("sh", "python") and self.mark in ("", "before")


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        parts = (match[name] or "" for name in ("language", "text", "mark", "said"))
        found.append(Block(path.name, line, *parts))
    return found


def commands_of(block: Block) -> list[tuple[int, str]]:
    """Return the commands of a block of sh, without comments, each with its line in the page."""
    found, begun = [], ""
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        begun += re.sub(r"(^|\s\s)#.*", "", line).rstrip()
        if begun.endswith("\\"):
            begun = begun[:-1]
        elif begun.strip():
            found.append((number, begun.strip()))
            begun = ""
    return found


class _Hidden(importlib.abc.MetaPathFinder):
    """Hides modules, as if they were not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = set(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _run_command(command: str) -> None:
    """Run a command of a block of sh; `vkssp` in this process, which is faster and has the hidden modules."""
    from vkssp.cli import main

    words = shlex.split(command)
    environment = dict(os.environ)
    while re.match(r"\w+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if {"|", "<", ">"} & set(words):
        # As installed, whatever the PATH says.
        start = f'set -o pipefail; vkssp() {{ {shlex.quote(sys.executable)} -m vkssp "$@"; }}; '
        subprocess.run(["bash", "-c", start + command], env=environment, check=True, capture_output=True)
    elif words[0] == "vkssp" and environment == os.environ:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
            code = main(words[1:])
        if code:
            raise RuntimeError(f"exit code {code}: {told.getvalue().strip()}")
    elif words[0] in ("vkssp", "python"):
        words[:1] = [sys.executable, "-m", "vkssp"] if words[0] == "vkssp" else [sys.executable]
        subprocess.run(words, env=environment, check=True, capture_output=True)
    elif words[:2] != ["pip", "install"]:
        raise RuntimeError("no command that is known here; mark the block if it cannot be run")


def _run_python(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block of python, and compare its output with that in comments."""
    printed: dict[int, list[str]] = defaultdict(list)

    def recorded(*values: Any, **options: Any) -> None:
        stream = io.StringIO()
        builtins.print(*values, **{**options, "file": stream})
        printed[sys._getframe(1).f_lineno].append(stream.getvalue().rstrip("\n"))

    # As many empty lines before it as in the page, so that errors name the right ones.
    exec(compile("\n" * block.line + block.text, block.page, "exec"), {**namespace, "print": recorded}, namespace)
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        said = _SAYS.search(line)
        if said and "\n".join(printed[number]) != said[1].strip():
            raise RuntimeError(f"line {number} says {said[1]!r} and prints {printed[number]!r}")


def run(blocks: Sequence[Block], hidden: Sequence[str]) -> None:
    """Run blocks in the current folder; the first that fails ends it."""
    sys.meta_path.insert(0, _Hidden(hidden))
    found = importlib.util.find_spec
    # Libraries ask so whether others are installed.
    importlib.util.find_spec = lambda name, package=None: (
        None if name.partition(".")[0] in hidden else found(name, package)
    )
    namespace: dict[str, Any] = {}
    for block in blocks:
        where, what = block.line, block.text
        try:
            if block.mark == "file":
                Path(block.said).write_text(block.text, encoding="utf-8")
            if block.mark == "before":
                subprocess.run(block.said, shell=True, check=True)
            if block.runs and block.language == "python":
                _run_python(block, namespace)
            elif block.runs:
                for line, command in commands_of(block):
                    where, what = line, command
                    _run_command(command)
        except BaseException:
            traceback.print_exc()
            sys.exit(f"{block.page}, line {where}: {what}")


def run_elsewhere(blocks: Sequence[Block], folder: Path, hidden: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run blocks in a folder, in a process of their own in which some modules are hidden."""
    given = json.dumps({"blocks": [asdict(block) for block in blocks], "hidden": list(hidden)})
    return subprocess.run(
        [sys.executable, "-m", "tests.support.documents"],
        input=given,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    told = json.load(sys.stdin)
    run([Block(**block) for block in told["blocks"]], told["hidden"])
