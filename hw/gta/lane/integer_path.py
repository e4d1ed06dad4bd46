"""Datapath of a lane for integers: feeders, accumulators and the port to the memory of results."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, LEFT_WORD_BYTES, LIMB_BITS, RESULT_WORD_BYTES, ROWS, GtaConfig
from ...stream.queue import Queue
from ..layouts import left_words
from ..path_members import fold_cycles, fold_layout, path_members, place_layout, result_fold_layout
from .left_feeder import LeftFeeder, LimbPick
from .multi_precision_accumulator import MultiPrecisionAccumulator, by_limbs, group_sizes
from .result_path import ResultPath, result_step_layout, row_step_layout

ROW_TO_STEP = 2
"""Cycles from the last row's step to the first result step."""

_FOLDS = 4
"""Most folds that have begun and whose results have not."""


def _entry_layout(config: GtaConfig) -> data.StructLayout:
    rows = range(ROWS * config.lanes + 1)
    fields = {"cycles": fold_cycles(config), "rows": rows, "result": result_fold_layout(config)}
    return data.StructLayout(fields)


class ResultSequencer(wiring.Component):
    """Says of each partial result of column 0 what becomes of it.

    In WS a partial result comes for each limb that the last row is fed, in OS R of them, one for
    each row of the region, the last row's first, when the last row begins the fold behind, or
    without a second rank when the first row does. L of
    them, from the highest limb down, are a result. Result t of a group's string lies in its bank t
    mod L, at place t // L. In OS results of rows beyond ``rows`` of the fold are not written.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log, size: in; WS, the format's limbs, 4 << size bytes a result; constant while
      anything is under way
    place: in; of the lane in its region; only one at the bottom gives steps
    valid, fold: in; a fold begins
    row: in; what the last row is fed
    step: out; ``ROW_TO_STEP`` cycles after ``row``
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "weights": In(1),
                "limbs_log": In(2),
                "size": In(2),
                "place": In(place_layout(config)),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "row": In(row_step_layout(config)),
                "step": Out(result_step_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        sizes = group_sizes(config)
        rows = Signal(range(ROWS * config.lanes + 1))
        m.d.comb += rows.eq(Cat(Const(0, 3), self.place.rows))
        begin, fold = self._next_fold(m)
        given = Signal(_entry_layout(config))
        live = Signal()
        left = Signal.like(given.cycles, name="steps_left")
        limb = Signal(range(max(2, *sizes)))
        number = Signal.like(given.result.element, name="number")
        limb_last = Signal()
        ends = by_limbs(self.limbs_log, {n: Const(n - 1, len(limb)) for n in sizes})
        elements = by_limbs(self.limbs_log, {n: rows[n.bit_length() - 1 :] for n in sizes})
        m.d.comb += limb_last.eq(limb == ends)
        with m.If(begin):
            m.d.sync += [
                given.eq(fold),
                live.eq(1),
                left.eq(Mux(self.weights, fold.cycles, rows) - 1),
                limb.eq(0),
                number.eq(Mux(self.weights, 0, fold.result.element + elements - 1)),
            ]
        with m.Elif(live):
            m.d.sync += [live.eq(left.any()), left.eq(left - 1), limb.eq(limb + 1)]
            with m.If(limb_last):
                m.d.sync += [
                    limb.eq(0),
                    number.eq(Mux(self.weights, number + 1, number - 1)),
                ]
        step = self.step
        m.d.sync += [
            step.first.eq(limb == 0),
            step.complete.eq(live & limb_last & (self.weights | (left < given.rows))),
            step.accumulate.eq(given.result.accumulate),
            step.last.eq(given.result.last & ~left.any()),
        ]
        self._locate(m, given.result.word, number, step)
        return m

    def _next_fold(self, m: Module) -> tuple[Value, data.View[data.StructLayout]]:
        """Queues the folds; returns whether the results of one begin, and which fold that is."""
        entry = _entry_layout(self.config)
        m.submodules.folds = folds = Queue(entry, _FOLDS)
        begin = Signal()
        begins = self.row.first & Mux(self.weights, self.row.valid, self.row.drains)
        if not self.config.second_rank:
            leave = Signal(name="sums_leave")
            m.d.sync += leave.eq(self.valid & self.fold.drains)
            begins = Mux(self.weights, self.row.first & self.row.valid, leave)
        m.d.comb += [
            folds.i.valid.eq(self.valid & self.fold.real & self.place.bottom),
            *(
                Value.cast(folds.i.payload[name]).eq(Value.cast(self.fold[name]))
                for name, _ in entry
            ),
            begin.eq(self.place.bottom & begins),
            folds.o.ready.eq(begin),
        ]
        return begin, folds.o.payload

    def _locate(
        self, m: Module, word: Value, number: Value, step: data.View[data.StructLayout]
    ) -> None:
        """Returns bank, word and place of a result of its group's string."""
        sizes = group_sizes(self.config)
        banks: dict[int, Value] = {
            n: Cat(number[: n.bit_length() - 1], Const(0, 4 - n.bit_length())) for n in sizes
        }
        elements = by_limbs(self.limbs_log, {n: number[n.bit_length() - 1 :] for n in sizes})
        place = Signal(len(number) + 2, name="place")
        low = len(step.place)
        with m.Switch(self.size):
            with m.Case(0):
                m.d.comb += place.eq(elements)
            with m.Case(1):
                m.d.comb += place.eq(Cat(Const(0, 1), elements))
            with m.Default():
                m.d.comb += place.eq(Cat(Const(0, 2), elements))
        m.d.sync += [
            step.bank.eq(by_limbs(self.limbs_log, banks)),
            step.word.eq(word + place[low:]),
            step.place.eq(place[:low]),
        ]


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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = data.StructLayout({"valid": 1, "address": range(self.config.edge_bytes)})
        steps = [Signal(step, name=f"step_{c}") for c in range(COLS + 1)]
        self._string(m, steps[0])
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        low = LEFT_WORD_BYTES.bit_length() - 1
        # The bits of a column's number that say which limb of its element it has.
        others = by_limbs(self.limbs_log, {n: Const(n - 1, 3) for n in group_sizes(self.config)})
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
        """Addresses the bytes that the first column reads."""
        left = Signal(fold_cycles(self.config), name="cycles_left")
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


