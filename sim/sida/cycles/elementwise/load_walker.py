"""Cycle model of ``LoadWalker``: what a program loads, asked for before it is due."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import inlined
from .state import END, LOAD, STORE, Program

__all__ = ["begin_block", "block_ends", "block_rows", "next_block", "walker_step"]


@inlined
def begin_block(m: Any, block: Any) -> None:
    """A walk over blocks begins."""
    block.base = 0
    block.left = (m.rows + m.pes - 1) >> m.pes_shift


@inlined
def block_ends(m: Any, block: Any) -> bool:
    """Whether there is no block behind it."""
    return block.left <= m.block_rows


@inlined
def block_rows(m: Any, block: Any) -> int:
    """The rows of a block."""
    return min(block.left, m.block_rows)


@inlined
def next_block(m: Any, block: Any) -> None:
    """To the next block."""
    block.left -= block_rows(m, block)
    block.base += m.block_rows << m.pes_shift


@inlined
def walker_step(m: Any, p: Program, begins: bool, entry: int) -> None:
    """A cycle; ``begins``: a part does, at word ``entry``."""
    output, block = m.core_request, m.load_block
    ready = m.requests.ready or not output.valid
    offers = False
    kind = p.kind[m.load_place] if m.load_runs else -1
    vector = p.vector[m.load_place]
    moves = kind >= 0
    if kind == LOAD:
        offers = (m.load_stored >> vector & 1) == 0
        moves = ready or not offers
    elif kind == STORE:
        m.load_stored |= 1 << vector
    if ready:
        output.valid = offers
        if offers:
            output.vector = vector
            output.base = block.base
            output.rows = block_rows(m, block)
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
