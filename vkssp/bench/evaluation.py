"""Common parts of the evaluation scripts, which measure, save the result, and make a table and a figure."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vkssp import signals
from vkssp.bench.experiment import Experiment
from vkssp.bench.measuring import measure
from vkssp.bench.result import about, label, load_result, of_sources, save_result
from vkssp.errors import FormatError, QueryError, VksspError
from vkssp.files import atomic_write, check_writable
from vkssp.options import add_reading, file_name, reading
from vkssp.terminal import print_error, print_lines, printable

#: Line of a figure: x, y, and the lower and upper end of y, or None if there is no spread.
Line = tuple[Sequence[float], Sequence[float], Sequence[float] | None, Sequence[float] | None]


def evaluate(
    name: str,
    description: str,
    experiment: Callable[[bool], Experiment],
    report: Callable[[dict[str, Any]], list[str]],
    draw: Callable[[dict[str, Any], Any], None],
    *,
    takes_graphs: bool = True,
) -> int:
    """Run the command line of an evaluation script.

    Parameters
    ----------
    name : str
        Name of the files that are written: NAME.json, NAME.txt and NAME.png.
    description : str
        Description for --help.
    experiment : callable
        Returns the experiment, in its small form if the argument is true.
    report : callable
        Returns the lines of the table for a result.
    draw : callable
        Draws a result into a matplotlib figure.
    takes_graphs : bool
        Whether the table and the figure can show graphs that the user adds.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small graphs: minutes on a software device")
    parser.add_argument(
        "--output", type=file_name, default=".", metavar="FOLDER", help=f"where {name}.json, .txt and .png are written"
    )
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument("--sources", type=int, metavar="N", help="random sources for each graph")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="of its graphs only those like this, such as 'rmat:1?', or '' for none; may be repeated",
    )
    parser.set_defaults(graph=[])
    parser.add_argument(
        "--result",
        nargs="+",
        type=file_name,
        metavar="FILE.json",
        help="draw what was measured before, in one go or in parts",
    )
    if takes_graphs:
        parser.add_argument(
            "--graph", action="append", type=file_name, metavar="FILE", help="one more graph; may be repeated"
        )
        add_reading(parser)
    args = parser.parse_args()
    return exit_code(lambda: _evaluate(args, name, experiment, report, draw))


def exit_code(run: Callable[[], object]) -> int:
    """Run a script's work; return 0, or print the error and return 2; see `signals.run`."""

    def work() -> int:
        try:
            run()
        except VksspError as error:
            print_error(error)
            return 2
        return 0

    return signals.run(work)


def _evaluate(
    args: argparse.Namespace,
    name: str,
    experiment: Callable[[bool], Experiment],
    report: Callable[[dict[str, Any]], list[str]],
    draw: Callable[[dict[str, Any], Any], None],
) -> None:
    paths = {ending: Path(args.output) / f"{name}.{ending}" for ending in ("json", "txt", "png")}
    for path in paths.values():
        check_writable(path)
    pyplot = import_pyplot()
    if args.result:
        result = joined([load_result(path) for path in args.result])
        own = set(map(str, experiment(False).runs))
        if not any(label(run) in own for graph in result["graphs"] for run in graph["runs"]):
            raise FormatError(f"{args.result[0]} has no run of this experiment; give what this script has written")
    else:
        result = measure(
            _chosen(experiment(args.small), args),
            args.device,
            progress=True,
            each=functools.partial(save_result, paths["json"]),
        )
    lines = list(map(printable, [about(result), *report(result)]))
    print_lines(lines)
    with atomic_write(paths["txt"]) as stream:
        stream.write(("\n".join(lines) + "\n").encode())
    figure = pyplot.figure(figsize=(9, 5), layout="constrained")
    draw(result, figure)
    save_figure(figure, paths["png"])


def _chosen(experiment: Experiment, args: argparse.Namespace) -> Experiment:
    """Return the experiment with the changes of the command line."""
    patterns = ["*"] if args.only is None else args.only
    graphs = [text for text in experiment.graphs if any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)]
    if not graphs and not args.graph:
        raise QueryError(f"--only is like none of the graphs; they are {', '.join(experiment.graphs)}")
    sources = experiment.sources if args.sources is None else args.sources
    return dataclasses.replace(
        experiment, graphs=[*graphs, *args.graph], sources=sources, reading=reading(args) if args.graph else {}
    )


def joined(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one result with the graphs of several results, which must be from one device and one version.

    If several results have the same graph, by its digest, the entry with the most runs counts, of equals the last.

    Raises
    ------
    QueryError
        If the results are from different devices or versions.
    """
    first = results[0]
    for other in results[1:]:
        for name in ("device", "vkssp", "commit"):
            if other[name] != first[name]:
                raise QueryError(f"the results differ in {name}; give parts that one program measured on one device")
    graphs: dict[str, dict[str, Any]] = {}
    for graph in (graph for result in results for graph in result["graphs"]):
        before = graphs.get(graph["sha256"])
        if before is None or len(graph["runs"]) >= len(before["runs"]):
            graphs[graph["sha256"]] = graph
    return {**first, "graphs": list(graphs.values())}


def check_figure(path: str) -> None:
    """Raise `QueryError` if matplotlib is not installed or cannot write files with this ending."""
    pyplot = import_pyplot()
    figure = pyplot.figure()
    endings = figure.canvas.get_supported_filetypes()
    pyplot.close(figure)
    if Path(path).suffix[1:] not in endings:
        raise QueryError(f"--figure is {path!r}, which names no format; end it in one of {', '.join(endings)}")


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure to a file, in the format of the file's ending."""
    with atomic_write(path) as stream:
        figure.savefig(stream, format=Path(path).suffix[1:], dpi=110)


def import_pyplot() -> Any:
    """Return matplotlib's pyplot, set up to draw to files.

    Raises
    ------
    QueryError
        If matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise QueryError("figures need matplotlib; install it: pip install 'vkssp[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw_lines(axes: Any, lines: Mapping[str, Line], **settings: Any) -> None:
    """Draw lines with their spread, each in its own colour and marker, and apply further settings of the axes."""
    from matplotlib.ticker import LogLocator

    for place, (name, (x, y, low, high)) in enumerate(lines.items()):
        axes.plot(x, y, marker="os^vD*PX"[place % 8], markersize=4, color=f"C{place}", label=name)
        if low is not None and high is not None:
            axes.fill_between(x, low, high, color=f"C{place}", alpha=0.15, linewidth=0)
    axes.set(**settings)
    for axis, scale in ((axes.xaxis, "xscale"), (axes.yaxis, "yscale")):
        if settings.get(scale) == "log":
            axis.set_major_formatter(lambda value, _: f"{value:g}" if 1e-4 < value < 1e5 else f"{value:.0e}")
            low, high = axis.get_view_interval()
            # If there are few powers of ten, label more values.
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
            axis.set_minor_formatter(lambda value, _: "")
    axes.grid(alpha=0.3)
    if lines:
        axes.legend(fontsize="small")


def of_source(run: Mapping[str, Any]) -> list[float]:
    """Return the median milliseconds of each source of a run."""
    return of_sources(run["device_ms"])


def times(graph: Mapping[str, Any]) -> dict[str, float]:
    """Return the median milliseconds of each run of a graph."""
    return {label(run): float(np.median(of_source(run))) for run in graph["runs"] if run["device_ms"]}
