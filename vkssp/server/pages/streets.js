// Streets of the graph, drawn from the server's tiles on canvases.
import { isOld } from "./api.js";

const WIDTHS = [3.4, 3.2, 2.8, 2.4, 2, 1.6, 1.4, 1.2, 1];
// From slow to fast, legible for people who do not tell red from green.
const SCALE = [[20, "#7b3294"], [40, "#c2a5cf"], [60, "#5aae61"], [90, "#1b7837"], [999, "#00441b"]];
const DARK = [[20, "#c994e0"], [40, "#8f6fb0"], [60, "#66c2a5"], [90, "#a6d96a"], [999, "#ffffbf"]];

export const scaleOf = (dark) => (dark ? DARK : SCALE);

export function colourOf(kmh, dark) {
  return scaleOf(dark).find(([most]) => kmh <= most)[1];
}

export function streetLayer(L, options) {
  const Streets = L.GridLayer.extend({
    createTile(coords, done) {
      const size = this.getTileSize(), ratio = window.devicePixelRatio || 1;
      const canvas = L.DomUtil.create("canvas", "streets");
      canvas.width = size.x * ratio;
      canvas.height = size.y * ratio;
      const url = `map/streets/${encodeURIComponent(options.profile())}/${coords.z}/${coords.x}/${coords.y}`;
      fetch(url, { signal: AbortSignal.timeout(30000) })
        .then((response) => response.json())
        .then((tile) => {
          canvas.tile = tile;
          this.draw(canvas, coords.z, ratio);
          done(null, canvas);
        })
        .catch((error) => done(isOld(error) ? null : error, canvas));
      return canvas;
    },
    draw(canvas, zoom, ratio) {
      const { tile } = canvas, pen = canvas.getContext("2d"), { bySpeed, dark } = options.look();
      if (!tile?.streets) return;
      const scale = canvas.width / tile.extent, grow = Math.max(0.5, Math.min(3, (zoom - 9) / 3)) * ratio;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.lineCap = pen.lineJoin = "round";
      const ink = dark ? "#8b949e" : "#9aa0a8", main = dark ? "#d3b26a" : "#d99a3d";
      // The least important ones first, so that main streets lie on top.
      for (const [rank, kmh, , , points] of [...tile.streets].sort((a, b) => b[0] - a[0])) {
        pen.beginPath();
        for (let i = 0; i < points.length; i += 2) pen.lineTo(points[i] * scale, points[i + 1] * scale);
        pen.lineWidth = (WIDTHS[rank] ?? 0.9) * grow;
        pen.strokeStyle = bySpeed && kmh ? colourOf(kmh, dark) : rank <= 3 ? main : ink;
        pen.stroke();
      }
    },
    repaint() {
      for (const { el, coords } of Object.values(this._tiles)) this.draw(el, coords.z, window.devicePixelRatio || 1);
    },
    // Call a function with each street of the tiles of a zoom, its name, and where its tile begins in pixels of the map.
    each(zoom, call) {
      const size = this.getTileSize().x;
      for (const { el, coords } of Object.values(this._tiles)) {
        if (coords.z !== zoom || !el.tile?.streets) continue;
        const { names, extent, streets } = el.tile, corner = coords.scaleBy(L.point(size, size));
        for (const street of streets) call(street, names[street[2]], corner, size / extent);
      }
    },
    // The street nearest to a point on the map, within some pixels.
    streetAt(map, latlng, reach = 12) {
      const at = map.project(latlng, map.getZoom()), size = this.getTileSize().x;
      let best = null, least = reach;
      for (const { el, coords } of Object.values(this._tiles)) {
        if (coords.z !== map.getZoom() || !el.tile?.streets) continue;
        const scale = size / el.tile.extent, x = at.x - coords.x * size, y = at.y - coords.y * size;
        if (x < -reach || y < -reach || x > size + reach || y > size + reach) continue;
        for (const [, kmh, name, way, points] of el.tile.streets) {
          for (let i = 0; i + 3 < points.length; i += 2) {
            const ax = points[i] * scale, ay = points[i + 1] * scale;
            const dx = points[i + 2] * scale - ax, dy = points[i + 3] * scale - ay;
            const part = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
            const far = Math.hypot(x - ax - part * dx, y - ay - part * dy);
            if (far < least) {
              least = far;
              best = { kmh, way, name: el.tile.names[name] };
            }
          }
        }
      }
      if (best) best.lines = this._lines(map, best.way);
      return best;
    },
    // The lines of an OSM way on the tiles that are shown.
    _lines(map, way) {
      const lines = [], zoom = map.getZoom();
      this.each(zoom, ([, , , one, points], _, corner, scale) => {
        if (one !== way) return;
        const line = [];
        for (let i = 0; i < points.length; i += 2) line.push(map.unproject(corner.add([points[i] * scale, points[i + 1] * scale]), zoom));
        lines.push(line);
      });
      return lines;
    },
  });
  return new Streets({ minZoom: 3, maxZoom: 19, keepBuffer: 1, updateWhenZooming: false, className: "streets" });
}
