"""Vector tiles: layers of points and lines in Mapbox's format, version 2.

The format is a protocol buffer: https://github.com/mapbox/vector-tile-spec/tree/master/2.1.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from vkssp.jit import kernels

#: Units of a tile along its side.
EXTENT = 4096
_VERSION = 2


def layer(
    name: str,
    points: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int64],
    properties: Mapping[str, npt.NDArray[np.generic]],
) -> bytes:
    """Return a layer, encoded; a tile is the layers in sequence.

    Parameters
    ----------
    name : str
        Name of the layer.
    points : numpy.ndarray
        Units of the tile to the east and to the south, shape (k, 2) for points or (k, n, 2) for lines of n points,
        int64.
    ids : numpy.ndarray
        Ids of the features, shape (k,), int64, not negative.
    properties : mapping of str to numpy.ndarray
        Values of the features for each key, shape (k,) each: bool, int64, float32 or texts.
    """
    count, per_feature = len(ids), 1 if points.ndim == 2 else points.shape[1]
    tags = np.zeros((count, len(properties)), np.int64)
    values: list[bytes] = []
    for column, each in enumerate(properties.values()):
        unique, inverse = np.unique(each, return_inverse=True)
        tags[:, column] = inverse.reshape(-1) + len(values)
        values += map(_value, unique.tolist())
    out = np.empty(count * (48 + 10 * len(properties) + 20 * per_feature), np.uint8)
    first = np.arange(count + 1) * per_feature
    flat = np.ascontiguousarray(points.reshape(-1, 2))
    size = kernels("vkssp.server.kernels.vector_tile").write_features(ids, tags, first, flat, out)
    body = [_field(1, name.encode()), out[:size].tobytes()]
    body += [_field(3, key.encode()) for key in properties]
    body += [_field(4, value) for value in values]
    body += [b"\x28", _varint(EXTENT), b"\x78", _varint(_VERSION)]
    return _field(3, b"".join(body))


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return b"\x38" + _varint(value)
    if isinstance(value, int):
        return b"\x30" + _varint(value << 1 ^ value >> 63) if value < 0 else b"\x28" + _varint(value)
    if isinstance(value, float):
        return b"\x15" + struct.pack("<f", value)
    return _field(1, str(value).encode())


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
