"""Drawings of features as HTML, for notebooks: shapes to scale, with a scale bar and a legend.

A drawing is an inline SVG of some kilobytes. It has no script, no style sheet and no address in it, so that it shows
in any notebook, without a connection and also where scripts of notebooks that are not trusted are blocked, and a
notebook may have many of them. Pages with streets to zoom into are made by `vkssp.routing.map`.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vkssp.features.classes import MOST_CLASSES, Floats, Ints, classes_of
from vkssp.features.columns import plain
from vkssp.features.quantities import format_distance
from vkssp.features.shapes import Shapes
from vkssp.graph.geo import METRES_PER_DEGREE

if TYPE_CHECKING:
    from vkssp.features.features import Features

# Pixels: the largest drawing, and its margin. Coordinates are tenths of pixels.
_WIDTH, _HEIGHT, _MARGIN, _TENTHS = 600, 400, 10, 10
# Most shapes, and most of their points after simplification; drawings of more have a part of the shapes.
_MOST_SHAPES, _MOST_POINTS = 20_000, 60_000
# Lines and points are wide if there are at most so many shapes.
_FEW = 500
# The least extent of a drawing in degrees, about ten metres.
_LEAST = 1e-4
# Simplification in tenths of pixels.
_TOLERANCE = 3.0
# Colours of points, lines and areas without classes.
_PLAIN = ("#c8322d", "#2a6fdb", "#2a6fdb")
_NONE = "#999999"
# Colours of classes from the least values to the greatest (viridis).
_COLOURS = ("#440154", "#46327e", "#375b8d", "#277e8e", "#1fa188", "#48c16e", "#9bd93c")
_COLOUR = re.compile("#[0-9a-f]{6}")
# Columns of colours, of texts that name classes, and of names of features, which are not drawn as values; most colours
# of the former that are explained.
_STROKE, _LABELS = "stroke", ("label", "role")
_MOST_LABELS = 12
_NAMES = ("id", "node", "osm_node", "arc", "tail", "head", "way", "street", "leg")


class _Group(NamedTuple):
    """Shapes of one layer, class and dimension (0 points, 1 lines, 2 areas), their colour, and what it means."""

    layer: int
    number: int
    dimension: int
    colour: str
    label: str
    shapes: Shapes


def drawing(layers: Sequence[Features], caption: str) -> str | None:
    """Return a drawing of features as HTML.

    The colours are those of a column ``stroke``; or each text of a column ``label`` or ``role`` has one; or classes of
    the values of the last column have one each, if it holds numbers.

    Parameters
    ----------
    layers : sequence of Features
        The features, the lowest layer first.
    caption : str
        The line above the drawing.

    Returns
    -------
    str or None
        The HTML; None if nothing has a shape.
    """
    import shapely

    groups = [group for number, layer in enumerate(layers) for group in _groups(number, layer)]
    groups.sort(key=lambda group: -group.dimension)
    every = np.concatenate([group.shapes for group in groups]) if groups else np.zeros(0, object)
    if not len(every):
        return None
    step = -(-len(every) // _MOST_SHAPES)
    frame = _Frame.around(every)
    groups = [group._replace(shapes=frame.on_paper(group.shapes[::step])) for group in groups]
    points = sum(int(shapely.get_num_coordinates(group.shapes).sum()) for group in groups)
    if points > _MOST_POINTS:
        coarser = -(-points // _MOST_POINTS)
        groups, step = [group._replace(shapes=group.shapes[::coarser]) for group in groups], step * coarser
    width, height = frame.size
    parts = [
        '<div style="max-width:100%">',
        f"<div>{html.escape(caption)}</div>",
        f'<svg role="img" aria-label="{html.escape(caption)}" xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width * _TENTHS} {height * _TENTHS}" style="max-width:100%;height:auto">',
        *(path for group in groups for path in _paths(group, wide=len(every) <= _FEW)),
        frame.scale_bar(),
        "</svg>",
        _legend(groups),
        f"<div>One in {step:,} of {len(every):,} shapes is drawn.</div>" if step > 1 else "",
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def _groups(layer_number: int, layer: Features) -> Iterator[_Group]:
    """Yield the shapes of features by dimension and colour: large areas before small ones, low values before high."""
    import shapely

    if layer.shapes is None:
        return
    number, colours, labels = _classes(layer)
    dimension = np.where(shapely.is_empty(layer.shapes), -1, shapely.get_dimensions(layer.shapes))  # None has -1, too
    for kind in (2, 1, 0):
        found = [
            _Group(layer_number, at, kind, colour or _PLAIN[kind], label, layer.shapes[chosen])
            for at, (colour, label) in enumerate(zip(colours, labels, strict=True))
            if (chosen := (dimension == kind) & (number == at)).any()
        ]
        yield from sorted(found, key=lambda group: -shapely.area(group.shapes).sum()) if kind == 2 else found


def _classes(layer: Features) -> tuple[Ints, list[str], list[str]]:
    """Return the class of each feature, and the colour (empty for the usual one) and the label of each class."""
    columns = layer.columns
    if _STROKE in columns and all(map(_COLOUR.fullmatch, map(str, columns[_STROKE]))):
        colours, number, first = _different(columns[_STROKE])
        has_labels = "source" in columns and len(colours) <= _MOST_LABELS
        return number, colours, [str(columns["source"][at]) if has_labels else "" for at in first]
    for name in _LABELS:
        if name in columns:
            labels, number, _ = _different(columns[name])
            spread = np.linspace(0, MOST_CLASSES - 1, len(labels)).round().astype(int)
            return number, [_COLOURS[at] for at in spread] if len(labels) > 1 else [""], labels
    last = next(reversed(list(columns)), "")
    numbers = plain(columns[last]) if last and last not in _NAMES else None
    if numbers is not None and numbers.kind in ("int", "float"):
        values: Floats = numbers.values.astype(np.float64)
        if numbers.missing is not None:
            values[numbers.missing] = np.nan
        if len(np.unique(values[np.isfinite(values)])) > 1:
            classes = classes_of(values)
            labels = [f"{last}: {label}" if at == 0 else label for at, label in enumerate(classes.labels())]
            colours = [_NONE, *(_COLOURS[at] for at in classes.colours)]
            return classes.numbers(values) + 1, colours, ["none", *labels]
    return np.zeros(len(layer), np.int64), [""], [""]


def _different(column: Any) -> tuple[list[str], Ints, list[int]]:
    """Return the different texts of a column as they appear, the number of each row's, and the first row of each."""
    texts = list(map(str, column))
    first = {text: row for row, text in reversed(list(enumerate(texts)))}
    found = sorted(first, key=first.__getitem__)
    numbers = {text: at for at, text in enumerate(found)}
    return found, np.array([numbers[text] for text in texts], np.int64), [first[text] for text in found]