class IntegerPath(wiring.Component):
    """Feeds a lane with integers, sums limbs under the columns, and writes the results.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    weights, limbs_log: in; WS, and the format's limbs; constant while anything is under way
    size: in; a result has 4 << size bytes; likewise
    sums, drains: in; of the array, by column; the latter with a second rank
    part, halves, quarters, write_half: see :class:`ResultPath`
    others: see :func:`path_members`
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        sums = data.ArrayLayout(signed(config.partial_bits), COLS)
        own = {
            "weights": In(1),
            "limbs_log": In(2),
            "size": In(2),
            "sums": In(sums),
            **({"drains": In(sums)} if config.second_rank else {}),
            "part": Out(data.ArrayLayout(2, BANKS)),
            "halves": In(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
            "quarters": In(data.ArrayLayout(2 * RESULT_WORD_BYTES, BANKS)),
            "write_half": Out(data.ArrayLayout(4 * RESULT_WORD_BYTES, BANKS)),
        }
        super().__init__(own | path_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.left_feeder = left = LeftFeeder(config)
        m.submodules.top_feeder = top = TopFeeder(config)
        for name, feeder in (("left", left), ("top", top)):
            m.d.comb += [
                feeder.weights.eq(self.weights),
                feeder.limbs_log.eq(self.limbs_log),
                feeder.place.eq(self.place),
                feeder.valid.eq(self.valid),
                feeder.fold.eq(self.fold),
                feeder.words.eq(getattr(self, f"{name}_words")),
                getattr(self, f"{name}_read").eq(feeder.read),
                getattr(self, f"{name}_address").eq(feeder.address),
            ]
        m.d.comb += [
            left.go.eq(self.go),
            left.waiting.eq(self.waiting),
            self.x.eq(left.x),
            self.y.eq(top.y),
        ]
        self._results(m, left)
        return m

    def _results(self, m: Module, left: LeftFeeder) -> None:
        """Connects sums to the memory of results."""
        config = self.config
        m.submodules.accumulator = accumulator = MultiPrecisionAccumulator(config)
        m.submodules.result_sequencer = results = ResultSequencer(config)
        m.submodules.result_path = path = ResultPath(config)
        sums = self.sums.as_value()
        if config.second_rank:
            sums = Mux(self.weights, sums, self.drains.as_value())
        m.d.comb += [
            accumulator.limbs_log.eq(self.limbs_log),
            accumulator.sums.eq(sums),
            accumulator.first.eq(path.first),
            results.weights.eq(self.weights),
            results.limbs_log.eq(self.limbs_log),
            results.size.eq(self.size),
            results.place.eq(self.place),
            results.valid.eq(self.valid),
            results.fold.eq(self.fold),
            results.row.eq(left.last_row),
            path.weights.eq(self.weights),
            path.limbs_log.eq(self.limbs_log),
            path.size.eq(self.size),
            path.step.eq(results.step),
            path.sums.eq(accumulator.o),
            path.halves.eq(self.halves),
            path.quarters.eq(self.quarters),
            self.part.eq(path.part),
            self.read.eq(path.read),
            self.read_address.eq(path.read_address),
            self.write.eq(path.write),
            self.write_address.eq(path.write_address),
            self.write_half.eq(path.write_half),
            self.will_write.eq(path.will_write.any()),
            self.done.eq(path.done),
        ]
