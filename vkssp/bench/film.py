"""Film of a search on a map: the colour of a street shows the state of the nodes at its ends.

The colours come from a replay of the search's steps (see `vkssp.bench.replay`), bucket by bucket as in the device's
trace: settled nodes have a distance below the present bucket, near nodes in it, far nodes beyond it. Other nodes have
not been seen yet. At the end a route is drawn, if there is one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.bench.replay import NEVER, Replay
from vkssp.bench.streetmap import BACKGROUND, StreetMap, rgb
from vkssp.errors import QueryError
from vkssp.files import atomic_write
from vkssp.route import Route

#: Formats by the ending of the file name.
FORMATS = {".webp": "WEBP", ".gif": "GIF"}
UNSEEN, FAR, NEAR = "#2d333b", "#f0559a", "#ffd75e"
#: Settled streets, from the source to the farthest node.
SETTLED = ("#3355dd", "#1fa2c4", "#35c9a5")
ROUTE, TEXT, FAINT = "#ffffff", "#e6edf3", "#7d8590"
#: Milliseconds that a frame is shown, and that the last frame is shown.
FRAME_MS, LAST_MS = 60, 2500
#: Number of the frames that draw the route.
_ROUTE_FRAMES = 14
# Width in pixels and brightness of the glow around near streets.
_GLOW, _GLOW_STRENGTH = 5.0, 0.5
# Factor of the brightness of settled streets while the route is drawn.
_BEHIND_ROUTE = 0.55
# Width and height of the legend in pixels, and the factor by which the route is drawn larger than the picture.
_LEGEND = (190, 165)
_FINE = 3


def check_film(path: str | Path) -> None:
    """Raise `QueryError` unless a film of this name can be written."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise QueryError(f"film is {path}; name it .webp, which is smaller, or .gif")
    from PIL import features

    if ending == ".webp" and not features.check("webp"):
        raise QueryError("this Pillow cannot write WebP; name the film .gif, or install another")


