"""Operations on numbers, and on eight consecutive elements at once, which kernels call.

numba compiles a function for each `min` and `max` of other types; the operations here are instructions.

LLVM turns no loop over a few elements of one array into vector operations, since it cannot know that the elements do
not overlap. So these operations are written as its vector operations, which work on all processors. A sum of at least
2**32 - 1 is 2**32 - 1, the distance of unreachable nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core import extending

# Type checkers would see functions with other parameters than those of kernels' calls.
intrinsic: Callable[[Callable[..., Any]], Any] = extending.intrinsic
cgutils: Any = _cgutils
_WIDTH = 8
_WORD = ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, _WIDTH)
_UNREACHABLE = ir.Constant(_VECTOR, [2**32 - 1] * _WIDTH)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return a pointer to a vector, the elements of an array from an index on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    loaded = builder.load(place)
    loaded.align = 4
    return loaded


def _store(builder: Any, vector: Any, place: Any) -> None:
    builder.store(vector, place).align = 4


def _repeated(builder: Any, value: Any) -> Any:
    """Return a vector of equal elements."""
    lone = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(lone, lone, ir.Constant(_VECTOR, [0] * _WIDTH))


def _call(builder: Any, name: str, *vectors: Any) -> Any:
    kind = ir.FunctionType(_WORD if "reduce" in name else _VECTOR, [_VECTOR] * len(vectors))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{_WIDTH}i32"), vectors)


def _select(comparison: str, kind: Any) -> Any:
    """Return the generator of one of two numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
        return builder.select(compare(comparison, *arguments), *arguments)

    return kind(kind, kind), generate


@intrinsic
def lesser(context: Any, one: Any, other: Any) -> Any:
    """Return the lesser of two integers of the same type."""
    return _select("<", one) if one == other else None


@intrinsic
def greater(context: Any, one: Any, other: Any) -> Any:
    """Return the greater of two integers of the same type."""
    return _select(">", one) if one == other else None


@intrinsic
def lowest_bit(context: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set in a word, of which one is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic
def lower(context: Any, array: Any, at: Any, value: Any) -> Any:
    """Lower an element of an array to a value, if it is greater."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, value = arguments
        place = builder.gep(context.make_array(signature.args[0])(context, builder, array).data, [at])
        before = builder.load(place)
        builder.store(builder.select(builder.icmp_unsigned("<", value, before), value, before), place)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint32), generate


@intrinsic
def fetch(context: Any, array: Any, at: Any) -> Any:
    """Have the processor fetch an element of an array into its caches, by its place in memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at = arguments
        place = builder.gep(context.make_array(signature.args[0])(context, builder, array).data, [at])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To read, as often as other data, data and not instructions.
        builder.call(call, [builder.bitcast(place, byte), *(ir.Constant(word, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def fill_8(context: Any, array: Any, to: Any, value: Any) -> Any:
    """Set the elements of an array from `to` on to a value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, to, value = arguments
        _store(builder, _repeated(builder, value), _place(context, builder, signature.args[0], array, to))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint32), generate


@intrinsic
def improve_8(context: Any, array: Any, to: Any, other: Any, source: Any, plus: Any) -> Any:
    """Improve the elements of an array from `to` on by those of another from `source` on, plus a weight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, to, other, source, plus = arguments
        target = _place(context, builder, signature.args[0], array, to)
        others = _load(builder, _place(context, builder, signature.args[2], other, source))
        through = _call(builder, "uadd.sat", others, _repeated(builder, plus))
        _store(builder, _call(builder, "umin", _load(builder, target), through), target)
        return context.get_dummy_value()

    return types.void(array, types.uint64, other, types.uint64, types.uint32), generate


@intrinsic
def raise_8(context: Any, array: Any, to: Any, other: Any, source: Any) -> Any:
    """Raise the elements of an array from `to` on to those of another from `source` on that are not 2**32 - 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, to, other, source = arguments
        target = _place(context, builder, signature.args[0], array, to)
        others = _load(builder, _place(context, builder, signature.args[2], other, source))
        is_none = builder.icmp_unsigned("==", others, _UNREACHABLE)
        finite = builder.select(is_none, ir.Constant(_VECTOR, [0] * _WIDTH), others)
        _store(builder, _call(builder, "umax", _load(builder, target), finite), target)
        return context.get_dummy_value()

    return types.void(array, types.uint64, other, types.uint64), generate


@intrinsic
def least_sum(context: Any, array: Any, first: Any, other: Any, source: Any, count: Any) -> Any:
    """Return the least sum of elements of two arrays, of `count` elements rounded up to a multiple of 8."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, first, other, source, count = arguments
        best = cgutils.alloca_once_value(builder, _UNREACHABLE)
        start, step = ir.Constant(count.type, 0), ir.Constant(count.type, _WIDTH)
        with cgutils.for_range_slice(builder, start, count, step) as (at, _):
            places = ((signature.args[0], array, first), (signature.args[2], other, source))
            sides = [_load(builder, _place(context, builder, kind, of, builder.add(to, at))) for kind, of, to in places]
            builder.store(_call(builder, "umin", _call(builder, "uadd.sat", *sides), builder.load(best)), best)
        return _call(builder, "vector.reduce.umin", builder.load(best))

    return types.uint32(array, types.uint64, other, types.uint64, types.uint64), generate


@intrinsic
def mark_8(
    context: Any, marks: Any, to: Any, array: Any, head: Any, tail: Any, plus: Any, limit: Any, value: Any
) -> Any:
    """Set the marks from `to` on that are 0 to a value where an arc is tight.

    It is where the elements of an array from `tail` on, plus a weight, are those from `head` on, up to a limit.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        marks, to, array, head, tail, plus, limit, value = arguments
        target = _place(context, builder, signature.args[0], marks, to)
        heads, tails = (_load(builder, _place(context, builder, signature.args[2], array, at)) for at in (head, tail))
        before, through = _load(builder, target), builder.add(tails, _repeated(builder, plus))
        conditions = (
            builder.icmp_unsigned("==", through, heads),
            builder.icmp_unsigned(">=", through, tails),  # the sum fits
            builder.icmp_unsigned("<=", heads, _repeated(builder, limit)),
            builder.icmp_unsigned("==", before, ir.Constant(_VECTOR, [0] * _WIDTH)),
        )
        is_first = conditions[0]
        for condition in conditions[1:]:
            is_first = builder.and_(is_first, condition)
        _store(builder, builder.select(is_first, _repeated(builder, value), before), target)
        return context.get_dummy_value()

    words = (types.uint64,) * 2
    return types.void(marks, types.uint64, array, *words, *(types.uint32,) * 3), generate
