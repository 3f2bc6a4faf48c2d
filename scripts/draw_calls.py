#!/usr/bin/env python3
"""Figure of where the time of single calls goes, from the rows that where_time_goes.py has written.

  scripts/where_time_goes.py USA-road-t.NY.gr.gz --device 0 --only calls --output rows.md
  scripts/draw_calls.py rows.md docs/calls.png

Each call is a bar: the host's part before the submission, driver and device, of which the device's own time is shown
apart where it was measured, what is between submissions, and the host's part after them. These are medians of parts, so
that a bar is not exactly as long as the median of whole calls, which is marked. Calls whose parts were not measured are
left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from vkssp.bench.evaluation import check_figure, exit_code, import_pyplot, save_figure
from vkssp.errors import FormatError
from vkssp.files import check_writable
from vkssp.options import file_name

#: Columns of the table of calls that are read.
CALL, WHOLE, DEVICE = "call", "by the call", "on the device"
BEFORE, SUBMITTED, BETWEEN, AFTER = "before", "driver and device", "between", "after"
#: Parts of a bar in the order of time, and their colours.
COLOURS = {
    "host: before": "#4477aa",
    "driver, and waiting": "#bbbbbb",
    "driver and device": "#ddcc77",
    "device": "#228833",
    "host: between": "#66ccee",
    "host: after": "#aa3377",
}
#: Calls that take longer, in milliseconds, would make the others unreadable.
MOST_MS = 1.0


class Call(NamedTuple):
    """Times of a call in milliseconds.

    Attributes
    ----------
    name : str
        What is called.
    whole : float
        Median of whole calls.
    parts : dict of str to float
        Medians of the parts, by the names of `COLOURS`.
    """

    name: str
    whole: float
    parts: dict[str, float]


def first_number(cell: str) -> float | None:
    """Return the number that a cell begins with, such as a median before its quartiles; None if it is empty."""
    return float(cell.split()[0]) if cell else None


def calls_in(text: str, name: str) -> list[Call]:
    """Return the calls of the first table of calls in a Markdown text whose parts are known.

    Raises
    ------
    FormatError
        If there is no such table, or a cell of it is no number.
    """
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line[:1] == "|"]
    heads = [number for number, cells in enumerate(lines) if {CALL, WHOLE, SUBMITTED} <= set(cells)]
    if not heads:
        raise FormatError(f"{name} has no table of calls; give what where_time_goes.py --output has written")
    column, found = {head: place for place, head in enumerate(lines[heads[0]])}, []
    for cells in lines[heads[0] + 2 :]:
        cells = [*cells, *[""] * (len(column) - len(cells))]
        if WHOLE in cells or cells[0] == CALL:
            break
        try:
            before, submitted, between, after, device, whole = (
                first_number(cells[column[head]]) for head in (BEFORE, SUBMITTED, BETWEEN, AFTER, DEVICE, WHOLE)
            )
        except (ValueError, KeyError):
            raise FormatError(f"{name}: the row {cells[0]!r} of the calls has no numbers") from None
        if before is None or submitted is None or whole is None or whole > MOST_MS:
            continue
        of_submission = (
            {"driver and device": submitted}
            if device is None
            else {"driver, and waiting": max(0.0, submitted - device), "device": min(device, submitted)}
        )
        parts = {"host: before": before, **of_submission, "host: between": between or 0.0, "host: after": after or 0.0}
        found.append(Call(cells[0], whole, parts))
    if not found:
        raise FormatError(f"{name} has no call whose parts were measured and that takes at most {MOST_MS:g} ms")
    return found


def draw(calls: list[Call], pyplot: Any) -> Any:
    """Return a figure with a bar for each call."""
    figure, axes = pyplot.subplots(figsize=(9, 0.8 + 0.36 * len(calls)), layout="constrained")
    for place, call in enumerate(calls):
        begin = 0.0
        for part, width in call.parts.items():
            axes.barh(place, width, left=begin, color=COLOURS[part], height=0.7)
            begin += width
        axes.plot([call.whole] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.5)
    axes.set_yticks(range(len(calls)), [call.name for call in calls])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds; black: the median of whole calls")
    used = [part for part in COLOURS if any(part in call.parts for call in calls)]
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS[part]) for part in used]
    axes.legend(handles, used, loc="lower right", fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    return figure


def run(args: argparse.Namespace) -> None:
    """Read the rows and draw them."""
    check_figure(args.figure)
    check_writable(args.figure, args.rows)
    try:
        text = Path(args.rows).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{args.rows} cannot be read as text: {error}") from None
    pyplot = import_pyplot()
    figure = draw(calls_in(text, args.rows), pyplot)
    save_figure(figure, args.figure)
    pyplot.close(figure)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=file_name, help="Markdown file that where_time_goes.py has written")
    parser.add_argument("figure", type=file_name, help="figure to write, such as calls.png")
    args = parser.parse_args()
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
