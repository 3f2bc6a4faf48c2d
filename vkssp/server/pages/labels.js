// Names along the streets, on one canvas over all tiles, so that the border of a tile cuts none; see canvas.js.

// Zooms from which on streets of a rank have names: main streets earlier than lanes.
const FROM = [12, 12, 13, 13, 13, 13, 14, 14, 14.5, 14.5];
const OTHERS_FROM = 15;
// Pixels between two names of the same street.
const APART = 350;

export function streetNames(streets, places) {
  const Names = Canvas.extend({
    options: { pane: "names", whileMoving: true },
    _widths: new Map(),

    onAdd(map) {
      Canvas.prototype.onAdd.call(this, map);
      streets.on("load tileload", this._soon, this);
    },

    onRemove(map) {
      streets.off("load tileload", this._soon, this);
      Canvas.prototype.onRemove.call(this, map);
    },

    // Once for all tiles that come at the same time.
    _soon() {
      this._waiting ??= requestAnimationFrame(() => {
        this._waiting = null;
        if (this._map) this._update();
      });
    },

    _draw(size, zoom, style) {
      if (zoom < FROM[0]) return;
      const pen = this._context, origin = this._origin, wanted = [];
      pen.font = "500 11.5px system-ui, sans-serif";
      const width = (name) => {
        if (!this._widths.has(name)) this._widths.set(name, pen.measureText(name).width);
        return this._widths.get(name);
      };
      streets.each(zoom, ([rank, , , , flat], name, corner, scale) => {
        if (!name || zoom < (FROM[rank] ?? OTHERS_FROM)) return;
        const left = corner.x - origin.x, top = corner.y - origin.y, points = new Float64Array(flat.length);
        const box = [Infinity, Infinity, -Infinity, -Infinity];
        for (let i = 0; i < flat.length; i += 2) {
          const x = (points[i] = left + flat[i] * scale), y = (points[i + 1] = top + flat[i + 1] * scale);
          box[0] = Math.min(box[0], x), box[1] = Math.min(box[1], y), box[2] = Math.max(box[2], x), box[3] = Math.max(box[3], y);
        }
        const extent = Math.hypot(box[2] - box[0], box[3] - box[1]);
        if (extent < 0.8 * width(name) || box[0] > size.x || box[1] > size.y || box[2] < 0 || box[3] < 0) return;
        wanted.push({ name, points, rank, extent });
      });
      wanted.sort((a, b) => a.rank - b.rank || b.extent - a.extent);
      const taken = new Set(), written = new Map();
      const cell = (x, y) => (Math.floor(x / 12) + 512) * 65536 + Math.floor(y / 12) + 512;
      for (const { left, top, right, bottom } of places()?.placed(size, zoom, this._scale, origin) ?? []) {
        for (let x = left; x < right + 12; x += 12) for (let y = top; y < bottom + 12; y += 12) taken.add(cell(x, y));
      }
      const inside = (x, y) => x > 0 && y > 0 && x < size.x && y < size.y;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineJoin = "round";
      pen.lineWidth = 3;
      pen.strokeStyle = style.getPropertyValue("--land");
      pen.fillStyle = style.getPropertyValue("--label");
      for (const { name, points } of wanted) {
        const half = width(name) / 2, stretch = straightest(points, 0, points.length - 2, 1, { x: 0, y: 0 }, 1.6 * half, 0.96, inside);
        if (!stretch) continue;
        const { x, y, angle } = stretch, others = written.get(name) ?? [];
        if (others.some((other) => Math.hypot(other.x - x, other.y - y) < APART)) continue;
        const along = [], far = half + 4, cosine = Math.cos(angle), sine = Math.sin(angle);
        for (let t = -far; t <= far; t += 6) along.push([x + t * cosine, y + t * sine]);
        if (along.some((at) => taken.has(cell(...at)))) continue;
        for (const at of along) for (const dx of [-12, 0, 12]) for (const dy of [-12, 0, 12]) taken.add(cell(at[0] + dx, at[1] + dy));
        written.set(name, [...others, stretch]);
        writeAlong(pen, name, stretch);
      }
    },
  });
  return new Names();
}
