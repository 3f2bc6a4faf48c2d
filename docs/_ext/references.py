"""Cross-references of docstrings: names of parameters become code, names of attributes lead to their class."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

_NAME = re.compile(r"(?<!`)`(\w+)`(?!`)")
_LISTED = re.compile(r"^([\w, ]+) :|^([\w, ]+)$", re.MULTILINE)


def parameters_of(thing: Any) -> set[str]:
    """Return the names of the parameters of a function, or of the constructor of a class."""
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def mark_parameters(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Write the names of parameters as code; numpydoc puts them between single backticks."""
    known = parameters_of(thing)
    lines[:] = [_NAME.sub(lambda found: f"``{found[1]}``" if found[1] in known else found[0], line) for line in lines]


def attributes_of(name: str) -> set[str]:
    """Return the names of the attributes of a class, also of those that only its docstring lists."""
    module, _, rest = name.rpartition(".")
    thing = getattr(import_module(module), rest)
    section = inspect.cleandoc(thing.__doc__ or "").partition("Attributes\n----------\n")[2]
    listed = {word.strip() for found in _LISTED.finditer(section) for word in (found[1] or found[2]).split(",")}
    return listed | set(getattr(thing, "__annotations__", {}))


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element) -> nodes.Element | None:
    """Resolve the name of an object of another module, or of an attribute without an entry of its own."""
    if node.get("refdomain") != "py":
        return None
    domain, target = env.domains.python_domain, node["reftarget"]
    found = domain.find_obj(env, None, None, target, None, 1)
    if not found:
        owner, _, attribute = target.rpartition(".")
        owner = owner or node.get("py:class") or ""
        classes = domain.find_obj(env, node.get("py:module"), None, owner, None, 1) if owner else []
        found = [(name, entry) for name, entry in classes if attribute in attributes_of(name)]
    found = [(name, entry) for name, entry in found if not entry.aliased]
    if len(found) != 1:
        return None
    name, entry = found[0]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, text, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the two handlers, the first one before that of numpydoc."""
    app.connect("autodoc-process-docstring", mark_parameters, priority=400)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
