"""Points that are reached without passing a node: those on the same street, or at the same junction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_direct, first_arcs
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode


class SameStreet:
    """Points by their streets and junctions.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    goals : sequence of Snap or None
        The points; None for those that are left out.
    """

    def __init__(self, index: StreetIndex, goals: Sequence[Snap | None]) -> None:
        self._index, self._goals = index, goals
        self._on: dict[int, list[int]] = defaultdict(list)
        self._at: dict[int, list[int]] = defaultdict(list)
        self._inside: dict[int, list[int]] = defaultdict(list)
        for number, snap in enumerate(goals):
            if snap is None:
                continue
            if snap.inside is not None:
                self._inside[snap.inside.area].append(number)
            for point in _points(snap):
                for street in {point.polyline, *(int(index.polyline_of[arc]) for arc in point.arcs or ())}:
                    self._on[street].append(number)
                for junction in self._junctions(point):
                    self._at[junction].append(number)

    def _junctions(self, snap: Snap) -> set[int]:
        """Return the number of the junction at which a point lies, as a set; empty if none, or without turns."""
        nodes = self._index.nodes_of(snap) if self._index.knows_turns and snap.is_end else []
        return {min(nodes)} if nodes else set()

    def ways_from(self, start: Snap) -> Iterator[tuple[int, int, PhantomNode, PhantomNode]]:
        """Yield the paths from a point to the points of this object that pass no node.

        Yields
        ------
        tuple of (int, int, PhantomNode, PhantomNode)
            The number of the goal, and what `vkssp.routing.phantoms.find_direct` returns.
        """
        index = self._index
        numbers = {number for point in _points(start) for number in self._beside(point)}
        if start.inside is not None:
            numbers.update(self._inside.get(start.inside.area, ()))
        for number in sorted(numbers):
            goal = self._goals[number]
            assert goal is not None
            way = find_direct(index, start, goal)
            if way is not None:
                yield number, *way

    def _beside(self, start: Snap) -> set[int]:
        """Return the numbers of the points on the streets, or at the junction, of a point."""
        index = self._index
        streets = {start.polyline, *(int(index.polyline_of[arc]) for arc, _ in first_arcs(index, start))}
        numbers = {number for street in streets for number in self._on.get(street, ())}
        numbers.update(number for junction in self._junctions(start) for number in self._at.get(junction, ()))
        return numbers


def _points(snap: Snap) -> list[Snap]:
    """Return a point, or the corners that it sees if it is inside an open area."""
    return [snap] if snap.inside is None else [door.snap for door in snap.inside.doors]
