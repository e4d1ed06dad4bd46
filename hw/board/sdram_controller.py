"""Commands and words of an SDRAM chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.sdram import Sdram, SdramGeometry
from ..stream.queue import Queue
from ..stream.stream_registers import SkidBuffer
from .sdram_bank import SdramBank, ones

__all__ = ["SdramController", "SdramPins", "access_layout"]

_ALL_BANKS = 10
"""The address pin that makes a precharge one of all banks."""

_ROW_CYCLES = 3
"""Cycles between activations at least, even of two banks."""

# Commands as levels of the pins ras_n, cas_n and we_n.
_SET_MODE, _REFRESH, _PRECHARGE, _ACTIVATE = 0b000, 0b001, 0b010, 0b011
_WRITE, _READ, _NOTHING = 0b100, 0b101, 0b111


class SdramPins(wiring.Signature):
    """The pins of a chip, without its clock; each output is a register.

    Parameters
    ----------
    geometry: of the chip

    Members
    -------
    cke, cs_n, ras_n, cas_n, we_n: out; the command, low where the name ends in ``_n``
    ba, a: out; bank and address
    dqm: out; masks bytes of the word that is written
    dq_o, dq_oe: out; the word that is written, and whether it is driven
    dq_i: in; the level of the data pins
    """

    def __init__(self, geometry: SdramGeometry) -> None:
        levels = {name: Out(1, init=1) for name in ("cs_n", "ras_n", "cas_n", "we_n")}
        super().__init__(
            {
                "cke": Out(1),
                **levels,
                "ba": Out(geometry.bank_bits),
                "a": Out(geometry.address_bits),
                "dqm": Out(geometry.word_bytes, init=(1 << geometry.word_bytes) - 1),
                "dq_o": Out(geometry.word_bits),
                "dq_oe": Out(1),
                "dq_i": In(geometry.word_bits),
            }
        )


def access_layout(geometry: SdramGeometry, words: int) -> data.StructLayout:
    """An access to so many words of a row: ``place``, its number in the row; ``bank``, ``row``;
    ``write``, with ``data`` and ``strobe``, a bit for each byte."""
    return data.StructLayout(
        {
            "place": range(geometry.columns // words),
            "bank": geometry.bank_bits,
            "row": geometry.row_bits,
            "write": 1,
            "data": words * geometry.word_bits,
            "strobe": words * geometry.word_bytes,
        }
    )


class SdramController(wiring.Component):
    """Reads and writes words of an SDRAM chip, in order.

    It initialises the chip, refreshes it, and keeps a row open in each bank. Words of open rows
    move one a cycle, each by a command of its own: the chip's bursts have one word. The row of a
    later access is opened meanwhile if that needs another bank, at the cost of the one or two
    cycles of its commands. A write follows a read after ``turn`` cycles.

    The chip's clock lags behind the controller's by ``clock_phase`` degrees: see :class:`Sdram`.

    Parameters
    ----------
    chip: the chip and its clock
    words: of an access, a power of two from 2 to the columns of a row

    Members
    -------
    i: stream of accesses, see :func:`access_layout`
    o: stream of the data that were read, never stalled
    idle: out; no access is on its way
    pins: of the chip, see :class:`SdramPins`
    """

    def __init__(self, chip: Sdram, words: int) -> None:
        most = chip.geometry.columns
        if not 2 <= words <= most or words & (words - 1):
            raise ValueError(f"`words` must be a power of two in 2..{most}, not {words}")
        if chip.cycles.rrd > _ROW_CYCLES:
            raise ValueError(f"`t_rrd` must be at most {_ROW_CYCLES} cycles, not {chip.cycles.rrd}")
        self._chip, self._words = chip, words
        self._layout = access_layout(chip.geometry, words)
        word_bits = chip.geometry.word_bits
        super().__init__(
            {
                "i": In(stream.Signature(self._layout)),
                "o": Out(stream.Signature(words * word_bits, always_ready=True)),
                "idle": Out(1),
                "pins": Out(SdramPins(chip.geometry)),
            }
        )

    @property
    def chip(self) -> Sdram:
        return self._chip

    @property
    def words(self) -> int:
        return self._words

    @property
    def most_accesses(self) -> int:
        """Accesses on their way to the chip: two are checked, others wait, one moves."""
        return 3 + self._queued

    @property
    def _queued(self) -> int:
        """Sixteen words, in which a row of another bank is opened."""
        return max(2, 16 // self._words)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycles, geometry = self._chip.cycles, self._chip.geometry
        m.submodules.head = head = SkidBuffer(self._layout)
        m.submodules.queue = queue = Queue(self._layout, self._queued)
        wiring.connect(m, wiring.flipped(self.i), head.i)
        banks = []
        for number in range(geometry.banks):
            bank = SdramBank(cycles, geometry.row_bits, self._queued + 1)
            m.submodules[f"bank_{number}"] = bank
            banks.append(bank)
        row = _RowCommand(
            given=Signal(name="row_given"),
            code=Signal(3, name="row_code"),
            bank=Signal(geometry.bank_bits, name="row_bank"),
            address=Signal(geometry.address_bits, name="row_address"),
        )
        word = _WordCommand(
            moves=Signal(name="moves"),
            access=Signal(self._layout, name="access", reset_less=True),
            place=Signal(range(self._words), name="place"),
            last=Signal(name="last"),
        )
        ready = Signal()
        m.d.comb += word.last.eq(word.place == self._words - 1)
        valid = self._move(m, queue.o, banks, word, ~row.given)
        self._check_rows(m, head.o, queue.i, banks, row, ready)
        m.d.comb += self.idle.eq(~head.o.valid & ~queue.o.valid & ~valid)
        self._drive(m, row, word, ready)
        self._collect(m, word)
        return m

    def _check_rows(
        self, m: Module, head: Any, queue: Any, banks: list[SdramBank], row: _RowCommand,
        ready: Signal,
    ) -> None:  # fmt: skip
        """Passes an access on when its row is open; initialises and refreshes."""
        cycles, access = self._chip.cycles, head.payload
        power_up = Signal(range(cycles.power_up + 1), init=cycles.power_up)
        pause = Signal(max(cycles.rp, cycles.rfc, cycles.mrd))
        refreshes = self._chip.timing.refreshes
        left = Signal(range(refreshes), init=refreshes - 1)
        refreshed = Signal()
        due = self._refresh_due(m, refreshed)
        waited = Signal()
        open_ = Signal(name="open")
        open_row = Signal.like(access.row, name="open_row")
        settled = Signal()
        m.d.sync += [power_up.eq(power_up - 1), pause.eq(pause >> 1)]
        for name, signal in (
            ("waited", waited), ("open", open_), ("open_row", open_row), ("settled", settled),
        ):  # fmt: skip
            m.d.comb += signal.eq(Array(getattr(bank, name) for bank in banks)[access.bank])
        m.d.comb += queue.payload.eq(access)
        # A row is opened at most every third cycle, so that t_rrd needs no timer.
        with m.FSM(name="row_state"):
            all_settled = Cat(bank.settled for bank in banks).all()
            with m.State("power up"), m.If(power_up == 0):
                m.next = "close all"
            with m.State("close all"), m.If(all_settled):
                row.give(m, _PRECHARGE, address=1 << _ALL_BANKS)
                m.d.sync += pause.eq(ones(cycles.rp))
                m.next = "refresh"
            with m.State("refresh"), m.If(~pause[0]):
                row.give(m, _REFRESH)
                m.d.comb += refreshed.eq(1)
                m.d.sync += [pause.eq(ones(cycles.rfc)), left.eq(left - (left != 0))]
                with m.If(left == 0):
                    m.next = "run"
                    with m.If(~ready):
                        m.next = "set mode"
            with m.State("set mode"), m.If(~pause[0]):
                # Bursts of one word, and the CAS latency.
                row.give(m, _SET_MODE, address=cycles.cas << 4)
                m.d.sync += [pause.eq(ones(cycles.mrd)), ready.eq(1)]
                m.next = "run"
            with m.State("run"), m.If(~pause[0]):
                with m.If(due):
                    m.next = "close all"
                with m.Elif(head.valid & ~open_):
                    m.next = "open"
                with m.Elif(head.valid & (open_row != access.row)):
                    m.next = "close"
                with m.Else():
                    m.d.comb += [queue.valid.eq(head.valid), head.ready.eq(queue.ready)]
            with m.State("close"), m.If(settled):
                row.give(m, _PRECHARGE, bank=access.bank)
                m.next = "open"
            with m.State("open"), m.If(waited):
                row.give(m, _ACTIVATE, bank=access.bank, address=access.row)
                m.next = "run"
        closes = row.given & (row.code == _PRECHARGE)
        for number, bank in enumerate(banks):
            chosen = row.bank == number
            m.d.comb += [
                bank.row.eq(access.row),
                bank.activate.eq(row.given & (row.code == _ACTIVATE) & chosen),
                bank.precharge.eq(closes & (chosen | row.address[_ALL_BANKS])),
                bank.accept.eq(queue.valid & queue.ready & (access.bank == number)),
            ]

    def _refresh_due(self, m: Module, refreshed: Signal) -> Signal:
        """Returns whether a refresh is due, which it is until ``refreshed``."""
        last = self._chip.cycles.refresh - 1
        interval = Signal(range(last + 1), init=last)
        due = Signal()
        m.d.sync += interval.eq(interval - 1)
        with m.If(refreshed):
            m.d.sync += due.eq(0)
        with m.If(interval == 0):
            m.d.sync += [interval.eq(last), due.eq(1)]
        return due

    def _move(
        self, m: Module, queue: Any, banks: list[SdramBank], word: _WordCommand, free: Value
    ) -> Signal:
        """Moves the words of an access in free cycles; returns whether there is one."""
        cycles, geometry, access = self._chip.cycles, self._chip.geometry, word.access
        valid = Signal(name="access_valid")
        turn = Signal(cycles.turn)
        waited = Array(bank.waited for bank in banks)[access.bank]
        finishes = word.moves & word.last
        m.d.comb += [
            word.moves.eq(valid & free & waited & (~access.write | ~turn[0])),
            queue.ready.eq(~valid | finishes),
        ]
        m.d.sync += turn.eq(turn >> 1)
        with m.If(word.moves):
            m.d.sync += [
                word.place.eq(word.place + 1),
                access.data.eq(access.data >> geometry.word_bits),
                access.strobe.eq(access.strobe >> geometry.word_bytes),
            ]
            with m.If(~access.write):
                m.d.sync += turn.eq(ones(cycles.turn))
        with m.If(queue.ready):
            m.d.sync += [valid.eq(queue.valid), access.eq(queue.payload)]
        for number, bank in enumerate(banks):
            chosen = access.bank == number
            m.d.comb += [
                bank.write.eq(word.moves & access.write & chosen),
                bank.finish.eq(finishes & chosen),
            ]
        return valid

    def _drive(self, m: Module, row: _RowCommand, word: _WordCommand, ready: Signal) -> None:
        """Registers the outputs."""
        pins, access, geometry = self.pins, word.access, self._chip.geometry
        code = Signal(3)
        m.d.comb += code.eq(_NOTHING)
        with m.If(row.given):
            m.d.comb += code.eq(row.code)
        with m.Elif(word.moves):
            m.d.comb += code.eq(Mux(access.write, _WRITE, _READ))
        m.d.sync += [
            pins.cke.eq(1),
            pins.cs_n.eq(0),
            Cat(pins.we_n, pins.cas_n, pins.ras_n).eq(code),
            pins.ba.eq(Mux(row.given, row.bank, access.bank)),
            pins.a.eq(Mux(row.given, row.address, Cat(word.place, access.place))),
            pins.dqm.eq(Mux(ready, 0, -1)),
            pins.dq_o.eq(access.data[: geometry.word_bits]),
            pins.dq_oe.eq(word.moves & access.write),
        ]
        with m.If(word.moves & access.write):
            m.d.sync += pins.dqm.eq(~access.strobe[: geometry.word_bytes])

    def _collect(self, m: Module, word: _WordCommand) -> None:
        """Collects the words that were read."""
        stages = self._chip.cycles.sample + 1
        arrives = Signal(stages)
        ends = Signal(stages)
        read = Signal.like(self.pins.dq_i, name="word_read", reset_less=True)
        collected = Signal.like(self.o.payload, name="collected", reset_less=True)
        m.d.sync += [
            arrives.eq(Cat(word.moves & ~word.access.write, arrives)),
            ends.eq(Cat(word.last, ends)),
            read.eq(self.pins.dq_i),
            self.o.valid.eq(arrives[-1] & ends[-1]),
        ]
        with m.If(arrives[-1]):
            m.d.sync += collected.eq(Cat(collected[len(read) :], read))
        m.d.comb += self.o.payload.eq(collected)


@dataclass(frozen=True)
class _RowCommand:
    """A command for rows, which takes the cycle from words.

    Members
    -------
    given: there is one
    code, bank, address: the command
    """

    given: Signal
    code: Signal
    bank: Signal
    address: Signal

    def give(self, m: Module, code: int, *, bank: Any = 0, address: Any = 0) -> None:
        """Gives a command in this state."""
        m.d.comb += [
            self.given.eq(1), self.code.eq(code), self.bank.eq(bank), self.address.eq(address),
        ]  # fmt: skip


@dataclass(frozen=True)
class _WordCommand:
    """A command that moves a word.

    Members
    -------
    moves: there is one
    access: its access, whose data begin with the word
    place, last: of the word in the access
    """

    moves: Signal
    access: Any
    place: Signal
    last: Signal
