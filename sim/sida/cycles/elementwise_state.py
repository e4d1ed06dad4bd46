"""State of the cycle model of the element-wise core: fields of the machine's record, a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.elementwise.instructions import INSTRUCTIONS, REDUCTIONS
from ....hw.spec.formats import FloatFormat
from ....hw.spec.sida import SidaConfig
from ...timing.parts import QUEUE, fields

END, LOAD, STORE, OUT, DIVIDE, ROOT, REDUCE, PLAIN = range(8)
"""Kinds of instructions."""

IDLE, TAKE, RUN, DRAIN, TOTALS = range(5)
"""States of a part."""

_KINDS = {"end": END, "load": LOAD, "store": STORE, "out": OUT, "div": DIVIDE, "sqrt": ROOT,
          **dict.fromkeys(REDUCTIONS, REDUCE)}  # fmt: skip
_MOST_ROWS = 8
_MOST_PAIRS = 8
# Behind the digits of a quotient or a root: whether there are more, and two cycles of rounding.
_ROUNDING = 3

_WALK = np.dtype(fields("base", "left"))
_STEP = np.dtype(fields("kind", "first", "kept", "vector", "base", "place"))

ELEMENTWISE: list[tuple[Any, ...]] = [
    # The configuration: rows of a block; cycles of a lane, of a quotient and a root, of a row's
    # reduction, of an adder; partial results, and of each pair of them the second.
    *fields("block_rows", "lane_stages", "divide_cycles", "root_cycles", "reduce_cycles"),
    *fields("adder_stages", "partials"),
    ("pair_second", np.int64, (_MOST_PAIRS,)),
    # The sequencer.
    *fields("core_state", "core_place", "part_entry", "core_row", "wait_left", "result_given"),
    *fields("part_stored", "core_before"),
    ("core_block", _WALK),
    # A step is issued; an iteration may start, and what is left of one; the lanes hold the result
    # of an iteration, and its instruction.
    *fields("core_valid", "fresh", "iteration", "iteration_kept", "iteration_place"),
    ("core_step", _STEP),
    # Reductions: rows on their way; what is finished at the end of a part.
    *fields("flight", "finish_step", "finish_left", "finishes", "finish_waits"),
    # The load walker, and what it asks for.
    *fields("load_runs", "load_place", "load_stored"),
    ("load_block", _WALK),
    ("core_request", np.dtype(fields("valid", "vector", "base", "rows"))),
    # Rows of results, and those that go to memory.
    ("core_result", np.dtype(fields("valid", "base"))),
    ("core_store", np.dtype(fields("valid", "vector", "base"))),
    # In this cycle: the core takes a row, and what it gives is taken.
    *fields("row_taken", "result_taken"),
    # Set while the second part runs.
    *fields("runs_second"),
    # The row packer.
    *fields("pack_rest", "pack_pushes"),
    ("packed", QUEUE),
    # SumRows.
    *fields("sum_row", "sum_there"),
]
"""Fields of the machine."""


class Program(NamedTuple):
    """Decoded program, one entry per word: the kind of the instruction, its vector, and whether a
    quotient or a root has only scalar operands."""

    kind: Any
    vector: Any
    of_scalars: Any


def program(words: Sequence[int]) -> Program:
    """Decodes instruction words."""
    names = {one.opcode: name for name, one in INSTRUCTIONS.items()}
    kind = [_KINDS.get(names[word & 63], PLAIN) for word in words]
    # The highest bit of an operand's number says that it is a scalar's.
    first, second = (np.array([word >> bit & 1 for word in words]) for bit in (17, 23))
    divides = np.array(kind) == DIVIDE
    return Program(
        kind=np.array(kind, np.int64),
        vector=np.array([word >> 24 & 15 for word in words]),
        of_scalars=np.where(divides, first & second, first),
    )


def set_up_elementwise(m: Any, config: SidaConfig) -> None:
    """Sets up the element-wise core of a machine of zeros, as after a reset."""
    fmt, stages = config.format, config.adder_stages
    if isinstance(fmt, FloatFormat):
        m["divide_cycles"] = fmt.significand_bits + 2 + _ROUNDING
        m["root_cycles"] = fmt.significand_bits + 1 + _ROUNDING
    m["block_rows"] = min(_MOST_ROWS, config.subtensor // config.pes)
    m["lane_stages"] = config.multiplier_stages + 1
    m["reduce_cycles"] = (config.pes.bit_length() - 1) * stages + stages
    m["adder_stages"], m["partials"] = stages, config.partials
    m["fresh"] = 1
    left, seconds = list(range(config.partials)), []
    while len(left) > 1:
        seconds += left[1::2]
        left = left[::2]
    m["pair_second"][: len(seconds)] = seconds
