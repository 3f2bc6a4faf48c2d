"""Results of benchmarks, in files and as tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.algorithms.choice import present
from vkssp.bench.experiment import run_text
from vkssp.bench.measuring import FORMAT
from vkssp.errors import FormatError
from vkssp.files import atomic_write, check_ending

#: Columns of the CSV, which has a row for each timed search.
COLUMNS = (
    *("device", "driver", "vkssp", "commit", "graph", "sha256", "nodes", "arcs", "algorithm", "parameters"),
    *("source", "repetition", "device_ms", "call_ms", "runs_on", "version"),
)


def save_result(path: str | Path, result: dict[str, Any]) -> None:
    """Write a result as JSON; the name must end in .json."""
    check_ending(path, "JSON")
    with atomic_write(path) as stream:
        stream.write(json.dumps(result, indent=1, allow_nan=False).encode())


def load_result(path: str | Path) -> dict[str, Any]:
    """Read a result that was saved as JSON.

    Raises
    ------
    FormatError
        If the file is not such a result.
    """
    try:
        result: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}; check the path") from None
    except ValueError as error:
        raise FormatError(
            f"{path} is no benchmark result ({error}); give a file that 'vkssp bench --json' wrote"
        ) from None
    parts = {"format", "device", "host", "experiment", "graphs"}
    if not (isinstance(result, dict) and parts <= result.keys() and result["format"] == FORMAT):
        raise FormatError(f"{path} is no benchmark result of this version; measure again with 'vkssp bench --json'")
    for graph in result["graphs"]:
        for run in graph["runs"]:  # results of earlier versions have former names
            run["algorithm"] = present(run["algorithm"])
    return result


def save_csv(path: str | Path, result: dict[str, Any]) -> None:
    """Write the searches of a result as CSV, a row for each, with the columns `COLUMNS`; the name must end in .csv."""
    check_ending(path, "CSV")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    device = result["device"]
    head = (device["name"], device["driver"], result["vkssp"], result["commit"])
    for graph in result["graphs"]:
        about = (graph["graph"], graph["sha256"], graph["nodes"], graph["arcs"])
        for run in graph["runs"]:
            parameters = ",".join(f"{name}={value}" for name, value in run["parameters"].items())
            # Results of earlier versions lack these two.
            where = (run.get("runs_on", ""), run.get("version", ""))
            for source, device_ms, call_ms in zip(run["sources"], run["device_ms"], run["call_ms"], strict=True):
                for number, times in enumerate(zip(device_ms, call_ms, strict=True)):
                    table.writerow((*head, *about, run["algorithm"], parameters, source, number, *times, *where))
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def label(run: dict[str, Any]) -> str:
    """Return a run's algorithm and parameters in one word, followed by the algorithm that auto chose, if any."""
    text, chosen = run_text(run["algorithm"], run["parameters"]), run.get("chosen", run["algorithm"])
    return text if chosen == run["algorithm"].partition("@")[0] else f"{text} ({chosen})"


def quartiles(times: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile over sources of the medians over repetitions."""
    low, median, high = np.percentile(of_sources(times), [25, 50, 75]).tolist()
    return low, median, high


def of_sources(times: Sequence[Sequence[float]]) -> list[float]:
    """Return the median over repetitions for each source."""
    return [float(np.median(repetitions)) for repetitions in times]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns: the first is left-aligned, the others are right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        return "  ".join([cells[0].ljust(len(first)), *others])

    return [line(header), *map(line, rows)]


def name_of(graph: dict[str, Any]) -> str:
    """Return the name of a graph of a result: an expression or a file name."""
    return Path(graph["graph"]).name


def number(value: float) -> str:
    """Return a number with about three significant digits, for people; a dash for NaN."""
    if np.isnan(value):
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def graph_lines(graph: dict[str, Any]) -> list[str]:
    """Return a table of one graph of a result."""
    dijkstra = float(np.median(graph["dijkstra_ms"]))
    title = f"{name_of(graph)}: {graph['nodes']:,} nodes, {graph['arcs']:,} arcs, {len(graph['sources'])} sources"
    header = ("", "ms", "quartiles", "call", "iterations", "M arcs/s", "over Dijkstra")
    rows, errors = [("dijkstra, one core of the CPU", number(dijkstra), "", "", "", "", "")], []
    for run in graph["runs"]:
        if run["error"] or not run["device_ms"]:
            errors.append(f"{label(run)}: {run['error']}")
            continue
        low, median, high = quartiles(run["device_ms"])
        rows.append(
            (
                f"{label(run)} {run['version']}" if run.get("runs_on") == "peer" else label(run),
                number(median),
                f"{number(low)}..{number(high)}",
                number(quartiles(run["call_ms"])[1]),
                f"{run['counters']['iterations']:,}" if "iterations" in run["counters"] else "",
                number(graph["arcs"] / 1e3 / (median or np.nan)),  # a device without a clock reports 0
                number(dijkstra / (median or np.nan)),
            )
        )
    return [title, *table(header, rows), *errors]


def compare_lines(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of the median times of several results, with a column for each result.

    It has the graphs and runs that the first result shares with another one. Graphs are the same if their digests are
    equal, whatever their names; the names are those of the first result.
    """
    columns = []
    for result in results:
        columns.append(
            {
                (graph["sha256"], label(run)): quartiles(run["device_ms"])[1]
                for graph in result["graphs"]
                for run in graph["runs"]
                if run["device_ms"]
            }
        )
    names = {graph["sha256"]: name_of(graph) for result in results[::-1] for graph in result["graphs"]}
    keys = [key for key in columns[0] if any(key in column for column in columns[1:])]
    lines = [f"{place + 1}  {about(result)}" for place, result in enumerate(results)]
    if not keys:
        return [*lines, "these results have no graph and algorithm in common"]
    header = ("milliseconds", "algorithm", *(str(place + 1) for place in range(len(results))), *_ratios(len(results)))
    rows = []
    for key in keys:
        times = [column.get(key) for column in columns]
        cells = ["-" if value is None else number(value) for value in times]
        ratios = ["-" if not value else number(columns[0][key] / value) for value in times[1:]]
        rows.append((names[key[0]], key[1], *cells, *ratios))
    return [*lines, "", *table(header, rows)]


def _ratios(count: int) -> list[str]:
    return [f"1 / {place + 1}" for place in range(1, count)]


def about(result: dict[str, Any]) -> str:
    """Return the device, version and date of a result in one line, and the tuned values, if there are any."""
    device = result["device"]
    version = result["commit"] or result["vkssp"]
    return ", ".join((f"{device['name']} ({device['driver']})", version, result["created"][:10], *tuned_values(result)))


def tuned_values(result: dict[str, Any]) -> list[str]:
    """Return a text with the values of the device that are not defaults; none if there are none."""
    values = result.get("tuned")  # results of earlier versions lack them
    return [f"tuned: {', '.join(f'{name} = {value}' for name, value in values.items())}"] if values else []
