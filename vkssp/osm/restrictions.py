"""Turn restrictions: the meaning of a relation for a vehicle, and the sequences of arcs that it forbids or commands.

A relation names ways and, between them, a node or further ways. This module turns the relation into sequences of
directed pieces of ways. In a forbidding restriction, the last arc must not follow the others; in a commanding one
(``only_...``), no other arc may follow them. As in OSRM, a command with ways between binds only a traveller who has
gone all along these ways; until then the traveller may turn off.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from vkssp.osm.conditions import Condition, conditional_values
from vkssp.osm.profile import TurnRules
from vkssp.osm.ways import Tags

Indices = npt.NDArray[np.int64]
Path = tuple[int, ...]

#: Outcomes of restrictions, for the report.
OBEYED, OTHERS, NEEDLESS, CONDITIONAL = "obeyed", "for others", "on ways closed anyway", "at certain times only"
LIFTED = "lifted at this time"
_NOT_UNDERSTOOD = "not understood"
_MEMBERS, _MISSING = "wrong number of members", "members missing"
#: Way id of the links of gates, which are not part of a way that a restriction could name.
NO_WAY = -(2**63)
_APART, _AMBIGUOUS = "ways that do not meet", "more than one way to read it"


@dataclass(frozen=True)
class Restriction:
    """Turn restriction as a relation states it.

    Attributes
    ----------
    only : bool
        Whether the restriction commands the turn instead of forbidding it.
    origins, targets : tuple of int
        OSM ids of the ways that the turn leads from and to.
    node : int or None
        OSM id of the node between them.
    ways : tuple of int
        OSM ids of the ways between them, if there is no such node.
    """

    only: bool
    origins: Path
    targets: Path
    node: int | None = None
    ways: Path = ()


@dataclass(frozen=True)
class Conditional:
    """What a relation says about a turn at certain times.

    Attributes
    ----------
    usual : Restriction or None
        What it says at all other times.
    options : tuple of (Condition, Restriction or None)
        Restrictions with their conditions; None lifts the usual one. The last one that holds counts.
    """

    usual: Restriction | None
    options: tuple[tuple[Condition, Restriction | None], ...]

    @property
    def example(self) -> Restriction | None:
        """One of the restrictions, for the place of the turn."""
        return next((restriction for _, restriction in self.options if restriction is not None), self.usual)


def restriction_keys(rules: TurnRules) -> tuple[str, ...]:
    """Return the keys of the tags that hold a restriction, the most specific first."""
    keys = [f"restriction:{name}" for name in rules.vehicles]
    return (*keys, "restriction")


def conditional_keys(rules: TurnRules) -> tuple[str, ...]:
    """Return the keys of the tags that hold a restriction at certain times."""
    return tuple(f"{key}:conditional" for key in restriction_keys(rules))


def read_restriction(
    tags: Tags, members: Iterable[tuple[str, str, int]], rules: TurnRules
) -> tuple[Restriction | None, str]:
    """Return the restriction of a relation, or None and the reason.

    Parameters
    ----------
    tags : mapping of str to str
        The relation's tags.
    members : iterable of (str, str, int)
        Role, type ("n", "w" or "r") and OSM id of each member.
    rules : TurnRules
        Which restrictions count.

    Returns
    -------
    tuple of (Restriction or None, str)
        The reason is empty if there is a restriction, or if the relation is not a turn restriction.
    """
    if tags.get("type") != "restriction":
        return None, ""
    keys = restriction_keys(rules)
    key = next((key for key in keys if key in tags), None)
    if key is None and any(key in tags for key in conditional_keys(rules)):
        return None, CONDITIONAL
    exempt = {name.strip() for name in tags.get("except", "").split(";")}
    if key is None or (key == "restriction" and (not rules.for_all or exempt & set(rules.vehicles))):
        return None, OTHERS
    value = tags[key].strip()
    if value == "none" or (key != "restriction" and value == "no"):  # it revokes a restriction that holds for others
        return None, OTHERS
    if "@" in value or value.endswith("_on_red"):  # at red lights only, where other traffic may turn
        return None, CONDITIONAL
    if not value.startswith(("no_", "only_")):
        return None, _NOT_UNDERSTOOD
    by_role: dict[tuple[str, str], list[int]] = defaultdict(list)
    for role, kind, ref in members:
        by_role[role, kind].append(ref)
    origins, targets = by_role["from", "w"], by_role["to", "w"]
    nodes, ways = by_role["via", "n"], by_role["via", "w"]
    # Only no_entry may have several origins, and only no_exit several targets.
    most_origins = len(origins) if value == "no_entry" else 1
    most_targets = len(targets) if value == "no_exit" else 1
    if not (0 < len(origins) <= most_origins and 0 < len(targets) <= most_targets):
        return None, _MEMBERS
    if len(nodes) + min(len(ways), 1) != 1:
        return None, _MEMBERS
    node = nodes[0] if nodes else None
    return Restriction(value.startswith("only_"), tuple(origins), tuple(targets), node, tuple(ways)), ""


def read_conditional(tags: Tags, members: Iterable[tuple[str, str, int]], rules: TurnRules) -> Conditional | None:
    """Return what a relation says about a turn at certain times, None if nothing that is understood.

    Parameters
    ----------
    tags, members, rules
        As for `read_restriction`.
    """
    members = tuple(members)
    usual = read_restriction(tags, members, rules)[0]
    for key in restriction_keys(rules):
        if f"{key}:conditional" not in tags:
            continue
        options: list[tuple[Condition, Restriction | None]] = []
        others = {name: text for name, text in tags.items() if name in ("type", "except")}
        for value, condition in conditional_values(tags[f"{key}:conditional"]):
            restriction = read_restriction({**others, key: value}, members, rules)[0]
            if restriction is not None or (value == "none" and usual is not None):
                options.append((condition, restriction))
        return Conditional(usual, tuple(options)) if options else None
    return None


class Pieces:
    """Arcs of the ways that restrictions name, for look-ups of where they begin and end.

    Parameters
    ----------
    arc : numpy.ndarray
        The arcs of those ways, and the links of gates, ascending, shape (num_named,); arcs of one way and direction are
        in the sequence in which they lie along the way.
    way : numpy.ndarray
        OSM id of each arc's way, `NO_WAY` for the links of gates.
    backward : numpy.ndarray
        Whether each arc runs against its way.
    tail, head : numpy.ndarray
        Nodes of the arcs.
    begin, end : numpy.ndarray
        OSM ids of these nodes; several nodes may have the same OSM id.
    """

    def __init__(
        self,
        arc: Indices,
        way: Indices,
        backward: npt.NDArray[np.bool_],
        tail: Indices,
        head: Indices,
        begin: Indices,
        end: Indices,
    ) -> None:
        arcs = arc.tolist()
        self.tail, self.head, self.begins, self.ends = (
            dict(zip(arcs, values.tolist(), strict=True)) for values in (tail, head, begin, end)
        )
        self._arcs: dict[int, list[int]] = defaultdict(list)
        self._whole: dict[int, tuple[Path, Path]] = {}
        backward_of = dict(zip(arcs, backward.tolist(), strict=True))
        for one, key in zip(arcs, way.tolist(), strict=True):
            self._arcs[key].append(one)
        self._links: dict[int, list[int]] = defaultdict(list)
        for one in self._arcs.pop(NO_WAY, ()):
            self._links[self.tail[one]].append(one)
        for key, found in self._arcs.items():
            forth = tuple(arc for arc in found if not backward_of[arc])
            back = tuple(arc for arc in reversed(found) if backward_of[arc])
            self._whole[key] = forth, back

    def arriving(self, way: int, place: int) -> list[int]:
        """Return the arcs of a way that end at a place."""
        return [arc for arc in self._arcs.get(way, ()) if self.ends[arc] == place]

    def leaving(self, way: int, place: int) -> list[int]:
        """Return the arcs of a way that begin at a place."""
        return [arc for arc in self._arcs.get(way, ()) if self.begins[arc] == place]

    def whole(self, way: int) -> list[Path]:
        """Return the arcs of a way from end to end, for each direction in which the whole way can be travelled."""
        return [path for path in self._whole.get(way, ((), ())) if path and self.through_gates(path)]

    def through_gates(self, path: Path) -> Path:
        """Return arcs with the links of the gates between them, or nothing if a barrier separates two of them.

        If the last arc begins at a gate, the link to this arc takes its place, because it leads to no other arc.
        """
        whole = list(path[:1])
        for arc in path[1:]:
            links = self._gate_between(whole[-1], arc)
            if links is None:
                return ()
            whole += [*links, arc]
        if len(path) > 1 and self.head[path[-2]] != self.tail[path[-1]]:
            whole.pop()
        return tuple(whole)

    def _gate_between(self, before: int, after: int) -> Path | None:
        """Return the links from one arc to another: no links if the arcs meet, None if no gate joins them."""
        here, there = self.head[before], self.tail[after]
        if here == there:
            return ()
        ways = ((into, out) for into in self._links.get(here, ()) for out in self._links.get(self.head[into], ()))
        return next((links for links in ways if self.head[links[1]] == there), None)

    def turns_in_gates(self, paths: Iterable[Path]) -> list[Path]:
        """Return the turns from a link back to its tail, at the gates that some paths lead through.

        A traveller who turned round there would forget by which street they came.
        """
        links = {arc for arcs in self._links.values() for arc in arcs}
        gates = {self.head[a] for path in paths for a, b in pairwise(path) if {a, b} <= links}
        return [
            (there, back)
            for there in sorted(links)
            for back in self._links.get(self.head[there], ())
            if self.head[back] == self.tail[there] and not gates.isdisjoint((self.head[there], self.tail[there]))
        ]

    def ends_of(self, way: int) -> list[tuple[int, int]]:
        """Return the two ends of a way, in both orders, even if a barrier cuts the way."""
        ends = [(self.begins[path[0]], self.ends[path[-1]]) for path in self._whole.get(way, ((), ())) if path]
        return [*ends, *((there, here) for here, there in ends)]

    def places(self, way: int) -> set[int]:
        """Return the places at which arcs of a way begin and end."""
        return {place for arc in self._arcs.get(way, ()) for place in (self.begins[arc], self.ends[arc])}


def find_paths(
    restrictions: Iterable[Restriction], pieces: Pieces, used: set[int], closed: set[int], count: Counter[str]
) -> tuple[list[Path], list[Path]]:
    """Return the forbidden and the commanded sequences of arcs.

    Parameters
    ----------
    restrictions : iterable of Restriction
        The restrictions of the relations.
    pieces : Pieces
        The arcs.
    used, closed : set of int
        OSM ids of the ways that restrictions name: ways that the vehicle may use, and ways that it may not use.
    count : Counter
        Receives the number of restrictions by outcome.
    """
    forbidden: list[Path] = []
    commanded: list[Path] = []
    known = used | closed
    for restriction in restrictions:
        ways = {*restriction.origins, *restriction.targets, *restriction.ways}
        if not ways <= known:
            count[_MISSING] += 1
            continue
        paths, reasons = [], []
        for origin, target in product(restriction.origins, restriction.targets):
            found = _paths(restriction, origin, target, pieces)
            if len(found) == 1:
                paths += found
            else:
                reasons.append(_AMBIGUOUS if found else _why_not(restriction, origin, target, pieces, closed))
        (commanded if restriction.only else forbidden).extend(paths)
        count[OBEYED if paths else reasons[0]] += 1
    return forbidden, commanded


def _paths(restriction: Restriction, origin: int, target: int, pieces: Pieces) -> list[Path]:
    """Return all sequences of arcs that a restriction may mean."""
    if restriction.node is not None:
        paths: list[Path] = [(arc,) for arc in pieces.arriving(origin, restriction.node)]
    else:
        paths = [
            (arc, *middle)
            for middle in pieces.whole(restriction.ways[0])
            for arc in pieces.arriving(origin, pieces.begins[middle[0]])
        ]
        for way in restriction.ways[1:]:
            paths = [
                path + middle
                for path, middle in product(paths, pieces.whole(way))
                if pieces.ends[path[-1]] == pieces.begins[middle[0]]
            ]
    paths = [(*path, arc) for path in paths for arc in pieces.leaving(target, pieces.ends[path[-1]])]
    return [path for path in map(pieces.through_gates, paths) if path]


def _why_not(restriction: Restriction, origin: int, target: int, pieces: Pieces, closed: set[int]) -> str:
    """Return why no sequence of arcs matches a restriction."""
    if not closed.isdisjoint((origin, *restriction.ways, target)):
        return NEEDLESS
    places = pieces.places(origin) if restriction.node is None else pieces.places(origin) & {restriction.node}
    for way in restriction.ways:
        places = {there for here, there in pieces.ends_of(way) if here in places}
    return _APART if places.isdisjoint(pieces.places(target)) else NEEDLESS