class Film:
    """Frames of a search.

    Parameters
    ----------
    streets : StreetMap
        The map.
    replay : Replay
        The search.
    caption : str
        First line of the legend.
    route : Route, optional
        Route to draw at the end. A route without points is not drawn.
    credit : str
        Credit for the data.
    """

    def __init__(
        self, streets: StreetMap, replay: Replay, caption: str, route: Route | None = None, credit: str = ""
    ) -> None:
        self.streets, self.replay, self.caption, self.credit = streets, replay, caption, credit
        self.route = None if route is None or route.points is None else np.stack(streets.place(*route.points.T), axis=1)
        self._corner = self._emptiest_corner()
        reached = replay.settled < NEVER
        shown = replay.distances[streets.visible[reached[streets.visible]]]
        # The 99th percentile, because a few very distant roads would leave all others in one colour.
        far = max(float(np.percentile(shown, 99)), 1.0) if len(shown) else 1.0
        share = np.where(reached, np.minimum(replay.distances / far, 1.0), 0.0)
        stops = np.linspace(0, 1, len(SETTLED))
        table = np.stack([rgb(colour) for colour in SETTLED])
        self._settled = np.stack([np.interp(share, stops, channel) for channel in table.T], axis=1)

    def _emptiest_corner(self) -> tuple[int, int]:
        """Return the corner in which the legend hides the fewest streets."""
        (wide, high), streets = _LEGEND, self.streets
        right, low = max(streets.width - wide, 0), max(streets.height - high, 0)
        dense = streets.density(np.ones(len(self.replay.seen)))
        corners = [(0, low), (0, 0), (right, 0), (right, low)]
        return min(corners, key=lambda at: float(dense[at[1] : at[1] + high, at[0] : at[0] + wide].sum()))

    def frames(self, count: int) -> Iterator[Any]:
        """Yield at most `count` pictures (PIL.Image), until nothing changes any more on the map.

        The pictures are spaced evenly by the mean of the share of steps and the share of nodes that became near. By
        steps alone, the film would spend half its time on a few last roads; by nodes alone, it would skip them.
        """
        visible = self.streets.visible
        near, settled = (np.sort(of[visible][of[visible] < NEVER]) for of in (self.replay.near, self.replay.settled))
        last = int(np.max(settled, initial=0))
        steps = np.arange(last + 1)
        share = (steps / max(last, 1) + np.searchsorted(near, steps, side="right") / max(len(near), 1)) / 2
        drawing = 0 if self.route is None else min(_ROUTE_FRAMES, count // 3)
        wanted = np.linspace(share[0], share[-1], max(count - drawing, 2))
        for moment in np.unique(np.searchsorted(share, wanted)).tolist():
            yield self._picture(moment)
        for number in range(drawing):
            yield self._picture(self.replay.steps, (number + 1) / drawing)

    def _picture(self, moment: int, drawn: float = 0.0) -> Any:
        from PIL import Image
        from scipy import ndimage

        replay = self.replay
        settled, near, far = replay.settled <= moment, replay.near <= moment, replay.seen <= moment
        far &= ~near
        near &= ~settled
        colours = np.tile(rgb(UNSEEN), (len(settled), 1))
        colours[far], colours[near] = rgb(FAR), rgb(NEAR)
        colours[settled] = self._settled[settled] * (_BEHIND_ROUTE if drawn else 1.0)
        pixels = self.streets.paint(colours)
        light = ndimage.gaussian_filter(np.minimum(self.streets.density(near.astype(float)), 1.5), _GLOW)
        pixels = pixels + np.minimum(_GLOW_STRENGTH * light, 0.5)[:, :, None] * (rgb(NEAR) - 0.3 * pixels)
        image = Image.fromarray((255 * np.clip(pixels, 0, 1) + 0.5).astype(np.uint8))
        if self.route is not None:
            self._draw_route(image, drawn)
        self.write_legend(image, moment, [int(np.count_nonzero(state)) for state in (settled, near, far)])
        return image

    def _draw_route(self, image: Any, drawn: float) -> None:
        """Draw the first part of the route and its start, and its end once the route is complete."""
        from PIL import Image, ImageDraw

        assert self.route is not None
        passed = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(self.route, axis=0).T))])
        some = self.route[passed <= drawn * passed[-1]]
        # The route is drawn larger and then reduced, which smooths its edges.
        mask = Image.new("L", (_FINE * image.width, _FINE * image.height))
        draw = ImageDraw.Draw(mask)
        ends = self.route[[0, -1]] if drawn >= 1 else self.route[:1]
        if len(some) > 1:
            draw.line([(x, y) for x, y in _FINE * some], fill=255, width=round(2.6 * _FINE), joint="curve")
        for x, y in _FINE * ends:
            draw.ellipse(_around(x, y, 5 * _FINE), fill=255)
        image.paste(ROUTE, mask=mask.resize(image.size, Image.Resampling.LANCZOS))
        for x, y in ends:
            ImageDraw.Draw(image).ellipse(_around(x, y, 2), fill=BACKGROUND)

    def write_legend(self, image: Any, moment: int, counts: list[int]) -> None:
        """Write the legend and the credit."""
        from PIL import ImageDraw

        draw = ImageDraw.Draw(image)
        x, y = self._corner
        buckets = self.replay.buckets
        bucket = int(np.searchsorted(buckets, moment, side="right"))
        font, bold = _font(14), _font(16, bold=True)
        draw.text((x + 18, y + 16), self.caption, TEXT, bold)
        draw.text((x + 18, y + 40), f"bucket {bucket} of {len(buckets)}", FAINT, font)
        rows = zip(("settled", "near", "far"), (SETTLED[1], NEAR, FAR), counts, strict=True)
        for row, (name, colour, number) in enumerate(rows):
            line = y + 70 + 22 * row
            draw.rounded_rectangle((x + 18, line + 3, x + 30, line + 15), 3, fill=colour)
            draw.text((x + 38, line), name, TEXT, font)
            draw.text((x + 168, line), f"{number:,}", TEXT, font, anchor="ra")
        draw.text((image.width - 8, image.height - 7), self.credit, FAINT, _font(11), anchor="rs")


def write_film(path: str | Path, frames: Iterator[Any]) -> None:
    """Write a film that loops and rests on its last picture; the file appears when it is complete.

    Parameters
    ----------
    path : str or Path
        The file; its name ends in .webp or .gif.
    frames : iterator of PIL.Image
        At least one picture.
    """
    check_film(path)
    pictures = list(frames)
    kind = FORMATS[Path(path).suffix.lower()]
    # Without key frames in between, the file is half as large.
    options: dict[str, Any] = {"quality": 70, "method": 4, "minimize_size": True}
    if kind == "GIF":
        # All pictures share the palette of the middle one. Dithering would flicker.
        palette = pictures[len(pictures) // 2].quantize(256)
        pictures = [picture.quantize(palette=palette, dither=0) for picture in pictures]
        options = {"optimize": False}
    durations = [FRAME_MS] * (len(pictures) - 1) + [LAST_MS]
    with atomic_write(path) as stream:
        pictures[0].save(stream, kind, save_all=True, append_images=pictures[1:], duration=durations, loop=0, **options)


def _around(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius


@functools.cache
def _font(size: int, bold: bool = False) -> Any:
    """Return the font that is part of matplotlib."""
    from matplotlib import font_manager
    from PIL import ImageFont

    properties = font_manager.FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    return ImageFont.truetype(font_manager.findfont(properties), size)
