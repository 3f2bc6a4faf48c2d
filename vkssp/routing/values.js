// Values on a map page: streets, dots, lines or polygons coloured by class, and the panel that chooses the column.
"use strict";

/** Numbers from base64 of little-endian floats of 32 or 64 bits. */
function decodeFloats(text, wide) {
  const data = atob(text), bytes = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) bytes[i] = data.charCodeAt(i);
  return wide ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
}

const NO_VALUE = "--value-none";

/** The CSS variable of each class of a column, that of no value first. */
const coloursOf = (column) => [NO_VALUE, ...column.colours.map((colour) => "--value" + colour)];

/** Roads coloured by the values of the places on them: each place colours half the way to its neighbours. */
const Streets = Roads.extend({
  initialize(payload) {
    Roads.prototype.initialize.call(this, payload);
    const { marks, places } = payload.values;
    // The points that are places, and the number of each one's place: 0 stands for the next that was not there before.
    this._marks = Uint32Array.from(decode(marks));
    for (let i = 1; i < this._marks.length; i++) this._marks[i] += this._marks[i - 1];
    this._places = Uint32Array.from(decode(places));
    for (let i = 0, next = 0; i < this._places.length; i++) this._places[i] = this._places[i] ? next - this._places[i] : next++;
  },

  /** Find where the class changes along each line, for the values of a column. */
  show(column) {
    this._column = column;
    const lines = this._labels.length, first = this._first, marks = this._marks, classes = column.classes;
    this._begin = new Uint8Array(lines);
    this._changeFirst = new Uint32Array(lines + 1);
    this._changes = [];
    for (let line = 0, m = 0; line < lines; line++) {
      let before = -1, was = 0;
      for (; m < marks.length && marks[m] < first[line + 1]; m++) {
        const now = classes[this._places[m]];
        if (before < 0) this._begin[line] = now;
        else if (now !== was) this._changes.push({ ...this._middle(before, marks[m]), to: now });
        before = marks[m];
        was = now;
      }
      this._changeFirst[line + 1] = this._changes.length;
    }
    if (this._map) this._update();
  },

  /** The length of a line from one of its points to the next. */
  _step(i) {
    const world = this._world;
    return Math.hypot(world[2 * i + 2] - world[2 * i], world[2 * i + 3] - world[2 * i + 1]);
  },

  /** The point half way along a line from one of its points to a later one, and the number of the point before it. */
  _middle(start, end) {
    const world = this._world;
    let rest = 0, i = start;
    for (let k = start; k < end; k++) rest += this._step(k) / 2;
    for (; i < end - 1 && this._step(i) < rest; i++) rest -= this._step(i);
    const share = Math.min(1, rest / (this._step(i) || 1));
    const x = world[2 * i] + share * (world[2 * i + 2] - world[2 * i]);
    return { after: i, x, y: world[2 * i + 1] + share * (world[2 * i + 3] - world[2 * i + 1]) };
  },

  _drawRoads(size, zoom, stroke, style) {
    const colours = coloursOf(this._column), widths = this._classes.map((_, speedClass) => this._width(speedClass, zoom));
    // For each class of roads, paths by value. The time to draw a path rises faster than its number of lines.
    const sets = this._classes.map(() => []), counts = this._classes.map(() => 0);
    const cell = 1.5, columns = Math.ceil(size.x / cell), rows = Math.ceil(size.y / cell);
    const dots = new Uint8Array(columns * rows);
    this._each(
      size,
      (line, speedClass) => {
        if (counts[speedClass]++ % 300 === 0) sets[speedClass].unshift(colours.map(() => new Path2D()));
        this._traceClasses(sets[speedClass][0], line);
      },
      (line) => {
        const at = 2 * this._first[line], x = Math.floor((this._world[at] * this._scale - this._origin.x) / cell);
        const y = Math.floor((this._world[at + 1] * this._scale - this._origin.y) / cell), k = y * columns + x;
        if (x >= 0 && y >= 0 && x < columns && y < rows && this._begin[line] > dots[k]) dots[k] = this._begin[line];
      },
    );
    const each = (call) => sets.forEach((set, c) => set.forEach((paths) => call(paths, c)));
    each((paths, c) => {
      if (c > 0 && widths[c] > 2.6) for (const path of paths) stroke(path, "--case" + c, widths[c] + 1.6);
    });
    // What has no value lies below what has one; a hair would not show its colour.
    each((paths, c) => stroke(paths[0], colours[0], Math.min(widths[c], Math.max(0.8, 0.6 * widths[c]))));
    this._drawDots(dots, columns, rows, cell, colours.map((colour) => style.getPropertyValue(colour)));
    sets.forEach((set, c) => {
      const width = Math.max(widths[c], 1.1 + 0.25 * c);
      for (let k = 1; k < colours.length; k++) for (const paths of set) stroke(paths[k], colours[k], width);
    });
  },

  /** Draw squares in the colours of their classes, nothing where the class is 0; colours are like "#440154". */
  _drawDots(dots, columns, rows, cell, colours) {
    const image = new ImageData(columns, rows), canvas = document.createElement("canvas");
    const parts = colours.map((colour) => [1, 3, 5].map((at) => parseInt(colour.trim().slice(at, at + 2), 16)));
    for (let k = 0; k < dots.length; k++) if (dots[k]) image.data.set([...parts[dots[k]], 255], 4 * k);
    canvas.width = columns;
    canvas.height = rows;
    canvas.getContext("2d").putImageData(image, 0, 0);
    this._context.imageSmoothingEnabled = false;
    this._context.drawImage(canvas, 0, 0, columns * cell, rows * cell);
  },

  /** Add a line to the paths of the classes that it passes. */
  _traceClasses(paths, line) {
    const world = this._world, scale = this._scale, origin = this._origin, last = this._first[line + 1] - 1;
    let change = this._changeFirst[line], path = paths[this._begin[line]], x = NaN, y = NaN;
    for (let i = this._first[line]; i <= last; i++) {
      const px = world[2 * i] * scale - origin.x, py = world[2 * i + 1] * scale - origin.y;
      const near = Math.abs(px - x) + Math.abs(py - y) <= 0.8;
      if (i === this._first[line]) path.moveTo(px, py);
      else if (!near || i === last) path.lineTo(px, py);
      if (!near) (x = px), (y = py);
      for (; change < this._changeFirst[line + 1] && this._changes[change].after === i; change++) {
        const at = this._changes[change];
        (x = at.x * scale - origin.x), (y = at.y * scale - origin.y);
        path.lineTo(x, y);
        path = paths[at.to];
        path.moveTo(x, y);
      }
    }
  },

  /** The number of the place whose colour is drawn nearest to a position, -1 where none is near. */
  itemAt(latlng) {
    const found = this._nearest(latlng), marks = this._marks;
    if (!found) return -1;
    let low = 0, high = marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (marks[middle] <= found.point) low = middle + 1;
      else high = middle;
    }
    const from = low - 1;
    if (from < 0 || marks[from] < this._first[found.line]) return -1;
    if (low === marks.length || marks[low] >= this._first[found.line + 1]) return this._places[from];
    let passed = found.share * this._step(found.point), whole = 0;
    for (let i = marks[from]; i < marks[low]; i++) {
      whole += this._step(i);
      if (i < found.point) passed += this._step(i);
    }
    return this._places[passed < whole / 2 ? from : low];
  },
});

