"""Feeds a lane's rows from the left."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, LIMB_BITS, ROWS, GtaConfig
from ..layouts import Base, left_words, x_layout
from ..path_members import fold_layout, place_layout
from .multi_precision_accumulator import by_limbs, group_sizes
from .result_path import row_step_layout


class LimbPick(wiring.Component):
    """Picks a byte of a word and gives it a sign. Combinational.

    Members
    -------
    word: in
    place: in; the byte's
    high: in; it is an element's highest, which is signed
    used: in; otherwise 0 is picked
    limb: out
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word": In(8 * LEFT_WORD_BYTES),
                "place": In(range(LEFT_WORD_BYTES)),
                "high": In(1),
                "used": In(1),
                "limb": Out(signed(LIMB_BITS + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        byte = Signal(LIMB_BITS)
        with m.Switch(self.place):
            for n in range(LEFT_WORD_BYTES):
                with m.Case(n):
                    m.d.comb += byte.eq(self.word.word_select(n, LIMB_BITS))
        m.d.comb += self.limb.eq(Mux(self.used, Cat(byte, byte[-1] & self.high), 0))
        return m


class FoldWindow(wiring.Component):
    """Counts R cycles, the rows of the region, from the one after ``start``.

    In cycle n row r of the region is ``reached`` if r <= n. Another ``start`` may come R cycles
    after the one before.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in
    place: in; of the lane in its region
    active: out; cycles are counted
    reached: out; a bit for each of the lane's rows
    count: out; n
    last: out; this is cycle R - 1
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "place": In(place_layout(config)),
                "active": Out(1),
                "reached": Out(ROWS),
                "count": Out(range(ROWS * config.lanes)),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low, lanes = self.count[:3], self.count[3:]
        last_lane = lanes == self.place.rows - 1 if self._config.lanes > 1 else Const(1)
        m.d.comb += self.last.eq(self.active & low.all() & last_lane)
        with m.If(self.start):
            m.d.sync += [self.active.eq(1), self.count.eq(0)]
        with m.Elif(self.active):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.last):
                m.d.sync += self.active.eq(0)
        passed = [low >= r if r else Const(1) for r in range(ROWS)]
        if self._config.lanes == 1:
            m.d.comb += self.reached.eq(Cat(*passed))
            return m
        beyond = Signal()
        here = Signal()
        m.d.comb += [beyond.eq(lanes > self.place.row), here.eq(lanes == self.place.row)]
        m.d.comb += [self.reached[r].eq(beyond | (here & passed[r])) for r in range(ROWS)]
        return m


FOLD_TO_X = 4
"""Cycles from a fold to its first x at the region's first element in OS; in WS R - 1 more."""


class LeftFeeder(wiring.Component):
    """Reads the banks of rows and gives each row its limbs, and what its elements shall do.

    Row r of the region begins r cycles after row 0. A row reads a word every cycle and picks a
    byte. In WS its stream is the bytes of its elements as they lie in memory, of which it takes
    the highest limb of an element first; the first limb of a fold lets the operands that came down
    be held. In OS it is a string of limbs of one place, as the row's number says. The highest limb
    of an element is signed. Where the stream has ended, and in rows beyond ``fold.rows`` of WS,
    0 comes.

    In WS a row lets y move down while the fold before is fed: row r from cycle r to R - 1. In OS it
    lets sums move down from cycle R to R + r - 1 after the region's first row has begun the next
    fold; without a second rank from cycle 0 to r - 1, before row r begins it.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log: in; WS, and the format's limbs; constant while anything is under way
    place: in; of the lane in its region
    valid, fold: in; a fold begins
    go, waiting: in; a fold begins in the lane's first row, see :class:`WaitingFold`
    read, address: out; of the banks
    words: in; what was read
    x: out; by row
    last_row: out; what the lane's last row is fed, as its bank is read: two cycles before ``x``
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "weights": In(1),
                "limbs_log": In(2),
                "place": In(place_layout(config)),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "go": In(1),
                "waiting": In(fold_layout(config)),
                "read": Out(BANKS),
                "address": Out(data.ArrayLayout(range(left_words(config)), BANKS)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "x": Out(data.ArrayLayout(x_layout(config), ROWS)),
                "last_row": Out(row_step_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        steps = self._steps(m)
        m.d.comb += self.last_row.eq(steps[ROWS - 1])
        shifts, drains = self._windows(m)
        low = LEFT_WORD_BYTES.bit_length() - 1
        # The bits of a place that say which limb of its element a byte is.
        others = by_limbs(self.limbs_log, {n: Const(n - 1, low) for n in group_sizes(self.config)})
        for r in range(ROWS):
            reading, step = steps[r], steps[r + 1]
            place = step.address[:low]
            m.d.comb += [
                self.read[r].eq(reading.valid & self.place.left),
                self.address[r].eq(reading.address[low:]),
            ]
            m.submodules[f"pick_{r}"] = pick = LimbPick()
            m.d.comb += [
                pick.word.eq(self.words[r]),
                pick.place.eq(place ^ Mux(self.weights, others, 0)),
                pick.high.eq(~(Mux(self.weights, place, Const(~r % ROWS, low)) & others).any()),
                pick.used.eq(step.valid & (step.rows > r)),
            ]
            x = self.x[r]
            above = self.weights if self.config.second_rank else self.weights | drains[r]
            m.d.sync += [
                x.limb.eq(pick.limb),
                x.base.eq(Mux(above, Base.ABOVE, Mux(step.first, Base.ZERO, Base.OWN))),
                x.y_shift.eq(~self.weights | shifts[r]),
                x.swap.eq(~self.weights | step.first),
            ]
            if self.config.second_rank:
                m.d.sync += x.shift_drain.eq(drains[r])
        return m

    def _steps(self, m: Module) -> list[data.View[data.StructLayout]]:
        """Row by row, and of one row more, what is read; each is a cycle later."""
        config = self.config
        fold = self.waiting
        steps = [Signal(row_step_layout(config), name=f"step_{r}") for r in range(ROWS + 1)]
        left = Signal.like(fold.cycles, name="cycles_left")
        head = steps[0]
        low = LEFT_WORD_BYTES.bit_length() - 1
        m.d.sync += head.first.eq(self.go)
        with m.If(self.go):
            m.d.sync += [
                left.eq(Mux(fold.real, fold.cycles - 1, 0)),
                head.valid.eq(fold.real),
                head.drains.eq(fold.drains),
                head.address.eq(Cat(Const(0, low), fold.left)),
                head.rows.eq(self._rows(fold.rows)),
            ]
        with m.Else():
            m.d.sync += [head.valid.eq(left.any()), head.address.eq(head.address + 1)]
            with m.If(left.any()):
                m.d.sync += left.eq(left - 1)
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        return steps

    def _rows(self, rows: Value) -> Value:
        """Returns the number of the lane's rows in use in WS; all rows in OS."""
        lanes, rest = rows[3:], rows[:3]
        some = Mux(lanes == self.place.row, rest, 0)
        return Mux(~self.weights | (lanes > self.place.row), ROWS, some)

    def _windows(self, m: Module) -> tuple[Signal, Signal]:
        """Returns, by row, whether y moves down, and whether the sums do."""
        m.submodules.loading = loading = FoldWindow(self.config)
        m.submodules.draining = draining = FoldWindow(self.config)
        drains = Signal()
        m.d.comb += [loading.place.eq(self.place), draining.place.eq(self.place)]
        m.d.sync += loading.start.eq(self.valid)
        with m.If(self.valid):
            m.d.sync += drains.eq(self.fold.drains)
        if self.config.second_rank:
            last_drains = Signal()
            with m.If(loading.start):
                m.d.sync += last_drains.eq(drains)
            m.d.sync += draining.start.eq(loading.last & last_drains)
        else:
            m.d.sync += draining.start.eq(loading.start & drains)
        shifts = Signal(ROWS, name="y_shifts")
        shift_drains = Signal(ROWS)
        m.d.comb += [
            shifts.eq(Mux(loading.active, loading.reached, 0)),
            shift_drains.eq(Mux(draining.active, ~draining.reached, 0)),
        ]
        return shifts, shift_drains
