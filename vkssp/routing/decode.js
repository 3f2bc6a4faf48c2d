// Decoding of what vkssp.routing.network encodes.
"use strict";

/** Integers from base64 of little-endian groups of seven bits, whose high bit says that more follow. */
function decode(text) {
  const data = atob(text), values = new Float64Array(data.length);
  let size = 0, value = 0, factor = 1;
  for (let i = 0; i < data.length; i++) {
    const byte = data.charCodeAt(i);
    value += (byte & 127) * factor;
    if (byte & 128) {
      factor *= 128;
    } else {
      values[size++] = value;
      value = 0;
      factor = 1;
    }
  }
  return values.subarray(0, size);
}

/** Points as latitude, longitude, latitude, ... in degrees from their encoded differences. */
function decodePoints(text, scale) {
  const values = decode(text);
  const sum = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const half = Math.floor(values[i] / 2);
    sum[i & 1] += values[i] % 2 ? -half - 1 : half;
    values[i] = sum[i & 1] / scale;
  }
  return values;
}

/** Sums of the counts before each, and of all. */
function offsets(counts) {
  const first = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) first[i + 1] = first[i] + counts[i];
  return first;
}