/** Dots at places, one for each value. */
const Dots = Canvas.extend({
  options: { pane: "areas" },

  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    this._world = toMercator(decodePoints(payload.values.points, payload.scale));
  },

  show(column) {
    this._column = column;
    if (this._map) this._update();
  },

  _radius(zoom) {
    const base = this._world.length < 6000 ? 5 : 3;
    return Math.max(0.5 * base, Math.min(8, base * 2 ** ((zoom - 12) * 0.25)));
  },

  _draw(size, zoom, style) {
    const world = this._world, scale = this._scale, origin = this._origin, context = this._context;
    const classes = this._column.classes, view = this._view(size, 10), radius = this._radius(zoom);
    const colours = coloursOf(this._column), seen = colours.map(() => []);
    let count = 0;
    for (let i = 0; i < classes.length; i++) {
      const x = world[2 * i], y = world[2 * i + 1];
      if (x < view[0] || y < view[1] || x > view[2] || y > view[3]) continue;
      seen[classes[i]].push(x * scale - origin.x, y * scale - origin.y);
      count++;
    }
    colours.forEach((colour, k) => {
      const path = new Path2D(), points = seen[k];
      for (let i = 0; i < points.length; i += 2) {
        const x = points[i], y = points[i + 1];
        // Squares are drawn faster, and so many dots are too small for their shape to be seen.
        if (count > 20000) path.rect(x - 0.9 * radius, y - 0.9 * radius, 1.8 * radius, 1.8 * radius);
        else path.moveTo(x + radius, y), path.arc(x, y, radius, 0, 2 * Math.PI);
      }
      // The outlines come first, so that they do not cover dots of the same class.
      context.strokeStyle = style.getPropertyValue("--land");
      context.lineWidth = 1.6;
      if (count <= 20000) context.stroke(path);
      context.fillStyle = style.getPropertyValue(colour);
      context.fill(path);
    });
  },

  /** The number of the dot at a position, the uppermost of several; -1 where there is none. */
  itemAt(latlng) {
    const zoom = this._map.getZoom(), scale = 256 * 2 ** zoom, at = this._map.project(latlng), classes = this._column.classes;
    const reach = (this._radius(zoom) + 2) / scale, x = at.x / scale, y = at.y / scale, world = this._world;
    let best = reach, found = -1;
    for (let i = 0; i < classes.length; i++) {
      const distance = Math.hypot(world[2 * i] - x, world[2 * i + 1] - y);
      if (distance > best || (distance === best && found >= 0 && classes[i] < classes[found])) continue;
      best = distance;
      found = i;
    }
    return found;
  },
});

