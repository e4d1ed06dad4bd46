"""What feeds a lane's columns with floats, from above."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, LEFT_WORD_BYTES, LIMB_BITS, GtaConfig
from ..fold_layouts import fold_layout
from ..layouts import left_words
from .headers import column_header
from .packed_operand import PackedOperand
from .product_steps import ProductSteps, step_layout

__all__ = ["FloatTopFeeder"]

_LOW = LEFT_WORD_BYTES.bit_length() - 1

_Y_TO_HEADER = 3
"""Cycles from a product's last limb at a column to its header: y waits for its x, they are
multiplied, and the product is there."""


class FloatTopFeeder(wiring.Component):
    """Reads the banks of columns and gives each column the limbs of its floats, and their headers.

    Column c begins c cycles after column 0. Its string is its floats, one behind the other. It
    reads a word every cycle and picks a limb. Latency from ``valid`` to column 0's first ``y`` 3
    cycles; a header comes three cycles after a product's last limb.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; its place among all formats; constant while anything is under way
    top_edge: in; the lane is at the top edge of its region, and reads
    valid, fold: in; a fold begins
    read, address: out; of the banks
    words: in; what was read
    y: out; by column
    headers: out; by adder of a row, of that of its columns that has one; zeros if none has
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "format": In(range(8)),
                "top_edge": In(1),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "read": Out(BANKS),
                "address": Out(data.ArrayLayout(range(left_words(config)), BANKS)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "y": Out(data.ArrayLayout(signed(LIMB_BITS + 1), COLS)),
                "headers": Out(data.ArrayLayout(column_header(config), config.row_adders)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.steps = sequence = ProductSteps(config)
        m.d.comb += [
            sequence.format.eq(self.format),
            sequence.start.eq(self.valid),
            sequence.products.eq(self.fold.cycles),
            sequence.address.eq(self.fold.top),
        ]
        steps = [sequence.step]
        for c in range(1, COLS + 1):
            steps.append(Signal(step_layout(config), name=f"step_{c}"))
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        found: list[Value] = []
        for c in range(COLS):
            m.submodules[f"operand_{c}"] = operand = PackedOperand(config)
            reading, step = steps[c], steps[c + 1]
            m.d.comb += [
                self.read[c].eq(reading.valid & self.top_edge),
                self.address[c].eq(reading.address[_LOW:]),
                operand.format.eq(self.format),
                operand.word.eq(self.words[c]),
                operand.place.eq(step.address[:_LOW]),
                operand.limb.eq(step.j),
            ]
            m.d.sync += self.y[c].eq(Mux(step.valid, operand.o, 0))
            header = operand.header.as_value()
            found.append(header & (step.valid & step.last).replicate(len(header)))
        own = COLS // config.row_adders
        for n in range(config.row_adders):
            header = reduce(or_, found[n * own : (n + 1) * own])
            for wait in range(_Y_TO_HEADER):
                later = Signal(len(header), name=f"header_{n}_{wait}")
                m.d.sync += later.eq(header)
                header = later
            m.d.sync += self.headers[n].eq(header)
        return m
