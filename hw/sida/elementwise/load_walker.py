"""Requests the operands that a program loads before they are due."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.elementwise.instructions import VECTORS, WORD_BITS
from ...spec.sida import SidaConfig
from ...stream.stream_registers import SkidBuffer
from ..layouts import count_bits
from .layouts import block_rows, instruction_layout, is_instruction, opcode, request_layout


class BlockWalk(wiring.Component):
    """Walks over all elements, a block at a time. No block is of two steps.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in; begins with the first block, at the end of the cycle
    columns: in, with ``start``; elements, at least 1
    advance: in; goes to the next block
    base: out; the block's first element
    rows: out; its rows
    ends: out; there is none behind it
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        bits = count_bits(config)
        super().__init__(
            {
                "start": In(1),
                "columns": In(bits),
                "advance": In(1),
                "base": Out(bits),
                "rows": Out(range(block_rows(config) + 1)),
                "ends": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes, most = self._config.pes, block_rows(self._config)
        left = Signal(count_bits(self._config))
        base = Signal(count_bits(self._config))
        m.d.comb += [
            self.base.eq(base),
            self.ends.eq(left <= most),
            self.rows.eq(Mux(self.ends, left, most)),
        ]
        with m.If(self.start):
            m.d.sync += [base.eq(0), left.eq((self.columns + (pes - 1))[pes.bit_length() - 1 :])]
        with m.Elif(self.advance):
            m.d.sync += [base.eq(base + most * pes), left.eq(left - self.rows)]
        return m


class LoadWalker(wiring.Component):
    """Runs through a part's program ahead of the lanes, per block, and requests its operands.

    It does not request what the part itself has stored before, which the lanes have kept.

    An instruction a cycle. It ends before a word that :class:`Sequencer` refuses.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in; begins a part
    entry, columns: in, with ``start``; the part's first word, and the elements
    address: out; of the program's next word
    word: in; what was at it a cycle before
    words: in; of the program
    requests: see :func:`request_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        address, words = range(config.program_words), range(config.program_words + 1)
        super().__init__(
            {
                "start": In(1),
                "entry": In(address),
                "columns": In(count_bits(config)),
                "address": Out(address),
                "word": In(WORD_BITS),
                "words": In(words),
                "requests": Out(stream.Signature(request_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = BlockWalk(self._config)
        m.submodules.output = output = SkidBuffer(request_layout(self._config), clearable=True)
        wiring.connect(m, output.o, wiring.flipped(self.requests))
        entry = Signal(range(self._config.program_words))
        place = Signal.like(self.words)
        runs = Signal()
        given = Signal(name="result_given")
        stored = Signal(VECTORS)
        word = data.View(instruction_layout(), self.word)
        vector = Signal(range(VECTORS))
        following = Signal.like(place)
        wrong = Signal()
        m.d.comb += [
            wrong.eq(
                (place >= self.words)
                | ~is_instruction(self._config, word.opcode)
                | (given & (word.opcode == opcode("out")))
            ),
            self.address.eq(following),
            walk.start.eq(self.start),
            walk.columns.eq(self.columns),
            vector.eq(word.c),
            following.eq(place),
            output.clear.eq(self.clear),
            output.i.payload.vector.eq(vector),
            output.i.payload.base.eq(walk.base),
            output.i.payload.rows.eq(walk.rows),
        ]
        m.d.sync += place.eq(following)
        with m.If(runs & wrong):
            m.d.sync += runs.eq(0)
        with m.Elif(runs), m.Switch(word.opcode):
            with m.Case(opcode("end")):
                m.d.comb += [following.eq(entry), walk.advance.eq(1)]
                m.d.sync += [stored.eq(0), given.eq(0), runs.eq(~walk.ends)]
            with m.Case(opcode("out")):
                m.d.comb += following.eq(place + 1)
                m.d.sync += given.eq(1)
            with m.Case(opcode("load")):
                m.d.comb += output.i.valid.eq(~stored.bit_select(vector, 1))
                with m.If(output.i.ready | ~output.i.valid):
                    m.d.comb += following.eq(place + 1)
            with m.Case(opcode("store")):
                m.d.comb += following.eq(place + 1)
                m.d.sync += stored.bit_select(vector, 1).eq(1)
            with m.Default():
                m.d.comb += following.eq(place + 1)
        with m.If(self.start):
            m.d.comb += following.eq(self.entry)
            m.d.sync += [entry.eq(self.entry), stored.eq(0), given.eq(0), runs.eq(1)]
        with m.If(self.clear):
            m.d.sync += runs.eq(0)
        return m