/** Lines over the roads, one or several parts for each value; those of higher classes are wider and above. */
const Lines = Canvas.extend({
  options: { pane: "areas" },

  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    const { parts, lines, points } = payload.values;
    this._rowLine = offsets(decode(parts));
    this._linePoint = offsets(decode(lines));
    this._world = toMercator(decodePoints(points, payload.scale));
    const rows = this._rowLine.length - 1;
    this._boxes = new Float64Array(4 * rows);
    for (let row = 0; row < rows; row++) {
      const [start, end] = [this._rowLine[row], this._rowLine[row + 1]].map((line) => 2 * this._linePoint[line]);
      this._boxes.set(this._box(this._world, start, end), 4 * row);
    }
  },

  show(column) {
    this._column = column;
    if (this._map) this._update();
  },

  /** The width of a class in pixels, the first one being that of no value. */
  _width(k, zoom) {
    const base = Math.max(0.7, Math.min(3.2, 1.2 * 2 ** ((zoom - 12) * 0.3)));
    return base * (k ? 0.8 + (1.8 * k) / this._column.colours.length : 0.7);
  },

  _draw(size, zoom, style) {
    const boxes = this._boxes, view = this._view(size, 8), context = this._context, world = this._world;
    const colours = coloursOf(this._column), classes = this._column.classes, seen = colours.map(() => []);
    for (let row = 0; row < classes.length; row++) {
      const b = 4 * row;
      if (boxes[b] > view[2] || boxes[b + 1] > view[3] || boxes[b + 2] < view[0] || boxes[b + 3] < view[1]) continue;
      seen[classes[row]].push(row);
    }
    context.lineCap = context.lineJoin = "round";
    colours.forEach((colour, k) => {
      context.strokeStyle = style.getPropertyValue(colour);
      context.lineWidth = this._width(k, zoom);
      // The time to draw a path rises faster than its number of lines.
      for (let start = 0; start < seen[k].length; start += 300) {
        const path = new Path2D();
        for (const row of seen[k].slice(start, start + 300)) {
          for (let line = this._rowLine[row]; line < this._rowLine[row + 1]; line++) {
            this._trace(path, world, 2 * this._linePoint[line], 2 * this._linePoint[line + 1] - 2);
          }
        }
        context.stroke(path);
      }
    });
  },

  /** The number of the line that is drawn nearest to a position, the uppermost of several; -1 where none is near. */
  itemAt(latlng) {
    const scale = 256 * 2 ** this._map.getZoom(), at = this._map.project(latlng), boxes = this._boxes;
    const x = at.x / scale, y = at.y / scale, reach = 8 / scale, classes = this._column.classes;
    let best = reach, found = -1;
    for (let row = 0; row < classes.length; row++) {
      const b = 4 * row;
      if (x < boxes[b] - best || y < boxes[b + 1] - best || x > boxes[b + 2] + best || y > boxes[b + 3] + best) continue;
      const distance = this._distance(row, x, y);
      if (distance > best || (distance === best && found >= 0 && classes[row] < classes[found])) continue;
      best = distance;
      found = row;
    }
    return found;
  },

  /** The distance of a point from the lines of a row. */
  _distance(row, x, y) {
    const world = this._world;
    let least = Infinity;
    for (let line = this._rowLine[row]; line < this._rowLine[row + 1]; line++) {
      for (let i = 2 * this._linePoint[line], last = 2 * this._linePoint[line + 1] - 2; i < last; i += 2) {
        const dx = world[i + 2] - world[i], dy = world[i + 3] - world[i + 1];
        const along = ((x - world[i]) * dx + (y - world[i + 1]) * dy) / (dx * dx + dy * dy || 1);
        const share = Math.max(0, Math.min(1, along));
        least = Math.min(least, Math.hypot(world[i] + share * dx - x, world[i + 1] + share * dy - y));
      }
    }
    return least;
  },
});

