// Coast, water, ice and names of places on a map, with what decode.js and canvas.js define; L is Leaflet.
"use strict";

/** Kinds of shapes, as vkssp.graph.basemap numbers them. */
const [SEA, LAND, WATER, ICE, RING, RIVER] = [0, 1, 2, 3, 4, 5];

/** Coast, water and ice below the roads. */
const Basemap = Canvas.extend({
  options: { pane: "basemap", whileMoving: true },

  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    this._surrounded = payload.surrounded;
    this._kinds = decode(payload.kinds);
    this._first = offsets(decode(payload.counts));
    const world = (this._world = toMercator(decodePoints(payload.points, payload.scale)));
    this._boxes = new Float64Array(4 * this._kinds.length);
    for (let k = 0; k < this._kinds.length; k++) {
      this._boxes.set(this._box(world, 2 * this._first[k], 2 * this._first[k + 1]), 4 * k);
    }
    // Where areas overlap that are filled together, only those that run in the same direction add up.
    for (let k = 0; k < this._kinds.length; k++) if (this._kinds[k] === WATER || this._kinds[k] === ICE) this._turn(k);
  },

  /** Let a ring run clockwise on the screen. */
  _turn(k) {
    const world = this._world, start = 2 * this._first[k], end = 2 * this._first[k + 1] - 2;
    let area = 0;
    for (let i = start; i < end; i += 2) {
      area += (world[i] - world[start]) * (world[i + 3] - world[start + 1]) - (world[i + 2] - world[start]) * (world[i + 1] - world[start + 1]);
    }
    if (area >= 0) return;
    for (let i = start, j = end; i < j; i += 2, j -= 2) {
      for (const k of [0, 1]) [world[i + k], world[j + k]] = [world[j + k], world[i + k]];
    }
  },

  _draw(size, zoom, style) {
    const context = this._context, kinds = this._kinds, boxes = this._boxes, scale = this._scale, view = this._view(size, 8);
    const colours = ["--water", "--land", "--water", "--ice", "", "--river"].map((name) => style.getPropertyValue(name));
    if (this._surrounded) {
      context.fillStyle = colours[SEA];
      context.fillRect(0, 0, size.x, size.y);
    }
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = Math.max(0.5, Math.min(6, 1.6 * 2 ** ((zoom - 13) * 0.55)));
    context.lineWidth *= zoom < 13 ? 1 : 1.2;
    let path = null, count = 0, of = -1;
    const paint = () => {
      if (!path) return;
      if (of === RIVER) {
        context.strokeStyle = colours[RIVER];
        context.stroke(path);
      } else {
        context.fillStyle = colours[of];
        context.fill(path);
      }
      path = null;
      count = 0;
    };
    const least = zoom < 10 ? 2.5 : 1.5, origin = this._origin;
    for (let k = 0, next; k < kinds.length; k = next) {
      for (next = k + 1; next < kinds.length && kinds[next] === RING; ) next++;
      const kind = kinds[k], box = [Infinity, Infinity, -Infinity, -Infinity];
      for (let b = 4 * k; b < 4 * next; b += 4) {
        box[0] = Math.min(box[0], boxes[b]), box[1] = Math.min(box[1], boxes[b + 1]);
        box[2] = Math.max(box[2], boxes[b + 2]), box[3] = Math.max(box[3], boxes[b + 3]);
      }
      if ((box[2] - box[0] + box[3] - box[1]) * scale < 2 * least || box[1] > view[3] || box[3] < view[1]) continue;
      // The map repeats at each turn around the Earth.
      for (const turn of [-1, 0, 1]) {
        if (box[0] + turn > view[2] || box[2] + turn < view[0]) continue;
        // The time to paint a path rises faster than its number of shapes; coasts lie on each other.
        if (of !== kind || next > k + 1 || count >= 200 || kind < WATER) paint();
        path = path || new Path2D();
        of = kind;
        count++;
        this._origin = origin.subtract([turn * scale, 0]);
        for (let ring = k; ring < next; ring++) {
          this._trace(path, this._world, 2 * this._first[ring], 2 * this._first[ring + 1] - 2);
          if (kind !== RIVER) path.closePath();
        }
        this._origin = origin;
        if (next > k + 1) {
          context.fillStyle = colours[kind];
          context.fill(path, "evenodd");
          path = null;
        }
      }
    }
    paint();
  },
});

