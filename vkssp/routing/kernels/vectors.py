"""Operations on consecutive elements of a block's field of distances, and on boxes of streets, which kernels call.

They are written as LLVM's vector operations, since rows of a block, and groups of boxes, are too short for loops that
LLVM vectorizes.
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
_DOUBLE, _FLOAT, _WORD, _LONG = ir.DoubleType(), ir.FloatType(), ir.IntType(32), ir.IntType(64)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any, width: int) -> Any:
    """Return a pointer to a vector, the elements of an array from an index on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), ir.VectorType(_DOUBLE, width).as_pointer())


def _load(builder: Any, place: Any) -> Any:
    loaded = builder.load(place)
    loaded.align = 8
    return loaded


def _repeated(builder: Any, value: Any, width: int) -> Any:
    """Return a vector of equal elements."""
    kind = ir.VectorType(_DOUBLE, width)
    lone = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(lone, lone, ir.Constant(ir.VectorType(_WORD, width), [0] * width))


@intrinsic
def lower_by_piece(
    context: Any,
    field: Any,
    to: Any,
    across: Any,
    column: Any,
    x0: Any,
    height: Any,
    dx: Any,
    dy: Any,
    inverse: Any,
    square: Any,
) -> Any:
    """Lower four squared distances from `to` on to those from a piece of a line.

    `across` has the x of the nodes, from `column` on. The piece begins at `x0`, `height` below the nodes, and leads by
    `dx` and `dy`; `inverse` is 1 over the square of its length, `square` the factor of squares of the plane.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = 4
        field, to, across, column, *numbers = arguments
        x0, height, dx, dy, inverse, square = (_repeated(builder, number, width) for number in numbers)
        zero, one = (ir.Constant(x0.type, [value] * width) for value in (0.0, 1.0))
        target = _place(context, builder, signature.args[0], field, to, width)
        ax = builder.fsub(_load(builder, _place(context, builder, signature.args[2], across, column, width)), x0)
        part = builder.fmul(builder.fadd(builder.fmul(ax, dx), builder.fmul(height, dy)), inverse)
        part = builder.select(builder.fcmp_ordered(">", part, zero), part, zero)
        part = builder.select(builder.fcmp_ordered("<", part, one), part, one)
        ax, ay = builder.fsub(ax, builder.fmul(part, dx)), builder.fsub(height, builder.fmul(part, dy))
        distance = builder.fmul(builder.fadd(builder.fmul(ax, ax), builder.fmul(ay, ay)), square)
        before = _load(builder, target)
        least = builder.select(builder.fcmp_ordered("<", distance, before), distance, before)
        builder.store(least, target).align = 8
        return context.get_dummy_value()

    return types.void(field, types.int64, across, types.int64, *(types.float64,) * 6), generate


@intrinsic
def within_8(context: Any, field: Any, at: Any, limit: Any) -> Any:
    """Return a bit for each of eight elements from `at` on, 1 if it is no greater than a limit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        field, at, limit = arguments
        width = 8
        values = _load(builder, _place(context, builder, signature.args[0], field, at, width))
        bits = builder.fcmp_ordered("<=", values, _repeated(builder, limit, width))
        return builder.zext(builder.bitcast(bits, ir.IntType(width)), _LONG)

    return types.uint64(field, types.int64, types.float64), generate


@intrinsic
def copy_8(context: Any, source: Any, at: Any, target: Any, to: Any) -> Any:
    """Copy eight elements of an array of doubles, from `at` on, to places from `to` on of another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, at, target, to = arguments
        copied = _load(builder, _place(context, builder, signature.args[0], source, at, 8))
        builder.store(copied, _place(context, builder, signature.args[2], target, to, 8)).align = 8
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


@intrinsic
def boxes_within(context: Any, boxes: Any, group: Any, lat: Any, lon: Any, up: Any, aside: Any) -> Any:
    """Return a bit for each of the eight boxes of a group, 1 if it is within `up` and `aside` degrees of a place.

    `boxes` are those of a `StreetTree`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = 8
        boxes, group, *numbers = arguments
        lat, lon, up, aside = (_repeated(builder, number, width) for number in numbers)
        data = context.make_array(signature.args[0])(context, builder, boxes).data
        here = builder.gep(data, [builder.mul(group, ir.Constant(_LONG, 4 * width))])
        here = builder.bitcast(here, ir.VectorType(_FLOAT, width).as_pointer())
        sides = []
        for side in range(4):
            loaded = builder.load(builder.gep(here, [ir.Constant(_LONG, side)]))
            loaded.align = 4
            sides.append(builder.fpext(loaded, ir.VectorType(_DOUBLE, width)))
        south, west, north, east = sides
        is_near = builder.fcmp_ordered("<=", builder.fsub(south, lat), up)
        for low, high, most in ((lat, north, up), (west, lon, aside), (lon, east, aside)):
            is_near = builder.and_(is_near, builder.fcmp_ordered("<=", builder.fsub(low, high), most))
        return builder.zext(builder.bitcast(is_near, ir.IntType(width)), _LONG)

    return types.uint64(boxes, types.int64, *(types.float64,) * 4), generate


@intrinsic
def lowest_bit(context: Any, bits: Any) -> Any:
    """Return the number of the lowest bit that is 1, of bits that are not all 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
