"""Walks the rows of a command and computes where their parts lie in the lanes."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import request_layout
from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta_commands import DEALS, FIELDS, longest_row
from ...stream.stream_registers import SkidBuffer
from .layouts import lane_bits, place_layout, request_bits, rows_layout, word_bits


def requested_layout(config: GtaConfig) -> data.StructLayout:
    """The rows of a command in memory: ``base`` of the first, ``stride``, ``rows``, and ``beats``
    of each."""
    return data.StructLayout(
        {
            "base": config.addr_bits,
            "stride": FIELDS["load"]["stride"][1],
            "rows": FIELDS["load"]["rows"][1],
            "beats": request_bits(config),
        }
    )


class RowRequests(wiring.Component):
    """Requests row after row. One request a cycle, the first one cycle after ``i``.

    A request that is not accepted at once waits in a register, so that ``i.ready`` does not depend
    on ``request.ready``.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    i: see :func:`requested_layout`
    request: to a reader or a writer
    clear: in; forgets everything at the end of the cycle
    busy: out; requests are left
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        request = request_layout(config.addr_bits, request_bits(config))
        super().__init__(
            {
                "i": In(stream.Signature(requested_layout(config))),
                "request": Out(stream.Signature(request)),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self.i.payload
        address = Signal(self._config.addr_bits, reset_less=True)
        beats = Signal(len(asked.beats), reset_less=True)
        stride = Signal(len(asked.stride), reset_less=True)
        left = Signal(len(asked.rows))
        last = Signal()
        m.submodules.waiting = waiting = SkidBuffer(
            self.request.payload.shape(), output_register=False, clearable=True
        )
        wiring.connect(m, waiting.o, wiring.flipped(self.request))
        m.d.comb += [
            self.busy.eq(waiting.o.valid),
            last.eq(left == 1),
            waiting.clear.eq(self.clear),
            waiting.i.valid.eq(left != 0),
            waiting.i.payload.address.eq(address),
            waiting.i.payload.beats.eq(beats),
            self.i.ready.eq(~waiting.i.valid | (last & waiting.i.ready)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                address.eq(asked.base),
                stride.eq(asked.stride),
                beats.eq(asked.beats),
                left.eq(asked.rows),
            ]
        with m.Elif(waiting.i.valid & waiting.i.ready):
            m.d.sync += [address.eq(address + stride), left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        return m


def log2(number: int) -> int:
    """Returns the logarithm of a power of two."""
    return number.bit_length() - 1


class RowWalk(wiring.Component):
    """Walks the rows of a command, each from its beginning on, in steps of some bytes.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    step: bytes of a step, a power of two, at most 16

    Members
    -------
    rows: in; the command, constant from ``start`` to its end
    start: in, a pulse: the next step is the first one
    advance: in; a step is done
    place: out; where the step's bytes lie
    bytes: out; how many of them are the row's: ``step`` but for its last one
    at: out; the number of the step's first byte in its row
    row_end, ends: out; it is the last step of its row, and of the command
    """

    def __init__(self, config: GtaConfig, step: int) -> None:
        self._config, self._step = config, step
        super().__init__(
            {
                "rows": In(rows_layout(config)),
                "start": In(1),
                "advance": In(1),
                "place": Out(place_layout(config)),
                "bytes": Out(range(step + 1)),
                "at": Out(range(longest_row(config))),
                "row_end": Out(1),
                "ends": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, step = self.rows, self._step
        left = Signal(range(longest_row(self._config) + 1), reset_less=True)
        rows_left = Signal(len(rows.rows), reset_less=True)
        m.d.comb += [
            self.row_end.eq(left <= step),
            self.ends.eq(self.row_end & (rows_left == 1)),
            self.bytes.eq(Mux(self.row_end, left, step)),
        ]
        next_row = Signal()
        m.d.comb += next_row.eq(self.advance & self.row_end)
        with m.If(self.start):
            m.d.sync += rows_left.eq(rows.rows)
        with m.Elif(next_row):
            m.d.sync += rows_left.eq(rows_left - 1)
        with m.If(self.start | next_row):
            m.d.sync += [self.at.eq(0), left.eq(rows.row_bytes)]
        with m.Elif(self.advance):
            m.d.sync += [self.at.eq(self.at + step), left.eq(left - step)]
        self._place(m, *self._row(m, next_row))
        return m

    def _row(self, m: Module, next_row: Value) -> tuple[Value, Value, Value]:
        """The lane, the bank and the word where the row begins."""
        config, rows = self._config, self.rows
        lane = Signal(lane_bits(config), reset_less=True)
        entry = Signal(range(config.lanes + 1), reset_less=True)
        bank = Signal(log2(BANKS), reset_less=True)
        word = Signal(word_bits(config), reset_less=True)
        following = Signal(log2(BANKS) + 1)
        banks = Array(Const(deal.banks, log2(BANKS) + 1) for deal in DEALS)[rows.deal]
        m.d.comb += following.eq(bank + banks)
        with m.If(next_row):
            m.d.sync += bank.eq(following)
            with m.If(following[-1]):
                m.d.sync += [lane.eq(lane + rows.step), entry.eq(entry + 1)]
                with m.If(entry == rows.lanes - 1):
                    m.d.sync += [lane.eq(rows.first), entry.eq(0), word.eq(word + rows.words)]
        with m.If(self.start):
            m.d.sync += [lane.eq(rows.first), entry.eq(0), bank.eq(0), word.eq(rows.word)]
        return lane, bank, word

    def _place(self, m: Module, lane: Value, bank: Value, word: Value) -> None:
        """Byte w of element t of a row is byte w of element t / banks in bank t mod banks."""
        turn = Signal(log2(BANKS))
        byte = Signal(len(self.at))
        # Of the deals; a place is needed early in the cycle.
        chosen = Signal(len(DEALS), reset_less=True)
        with m.If(self.start):
            m.d.sync += chosen.eq(Cat(self.rows.deal == number for number in range(len(DEALS))))
        turns, places = [], []
        for number, deal in enumerate(DEALS):
            low, high = log2(deal.element), log2(deal.element) + log2(deal.banks)
            turns.append(Mux(chosen[number], self.at[low:high], 0))
            places.append(Mux(chosen[number], Cat(self.at[:low], self.at[high:]), 0))
        m.d.comb += [
            turn.eq(reduce(or_, turns)),
            byte.eq(reduce(or_, places)),
            self.place.lane.eq(lane),
            self.place.bank.eq(bank + turn),
            self.place.word.eq(word + byte[log2(LEFT_WORD_BYTES) :]),
            self.place.position.eq(byte[: log2(LEFT_WORD_BYTES)]),
        ]
