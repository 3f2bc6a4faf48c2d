"""OSRM's executables by vkssp: their options, what they read and write, and what they do.

An extract becomes ``BASE.osrm.graph``. From this osrm-contract makes ``BASE.osrm.ch.graph`` and osrm-customize
``BASE.osrm.mld.graph``, with other weights if they are asked for. They are alike for vkssp, which searches any graph.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, NoReturn

from lua_profile import NoEdgesError, profile_of
from served import Served

from vkssp import Graph, read_graph
from vkssp.errors import VksspError
from vkssp.formats.traffic_csv import read_segment_speeds, read_turn_penalties
from vkssp.graph.node_traffic import with_segment_speeds, with_turn_penalties

#: Endings of extracts, which the names of what is made of them do not have.
_EXTRACTS = (".osm.pbf", ".osm.bz2", ".osm.gz", ".osm.xml", ".osm", ".pbf")
#: How many graphs are kept, so that the next tool need not read the file that the one before has written.
_KEPT = 8


class RefusedError(Exception):
    """An error that ends a tool: what it says, and the exit status."""


@dataclass
class Call:
    """Call of a tool: its arguments, folder and environment, and where its output goes."""

    arguments: Sequence[str]
    folder: Path
    environment: dict[str, str]
    say: Callable[[str, str], None]
    #: Set when the caller has gone away, or asked the tool to end.
    ended: threading.Event = field(default_factory=threading.Event)

    def path(self, name: str) -> Path:
        """Return a path of the caller's."""
        return self.folder / name


class _ShownError(Exception):
    """Help or version was asked for, and the tool has no more to do."""


class _Parser(argparse.ArgumentParser):
    """Parser whose output goes to the caller, and whose errors end the tool, not the process."""

    def __init__(self, call: Call, usage: str, inputs: Sequence[str]) -> None:
        form = partial(argparse.HelpFormatter, max_help_position=40, width=80)
        super().__init__(usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False, formatter_class=form)
        self.call, self.first_line = call, usage
        group = self.add_argument_group("Options")
        group.add_argument("-v", "--version", action="store_true", help="Show the version")
        group.add_argument("-h", "--help", action="store_true", help="Show this help")
        group.add_argument("--list-inputs", action="store_true", help="List the endings of the files that are read")
        group.add_argument("-l", "--verbosity", default="INFO", metavar="arg", help="NONE, ERROR, WARNING, INFO, DEBUG")
        self.options, self.inputs = group, inputs
        self.configuration = self.add_argument_group("Configuration")

    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)

    def parsed(self) -> argparse.Namespace:
        """Return the options; show help or version if one of them asks for it, or if there are none."""
        given = self.parse_args(list(self.call.arguments))
        if given.version:
            self.call.say("stdout", f"v{version_of('vkssp').split('+')[0]}\n")
            raise _ShownError
        if given.list_inputs:
            self.call.say("stdout", "".join(f"required {ending}\n" for ending in self.inputs))
            raise _ShownError
        if given.help or not self.call.arguments:
            self.call.say("stdout", self._text())
            raise _ShownError
        if given.verbosity not in ("NONE", "ERROR", "WARNING", "INFO", "DEBUG"):
            raise RefusedError(f"the argument '{given.verbosity}' for option '--verbosity' is invalid")
        return given

    def _text(self) -> str:
        return f"{self.first_line}:\n\n{self.format_help().lstrip()}"


class _Graphs:
    """The last graphs that were read or written, by their files; tools of several threads share them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, int], Graph] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, path: Path, graph: Graph) -> None:
        graph.save(path)
        self._keep(path, graph)

    def _keep(self, path: Path, graph: Graph) -> None:
        with self._lock:
            self._kept[path.resolve(), os.stat(path).st_mtime_ns] = graph
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

    def get(self, path: Path) -> Graph:
        with self._lock:
            found = self._kept.get((path.resolve(), os.stat(path).st_mtime_ns))
        if found is None:
            found = Graph.load(path)
            self._keep(path, found)
        return found


_graphs = _Graphs()


def _base(name: str) -> str:
    """Return the base of prepared data, ``BASE.osrm``, of an extract or of the base itself."""
    for ending in (*_EXTRACTS, ".osrm"):
        if name.endswith(ending):
            return name.removesuffix(ending) + ".osrm"
    return name + ".osrm"


def _needed(call: Call, path: Path) -> Path:
    if not path.exists():
        call.say("stderr", f"[warn] Missing/Broken File: {path}\n")
        raise RefusedError("Required files are missing, cannot continue")
    return path


def extract(call: Call) -> None:
    """Import an extract."""
    parser = _Parser(call, "osrm-extract <input.osm/.osm.bz2/.osm.pbf> [options]", ["input.osm"])
    add = parser.configuration.add_argument
    parser.add_argument("input", nargs="?", help=argparse.SUPPRESS)
    add("-p", "--profile", default="profiles/car.lua", metavar="arg", help="The profile, a Lua file")
    add("-d", "--data_version", default="", metavar="arg", help="Version of the data, which answers name")
    add("-t", "--threads", type=int, metavar="arg", help="Number of threads")
    add("--small-component-size", type=int, default=1000, metavar="arg", help="Nodes of parts that are not small")
    add("--with-osm-metadata", action="store_true", help="Accepted without effect")
    add("--parse-conditional-restrictions", action="store_true", help="Keep restrictions that hold at some times only")
    add("--location-dependent-data", action="append", default=[], metavar="arg", help="GeoJSON files of regions")
    add("--disable-location-cache", action="store_true", help="Accepted without effect")
    add("--driving-side-index", default="on", metavar="arg", help="Accepted without effect")
    add("--dump-nbg-graph", action="store_true", help="Accepted without effect")
    add("-o", "--output", metavar="arg", help="Base of the names of the files that are written")
    given = parser.parsed()
    if given.input is None:
        raise RefusedError("the input file is missing")
    source, profile = call.path(given.input), call.path(given.profile)
    if not source.exists():
        raise RefusedError(f"Input file {given.input} not found!")
    if not profile.exists():
        raise RefusedError(f"Profile {given.profile} not found!")
    made_of = {"path": str(source.resolve()), "profile": str(profile_of(profile)), "turns": "costs"}
    about = {"data_version": given.data_version, "small_component_size": given.small_component_size}
    graph = read_graph(**made_of)
    base = call.path(_base(given.output or given.input))
    _source_file(base).write_text(json.dumps(made_of if given.parse_conditional_restrictions else None))
    _graphs.put(base.with_name(f"{base.name}.graph"), graph)
    _about_file(base).write_text(json.dumps(about))
    call.say("stdout", f"[info] {graph!r}\n")


def _source_file(base: Path) -> Path:
    """Return the file that says how to import the extract again, with the restrictions of a moment."""
    return base.with_name(f"{base.name}.source.json")


def _about_file(base: Path) -> Path:
    """Return the file with what osrm-extract was told, and servers have to know."""
    return base.with_name(f"{base.name}.about.json")


def _about(base: Path) -> dict[str, Any]:
    file = _about_file(base)
    return json.loads(file.read_text()) if file.exists() else {"data_version": "", "small_component_size": 1000}


def _metric(call: Call, tool: str, ending: str) -> None:
    """Give prepared data its weights."""
    parser = _Parser(call, f"osrm-{tool} <input.osrm> [options]", [".osrm.graph"])
    add = parser.configuration.add_argument
    parser.add_argument("input", nargs="?", help=argparse.SUPPRESS)
    add("-t", "--threads", type=int, metavar="arg", help="Number of threads")
    add("--segment-speed-file", action="append", default=[], metavar="arg", help="CSV files: from, to, km/h, rate")
    add("--turn-penalty-file", action="append", default=[], metavar="arg", help="CSV files: from, via, to, seconds")
    add("--edge-weight-updates-over-factor", type=float, default=0, metavar="arg", help="Log changes beyond a factor")
    add("--parse-conditionals-from-now", type=int, default=0, metavar="arg", help="Time at which restrictions hold")
    add("--time-zone-file", default="", metavar="arg", help="GeoJSON file of time zones")
    add("-o", "--output", metavar="arg", help="Base of the names of the files that are written")
    given = parser.parsed()
    if given.input is None:
        raise RefusedError("the input file is missing")
    graph = _graphs.get(_needed(call, call.path(_base(given.input) + ".graph")))
    made_of = _source_file(call.path(_base(given.input)))
    made_of = json.loads(made_of.read_text()) if made_of.exists() else None
    if made_of is not None and given.parse_conditionals_from_now:
        zones = call.path(given.time_zone_file) if given.time_zone_file else None
        graph = read_graph(**made_of, at=given.parse_conditionals_from_now, time_zone=zones)
    for name in given.segment_speed_file:
        speeds = read_segment_speeds(call.path(name))
        graph = with_segment_speeds(graph, *speeds, source=Path(name).stem)
    for name in given.turn_penalty_file:
        graph = with_turn_penalties(graph, *read_turn_penalties(call.path(name)))
    _graphs.put(call.path(_base(given.output or given.input) + ending), graph)


def contract(call: Call) -> None:
    """Make the data for the algorithm CH."""
    _metric(call, "contract", ".ch.graph")


def customize(call: Call) -> None:
    """Make the data for the algorithm MLD."""
    _metric(call, "customize", ".mld.graph")


def partition(call: Call) -> None:
    """Check that there is something to customize; vkssp needs no partition."""
    parser = _Parser(call, "osrm-partition <input.osrm> [options]", [".osrm.graph"])
    add = parser.configuration.add_argument
    parser.add_argument("input", nargs="?", help=argparse.SUPPRESS)
    add("-t", "--threads", type=int, metavar="arg", help="Number of threads")
    for name in ("balance", "boundary"):
        add(f"--{name}", type=float, metavar="arg", help="Accepted without effect")
    add("--optimizing-cuts", type=int, metavar="arg", help="Accepted without effect")
    add("--small-component-size", type=int, metavar="arg", help="Accepted without effect")
    add("--max-cell-sizes", metavar="arg", help="Accepted without effect")
    add("-o", "--output", metavar="arg", help="Base of the names of the files that are written")
    given = parser.parsed()
    if given.input is None:
        raise RefusedError("the input file is missing")
    source = _needed(call, call.path(_base(given.input) + ".graph"))
    if given.output is not None:
        shutil.copyfile(source, call.path(_base(given.output) + ".graph"))


def _prepared(call: Call, base: str, algorithm: str) -> Graph:
    return _graphs.get(_needed(call, call.path(_base(base) + f".{algorithm.lower()}.graph")))


#: Data that osrm-datastore has put under a name, and the servers that answer from it.
_stored: dict[str, dict[str, Any]] = {}
_serving: dict[str, list[Served]] = {}
_storing = threading.Lock()


def datastore(call: Call) -> None:
    """Keep prepared data under a name, for servers that share them."""
    parser = _Parser(call, "osrm-datastore [<options>] <configuration>", [".osrm.graph"])
    parser.add_argument("input", nargs="?", help=argparse.SUPPRESS)
    parser.options.add_argument("-r", "--remove-locks", action="store_true", help="Accepted without effect")
    parser.options.add_argument("-s", "--spring-clean", action="store_true", help="Forget all data")
    add = parser.configuration.add_argument
    add("--max-wait", type=int, default=-1, metavar="arg", help="Accepted without effect")
    add("--dataset-name", default="", metavar="arg", help="Name of the data")
    add("--disable-feature-dataset", action="append", nargs="?", default=[], metavar="arg", help="Data to leave out")
    for name, told in (("list", "List the names"), ("list-blocks", "List the names")):
        add(f"--{name}", action="store_true", help=told)
    add("--only-metric", action="store_true", help="Take the new weights only")
    given = parser.parsed()
    if given.list or given.list_blocks:
        call.say("stdout", "".join(f"{name}\n" for name in sorted(_stored)))
        return
    if given.remove_locks:
        return
    if given.spring_clean:
        _stored.clear()
        return
    if given.input is None:
        raise RefusedError("the input file is missing")
    base = call.path(_base(given.input))
    about = _about(base)
    found = {
        algorithm: _graphs.get(path)
        for algorithm in ("ch", "mld")
        if (path := base.with_name(f"{base.name}.{algorithm}.graph")).exists()
    }
    if not found:
        _needed(call, base.with_name(f"{base.name}.ch.graph"))
    with _storing:
        disabled = _features(given.disable_feature_dataset)
        _stored[given.dataset_name] = {"graphs": found, "disabled": disabled, "about": about}
        for server in _serving.get(given.dataset_name, []):
            server.replace(found[server.algorithm], disabled, about)


def _features(names: Sequence[str | None]) -> frozenset[str]:
    for name in names:
        if name not in ("ROUTE_STEPS", "ROUTE_GEOMETRY"):
            raise RefusedError(f"the argument '{name}' for option '--disable-feature-dataset' is invalid")
    return frozenset(str(name) for name in names)


def routed(call: Call) -> None:
    """Answer requests until the caller goes away."""
    parser = _Parser(call, "osrm-routed <base.osrm> [<options>]", [".osrm.ch.graph"])
    parser.add_argument("input", nargs="?", help=argparse.SUPPRESS)
    parser.options.add_argument("--trial", nargs="?", const="1", metavar="arg", help="Quit after the start")
    add = parser.configuration.add_argument
    add("-i", "--ip", default="127.0.0.1", metavar="arg", help="Address")
    add("-p", "--port", type=int, default=5000, metavar="arg", help="Port")
    add("-t", "--threads", type=int, metavar="arg", help="Number of threads")
    add("-k", "--keepalive-timeout", type=int, default=5, metavar="arg", help="Seconds that idle connections stay")
    add("-s", "--shared-memory", nargs="?", const="1", default="0", metavar="arg", help="Data of osrm-datastore")
    add("--memory_file", metavar="arg", help="Accepted without effect")
    add("-m", "--mmap", nargs="?", const="1", default="0", metavar="arg", help="Accepted without effect")
    add("--dataset-name", default="", metavar="arg", help="Name of the data of osrm-datastore")
    add("-a", "--algorithm", default="CH", metavar="arg", help="CH or MLD")
    add("--disable-feature-dataset", action="append", default=[], metavar="arg", help="ROUTE_STEPS, ROUTE_GEOMETRY")
    for name, default in (
        ("viaroute-size", 500),
        ("trip-size", 100),
        ("table-size", 100),
        ("matching-size", 100),
        ("nearest-size", 100),
        ("nearest-locations", 10),
        ("alternatives", 3),
        ("header-size", 0),
        ("request-body-size", 0),
    ):
        add(f"--max-{name}", type=int, default=default, metavar="arg", help="Limit of a request")
    for name in ("max-matching-radius", "default-radius"):
        add(f"--{name}", type=float, default=-1.0, metavar="arg", help="Metres; -1 is unlimited")
    given = parser.parsed()
    algorithm = given.algorithm.lower()
    if algorithm == "corech":
        algorithm = "ch"
    if algorithm not in ("ch", "mld"):
        raise RefusedError(f"the argument '{given.algorithm}' for option '--algorithm' is invalid")
    shared = given.shared_memory not in ("0", "false")
    if shared:
        stored = _stored.get(given.dataset_name)
        if stored is None or algorithm not in stored["graphs"]:
            raise RefusedError("No shared memory block was found; run osrm-datastore first")
        graph, disabled, about = stored["graphs"][algorithm], stored["disabled"], stored["about"]
    else:
        if given.input is None:
            raise RefusedError("the input file is missing")
        graph, disabled = _prepared(call, given.input, algorithm), _features(given.disable_feature_dataset)
        about = _about(call.path(_base(given.input)))
    server = Served(graph, algorithm, disabled, about, given, lambda text: call.say("stdout", text))
    with _storing:
        _serving.setdefault(given.dataset_name if shared else "", []).append(server)
    try:
        server.start()
        call.say("stdout", "[info] running and waiting for requests\n")
        if given.trial is None:
            call.ended.wait()
    finally:
        with _storing:
            _serving[given.dataset_name if shared else ""].remove(server)
        server.stop()


TOOLS: dict[str, Callable[[Call], None]] = {
    "extract": extract,
    "partition": partition,
    "customize": customize,
    "contract": contract,
    "datastore": datastore,
    "routed": routed,
}


def run(tool: str, call: Call) -> int:
    """Run a tool and return its exit status."""
    try:
        TOOLS[tool](call)
    except _ShownError:
        return 0
    except (RefusedError, NoEdgesError, VksspError, OSError) as error:
        call.say("stderr", f"[error] {error}\n")
        return 1
    except Exception as error:  # the resident process goes on for the other callers
        import traceback

        call.say("stderr", f"[error] {error!r}\n")
        traceback.print_exc(file=sys.stderr)
        return 1
    return 0
