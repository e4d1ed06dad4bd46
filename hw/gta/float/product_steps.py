"""The products of limbs of a chain of products of floats, one a cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, RESULT_WORD_BYTES, GtaConfig, element_bytes, limbs
from ...spec.jobs.gta_vector import OCTET
from ..layouts import STEP_TO_LAST, Base, result_planes, result_words, steps_layout
from ..path_members import fold_cycles
from .headers import by_float, one_of, vector_mode

_STEP_TO_Y = 1
"""Cycles from a column's step to its y, from the bank on top, a cycle before its x."""

_STEP_TO_SUM = STEP_TO_LAST + 2
"""Cycles, beside the adder's stages, to the result of the column's rows."""

_WORD = (RESULT_WORD_BYTES // OCTET).bit_length() - 1


class FloatTurns(wiring.Component):
    """Follows the steps on, from column to column, as there is one a cycle.

    Results of a column's rows are there, and written, all at once; of fp64 in two words, a cycle
    apart, the lower halves first; so what sums begin with is read.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    mode: in; see ``vector_mode``
    steps: in; of column 0, and each a cycle later, see ``vector_step_layout``
    x_here, y_here: out; by column, its bank gives a product's last operand
    first, accumulate, last: out; of ``row_header``, as the rows' first column's last limbs are
      multiplied
    addends_low, addends_high: out; by column, its bank gives what sums begin with, of fp64 the
      lower, the upper halves of it
    upper: out; by adder of a row, of a sum of bf16 or fp16 to begin with: it is in the upper half
    read, read_address: out; of banks of results
    will_write: out; by bank: it is written in the next cycle
    low, high: out; by bank: of fp64 the lower, and the upper halves of results are written; of
      others ``low`` alone
    write_address: out; by bank
    half: out; by bank, of bf16 and fp16: the upper half of a word is written
    done: out; the last result of a command is in the memory
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "steps": In(steps_layout(config)),
                "x_here": Out(COLS),
                "y_here": Out(COLS),
                "first": Out(1),
                "accumulate": Out(1),
                "last": Out(1),
                "addends_low": Out(COLS),
                "addends_high": Out(COLS),
                "upper": Out(config.row_adders),
                "read": Out(BANKS),
                "read_address": Out(address),
                "will_write": Out(BANKS),
                "low": Out(BANKS),
                "high": Out(BANKS),
                "write_address": Out(address),
                "half": Out(BANKS),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fp64 = self.mode.fp64 if "fp64" in config.floats else C(0)
        written = _STEP_TO_SUM + config.adder_stages
        turns = self._turns(m, COLS + written + 2)
        begun = turns[STEP_TO_LAST]
        m.d.comb += [
            self.first.eq(begun.first),
            self.accumulate.eq(begun.accumulate),
            self.last.eq(begun.final),
        ]
        for c in range(COLS):
            # What is read is known a cycle before.
            halves = [turns[c + STEP_TO_LAST - 2], turns[c + STEP_TO_LAST - 1]]
            begins = [_begins(turn) for turn in halves]
            reads = Signal(name=f"is_read_{c}")
            word = Signal.like(self.read_address[c], name=f"read_word_{c}", reset_less=True)
            m.d.sync += [
                reads.eq((fp64 & begins[0]) | begins[1]),
                word.eq(Mux(fp64 & begins[0], _word(halves[0]), _word(halves[1]) + fp64)),
            ]
            shown = [_begins(turns[c + STEP_TO_LAST + n]) for n in (0, 1)]
            before, low, high = (turns[c + written + n] for n in (-1, 0, 1))
            m.d.comb += [
                self.will_write[c].eq((before.last & before.final) | (fp64 & low.last & low.final)),
                self.y_here[c].eq(turns[c + _STEP_TO_Y].last),
                self.x_here[c].eq(turns[c + _STEP_TO_Y + 1].last),
                self.read[c].eq(reads),
                self.read_address[c].eq(word),
                self.addends_low[c].eq(Mux(fp64, shown[0], shown[1])),
                self.addends_high[c].eq(shown[1]),
                self.low[c].eq(low.last & low.final),
                self.high[c].eq(fp64 & high.last & high.final),
                self.write_address[c].eq(Mux(self.high[c], _word(high) + 1, _word(low))),
                self.half[c].eq(low.result[_WORD - 1]),
            ]
        own = COLS // config.row_adders
        for n in range(config.row_adders):
            here = [turns[c + STEP_TO_LAST + 1] for c in range(n * own, (n + 1) * own)]
            places = [turn.result[_WORD - 1] for turn in here]
            m.d.comb += self.upper[n].eq(one_of([turn.last for turn in here], places))
        ends = [turns[COLS + written + n] for n in (0, 1)]
        narrow, wide = (turn.last & turn.done for turn in ends)
        m.d.comb += self.done.eq(Mux(fp64, wide, narrow))
        return m

    def _turns(self, m: Module, number: int) -> list[data.View[data.StructLayout]]:
        """Returns a step's control 0, 1, ... ``number`` - 1 cycles after its one in column 0."""
        config = self.config
        kept = ("first", "final", "accumulate", "done")
        layout = data.StructLayout(
            {"last": 1, "result": range(result_planes(config)), **dict.fromkeys(kept, 1)}
        )
        turns: list[data.View[data.StructLayout]] = []
        for n in range(number):
            turn = Signal(layout, name=f"turn_{n}")
            if n < self.steps.shape().length:
                step = self.steps[n]
                last: Value = self.mode.active & step.valid & step.last
                m.d.comb += [turn.last.eq(last), turn.result.eq(step.result)]
                m.d.comb += [turn[name].eq(step[name]) for name in kept]
            else:
                m.d.sync += turn.eq(turns[-1])
            turns.append(turn)
        return turns


def _begins(turn: data.View[data.StructLayout]) -> Value:
    """Tells whether a sum begins with the old result."""
    return turn.last & turn.first & turn.accumulate


def _word(turn: data.View[data.StructLayout]) -> Value:
    """Returns the word of the bank of results where the turn's octet begins."""
    word: Value = turn.result[_WORD:]
    return word


def most_limbs(config: GtaConfig) -> int:
    """Returns the most limbs that one of the configuration's floats has."""
    return max(limbs(name) for name in config.floats)


def step_layout(config: GtaConfig) -> data.StructLayout:
    """A cycle's work of an element.

    ``valid``: limbs ``i`` of x and ``j`` of y, counted in significands of :func:`most_limbs`, whose
    highest limb all formats have. ``base``: to what their product is added. ``last``: it is a
    product's last one. ``address``: of the operands, as bytes of a bank. ``first``, ``final``: of
    a chain of products.
    """
    limb = range(max(2, most_limbs(config)))
    return data.StructLayout(
        {
            "valid": 1,
            "i": limb,
            "j": limb,
            "base": range(len(Base)),
            "last": 1,
            "address": range(config.edge_bytes),
            "first": 1,
            "final": 1,
        }
    )


class ProductSteps(wiring.Component):
    """Goes through chains of products, ``GtaConfig.interval`` cycles each.

    A product of L limbs each has L x L steps, by diagonals i + j, the low one first, i ascending in
    each; then nothing until its interval is over. A chain may follow at once.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; constant while anything is under way; see :func:`by_float`
    start: in; a chain begins
    products, address: in, with ``start``; its products, at least 1, and its first operand
    step: out; from the next cycle on
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "format": In(range(8)),
                "start": In(1),
                "products": In(fold_cycles(config)),
                "address": In(range(config.edge_bytes)),
                "step": Out(step_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, step = self.config, self.step
        top = most_limbs(config) - 1
        low = self._by_format(lambda name: most_limbs(config) - limbs(name))
        size = self._by_format(element_bytes)
        longest = max(config.interval(name) for name in config.floats)
        idle = Signal(range(longest), name="idle_cycles")
        left = Signal(range(config.edge_bytes), name="products_left")
        pause = self._by_format(lambda name: config.interval(name) - limbs(name) ** 2)
        # Not a comparison of ``pause``: of one format alone it may be a constant of one bit.
        at_once = self._by_format(lambda name: int(config.interval(name) == limbs(name) ** 2))
        works = Signal()
        next_product = Signal()
        ends_diagonal = Signal()
        m.d.comb += [
            step.last.eq((step.i == top) & (step.j == top)),
            step.final.eq(left == 0),
            ends_diagonal.eq((step.i == top) | (step.j == low)),
            next_product.eq(works & Mux(step.valid, step.last & at_once, idle == 0)),
        ]
        with m.If(self.start):
            m.d.sync += [
                works.eq(1),
                left.eq(self.products[: len(left)] - 1),
                step.address.eq(self.address),
                step.first.eq(1),
            ]
        with m.Elif(next_product):
            m.d.sync += [
                works.eq(left.any()),
                left.eq(left - 1),
                step.address.eq(step.address + size),
                step.first.eq(0),
            ]
        with m.If(self.start | (next_product & left.any())):
            m.d.sync += [
                step.valid.eq(1),
                step.base.eq(Base.ZERO),
                step.i.eq(low),
                step.j.eq(low),
            ]
        with m.Elif(step.valid & ~step.last):
            m.d.sync += [
                step.base.eq(Mux(ends_diagonal, Base.CARRY, Base.OWN)),
                step.i.eq(Mux(step.i == top, step.j + 1, Mux(step.j == low, low, step.i + 1))),
                step.j.eq(Mux(step.i == top, top, Mux(step.j == low, step.i + 1, step.j - 1))),
            ]
        with m.Else():
            m.d.sync += [step.valid.eq(0), step.base.eq(Base.OWN)]
        with m.If(step.valid):
            m.d.sync += idle.eq(pause - 1)
        with m.Else():
            m.d.sync += idle.eq(idle - 1)
        return m

    def _by_format(self, value: Callable[[str], int]) -> Value:
        return by_float(self.config, self.format, value)
