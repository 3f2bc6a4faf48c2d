// The map of the page that map.py writes: decode() and decodePoints() stand in map.html, L is Leaflet.
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

/** The roads and the route, drawn on one canvas that is redrawn when the map has moved. */
const Roads = L.Renderer.extend({
  options: { padding: 0.25, pane: "roads", interactive: false },

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
      const box = [Infinity, Infinity, -Infinity, -Infinity];
      for (let i = 2 * this._first[line]; i < 2 * this._first[line + 1]; i += 2) {
        box[0] = Math.min(box[0], world[i]);
        box[1] = Math.min(box[1], world[i + 1]);
        box[2] = Math.max(box[2], world[i]);
        box[3] = Math.max(box[3], world[i + 1]);
      }
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

  _initContainer() {
    this._container = document.createElement("canvas");
    this._context = this._container.getContext("2d");
  },

  _destroyContainer() {
    this._container.remove();
    delete this._container;
  },

  _width(speedClass, zoom) {
    const least = [0.35, 0.55, 1.0, 1.3, 1.8], middle = [1.1, 3.2, 4.6, 5.6, 7];
    return Math.max(least[speedClass], middle[speedClass] * 2 ** ((zoom - 14) * 0.5));
  },

  _update() {
    if (this._map._animatingZoom && this._bounds) return;
    L.Renderer.prototype._update.call(this);
    const size = this._bounds.getSize(), ratio = window.devicePixelRatio || 1;
    L.DomUtil.setPosition(this._container, this._bounds.min);
    this._container.width = Math.round(size.x * ratio);
    this._container.height = Math.round(size.y * ratio);
    this._container.style.width = size.x + "px";
    this._container.style.height = size.y + "px";
    this._context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this._draw(size);
    this.fire("update");
  },

  _draw(size) {
    const context = this._context, zoom = this._map.getZoom(), style = getComputedStyle(document.documentElement);
    this._scale = 256 * 2 ** zoom;
    this._origin = this._map.getPixelOrigin().add(this._bounds.min);
    const paths = this._paths(size);
    const stroke = (path, colour, width) => {
      context.strokeStyle = style.getPropertyValue(colour);
      context.lineWidth = width;
      context.stroke(path);
    };
    context.lineCap = context.lineJoin = "round";
    const widths = paths.map((_, speedClass) => this._width(speedClass, zoom));
    // Every rim comes before every surface, so that roads that meet are open to each other.
    paths.forEach((path, c) => {
      if (c > 0 && widths[c] > 2.6) stroke(path, "--case" + c, widths[c] + 1.6);
    });
    paths.forEach((path, c) => stroke(path, (widths[c] > 2.6 ? "--fill" : "--thin") + c, widths[c]));
    const route = new Path2D(), bold = Math.max(4, Math.min(9, 4.5 * 2 ** ((zoom - 13) * 0.25)));
    this._trace(route, this._route, 0, this._route.length - 2);
    for (const [colour, extra] of [["--halo", 5.5], ["--rim", 2], ["--route", 0]]) stroke(route, colour, bold + extra);
    if (zoom >= 13) this._write(size, zoom, style);
  },

  /** The middle and the angle of a street's straightest stretch of a given length, null where each is bent or outside. */
  _straightest(line, length, inside) {
    const world = this._world, scale = this._scale, origin = this._origin, last = 2 * this._first[line + 1] - 2;
    const step = (i) => Math.hypot(world[i + 2] - world[i], world[i + 3] - world[i + 1]) * scale;
    let best = null, least = 0.97, sum = 0;
    for (let i = 2 * this._first[line], j = i; i < last; sum -= step(i), i += 2) {
      for (; sum < length && j < last; j += 2) sum += step(j);
      if (sum < length) break;
      const dx = (world[j] - world[i]) * scale, dy = (world[j + 1] - world[i + 1]) * scale, straight = Math.hypot(dx, dy) / sum;
      const mx = ((world[i] + world[j]) / 2) * scale - origin.x, my = ((world[i + 1] + world[j + 1]) / 2) * scale - origin.y;
      // The nearly equal are equal: the first of them is taken, and stays when the map moves.
      if (straight > least + 1e-3 && inside(mx, my)) {
        best = { mx, my, angle: Math.atan(dy / dx) };
        least = straight;
      }
    }
    return best;
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
      const stretch = this._straightest(line, 2 * half, inside);
      if (!stretch) continue;
      const { mx, my, angle } = stretch;
      if (written.some((w) => w.name === name && Math.hypot(w.mx - mx, w.my - my) < 320)) continue;
      const cells = [];
      for (let t = -half; t <= half; t += 7) cells.push([mx + t * Math.cos(angle), my + t * Math.sin(angle)]);
      if (cells.some(([x, y]) => taken.has(cell(x, y)))) continue;
      for (const [x, y] of cells) for (const d of [-14, 0, 14]) for (const e of [-14, 0, 14]) taken.add(cell(x + d, y + e));
      written.push({ name, mx, my });
      context.save();
      context.translate(mx, my);
      context.rotate(angle);
      context.strokeText(name, 0, 0);
      context.fillText(name, 0, 0);
      context.restore();
    }
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

  /** One path per class, of what lies inside the canvas. */
  _paths(size) {
    const boxes = this._boxes, scale = this._scale, origin = this._origin, margin = 20;
    const low = [(origin.x - margin) / scale, (origin.y - margin) / scale];
    const high = [(origin.x + size.x + margin) / scale, (origin.y + size.y + margin) / scale];
    let line = 0;
    return this._classes.map((count, speedClass) => {
      const path = new Path2D();
      for (const end = line + count; line < end; line++) {
        const b = 4 * line;
        if (boxes[b] > high[0] || boxes[b + 1] > high[1] || boxes[b + 2] < low[0] || boxes[b + 3] < low[1]) continue;
        // Where a minor street is but a dot, its neighbourhood would be a blot.
        if (speedClass < 2 && (boxes[b + 2] - boxes[b] + boxes[b + 3] - boxes[b + 1]) * scale < 1) continue;
        this._trace(path, this._world, 2 * this._first[line], 2 * this._first[line + 1] - 2);
      }
      return path;
    });
  },

  /** The name of the street nearest to a place, "" where it has none or none is near. */
  nameAt(latlng) {
    const scale = 256 * 2 ** this._map.getZoom(), at = this._map.project(latlng), boxes = this._boxes;
    const x = at.x / scale, y = at.y / scale, world = this._world;
    let best = 8 / scale, label = 0;
    for (let line = 0; line < this._labels.length; line++) {
      const b = 4 * line;
      if (x < boxes[b] - best || y < boxes[b + 1] - best || x > boxes[b + 2] + best || y > boxes[b + 3] + best) continue;
      for (let i = 2 * this._first[line]; i < 2 * this._first[line + 1] - 2; i += 2) {
        const dx = world[i + 2] - world[i], dy = world[i + 3] - world[i + 1], square = dx * dx + dy * dy;
        const share = square ? Math.max(0, Math.min(1, ((x - world[i]) * dx + (y - world[i + 1]) * dy) / square)) : 0;
        const distance = Math.hypot(world[i] + share * dx - x, world[i + 1] + share * dy - y);
        if (distance < best) {
          best = distance;
          label = this._labels[line];
        }
      }
    }
    return this._names[label];
  },
});

