"""Output to terminals: lines, errors and progress bars, with control characters shown as escapes.

Street names, file names and the messages of other libraries may contain characters that a terminal obeys: escape
sequences move the cursor, line ends begin a new line, overrides of the writing direction reverse digits. All printing
goes through this module, which shows such characters as escapes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import Any

#: Control characters (C0, DEL, C1); separators of lines and paragraphs, embeddings and overrides of the writing
#: direction; isolates; and lone surrogates, which stand for bytes that are not UTF-8 and could be written as such.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Parameters of the escape sequence of each colour (ECMA-48, SGR).
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1"}
#: Columns of text on wide terminals, and on the narrowest ones; pipes get 80.
WIDEST, NARROWEST = 100, 40


def has_colours(stream: Any) -> bool:
    """Return whether a stream shows colours: a terminal does, unless environment variables say otherwise.

    ``NO_COLOR`` (https://no-color.org) switches colours off. Otherwise ``FORCE_COLOR`` (https://force-color.org) and
    ``CLICOLOR_FORCE`` switch them on, also in pipes, and ``CLICOLOR=0`` (https://bixense.com/clicolors) off.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal; a closed stream is none."""
    with suppress(AttributeError, ValueError):
        return bool(stream.isatty())
    return False


def coloured(text: object, colour: str, stream: Any) -> str:
    """Return a printable text in a colour, one of ``red``, ``green``, ``yellow`` and ``bold``, if the stream has it."""
    plain = printable(text)
    return f"\x1b[{_COLOURS[colour]}m{plain}\x1b[0m" if has_colours(stream) else plain


def columns() -> int:
    """Return the width of texts: that of the terminal, or ``COLUMNS``, within `NARROWEST` and `WIDEST`."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def printable(value: object) -> str:
    r"""Return the text of a value on one line, with control characters as escapes, such as ``\x1b``."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), str(value))


class Marked(str):
    """Line that begins with a word in a colour, on terminals that have it.

    Attributes
    ----------
    mark, colour : str
        The word, and its colour; see `coloured`.
    """

    mark: str
    colour: str

    def __new__(cls, mark: str, colour: str, text: str) -> Marked:
        """Make a line of a mark and a text."""
        made = super().__new__(cls, mark + text)
        made.mark, made.colour = mark, colour
        return made


def print_lines(lines: Iterable[object]) -> None:
    """Print each of some values on a line of standard output."""
    _print("\n".join(_marked(line) if isinstance(line, Marked) else printable(line) for line in lines))


def _marked(line: Marked) -> str:
    return coloured(line.mark, line.colour, sys.stdout) + printable(line[len(line.mark) :])


def print_json(value: Any) -> None:
    """Print a value as one JSON object, which escapes control characters itself."""
    _print(as_json(value))


def as_json(value: Any) -> str:
    """Return a value as one line of JSON."""
    import json

    return json.dumps(value, allow_nan=False)


def print_text(text: str) -> None:
    """Print a text of this package, which may have several lines and colours, on standard output."""
    _print(text)


def print_error(value: object, *, prefix: str = "", colour: str = "bold") -> None:
    """Print a value on a line of standard error, above progress bars, if standard error can be written.

    Parameters
    ----------
    value : object
        The value.
    prefix : str
        Text before it.
    colour : str
        Colour of the prefix; see `coloured`.
    """
    if sys.stderr is None:
        return
    bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
    hidden = nullcontext() if bars is None else bars.external_write_mode(file=sys.stderr)
    with suppress(OSError), hidden:  # a full disk under a log; the exit code still tells
        start = coloured(prefix, colour, sys.stderr) if prefix else ""
        print(start + printable(value), file=sys.stderr)


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stdout = None
    except UnicodeEncodeError:  # a terminal that does not know the letters of a street name
        encoding: Any = sys.stdout.encoding
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def progress_bar(items: Iterable[Any] | None = None, title: object = "", *, shown: bool | None, **settings: Any) -> Any:
    """Return a progress bar on standard error, which shows once the work has taken a second.

    Parameters
    ----------
    items : iterable, optional
        Items to count while they are iterated over; without items the caller updates the bar.
    title : object
        The text before the bar.
    shown : bool or None
        Whether the bar is shown; None shows it if standard error is a terminal, and in notebooks.
    **settings : object
        Further arguments of `tqdm.tqdm`, such as ``total`` and ``unit``.

    Returns
    -------
    tqdm.tqdm
        The bar, a context manager; it disappears when it is closed. In a notebook it is a widget, or a line of text if
        the package ipywidgets is not installed.
    """
    notebook = is_notebook()
    if shown is None:
        shown = notebook or is_terminal(sys.stderr)
    return _bar_type(notebook)(
        items,
        printable(title) or None,
        **{"delay": 1.0, "leave": False, "disable": not shown or sys.stderr is None, "dynamic_ncols": True, **settings},
    )


def is_notebook() -> bool:
    """Return whether a notebook shows the output: its standard error is no terminal, but a person reads it."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_ipython is None else get_ipython()
    return "IPKernelApp" in getattr(shell, "config", ())


def _bar_type(notebook: bool) -> Any:
    """Return tqdm's class of bars; that of notebooks takes longer to import."""
    if notebook:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm.auto warns where ipywidgets is missing, and takes text then
            from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm
