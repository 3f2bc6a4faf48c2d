"""Assembly of a graph from pieces of streets, with copies for the ends of trips and with turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct, own
from vkssp.cores import beside
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.manoeuvres import packed
from vkssp.graph.open_areas import OpenArea
from vkssp.graph.open_areas import packed as packed_areas
from vkssp.graph.order import z_order
from vkssp.graph.streets import COORDINATE_SCALE, Streets
from vkssp.osm.gathering import gathered
from vkssp.osm.guide import guide_arrays
from vkssp.osm.layers import Layered, split_layers, with_enclaves
from vkssp.osm.profile import Profile
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads
from vkssp.osm.rows import rows_of
from vkssp.osm.segments import Floats, Segments
from vkssp.osm.turns import Arcs, Bearings, Turning, bearings, with_turns


def assemble(
    roads: RawRoads,
    segments: Segments,
    seconds: Floats,
    profile: Profile,
    report: ImportReport,
    *,
    order: str,
    seconds_per_weight: float,
    weights: Floats | None = None,
    further: Mapping[str, npt.NDArray[Any] | None] | None = None,
    areas: tuple[OpenArea, ...] = (),
) -> Graph:
    """Return the graph of pieces of streets, in which all paths obey what the roads say about access and turns.

    Parameters
    ----------
    roads : RawRoads
        The ways, and what the file says about turns.
    segments : Segments
        The pieces of the ways.
    seconds : numpy.ndarray
        Travel time of each segment along its way and against it, infinity if not allowed, shape (num_segments, 2).
    profile : Profile
        The vehicle.
    report : ImportReport
        Says which turns are wanted, and receives the counts.
    order : str
        ``"z"`` numbers the nodes along the Z-order curve; ``"natural"`` leaves them in their order.
    seconds_per_weight : float
        Seconds for one unit of weight, if weights are durations.
    weights : numpy.ndarray, optional
        Weight of each segment along its way and against it, shape (num_segments, 2), if weights are no durations.
    further : mapping of str to numpy.ndarray, optional
        Arrays of `Streets` with an entry for each point.
    areas : tuple of OpenArea
        Areas that are crossed in straight lines.

    Raises
    ------
    QueryError
        If a travel time does not fit into 32 bits.
    """
    arcs = directed(segments, seconds)
    found = _with_turns_and_layers(roads, segments, arcs, profile, report)
    turning = found if isinstance(found, Turning) else None
    tail, head, node, arc = found.tail, found.head, found.node, found.arc
    further = {**(further or {}), "point_node": segments.point_node}
    if areas:
        further["open_areas"] = packed_areas(areas)
    turn = None
    unit, amounts = (seconds_per_weight, seconds) if weights is None else (10.0**-profile.weight.precision, weights)
    turn_seconds: Floats | None = None
    if roads.turns is not None and roads.turns.manoeuvres:
        further["manoeuvres"] = packed(roads.turns.manoeuvres)
    if turning is not None:
        turn_seconds = turning.seconds
        if turn_seconds is not None:
            costs = turn_seconds if weights is None or turning.weights is None else turning.weights
            if profile.round_pieces:  # OSRM cuts off what is no whole unit of a turn
                turn = np.trunc(costs * round(1 / unit)).astype(np.uint32)
                turn_seconds = np.trunc(turn_seconds * 10) / 10
            else:
                turn = np.rint(costs / unit).astype(np.uint32)
        further |= {
            "junction": node.astype(np.uint32),
            "memory": turning.memory.astype(np.uint32),
            "layer": turning.layer,
            "turn": turn,
        }
        report.end_stage("weights of turns")
    segment, direction = gathered((arcs.segment, arc), (arcs.direction, arc))
    (weight,) = gathered((np.maximum(np.rint(amounts / unit), 1.0).reshape(-1), 2 * segment + direction))
    if turn is not None:
        weight += turn
    if weight.max(initial=0.0) >= UNREACHABLE:
        at = int(weight.argmax())
        way = segments.way[segment[at]]
        raise QueryError(
            f"way {roads.way[way]} takes longer than 32 bits hold at {roads.speed[way, direction[at]]:g} km/h; "
            f"give {profile.vehicle} higher speeds or factors, or simplify streets"
        )
    (further["node"],) = gathered((segments.node, node))
    report.end_stage("weights")
    if order == "z":
        lat, lon = (np.asarray(all_of[node] * COORDINATE_SCALE, np.float64) for all_of in (segments.lat, segments.lon))
        numbering = z_order(lat, lon)
        of_nodes = {name: values for name in Streets.PER_NODE_OR_NONE if (values := further.get(name)) is not None}
        tail, head, node, *others = gathered(
            *((numbering.rank, ends) for ends in (tail, head)),
            *((values, numbering.node) for values in (node, *of_nodes.values())),
        )
        further |= dict(zip(of_nodes, others, strict=True))
    report.end_stage("numbering")
    pieces = Arcs(segment, direction, tail, head)
    if weights is not None:
        taken = seconds[segment, direction]
        further["seconds"] = (taken if turn_seconds is None else taken + turn_seconds).astype(np.float32)
        further["turn_seconds"] = None if turn_seconds is None else turn_seconds.astype(np.float32)
    graph = graph_of(
        roads,
        segments,
        pieces,
        node,
        weight.astype(np.uint32),
        0.0 if weights is not None else seconds_per_weight,
        further,
        weight_name=profile.weight.name,
        ellipsoid=profile.ellipsoid,
    )
    if weights is not None:
        graph = replace(graph, scale=unit)

    report.nodes, report.arcs = graph.num_nodes, graph.num_arcs
    report.polylines, report.points = len(segments.way), len(segments.points)
    report.kilometres = float(segments.length.sum()) / 1000
    report.unsnapped = int((~roads.snappable[segments.way]).sum())
    report.end_stage("arcs")
    return graph


def _with_turns_and_layers(
    roads: RawRoads, segments: Segments, arcs: Arcs, profile: Profile, report: ImportReport
) -> Layered | Turning:
    """Return the graph with copies for the ends of trips, or that with turns, if these are known."""

    def layers() -> Layered:
        (way,) = gathered((segments.way, arcs.segment))
        (restricted,) = gathered((roads.restricted.reshape(-1), 2 * way + arcs.direction))
        restricted = with_enclaves(arcs.tail, arcs.head, restricted, len(segments.lat))
        report.restricted = len(distinct(arcs.segment[restricted]))
        return split_layers(arcs.tail, arcs.head, restricted, len(segments.lat))

    if roads.turns is None:
        layered = layers()
        report.end_stage("layers")
        return layered
    # Much of the work for layers, for bearings and for restrictions is that of one core each.
    costs: AbstractContextManager[Callable[[], Bearings] | None] = nullcontext()
    if report.turns == "costs":
        costs = beside(partial(bearings, arcs, segments, ellipsoid=profile.ellipsoid))
    with beside(layers) as layers_of_arcs, costs as bearings_of_arcs:
        return with_turns(roads, segments, arcs, layers_of_arcs, profile, report, bearings_of_arcs)


def directed(segments: Segments, weights: Floats) -> Arcs:
    """Return the arcs of segments, those along their ways first, in the directions in which weights are finite."""
    forward, backward = (np.flatnonzero(np.isfinite(weights[:, i])) for i in (0, 1))
    return Arcs(
        segment=np.concatenate([forward, backward]),
        direction=np.repeat([0, 1], [len(forward), len(backward)]),
        tail=np.concatenate([segments.tail[forward], segments.head[backward]]),
        head=np.concatenate([segments.head[forward], segments.tail[backward]]),
    )


def graph_of(
    roads: RawRoads,
    segments: Segments,
    arcs: Arcs,
    node: npt.NDArray[np.int64],
    weight: npt.NDArray[Any],
    seconds_per_weight: float,
    further: Mapping[str, npt.NDArray[Any] | None],
    *,
    weight_name: str = "",
    ellipsoid: bool = False,
    scale: float | Literal["auto"] | None = None,
    names: npt.NDArray[Any] | None = None,
) -> Graph:
    """Return the graph of some arcs, with their streets.

    Parameters
    ----------
    roads, segments
        As in `assemble`.
    arcs : Arcs
        Arcs of the graph, with ends among its nodes.
    node : numpy.ndarray
        Node of the segments that each node of the graph stands for, shape (num_nodes,), int64.
    weight : numpy.ndarray
        Weight of each arc.
    seconds_per_weight : float
        Seconds for one unit of weight, 0 if weights are not durations.
    further : mapping of str to numpy.ndarray
        Arrays of `Streets` about turns and ids, by their names.
    weight_name : str
        Name of what weights are; see `Streets`.
    ellipsoid : bool
        Whether lengths are those on the ellipsoid; see `Streets`.
    scale : float, "auto" or None
        Unit for real weights; see `vkssp.Graph.from_csr`.
    names : numpy.ndarray, optional
        Names of the nodes; see `vkssp.Graph.from_csr`.
    """
    # In the order of their tails, since all that is known of the arcs is then looked up only once.
    first_out, by_tail = rows_of(arcs.tail, len(node))
    of_arcs = {name: values for name in Streets.PER_ARC_OR_NONE if (values := further.get(name)) is not None}
    segment, direction, head, weight, *others = gathered(
        *((values, by_tail) for values in (arcs.segment, arcs.direction, arcs.head.astype(np.uint32), weight)),
        *((values, by_tail) for values in of_arcs.values()),
    )
    further = {**further, **dict(zip(of_arcs, others, strict=True))}
    (way,) = gathered((segments.way, segment))
    looked_up: dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {
        "length": (segments.length.astype(np.float32), segment),
        "way": (roads.way, way),
        "carried": (roads.carried, way),
        "name": (roads.name, way),
        "ref": (roads.ref, way),
        "roundabout": (roads.roundabout, way),
        "link": (roads.link, way),
    }
    if not roads.snappable.all():
        looked_up["snappable"] = roads.snappable, way
    if roads.travel is not None:
        modes, classes = (roads.travel[:, at : at + 2].reshape(-1) for at in (0, 2))
        of_direction = 2 * way + direction
        looked_up["mode"] = modes.astype(np.uint8), of_direction
        if roads.class_names:
            looked_up["classes"] = classes.astype(np.uint32), of_direction
        if roads.travel[:, 4].any():
            looked_up["left_hand"] = roads.travel[:, 4].astype(np.bool_), way
    found = gathered(*looked_up.values())
    arrays: dict[str, npt.NDArray[Any] | None] = {
        **dict(zip(looked_up, found, strict=True)),
        "polyline": segment.astype(np.uint32),
        "backward": direction.astype(np.bool_),
        "polyline_first": segments.polyline_first,
        "points": segments.points,
        **further,
    }
    texts = roads.names
    if roads.guide is not None:
        name = arrays["name"]
        assert name is not None
        told, texts = guide_arrays(roads.guides, roads.guide[way], direction, name, texts)
        arrays |= told
    lat, lon = gathered((segments.lat, node), (segments.lon, node))
    kept: dict[str, Any] = {name: None if array is None else own(array) for name, array in arrays.items()}
    streets = Streets(
        **kept,
        names=texts,
        seconds_per_weight=seconds_per_weight,
        weight_name=weight_name,
        ellipsoid=ellipsoid,
        class_names=roads.class_names,
    )
    return Graph.from_csr(
        own(first_out.astype(np.uint32)),
        own(head),
        own(weight),
        lat=own(lat * COORDINATE_SCALE),
        lon=own(lon * COORDINATE_SCALE),
        streets=streets,
        scale=scale,
        names=names,
    )
