"""Subcommand ``vkssp equilibrium``."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path
from typing import Any

from vkssp.commands.common import Result, is_watched, numbers
from vkssp.errors import QueryError
from vkssp.options import file_name
from vkssp.terminal import print_error, printable

SUMMARY = "assign traffic to a network so that no traveller has a faster path"
EXAMPLE = "vkssp equilibrium SiouxFalls_net.tntp SiouxFalls_trips.tntp --gap 1e-5 --output flows.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    parser.add_argument(
        "network",
        type=file_name,
        metavar="NET",
        help="network: a TNTP file, or a GMNS folder with node.csv and link.csv",
    )
    parser.add_argument(
        "trips",
        type=file_name,
        nargs="*",
        metavar="TRIPS",
        help="trips: a TNTP file or, for GMNS, a CSV file with columns o_zone_id,d_zone_id,volume (default: demand.csv "
        "of the folder); each of several files is a user class with the name of the file",
    )
    parser.add_argument(
        "--pce",
        type=numbers,
        metavar="N,...",
        help="passenger car equivalents of a vehicle of each user class, in the order of TRIPS (default: 1)",
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=1e-4,
        metavar="G",
        help="relative gap at which to end: the share of the total cost "
        "that travellers would save on shortest paths (default: 1e-4)",
    )
    parser.add_argument(
        "--iterations", type=int, default=1000, metavar="N", help="largest number of iterations (default: 1000)"
    )
    parser.add_argument(
        "--method",
        choices=("biconjugate", "conjugate", "frank-wolfe", "msa", "bfw", "cfw", "fw"),
        default="biconjugate",
        metavar="METHOD",
        help="biconjugate (bfw), conjugate (cfw) or frank-wolfe (fw), all of them Frank-Wolfe methods, or msa, the "
        "method of successive averages (default: biconjugate)",
    )
    parser.add_argument(
        "--toll-weight",
        type=float,
        default=0.0,
        metavar="T",
        help="cost of a unit of toll, in the unit of time (default: 0)",
    )
    parser.add_argument(
        "--length-weight",
        type=float,
        default=0.0,
        metavar="T",
        help="cost of a unit of length, in the unit of time (default: 0)",
    )
    parser.add_argument(
        "--closed-zones", action="store_true", help="no path leads through nodes of zones; TNTP files tell this"
    )
    parser.add_argument(
        "--start",
        type=file_name,
        metavar="FLOWS",
        help="flows of an earlier run to begin with, as --output writes them",
    )
    parser.add_argument(
        "--output",
        type=file_name,
        metavar="FLOWS",
        help="write tail, head, flow (in passenger car equivalents) and cost of each arc, in the order of NET, and "
        "the flow of each of several user classes, in vehicles (.csv); the same without classes (.tntp); or what "
        "--start needs to go on (.npz)",
    )
    search = parser.add_argument_group("search")
    search.add_argument("--device", help="index or part of the name, or cpu; see 'vkssp devices'")
    search.add_argument("--algorithm", default="auto", metavar="NAME", help="see 'vkssp algorithms' (default: auto)")


def run(args: argparse.Namespace) -> Result:
    """Assign the trips, and write the flows."""
    from vkssp.assignment import Iteration, UserClass, equilibrium, gmns, tntp
    from vkssp.assignment.flows_file import check_flows_ending, read_flows, write_flows
    from vkssp.files import check_writable

    is_gmns = os.path.isdir(args.network)
    if args.output:
        check_flows_ending(args.output)
        of_folder = [os.path.join(args.network, name) for name in gmns.FILES] if is_gmns else []
        check_writable(args.output, args.network, *args.trips, args.start, *of_folder)
    weights = {"toll_weight": args.toll_weight, "length_weight": args.length_weight}
    if is_gmns:
        network = gmns.read_network(args.network, through_zones=not args.closed_zones, **weights)
    elif args.closed_zones:
        raise QueryError("--closed-zones is for GMNS folders; TNTP files say <FIRST THRU NODE>")
    else:
        network = tntp.read_network(args.network, **weights)
    paths = args.trips or ([str(Path(args.network) / gmns.DEMAND)] if is_gmns else [])
    if not paths:
        raise QueryError("there are no trips; give a file of them")
    pce = [1.0] * len(paths) if args.pce is None else args.pce
    if len(pce) != len(paths):
        raise QueryError(f"--pce has {len(pce)} numbers for {len(paths)} files of trips; give one for each")
    classes = []
    for path, equivalents in zip(paths, pce, strict=True):
        is_csv = is_gmns or path.lower().endswith(".csv")
        demand = gmns.read_demand(path, network) if is_csv else tntp.read_trips(path, network)
        classes.append(UserClass(demand, pce=equivalents, name=printable(Path(path).stem)))
    start = None if args.start is None else read_flows(args.start, network)

    def report(one: Iteration) -> None:
        print_error(f"iteration {one.number:4d}  gap {one.gap:.3e}  objective {one.objective:.9g}  {one.seconds:.2f} s")

    choices = {"method": args.method, "gap": args.gap, "iterations": args.iterations}
    where = {"algorithm": args.algorithm, "device": args.device}
    found = equilibrium(network, classes, **choices, **where, start=start, report=report if is_watched(args) else None)
    seconds = found.iterations[-1].seconds
    result: dict[str, Any] = {
        "converged": found.converged,
        "gap": found.gap,
        "objective": found.objective,
        "total_cost": float(found.flow @ found.cost),
        "device": found.device,
        "iterations": [dataclasses.asdict(one) for one in found.iterations],
    }
    lines = [
        f"network   {network.num_nodes:,} nodes, {network.num_arcs:,} arcs, {network.num_zones:,} zones",
        f"gap       {found.gap:.3e} after {len(found.iterations)} iterations, {seconds:.2f} s"
        + ("" if found.converged else f"; {args.gap:g} was not reached, allow more --iterations"),
        f"objective {found.objective:.9g}",
        f"device    {found.device}",
        f"cost      {result['total_cost']:.9g}, the sum of flow times cost",
    ]
    if args.output:
        write_flows(args.output, found)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines
