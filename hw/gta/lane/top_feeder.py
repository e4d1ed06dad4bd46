"""What feeds a lane's columns from above."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, LEFT_WORD_BYTES, LIMB_BITS, ROWS, GtaConfig
from ..fold_layouts import fold_cycles, fold_layout, place_layout
from ..layouts import left_words
from .limb_groups import by_limbs, group_sizes
from .limb_pick import LimbPick

__all__ = ["FOLD_TO_Y", "TopFeeder"]

FOLD_TO_Y = 3
"""Cycles from a fold to its first y at the lane's first column."""


class TopFeeder(wiring.Component):
    """Reads the banks of columns and gives each column its limbs.

    Column c begins c cycles after column 0. Its string is of limbs of one place, as the column's
    number says, byte after byte: in OS ascending, in WS R of them, one for each row of the region,
    descending, so that the last row's comes first. A column reads a word every cycle and
    picks a byte. The highest limb of an element is signed. Otherwise 0 comes, and to rows beyond
    ``fold.rows`` of WS, whose bytes nobody has to write.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log: in; WS, and the format's limbs; constant while anything is under way
    place: in; of the lane in its region
    valid, fold: in; a fold begins
    read, address: out; of the banks
    words: in; what was read
    y: out; by column
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "weights": In(1),
                "limbs_log": In(2),
                "place": In(place_layout(config)),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "read": Out(BANKS),
                "address": Out(data.ArrayLayout(range(left_words(config)), BANKS)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "y": Out(data.ArrayLayout(signed(LIMB_BITS + 1), COLS)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = data.StructLayout({"valid": 1, "address": range(self._config.edge_bytes)})
        steps = [Signal(step, name=f"step_{c}") for c in range(COLS + 1)]
        self._string(m, steps[0])
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        low = LEFT_WORD_BYTES.bit_length() - 1
        # The bits of a column's number that say which limb of its element it has.
        others = by_limbs(self.limbs_log, {n: Const(n - 1, 3) for n in group_sizes(self._config)})
        for c in range(COLS):
            reading, shown = steps[c], steps[c + 1]
            m.submodules[f"pick_{c}"] = pick = LimbPick()
            m.d.comb += [
                self.read[c].eq(reading.valid & self.place.top),
                self.address[c].eq(reading.address[low:]),
                pick.word.eq(self.words[c]),
                pick.place.eq(shown.address[:low]),
                pick.high.eq(~(others & Const(~c % COLS, 3)).any()),
                pick.used.eq(shown.valid),
            ]
            m.d.sync += self.y[c].eq(pick.limb)
        return m

    def _string(self, m: Module, head: data.View[data.StructLayout]) -> None:
        """What the first column reads."""
        left = Signal(fold_cycles(self._config), name="cycles_left")
        length = Signal.like(left, name="length")
        rows = Cat(Const(0, ROWS.bit_length() - 1), self.place.rows)
        m.d.comb += length.eq(Mux(self.weights, rows, self.fold.cycles))
        used = Signal.like(self.fold.rows, name="rows_used")
        with m.If(self.valid):
            m.d.sync += [
                left.eq(Mux(self.fold.real, length - 1, 0)),
                used.eq(self.fold.rows),
                head.valid.eq(self.fold.real & (~self.weights | (self.fold.rows == rows))),
                head.address.eq(self.fold.top),
            ]
        with m.Else():
            m.d.sync += head.valid.eq(left.any() & (~self.weights | (left <= used)))
            with m.If(self.weights):
                m.d.sync += head.address.eq(head.address - 1)
            with m.Else():
                m.d.sync += head.address.eq(head.address + 1)
            with m.If(left.any()):
                m.d.sync += left.eq(left - 1)
