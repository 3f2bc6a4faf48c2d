"""Collection of a file's data about turns: restrictions, and nodes that take time, such as signals and stop signs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from vkssp.graph.manoeuvres import Manoeuvre
from vkssp.osm.manoeuvres import read_manoeuvre
from vkssp.osm.profile import TurnRules
from vkssp.osm.restrictions import (
    CONDITIONAL,
    LIFTED,
    Conditional,
    Restriction,
    conditional_keys,
    read_conditional,
    read_restriction,
)
from vkssp.osm.ways import Tags

#: Whether a value of a direction tag applies along the way, and against it.
_DIRECTIONS = {"forward": (True, False), "backward": (False, True)}

#: Keys of the tags of nodes that take time.
OBSTACLE_KEYS = frozenset({"highway", "direction", "traffic_signals:direction", "stop"})
#: A row of `Obstacles`: the seconds along the way and against it, and whether the node is minor and an undirected stop.
Obstacle = tuple[float, float, bool, bool]


@dataclass(frozen=True, eq=False)
class Obstacles:
    """Nodes that take time, ordered by their OSM ids.

    Attributes
    ----------
    node : numpy.ndarray
        OSM ids, shape (num_obstacles,), int64.
    seconds : numpy.ndarray
        Seconds that each takes along its way and against it, shape (num_obstacles, 2), float64.
    minor : numpy.ndarray
        Whether an arc has to stop only if another arc at the node is faster, shape (num_obstacles,), bool.
    undirected_stop : numpy.ndarray
        Whether the obstacle is a stop sign without a direction, shape (num_obstacles,), bool.
    """

    node: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    minor: npt.NDArray[np.bool_]
    undirected_stop: npt.NDArray[np.bool_]

    def at(self, node: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the index of the obstacle at each node, -1 if there is none."""
        if len(self.node) == 0:
            return np.full(len(node), -1, np.int64)
        index = np.minimum(np.searchsorted(self.node, node), len(self.node) - 1)
        return np.where(self.node[index] == node, index, -1)


@dataclass(frozen=True, eq=False)
class RawTurns:
    """Data of a file about turns.

    Attributes
    ----------
    obstacles : Obstacles
        Nodes that take time.
    restrictions : tuple of Restriction
        Restrictions that count for the vehicle.
    conditional : tuple of Conditional
        Restrictions that count at certain times, in addition to the others.
    closed : numpy.ndarray
        OSM ids of the roads that the vehicle may not use, shape (num_closed,), int64.
    count : Counter
        Restrictions left out, by reason.
    manoeuvres : tuple of Manoeuvre
        Instructions that the map gives itself.
    """

    obstacles: Obstacles
    restrictions: tuple[Restriction, ...]
    closed: npt.NDArray[np.int64]
    count: Counter[str]
    manoeuvres: tuple[Manoeuvre, ...] = ()
    conditional: tuple[Conditional, ...] = ()

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """OSM ids of the nodes that restrictions name or that take time; they must become nodes of the graph."""
        via = {restriction.node for restriction in self.restrictions if restriction.node is not None}
        return np.concatenate([self.obstacles.node, np.array(sorted(via), np.int64)])

    def at_time(self, time_at: Callable[[Restriction], datetime | None]) -> RawTurns:
        """Return the data with the restrictions that hold at the local time at their places.

        Parameters
        ----------
        time_at : callable
            Returns the local time at the place of a restriction, None if it is unknown.
        """
        restrictions, count = list(self.restrictions), self.count.copy()
        for conditional in self.conditional:
            example = conditional.example
            local = None if example is None else time_at(example)
            holding = [] if local is None else [one for condition, one in conditional.options if condition.holds(local)]
            if holding:
                count[CONDITIONAL] -= 1
                if conditional.usual is not None:
                    restrictions.remove(conditional.usual)
                if holding[-1] is not None:
                    restrictions.append(holding[-1])
                else:
                    count[LIFTED] += 1
        return replace(self, restrictions=tuple(restrictions), conditional=(), count=+count)


class TurnCollector:
    """Collector of a file's data about turns.

    Parameters
    ----------
    rules : TurnRules
        Rules for what counts.
    costs : bool
        Whether nodes that take time count, too.
    """

    def __init__(self, rules: TurnRules, costs: bool) -> None:
        self._rules, self.costs = rules, costs
        self._conditional = conditional_keys(rules)
        self._obstacles: dict[int, Obstacle] = {}
        self._restrictions: list[Restriction] = []
        self._at_times: list[Conditional] = []
        self._count: Counter[str] = Counter()
        self._manoeuvres: list[Manoeuvre] = []

    def obstacle(self, tags: Tags) -> Obstacle | None:
        """Return what the tags of a node say about the time that it takes, None if it takes no time."""
        kind = tags.get("highway", "")
        seconds = self._rules.seconds.get(kind, 0.0) if self.costs else 0.0
        if not seconds:
            return None
        direction = tags.get("direction", "")
        if kind == "traffic_signals":
            direction = tags.get("traffic_signals:direction", direction)
        forth, back = _DIRECTIONS.get(direction, (True, True))
        undirected_stop = kind == "stop" and direction not in (*_DIRECTIONS, "both")
        minor = kind == "stop" and tags.get("stop") == "minor"
        return forth * seconds, back * seconds, minor, undirected_stop

    def add_obstacle(self, key: int, obstacle: Obstacle | None) -> None:
        """Add a node that takes time."""
        if obstacle is not None:
            self._obstacles[key] = obstacle

    def add_relation(self, tags: Tags, members: Iterable[tuple[str, str, int]]) -> None:
        """Add a relation that may be a restriction or a manoeuvre."""
        members = tuple(members)
        manoeuvre = read_manoeuvre(tags, members)
        if manoeuvre is not None:
            self._manoeuvres.append(manoeuvre)
            return
        restriction, reason = read_restriction(tags, members, self._rules)
        if restriction is not None:
            self._restrictions.append(restriction)
        elif reason:
            self._count[reason] += 1
        # A relation may have a conditional restriction in addition to an unconditional one.
        if (restriction or reason not in ("", CONDITIONAL)) and any(key in tags for key in self._conditional):
            self._count[CONDITIONAL] += 1
        conditional = read_conditional(tags, members, self._rules)
        if conditional is not None:
            self._at_times.append(conditional)

    def finish(self, closed: npt.NDArray[np.int64]) -> RawTurns:
        """Return all collected data, with the OSM ids of closed roads; see `RawTurns`."""
        ids = sorted(self._obstacles)
        rows = [self._obstacles[key] for key in ids]
        obstacles = Obstacles(
            node=np.array(ids, np.int64),
            seconds=np.array([row[:2] for row in rows], np.float64).reshape(-1, 2),
            minor=np.array([row[2] for row in rows], np.bool_),
            undirected_stop=np.array([row[3] for row in rows], np.bool_),
        )
        return RawTurns(
            obstacles, tuple(self._restrictions), closed, self._count, tuple(self._manoeuvres), tuple(self._at_times)
        )
