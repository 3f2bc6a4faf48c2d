"""Output to terminals: lines, errors and progress bars, with control characters shown as escapes.

Street names, file names and the messages of other libraries may contain characters that a terminal obeys: escape
sequences move the cursor, line ends begin a new line, overrides of the writing direction reverse digits. All printing
goes through this module, which shows such characters as escapes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tqdm import tqdm

#: Control characters (C0, DEL, C1); separators of lines and paragraphs, embeddings and overrides of the writing
#: direction; isolates; and lone surrogates, which stand for bytes that are not UTF-8 and could be written as such.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: object) -> str:
    r"""Return the text of a value on one line, with control characters as escapes, such as ``\x1b``."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), str(value))


def print_lines(lines: Iterable[object]) -> None:
    """Print each of some values on a line of standard output."""
    _print("\n".join(map(printable, lines)))


def print_json(value: Any) -> None:
    """Print a value as one JSON object, which escapes control characters itself."""
    _print(json.dumps(value, allow_nan=False))


def print_error(value: object) -> None:
    """Print a value on a line of standard error, if standard error can be written."""
    if sys.stderr is not None:
        with suppress(OSError):  # a full disk under a log; the exit code still tells
            print(printable(value), file=sys.stderr)


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
        Whether the bar is shown; None shows it if standard error is a terminal.
    **settings : object
        Further arguments of `tqdm.tqdm`, such as ``total`` and ``unit``.

    Returns
    -------
    tqdm.tqdm
        The bar, a context manager; it disappears when it is closed.
    """
    disable = True if sys.stderr is None else None if shown is None else not shown
    return tqdm(items, printable(title) or None, **{"delay": 1.0, "leave": False, "disable": disable, **settings})
