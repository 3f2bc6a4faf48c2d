#!/usr/bin/env python3
"""Draw docs/layers.svg: the layers of the package, from the import contracts in pyproject.toml.

python scripts/draw_layers.py     # after a change of the contracts
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "layers.svg"
#: Pixels: width of the picture, height of a box, distance between boxes, and between layers.
WIDTH, HEIGHT, GAP, RISE = 720, 26, 6, 12
BOX = '<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height}" rx="5" fill="{fill}" stroke="{line}"/>'
TEXT = '<text x="{x:g}" y="{y:g}" text-anchor="middle">{text}</text>'


def layers() -> list[list[str]]:
    """Return the modules of each layer, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [[name.strip() for name in row.replace("|", ":").split(":")] for row in contract["layers"]]


def picture() -> str:
    """Return the SVG."""
    rows = layers()
    high = len(rows) * (HEIGHT + RISE) + RISE
    folders = {path.name for path in (ROOT / "vkssp").iterdir() if path.is_dir()}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}"'
        ' font-family="sans-serif" font-size="13" fill="#1f2933">',
        "<title>Layers of the package vkssp; imports point down</title>",
        f'<rect width="{WIDTH}" height="{high}" rx="8" fill="#ffffff"/>',
    ]
    for number, names in enumerate(rows):
        y = RISE + number * (HEIGHT + RISE)
        width = (WIDTH - 2 * RISE - (len(names) - 1) * GAP) / len(names)
        for column, name in enumerate(names):
            x = RISE + column * (width + GAP)
            is_folder = name in folders
            fill, line = ("#dbeafe", "#3b6fb6") if is_folder else ("#f1f3f5", "#8a94a0")
            lines.append(BOX.format(x=x, y=y, width=round(width, 2), height=HEIGHT, fill=fill, line=line))
            label = escape(f"{name}/" if is_folder else name)
            lines.append(TEXT.format(x=round(x + width / 2, 2), y=y + HEIGHT / 2 + 4.5, text=label))
        if number:
            tip = y - 2
            lines.append(f'<path d="M{WIDTH / 2 - 5:g} {tip - 7} h10 l-5 7 z" fill="#8a94a0"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