const payload = JSON.parse(document.getElementById("payload").textContent);
const map = L.map("map", { zoomSnap: 0.25, zoomDelta: 0.5, maxZoom: 19, zoomControl: false, attributionControl: false });
map.createPane("roads").style.zIndex = 200;
const roads = new Roads(payload);

/** Pairs of latitude and longitude from their encoded differences. */
function pairs(text) {
  const flat = decodePoints(text, payload.scale), result = [];
  for (let i = 0; i < flat.length; i += 2) result.push([flat[i], flat[i + 1]]);
  return result;
}

const bounds = L.latLngBounds(payload.ends.map((end) => end.at));
for (const point of pairs(payload.route || "")) bounds.extend(point);
map.createPane("areas").style.zIndex = 300;
for (const area of payload.areas || []) {
  const points = pairs(area.points), sizes = decode(area.rings), polygons = [];
  let ring = 0, at = 0;
  for (const count of decode(area.polygons)) {
    const rings = [];
    for (let k = 0; k < count; k++) rings.push(points.slice(at, (at += sizes[ring++])));
    polygons.push(rings);
  }
  for (const point of points) bounds.extend(point);
  const style = { pane: "areas", interactive: false, color: area.colour, weight: 1, fillOpacity: 0.35 };
  L.polygon(polygons, style).addTo(map);
}
const whole = roads.getBounds(), panel = document.getElementById("panel");
function fit() {
  const box = panel.getBoundingClientRect(), wide = map.getSize().x > 640;
  const beside = box.left > 0 && map.getSize().x > 2 * box.right ? box.right : 0, edge = wide ? 40 : 26;
  // A pin stands 40 pixels above its place.
  const options = { paddingTopLeft: [beside + edge, edge + 20], paddingBottomRight: [edge, edge], maxZoom: 17 };
  map.fitBounds(bounds, { ...options, animate: false });
}
fit();
if (whole) map.setMinZoom(Math.min(map.getZoom(), map.getBoundsZoom(whole)) - 1);
roads.addTo(map);
// A window that changes its size keeps the route in view, until somebody looks elsewhere.
map.on("resize", fit);
for (const kind of ["pointerdown", "wheel", "keydown"]) {
  map.getContainer().addEventListener(kind, () => map.off("resize", fit), { capture: true, passive: true });
}

