"""Extracts in other blocks than their writer made, with the same objects in the same order."""

from __future__ import annotations

from itertools import accumulate, pairwise

from tests.support.mutations import blobs_of, fields_of, message_of, packed_blob, varint

Field = tuple[int, int | bytes]


def reblocked(data: bytes, size: int) -> bytes:
    """Return a .osm.pbf file with so many objects in each block at the most, without versions and users."""
    return joined(blocks_of(data, size))


def joined(blocks: list[tuple[bytes, bytes]]) -> bytes:
    """Return a file of some blobs, each a type and a content."""
    return b"".join(packed_blob(*block) for block in blocks)


def blocks_of(data: bytes, size: int) -> list[tuple[bytes, bytes]]:
    """Return the blobs of `reblocked`."""
    header, *blocks = blobs_of(data)
    made = [header]
    for kind, block in blocks:
        (_, table), *rest = fields_of(block)
        for group in (_bytes(value) for field, value in rest if field == 2):
            objects = fields_of(group)
            parts = _dense_parts(objects, size) if objects[0][0] == 2 else _parts(objects, size)
            made += [(kind, message_of([(1, table), (2, message_of(part))])) for part in parts]
    return made


def numbers_of(data: bytes) -> list[int]:
    """Return the numbers of a packed field."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def _parts(objects: list[Field], size: int) -> list[list[Field]]:
    return [objects[at : at + size] for at in range(0, len(objects), size)]


def _dense_parts(objects: list[Field], size: int) -> list[list[Field]]:
    """Return nodes in several messages: the first of each gives its id and place, the others the steps to theirs."""
    ((_, message),) = objects
    assert isinstance(message, bytes)
    packed = dict(fields_of(message))
    columns = {
        field: list(accumulate((step >> 1) ^ -(step & 1) for step in numbers_of(_bytes(packed[field]))))
        for field in (1, 8, 9)
    }
    texts: list[bytes] = [b""]
    is_key = True
    for number in numbers_of(_bytes(packed.get(10, b""))):
        texts[-1] += varint(number)
        if is_key and number == 0:
            texts.append(b"")
        else:
            is_key = not is_key
    parts = []
    for at in range(0, len(columns[1]), size):
        fields: list[Field] = []
        for field, values in columns.items():
            steps = [b - a for a, b in pairwise([0, *values[at : at + size]])]
            fields.append((field, b"".join(varint(2 * step if step >= 0 else -2 * step - 1) for step in steps)))
        if len(texts) > 1:
            fields.append((10, b"".join(texts[at : at + size])))
        parts.append([(2, message_of(fields))])
    return parts


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value
