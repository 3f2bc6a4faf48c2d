// The live map: places, routes, isochrones, tables, areas to avoid and speeds.
import { ask, decoded, distance, duration, isOld, latest, lonLat } from "./api.js";
import { Background } from "./background.js";
import { instruction, joined } from "./instructions.js";
import { colourOf, scaleOf, streetLayer } from "./streets.js";

const L = window.L, $ = (id) => document.getElementById(id);
const DARK = "(prefers-color-scheme: dark)";
// Chromium sends no event to a query that has been read since its answer changed: nobody reads the one that is listened to.
const scheme = matchMedia(DARK), isDark = () => matchMedia(DARK).matches;
const BANDS = ["#2c7fb8", "#41b6c4", "#7fcdbb", "#c7e9b4"];
const HELP = {
  route: "Click the map, or search, to add places. Drag a place, or the line to pass another one.",
  reach: "Move the pointer over the map, or click a place that stays.",
  table: "Click places: lines show the times between all of them.",
  avoid: "Click the corners of an area to avoid; click the first one, or press Enter, to close it. By keyboard, Space sets "
    + "a corner in the middle of the map, Backspace takes it back.",
  speed: "Click a street, then set its speed. Everything follows at once.",
};

const state = { mode: "route", stops: [], avoid: [], corners: [], origin: null, exclude: new Set(), chosen: 0 };
let config, profile, streets, street = null;

const map = L.map("map", { zoomControl: false, worldCopyJump: true, keyboard: true });
L.control.zoom({ position: "topleft" }).addTo(map);
map.attributionControl.setPosition("bottomleft").setPrefix("").addAttribution(
  '© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap contributors</a>');
L.control.scale({ imperial: false, position: "bottomleft" }).addTo(map);
const colours = L.control({ position: "bottomleft" });
colours.onAdd = () => $("legend");
colours.addTo(map);
const background = new Background(map);
const layers = Object.fromEntries(["reach", "avoid", "street", "table", "routes", "stops"].map((name) => {
  map.createPane(name).style.zIndex = { reach: 410, avoid: 420, street: 425, table: 430, routes: 440, stops: 610 }[name];
  return [name, L.layerGroup([], { pane: name }).addTo(map)];
}));

function say(text, isError = false) {
  $("summary").textContent = text;
  $("summary").classList.toggle("error", isError);
}

function fail(error) {
  if (!isOld(error)) say(error.message, true);
}

// The part of the map that the panel does not cover: padding to the left and top, and to the right and bottom.
function beside() {
  const box = $("panel").getBoundingClientRect(), { x, y } = map.getSize();
  const covers = box.top < y - 40 && box.left > 40 && box.left < x;
  return { paddingTopLeft: [24, 24], paddingBottomRight: [covers ? x - box.left + 24 : 24, 24] };
}

