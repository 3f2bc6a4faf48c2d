"""What is lawful on a map and what it costs, told from OpenStreetMap's own nodes, ways and relations, step by step.

A step goes from one node of a way to the next. The search here keeps its last steps in mind, as many as any restriction
looks at, and tries everything.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from tests.support.osm_maps import Nodes, Relation, Way
from vkssp.graph.geo import EARTH_RADIUS

#: A way, the index of the node where a step begins, and 1 or -1.
Step = tuple[int, int, int]
SPEEDS = {"primary": 65, "residential": 25, "service": 15}


@dataclass(frozen=True)
class Rule:
    """A sequence of steps after which one step is forbidden, or commanded."""

    only: bool
    before: tuple[Step, ...]
    step: Step


@dataclass
class Town:
    """A map, and who drives there."""

    nodes: Nodes
    ways: Sequence[Way]
    relations: Sequence[Relation] = ()
    vehicles: Sequence[str] = ("motorcar", "motor_vehicle", "vehicle")
    rules: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.refs = {key: list(refs) for key, refs, _ in self.ways}
        self.tags = {key: dict(tags) for key, _, tags in self.ways}
        self.out: dict[int, list[Step]] = defaultdict(list)
        for key, refs in self.refs.items():
            for i in range(len(refs)):
                for way in (1, -1):
                    if 0 <= i + way < len(refs) and self.is_open((key, i, way)):
                        self.out[refs[i]].append((key, i, way))
        uses: dict[int, int] = defaultdict(int)
        self.roads: dict[int, int] = defaultdict(int)
        for refs in self.refs.values():
            for i, ref in enumerate(refs):
                uses[ref] += 1
                self.roads[ref] += (i > 0) + (i < len(refs) - 1)
        ends = {ref for refs in self.refs.values() for ref in (refs[0], refs[-1])}
        self.junctions = {ref for ref, count in uses.items() if count > 1} | ends
        for members, tags in self.relations:
            self.rules += self._rules_of(members, tags)

    def is_open(self, step: Step) -> bool:
        oneway = self.tags[step[0]].get("oneway")
        return not ((oneway == "yes" and step[2] < 0) or (oneway == "-1" and step[2] > 0))

    def start(self, step: Step) -> int:
        return self.refs[step[0]][step[1]]

    def end(self, step: Step) -> int:
        return self.refs[step[0]][step[1] + step[2]]

    def _rules_of(self, members: Iterable[tuple[str, str, int]], tags: Mapping[str, str]) -> list[Rule]:
        if tags.get("type") != "restriction":
            return []
        special = [tags[f"restriction:{name}"] for name in self.vehicles if f"restriction:{name}" in tags]
        exempt = set(tags.get("except", "").split(";")) & set(self.vehicles)
        kind = special[0] if special else "" if exempt else tags.get("restriction", "")
        if not kind.startswith(("no_", "only_")):
            return []
        role: dict[tuple[str, str], list[int]] = defaultdict(list)
        for name, what, ref in members:
            role[name, what].append(ref)
        rules = []
        for origin, target in itertools.product(role["from", "way"], role["to", "way"]):
            for path in self._between(role["via", "node"], role["via", "way"]):
                place = path if isinstance(path, int) else self.start(path[0])
                goal = path if isinstance(path, int) else self.end(path[-1])
                middle = () if isinstance(path, int) else path
                for a in (s for steps in list(self.out.values()) for s in steps if s[0] == origin):
                    for b in (s for s in self.out[goal] if s[0] == target):
                        if self.end(a) == place:
                            rules.append(Rule(kind.startswith("only_"), (a, *middle), b))
        return rules

    def _between(self, nodes: list[int], ways: list[int]) -> list[Any]:
        if nodes:
            return list(nodes)
        paths: list[tuple[Step, ...]] = [()]
        for key in ways:
            size = len(self.refs[key])
            forth = tuple((key, i, 1) for i in range(size - 1))
            back = tuple((key, i, -1) for i in range(size - 1, 0, -1))
            paths = [
                (*path, *steps)
                for path in paths
                for steps in (forth, back)
                if all(map(self.is_open, steps)) and (not path or self.end(path[-1]) == self.start(steps[0]))
            ]
        return paths

    def allowed(self, history: Sequence[Step], step: Step) -> bool:
        """Return whether restrictions let a step follow others."""
        bound = [rule for rule in self.rules if tuple(history[-len(rule.before) :]) == rule.before]
        if any(not rule.only and rule.step == step for rule in bound):
            return False
        by_before: dict[tuple[Step, ...], set[Step]] = defaultdict(set)
        for rule in bound:
            if rule.only:
                by_before[rule.before].add(rule.step)
        return all(step in steps for steps in by_before.values())

    def is_restricted(self, step: Step) -> bool:
        return self.tags[step[0]].get("access") == "destination"

    def serving_ends(self, all_nodes: bool) -> set[Step]:
        """Return the steps that serve only the ends of trips: restricted ones, and enclaves among them.

        Of each part of the town the largest piece where every place can be reached from every other by unrestricted
        steps is the core; of pieces as large the one with the highest node. Other unrestricted steps are an enclave
        where they, or others that they meet outside the core, meet a restricted one there.
        """
        steps = {step: (self.start(step), self.end(step)) for out in list(self.out.values()) for step in out}
        bound = {step for step in steps if self.is_restricted(step)}
        whole = nx.Graph(steps.values())
        free = nx.DiGraph(ends for step, ends in steps.items() if step not in bound)
        free.add_nodes_from(whole)
        places = set(whole) if all_nodes else self.junctions
        core: set[int] = set()
        for part in nx.connected_components(whole):
            pieces = nx.strongly_connected_components(free.subgraph(part))
            core |= max(pieces, key=lambda piece: (len(piece & places), max(piece & places, default=-1)))
        touched = {node for step in bound for node in steps[step]} - core
        outside = free.subgraph(set(whole) - core).to_undirected()
        enclaves = {node for piece in nx.connected_components(outside) if piece & touched for node in piece}
        return bound | {step for step, ends in steps.items() if enclaves.intersection(ends)}

    def may_turn_round(self, history: Sequence[Step]) -> bool:
        """Return whether one may go back where costs count: where nothing else is left, or no other road leads to."""
        place = self.end(history[-1])
        others = [s for s in self.out[place] if not is_back(history[-1], s) and self.allowed(history, s)]
        coming = sum(self.end(s) == place for steps in self.out.values() for s in steps)
        return not others or coming <= 1

    def seconds(self, step: Step) -> float:
        (lat0, lon0), (lat1, lon1) = (self.nodes[ref][:2] for ref in (self.start(step), self.end(step)))
        a = math.sin(math.radians(lat1 - lat0) / 2) ** 2
        a += math.cos(math.radians(lat0)) * math.cos(math.radians(lat1)) * math.sin(math.radians(lon1 - lon0) / 2) ** 2
        return 2 * EARTH_RADIUS * math.asin(math.sqrt(a)) * 3.6 / SPEEDS[self.tags[step[0]]["highway"]]

    def bearing(self, step: Step) -> float:
        (lat0, lon0), (lat1, lon1) = (self.nodes[ref][:2] for ref in (self.start(step), self.end(step)))
        return math.degrees(math.atan2((lon1 - lon0) * math.cos(math.radians(lat0)), lat1 - lat0))

    def turn(self, a: Step, b: Step) -> float:
        """Return the seconds that a turn takes, as car.lua has it."""
        angle = 180.0 if is_back(a, b) else (self.bearing(b) - self.bearing(a) + 180) % 360 - 180
        place, total = self.nodes[self.end(a)], 0.0
        if len(place) == 3:
            total += {"traffic_signals": 2, "stop": 2, "give_way": 1}.get(place[2].get("highway", ""), 0)
        if self.roads[self.end(a)] > 2 or is_back(a, b):
            if angle >= 0:
                total += 7.5 / (1 + math.exp(-((13 / 1.075) * angle / 180 - 6.5 * 1.075)))
            else:
                total += 7.5 / (1 + math.exp(-((13 * 1.075) * -angle / 180 - 6.5 / 1.075)))
        if self.roads[self.end(a)] > 2 and angle < 0 and not is_back(a, b):
            total += 2 / (1 + math.exp(-(13 * abs(angle) / 180 - 3.25)))
        return total + (20 if is_back(a, b) else 0)

    def best(
        self,
        start: tuple[int, int] | int,
        goal: tuple[int, int] | int,
        *,
        costs: bool,
        all_nodes: bool,
        via: Sequence[tuple[int, int] | int] = (),
    ) -> float | None:
        """Return the seconds between two nodes, or middles of pieces, given by way and index, or None.

        On the way there one passes the middles of further pieces, without turning round there, or nodes. After one on a
        street that serves only the ends of a trip, such streets are open again.
        """
        unit = 0.001 if all_nodes else 0.1
        bound = self.serving_ends(all_nodes)
        longest = max((len(rule.before) for rule in self.rules), default=1)
        # Whether one has left the streets that serve only the start of a trip, and entered those at its end.
        queue: list[tuple[float, int, tuple[Step, ...], str, int]] = []
        tick = itertools.count()

        def steps_on(piece: tuple[int, int]) -> list[Step]:
            return [s for s in ((*piece, 1), (piece[0], piece[1] + 1, -1)) if self.is_open(s)]

        if isinstance(start, int):  # where one turns into no street
            heapq.heappush(queue, (0.0, next(tick), (), "start", 0))
        for step in () if isinstance(start, int) else steps_on(start):
            phase = "start" if step in bound else "middle"
            heapq.heappush(queue, (self.seconds(step) / 2, next(tick), (step,), phase, 0))
            if via and via[0] == self.end(step):
                heapq.heappush(queue, (self.seconds(step) / 2, next(tick), (step,), phase, 1))
        goals, done, results = set() if isinstance(goal, int) else set(steps_on(goal)), set(), []
        vias = [set() if isinstance(piece, int) else set(steps_on(piece)) for piece in via]
        if start == goal and not via:
            return 0.0
        while queue:
            cost, _, history, phase, passed = heapq.heappop(queue)
            if (history, phase, passed) in done:
                continue
            done.add((history, phase, passed))
            place = self.end(history[-1]) if history else start
            assert isinstance(place, int)
            if place == goal and passed == len(vias):
                results.append(cost)
            for step in self.out[place]:
                if not self.allowed(history, step):
                    continue
                turns_round = bool(history) and is_back(history[-1], step)
                if turns_round and not (
                    self.may_turn_round(history) if costs else all_nodes or place in self.junctions
                ):
                    continue
                if step in bound:
                    later = "start" if phase == "start" else "end"
                elif phase == "end":
                    continue
                else:
                    later = "middle"
                turn = round(self.turn(history[-1], step) / unit) * unit if costs and history else 0.0
                if step in goals and passed == len(vias):
                    results.append(cost + turn + self.seconds(step) / 2)
                new, phases = (*history, step)[-longest:], [(passed, later)]
                # Who passes a point may count it, or come again; then a leg begins, on the street where one is.
                begins = "start" if step in bound else "middle"
                if passed < len(vias) and step in vias[passed]:
                    phases.append((passed + 1, begins))
                at_end = [now for now, _ in phases if now < len(vias) and via[now] == self.end(step)]
                phases += [(now + 1, begins) for now in at_end]
                for now, then in phases:
                    heapq.heappush(queue, (cost + turn + self.seconds(step), next(tick), new, then, now))
        return min(results, default=None)


def is_back(a: Step, b: Step) -> bool:
    """Return whether a step goes back along the other."""
    return a[0] == b[0] and a[2] == -b[2] and a[1] + a[2] == b[1]


def violations(town: Town, steps: Sequence[Step]) -> list[str]:
    """Return what is unlawful about a way through a town."""
    found = [f"{step} against a one-way street" for step in steps if not town.is_open(step)]
    for at, (a, b) in enumerate(itertools.pairwise(steps), 1):
        if town.end(a) != town.start(b):
            found.append(f"{a} and {b} do not meet")
        if not town.allowed(steps[:at], b):
            found.append(f"{b} after {a} is forbidden")
    return found
