"""Operations on distances of 32 or 64 bits, and on the entries of a heap, which kernels call.

The type of an array of distances, or of a heap, determines the operation when a kernel is compiled; an operation is one
or two instructions. An entry of a heap is a distance and a node, and entries are ordered by distance, then by node.
With distances of 32 bits it is a uint64 with the distance in the upper half, so that four children of an entry take 32
bytes, and a heap is an array of shape (n,). With distances of 64 bits it is two uint64, and a heap has shape (n, 2).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils

from vkssp.cpu.kernels.vectors import intrinsic

cgutils: Any = _cgutils
_WORD, _DOUBLE = ir.IntType(64), ir.IntType(128)
_PAIR: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]
_EMPTY = ir.Constant(_WORD, 2**64 - 1)


def _is_wide(heap: Any) -> bool:
    """Return whether a heap has distances of 64 bits."""
    return bool(heap.ndim == 2)


def _places(context: Any, builder: Any, kind: Any, heap: Any, at: Any) -> list[Any]:
    """Return pointers to the words of an entry: a single one, or its distance and its node."""
    data = context.make_array(kind)(context, builder, heap).data
    if not _is_wide(kind):
        return [builder.gep(data, [at])]
    first = builder.shl(at, ir.Constant(_WORD, 1))
    return [builder.gep(data, [first]), builder.gep(data, [builder.add(first, ir.Constant(_WORD, 1))])]


@intrinsic
def unreachable(context: Any, dist: Any) -> Any:
    """Return the distance of unreachable nodes in an array: the largest number of its type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.uint64, 2**dist.dtype.bitwidth - 1)

    return types.uint64(dist), generate


@intrinsic
def extended(context: Any, dist: Any, distance: Any, weight: Any) -> Any:
    """Return the sum of a distance and a weight; at least `unreachable` if it does not fit into the type of `dist`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, one, other = arguments
        if dist.dtype.bitwidth < 64:  # the sum of two such numbers is at most half of what uint64 holds
            return builder.add(one, other)
        kind = ir.FunctionType(_WORD, [_WORD, _WORD])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.uadd.sat.i64"), [one, other])

    return types.uint64(dist, types.uint64, types.uint64), generate


@intrinsic
def entry_of(context: Any, heap: Any, distance: Any, node: Any) -> Any:
    """Return the entry of a node at a distance."""
    kind = _PAIR if _is_wide(heap) else types.uint64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, far, name = arguments
        if kind is _PAIR:
            return context.make_tuple(builder, _PAIR, [far, name])
        return builder.or_(builder.shl(far, ir.Constant(_WORD, 32)), name)

    return kind(heap, types.uint64, types.uint64), generate


@intrinsic
def distance_of(context: Any, entry: Any) -> Any:
    """Return the distance of an entry."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if entry == _PAIR:
            return builder.extract_value(arguments[0], 0)
        return builder.lshr(arguments[0], ir.Constant(_WORD, 32))

    return types.uint64(entry), generate


@intrinsic
def node_of(context: Any, entry: Any) -> Any:
    """Return the node of an entry."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if entry == _PAIR:
            return builder.extract_value(arguments[0], 1)
        return builder.and_(arguments[0], ir.Constant(_WORD, 2**32 - 1))

    return types.uint64(entry), generate


@intrinsic
def precedes(context: Any, one: Any, other: Any) -> Any:
    """Return whether an entry comes before another one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if one != _PAIR:
            return builder.icmp_unsigned("<", *arguments)

        def whole(pair: Any) -> Any:
            far, node = (builder.zext(builder.extract_value(pair, place), _DOUBLE) for place in (0, 1))
            return builder.or_(builder.shl(far, ir.Constant(_DOUBLE, 64)), node)

        return builder.icmp_unsigned("<", *map(whole, arguments))

    return types.boolean(one, other) if one == other else None, generate


@intrinsic
def load(context: Any, heap: Any, at: Any) -> Any:
    """Return an entry of a heap."""
    kind = _PAIR if _is_wide(heap) else types.uint64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [builder.load(place) for place in _places(context, builder, heap, *arguments)]
        return words[0] if len(words) == 1 else context.make_tuple(builder, _PAIR, words)

    return kind(heap, types.uint64), generate


@intrinsic
def store(context: Any, heap: Any, at: Any, entry: Any) -> Any:
    """Put an entry into a heap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, value = arguments
        places = _places(context, builder, heap, array, index)
        for number, place in enumerate(places):
            builder.store(value if len(places) == 1 else builder.extract_value(value, number), place)
        return context.get_dummy_value()

    return types.void(heap, types.uint64, entry), generate


@intrinsic
def clear(context: Any, heap: Any, at: Any) -> Any:
    """Put an entry that comes after all others into a heap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for place in _places(context, builder, heap, *arguments):
            builder.store(_EMPTY, place)
        return context.get_dummy_value()

    return types.void(heap, types.uint64), generate
