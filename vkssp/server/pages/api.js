// Requests to the server; a newer request of a kind ends the one before.
const running = new Map();

export async function ask(kind, url, options = {}) {
  running.get(kind)?.abort();
  const control = new AbortController();
  running.set(kind, control);
  try {
    const response = await fetch(url, { ...options, signal: control.signal });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.message || `status ${response.status}`);
    return answer;
  } finally {
    if (running.get(kind) === control) running.delete(kind);
  }
}

// Wrap work that a moving pointer asks for: it runs once at a time, then again for the newest call that came meanwhile.
export function latest(work) {
  let isRunning = false, next = null;
  const run = async (...given) => {
    next = given;
    if (isRunning) return;
    isRunning = true;
    try {
      while (next) {
        const now = next;
        next = null;
        await work(...now);
        await new Promise((painted) => requestAnimationFrame(painted));
      }
    } finally {
      isRunning = false;
    }
  };
  // Forget a call that waits.
  run.drop = () => { next = null; };
  return run;
}

export const isOld = (error) => error.name === "AbortError";

export const lonLat = (place) => `${place.lng.toFixed(6)},${place.lat.toFixed(6)}`;

export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const distance = (metres) => (metres < 1000 ? `${Math.round(metres)} m` : `${(metres / 1000).toFixed(1)} km`);

// A line as OSRM encodes it with six decimals.
export function decoded(text) {
  const points = [];
  let at = 0, lat = 0, lon = 0;
  const next = () => {
    let result = 0, shift = 0, byte;
    do {
      byte = text.charCodeAt(at++) - 63;
      result |= (byte & 31) << shift;
      shift += 5;
    } while (byte >= 32);
    return result & 1 ? ~(result >> 1) : result >> 1;
  };
  while (at < text.length) {
    lat += next();
    lon += next();
    points.push([lat / 1e6, lon / 1e6]);
  }
  return points;
}