/** Polygons over the roads, one or several parts for each value. */
const Polygons = Canvas.extend({
  options: { pane: "areas" },

  initialize(payload) {
    L.Renderer.prototype.initialize.call(this, {});
    const { parts, polygons, rings, points } = payload.values, rowPolygon = offsets(decode(parts));
    const polygonRing = offsets(decode(polygons));
    this._rowRing = rowPolygon.map((polygon) => polygonRing[polygon]);
    this._ringPoint = offsets(decode(rings));
    this._world = toMercator(decodePoints(points, payload.scale));
    const rows = this._rowRing.length - 1;
    this._boxes = new Float64Array(4 * rows);
    for (let row = 0; row < rows; row++) {
      const [start, end] = [this._rowRing[row], this._rowRing[row + 1]].map((ring) => 2 * this._ringPoint[ring]);
      this._boxes.set(this._box(this._world, start, end), 4 * row);
    }
  },

  show(column) {
    this._column = column;
    if (this._map) this._update();
  },

  _initContainer() {
    Canvas.prototype._initContainer.call(this);
    // The whole canvas is half-transparent, so that edges that polygons share are not seen.
    this._container.style.opacity = 0.65;
  },

  _draw(size, zoom, style) {
    const boxes = this._boxes, view = this._view(size, 4), scale = this._scale, origin = this._origin, context = this._context;
    const colours = coloursOf(this._column), classes = this._column.classes, seen = colours.map(() => []);
    let count = 0, extent = 0;
    for (let row = 0; row < classes.length; row++) {
      const b = 4 * row;
      if (boxes[b] > view[2] || boxes[b + 1] > view[3] || boxes[b + 2] < view[0] || boxes[b + 3] < view[1]) continue;
      seen[classes[row]].push(row);
      count++;
      extent += Math.max(boxes[b + 2] - boxes[b], boxes[b + 3] - boxes[b + 1]) * scale;
    }
    // Outlines of many small polygons would hide their colours.
    const land = style.getPropertyValue("--land"), isLarge = extent > 9 * count;
    context.lineWidth = isLarge ? 0.8 : 0.9;
    colours.forEach((name, k) => {
      context.globalAlpha = k ? 1 : 0.5;
      context.fillStyle = style.getPropertyValue(name);
      context.strokeStyle = isLarge ? land : context.fillStyle;
      // The time to fill a path rises faster than its number of polygons.
      for (let start = 0; start < seen[k].length; start += 200) {
        const path = new Path2D();
        for (const row of seen[k].slice(start, start + 200)) this._addPolygons(path, row);
        context.fill(path);
        if (isLarge || k) context.stroke(path);
      }
    });
    context.globalAlpha = 1;
  },

  _addPolygons(path, row) {
    const [left, top, right, bottom] = this._boxes.subarray(4 * row, 4 * row + 4).map((x) => x * this._scale);
    if (right - left < 1.2 && bottom - top < 1.2) {
      path.rect(left - this._origin.x, top - this._origin.y, Math.max(1, right - left), Math.max(1, bottom - top));
      return;
    }
    for (let ring = this._rowRing[row]; ring < this._rowRing[row + 1]; ring++) {
      this._trace(path, this._world, 2 * this._ringPoint[ring], 2 * this._ringPoint[ring + 1] - 2);
      path.closePath();
    }
  },

  /** The number of the polygon at a position, the uppermost of several; -1 where there is none. */
  itemAt(latlng) {
    const scale = 256 * 2 ** this._map.getZoom(), at = this._map.project(latlng), boxes = this._boxes;
    const x = at.x / scale, y = at.y / scale, classes = this._column.classes;
    let found = -1;
    for (let row = 0; row < classes.length; row++) {
      const b = 4 * row;
      if (x < boxes[b] || y < boxes[b + 1] || x > boxes[b + 2] || y > boxes[b + 3]) continue;
      if ((found < 0 || classes[row] >= classes[found]) && this._holds(row, x, y)) found = row;
    }
    return found;
  },

  /** Whether a point lies in a polygon: a ray from it crosses the rings an odd number of times. */
  _holds(row, x, y) {
    const world = this._world;
    let odd = false;
    for (let ring = this._rowRing[row]; ring < this._rowRing[row + 1]; ring++) {
      for (let i = 2 * this._ringPoint[ring], last = 2 * this._ringPoint[ring + 1] - 2; i < last; i += 2) {
        const above = world[i + 1] > y;
        if (above === world[i + 3] > y) continue;
        if (x < world[i] + ((y - world[i + 1]) / (world[i + 3] - world[i + 1])) * (world[i + 2] - world[i])) odd = !odd;
      }
    }
    return odd;
  },
});

