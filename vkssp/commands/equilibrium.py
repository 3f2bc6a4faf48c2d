"""Subcommand ``vkssp equilibrium``."""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path
from typing import Any

from vkssp.commands.common import Result, add_algorithm, add_device, add_output, is_watched, numbers
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError
from vkssp.options import Help, file_name
from vkssp.terminal import print_error, printable

SUMMARY = "assign traffic so that no traveller has a faster path"
EXAMPLE = "vkssp equilibrium SiouxFalls_net.tntp SiouxFalls_trips.tntp --gap 1e-5 --output flows.csv"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "network", type=file_name, metavar="NET", help="a TNTP file, or a GMNS folder with node.csv and link.csv"
    )
    parser.add_argument(
        "trips",
        type=file_name,
        nargs="*",
        metavar="TRIPS",
        help=Help(
            "a TNTP or CSV file of trips for each user class",
            "; CSV has columns o_zone_id,d_zone_id,volume (default: demand.csv of a GMNS folder)",
        ),
    )
    parser.add_argument(
        "--pce",
        type=numbers,
        metavar="N,...",
        help=Help("passenger car equivalents of each class", ", of a vehicle, in the order of TRIPS (default: 1)"),
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=1e-4,
        metavar="G",
        help=Help(
            "relative gap at which to end (default: 1e-4)",
            ": the share of the total cost that travellers would save on shortest paths",
        ),
    )
    parser.add_argument(
        "--iterations", type=int, default=1000, metavar="N", help="largest number of iterations (default: 1000)"
    )
    parser.add_argument(
        "--method",
        choices=("biconjugate", "conjugate", "frank-wolfe", "msa", "bfw", "cfw", "fw"),
        default="biconjugate",
        metavar="METHOD",
        help=Help(
            "biconjugate, conjugate, frank-wolfe or msa (default: biconjugate)",
            ": also bfw, cfw and fw, all of them Frank-Wolfe methods; msa is the method of successive averages",
        ),
    )
    parser.add_argument(
        "--toll-weight", type=float, default=0.0, metavar="T", help="time that a unit of toll costs (default: 0)"
    )
    parser.add_argument(
        "--length-weight", type=float, default=0.0, metavar="T", help="time that a unit of length costs (default: 0)"
    )
    parser.add_argument(
        "--closed-zones",
        action="store_true",
        help=Help("no path leads through nodes of zones", "; for GMNS, as TNTP files tell this"),
    )
    parser.add_argument(
        "--start", type=file_name, metavar="FLOWS", help="begin with the flows of an earlier run, a file of --output"
    )
    details = (
        " as CSV; .csv: tail, head, flow (in passenger car equivalents) and cost of each arc, in the order of NET, and "
        "the flow of each of several user classes, in vehicles; .tntp: the same without classes; .npz: what --start "
        "needs to go on"
    )
    add_output(parser, "FLOWS", "write the flow and cost of each arc (.csv, .tntp, .npz)", ".csv", details=details)
    add_device(parser)
    add_algorithm(parser.rare_group("search"))


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
