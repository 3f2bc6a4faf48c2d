#!/usr/bin/env python3
"""Time of traffic assignments beside AequilibraE, in one run.

  scripts/compare_assignment.py SiouxFalls_net.tntp SiouxFalls_trips.tntp
  scripts/compare_assignment.py ChicagoSketch_net.tntp ChicagoSketch_trips.tntp --toll-weight 0.02 --length-weight 0.04

NET and TRIPS are TNTP files. Both assign by biconjugate Frank-Wolfe to the same relative gap, on all cores, and take
turns, each when the threads of the other have come to rest. A time is that of the whole call: vkssp's preparation of
the graph and its setup of devices included, AequilibraE's preparation of its graph not. The gap of every result is
computed again by scipy's shortest paths. With flows of an optimal solution (--optimal FLOWS) the objective is compared,
too.

AequilibraE is left out if it is not installed (pip install aequilibrae). It takes free times above 0 and powers from 1
on only: zeros become 1e-6 and 1, if arcs have no delay. Its flows do not carry the demand at two nodes of Barcelona,
which is noted.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from vkssp import VksspError
from vkssp.assignment import BPR, Equilibrium, TrafficNetwork, equilibrium, tntp
from vkssp.assignment.flows_file import read_flows
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import save_result, tuned_values
from vkssp.bench.side_by_side import OURS, Row, alternate, report
from vkssp.cores import num_cores
from vkssp.cpu.device import CpuDevice
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.options import file_name
from vkssp.terminal import print_lines

AEQUILIBRAE = "aequilibrae"
#: Share of the time of AequilibraE that is the goal.
GOAL = 0.2
#: Largest difference of a gap that is computed again, and of demand that flows carry, as a share.
DIFFERENCE = 1e-6
#: Time of an arc without delay for AequilibraE.
LEAST_TIME = 1e-6

Floats = npt.NDArray[np.float64]


def check(is_right: bool, what: str) -> None:
    """Raise an error if a condition is false."""
    if not is_right:
        raise VksspError(f"wrong {what}")


def gap_of(network: TrafficNetwork, demand: Any, flow: Floats) -> tuple[float, int]:
    """Return the relative gap of flows by scipy, and the number of nodes at which they do not fit the demand."""
    balance = np.bincount(network.tail, flow, network.num_nodes) - np.bincount(network.head, flow, network.num_nodes)
    trips = demand.toarray()
    np.fill_diagonal(trips, 0)
    expected = np.zeros(network.num_nodes)
    expected[network.zones] = trips.sum(axis=1) - trips.sum(axis=0)
    wrong = int((np.abs(balance - expected) > DIFFERENCE * trips.sum()).sum())
    cost = network.delay.time(flow) + network.fixed
    search = network.search_graph()
    graph, mine = search.graph, cost[search.arcs]
    # Of parallel arcs the cheapest counts; scipy takes zeros for arcs that are not there.
    order = np.lexsort((mine, graph.head, graph.tail))
    pairs = np.stack([graph.tail[order], graph.head[order]])
    is_first = np.append(True, (np.diff(pairs, axis=1) != 0).any(axis=0))
    ends = pairs[0][is_first], pairs[1][is_first]
    matrix = sparse.csr_array((np.maximum(mine[order][is_first], 1e-300), ends), shape=(graph.num_nodes,) * 2)
    least = dijkstra(matrix, indices=search.origins)[:, search.destinations]
    total = float(flow @ cost)
    return (total - float(trips[trips > 0] @ least[trips > 0])) / total, wrong


def aequilibrae_run(network: TrafficNetwork, demand: Any, gap: float, iterations: int) -> Any:
    """Return a function that assigns by AequilibraE and returns flows and the number of iterations."""
    import pandas
    from aequilibrae.matrix import AequilibraeMatrix
    from aequilibrae.paths import Graph, TrafficAssignment, TrafficClass

    logging.disable(logging.CRITICAL)
    delay, zones = network.delay, network.num_zones
    assert isinstance(delay, BPR)
    b, power = np.asarray(delay.b), np.asarray(delay.power)
    links = pandas.DataFrame(
        {
            "link_id": np.arange(1, network.num_arcs + 1),
            "a_node": network.tail.astype(np.int64) + 1,
            "b_node": network.head.astype(np.int64) + 1,
            "direction": 1,
            "capacity": delay.capacity,
            "free_time": np.maximum(delay.free_time, LEAST_TIME),
            "b": b,
            "power": np.where(b > 0, np.maximum(power, 1.0), 1.0),
            "fixed": network.fixed,
        }
    )
    graph = Graph()
    graph.network = links
    graph.prepare_graph(np.arange(1, zones + 1))
    graph.set_graph("free_time")
    graph.set_blocked_centroid_flows(len(network.closed) > 0)
    matrix = AequilibraeMatrix()
    matrix.create_empty(zones=zones, matrix_names=["trips"], memory_only=True)
    matrix.index[:] = np.arange(1, zones + 1)
    matrix.matrices[:, :, 0] = demand.toarray()
    matrix.computational_view(["trips"])

    def ask(_: Any) -> tuple[Floats, int]:
        users = TrafficClass("cars", graph, matrix)
        if network.fixed.any():
            users.set_fixed_cost("fixed", 1)
        run = TrafficAssignment()
        run.set_classes([users])
        run.set_vdf("BPR")
        run.set_vdf_parameters({"alpha": "b", "beta": "power"})
        run.set_capacity_field("capacity")
        run.set_time_field("free_time")
        run.set_algorithm("bfw")
        run.set_cores(num_cores())
        run.max_iter, run.rgap_target = iterations, gap
        run.execute()
        flow = run.results()["PCE_AB"].to_numpy(np.float64)
        return flow, len(run.report())

    return ask


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Measure one network and return its result."""
    network = tntp.read_network(args.network, toll_weight=args.toll_weight, length_weight=args.length_weight)
    demand = tntp.read_trips(args.trips, network)
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
    asked: dict[str, Any] = {"gap": args.gap, "iterations": args.iterations}
    iterations: dict[str, int] = {}
    notes: dict[str, str] = {}

    def ours(_: Any) -> Equilibrium:
        return equilibrium(network, demand, device=args.device, **asked)

    contestants: dict[str, Any] = {OURS: ours}
    try:
        versions[AEQUILIBRAE] = importlib.metadata.version(AEQUILIBRAE)
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        contestants[AEQUILIBRAE] = aequilibrae_run(network, demand, **asked)

    def right(_: Any, name: str, found: Any) -> None:
        flow, iterations[name] = (found.flow, len(found.iterations)) if name == OURS else found
        gap, wrong = gap_of(network, demand, flow)
        if name != OURS and wrong:  # it has lost the flow of arcs, and its time counts all the same
            notes[name] = f"flows of {name} do not carry the demand at {wrong} nodes"
            return
        check(not wrong, f"flows: they do not carry the demand at {wrong} nodes")
        # AequilibraE's arcs without delay cost a bit more.
        extra = DIFFERENCE if name == OURS else 0.1 * args.gap
        check(-extra <= gap <= args.gap + extra, f"gap of {name}: {gap:.3e}")

    count = {} if args.repetitions is None else {"repetitions": args.repetitions}
    times = alternate(contestants, [None], right, warm_up_s=0.0, rest=True, **count)
    goal = GOAL if len(contestants) > 1 else None
    name = Path(args.network).name
    task, cores = f"gap {args.gap:g}", str(num_cores())
    row = Row(name, task, 1, times, most_ratio=goal, cores=cores, notes=list(notes.values()))
    found = ours(None)
    lines = [f"{name}: {network.num_nodes:,} nodes, {network.num_arcs:,} arcs, {network.num_zones:,} zones", ""]
    lines += [*report([row], markdown=args.markdown), ""]
    lines += ["iterations: " + ", ".join(f"{name} {number}" for name, number in iterations.items())]
    result: dict[str, Any] = {
        "network": args.network,
        "gap": found.gap,
        "objective": found.objective,
        "iterations": iterations,
        "versions": versions,
        "row": {**dataclasses.asdict(row), "ratio": row.ratio(), "verdict": row.verdict},
    }
    if args.optimal:
        best = np.asarray(read_flows(args.optimal, network))
        optimum = float(network.delay.integral(best).sum() + network.fixed @ best)
        result["above_optimum"] = found.objective / optimum - 1
        lines.append(f"objective {found.objective:.10g}, {result['above_optimum']:.2e} above the optimal flows'")
    with CpuDevice() if args.device == "cpu" else Device(args.device) as device:
        result.update(where_and_when(device))
    host = result["host"]
    lines.append(
        f"{result['device']['name']}; {host['cpu']}, {num_cores()} of {host['cores']} cores; vkssp "
        f"{result['commit'] or result['vkssp']}, {', '.join(' '.join(one) for one in versions.items())}; medians and "
        f"quartiles of {args.repetitions} times"
    )
    lines += tuned_values(result)
    print_lines(lines)
    return result


def run(args: argparse.Namespace) -> None:
    """Measure, print and write the result."""
    if args.json_file:
        check_writable(args.json_file, args.network, args.trips, content="JSON")
    result = measure(args)
    if args.json_file:
        save_result(args.json_file, result)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=file_name, metavar="NET", help="network, a TNTP file")
    parser.add_argument("trips", type=file_name, metavar="TRIPS", help="trips, a TNTP file")
    parser.add_argument("--optimal", type=file_name, metavar="FLOWS", help="flows of an optimal solution")
    parser.add_argument("--gap", type=float, default=1e-4, help="relative gap (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=1000, metavar="N", help="most (default: %(default)s)")
    parser.add_argument("--toll-weight", type=float, default=0.0, help="time for a unit of toll (default: 0)")
    parser.add_argument("--length-weight", type=float, default=0.0, help="time for a unit of length (default: 0)")
    parser.add_argument("--device", default="cpu", help="index, kind or part of the name (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/performance.md")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args(arguments)
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
