// Clients in JavaScript: each asks a server, and compares what it gets with what Router has found.
// Usage: node node_clients.js CLIENT URL CASES.json, in a folder with the packages. Prints one object of JSON.
'use strict';
const fs = require('fs');
const [name, url, file] = process.argv.slice(2);
const cases = JSON.parse(fs.readFileSync(file));
const failed = [];
let count = 0;

const check = (what, holds) => { count += 1; if (!holds) failed.push(what.slice(0, 300)); };
const near = (what, got, expected, within = 0.11) => {
  const [one, two] = [[got].flat(Infinity), [expected].flat(Infinity)];
  const same = one.length === two.length
    && one.every((value, at) => value === two[at] || Math.abs(value - two[at]) <= within);
  check(`${what}: ${JSON.stringify(got)} is not ${JSON.stringify(expected)}`, same);
};
const text = (places) => places.map((place) => place.join(',')).join(';');
const ask = async (path) => (await fetch(url + path)).json();

const CLIENTS = {
  // Instructions in all languages, for each step of each route.
  'osrm-text-instructions': async () => {
    const instructions = require('osrm-text-instructions')('v5');
    const languages = require('osrm-text-instructions/languages').supportedCodes;
    for (const { places } of [...cases.routes, ...cases.instructions]) {
      const answer = await ask(`/route/v1/driving/${text(places)}?steps=true&alternatives=true`);
      for (const route of answer.routes) {
        route.legs.forEach((leg, legIndex) => leg.steps.forEach((step) => languages.forEach((language) => {
          let told = '';
          try {
            told = instructions.compile(language, step, { legCount: route.legs.length, legIndex });
          } catch (error) {
            told = String(error);
          }
          check(`${language}, ${JSON.stringify(step.maneuver)}: ${told}`,
            told.trim() && !/undefined|null|NaN|Error|[{}]/.test(told));
        })));
      }
    }
  },

  '@mapbox/polyline': async () => {
    const polyline = require('@mapbox/polyline');
    for (const { places, geometry } of cases.routes) {
      for (const [form, digits] of [['polyline', 5], ['polyline6', 6]]) {
        const answer = await ask(`/route/v1/driving/${text(places)}?overview=full&geometries=${form}`);
        near(form, polyline.toGeoJSON(answer.routes[0].geometry, digits).coordinates, geometry, 1.01 * 10 ** -digits);
      }
    }
  },

  'osrm-rest-client': async () => {
    const { OSRM } = require('osrm-rest-client');
    const client = OSRM({ osrm: url });
    for (const { places, duration, legs } of cases.routes) {
      const answer = await client.route({ coordinates: places, steps: true, annotations: true });
      near('duration', answer.routes[0].duration, duration);
      near('legs', answer.routes[0].legs.map((leg) => leg.duration), legs);
    }
    for (const { place, location } of cases.nearest) {
      const answer = await client.nearest({ coordinates: [place], number: 1 });
      near('location', answer.waypoints[0].location, location, 1.1e-6);
    }
    const table = await client.table({ coordinates: cases.table.places });
    near('durations', table.durations, cases.table.durations);
    const part = await client.table({ coordinates: cases.table.places, sources: [0], destinations: [1, 2] });
    near('part of a table', part.durations, [cases.table.durations[0].slice(1, 3)]);
    const trip = await client.trip({ coordinates: cases.trip.places });
    near('trip', trip.trips[0].duration, cases.trip.duration, 0.5);
    const match = await client.match({ coordinates: cases.match.places, overview: 'full' });
    near('match', match.matchings[0].duration, cases.match.duration, 0.2);
  },

  '@mapbox/vector-tile': async () => {
    const { VectorTile } = await import('@mapbox/vector-tile');
    const Pbf = await import('pbf');
    for (const { x, y, z, pieces, nodes } of cases.tiles) {
      const data = await (await fetch(`${url}/tile/v1/driving/tile(${x},${y},${z}).mvt`)).arrayBuffer();
      const { layers } = new VectorTile(new (Pbf.PbfReader || Pbf.default)(new Uint8Array(data)));
      const inside = (number) => number > 1 && number < layers.speeds.extent - 1;
      const got = [];
      for (let at = 0; at < layers.speeds.length; at += 1) {
        const feature = layers.speeds.feature(at);
        const line = feature.loadGeometry()[0].flatMap((point) => [point.x, point.y]);
        if (line.every(inside)) got.push([...line, feature.properties.speed]);
      }
      const matched = pieces.every((piece) => {
        const at = got.findIndex((one) => one.every((value, i) => Math.abs(value - piece[i]) <= 1));
        if (at >= 0) got.splice(at, 1);
        return at >= 0;
      });
      check(`pieces of streets: ${got.length} left over`, matched && !got.length);
      const ids = new Set();
      for (let at = 0; at < layers.osmnodes.length; at += 1) ids.add(layers.osmnodes.feature(at).id);
      check('OSM nodes', nodes.every((node) => ids.has(node)));
    }
  },
};

CLIENTS[name]().then(() => console.log(JSON.stringify({ checks: count, failed })));