function look(place, zoom) {
  const near = Math.max(map.getZoom(), zoom), { paddingTopLeft: [left], paddingBottomRight: [right] } = beside();
  const middle = map.project(place, near).add([(right - left) / 2, 0]);
  map.setView(map.unproject(middle, near), near);
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ink = () => colour("--accent"), other = () => colour("--other"), paper = () => colour("--paper");

// ---- places ----

function icon(label) {
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.textContent = label;
  return L.divIcon({ html: dot, className: "", iconSize: [26, 26] });
}

const shown = ({ lat, lng }) => `${lat.toFixed(5)}, ${lng.toFixed(5)}`;
const labelOf = (at) => String.fromCharCode(65 + (at % 26));

function nudge(event, place, moved) {
  const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const many = event.shiftKey ? 50 : 10, at = map.latLngToContainerPoint(place);
  moved(map.containerPointToLatLng([at.x + many * step[0], at.y + many * step[1]]));
}

function drawStops() {
  layers.stops.clearLayers();
  $("stops").replaceChildren(...state.stops.map((stop, at) => {
    const label = labelOf(at), row = document.createElement("li"), dot = document.createElement("span");
    const name = document.createElement("span"), remove = document.createElement("button");
    row.tabIndex = 0;
    dot.className = "dot";
    dot.textContent = label;
    name.className = "name";
    name.textContent = stop.name || shown(stop);
    remove.type = "button";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Remove place ${label}`);
    remove.onclick = () => { state.stops.splice(at, 1); changed(); };
    const moved = (place) => { state.stops[at] = { lat: place.lat, lng: place.lng, name: "" }; changed(); };
    row.setAttribute("aria-label", `Place ${label}, ${name.textContent}; arrow keys move it`);
    row.onkeydown = (event) => {
      nudge(event, stop, (place) => { moved(place); $("stops").children[at]?.focus(); });
      if (event.key === "Delete") remove.click();
    };
    row.append(dot, name, remove);
    const marker = L.marker(stop, { icon: icon(label), draggable: true, pane: "stops", alt: `Place ${label}`,
      title: `Place ${label}`, keyboard: true });
    marker.on("drag", (event) => {
      state.stops[at] = { ...event.latlng, name: "" };
      soon();
    }).on("dragend", changed).on("dblclick", (event) => map.fire("dblclick", event)).addTo(layers.stops);
    marker.getElement()?.addEventListener("keydown", (event) => nudge(event, stop, moved));
    return row;
  }));
}

// Tell the names that are known by now, while a marker that is dragged stays the same.
function nameStops() {
  state.stops.forEach((stop, at) => {
    const name = $("stops").children[at]?.querySelector(".name");
    if (name) name.textContent = stop.name || shown(stop);
  });
}

function add(place, at = state.stops.length, name = "") {
  state.stops.splice(at, 0, { lat: place.lat, lng: place.lng, name, since: Date.now() });
  changed();
}

// ---- routes ----

function parameters() {
  const given = {};
  if (state.exclude.size) given.exclude = [...state.exclude].join(",");
  if ($("metric").value !== "duration") given.metric = $("metric").value;
  return given;
}

function asked(service, places, more) {
  const path = `${service}/v1/${encodeURIComponent(profile.name)}/${places.map(lonLat).join(";")}`;
  const query = new URLSearchParams({ ...parameters(), ...more });
  if (!state.avoid.length) return [`${path}?${query}`, {}];
  // Proxies may limit URLs to less than some areas need.
  const body = { coordinates: places.map((place) => [place.lng, place.lat]), ...bodyOf(more), ...bodyOf(parameters()) };
  body.avoid = { type: "MultiPolygon", coordinates: state.avoid.map((ring) => [[...ring, ring[0]]]) };
  return [`${service}/v1/${encodeURIComponent(profile.name)}`,
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }];
}

function bodyOf(query) {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => {
    if (value === "true" || value === "false") return [name, value === "true"];
    if (name === "alternatives") return [name, Number(value)];
    return [name, name === "exclude" || name === "annotations" ? value.split(",") : value];
  }));
}

// While a place is dragged, the line alone: instructions and alternatives come when it is let go.
async function route(isDragged) {
  const places = state.stops;
  if (places.length < 2) {
    clearRoutes();
    return;
  }
  const more = { geometries: "polyline6", overview: "full", steps: String(!isDragged) };
  if (places.length === 2 && !isDragged && $("alternatives").checked) more.alternatives = "2";
  const answer = await ask("route", ...asked("route", places, more));
  state.routes = answer.routes;
  state.chosen = Math.min(state.chosen, answer.routes.length - 1);
  answer.waypoints.forEach((found, at) => { if (state.stops[at]) state.stops[at].name ||= found.name; });
  nameStops();
  drawRoutes();
  $("steps").classList.toggle("old", isDragged);
}

function drawRoutes() {
  layers.routes.clearLayers();
  drawChoices();
  const order = state.routes.map((_, at) => at).sort((a, b) => (a === state.chosen) - (b === state.chosen));
  for (const at of order) {
    const points = decoded(state.routes[at].geometry), own = at === state.chosen;
    const look = { pane: "routes", weight: own ? 6 : 5, opacity: 0.9, color: own ? ink() : other() };
    L.polyline(points, { pane: "routes", weight: look.weight + 4, color: paper(), opacity: 0.8, interactive: false }).addTo(layers.routes);
    const line = L.polyline(points, look).addTo(layers.routes);
    line.bindTooltip(figures(state.routes[at]), { sticky: true });
    if (own) line.getElement()?.addEventListener("pointerdown", bend);
    else line.on("click", (event) => {
      if (state.mode !== "route") return;
      L.DomEvent.stop(event);
      state.chosen = at;
      drawRoutes();
    });
    // Keys choose by the buttons.
    line.getElement()?.setAttribute("tabindex", "-1");
  }
  const one = state.routes[state.chosen], others = state.routes.length - 1;
  say(`${figures(one)}${others ? `; ${others} more` : ""}`);
  const steps = one.legs.flatMap((leg, at) => joined(leg.steps).map((step) => [step, labelOf(at + 1)]));
  if (!steps.length) return;
  $("steps").replaceChildren(...steps.map(([step, label]) => {
    const row = document.createElement("li"), button = document.createElement("button");
    const text = document.createElement("span"), far = document.createElement("span");
    button.type = "button";
    text.textContent = instruction(step, label);
    far.className = "far";
    far.textContent = step.distance ? distance(step.distance) : "";
    button.append(text, far);
    row.append(button);
    let marked = null;
    const mark = () => { marked ??= L.polyline(step.geometries.map(decoded), { pane: "routes", weight: 9, color: "#f0a202",
      interactive: false }).addTo(layers.routes); };
    const unmark = () => { marked?.remove(); marked = null; };
    button.onmouseenter = button.onfocus = mark;
    button.onmouseleave = button.onblur = unmark;
    button.onclick = () => look([step.maneuver.location[1], step.maneuver.location[0]], 16);
    return row;
  }));
}

const figures = (route) => `${duration(route.duration)}, ${distance(route.distance)}`;

// Buttons that choose among several routes.
function drawChoices() {
  const routes = state.routes.length > 1 ? state.routes : [], hadFocus = $("choices").contains(document.activeElement);
  $("choices").replaceChildren(...routes.map((one, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = figures(one);
    button.setAttribute("aria-pressed", String(at === state.chosen));
    button.onclick = () => { state.chosen = at; drawRoutes(); };
    return button;
  }));
  if (hadFocus) $("choices").children[state.chosen]?.focus();
}

// Forget what is told about routes.
function clearRoutes() {
  layers.routes.clearLayers();
  $("choices").replaceChildren();
  $("steps").replaceChildren();
}

// Drag the line of the route, by mouse or finger: a via point where it was taken.
function bend(event) {
  if (state.mode !== "route" || event.button || !event.isPrimary) return;
  event.stopPropagation();
  const from = map.mouseEventToLatLng(event), legs = state.routes[state.chosen].legs;
  let at = 1, least = Infinity;
  legs.forEach((leg, number) => leg.steps.forEach((step) => decoded(step.geometry).forEach((point) => {
    const far = from.distanceTo(point);
    if (far < least) [least, at] = [far, number + 1];
  })));
  map.dragging.disable();
  state.stops.splice(at, 0, { lat: from.lat, lng: from.lng, name: "" });
  drawStops();
  const listening = new AbortController(), { signal } = listening;
  const on = (type, call) => document.addEventListener(type, (next) => {
    if (next.pointerId === event.pointerId) call(next);
  }, { signal });
  const end = () => {
    listening.abort();
    map.dragging.enable();
    ignoreClick = true;
    setTimeout(() => { ignoreClick = false; }, 100);
    changed();
  };
  on("pointermove", (next) => {
    const { lat, lng } = map.mouseEventToLatLng(next);
    state.stops[at] = { lat, lng, name: "" };
    layers.stops.getLayers()[at]?.setLatLng([lat, lng]);
    soon();
  });
  on("pointerup", end);
  on("pointercancel", end);
}
let ignoreClick = false;

// ---- isochrones ----

async function reach(place) {
  state.reached = place;
  state.limits = [];
  if (!place) {
    layers.reach.clearLayers();
    return legend();
  }
  const minutes = $("minutes").value.split(",").map(Number).filter((value) => value > 0).sort((a, b) => a - b);
  if (!minutes.length) return say("Give minutes, such as 5, 10, 15.", true);
  const query = new URLSearchParams({ contours_minutes: minutes.join(","), reverse: $("reverse").checked,
    width: width(place) });
  if (state.exclude.size) query.set("exclude", [...state.exclude].join(","));
  if (state.avoid.length) query.set("avoid", state.avoid.map((ring) => ring.flat().join(",")).join(";"));
  const url = `isochrone/v1/${encodeURIComponent(profile.name)}/${lonLat(place)}?${query}`;
  const answer = await ask("reach", url);
  if (state.mode !== "reach") return;
  layers.reach.clearLayers();
  answer.features.forEach((feature, at) => {
    const colour = band(answer.features.length - 1 - at);
    L.geoJSON(feature, { pane: "reach", interactive: false,
      style: { color: colour, weight: 1.5, fillColor: colour, fillOpacity: 0.25 } }).addTo(layers.reach);
  });
  if (state.origin) L.circleMarker(place, { pane: "stops", radius: 6, color: ink(), fillOpacity: 1 }).addTo(layers.reach);
  state.limits = minutes;
  legend();
  say(`${$("reverse").checked ? "To here" : "From here"} within ${minutes.join(", ")} min`);
}

// Metres to either side of a road: some pixels, since finer areas take much longer than they show.
function width({ lat }) {
  const pixel = (40075017 * Math.cos((lat * Math.PI) / 180)) / (256 * 2 ** map.getZoom());
  return Math.round(Math.max(50, Math.min(10000, 1.5 * pixel)));
}

const band = (at) => BANDS[Math.min(BANDS.length - 1, at)];

// What the colours of streets and of isochrones mean.
function legend() {
  const entries = (state.limits ?? []).map((limit, at) => [band(at), `${limit} min`]);
  if ($("by-speed").checked) {
    let least = 0;
    for (const [most, colour] of scaleOf(isDark())) {
      entries.push([colour, most < 999 ? `${least}–${most} km/h` : `over ${least} km/h`]);
      least = most;
    }
  }
  $("legend").hidden = !entries.length;
  $("legend").replaceChildren(...entries.map(([colour, text]) => {
    const row = document.createElement("li"), swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colour;
    row.append(swatch, text);
    return row;
  }));
}

// ---- tables ----

async function table() {
  layers.table.clearLayers();
  $("matrix").replaceChildren();
  if (state.stops.length < 2) return;
  const answer = await ask("table", ...asked("table", state.stops, { annotations: "duration" }));
  answer.sources.forEach((found, at) => { if (state.stops[at] && found) state.stops[at].name ||= found.name; });
  nameStops();
  const known = answer.durations.flat().filter((value) => value !== null), most = Math.max(...known, 1);
  answer.durations.forEach((row, from) => row.forEach((seconds, to) => {
    if (from >= to || seconds === null) return;
    const back = answer.durations[to][from];
    const line = L.polyline([state.stops[from], state.stops[to]], { pane: "table", weight: 5 - (3 * seconds) / most,
      color: colourOf(90 - (80 * seconds) / most, isDark()), opacity: 0.8 });
    line.bindTooltip(`${labelOf(from)}–${labelOf(to)}: ${duration(seconds)}${back === null ? "" : `, back ${duration(back)}`}`,
      { sticky: true }).addTo(layers.table);
  }));
  const made = document.createElement("table");
  made.setAttribute("aria-label", "Times between all places");
  const head = made.createTHead().insertRow();
  head.append(document.createElement("th"));
  const cell = (row, text, kind = "td") => {
    const one = document.createElement(kind);
    one.textContent = text;
    if (kind === "th") one.scope = row === head ? "col" : "row";
    row.append(one);
  };
  state.stops.forEach((_, at) => cell(head, labelOf(at), "th"));
  answer.durations.forEach((values, at) => {
    const row = made.insertRow();
    cell(row, labelOf(at), "th");
    values.forEach((seconds) => cell(row, seconds === null ? "–" : duration(seconds)));
  });
  $("matrix").replaceChildren(made);
  say(`Table of ${state.stops.length} places`);
}

// ---- areas and speeds ----

function drawAvoid() {
  layers.avoid.clearLayers();
  const look = { pane: "avoid", color: "#b3261e", weight: 2, fillOpacity: 0.2, dashArray: "6 4" };
  // In other modes clicks mean what is below the areas.
  const interactive = state.mode === "avoid" && !state.corners.length;
  state.avoid.forEach((ring, at) => {
    const area = L.polygon(ring.map(([lon, lat]) => [lat, lon]), { ...look, interactive }).addTo(layers.avoid);
    if (interactive) area.bindTooltip("Click to remove", { sticky: true }).on("click", (event) => {
      L.DomEvent.stop(event);
      state.avoid.splice(at, 1);
      changed();
    });
  });
  $("areas").replaceChildren(...state.avoid.map((ring, at) => {
    const row = document.createElement("li"), name = document.createElement("span"), remove = document.createElement("button");
    name.className = "name";
    name.textContent = `Area ${at + 1} to avoid, ${ring.length} corners`;
    remove.type = "button";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Remove area ${at + 1}`);
    remove.onclick = () => {
      state.avoid.splice(at, 1);
      changed();
      ($("areas").children[Math.min(at, state.avoid.length - 1)]?.querySelector("button") ?? $("map")).focus();
    };
    row.append(name, remove);
    return row;
  }));
  if (state.corners.length) {
    L.polyline(state.corners, { ...look, interactive: false }).addTo(layers.avoid);
    L.circleMarker(state.corners[0], { ...look, dashArray: null, radius: 7, fillOpacity: 1 })
      .on("click", (event) => { L.DomEvent.stop(event); closeArea(); }).addTo(layers.avoid);
  }
}

