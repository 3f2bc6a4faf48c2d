"""Text of XML files of features: escaped names, positions, and what features are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vkssp.features.columns import plain

if TYPE_CHECKING:
    from vkssp.features.features import Features

# Characters that XML 1.0 does not have (section 2.2), not even as references.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# White space is escaped, too, which readers change between quotes.
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)
# Columns whose values name features, the best first.
_NAMES = ("instruction", "name", "label", "place", "id", "source", "node", "arc", "leg", "role")


def xml_text(value: object) -> str:
    """Return the text of a value for XML, also between quotes; U+FFFD in place of characters that XML does not have."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return _NO_XML.sub("\ufffd", text).translate(_ESCAPES)


def degrees(value: float) -> str:
    """Return degrees as a decimal number without an exponent."""
    text = f"{value:.7f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def named_rows(features: Features) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield name, values and shape of each feature; a value that is missing is left out, and a name may be empty."""
    columns = {name: plain(column).told() for name, column in features.columns.items()}
    naming: Sequence[str] = [name for name in _NAMES if name in columns]
    for at, shape in enumerate(features.shapes.tolist()):
        values = {name: column[at] for name, column in columns.items() if column[at] is not None}
        # An empty name, as of streets without one, names nothing.
        called = next((str(values[name]) for name in naming if values.get(name) not in (None, "")), "")
        yield called, values, shape
