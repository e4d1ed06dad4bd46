"""Commands to folds, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, ROWS, GtaConfig, is_float, limbs
from ..float.headers import by_float
from ..layouts import Operation, left_words, pgemm_layout
from ..path_members import fold_cycles, fold_layout, place_layout, result_fold_layout
from .multi_precision_accumulator import by_format, by_limbs, group_sizes


class FoldWalk(wiring.Component):
    """Counts row folds and column folds, and says where operands and results of each are.

    Column folds are the inner loop where the command is ``lateral``, otherwise row folds.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, limbs_log, floats: in; constant from ``restart`` on
    place: in; of the lane in its region
    restart: in; the next fold is the command's first one
    step: in; the next fold is taken; not with ``restart``
    ends: out; the next fold is the command's last one
    left, top, rows, result: out; of the fold that was taken last, see :func:`fold_layout`
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "command": In(pgemm_layout(config)),
                "limbs_log": In(2),
                "floats": In(1),
                "place": In(place_layout(config)),
                "restart": In(1),
                "step": In(1),
                "ends": Out(1),
                "left": Out(range(left_words(config))),
                "top": Out(range(config.edge_bytes)),
                "rows": Out(range(ROWS * config.lanes + 1)),
                "result": Out(result_fold_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.command
        weights = Signal()
        rows = Signal(range(ROWS * self.config.lanes + 1))
        last_row = Signal()
        last_column = Signal()
        next_row = Signal()
        next_column = Signal()
        m.d.comb += [
            weights.eq(command.operation == Operation.WS),
            rows.eq(Cat(Const(0, 3), self.place.rows)),
            self.ends.eq(last_row & last_column),
            next_row.eq(self.step & (~command.lateral | last_column)),
            next_column.eq(self.step & (command.lateral | last_row)),
        ]
        top, word = self._columns(m, last=last_column, step=next_column)
        left, offset, element, first = self._rows(
            m, weights=weights, rows=rows, last=last_row, step=next_row
        )
        low = LEFT_WORD_BYTES.bit_length() - 1
        m.d.sync += [
            self.left.eq(left),
            self.top.eq(Cat(Const(0, low), top) + offset),
            self.rows.eq(Mux(last_row, command.rows_last, rows)),
            self.result.word.eq(word),
            self.result.element.eq(Mux(weights, 0, element)),
            self.result.accumulate.eq(command.use_c | (weights & ~first)),
            self.result.last.eq(self.ends),
        ]
        return m

    def _rows(
        self, m: Module, *, weights: Value, rows: Value, last: Signal, step: Value
    ) -> tuple[Signal, Signal, Signal, Signal]:
        """Steps through the row folds of a command.

        Returns the word on the left, the byte in a column's string, the first result, and whether
        this is the first row fold.
        """
        command = self.command
        count = Signal.like(command.row_folds, name="row_folds_left")
        first = Signal(name="first_row_fold")
        left = Signal.like(self.left, name="next_left")
        offset = Signal.like(self.top, name="next_offset")
        element = Signal.like(self.result.element, name="next_element")
        elements = Signal(range(ROWS * self.config.lanes + 1))
        sizes = group_sizes(self.config) or (1,)
        whole = {size: rows[size.bit_length() - 1 :] for size in sizes}
        m.d.comb += [
            last.eq(count <= 1),
            elements.eq(Mux(self.floats, ROWS, by_limbs(self.limbs_log, whole))),
        ]
        with m.If(self.restart | (step & last)):
            m.d.sync += [
                count.eq(command.row_folds),
                first.eq(1),
                left.eq(command.left_base),
                offset.eq(Mux(weights, rows - 1, 0)),
                element.eq(0),
            ]
        with m.Elif(step):
            m.d.sync += [
                count.eq(count - 1),
                first.eq(0),
                left.eq(left + command.left_stride),
                offset.eq(offset + Mux(weights, rows, 0)),
                element.eq(element + elements),
            ]
        return left, offset, element, first

    def _columns(self, m: Module, *, last: Signal, step: Value) -> tuple[Signal, Signal]:
        """Steps through the column folds of a command; returns the words above and of results."""
        command = self.command
        count = Signal.like(command.col_folds, name="col_folds_left")
        top = Signal.like(command.top_base, name="next_top")
        word = Signal.like(self.result.word, name="next_word")
        m.d.comb += last.eq(count <= 1)
        with m.If(self.restart | (step & last)):
            m.d.sync += [
                count.eq(command.col_folds),
                top.eq(command.top_base),
                word.eq(command.result_base),
            ]
        with m.Elif(step):
            m.d.sync += [
                count.eq(count - 1),
                top.eq(top + command.top_stride),
                word.eq(word + command.result_stride),
            ]
        return top, word


_TAIL = 20
"""Cycles, beside two for each row of the region, from when a fold could follow the last one, to
when its last result is written: columns of a lane, accumulator, adder and memory, rounded up."""


class FoldSequencer(wiring.Component):
    """Says when a fold begins, and where its operands and results are.

    Every lane of a region has one; all do the same, those of a lane column 8 cycles after those of
    the one before, since that is when x comes. Nothing is asked of the array: all takes the cycles
    that are counted here.

    Folds begin max(T', R) cycles apart, with T' = T L in WS and T in OS, and R rows of elements
    in the region. That is the least: R operands of a column come down one a cycle, as do R sums,
    and every row begins to take, and ends to give, where it needs to, not all at once, so
    that the next fold's follow at once. Without a second rank folds of OS begin T' + R - 1 cycles
    apart: complete sums move down through those below them. Without ``overlap`` folds begin
    2 R + C + T' - 2 (WS) and R + C + T' - 2 (OS) cycles apart.

    Of floats T' is T times the cycles of a product. A command follows the one before like another
    fold of it if both have the same operation, format and size of results; else, and always of
    floats whose products come less than 8 cycles apart, after the array is empty. The sums that OS
    leaves in the elements, those of integers, leave when the next fold begins; if none does at
    once, an empty one of R cycles does.

    A command is taken two cycles before a fold may begin at the earliest, and never less than 8
    cycles after the one before: ``current`` stays that long.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, start: in; a command, taken in the cycle of ``start``; one on vectors, taken while all
      is quiet, has no folds
    offered: in; the command that ``ready`` is about
    place: in; of the lane in its region; rows and columns are used; constant while not ``quiet``
    ready: out; ``offered`` may be taken; depends on it
    current: out; the command taken last
    limbs_log: out; of its format, if it is one of integers; floats: out; it is not
    valid, fold: out; a fold begins in this cycle
    quiet: out; everything is over, the last result is written
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "command": In(pgemm_layout(config)),
                "offered": In(pgemm_layout(config)),
                "start": In(1),
                "place": In(place_layout(config)),
                "ready": Out(1),
                "current": Out(pgemm_layout(config)),
                "limbs_log": Out(2),
                "floats": Out(1),
                "valid": Out(1),
                "fold": Out(fold_layout(config)),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current = self.current
        fresh = Signal()
        active = Signal()
        stay = Signal()
        go = Signal()
        close = Signal()
        steady = Signal()
        weights = Signal()
        m.d.comb += weights.eq(current.operation == Operation.WS)
        rows = Signal(range(ROWS * self.config.lanes + 1))
        m.d.comb += rows.eq(Cat(Const(0, 3), self.place.rows))
        cycles = self._cycles(m, weights)
        free, soon = self._interval(
            m, weights=weights, rows=rows, cycles=cycles, go=go, close=close
        )
        m.submodules.walk = walk = FoldWalk(self.config)
        m.d.comb += [
            walk.command.eq(current),
            walk.limbs_log.eq(self.limbs_log),
            walk.floats.eq(self.floats),
            walk.place.eq(self.place),
            walk.restart.eq(fresh),
            walk.step.eq(go),
            *(self.fold[name].eq(getattr(walk, name)) for name in ("left", "top", "rows")),
            self.fold.result.eq(walk.result),
        ]
        m.d.comb += [
            go.eq(active & free),
            close.eq(~active & ~fresh & stay & free),
        ]
        m.d.sync += fresh.eq(self.start & (self.command.operation != Operation.SIMD))
        with m.If(self.start):
            m.d.sync += [
                current.eq(self.command),
                self.limbs_log.eq(self._limbs_log()),
                self.floats.eq(self._that(is_float)),
                steady.eq(self._that(self._is_steady)),
            ]
        with m.If(fresh):
            m.d.sync += active.eq(1)
        with m.Elif(go & walk.ends):
            m.d.sync += active.eq(0)
        with m.If(go | close):
            m.d.sync += stay.eq(go & ~weights & ~self.floats)
        real = Signal()
        drains = Signal()
        begun = Signal.like(cycles, name="cycles_begun")
        m.d.sync += [
            self.valid.eq(go | close),
            begun.eq(Mux(self.floats, current.time, cycles)),
            real.eq(go),
            drains.eq(stay),
        ]
        m.d.comb += [
            self.fold.cycles.eq(begun),
            self.fold.real.eq(real),
            self.fold.drains.eq(drains),
        ]
        tail = Signal(range(2 * ROWS * self.config.lanes + _TAIL + 1))
        with m.If(go | close):
            m.d.sync += tail.eq((rows << 1) + _TAIL)
        with m.Elif(free & tail.any()):
            m.d.sync += tail.eq(tail - 1)
        same = Signal()
        kept = ("operation", "format", "result_size")
        m.d.comb += [
            self.quiet.eq(~(fresh | active | stay | tail.any())),
            same.eq(Cat(*(current[n] for n in kept)) == Cat(*(self.offered[n] for n in kept))),
            self.ready.eq(~fresh & ~active & soon & ((same & steady) | self.quiet)),
        ]
        return m

    def _limbs_log(self) -> Value:
        """Returns the logarithm of the number of limbs in the format of the next command."""
        names = self.config.integers or self.config.formats
        return by_format(
            self.config,
            self.command.format,
            lambda name: limbs(name).bit_length() - 1,
            names,
        )

    def _that(self, holds: Callable[[str], bool]) -> Value:
        """Tells whether a condition holds of the format of the next command."""
        names = (*self.config.integers, *self.config.floats)
        return by_format(self.config, self.command.format, holds, names)

    def _is_steady(self, name: str) -> bool:
        """Tells whether chains of any length may follow each other without a gap.

        Their last sums arrive one row of a column per cycle, and the sums of the chains before,
        where they begin with these, are available by then.
        """
        return not is_float(name) or self.config.interval(name) >= ROWS

    def _cycles(self, m: Module, weights: Value) -> Signal:
        """T', of the command."""
        cycles = Signal(fold_cycles(self.config))
        length = Signal.like(cycles, name="stream_length")
        m.d.comb += length.eq(self.current.time)
        lengths: dict[int, Value] = {
            size: Cat(Const(0, size.bit_length() - 1), length)[: len(length)]
            for size in group_sizes(self.config)
        }
        m.d.comb += cycles.eq(length)
        if lengths:
            with m.If(weights):
                m.d.comb += cycles.eq(by_limbs(self.limbs_log, lengths))
        if self.config.floats:
            intervals = self.config.interval
            product = by_float(self.config, self.current.format, intervals)
            with m.If(self.floats):
                m.d.comb += cycles.eq((length * product)[: len(cycles)])
        return cycles

    def _interval(
        self, m: Module, *, weights: Value, rows: Value, cycles: Value, go: Value, close: Value
    ) -> tuple[Value, Value]:
        """Counts down to the next fold; returns whether one may begin now, and in two cycles."""
        most = (1 << len(cycles)) + 4 * ROWS * self.config.lanes
        wait = Signal(range(most))
        alone = Signal(range(most))
        beyond = Signal(range(most))
        m.d.comb += [
            beyond.eq(
                Mux(weights, Cat(Const(0, 1), rows), rows) + Cat(Const(0, 3), self.place.columns)
            ),
            alone.eq(cycles + beyond - 3),
        ]
        last = Signal(range(most), name="interval_less_1")
        with m.If(~self.current.overlap):
            m.d.sync += last.eq(alone)
        if not self.config.second_rank:
            with m.Elif(~weights & ~self.floats):
                m.d.sync += last.eq(cycles + rows - 2)
        with m.Elif(cycles > rows):
            m.d.sync += last.eq(cycles - 1)
        with m.Else():
            m.d.sync += last.eq(rows - 1)
        with m.If(go):
            m.d.sync += wait.eq(last)
        with m.Elif(close):
            m.d.sync += wait.eq(rows - 1)
        with m.Elif(wait.any()):
            m.d.sync += wait.eq(wait - 1)
        return ~wait.any(), wait <= 2
