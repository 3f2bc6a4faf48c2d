"""Reader of edge lists in columns of CSV files, such as tables of other programs write them.

The fields of a line are separated by commas, semicolons, tabs, bars or blanks, and may be quoted. The columns are found
by their names in the first line, by names or numbers that the caller gives, or by their order if there are no names.

The columns that are not wanted are blanked out in each block of lines, all at once with NumPy. What is left is a table
of numbers, which `numeric_text` reads. Only blocks with quotes are split line by line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vkssp.arrays import own
from vkssp.errors import FormatError, QueryError
from vkssp.formats.build import GraphFile, Options
from vkssp.formats.columns import AnyIds, AnyWeights, Weights
from vkssp.formats.edge_list import graph_of_ids, renumbered
from vkssp.formats.numeric_text import Array, Column, Layout, read_table, shown
from vkssp.formats.stream import Lines
from vkssp.graph import UNREACHABLE, Graph

#: Usual names of the columns of tails and heads, in pairs, and of weights.
ENDS = (
    ("tail", "head"),
    ("from", "to"),
    ("source", "target"),
    ("src", "dst"),
    ("u", "v"),
    ("from_node", "to_node"),
    ("from_node_id", "to_node_id"),
    ("from_id", "to_id"),
    ("source_id", "target_id"),
    ("start", "end"),
    ("start_node", "end_node"),
    ("origin", "destination"),
    ("init_node", "term_node"),
    ("node1", "node2"),
    ("a_node", "b_node"),
)
WEIGHTS = ("weight", "cost", "length", "distance", "travel_time", "time", "duration", "free_flow_time", "length_m", "w")
_DELIMITERS = b",;\t|"
_BLANK = b" "
_MARK = b"\xef\xbb\xbf"
_COMMENT = b"#"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_table(line: bytes) -> bool:
    """Return whether a first line is that of a table: fields with a separator, or the usual names of columns."""
    if any(bytes([one]) in line for one in _DELIMITERS if one != ord("\t")):
        return True
    fields = _fields(line, _delimiter(line))
    return len(fields) > 1 and not _NUMBER.fullmatch(fields[0]) and (b"\t" in line or _ends(fields) is not None)


def read_csv(lines: Lines, options: Options) -> GraphFile:
    """Read edges from columns of a table: two ids and perhaps a weight on each line, and other columns.

    Nodes are numbered as in edge lists, and have their ids as names unless these are the numbers. Weights that are not
    whole are real ones, unless the option `scale` makes them whole. An edge is an arc unless the option `directed` is
    False. Lines that begin with # are comments.
    """
    for _ in lines.comments(_COMMENT):
        pass
    first = lines.peek().partition(b"\n")[0].rstrip(b"\r").removeprefix(_MARK)
    delimiter = _delimiter(first)
    fields = _fields(first, delimiter)
    named = not all(_NUMBER.fullmatch(field) for field in fields if field)
    columns = _columns(lines, fields, named, options.edge_columns)
    if named:
        lines.next(_COMMENT)
        _check_ids(lines, delimiter, columns[:2])
    elif lines.line == 1 and lines.peek().startswith(_MARK):
        lines.skip(len(_MARK))
    any_ids = AnyIds(2**53 - 1 if len(columns) > 2 else 2**63 - 2)
    weight: list[Column] = [AnyWeights() if options.scale is None else Weights(options.scale)]
    kinds = [any_ids, any_ids, *weight]
    usage = ",".join(fields[at] if named else f"column {at + 1}" for at in columns)
    order = np.argsort(columns).tolist()
    table = _Table(lines, delimiter, len(fields), sorted(columns))
    read = read_table(table, Layout(usage, [kinds[at] for at in order], _COMMENT))
    tail, head, *rest = (read[order.index(at)] for at in range(len(columns)))
    undirected = options.directed is False
    weights = rest[0] if rest else None
    if weights is None or _are_whole(weights):
        whole = None if weights is None else weights.astype(np.uint32, copy=False)
        found = graph_of_ids(lines, tail, head, whole, options, "csv", undirected=undirected)
    else:
        ids, tails, heads = renumbered(lines, tail, head, undirected=undirected)
        graph = Graph.from_edges(tails, heads, weights, num_nodes=len(ids), undirected=undirected, names=False)
        found = GraphFile(graph, "csv", ids)
    names = found.node_ids
    assert names is not None
    if np.array_equal(names, np.arange(len(names))):
        return found
    return replace(found, graph=replace(found.graph, names=own(names)))


def _are_whole(weights: Array) -> bool:
    """Return whether weights are whole numbers that a graph holds as they are."""
    return bool(weights.max(initial=0) < UNREACHABLE and (weights == np.trunc(weights)).all())


def _check_ids(lines: Lines, delimiter: bytes, columns: Sequence[int]) -> None:
    """Raise an error if the first edge has names of nodes in place of numbers."""
    for _ in lines.comments(_COMMENT):
        pass
    fields = _fields(lines.peek().partition(b"\n")[0].rstrip(b"\r"), delimiter)
    for at in columns:
        field = fields[at].strip() if at < len(fields) else ""
        if any(map(str.isalpha, field)) and not _NUMBER.fullmatch(field):
            cure = "read it by pandas, and make a graph by vkssp.from_dataframe"
            raise lines.error(
                f"has the node '{shown(field.encode())}', and ids in files are whole numbers; {cure}", lines.line
            )


def _delimiter(line: bytes) -> bytes:
    """Return the character that separates the fields of a line."""
    outside = re.sub(rb'"[^"]*"', b"", line)
    count, _, best = max((outside.count(bytes([one])), -at, bytes([one])) for at, one in enumerate(_DELIMITERS))
    return best if count else _BLANK


def _fields(line: bytes, delimiter: bytes) -> list[str]:
    text = line.decode("utf-8", "backslashreplace")
    if delimiter == _BLANK:
        return [field.strip('"') for field in text.split()]
    try:
        return [field.strip() for field in next(csv.reader([text], delimiter=delimiter.decode()))]
    except csv.Error:
        return text.split(delimiter.decode())


def _ends(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns of tails and heads by their usual names."""
    known = [field.casefold() for field in fields]
    return next(((known.index(a), known.index(b)) for a, b in ENDS if a in known and b in known), None)


