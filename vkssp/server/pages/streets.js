// Streets of the graph, drawn from the server's tiles on canvases.
import { isOld } from "./api.js";

const WIDTHS = [3.4, 3.2, 2.8, 2.4, 2, 1.6, 1.4, 1.2, 1];
// From slow to fast, legible for people who do not tell red from green.
const SCALE = [[20, "#7b3294"], [40, "#c2a5cf"], [60, "#5aae61"], [90, "#1b7837"], [999, "#00441b"]];
const DARK = [[20, "#c994e0"], [40, "#8f6fb0"], [60, "#66c2a5"], [90, "#a6d96a"], [999, "#ffffbf"]];

export function colourOf(kmh, dark) {
  return (dark ? DARK : SCALE).find(([most]) => kmh <= most)[1];
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
      if (zoom >= 15) this.label(pen, tile, scale, ratio, dark);
    },
    label(pen, tile, scale, ratio, dark) {
      const seen = new Set();
      pen.font = `${11 * ratio}px system-ui, sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineWidth = 3 * ratio;
      pen.strokeStyle = dark ? "#14181d" : "#fbfaf7";
      pen.fillStyle = dark ? "#dfe4ea" : "#33373d";
      for (const [, , name, , points] of tile.streets) {
        const text = tile.names[name];
        if (!text || seen.has(name)) continue;
        // Along the longest straight piece.
        let longest = 0, [x, y, x2, y2] = [0, 0, 0, 0];
        for (let i = 0; i + 3 < points.length; i += 2) {
          const far = Math.hypot(points[i + 2] - points[i], points[i + 3] - points[i + 1]);
          if (far > longest) [longest, x, y, x2, y2] = [far, ...points.slice(i, i + 4).map((value) => value * scale)];
        }
        if (longest * scale < 0.6 * pen.measureText(text).width) continue;
        let angle = Math.atan2(y2 - y, x2 - x);
        if (Math.abs(angle) > Math.PI / 2) angle += Math.PI;
        pen.save();
        pen.translate((x + x2) / 2, (y + y2) / 2);
        pen.rotate(angle);
        pen.strokeText(text, 0, 0);
        pen.fillText(text, 0, 0);
        pen.restore();
        seen.add(name);
      }
    },
    repaint() {
      for (const { el, coords } of Object.values(this._tiles)) this.draw(el, coords.z, window.devicePixelRatio || 1);
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
      return best;
    },
  });
  return new Streets({ minZoom: 3, maxZoom: 19, keepBuffer: 1, updateWhenZooming: false, className: "streets" });
}