/** Font, size in pixels, and least and greatest zoom of each kind of place; see `PLACES` in vkssp.graph.basemap. */
const PLACES = [
  { weight: 650, size: 16, from: 4, to: 15 }, // city
  { weight: 600, size: 14, from: 7, to: 16 }, // town
  { weight: 600, size: 13, from: 11, to: 16 }, // borough
  { weight: 500, size: 12.5, from: 11.5, to: 17, minor: true }, // suburb
  { weight: 500, size: 12.5, from: 9.5, to: 17 }, // village
  { weight: 500, size: 12.5, from: 9, to: 17, minor: true, style: "italic" }, // island
  { weight: 500, size: 12, from: 13, to: 17.5, minor: true }, // quarter
  { weight: 500, size: 11.5, from: 12, to: 18, minor: true }, // hamlet
  { weight: 500, size: 11.5, from: 13.5, to: 18, minor: true }, // neighbourhood
];

/** Names of places, where there is room. */
const PlaceNames = Canvas.extend({
  options: { pane: "places", whileMoving: true },

  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    const { at, kinds, people, names } = payload.places;
    const world = toMercator(decodePoints(at, payload.scale)), population = decode(people);
    this._all = Array.from(decode(kinds), (kind, i) => {
      const look = PLACES[kind];
      // Large places are seen from farther away.
      const ahead = kind < 2 ? Math.max(0, Math.min(2, Math.log10((population[i] + 1) / (kind ? 5000 : 100000)) * 1.5)) : 0;
      return { x: world[2 * i], y: world[2 * i + 1], name: names[i], look, from: look.from - ahead, width: 0, font: "" };
    });
    this._pen = document.createElement("canvas").getContext("2d");
  },

  /** The names that are shown, each with its box in pixels of a canvas; the more important ones take their room first. */
  placed(size, zoom, scale, origin) {
    const found = [], pen = this._pen, grow = zoom < 8 ? 0.9 : 1;
    for (const place of this._all) {
      const { look } = place;
      if (zoom < place.from || zoom > look.to) continue;
      const y = place.y * scale - origin.y;
      if (y < -40 || y > size.y + 40) continue;
      // The map repeats at each turn around the Earth.
      const x = place.x * scale - origin.x - Math.round((place.x * scale - origin.x - size.x / 2) / scale) * scale;
      if (x < -160 || x > size.x + 160) continue;
      const font = `${look.style || "normal"} ${look.weight} ${look.size * grow}px system-ui, sans-serif`;
      if (place.font !== font) {
        pen.font = place.font = font;
        place.width = pen.measureText(place.name).width;
      }
      const half = place.width / 2 + 5, tall = (look.size * grow) / 2 + 4;
      const box = { left: x - half, top: y - tall, right: x + half, bottom: y + tall, x, y, font, place };
      const meets = (one) => one.left < box.right && box.left < one.right && one.top < box.bottom && box.top < one.bottom;
      if (!found.some(meets)) found.push(box);
    }
    return found;
  },

  _draw(size, zoom, style) {
    const context = this._context, colour = (name) => style.getPropertyValue(name);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = colour("--land");
    for (const { x, y, font, place } of this.placed(size, zoom, this._scale, this._origin)) {
      context.font = font;
      context.fillStyle = colour(place.look.minor ? "--minor" : "--place");
      context.globalAlpha = 0.85;
      context.strokeText(place.name, x, y);
      context.globalAlpha = 1;
      context.fillText(place.name, x, y);
    }
  },
});