def _columns(lines: Lines, fields: Sequence[str], named: bool, given: Sequence[str | int] | None) -> list[int]:
    """Return the numbers of the wanted columns: tail, head and perhaps weight."""
    if given is not None:
        return _given_columns(lines, fields, named, given)
    if not named:
        if len(fields) < 2:
            raise lines.error(f"has {len(fields)} column; an edge has two, of node ids, and perhaps a weight")
        return list(range(min(3, len(fields))))
    ends = _ends(fields)
    if ends is None:
        has = shown(", ".join(fields).encode())
        raise lines.error(
            f"has no columns tail and head, but {has}; say which they are by edge_columns (--edge-columns)"
        )
    known = [field.casefold() for field in fields]
    weight = next((known.index(name) for name in WEIGHTS if name in known), None)
    return [*ends, *([] if weight is None else [weight])]


def _given_columns(lines: Lines, fields: Sequence[str], named: bool, given: Sequence[str | int]) -> list[int]:
    found = []
    for one in given:
        if isinstance(one, int):
            if one >= len(fields):
                raise lines.error(f"has {len(fields)} columns; there is no column {one + 1}")
            found.append(one)
        elif not named:
            raise lines.error(f"has no names of columns in its first line; give the number of the column {one!r}")
        elif one not in fields:
            raise lines.error(f"has no column {one!r}; it has {shown(', '.join(fields).encode())}")
        else:
            found.append(fields.index(one))
    if len(set(found)) < len(found):
        raise QueryError("edge_columns names a column twice; give different ones")
    return found


