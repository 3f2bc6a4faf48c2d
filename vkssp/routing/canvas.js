// What all canvases over a map share; L is Leaflet.
"use strict";

/** Turn latitude, longitude, ... into Web Mercator x, y, ... in place, the width of the world being 1. */
function toMercator(points) {
  for (let i = 0; i < points.length; i += 2) {
    const sine = Math.sin((Math.max(-85.0511287798, Math.min(85.0511287798, points[i])) * Math.PI) / 180);
    points[i] = points[i + 1] / 360 + 0.5;
    points[i + 1] = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
  }
  return points;
}

/**
 * The middle and the angle of a line's straightest stretch of a given length in pixels, null where each is bent or outside.
 *
 * The line is points[first], ..., points[last + 1] by scale, less the origin; `least` is how straight it is at least, up to 1.
 */
function straightest(points, first, last, scale, origin, length, least, inside) {
  const step = (i) => Math.hypot(points[i + 2] - points[i], points[i + 3] - points[i + 1]) * scale;
  let best = null, sum = 0;
  for (let i = first, j = i; i < last; sum -= step(i), i += 2) {
    for (; sum < length && j < last; j += 2) sum += step(j);
    if (sum < length) break;
    const dx = (points[j] - points[i]) * scale, dy = (points[j + 1] - points[i + 1]) * scale, straight = Math.hypot(dx, dy) / sum;
    const x = ((points[i] + points[j]) / 2) * scale - origin.x, y = ((points[i + 1] + points[j + 1]) / 2) * scale - origin.y;
    // The nearly equal are equal: the first of them is taken, and stays when the map moves.
    if (straight > least + 1e-3 && inside(x, y)) {
      best = { x, y, angle: Math.atan(dy / dx) };
      least = straight;
    }
  }
  return best;
}

/** Write a name along a stretch that `straightest` returned. */
function writeAlong(context, name, { x, y, angle }) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.strokeText(name, 0, 0);
  context.fillText(name, 0, 0);
  context.restore();
}

/** A canvas over the map that is redrawn when the map has moved. */
const Canvas = L.Renderer.extend({
  // Canvases that are drawn fast may be drawn while the map moves, too.
  options: { padding: 0.25, pane: "roads", interactive: false, whileMoving: false },

  getEvents() {
    const events = L.Renderer.prototype.getEvents.call(this);
    return this.options.whileMoving ? { ...events, move: this._extend } : events;
  },

  /** Draw again where a drag has brought into view what lies beyond the canvas. */
  _extend() {
    const map = this._map, corner = map.containerPointToLayerPoint([0, 0]);
    if (!this._bounds || map.getZoom() !== this._zoom) return;
    if (!this._bounds.contains(L.bounds(corner, corner.add(map.getSize())))) this._update();
  },

  _initContainer() {
    this._container = document.createElement("canvas");
    this._context = this._container.getContext("2d");
  },

  _destroyContainer() {
    this._container.remove();
    delete this._container;
  },

  _update() {
    if (this._map._animatingZoom && this._bounds) return;
    L.Renderer.prototype._update.call(this);
    const size = this._bounds.getSize(), ratio = window.devicePixelRatio || 1, zoom = this._map.getZoom();
    L.DomUtil.setPosition(this._container, this._bounds.min);
    this._container.width = Math.round(size.x * ratio);
    this._container.height = Math.round(size.y * ratio);
    this._container.style.width = size.x + "px";
    this._container.style.height = size.y + "px";
    this._context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this._scale = 256 * 2 ** zoom;
    this._origin = this._map.getPixelOrigin().add(this._bounds.min);
    this._draw(size, zoom, getComputedStyle(document.documentElement));
    this.fire("update");
  },

  /** Least x and y and greatest x and y of some points, world[start], ..., world[end - 1]. */
  _box(world, start, end) {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = start; i < end; i += 2) {
      box[0] = Math.min(box[0], world[i]);
      box[1] = Math.min(box[1], world[i + 1]);
      box[2] = Math.max(box[2], world[i]);
      box[3] = Math.max(box[3], world[i + 1]);
    }
    return box;
  },

  /** The box of what lies on the canvas, or within a margin of some pixels. */
  _view(size, margin) {
    const scale = this._scale, origin = this._origin;
    const low = [(origin.x - margin) / scale, (origin.y - margin) / scale];
    return [...low, (origin.x + size.x + margin) / scale, (origin.y + size.y + margin) / scale];
  },

  /** Add the points world[start], ..., world[last + 1] to a path, less those that fall on the pixel of the one before. */
  _trace(path, world, start, last) {
    const scale = this._scale, origin = this._origin;
    let x = NaN, y = NaN;
    for (let i = start; i <= last; i += 2) {
      const px = world[i] * scale - origin.x, py = world[i + 1] * scale - origin.y;
      if (i === start) path.moveTo(px, py);
      else if (i === last || Math.abs(px - x) + Math.abs(py - y) > 0.8) path.lineTo(px, py);
      else continue;
      x = px;
      y = py;
    }
  },
});

