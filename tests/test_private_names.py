"""Names with a leading underscore: each belongs to the file that defines it, in package, tests and scripts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

#: Files that still use names of others.
EXCEPTIONS = {
    *("tests/algorithms/test_block_resident.py", "tests/algorithms/test_phast.py", "tests/batch/test_batch.py"),
    *("tests/cch/test_topology.py", "tests/cch/test_unpack.py", "tests/engine/test_layout.py"),
}
#: Functions that take the name of an attribute as a string.
BY_NAME = {"setattr", "getattr", "hasattr", "delattr"}
#: Names that the standard library documents.
DOCUMENTED = {"_exit", "_fields", "_getframe", "_replace"}
FILES = sorted(path for folder in ("vkssp", "tests", "scripts") for path in (ROOT / folder).rglob("*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def is_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def defined(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a file defines."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            yield node.attr


def used(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield lines and names of attributes of other objects, of imports, and of attributes that strings name."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and not is_own(node.value):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BY_NAME:
            strings = (one.value for one in node.args[:2] if isinstance(one, ast.Constant))
            yield from ((node.lineno, one.split(".")[-1]) for one in strings if isinstance(one, str))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in FILES])
def test_no_private_name_of_another_file_is_used(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    own = set(defined(nodes))
    found = [f"line {line}: {name}" for line, name in used(nodes) if is_private(name) and name not in own]
    assert bool(found) == (path.relative_to(ROOT).as_posix() in EXCEPTIONS), found
