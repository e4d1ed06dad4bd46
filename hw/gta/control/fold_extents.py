"""Checks that the operands and the results of an EXECUTE fit the memories."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, ROWS, GtaConfig
from ...spec.jobs.gta_commands import COMMAND_BYTES, OPERATIONS, lane_words, most_folds
from .layouts import command_layout
from .row_walk import log2

__all__ = ["FoldExtents", "scaled"]

_WORD = log2(LEFT_WORD_BYTES)


class FoldExtents(wiring.Component):
    """Goes through the folds of an EXECUTE, one a cycle, to where the last ones' operands end.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    command: in; constant from ``start`` to ``done``
    floats, element, limbs: in; see :class:`FormatTable`
    rows: in; elements of the region downwards
    start: in, a pulse
    done: out; all folds have been looked at since ``start``
    over: out; with ``done``: something lies behind the end of a bank, or results of two folds of
        columns over each other
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "command": In(8 * COMMAND_BYTES),
                "floats": In(1),
                "element": In(2),
                "limbs": In(2),
                "rows": In(range(ROWS * config.lanes + 1)),
                "start": In(1),
                "done": Out(1),
                "over": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        command = command_layout("execute")(self.command)
        edge, results = lane_words(config, "left"), lane_words(config, "result")
        folds = most_folds(config)
        # Fields that no product needs that fits; the others are short.
        wide = Cat(
            *(command[f"{side}_{what}"] >= edge for side in ("left", "top")
              for what in ("base", "stride")),
            *(command[f"result_{what}"] >= results for what in ("base", "stride")),
            *(command[f"{name}_folds"] > folds for name in ("row", "col")),
            command.time > config.edge_bytes,
        ).any()  # fmt: skip
        place_bits = (edge + folds * edge).bit_length()
        left = Signal(place_bits, reset_less=True)
        top = Signal(place_bits, reset_less=True)
        result = Signal((results + folds * results).bit_length(), reset_less=True)
        # A fold ahead, for what follows from it to be in registers.
        used = Signal(((folds + 1) * ROWS * config.lanes).bit_length(), reset_less=True)
        next_used = Signal.like(used)
        fold = Signal(range(folds + 2))
        rows_left = Signal()
        cols_left = Signal()
        busy = Signal()
        step = Signal(len(self.rows))
        m.d.comb += [
            rows_left.eq(fold < command.row_folds),
            cols_left.eq(fold < command.col_folds),
            # For floats, a lane keeps the results of its own rows.
            step.eq(Mux(self.floats, ROWS, self.rows)),
            next_used.eq(Mux(self.start, step, used)),
            self.done.eq(~busy),
        ]
        steps = self.start | (busy & rows_left)
        ends = self._ends(m, left, top, result, next_used, steps)
        with m.If(self.start):
            m.d.sync += [
                busy.eq(1),
                fold.eq(1),
                left.eq(command.left_base),
                top.eq(command.top_base),
                result.eq(command.result_base),
                used.eq(step << 1),
            ]
        with m.Elif(busy):
            m.d.sync += [self.over.eq(wide | ends), fold.eq(fold + 1)]
            with m.If(rows_left):
                m.d.sync += [left.eq(left + command.left_stride), used.eq(used + step)]
            with m.If(cols_left):
                m.d.sync += [
                    top.eq(top + command.top_stride),
                    result.eq(result + command.result_stride),
                ]
            with m.If(wide | ~(rows_left | cols_left)):
                m.d.sync += busy.eq(0)
        return m

    def _ends(
        self, m: Module, left: Value, top: Value, result: Value, used: Value, steps: Value
    ) -> Value:
        """Tells whether the operands or the results of a fold exceed a bank.

        ``used``: rows up to the end of the fold after ``steps``.
        """
        config = self._config
        command = command_layout("execute")(self.command)
        edge = lane_words(config, "left")
        time = command.time[: config.edge_bytes.bit_length()]
        ws = command.operation == OPERATIONS.index("ws")
        whole = Signal(len(time) + 3)
        stream = Signal(len(time) + 3)
        weights = Signal(max(len(used), len(whole)))
        elements = Signal(len(weights))
        groups = Signal(len(weights) + 1, reset_less=True)
        size = Signal(len(weights) + 6)
        stream_words = Signal(len(stream), reset_less=True)
        weights_words = Signal(len(weights), reset_less=True)
        m.d.comb += [
            whole.eq(scaled(time, self.element)),
            stream.eq(Mux(ws | self.floats, whole, time)),
            weights.eq(Mux(ws, used, stream)),
            elements.eq(Mux(ws, time, _divided(used, self.limbs))),
            size.eq(scaled(groups.shift_left(2), command.result_size[:2])),
        ]
        with m.If(steps):
            m.d.sync += [
                groups.eq(_divided(elements + scaled(1, self.limbs) - 1, self.limbs)),
                stream_words.eq(_words(stream)),
                weights_words.eq(_words(weights)),
            ]
        own = _words(size)
        return (
            (left + stream_words > edge)
            | (top + weights_words > edge)
            | (result + own > lane_words(config, "result"))
            | ((command.col_folds > 1) & (command.result_stride < own))
        )


def _words(count: Value) -> Value:
    """Words of 16 bytes that so many bytes begin."""
    return (count + (LEFT_WORD_BYTES - 1))[_WORD:]


def scaled(value: Value | int, log: Value) -> Value:
    """Times a power of two of at most 8."""
    result: Value = Mux(log[0], value * 2, value)
    return Mux(log[1], result * 4, result)


def _divided(value: Value, log: Value) -> Value:
    """Divides by 1, 2, 4 or 8, given as its logarithm; rounds down."""
    result: Value = Mux(log[0], value[1:], value)
    return Mux(log[1], result[2:], result)
