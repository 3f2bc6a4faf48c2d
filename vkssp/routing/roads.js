// The roads of a map page, with what decode.js and canvas.js define; L is Leaflet.
"use strict";

/** The roads and the route, drawn on one canvas. */
const Roads = Canvas.extend({
  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    const counts = decode(payload.counts);
    this._labels = decode(payload.labels);
    this._names = payload.names;
    this._classes = payload.classes;
    this._first = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) this._first[i + 1] = this._first[i] + counts[i];
    // Typed arrays instead of Leaflet's objects: a country has some hundred thousand points.
    const world = (this._world = toMercator(decodePoints(payload.points, payload.scale)));
    this._route = toMercator(decodePoints(payload.route || "", payload.scale));
    const boxes = (this._boxes = new Float64Array(4 * counts.length));
    const all = [Infinity, Infinity, -Infinity, -Infinity];
    for (let line = 0; line < counts.length; line++) {
      const box = this._box(world, 2 * this._first[line], 2 * this._first[line + 1]);
      boxes.set(box, 4 * line);
      for (let k = 0; k < 4; k++) all[k] = k < 2 ? Math.min(all[k], box[k]) : Math.max(all[k], box[k]);
    }
    this._extent = counts.length ? all : null;
  },

  /** The bounds of all roads, or null where there are none. */
  getBounds() {
    if (!this._extent) return null;
    const corner = (x, y) => L.CRS.EPSG3857.pointToLatLng(L.point(x, y), Math.log2(1 / 256));
    return L.latLngBounds(corner(this._extent[0], this._extent[3]), corner(this._extent[2], this._extent[1]));
  },

  _width(speedClass, zoom) {
    const least = [0.35, 0.55, 1.0, 1.3, 1.8], middle = [1.1, 3.2, 4.6, 5.6, 7];
    return Math.max(least[speedClass], middle[speedClass] * 2 ** ((zoom - 14) * 0.5));
  },

  _draw(size, zoom, style) {
    const context = this._context;
    const stroke = (path, colour, width) => {
      context.strokeStyle = style.getPropertyValue(colour);
      context.lineWidth = width;
      context.stroke(path);
    };
    context.lineCap = context.lineJoin = "round";
    this._drawRoads(size, zoom, stroke, style);
    const route = new Path2D(), bold = Math.max(4, Math.min(9, 4.5 * 2 ** ((zoom - 13) * 0.25)));
    this._trace(route, this._route, 0, this._route.length - 2);
    for (const [colour, extra] of [["--halo", 5.5], ["--rim", 2], ["--route", 0]]) stroke(route, colour, bold + extra);
    if (zoom >= 13) this._write(size, zoom, style);
  },

  _drawRoads(size, zoom, stroke) {
    const paths = this._classes.map(() => new Path2D()), widths = paths.map((_, speedClass) => this._width(speedClass, zoom));
    this._each(size, (line, speedClass) => {
      this._trace(paths[speedClass], this._world, 2 * this._first[line], 2 * this._first[line + 1] - 2);
    });
    // Every rim comes before every surface, so that roads that meet are open to each other.
    paths.forEach((path, c) => {
      if (c > 0 && widths[c] > 2.6) stroke(path, "--case" + c, widths[c] + 1.6);
    });
    paths.forEach((path, c) => stroke(path, (widths[c] > 2.6 ? "--fill" : "--thin") + c, widths[c]));
  },

  /** Write street names where there is room: beside the route and each other, and not the same name twice in a place. */
  _write(size, zoom, style) {
    const context = this._context, scale = this._scale, origin = this._origin;
    const taken = new Set(), written = [];
    const cell = (x, y) => (Math.floor(x / 14) + 512) * 65536 + Math.floor(y / 14) + 512;
    const inside = (x, y) => x > 0 && y > 0 && x < size.x && y < size.y;
    const pixel = (points, i) => [points[i] * scale - origin.x, points[i + 1] * scale - origin.y];
    for (let i = 0; i + 2 < this._route.length; i += 2) {
      const [x, y] = pixel(this._route, i), [u, v] = pixel(this._route, i + 2), steps = Math.ceil(Math.hypot(u - x, v - y) / 7);
      for (let k = 0; k <= steps; k++) {
        const a = x + ((u - x) * k) / (steps || 1), b = y + ((v - y) * k) / (steps || 1);
        if (inside(a, b)) taken.add(cell(a, b));
      }
    }
    for (const { left, top, right, bottom } of this.places ? this.places.placed(size, zoom, scale, origin) : []) {
      for (let x = left; x < right + 14; x += 14) for (let y = top; y < bottom + 14; y += 14) taken.add(cell(x, y));
    }
    // Faster streets come first, and among them longer ones.
    const streets = [], boxes = this._boxes;
    let line = 0;
    this._classes.forEach((count, speedClass) => {
      for (const end = line + count; line < end; line++) {
        if (!this._labels[line] || zoom < 16 - 0.75 * speedClass) continue;
        const [left, top, right, bottom] = boxes.subarray(4 * line, 4 * line + 4).map((x) => x * scale);
        if (left > origin.x + size.x || top > origin.y + size.y || right < origin.x || bottom < origin.y) continue;
        const extent = Math.max(right - left, bottom - top);
        if (extent > 25) streets.push({ line, rank: speedClass * 150 + Math.min(extent, 600) });
      }
    });
    context.font = "500 11.5px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.strokeStyle = style.getPropertyValue("--land");
    context.fillStyle = style.getPropertyValue("--label");
    for (const { line } of streets.sort((a, b) => b.rank - a.rank)) {
      const name = this._names[this._labels[line]], half = context.measureText(name).width / 2 + 6;
      const first = 2 * this._first[line], last = 2 * this._first[line + 1] - 2;
      const stretch = straightest(this._world, first, last, scale, origin, 2 * half, 0.97, inside);
      if (!stretch) continue;
      const { x, y, angle } = stretch;
      if (written.some((w) => w.name === name && Math.hypot(w.x - x, w.y - y) < 320)) continue;
      const cells = [];
      for (let t = -half; t <= half; t += 7) cells.push([x + t * Math.cos(angle), y + t * Math.sin(angle)]);
      if (cells.some((at) => taken.has(cell(...at)))) continue;
      for (const at of cells) for (const d of [-14, 0, 14]) for (const e of [-14, 0, 14]) taken.add(cell(at[0] + d, at[1] + e));
      written.push({ name, x, y });
      writeAlong(context, name, stretch);
    }
  },

  /** Call a function with each line that lies on the canvas, and its class; another with those that are but dots. */
  _each(size, call, callWithDot) {
    const boxes = this._boxes, view = this._view(size, 20);
    let line = 0;
    this._classes.forEach((count, speedClass) => {
      for (const end = line + count; line < end; line++) {
        const b = 4 * line;
        if (boxes[b] > view[2] || boxes[b + 1] > view[3] || boxes[b + 2] < view[0] || boxes[b + 3] < view[1]) continue;
        // Where a minor street is but a dot, its neighbourhood would be a blot.
        if (speedClass > 1 || (boxes[b + 2] - boxes[b] + boxes[b + 3] - boxes[b + 1]) * this._scale >= 1) call(line, speedClass);
        else if (callWithDot) callWithDot(line);
      }
    });
  },

  /** The line nearest to a place, the number of the point before, and the share of the way to the next; or null. */
  _nearest(latlng) {
    const scale = 256 * 2 ** this._map.getZoom(), at = this._map.project(latlng), boxes = this._boxes;
    const x = at.x / scale, y = at.y / scale, world = this._world;
    let best = 8 / scale, found = null;
    for (let line = 0; line < this._labels.length; line++) {
      const b = 4 * line;
      if (x < boxes[b] - best || y < boxes[b + 1] - best || x > boxes[b + 2] + best || y > boxes[b + 3] + best) continue;
      for (let i = 2 * this._first[line]; i < 2 * this._first[line + 1] - 2; i += 2) {
        const dx = world[i + 2] - world[i], dy = world[i + 3] - world[i + 1], square = dx * dx + dy * dy;
        const share = square ? Math.max(0, Math.min(1, ((x - world[i]) * dx + (y - world[i + 1]) * dy) / square)) : 0;
        const distance = Math.hypot(world[i] + share * dx - x, world[i + 1] + share * dy - y);
        if (distance < best) {
          best = distance;
          found = { line, point: i / 2, share };
        }
      }
    }
    return found;
  },

  /** The name of the street nearest to a place, "" where it has none or none is near. */
  nameAt(latlng) {
    const found = this._nearest(latlng);
    return found ? this._names[this._labels[found.line]] : "";
  },
});
