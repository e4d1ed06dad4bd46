"""Where a lane's results go, in the order in which the array gives them."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import ROWS, GtaConfig
from ...stream.queue import Queue
from ..fold_layouts import fold_cycles, fold_layout, place_layout, result_fold_layout
from .layouts import result_step_layout, row_step_layout
from .limb_groups import by_limbs, group_sizes

__all__ = ["ROW_TO_STEP", "ResultSequencer"]

ROW_TO_STEP = 2
"""Cycles from the last row's step to the first result step."""

_FOLDS = 4
"""At most so many folds have begun whose results have not."""


def _entry_layout(config: GtaConfig) -> data.StructLayout:
    rows = range(ROWS * config.lanes + 1)
    fields = {"cycles": fold_cycles(config), "rows": rows, "result": result_fold_layout(config)}
    return data.StructLayout(fields)


class ResultSequencer(wiring.Component):
    """Says of each partial result of column 0 what becomes of it.

    In WS a partial result comes for each limb that the last row is fed, in OS R of them, one for
    each row of the region, the last row's first, when the last row begins the fold behind. L of
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
        self._config = config
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

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        """That the results of a fold begin, and which one that is."""
        entry = _entry_layout(self._config)
        m.submodules.folds = folds = Queue(entry, _FOLDS)
        begin = Signal()
        begins = Mux(self.weights, self.row.valid, self.row.drains)
        m.d.comb += [
            folds.i.valid.eq(self.valid & self.fold.real & self.place.bottom),
            *(
                Value.cast(folds.i.payload[name]).eq(Value.cast(self.fold[name]))
                for name, _ in entry
            ),
            begin.eq(self.place.bottom & self.row.first & begins),
            folds.o.ready.eq(begin),
        ]
        return begin, folds.o.payload

    def _locate(
        self, m: Module, word: Value, number: Value, step: data.View[data.StructLayout]
    ) -> None:
        """Bank, word and place of a result of its group's string."""
        sizes = group_sizes(self._config)
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
