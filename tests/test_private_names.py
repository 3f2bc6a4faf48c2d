"""Names with a leading underscore: each belongs to the file that defines it, in package, tests and scripts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from tests.support.paths import ROOT

#: Functions that take the name of an attribute as a string.
BY_NAME = {"setattr", "getattr", "hasattr", "delattr"}
#: Names of other projects.
FOREIGN = {"_cache", "_exit", "_fields", "_getframe", "_register_atexit", "_replace", "_repr_html_", "_vroom"}


def nodes_of(code: str) -> Iterator[ast.AST]:
    """Yield the nodes of a file, and those of programs in its strings."""
    for node in ast.walk(ast.parse(code)):
        yield node
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            with suppress(SyntaxError):
                yield from nodes_of(node.value)


def is_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def names(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield the names in a node, each with whether the node defines it; those of objects' own attributes are left."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, True
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, True
    elif isinstance(node, ast.Attribute) and not (is_own(node.value) and isinstance(node.ctx, ast.Load)):
        yield node.attr, is_own(node.value)
    elif isinstance(node, ast.ImportFrom):
        yield from ((alias.name, False) for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BY_NAME:
        strings = (one.value for one in node.args[:2] if isinstance(one, ast.Constant))
        yield from ((one.split(".")[-1], False) for one in strings if isinstance(one, str))


def test_no_private_name_of_another_file_is_used() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(path for folder in ("vkssp", "tests", "scripts") for path in (ROOT / folder).rglob("*.py")):
        there = {pair for node in nodes_of(path.read_text()) for pair in names(node)}
        own = {name for name, is_defined in there if is_defined} | FOREIGN
        private = {name for name, _ in there if name.startswith("_") and not name.startswith("__")}
        if private - own:
            found[path.relative_to(ROOT).as_posix()] = sorted(private - own)
    assert not found
