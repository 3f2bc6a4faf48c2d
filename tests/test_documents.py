"""The documents: their examples run, their links lead somewhere, the names and extras in them exist."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import runpy
import shutil
import sys
import tomllib
from itertools import groupby
from pathlib import Path

import pytest

import vkssp
from tests.conftest import DATA
from tests.support.documents import ROOT, Block, blocks_of, commands_of, run_elsewhere
from vkssp.algorithms.registry import ALGORITHMS

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    extra: {re.split(r"[><=~\[]", requirement)[0].replace("-", "_") for requirement in requirements}
    for extra, requirements in PROJECT["optional-dependencies"].items()
}
#: Modules that only an extra brings; the extras dev and docs are for the repository alone.
OPTIONAL = set().union(*(modules for extra, modules in EXTRAS.items() if extra not in ("dev", "docs")))
INSTALL = re.compile(r"pip install '?(?:\.|vkssp)(?:\[([\w,]+)\])?'?(?=[\s`)]|$)")


#: Program that runs the examples of one docstring.
ALONE = """\
import doctest, importlib
found = doctest.DocTestFinder().find(importlib.import_module("{module}"), globs={{}})
(test,) = [test for test in found if test.name == "{test}"]
assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0
"""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def with_extras(page: Path) -> list[tuple[Block, frozenset[str]]]:
    """Return the blocks of a page, each with the extras that the page has installed by then."""
    found, extras = [], frozenset[str]()
    for block in blocks_of(page):
        if block.runs and block.language == "sh":
            for _, command in commands_of(block):
                match = INSTALL.fullmatch(command)
                extras |= set((match[1] or "").split(",")) - {""} if match else set()
        found.append((block, extras))
    return found


@pytest.fixture(scope="session")
def andorra_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph that the commands of README.md make and the other pages use."""
    from vkssp import read_graph

    path = tmp_path_factory.mktemp("documents") / "andorra.graph"
    read_graph(DATA / "andorra.osm.pbf").save(path)
    return path


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run_with_what_the_page_installs(page: Path, tmp_path: Path, andorra_graph: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "data").symlink_to(DATA)
    if page.name != "README.md":
        shutil.copy(andorra_graph, tmp_path / "andorra.graph")  # which a page may write again
    for extras, group in groupby(with_extras(page), key=lambda pair: pair[1]):
        hidden = OPTIONAL.difference(*(EXTRAS[extra] for extra in extras)) if extras else OPTIONAL
        done = run_elsewhere([block for block, _ in group], tmp_path, sorted(hidden))
        assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(page)
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks), (
        "a block that is not closed, or has a mark apart"
    )
    assert len(re.findall(r"^<!-- (?:not run|file|before): .+ -->$", text, re.MULTILINE)) == sum(
        bool(block.mark) for block in blocks
    ), "a mark without a block below it"
    for block in blocks:
        where = f"{page.name}, line {block.line}"
        assert block.language, f"{where}: say the language"
        assert block.runs or block.mark in ("file", "not run"), f"{where}: a {block.language} block needs a mark"
        if block.language == "python":
            ast.parse(block.text)
        if block.language == "toml":
            tomllib.loads(block.text)
        for number, command in commands_of(block) if block.language == "sh" else ():
            check_names(f"{page.name}, line {number}", command)


def check_names(where: str, command: str) -> None:
    """Check that scripts and extras which a command names are there, also where it is not run."""
    words = command.split()
    if "scripts/" in words[0]:
        script = ROOT / words[0]
        assert script.is_file(), f"{where}: there is no {words[0]}"
        text = "".join(file.read_text("utf-8") for file in (script, *(ROOT / "vkssp" / "bench").glob("*.py")))
        for option in re.findall(r"\s(--[\w-]+)", command):
            assert f'"{option}"' in text, f"{where}: {words[0]} has no {option}"
    if words[:2] == ["pip", "install"]:
        assert INSTALL.fullmatch(command), f"{where}: {command}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_to_files_and_headings_and_extras_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        assert file.is_file(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
            assert heading in anchors, target
    for extras in INSTALL.findall(text):
        assert {*extras.split(",")} - {""} <= EXTRAS.keys(), extras


def test_the_picture_of_the_layers_is_that_of_the_contracts() -> None:
    drawn = runpy.run_path(str(ROOT / "scripts" / "draw_layers.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"]()


def test_the_reference_has_every_public_name() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.rst"))
    listed = set(re.findall(r"^\.\. auto\w+:: vkssp\.(\w+)$", text, re.MULTILINE))
    assert listed == {*vkssp.__all__}


def test_the_readme_lists_the_algorithms_that_there_are() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Algorithms\n")[1].split("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(first_cells))) == sorted([*ALGORITHMS, "auto"])


def modules_with_examples() -> list[str]:
    files = sorted((ROOT / "vkssp").rglob("*.py"))
    with_examples = [file for file in files if re.search(r"^ +>>> ", file.read_text(encoding="utf-8"), re.MULTILINE)]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in with_examples]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_run_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example is complete; the extract of Andorra is in the current folder, and extras are there if named."""
    monkeypatch.chdir(DATA)
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module, globs={}) if test.examples]
    assert tests
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in tests:
        assert not any(doctest.SKIP in example.options for example in test.examples), test.name
        named = [extra for extra in EXTRAS if re.search(rf"extra `+{extra}`|\[{extra}\]", test.docstring or "")]
        hidden = OPTIONAL.difference(*(EXTRAS[extra] for extra in named))
        if named:
            # In a process of its own: a library that other tests have imported may have found one that is hidden now,
            # as pandas finds pyarrow.
            text = ALONE.format(module=name, test=test.name)
            done = run_elsewhere([Block(test.name, test.lineno or 0, "python", text, "", "")], DATA, sorted(hidden))
            failed = done.returncode
        else:
            with monkeypatch.context() as patch:
                for one in hidden:
                    patch.setitem(sys.modules, one, None)  # importing it fails
                failed = runner.run(test).failed
        assert failed == 0, f"{test.name}; does its text name the extra that it needs?"
