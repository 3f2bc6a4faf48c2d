"""Lazy collections of dask over the blocks of an answer: arrays, DataFrames with a row for each pair, and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkssp.dask.blocks import Blocks
from vkssp.dask.question import Facts, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.solver.table_file import Block
from vkssp.solver.table_frames import long_frame

# Sums that a task adds up to one.
_BRANCHES = 8


def make_block(question: Question, first: int, end: int) -> Block:
    """Return some rows of an answer; a task of a worker."""
    return SOLVERS.block(question, first, end)


def make_array(question: Question, first: int, end: int, name: str) -> Any:
    """Return some rows of the only array of an answer; a task of a worker."""
    return SOLVERS.block(question, first, end)[name]


def taken(block: Block, name: str) -> Any:
    """Return one of the arrays of a block; a task of a worker."""
    return block[name]


def make_frame(question: Question, names: tuple[Any, Any], columns: tuple[str, str], first: int, end: int) -> Any:
    """Return the DataFrame of some rows of a table; a task of a worker."""
    return long_frame(SOLVERS.block(question, first, end), names[0][first:end], names[1], columns)


def asked(question: Question) -> Any:
    """Return the question as a node of its own in graphs of tasks, so that it reaches each worker once."""
    make = optional("dask.delayed", "lazy arrays need", "dask").delayed
    return make(question, name=f"vkssp-question-{question.token}", traverse=False)


def arrays(question: Question, facts: Facts, blocks: Blocks) -> dict[str, Any]:
    """Return a dask array for each array of the blocks of an answer; the arrays share their tasks."""
    array = optional("dask.array", "lazy arrays need", "dask")
    graphs = optional("dask.highlevelgraph", "lazy arrays need", "dask")
    node, rest = asked(question), facts.shape[1:]
    made = f"vkssp-rows-{question.token}-{blocks.rows}"
    rows = {(made, first): (make_block, node.key, first, end) for first, end in blocks.ranges()}
    layers, needed, below = dict(node.dask.layers), dict(node.dask.dependencies), {*node.dask.layers}
    is_alone = len(facts.dtypes) == 1
    if not is_alone:
        layers[made], needed[made], below = rows, below, {made}
    chunks, found = (blocks.sizes(), *((size,) for size in rest)), {}
    for name, dtype in facts.dtypes.items():
        key = f"vkssp-array-{name}-{question.token}-{blocks.rows}"
        parts = {
            (key, at, *(0 for _ in rest)): (make_array, node.key, first, end, name)
            if is_alone
            else (taken, (made, first), name)
            for at, (first, end) in enumerate(blocks.ranges())
        }
        graph = graphs.HighLevelGraph({**layers, key: parts}, {**needed, key: below})
        found[name] = array.Array(graph, key, chunks, dtype=dtype)
    return found


def frames(question: Question, facts: Facts, blocks: Blocks, names: tuple[Any, Any], columns: tuple[str, str]) -> Any:
    """Return a dask DataFrame with a row for each pair, and a partition for each block."""
    library = optional("dask.dataframe", "lazy DataFrames need", "dask")
    node, called, make = asked(question), delayed(tuple(map(np.asarray, names))), delayed(make_frame)
    parts = [make(node, called, columns, first, end) for first, end in blocks.ranges()]
    none: Block = {name: np.zeros((0, 0), dtype) for name, dtype in facts.dtypes.items()}
    empty = long_frame(none, called_none(names[0]), called_none(names[1]), columns)
    return library.from_delayed(parts, meta=empty, verify_meta=False)


def called_none(names: Any) -> Any:
    """Return an empty array of the type of names."""
    return np.asarray(names)[:0]


def tree_sum(question: Question, blocks: Blocks, make: Callable[..., Any], add: Callable[..., Any]) -> Any:
    """Return the lazy sum of what tasks make of blocks."""
    node, made, summed = asked(question), delayed(make), delayed(add)
    parts = [made(node, first, end) for first, end in blocks.ranges()]
    if not parts:
        raise QueryError("the graph has no nodes, and there is nothing to add up; give another one")
    while len(parts) > 1:
        parts = [summed(parts[at : at + _BRANCHES]) for at in range(0, len(parts), _BRANCHES)]
    return parts[0]


def delayed(value: Any) -> Any:
    """Return a function whose calls are tasks, or a value that reaches each worker once."""
    return optional("dask.delayed", "lazy values need", "dask").delayed(value, pure=False, traverse=False)