function closeArea() {
  if (state.corners.length > 2) state.avoid.push(state.corners.map(({ lat, lng }) => [+lng.toFixed(6), +lat.toFixed(6)]));
  state.corners = [];
  changed();
}

// Mark the street whose speed is asked for or set.
function drawStreet() {
  layers.street.clearLayers();
  $("set-speed").disabled = !street;
  $("street").textContent = street ? `${street.name || "Street without a name"}, ${street.kmh} km/h` : "Click a street.";
  if (street) L.polyline(street.lines, { pane: "street", color: "#f0a202", weight: 10, opacity: 0.7, interactive: false }).addTo(layers.street);
}

async function setSpeed() {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${$("token").value}` };
  const body = JSON.stringify({ profile: profile.name, speeds: { [street.way]: Number($("kmh").value) } });
  await ask("speeds", "speeds", { method: "POST", headers, body });
  street.kmh = Number($("kmh").value);
  drawStreet();
  streets.redraw();
  await refresh();
  say(`${street.name || "The street"} now has ${$("kmh").value} km/h`);
}

// ---- everything together ----

// While a place is dragged: one request at a time, always for where it is by then.
const soon = latest(() => refresh(true).catch(fail));

async function refresh(isDragged = false) {
  const { mode } = state;
  if (mode === "table") {
    clearRoutes();
    await table();
  } else {
    layers.table.clearLayers();
    $("matrix").replaceChildren();
    if (state.stops.length < 2 && mode !== "reach") say("");
    await route(isDragged);
  }
  if (state.origin) await reach(state.origin);
}

function changed() {
  soon.drop();
  drawStops();
  drawAvoid();
  remember();
  refresh().then(drawStops).catch((error) => {
    if (isOld(error)) return;
    clearRoutes();
    fail(error);
  });
}

function setMode(mode) {
  state.mode = mode;
  for (const button of $("modes").children) {
    const own = button.dataset.mode === mode;
    button.setAttribute("aria-checked", String(own));
    button.tabIndex = own ? 0 : -1;
  }
  $("help").textContent = HELP[mode];
  for (const id of ["reach", "speed"]) $(id).hidden = mode !== id;
  if (mode !== "reach") {
    state.origin = null;
    reach(null);
  }
  state.corners = [];
  street = null;
  drawStreet();
  changed();
}

map.on("click", ({ latlng, originalEvent }) => {
  // The second click of two is a part of a double click.
  if (ignoreClick || originalEvent?.detail > 1) return;
  if (state.mode === "avoid") {
    state.corners.push(latlng);
    drawAvoid();
    say(`${state.corners.length} corner${state.corners.length === 1 ? "" : "s"}`);
  } else if (state.mode === "reach") {
    state.origin = latlng;
    $("follow").checked = false;
    reach(latlng).catch(fail);
    remember();
  } else if (state.mode === "speed") {
    street = streets.streetAt(map, latlng);
    drawStreet();
    if (street) $("kmh").value = street.kmh;
    else $("street").textContent = "No street here.";
  } else add(latlng);
});

map.on("dblclick", () => {
  // Its first click was meant to zoom.
  if (state.mode === "avoid") {
    state.corners.pop();
    drawAvoid();
  } else if (state.stops.some(isNew)) {
    state.stops = state.stops.filter((stop) => !isNew(stop));
    changed();
  }
});
const isNew = ({ since }) => Date.now() - since < 700;

// One request at a time, always for where the pointer is by then, so that no isochrones queue up.
const follow = latest(async (place) => {
  if (state.mode !== "reach" || !$("follow").checked) return;
  state.origin = null;
  await reach(place).catch(fail);
});
map.on("mousemove", ({ latlng }) => follow(latlng));

$("map").addEventListener("keydown", (event) => {
  if (event.target !== $("map")) return;
  const drawing = state.mode === "avoid" && state.corners.length;
  if (event.key === "Enter" && drawing > 2) closeArea();
  else if (["Backspace", "Escape"].includes(event.key) && drawing) {
    event.preventDefault();
    state.corners = event.key === "Escape" ? [] : state.corners.slice(0, -1);
    drawAvoid();
    say(`${state.corners.length} corners`);
  }
  else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    map.fire("click", { latlng: map.getCenter() });
  }
});

// The middle of the map is marked for those who use keys.
addEventListener("keydown", () => document.body.classList.add("keys"), { capture: true });
addEventListener("pointerdown", () => document.body.classList.remove("keys"), { capture: true });

$("modes").addEventListener("click", ({ target }) => { if (target.dataset.mode) setMode(target.dataset.mode); });
$("modes").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const all = [...$("modes").children], next = all[(all.indexOf(event.target) + step + all.length) % all.length];
  setMode(next.dataset.mode);
  next.focus();
});
$("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("query").value, pair = text.match(/^\s*(-?\d+\.?\d*)\s*[,; ]\s*(-?\d+\.?\d*)\s*$/);
  $("found").replaceChildren();
  if (pair) {
    const place = L.latLng(Number(pair[1]), Number(pair[2]));
    $("query").value = "";
    look(place, 0);
    return map.fire("click", { latlng: place });
  }
  try {
    const url = `map/search/${encodeURIComponent(profile.name)}?q=${encodeURIComponent(text)}`;
    const { places } = await ask("search", url);
    if (!places.length) return say(`No street is called ${text}`, true);
    say(places.length === 1 ? "One street found" : `${places.length} streets found`);
    $("found").replaceChildren(...places.map((place) => {
      const row = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = place.name;
      button.onclick = () => {
        $("found").replaceChildren();
        $("query").value = "";
        look([place.lat, place.lon], 14);
        map.fire("click", { latlng: L.latLng(place.lat, place.lon) });
      };
      row.append(button);
      return row;
    }));
    $("found").querySelector("button").focus();
  } catch (error) {
    fail(error);
  }
});
for (const id of ["minutes", "reverse"]) $(id).addEventListener("change", () => reach(state.reached).catch(fail));
for (const id of ["alternatives", "metric"]) $(id).addEventListener("change", changed);
$("by-speed").addEventListener("change", () => { streets.repaint(); legend(); remember(); });
$("speed").addEventListener("submit", (event) => {
  event.preventDefault();
  setSpeed().catch(fail);
});
$("clear").addEventListener("click", () => {
  Object.assign(state, { stops: [], avoid: [], corners: [], origin: null, chosen: 0 });
  for (const layer of Object.values(layers)) layer.clearLayers();
  changed();
  say("");
});
$("share").addEventListener("click", async () => {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied");
  } catch {
    say("The link is in the address bar");
  }
});
$("profile").addEventListener("change", () => {
  choose($("profile").value);
  const [south, west, north, east] = profile.bounds, whole = L.latLngBounds([[south, west], [north, east]]);
  if (!whole.intersects(map.getBounds())) {
    // A graph of another region, where the places and areas of this one mean nothing.
    Object.assign(state, { stops: [], avoid: [], corners: [], origin: null, chosen: 0 });
    map.fitBounds(whole, beside());
  }
  street = null;
  drawStreet();
  streets.redraw();
  changed();
});
$("fold").addEventListener("click", () => {
  const folded = document.body.classList.toggle("folded");
  $("fold").setAttribute("aria-expanded", String(!folded));
  $("fold").textContent = folded ? "Show more" : "Show less";
  map.invalidateSize();
});
scheme.addEventListener("change", () => { streets?.repaint(); background.redraw(); legend(); changed(); });
map.on("moveend", () => remember());
map.on("zoomend", () => { if (state.reached) reach(state.reached).catch(fail); });

// ---- the link to this view ----

function remember() {
  if (!profile) return;
  const { lat, lng } = map.getCenter(), hash = new URLSearchParams();
  hash.set("at", `${lat.toFixed(5)},${lng.toFixed(5)},${map.getZoom()}`);
  hash.set("profile", profile.name);
  if (state.mode !== "route") hash.set("mode", state.mode);
  if (state.stops.length) hash.set("places", state.stops.map(lonLat).join(";"));
  if (state.origin) hash.set("origin", lonLat(state.origin));
  if (state.avoid.length) hash.set("avoid", state.avoid.map((ring) => ring.map((p) => p.join(",")).join(";")).join("|"));
  if (state.exclude.size) hash.set("exclude", [...state.exclude].join(","));
  if ($("metric").value !== "duration") hash.set("metric", $("metric").value);
  if ($("by-speed").checked) hash.set("speeds", "1");
  history.replaceState(null, "", `#${hash}`);
}

