"""What the evaluation scripts share: they measure, keep the result, and make a table and a figure of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from vkssp.bench.experiment import Experiment
from vkssp.bench.measuring import steps
from vkssp.bench.result import load_result, save_result
from vkssp.errors import QueryError, VksspError
from vkssp.storage import atomic_write, check_writable

#: A line of a figure: x, and y with its lower and upper end where there is a spread.
Line = tuple[Sequence[float], Sequence[float], Sequence[float] | None, Sequence[float] | None]


def evaluate(
    name: str,
    description: str,
    experiment: Callable[[bool], Experiment],
    report: Callable[[dict[str, Any]], list[str]],
    draw: Callable[[dict[str, Any], Any], None],
) -> int:
    """Run the command line of an evaluation script.

    Parameters
    ----------
    name : str
        Of the files that are written: NAME.json, NAME.txt and NAME.png.
    description : str
        For --help.
    experiment : callable
        Returns what is measured, given whether the small form is meant.
    report : callable
        Returns the lines of the table of a result.
    draw : callable
        Draws a result into a matplotlib figure.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small graphs: minutes on a software device")
    parser.add_argument("--output", default=".", metavar="FOLDER", help=f"where {name}.json, .txt and .png are written")
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument("--sources", type=int, metavar="N", help="random sources for each graph")
    parser.add_argument("--result", metavar="FILE.json", help="draw a result that was measured before")
    args = parser.parse_args()
    try:
        paths = {ending: Path(args.output) / f"{name}.{ending}" for ending in ("json", "txt", "png")}
        for path in paths.values():
            check_writable(path)
        pyplot = import_pyplot()
        result = load_result(args.result) if args.result else _measure(experiment(args.small), args, paths["json"])
        device = result["device"]
        version = result["commit"] or result["vkssp"]
        lines = [f"{device['name']} ({device['driver']}), {version}, {result['created'][:10]}", *report(result)]
        print("\n".join(lines))
        with atomic_write(paths["txt"]) as stream:
            stream.write(("\n".join(lines) + "\n").encode())
        figure = pyplot.figure(figsize=(9, 5), layout="constrained")
        draw(result, figure)
        with atomic_write(paths["png"]) as stream:
            figure.savefig(stream, format="png", dpi=110)
    except VksspError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _measure(experiment: Experiment, args: argparse.Namespace, path: Path) -> dict[str, Any]:
    if args.sources is not None:
        experiment = Experiment(**{**experiment.__dict__, "sources": args.sources})
    result: dict[str, Any] = {}
    total = len(experiment.graphs) * (1 + len(experiment.runs))
    with tqdm(total=total, unit="run", disable=None) as bar:
        for result in steps(experiment, args.device):
            bar.set_description(result["graphs"][-1]["graph"])
            bar.update()
            save_result(path, result)
    return result


def import_pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files.

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
    """Draw lines with their spread, a colour and a marker for each, and set what else the axes should have."""
    for place, (label, (x, y, low, high)) in enumerate(lines.items()):
        axes.plot(x, y, marker="os^vD*PX"[place % 8], markersize=4, color=f"C{place}", label=label)
        if low is not None and high is not None:
            axes.fill_between(x, low, high, color=f"C{place}", alpha=0.15, linewidth=0)
    axes.set(**settings)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def of_source(run: Mapping[str, Any]) -> list[float]:
    """Return a run's median milliseconds of each source."""
    return [float(np.median(times)) for times in run["device_ms"]]