class _Table:
    """Lines of which only the wanted columns are left, as numbers between blanks."""

    def __init__(self, lines: Lines, delimiter: bytes, width: int, columns: Sequence[int]) -> None:
        self.name, self._lines = lines.name, lines
        self._delimiter, self._width, self._columns = delimiter, width, np.array(columns)

    @property
    def line(self) -> int:
        """Number of the first line that has not been taken."""
        return self._lines.line

    def error(self, reason: str, line: int | None = None) -> FormatError:
        """Return the error for the file, or for a line of it."""
        return self._lines.error(reason, line)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of lines, each after the number of its first line."""
        for number, text in self._lines.blocks():
            if _COMMENT in text:
                text = re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", text)
            yield number, self._split(number, text) if b'"' in text else self._blanked(number, text)

    def _blanked(self, number: int, text: bytes) -> bytes:
        """Return a block without quotes in which all but the wanted columns are blank."""
        characters = np.frombuffer(text, np.uint8).copy()
        blank, newlines = characters <= 32, np.flatnonzero(characters == 10)
        ends = newlines
        begins = np.concatenate([[0], ends[:-1] + 1])
        # Positions of the separators or, if these are blanks, of the first characters of fields.
        if self._delimiter == _BLANK:
            marks = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
            expected = self._width
        else:
            marks = np.flatnonzero(characters == self._delimiter[0])
            expected = self._width - 1
        count = np.diff(np.searchsorted(marks, ends), prepend=0)
        if (count != expected).any():
            is_line = np.logical_or.reduceat(~blank, begins)
            wrong = np.flatnonzero((count != expected) & is_line)
            if len(wrong):
                extra = self._width - expected
                raise self._wrong_width(number + int(wrong[0]), int(count[wrong[0]]) + extra)
            begins, ends = begins[is_line], ends[is_line]
        of_line = marks.reshape(-1, expected)
        first = of_line if self._delimiter == _BLANK else np.concatenate([begins[:, None], of_line + 1], axis=1)
        last = np.concatenate([of_line[:, 1:] - 1 if self._delimiter == _BLANK else of_line, ends[:, None]], axis=1)
        start, stop = first[:, self._columns].reshape(-1), last[:, self._columns].reshape(-1)
        change = np.zeros(len(characters) + 1, np.int8)
        change[stop + 1] -= 1  # with the separator, which becomes a blank
        change[start] += 1
        kept = np.cumsum(change[:-1], dtype=np.int8).view(np.bool_)
        characters[stop] = 32
        if np.count_nonzero(kept & (characters <= 32)) > len(stop):  # blanks around numbers, or between them
            self._check_words(number, np.where(kept, characters, 32), start, stop, newlines)
        characters[newlines] = 10
        kept[newlines] = True
        return characters[kept].tobytes()

    def _check_words(self, number: int, characters: Array, start: Array, stop: Array, newlines: Array) -> None:
        """Raise an error if one field has no number and another has several, so that lines have as many as they should.

        `start` and `stop` are the bounds of the wanted fields, `newlines` the ends of lines; all else is blank.
        """
        blank = characters <= 32
        words = np.flatnonzero(~blank & np.concatenate([[True], blank[:-1]]))
        if len(words) == len(start):
            wrong = np.flatnonzero((words < start) | (words >= stop))
            if len(wrong):
                line = number + int(np.searchsorted(newlines, start[wrong[0]]))
                raise self.error("has an empty field, or several numbers in one", line)

    def _split(self, number: int, text: bytes) -> bytes:
        """Return a block with quotes in which only the wanted columns are left, line by line."""
        made = []
        for line, one in enumerate(text[:-1].split(b"\n"), number):
            if not one.strip():
                made.append("")
                continue
            if one.count(b'"') % 2:
                raise self.error("has a quote that does not end in this line; leave such a column out", line)
            fields = _fields(one.rstrip(b"\r"), self._delimiter)
            if len(fields) != self._width:
                raise self._wrong_width(line, len(fields))
            chosen = [fields[at] for at in self._columns.tolist()]
            if any(len(field.split()) != 1 for field in chosen):
                raise self.error("has an empty field, or several numbers in one", line)
            made.append(" ".join(chosen))
        return ("\n".join(made) + "\n").encode()

    def _wrong_width(self, line: int, count: int) -> FormatError:
        return self.error(f"has {count} fields, and the first line has {self._width}", line)
