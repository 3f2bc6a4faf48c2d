"""Configuration file of the command line: defaults of options, in TOML, checked like the options themselves.

A table ``[defaults]`` holds for each command that has the option, and a table with the name of a command for this one::

    [defaults]
    device = "cpu"

    [route]
    metric = "distance"

The command line comes before environment variables, these before the file, and the file before built-in defaults.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkssp.commands.common import WRITTEN
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.errors import FormatError
from vkssp.options import Preferred

#: Environment variable with the path of the file.
VARIABLE = "VKSSP_CONFIG"
#: Table for all commands.
DEFAULTS = "defaults"
#: Environment variables that set options.
ENVIRONMENT = {"device": "VKSSP_DEVICE"}
# Options of files of graphs, which are different from file to file.
_OF_FILES = ("format", "weights", "scale", "directed", "edge_columns", "coordinates")
# Options of extracts, which have no effect on other graphs.
_OF_EXTRACTS = ("profile", "turns")
# A larger file is no configuration.
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Content of the configuration file.

    Attributes
    ----------
    path : Path or None
        The file; None if there is no home folder.
    exists : bool
        Whether there is such a file.
    tables : dict of str to dict
        Its tables by their names.
    """

    path: Path | None
    exists: bool
    tables: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Setting:
    """Default of an option of a command, and the place that it comes from."""

    option: str
    value: Any
    origin: str


def config_path() -> Path | None:
    """Return the path of the configuration file, which need not exist; None if there is no home folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    try:
        if sys.platform == "win32":
            base = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Application Support"
        else:
            base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    except RuntimeError:
        return None
    return Path(base) / "vkssp" / "config.toml"


def read_settings() -> Settings:
    """Read the configuration file.

    Raises
    ------
    FormatError
        If the file cannot be read, is no TOML, has something else than tables, or is named by `VARIABLE` and missing.
    """
    path = config_path()
    if path is None:
        return Settings(None, False, {})
    try:
        with open(path, "rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get(VARIABLE):
            raise FormatError(f"{VARIABLE} is {path}, which does not exist; correct the variable or unset it") from None
        return Settings(path, False, {})
    except OSError as error:
        raise FormatError(f"cannot read the configuration {path}: {error.strerror or error}; correct that") from error
    if len(content) > _MOST_BYTES:
        raise FormatError(f"{path} has over {_MOST_BYTES >> 20} MiB and is no configuration; give another file")
    import tomllib

    try:
        tables = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is no TOML ({error}); correct it") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise FormatError(f"{path}: {name} stands outside of a table; put it below [{DEFAULTS}]")
    return Settings(path, True, tables)


def configurable(parser: CommandParser) -> dict[str, argparse.Action]:
    """Return the options that the file may set, by their names: those that are not required and write no files."""
    apart = {
        id(action)
        for group in parser.exclusive
        if len({one.dest for one in group.actions}) > 1
        for action in group.actions
    }
    found = {}
    for _, _, actions in parser.arguments():
        for action in actions:
            takes = action.nargs in (None, 0) and action.dest not in (*WRITTEN, *_OF_FILES, "json", argparse.SUPPRESS)
            if action.option_strings and takes and not action.required and id(action) not in apart:
                names = [name for name in action.option_strings if not name.startswith("--no-")]
                found[names[-1].removeprefix("--")] = action
    return found


def settings_of(name: str, parser: CommandParser, settings: Settings, parsers: Mapping[str, Any]) -> list[Setting]:
    """Return the defaults of a command that the file sets, those of its own table last.

    Parameters
    ----------
    name : str
        Name of the command.
    parser : CommandParser
        Its parser.
    settings : Settings
        The file.
    parsers : mapping of str to callable
        Functions that return the parsers of all commands, by their names.

    Raises
    ------
    FormatError
        If a table or an option does not exist, or a value is invalid.
    """
    for table in settings.tables:
        if table not in (DEFAULTS, *parsers):
            raise FormatError(f"{settings.path}: there is no command {table!r}{alike(table, [DEFAULTS, *parsers])}")
    options, found = configurable(parser), []
    for table in (DEFAULTS, name):
        for key, value in settings.tables.get(table, {}).items():
            option = key.replace("_", "-")
            if option in options:
                where = f"{settings.path}: {key} in [{table}]"
                found.append(Setting(option, _checked(options[option], value, where), f"[{table}] in {settings.path}"))
            elif table == name or not any(option in configurable(make()) for make in parsers.values()):
                known = options if table == name else {one for make in parsers.values() for one in configurable(make())}
                raise FormatError(
                    f"{settings.path}: [{table}] has no option {key!r} that can be set{alike(option, sorted(known))}"
                )
    return found


def alike(word: str, words: list[str]) -> str:
    """Return the end of an error about an unknown word: the one that is meant, or all that there are."""
    close = difflib.get_close_matches(word, words, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(words)}"


def apply(found: list[Setting], parser: CommandParser) -> None:
    """Make settings the defaults of a parser, unless an environment variable sets the same."""
    options = configurable(parser)
    for one in found:
        action = options[one.option]
        if os.environ.get(ENVIRONMENT.get(one.option, "")):
            continue
        value = Preferred(one.value) if action.dest in _OF_EXTRACTS else one.value
        if not (_is_flag(action) and value is False):
            parser.set_defaults(**{action.dest: action.const if _is_flag(action) else value})


def in_force(parser: CommandParser, found: list[Setting]) -> Iterator[Setting]:
    """Yield the default of each option of a command, and where it comes from."""
    by_name = {one.option: one for one in found}
    for option, action in configurable(parser).items():
        variable = ENVIRONMENT.get(option, "")
        if value := os.environ.get(variable):
            yield Setting(option, value, variable)
        elif option in by_name:
            yield by_name[option]
        else:
            default = action.const == action.default if _is_flag(action) else action.default
            yield Setting(option, default, "default")


def _is_flag(action: argparse.Action) -> bool:
    """Return whether an option takes no value, and has no opposite such as ``--no-steps``."""
    return action.nargs == 0 and not isinstance(action, argparse.BooleanOptionalAction)


def _checked(action: argparse.Action, value: Any, where: str) -> Any:
    """Return a value of the file in the type of an option."""

    def wrong(cure: str) -> FormatError:
        return FormatError(f"{where} is {value!r}; {cure}")

    if action.nargs == 0:
        if not isinstance(value, bool):
            raise wrong("give true or false")
        return value
    if not isinstance(action, Repeated):
        return _typed(action, value, wrong)
    if not isinstance(value, list):
        raise wrong("give a list, such as [...]")
    return [_typed(action, one, wrong) for one in value]


def _typed(action: argparse.Action, value: Any, wrong: Any) -> Any:
    if action.type is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise wrong("give a whole number")
    if action.type is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong("give a number")
        return float(value)
    if action.type is int:
        return value
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        value = ",".join(map(str, value))
    if not isinstance(value, str):
        raise wrong("give a text in quotes")
    try:
        typed = action.type(value) if callable(action.type) else value
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise wrong(str(error)) from None
    if action.choices is not None and typed not in action.choices:
        raise wrong(f"choose one of {', '.join(map(str, action.choices))}")
    return typed