payload.ends.forEach((end) => {
  const { role, letter } = end;
  if (end.snapped_m > 5) {
    const walk = { className: "walk", weight: 3, dashArray: "1 6", interactive: false };
    L.polyline([end.at, end.snapped], walk).addTo(map);
  }
  const icon = L.divIcon({
    className: "pin " + role,
    iconSize: [30, 40],
    iconAnchor: [15, 39],
    popupAnchor: [0, -34],
    html:
      '<svg width="30" height="40" viewBox="0 0 30 40"><path stroke="#fff" stroke-width="2" d="M15 38.5C12 31 2 25 2 15a13 13 ' +
      '0 1 1 26 0c0 10-10 16-13 23.5z"/><text x="15" y="20" text-anchor="middle" fill="#fff" font-size="14" ' +
      'font-weight="700" font-family="system-ui, sans-serif">' + letter + "</text></svg>",
  });
  // Text, not markup: a name may hold anything.
  const card = document.createElement("div");
  const write = (tag, text) => (card.appendChild(document.createElement(tag)).textContent = text);
  if (end.name) write("b", end.name);
  // On a map across the 180th meridian longitudes go on beyond it.
  const { lat, lng } = L.latLng(end.at).wrap(), where = lat.toFixed(5) + ", " + lng.toFixed(5);
  write("span", where);
  write("span", Math.round(end.snapped_m) + " m from the road");
  const title = (letter + ": " + (end.name || where)).trim();
  L.marker(end.at, { icon, title, alt: title, riseOnHover: true }).bindPopup(card).addTo(map);
});

// A step that is clicked shows its place.
const mark = L.circleMarker([0, 0], { radius: 9, className: "walk", weight: 4, fill: false, interactive: false });
document.querySelectorAll(".steps button").forEach((button, index) => {
  button.addEventListener("click", () => {
    map.off("resize", fit);
    mark.setLatLng(payload.steps[index]).addTo(map);
    map.setView(payload.steps[index], Math.max(map.getZoom(), 16));
  });
});

const tip = L.tooltip({ direction: "top", offset: [0, -8], opacity: 1 });
let asked = 0;
map.on("mousemove click", (event) => {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => {
    const name = map.getZoom() >= 11 ? roads.nameAt(event.latlng) : "";
    if (name) map.openTooltip(tip.setLatLng(event.latlng).setContent(document.createTextNode(name)));
    else map.closeTooltip(tip);
  });
});
map.on("mouseout movestart", () => {
  cancelAnimationFrame(asked);
  map.closeTooltip(tip);
});

L.control.zoom({ position: "topright" }).addTo(map);
L.control.scale({ imperial: false, maxWidth: 100 }).addTo(map);
const credit = L.control.attribution({ prefix: '<a href="https://leafletjs.com">Leaflet</a>' }).addTo(map);
if (payload.attribution) credit.addAttribution(payload.attribution);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => roads._update());
