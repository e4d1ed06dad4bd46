"""Feeds a lane's rows with floats from the left."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, ROWS, GtaConfig
from ..layouts import Base, left_words, x_layout
from ..path_members import fold_layout
from .bank_words import PackedOperand
from .headers import limbs_of_format, row_header
from .product_steps import ProductSteps, step_layout

__all__ = ["FloatLeftFeeder"]

_LOW = LEFT_WORD_BYTES.bit_length() - 1


class FloatLeftFeeder(wiring.Component):
    """Reads the banks of rows and gives each row the limbs of its floats, and their headers.

    Row r begins r cycles after row 0. A row's string is its floats, one behind the other. It reads
    a word every cycle and picks a limb. Latency from ``go`` to row 0's first ``x`` 3 cycles; a
    header comes a cycle after a product's last limb.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; its place among all formats; constant while anything is under way
    left_edge: in; the lane is at the left edge of its region, and reads
    go, fold: in; a fold begins
    read, address: out; of the banks
    words: in; what was read
    x, headers: out; by row, see ``x_layout`` and ``row_header``
    step: out; of row 0, two cycles before its ``x``
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "format": In(range(8)),
                "left_edge": In(1),
                "go": In(1),
                "fold": In(fold_layout(config)),
                "read": Out(BANKS),
                "address": Out(data.ArrayLayout(range(left_words(config)), BANKS)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "x": Out(data.ArrayLayout(x_layout(config), ROWS)),
                "headers": Out(data.ArrayLayout(row_header(config), ROWS)),
                "step": Out(step_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.steps = sequence = ProductSteps(config)
        accumulates = [Signal(name=f"accumulates_{r}") for r in range(ROWS + 1)]
        m.d.comb += [
            sequence.format.eq(self.format),
            sequence.start.eq(self.go),
            sequence.products.eq(self.fold.cycles),
            sequence.address.eq(Cat(Const(0, _LOW), self.fold.left)),
            self.step.eq(sequence.step),
        ]
        with m.If(self.go):
            m.d.sync += accumulates[0].eq(self.fold.result.accumulate)
        steps = [sequence.step]
        for r in range(1, ROWS + 1):
            step = Signal(step_layout(config), name=f"step_{r}")
            steps.append(step)
        for (before, after), (first, second) in zip(
            pairwise(steps), pairwise(accumulates), strict=True
        ):
            m.d.sync += [after.eq(before), second.eq(first)]
        for r in range(ROWS):
            m.submodules[f"operand_{r}"] = operand = PackedOperand(config)
            reading, step, x = steps[r], steps[r + 1], self.x[r]
            m.d.comb += [
                self.read[r].eq(reading.valid & self.left_edge),
                self.address[r].eq(reading.address[_LOW:]),
                operand.format.eq(self.format),
                operand.word.eq(self.words[r]),
                operand.place.eq(step.address[:_LOW]),
                operand.limb.eq(step.i),
            ]
            limb = Signal.like(x.limb, name=f"limb_{r}")
            base = Signal.like(x.base, name=f"base_{r}")
            last = Signal(name=f"last_{r}")
            m.d.sync += [
                limb.eq(Mux(step.valid, operand.o, 0)),
                base.eq(step.base),
                last.eq(step.valid & step.last),
            ]
            m.d.comb += [x.limb.eq(limb), x.base.eq(base), x.last.eq(last)]
            if config.integers:
                m.d.comb += [x.y_shift.eq(1), x.swap.eq(1)]
            if config.integers and config.second_rank:
                m.d.comb += x.shift_drain.eq(base == Base.CARRY)
            self._header(m, r, step, operand, accumulates[r + 1])
        return m

    def _header(
        self,
        m: Module,
        r: int,
        step: data.View[data.StructLayout],
        operand: PackedOperand,
        accumulate: Signal,
    ) -> None:
        """The header stays until the next one, unless that comes in the next cycle."""
        config = self.config
        taken = Signal(row_header(config), name=f"header_{r}", reset_less=True)
        sizes = limbs_of_format(config, self.format)
        with m.If(step.valid & step.last):
            m.d.sync += [
                taken.operand.eq(operand.header),
                *(taken.limbs[n].eq(has) for n, has in enumerate(sizes)),
                taken.first.eq(step.first),
                taken.accumulate.eq(accumulate),
                taken.last.eq(step.final),
            ]
        if min(config.interval(name) for name in config.floats) > 1:
            m.d.comb += self.headers[r].eq(taken)
        else:
            m.d.sync += self.headers[r].eq(taken)
