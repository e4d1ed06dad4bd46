"""Cycle model of ``EwiseCore``: the order of instructions, and their waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.elementwise.instructions import INSTRUCTIONS, REDUCTIONS
from ....hw.spec.formats import FloatFormat
from ....hw.spec.sida import SidaConfig
from ...timing.compiled import inlined
from ...timing.parts import QUEUE, fields, queue_step

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
    *fields("flight", "finish_asked", "finish_step", "finish_left", "finishes", "finish_waits"),
    # The load walker, and what it asks for.
    *fields("load_runs", "load_place", "load_stored"),
    ("load_block", _WALK),
    ("core_request", np.dtype(fields("valid", "vector", "base", "rows"))),
    ("spare_request", np.dtype(fields("valid", "vector", "base", "rows"))),
    # Rows of results, and those that go to memory.
    ("core_result", np.dtype(fields("valid", "base"))),
    ("core_store", np.dtype(fields("valid", "vector", "base"))),
    ("spare_store", np.dtype(fields("valid", "vector", "base"))),
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
    m["reduce_cycles"] = 1 + config.pes.bit_length() * stages
    m["adder_stages"], m["partials"] = stages, config.partials
    m["fresh"] = 1
    left, seconds = list(range(config.partials)), []
    while len(left) > 1:
        seconds += left[1::2]
        left = left[::2]
    m["pair_second"][: len(seconds)] = seconds


@inlined
def packer_step(m: Any, takes: bool) -> None:
    """Advances one cycle with the first product's ``results``; ``takes``: a row is accepted."""
    given = m.results
    queue_step(m.packed, m.pack_pushes != 0, takes)
    count = given.columns if given.valid else 0
    end = (given.base & (m.pes - 1)) + count
    ends = given.base + count == m.rows
    complete = count != 0 and (end >= m.pes or ends)
    m.pack_pushes = complete or m.pack_rest
    m.pack_rest = complete and ends and end > m.pes


@inlined
def sum_rows_step(m: Any, takes: bool) -> None:
    """Advances one cycle; ``takes``: a row is accepted."""
    moves = m.sum_there and takes
    last = m.sum_row == (m.rows - 1) >> m.pes_shift
    if moves:
        m.sum_row += 1
    if moves and last:
        m.sum_there = 0
    elif m.second:
        m.sum_there = 1
    if m.second:
        m.sum_row = 0


@inlined
def begin_block(m: Any, block: Any) -> None:
    """Starts a walk over blocks."""
    block.base = 0
    block.left = (m.rows + m.pes - 1) >> m.pes_shift


@inlined
def block_ends(m: Any, block: Any) -> bool:
    """Tells whether a block is the last one."""
    return block.left <= m.block_rows


@inlined
def block_rows(m: Any, block: Any) -> int:
    """The rows of a block."""
    return min(block.left, m.block_rows)


@inlined
def next_block(m: Any, block: Any) -> None:
    """Advances to the next block."""
    block.left -= block_rows(m, block)
    block.base += m.block_rows << m.pes_shift


@inlined
def walker_step(m: Any, p: Program, begins: bool, entry: int) -> None:
    """Advances one cycle; ``begins``: a part starts at word ``entry``."""
    output, block = m.core_request, m.load_block
    spare = m.spare_request
    ready = not spare.valid
    offers = False
    kind = p.kind[m.load_place] if m.load_runs else -1
    vector = p.vector[m.load_place]
    moves = kind >= 0
    if kind == LOAD:
        offers = (m.load_stored >> vector & 1) == 0
        moves = ready or not offers
    elif kind == STORE:
        m.load_stored |= 1 << vector
    if m.requests.ready or not output.valid:
        output.valid = offers or spare.valid
        if spare.valid:
            output.vector = spare.vector
            output.base = spare.base
            output.rows = spare.rows
            spare.valid = 0
        elif offers:
            output.vector = vector
            output.base = block.base
            output.rows = block_rows(m, block)
    elif offers and ready:
        spare.valid = 1
        spare.vector = vector
        spare.base = block.base
        spare.rows = block_rows(m, block)
    if kind == END:
        m.load_stored = 0
        m.load_runs = not block_ends(m, block)
        m.load_place = m.part_entry
        next_block(m, block)
    elif moves:
        m.load_place += 1
    if begins:
        m.load_place = entry
        m.load_stored = 0
        m.load_runs = 1
        begin_block(m, block)


@inlined
def core_offer(m: Any) -> None:
    """Drives the requests and the stores of the core in this cycle."""
    m.requests.valid = m.core_request.valid
    m.requests.vector = m.core_request.vector
    m.requests.base = m.core_request.base
    m.requests.rows = m.core_request.rows
    m.stored.valid = m.core_store.valid
    m.stored.vector = m.core_store.vector
    m.stored.base = m.core_store.base


@inlined
def _finish(m: Any, finish: bool) -> bool:
    """Partial results of a reduction; returns whether its scalar is written."""
    asked = m.finish_asked
    m.finish_asked = finish
    last = m.finish_step == m.partials - 1
    following = 0 if last else m.finish_step + 1
    if not m.finishes:
        m.finishes = asked
    elif not m.finish_waits:
        m.finish_left = 1 + m.adder_stages
        if not last and m.pair_second[m.finish_step] >= m.core_before:
            m.finish_step = following
        else:
            m.finish_waits = 1
    else:
        ends = m.finish_left == 1
        m.finish_left -= 1
        if ends:
            m.finish_step = following
            m.finish_waits = 0
            m.finishes = not last
            m.finish_asked = finish and not last
            return last
    return False


