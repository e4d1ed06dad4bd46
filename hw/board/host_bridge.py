"""The bridge of a board: what a host asks for over a serial line, on the buses of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import address_layout, beat_layout, response_layout, write_layout
from ..spec.bridge import IDENTITY_BYTES, REPLY, WORD_BYTES, Command, Identity, Status
from ..spec.registers.register_map import WORD_BITS
from .frames import FrameReceiver, FrameSender

__all__ = ["HostBridge"]


class HostBridge(wiring.Component):
    """Executes requests of a host one at a time, and answers each.

    A request with the sequence number of the one before is a repetition, whose answer was lost: a
    write is not done again, its answer is. Behind a reset the host must open the bridge first.
    Memory is accessed byte by byte, each with a transfer of its own: the serial line is far slower.
    When the interrupt rises, the host gets a frame that it has not asked for.

    Parameters
    ----------
    identity: what the board says of itself
    lite_addr_bits: width of a register's address
    addr_bits, data_bits, id_bits: widths of the memory bus

    Members
    -------
    rx, tx: streams of bytes, from and to the serial line
    irq: in; the unit's interrupt
    lite_ar, lite_r, lite_aw, lite_w, lite_b: to the registers
    ar, r, aw, w, b: to the memory; bursts of one beat, ID 0
    """

    def __init__(
        self,
        identity: Identity,
        *,
        lite_addr_bits: int,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
    ) -> None:
        self._identity = identity
        self._data_bits = data_bits
        register = stream.Signature(data.StructLayout({"address": lite_addr_bits}))
        word = data.StructLayout({"data": WORD_BITS, "strobe": WORD_BYTES})
        found = data.StructLayout({"data": WORD_BITS, "response": 2})
        super().__init__(
            {
                "rx": In(stream.Signature(8, always_ready=True)),
                "tx": Out(stream.Signature(8)),
                "irq": In(1),
                "lite_ar": Out(register),
                "lite_r": In(stream.Signature(found)),
                "lite_aw": Out(register),
                "lite_w": Out(stream.Signature(word)),
                "lite_b": In(stream.Signature(response_layout())),
                "ar": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "r": In(stream.Signature(beat_layout(data_bits, id_bits))),
                "aw": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "w": Out(stream.Signature(write_layout(data_bits))),
                "b": In(stream.Signature(response_layout(id_bits))),
            }
        )

    @property
    def identity(self) -> Identity:
        return self._identity

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = FrameReceiver(self._identity.most_data)
        m.submodules.sender = sender = FrameSender()
        wiring.connect(m, wiring.flipped(self.rx), receiver.i)
        wiring.connect(m, sender.o, wiring.flipped(self.tx))
        answer = _Answer(
            replies_to=Signal(8),
            sequence=Signal(8),
            with_data=Signal(),
            place=Signal(range(self._identity.most_data + 1)),
            status=Signal(Status),
            outcome=Signal(Status),
            word=Signal(WORD_BITS),
        )
        m.d.comb += receiver.place.eq(answer.place)
        bus = self._transfers(m, receiver.header.address, answer.place, answer.word, receiver.value)
        opened = Signal()
        malformed, event = self._malformed(m, receiver), self._event(m, opened)
        with m.FSM(name="request"):
            self._begin(m, receiver, answer, opened, malformed, event)
            self._write(m, receiver, answer, bus)
            self._read_register(m, answer, bus)
            self._send(m, receiver, sender, answer, bus)
        return m

    def _begin(
        self, m: Module, receiver: FrameReceiver, answer: _Answer, opened: Signal,
        malformed: Value, event: Signal,
    ) -> None:  # fmt: skip
        """Waits for a request or for the interrupt, and chooses what is done."""
        header, command = receiver.header, receiver.header.command
        repeated = opened & (header.sequence == answer.sequence)
        writes = (command == Command.WRITE_REGISTER) | (command == Command.WRITE_MEMORY)
        with m.State("wait"):
            m.d.sync += [answer.place.eq(0), answer.replies_to.eq(command)]
            with m.If(receiver.arrived):
                m.next = "check"
            with m.Elif(event):
                m.d.sync += [event.eq(0), answer.replies_to.eq(Command.EVENT)]
                answer.begin(m, Status.DONE)
        with m.State("check"):
            m.d.sync += [answer.sequence.eq(header.sequence), answer.status.eq(Status.DONE)]
            with m.If((command == Command.OPEN) & (receiver.length == 0)):
                m.d.sync += opened.eq(1)
                answer.begin(m, Status.DONE, data=True)
            with m.Elif(~opened):
                answer.begin(m, Status.CLOSED)
            with m.Elif(malformed):
                answer.begin(m, Status.MALFORMED)
            with m.Elif(writes):
                m.next = "find"
                with m.If(repeated):
                    answer.begin(m, answer.outcome)
            with m.Elif(command == Command.READ_REGISTER):
                m.next = "read register"
            with m.Else():
                answer.begin(m, Status.DONE, data=command == Command.READ_MEMORY)

    def _write(self, m: Module, receiver: FrameReceiver, answer: _Answer, bus: _Transfers) -> None:
        """Writes a register, or bytes of memory one after the other."""
        header, place = receiver.header, answer.place
        # A byte is at the receiver's output a cycle after its place.
        with m.State("find"):
            m.next = "take"
        with m.State("take"):
            m.next = "write memory"
            with m.If(header.command == Command.WRITE_REGISTER):
                word = answer.word
                m.d.sync += [word.eq(Cat(word[8:], receiver.value)), place.eq(place + 1)]
                m.next = "find"
                with m.If(place == WORD_BYTES - 1):
                    m.next = "write register"
        with m.State("write memory"):
            m.d.comb += bus.write.active.eq(1)
            with m.If(bus.write.done):
                m.d.sync += place.eq(place + 1)
                m.next = "find"
                with m.If(place + 1 == header.count):
                    m.d.sync += [answer.with_data.eq(0), place.eq(0)]
                    m.next = "command"
                with m.If(self.b.payload.response != 0):
                    m.d.sync += answer.status.eq(Status.MEMORY)
        with m.State("write register"):
            m.d.comb += bus.lite_write.active.eq(1)
            with m.If(bus.lite_write.done):
                fine = self.lite_b.payload.response == 0
                answer.begin(m, Mux(fine, Status.DONE, Status.REGISTER))

    def _read_register(self, m: Module, answer: _Answer, bus: _Transfers) -> None:
        """Reads a register, before the answer begins."""
        with m.State("read register"):
            m.d.comb += bus.lite_read.active.eq(1)
            with m.If(bus.lite_read.done):
                m.d.sync += answer.word.eq(self.lite_r.payload.data)
                fine = self.lite_r.payload.response == 0
                answer.begin(m, Mux(fine, Status.DONE, Status.REGISTER), data=True)

    def _send(
        self, m: Module, receiver: FrameReceiver, sender: FrameSender, answer: _Answer,
        bus: _Transfers,
    ) -> None:  # fmt: skip
        """Sends the answer; memory is read byte by byte meanwhile."""
        out, byte, place, word = sender.i, sender.i.payload.value, answer.place, answer.word
        reads_memory = answer.replies_to == Command.READ_MEMORY
        opens = answer.replies_to == Command.OPEN
        with m.State("command"):
            m.d.comb += [out.valid.eq(1), byte.eq(answer.replies_to | REPLY)]
            with m.If(out.ready):
                m.next = "sequence"
        with m.State("sequence"):
            m.d.comb += [out.valid.eq(1), byte.eq(answer.sequence)]
            with m.If(out.ready):
                m.next = "status"
                with m.If(answer.with_data):
                    m.next = "data"
                with m.If(answer.with_data & reads_memory):
                    m.next = "read memory"
        with m.State("read memory"):
            m.d.comb += bus.read.active.eq(1)
            with m.If(bus.read.done):
                m.d.sync += word[:8].eq(self.r.payload.data.word_select(bus.lane, 8))
                with m.If(self.r.payload.response != 0):
                    m.d.sync += answer.status.eq(Status.MEMORY)
                m.next = "data"
        with m.State("data"):
            identity = Array(Const(value, 8) for value in self._identity.to_bytes())
            m.d.comb += [out.valid.eq(1), byte.eq(Mux(opens, identity[place], word[:8]))]
            count = receiver.header.count
            last = Mux(reads_memory, count, Mux(opens, IDENTITY_BYTES, WORD_BYTES))
            with m.If(out.ready):
                m.d.sync += [place.eq(place + 1), word.eq(word >> 8)]
                with m.If(reads_memory):
                    m.next = "read memory"
                with m.If(place + 1 == last):
                    m.next = "status"
        with m.State("status"):
            m.d.comb += [out.valid.eq(1), byte.eq(answer.status)]
            with m.If(out.ready):
                m.d.sync += answer.outcome.eq(answer.status)
                m.next = "interrupt"
        with m.State("interrupt"):
            m.d.comb += [out.valid.eq(1), byte.eq(self.irq), out.payload.last.eq(1)]
            with m.If(out.ready):
                m.d.comb += receiver.done.eq(answer.replies_to != Command.EVENT)
                m.next = "wait"

    def _malformed(self, m: Module, receiver: FrameReceiver) -> Value:
        """Whether a command is unknown, or its address, count or data do not fit it."""
        header, length = receiver.header, receiver.length
        wrong = Signal()
        of_register = (header.count != WORD_BYTES) | (
            header.address >> len(self.lite_ar.payload.address) != 0
        )
        of_memory = (header.count == 0) | (header.count > self._identity.most_data)
        with m.Switch(header.command):
            with m.Case(Command.STATE):
                m.d.comb += wrong.eq(length != 0)
            with m.Case(Command.READ_REGISTER):
                m.d.comb += wrong.eq((length != 0) | of_register)
            with m.Case(Command.WRITE_REGISTER):
                m.d.comb += wrong.eq((length != header.count) | of_register)
            with m.Case(Command.READ_MEMORY):
                m.d.comb += wrong.eq((length != 0) | of_memory)
            with m.Case(Command.WRITE_MEMORY):
                m.d.comb += wrong.eq((length != header.count) | of_memory)
            with m.Default():
                m.d.comb += wrong.eq(1)
        return wrong

    def _event(self, m: Module, opened: Value) -> Signal:
        """Whether the host is still to be told that the interrupt has risen."""
        event = Signal()
        was_high = Signal()
        m.d.sync += was_high.eq(self.irq)
        with m.If(opened & self.irq & ~was_high):
            m.d.sync += event.eq(1)
        return event

    def _transfers(
        self, m: Module, first: Value, place: Value, word: Value, byte: Value
    ) -> _Transfers:
        """Single transfers of both buses; those of memory are of the byte at ``place``."""
        bus = _Transfers(
            lite_read=_transfer(m, "lite_read", [self.lite_ar], self.lite_r),
            lite_write=_transfer(m, "lite_write", [self.lite_aw, self.lite_w], self.lite_b),
            read=_transfer(m, "read", [self.ar], self.r),
            write=_transfer(m, "write", [self.aw, self.w], self.b),
            lane=Signal(range(self._data_bits // 8)),
        )
        address = Signal(32)
        line = address & ~(self._data_bits // 8 - 1)
        m.d.comb += [
            address.eq(first + place),
            bus.lane.eq(address),
            self.lite_ar.payload.address.eq(first),
            self.lite_aw.payload.address.eq(first),
            self.lite_w.payload.data.eq(word),
            self.lite_w.payload.strobe.eq(-1),
            self.ar.payload.address.eq(line),
            self.aw.payload.address.eq(line),
            self.w.payload.data.eq(byte.replicate(self._data_bits // 8)),
            self.w.payload.strobe.eq(1 << bus.lane),
            self.w.payload.last.eq(1),
        ]
        return bus


@dataclass(frozen=True)
class _Answer:
    """The registers of an answer.

    Members
    -------
    replies_to: command that it answers
    sequence: number of the request
    with_data: whether data follow
    place: of a byte of the request's or the answer's data
    status: how it went; ``outcome``: how the request before went
    word: of a register; its lowest byte is a byte of memory
    """

    replies_to: Signal
    sequence: Signal
    with_data: Signal
    place: Signal
    status: Any
    outcome: Any
    word: Signal

    def begin(self, m: Module, status: Any, *, data: Any = False) -> None:
        """Sends an answer from the next cycle on; in a state of the bridge."""
        m.d.sync += [self.status.eq(status), self.with_data.eq(data), self.place.eq(0)]
        m.next = "command"


class _Transfer(NamedTuple):
    """A transfer of a bus: ``active`` until it is ``done``."""

    active: Signal
    done: Signal


@dataclass(frozen=True)
class _Transfers:
    """The transfers of both buses, and the byte of a beat that one of memory is about."""

    lite_read: _Transfer
    lite_write: _Transfer
    read: _Transfer
    write: _Transfer
    lane: Signal


def _transfer(m: Module, name: str, requests: list[Any], answer: Any) -> _Transfer:
    """Sends each request once, and takes the answer when all have been accepted."""
    active, done = Signal(name=f"{name}_active"), Signal(name=f"{name}_done")
    accepted = Signal(len(requests), name=f"{name}_accepted")
    for number, request in enumerate(requests):
        m.d.comb += request.valid.eq(active & ~accepted[number])
        with m.If(request.valid & request.ready):
            m.d.sync += accepted[number].eq(1)
    m.d.comb += [answer.ready.eq(accepted.all()), done.eq(answer.valid & answer.ready)]
    with m.If(done):
        m.d.sync += accepted.eq(0)
    return _Transfer(active, done)
