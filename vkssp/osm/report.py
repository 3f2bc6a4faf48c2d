"""Report of an import: what was found, used and left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from time import perf_counter, process_time
from typing import Any

from vkssp.terminal import printable

# Most names that are listed, those with the largest counts.
_LISTED = 8


@dataclass
class ImportReport:
    """Counts of an import, for people (`lines`) and programs (`as_dict`).

    Attributes
    ----------
    source : str
        The file.
    profile : str
        The profile's name or the path of its file.
    ways_read : int
        Ways with a key that the profile gives speeds for, or with ``highway`` or ``route``.
    ways_used : int
        Ways in the graph.
    ways_skipped : dict of str to int
        Ways left out, by reason.
    nodes, arcs, polylines : int
        Size of the graph. Nodes in areas that serve only the ends of a trip count more than once.
    points : int
        Points of the polylines, including their ends.
    kilometres : float
        Length of the streets, each counted once.
    restricted : int
        Polylines that serve only the ends of a trip in at least one direction.
    unsnapped : int
        Polylines on which the profile lets no trip begin or end.
    open_areas : int
        Areas that are crossed in straight lines.
    barriers : int
        Nodes that cut a street.
    missing_nodes : int
        Nodes that the file's ways name but the file does not hold, or holds at impossible coordinates; ways are split
        there.
    repeated_nodes : int
        Nodes that a way names twice in succession; one of the two was left out.
    nonsense : dict of str to int
        Tags whose values were not understood, by key. These tags count as absent; for access tags,
        `AccessRules.others` of the profile decides.
    turns : str
        What the graph holds about turns: "none", "restrictions" or "costs".
    restrictions : dict of str to int
        Turn restrictions that are obeyed, and those that are not, by reason.
    broken_restrictions : dict of str to int
        Turn restrictions that make no sense, by reason.
    seconds : float
        Duration of the import.
    stages : dict of str to float
        Duration of each stage in seconds.
    processor : dict of str to float
        Seconds of processor time that all threads of the program took in each stage.
    """

    source: str
    profile: str
    ways_read: int = 0
    ways_used: int = 0
    ways_skipped: dict[str, int] = field(default_factory=dict)
    nodes: int = 0
    arcs: int = 0
    polylines: int = 0
    points: int = 0
    kilometres: float = 0.0
    restricted: int = 0
    unsnapped: int = 0
    open_areas: int = 0
    barriers: int = 0
    missing_nodes: int = 0
    repeated_nodes: int = 0
    nonsense: dict[str, int] = field(default_factory=dict)
    turns: str = "none"
    restrictions: dict[str, int] = field(default_factory=dict)
    broken_restrictions: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin the first stage."""
        self._since = perf_counter(), process_time()

    def end_stage(self, name: str) -> None:
        """End a stage, and begin the next one; stages of the same name are added up."""
        before, self._since = self._since, (perf_counter(), process_time())
        for times, begin, end in zip((self.stages, self.processor), before, self._since, strict=True):
            times[name] = times.get(name, 0.0) + end - begin

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the report as lines for people."""
        lines = [
            f"{self.nodes:,} nodes and {self.arcs:,} arcs for profile {self.profile!r} in {self.seconds:.1f} s",
            f"{self.kilometres:,.0f} km of streets: {self.ways_used:,} of {self.ways_read:,} ways, "
            f"{self.polylines:,} polylines with {self.points:,} points",
        ]
        if self.ways_skipped:
            lines.append(f"left out: {_listed(self.ways_skipped)}")
        if self.barriers or self.restricted:
            lines.append(
                f"{self.barriers:,} barriers cut a street; {self.restricted:,} polylines serve only the ends of a trip"
            )
        if self.open_areas:
            lines.append(f"{self.open_areas:,} open areas are crossed in straight lines")
        if self.unsnapped:
            lines.append(f"no trip begins or ends on {self.unsnapped:,} polylines")
        if self.missing_nodes or self.repeated_nodes:
            lines.append(f"{self.missing_nodes:,} nodes missing, {self.repeated_nodes:,} repeated")
        if self.restrictions:
            lines.append(f"turn restrictions: {_listed(self.restrictions)}")
        if self.broken_restrictions:
            lines.append(f"broken turn restrictions: {_listed(self.broken_restrictions)}")
        if self.nonsense:
            lines.append(f"not understood: {_listed(self.nonsense)}")
        return lines

    def __str__(self) -> str:
        """Return the lines as one text; characters that cannot be printed are escaped, so no key can fake a line."""
        return "\n".join(map(printable, self.lines()))


def _listed(counts: dict[str, int]) -> str:
    items = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} {count:,}" for name, count in items[:_LISTED])
    return text + (f" and {len(items) - _LISTED} more" if len(items) > _LISTED else "")