@inlined
def _issue(m: Any, read: bool, kind: int, vector: int) -> None:
    """The next instruction on the next row, if there is nothing to wait for."""
    takes = m.core_state == TAKE
    block = m.core_block
    starts_row = m.core_row == 0
    issue = read and (takes or not starts_row or m.wait_left == 0)
    ends_row = issue and m.core_row + 1 == block_rows(m, block)
    writes = takes or kind not in (END, OUT, REDUCE)
    if issue and starts_row and writes:
        m.wait_left = m.lane_stages
    elif read and m.wait_left != 0:
        m.wait_left -= 1
    if read:
        m.core_valid = issue
    if issue:
        step = m.core_step
        step.kind = OUT if kind == END else kind
        step.first = takes
        step.kept = kind == LOAD and (m.part_stored >> vector & 1) != 0
        step.vector = vector
        step.base = block.base + (m.core_row << m.pes_shift)
        step.place = m.core_place
        m.core_row = 0 if ends_row else m.core_row + 1
    if not ends_row:
        return
    if takes:
        m.core_state = RUN
        return
    if kind in (END, OUT):
        m.result_given = 1
    if kind == STORE:
        m.part_stored |= 1 << vector
    if kind != END:
        m.core_place += 1


@inlined
def _sequence(m: Any, p: Program, read: bool, drained: bool) -> None:
    """The sequencer's state, but for the beginning of a part; sets ``core_done``."""
    state = m.core_state
    kind = p.kind[m.core_place]
    finished = _finish(m, state == TOTALS and kind == REDUCE)
    if state == TAKE or (state == RUN and not (kind == END and m.result_given)):
        _issue(m, read, kind, p.vector[m.core_place])
        return
    if read and m.wait_left != 0:
        m.wait_left -= 1
    if state == DRAIN and not m.core_valid and drained:
        m.core_state = TOTALS
    if read:
        m.core_valid = 0
    if state == RUN:
        m.core_state = DRAIN if block_ends(m, m.core_block) else TAKE
        m.core_before = min(m.partials, m.core_before + block_rows(m, m.core_block))
        next_block(m, m.core_block)
        m.core_place = m.part_entry
        m.result_given = 0
        m.part_stored = 0
    elif state == TOTALS:
        m.core_done = kind == END
        if kind == END:
            m.core_state = IDLE
        elif kind != REDUCE or finished:
            m.core_place += 1


@inlined
def _store(m: Any, offered: bool) -> None:
    """Advances the stream of stores by one cycle; ``offered``: the step has one."""
    output, spare, step = m.core_store, m.spare_store, m.core_step
    if m.stored.ready or not output.valid:
        output.valid = offered or spare.valid
        if spare.valid:
            output.vector = spare.vector
            output.base = spare.base
            spare.valid = 0
        else:
            output.vector = step.vector
            output.base = step.base
    elif offered and not spare.valid:
        spare.valid = 1
        spare.vector = step.vector
        spare.base = step.base


@inlined
def core_step(m: Any, p: Program, there: bool, ready: bool) -> None:
    """Advances one cycle, after :func:`core_offer`. ``there``: a row of y is available; ``ready``:
    a result is accepted."""
    step = m.core_step
    kind = -1 if not m.core_valid or step.first else step.kind
    takes_row = m.core_valid and step.first
    takes_load = kind == LOAD and not step.kept
    iterates = kind in (DIVIDE, ROOT)
    found = m.fresh and m.iteration_kept and m.iteration_place == step.place
    starts = iterates and m.fresh and not found
    store_ready = not m.spare_store.valid
    result_ready = ready or not m.core_result.valid
    waits = (
        (takes_row and not there)
        or (takes_load and not m.loaded.valid)
        or (kind == STORE and not store_ready)
        or (kind == OUT and not result_ready)
        or (iterates and not found and (starts or m.iteration != 1))
    )
    execute = m.core_valid and not waits
    begins = (m.first or m.second) and m.core_state == IDLE
    entry = m.entry if m.second else 0
    drained = not (m.flight or m.core_result.valid or m.core_store.valid)
    m.executes = execute
    m.core_waits = waits
    m.loaded.ready = takes_load
    m.row_taken = takes_row and there
    m.result_taken = m.core_result.valid and ready
    m.core_done = 0
    if execute:
        m.fresh = 1
    elif starts:
        m.fresh = 0
    if starts:
        m.iteration = m.divide_cycles if kind == DIVIDE else m.root_cycles
        m.iteration_kept = p.of_scalars[step.place]
        m.iteration_place = step.place
    elif m.iteration:
        m.iteration -= 1
    if kind == REDUCE:
        m.flight = m.reduce_cycles
    elif m.flight:
        m.flight -= 1
    if result_ready:
        m.core_result.valid = kind == OUT
        m.core_result.base = step.base
    _store(m, kind == STORE)
    walker_step(m, p, begins, entry)
    _sequence(m, p, not waits, drained)
    if begins:
        m.iteration_kept = 0
        begin_block(m, m.core_block)
        m.core_before = 0
        m.part_entry = entry
        m.core_place = entry
        m.result_given = 0
        m.part_stored = 0
        m.core_state = TAKE