/** The values of a page: the layer that draws them, and the panel's choice of the column. */
class Values {
  constructor(payload) {
    const kind = payload.values.kind;
    document.documentElement.classList.add("values", kind);
    this.roads = kind === "streets" ? new Streets(payload) : new Roads(payload);
    const layers = { dots: Dots, lines: Lines, polygons: Polygons };
    this.layer = kind === "streets" ? this.roads : new layers[kind](payload);
    this._hasNames = kind === "streets" || kind === "lines";
    this._columns = payload.values.columns.map((column) => ({
      ...column,
      classes: Uint8Array.from(decode(column.classes)),
      values: decodeFloats(column.values, column.wide),
    }));
    const select = document.getElementById("column");
    if (select) select.addEventListener("change", () => this._show(select.selectedIndex));
    // A browser that loads a page again restores what was chosen.
    this._show(select ? Math.max(0, select.selectedIndex) : 0);
  }

  _show(index) {
    this._index = index;
    document.querySelectorAll(".legend").forEach((legend, k) => (legend.hidden = k !== index));
    this.layer.show(this._columns[index]);
  }

  addTo(map) {
    if (this.layer !== this.roads) this.layer.addTo(map);
  }

  /** What the tip says of a position: the street's name, and the values there, that of the chosen column first. */
  cardAt(latlng) {
    const item = this.layer.itemAt(latlng);
    if (item < 0) return null;
    const card = document.createElement("div"), chosen = this._columns[this._index];
    const write = (tag, text) => (card.appendChild(document.createElement(tag)).textContent = text);
    card.className = "values";
    const name = this._hasNames ? this.roads.nameAt(latlng) : "";
    if (name) write("span", name);
    for (const column of [chosen, ...this._columns.filter((one) => one !== chosen)].slice(0, 12)) {
      const value = column.values[item];
      const text = column.classes[item] ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : "no value";
      write(column === chosen ? "b" : "span", this._columns.length > 1 ? column.name + ": " + text : text);
    }
    return card;
  }
}
