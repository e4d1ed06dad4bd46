"""The order of a part's instructions, block by block."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.elementwise.instructions import INSTRUCTIONS, VECTORS, WORD_BITS
from ...spec.sida import SidaConfig
from ..layouts import count_bits
from .lane import lane_stages
from .layouts import instruction_layout, is_instruction, opcode, place_layout
from .load_walker import BlockWalk

__all__ = ["Sequencer", "step_layout"]


def step_layout(config: SidaConfig) -> data.StructLayout:
    """An instruction on one row.

    ``word``: the instruction; ``place``: its address. ``row``: of the block, ``base``: the row's
    first element, ``last``: there is no row behind it. ``first``: the result is y. ``kept``: what
    is loaded was stored by the part itself. ``turn``, ``fresh``: see ``Reductions``.
    """
    return data.StructLayout(
        {
            "word": instruction_layout(),
            "place": range(config.program_words),
            "row": place_layout(config)["row"].shape,
            "base": count_bits(config),
            "last": 1,
            "first": 1,
            "kept": 1,
            "turn": range(config.partials),
            "fresh": 1,
        }
    )


class Sequencer(wiring.Component):
    """Executes the instructions of a part, each on all rows of a block, block by block.

    It takes in the rows of a block first. When the part is over, it has the reductions finished.

    An instruction begins when what the last one before it that writes has written can be read.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in; begins a part
    entry, columns: in, with ``start``; the part's first word, and the elements, at least 1
    address: out; of the program's next word
    word: in; what was at it a cycle before
    words: in; of the program
    read: out; operands of ``issued`` are to be read
    issued: out; what is begun in this cycle, if anything is
    valid: out; ``step`` is to be executed
    step: out; what was begun before
    proceed: in; ``step`` is executed in this cycle, if it is valid
    drained: in; nothing is on its way behind ``step``
    finish: out; the reducing instruction at ``finish_place``, ``finish_word``, is to be finished
    finish_place, finish_word, count: out; ``count``: see ``Reductions``
    finished: in; it is
    busy: out; a part is under way
    done: out; for one cycle; it is over
    error: out; a word is no instruction that there is, or a second ``out``, or there are no more
        words; until ``clear``
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
                "read": Out(1),
                "issued": Out(step_layout(config)),
                "valid": Out(1),
                "step": Out(step_layout(config)),
                "proceed": In(1),
                "drained": In(1),
                "finish": Out(1),
                "finish_place": Out(words),
                "finish_word": Out(instruction_layout()),
                "count": Out(range(config.partials + 1)),
                "finished": In(1),
                "busy": Out(1),
                "done": Out(1),
                "error": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.walk = walk = BlockWalk(config)
        word = data.View(instruction_layout(), self.word)
        entry = Signal(range(config.program_words))
        place = Signal.like(self.words)
        following = Signal.like(place)
        begins = Signal()
        issue = Signal()
        ends_row = Signal()
        next_block = Signal()
        row = Signal.like(self.step.row)
        m.d.comb += [
            begins.eq(self.start & ~self.busy),
            walk.start.eq(begins),
            walk.columns.eq(self.columns),
            walk.advance.eq(next_block),
            ends_row.eq(issue & (row + 1 == walk.rows)),
            self.read.eq(~self.valid | self.proceed),
            following.eq(place),
            self.address.eq(following),
            self.finish_place.eq(place),
            self.finish_word.eq(word),
            self.issued.row.eq(row),
            self.issued.base.eq(walk.base + row * config.pes),
            self.issued.last.eq(walk.ends & (row + 1 == walk.rows)),
            self.issued.place.eq(place),
            self.issued.word.eq(word),
        ]
        m.d.sync += place.eq(following)
        with m.If(begins):
            m.d.sync += entry.eq(self.entry)
        with m.If(issue):
            m.d.sync += row.eq(Mux(ends_row, 0, row + 1))
        with m.If(self.read):
            m.d.sync += self.valid.eq(issue)
            with m.If(issue):
                m.d.sync += self.step.eq(self.issued)
        waits = self._wait(m, issue & (row == 0))
        self._turns(m, walk, row, issue, next_block, begins)
        self._states(
            m, walk, word, row, entry, waits, begins, issue, ends_row, next_block, following
        )
        with m.If(self.clear):
            m.d.sync += [row.eq(0), self.valid.eq(0)]
        return m

    def _wait(self, m: Module, first: Value) -> Value:
        """Tells whether the value written last cannot be read yet.

        An instruction that begins with its first row writes, unless it has no result that is kept.
        """
        stages = lane_stages(self._config)
        left = Signal(range(stages + 1))
        plain = [one.opcode for one in INSTRUCTIONS.values() if "d" not in one.operands]
        plain.remove(opcode("store"))
        writes = self.issued.first | ~Cat(self.issued.word.opcode == n for n in plain).any()
        with m.If(first & writes):
            m.d.sync += left.eq(stages)
        with m.Elif(self.read & (left != 0)):
            m.d.sync += left.eq(left - 1)
        return left != 0

    def _turns(
        self, m: Module, walk: BlockWalk, row: Value, issue: Value, next_block: Value, begins: Value
    ) -> None:
        """Assigns rows in turn to the partial results of a reduction."""
        partials = self._config.partials
        block_turn = Signal(range(partials))
        next_turn = Signal(range(partials))
        before = Signal(range(partials + 1))
        rows = Signal(range(partials + (1 << len(walk.rows))))
        turn = self.issued.turn
        m.d.comb += [
            turn.eq(Mux(row == 0, block_turn, next_turn)),
            self.issued.fresh.eq(before + row < partials),
            rows.eq(before + walk.rows),
            self.count.eq(before),
        ]
        with m.If(issue):
            m.d.sync += next_turn.eq(Mux(turn == partials - 1, 0, turn + 1))
        with m.If(next_block):
            m.d.sync += [
                block_turn.eq(next_turn),
                before.eq(Mux(rows > partials, partials, rows)),
            ]
        with m.If(begins):
            m.d.sync += [block_turn.eq(0), before.eq(0)]

    def _states(
        self,
        m: Module,
        walk: BlockWalk,
        word: Any,
        row: Value,
        entry: Value,
        waits: Value,
        begins: Value,
        issue: Value,
        ends_row: Value,
        next_block: Value,
        following: Signal,
    ) -> None:
        """Sequences the states of a part of a program."""
        given = Signal(name="result_given")
        stored = Signal(VECTORS)
        vector = Signal(range(VECTORS))
        known = Signal(name="known")
        ends = Signal(name="program_ends")
        reduces = Signal(name="reduces")
        follows = self.finish_place + 1
        m.d.comb += [
            vector.eq(word.c),
            known.eq(
                (self.finish_place < self.words)
                & is_instruction(self._config, word.opcode)
                & ~(given & (word.opcode == opcode("out")))
            ),
            ends.eq(word.opcode == opcode("end")),
            reduces.eq(word.opcode >= opcode("rsum")),
        ]
        with m.FSM(name="part") as part:
            m.d.comb += self.busy.eq(~part.ongoing("IDLE"))
            with m.State("IDLE"), m.If(begins & ~self.clear):
                m.d.comb += following.eq(self.entry)
                m.d.sync += [given.eq(0), stored.eq(0)]
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += [issue.eq(self.read), self.issued.first.eq(1)]
                with m.If(ends_row):
                    m.next = "RUN"
                self._leave(m)
            with m.State("RUN"):
                m.d.comb += [
                    self.issued.kept.eq(
                        (word.opcode == opcode("load")) & stored.bit_select(vector, 1)
                    ),
                ]
                with m.If(~known):
                    m.next = "ERROR"
                with m.Elif(ends & given):
                    m.d.comb += [next_block.eq(1), following.eq(entry)]
                    m.d.sync += [given.eq(0), stored.eq(0)]
                    m.next = "TAKE"
                    with m.If(walk.ends):
                        m.next = "DRAIN"
                with m.Else():
                    m.d.comb += issue.eq(self.read & ((row != 0) | ~waits))
                    with m.If(ends):
                        # Without a result of the program it is r0.
                        m.d.comb += [
                            self.issued.word.opcode.eq(opcode("out")),
                            self.issued.word.a.eq(0),
                        ]
                    with m.If(ends_row):
                        with m.If(~ends):
                            m.d.comb += following.eq(follows)
                        with m.If(ends | (word.opcode == opcode("out"))):
                            m.d.sync += given.eq(1)
                        with m.If(word.opcode == opcode("store")):
                            m.d.sync += stored.bit_select(vector, 1).eq(1)
                self._leave(m)
            with m.State("DRAIN"):
                with m.If(~self.valid & self.drained):
                    m.next = "TOTALS"
                self._leave(m)
            with m.State("TOTALS"):
                m.d.comb += self.finish.eq(reduces)
                with m.If(ends):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
                with m.Elif(~reduces | self.finished):
                    m.d.comb += following.eq(follows)
                self._leave(m)
            with m.State("ERROR"):
                m.d.comb += self.error.eq(1)
                self._leave(m)

    def _leave(self, m: Module) -> None:
        """Leaves any state on ``clear``."""
        with m.If(self.clear):
            m.next = "IDLE"