function recall() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const pairs = (text) => (text ?? "").split(";").map((pair) => pair.split(",").map(Number))
    .filter((pair) => pair.length === 2 && pair.every(Number.isFinite));
  const known = config.profiles.some(({ name }) => name === hash.get("profile"));
  choose(known ? hash.get("profile") : config.profiles[0].name);
  $("metric").value = hash.get("metric") === "distance" ? "distance" : "duration";
  $("by-speed").checked = hash.get("speeds") === "1";
  const [lat, lng, zoom] = (hash.get("at") ?? "").split(",").map(Number);
  if (Number.isFinite(lat) && Number.isFinite(lng) && Number.isFinite(zoom)) map.setView([lat, lng], zoom);
  else {
    const [south, west, north, east] = profile.bounds;
    map.fitBounds([[south, west], [north, east]], beside());
  }
  state.stops = pairs(hash.get("places")).map(([lon, at]) => ({ lat: at, lng: lon, name: "" }));
  state.avoid = (hash.get("avoid") ?? "").split("|").map(pairs).filter((ring) => ring.length > 2);
  for (const name of (hash.get("exclude") ?? "").split(",")) if (profile.classes.includes(name)) state.exclude.add(name);
  const [origin] = pairs(hash.get("origin")), mode = hash.get("mode");
  choose(profile.name);
  setMode(mode in HELP ? mode : "route");
  legend();
  if (origin && state.mode === "reach") {
    state.origin = L.latLng(origin[1], origin[0]);
    $("follow").checked = false;
    reach(state.origin).catch(fail);
  }
}

function choose(name) {
  profile = config.profiles.find((one) => one.name === name);
  // Raster tiles show all that the basemap has.
  if (!config.tiles) background.show(profile);
  $("profile").value = name;
  $("classes").replaceChildren(...profile.classes.map((one) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = state.exclude.has(one);
    box.onchange = () => { state.exclude[box.checked ? "add" : "delete"](one); changed(); };
    label.append(box, ` avoid ${one}`);
    return label;
  }));
}

try {
  config = await ask("config", "map/config.json");
  $("profile").replaceChildren(...config.profiles.map(({ name }) => new Option(name, name)));
  if (config.tiles) {
    const { url, attribution } = config.tiles;
    L.tileLayer(url, { attribution, maxZoom: 19, opacity: 0.85 }).addTo(map);
  }
  streets = streetLayer(L, { profile: () => profile.name, look: () => ({ bySpeed: $("by-speed").checked, dark: isDark() }) });
  recall();
  streets.addTo(map);
  if (!config.tiles) background.name(streets);
  document.documentElement.dataset.ready = "true";
} catch (error) {
  fail(error);
}
