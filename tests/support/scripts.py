"""Scripts of the project in the process of the tests: another one takes seconds to import what they need."""

from __future__ import annotations

import importlib.util
import io
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT


class Done(NamedTuple):
    """What a script has returned and printed."""

    returncode: int
    stdout: str
    stderr: str


def run_script(name: str, *arguments: object) -> Done:
    """Run a script as a program with some arguments; an error that it does not catch is one of the test."""
    path, out, err = str(ROOT / "scripts" / f"{name}.py"), io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", [path, *map(str, arguments)])
        patch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
        code: object = 0
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as stop:
            code = stop.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    return Done(code, out.getvalue(), err.getvalue())


def load_script(name: str) -> ModuleType:
    """Return a script as a module, anew with each call."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where data classes look for what their annotations name
    spec.loader.exec_module(module)
    return module
