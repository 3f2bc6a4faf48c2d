#!/usr/bin/env python3
"""Figure of where the time of single calls goes, from what where_time_goes.py has measured.

  scripts/where_time_goes.py USA-road-t.NY.gr.gz --device 0 --only calls --json calls.json
  scripts/draw_calls.py calls.json calls.png
  scripts/draw_calls.py docs/calls.json docs/calls.png                # the figure of docs/where_time_goes.md

Each call is a bar: the host's part before the submission, driver and device, of which the device's own time is shown
apart where it was measured, what is between submissions, and the host's part after them. These are medians of parts, so
that a bar is not exactly as long as the median of whole calls, which is marked. Calls whose parts were not measured are
left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from vkssp.bench.evaluation import check_figure, exit_code, import_pyplot, save_figure
from vkssp.errors import FormatError
from vkssp.files import check_writable
from vkssp.options import file_name

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


def call_of(row: dict[str, Any]) -> Call:
    """Return the medians of a row of `time_calls.py` that has parts."""
    before, submitted, between, after = (
        float(row["parts_ms"][part][0]) for part in ("before", "driver and device", "between", "after")
    )
    of_submission = {"driver and device": submitted}
    if row["device_ms"] is not None:
        device = min(float(row["device_ms"][0]), submitted)
        of_submission = {"driver, and waiting": submitted - device, "device": device}
    parts = {"host: before": before, **of_submission, "host: between": between, "host: after": after}
    return Call(row["name"], float(row["call_ms"][0]), parts)


def read_calls(path: str) -> list[Call]:
    """Return the calls of a file of where_time_goes.py whose parts are known and which are not too long.

    Raises
    ------
    FormatError
        If the file cannot be read, has no calls in the form of time_calls.py, or none that can be drawn.
    """
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))["calls"]["rows"]
        calls = [call_of(row) for row in rows if "parts_ms" in row]
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}; check the path") from None
    except (ValueError, TypeError, LookupError):
        raise FormatError(f"{path} has no times of calls; give what where_time_goes.py --json has written") from None
    if not (found := [call for call in calls if call.whole <= MOST_MS]):
        raise FormatError(f"{path} has no call whose parts were measured and that takes at most {MOST_MS:g} ms")
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
    calls, pyplot = read_calls(args.rows), import_pyplot()
    figure = draw(calls, pyplot)
    save_figure(figure, args.figure)
    pyplot.close(figure)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=file_name, help="JSON file that where_time_goes.py has written")
    parser.add_argument("figure", type=file_name, help="figure to write, such as calls.png")
    args = parser.parse_args()
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