class _Frame(NamedTuple):
    """Projection of a part of the Earth onto a drawing; longitudes from `west` on, which may exceed 180 degrees."""

    west: float
    north: float
    narrowing: float
    scale: float
    size: tuple[int, int]

    @classmethod
    def around(cls, shapes: Shapes) -> _Frame:
        """Return the projection that shows shapes, equirectangular with true lengths in the middle."""
        import shapely

        lon, lat = shapely.get_coordinates(shapes).T
        turned = np.where(lon < 0, lon + 360.0, lon)  # one piece for what lies on both sides of the 180th meridian
        lon = turned if np.ptp(turned) < np.ptp(lon) else lon
        south, north, west = float(lat.min()), float(lat.max()), float(lon.min())
        narrowing = max(0.01, math.cos(math.radians((south + north) / 2)))
        across, down = max(np.ptp(lon) * narrowing, _LEAST), max(north - south, _LEAST)
        scale = min((_WIDTH - 2 * _MARGIN) / across, (_HEIGHT - 4 * _MARGIN) / down)  # pixels for a degree of latitude
        width = max(200, math.ceil(across * scale) + 2 * _MARGIN)
        return cls(west, north, narrowing, scale, (width, math.ceil(down * scale) + 4 * _MARGIN))

    def on_paper(self, shapes: Shapes) -> Shapes:
        """Return shapes in tenths of pixels, whole numbers, with fewer points where the difference is not seen."""
        import shapely

        def projected(points: Floats) -> Floats:
            lon = np.where(points[:, 0] < self.west, points[:, 0] + 360.0, points[:, 0])
            x, y = (lon - self.west) * self.narrowing, self.north - points[:, 1]
            return np.stack([x, y], axis=1) * (self.scale * _TENTHS) + _MARGIN * _TENTHS

        simple: Shapes = shapely.simplify(shapely.transform(shapes, projected), _TOLERANCE, preserve_topology=False)
        return simple

    def scale_bar(self) -> str:
        """Return a bar with its length: the longest of 1, 2 or 5 times a power of ten in a third of the drawing."""
        width, height = self.size
        metres_per_pixel = METRES_PER_DEGREE / self.scale
        longest = (width - 2 * _MARGIN) / 3 * metres_per_pixel
        power = 10.0 ** math.floor(math.log10(longest))
        metres = max(power * factor for factor in (1, 2, 5) if power * factor <= longest)
        x, y, along = _MARGIN * _TENTHS, (height - _MARGIN) * _TENTHS, round(metres / metres_per_pixel * _TENTHS)
        return (
            f'<path d="M{x} {y - 40}v40h{along}v-40" fill="none" stroke="currentColor" stroke-width="15"/>'
            f'<text x="{x + along + 60}" y="{y}" font-size="120" fill="currentColor" font-family="sans-serif">'
            f"{format_distance(metres).replace('.0 km', ' km')}</text>"
        )


