// The map of a page that page.py writes, with what roads.js, basemap.js and perhaps values.js define; L is Leaflet.
"use strict";

const payload = JSON.parse(document.getElementById("payload").textContent);
const map = L.map("map", { zoomSnap: 0.25, zoomDelta: 0.5, maxZoom: 19, zoomControl: false, attributionControl: false });
map.createPane("basemap").style.zIndex = 140;
map.createPane("roads").style.zIndex = 200;
const places = map.createPane("places");
places.style.zIndex = 350;
places.style.pointerEvents = "none";
const values = payload.values ? new Values(payload) : null;
const roads = values ? values.roads : new Roads(payload);

/** Pairs of latitude and longitude from their encoded differences. */
function pairs(text) {
  const flat = decodePoints(text, payload.scale), result = [];
  for (let i = 0; i < flat.length; i += 2) result.push([flat[i], flat[i + 1]]);
  return result;
}

const bounds = L.latLngBounds(payload.ends.map((end) => end.at));
for (const point of pairs(payload.route || "")) bounds.extend(point);
for (const corner of payload.extent || []) bounds.extend(corner);
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
const drawn = new Set([roads, values ? values.layer : roads]);
if (payload.basemap) {
  drawn.add(new Basemap(payload.basemap).addTo(map));
  // Tiles have names of their own.
  if (!payload.tiles) drawn.add((roads.places = new PlaceNames(payload.basemap).addTo(map)));
}
if (payload.tiles) {
  const options = { pane: "tiles", maxZoom: 19, attribution: payload.tiles.attribution };
  map.createPane("tiles").style.zIndex = 160;
  L.tileLayer(payload.tiles.url, options).addTo(map);
  // Roads would hide those of the tiles; the route lies above them.
  if (!values) map.getPane("roads").style.zIndex = 150;
  if (!values && payload.route) {
    const line = pairs(payload.route), look = { interactive: false, smoothFactor: 1 };
    for (const [className, weight] of [["halo", 11], ["rim", 7.5], ["route", 5.5]]) L.polyline(line, { ...look, className, weight }).addTo(map);
  }
}
roads.addTo(map);
if (values) values.addTo(map);
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
    const name = map.getZoom() >= 11 && !values ? roads.nameAt(event.latlng) : "";
    const content = values ? values.cardAt(event.latlng) : name && document.createTextNode(name);
    if (content) map.openTooltip(tip.setLatLng(event.latlng).setContent(content));
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
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const layer of drawn) layer._update();
});