def _paths(group: _Group, *, wide: bool) -> Iterator[str]:
    """Yield the paths that draw a group; points are strokes of no length with round ends."""
    import shapely

    title = f"<title>{html.escape(group.label)}</title>" if group.label else ""
    if group.dimension == 0:
        dots = "".join(f"M{x} {y}h0" for x, y in shapely.get_coordinates(group.shapes).round().astype(int).tolist())
        for colour, width in (("#fff", 110 if wide else 0), (group.colour, 80 if wide else 30)):
            if width:
                yield f'<path d="{dots}" stroke="{colour}" stroke-width="{width}" stroke-linecap="round">{title}</path>'
        return
    parts = shapely.get_parts(group.shapes)
    if group.dimension == 2:
        parts = shapely.get_rings(parts[shapely.get_type_id(parts) == 3])
    text = "".join(map(_line, parts)) if len(parts) else ""
    fill = f'fill="{group.colour}" fill-opacity="0.5" fill-rule="evenodd"' if group.dimension == 2 else 'fill="none"'
    width = 8 if group.dimension == 2 else 25 if wide else 12
    stroke = f'stroke="{group.colour}" stroke-width="{width}" stroke-linejoin="round"'
    yield f'<path d="{text}" {fill} {stroke}>{title}</path>'


def _line(shape: Any) -> str:
    """Return a line as commands of a path: its first point, and the differences between points."""
    import shapely

    points = shapely.get_coordinates(shape).round().astype(int)
    steps = np.diff(points, axis=0)
    steps = steps[steps.any(axis=1)]
    x, y = points[0].tolist()
    return f"M{x} {y}" + ("l" + " ".join(f"{dx} {dy}" for dx, dy in steps.tolist()) if len(steps) else "h0")


def _legend(groups: Sequence[_Group]) -> str:
    """Return the colours with their labels, each once, by layer, the highest first, and class."""
    ordered = sorted(groups, key=lambda group: (-group.layer, group.number))
    told = {(group.colour, group.label): None for group in ordered if group.label}
    entries = (
        f'<span style="white-space:nowrap;margin-right:1em"><span style="color:{colour}">&#9632;</span> '
        f"{html.escape(label)}</span>"
        for colour, label in told
    )
    return f"<div>{' '.join(entries)}</div>" if told else ""
