"""A register map on AXI4-Lite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.registers.register_map import WORD_BITS, Field, Register, RegisterMap

__all__ = ["AxiLiteRegisters", "field_members"]


class Response(enum.IntEnum, shape=2):  # type: ignore[call-arg]
    """AXI response codes that the registers return."""

    OKAY = 0
    SLVERR = 2


_STROBES = WORD_BITS // 8


def field_members(register_map: RegisterMap) -> Iterator[tuple[str, wiring.Member]]:
    """The members of all fields, seen from :class:`AxiLiteRegisters`."""
    for register in register_map:
        for field in register.fields:
            name, access = register.member(field), register.access_of(field)
            if access == "ro":
                if not field.constant:
                    yield name, In(field.width)
                continue
            yield name, Out(field.width, init=field.reset if access != "wo" else 0)
            if access == "w1c":
                yield f"{name}_set", In(field.width)
                yield f"{name}_clear", In(field.width)


class AxiLiteRegisters(wiring.Component):
    """Registers of a map, which software reads and writes one word at a time.

    Address and data of a write may come in either order or together: each is taken as soon as that
    of the write before has taken effect, whether the other one has come or not. Reads and writes do
    not wait for each other. An address without a register, and a write to a word without a writable
    field, answer SLVERR. Byte strobes hold for fields of every kind. A write takes effect two
    cycles after the later one of AW and W, but not while the response before waits for BREADY. A
    read answers after one cycle, and the next one is accepted a cycle after RREADY: at most one
    read every two cycles. No output follows an input in the same cycle.

    Parameters
    ----------
    register_map: the registers
    address_bits: width of an address, at least what the map needs; an address's lowest two bits
        are ignored

    Members
    -------
    aw, w, b, ar, r: the bus (see ``LitePort.connect``)

    and for each field, under the name that ``Register.member`` gives it,

    rw: out; the value
    ro: in; the value (a constant field has no member)
    w1c: out; the value. ``<member>_clear``: in; bits that the hardware clears. ``<member>_set``:
        in; bits to set, which wins over both ways of clearing
    wo: out; the value written, for one cycle, zero in all others. It comes in the cycle in which
        rw fields show what the same write put there
    """

    def __init__(self, register_map: RegisterMap, address_bits: int) -> None:
        if address_bits < register_map.address_bits:
            least = register_map.address_bits
            raise ValueError(f"`address_bits` must be at least {least}, not {address_bits}")
        self._map = register_map
        address = data.StructLayout({"address": address_bits})
        written = data.StructLayout({"data": WORD_BITS, "strobe": _STROBES})
        read = data.StructLayout({"data": WORD_BITS, "response": Response})
        members: dict[str, wiring.Member] = {
            "aw": In(stream.Signature(address)),
            "w": In(stream.Signature(written)),
            "b": Out(stream.Signature(data.StructLayout({"response": Response}))),
            "ar": In(stream.Signature(address)),
            "r": Out(stream.Signature(read)),
        }
        for name, member in field_members(register_map):
            if name in members:
                raise ValueError(f"a field must not be called `{name}`")
            members[name] = member
        super().__init__(members)

    @property
    def register_map(self) -> RegisterMap:
        return self._map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        write, place, word, strobe = self._accept(m)
        written, writable = self._decode(m, write, place)
        for register in self._map:
            for field in register.fields:
                self._field(m, register, field, written, word, strobe)
        with m.If(write):
            m.d.sync += [
                self.b.valid.eq(1),
                self.b.payload.response.eq(Mux(writable, Response.OKAY, Response.SLVERR)),
            ]
        with m.Elif(self.b.ready):
            m.d.sync += self.b.valid.eq(0)
        self._read(m)
        return m

    def _place_signal(self, name: str, *, reset_less: bool = False) -> Signal:
        """Returns a signal for a word's number; waveforms show the name of the word's register."""
        names = {
            register.name + ("", "_HIGH")[index]: _place(register, index)
            for register in self._map
            for index in range(register.words)
        }
        bits = len(self.aw.payload.address) - 2
        return Signal(bits, name=name, reset_less=reset_less, decoder=IntEnum("Place", names))

    def _accept(self, m: Module) -> tuple[Value, Value, Value, Value]:
        """Waits for AW and W; returns the write enable, its word's number, data and strobes."""
        have_place = Signal()
        have_word = Signal()
        write = Signal()
        place = self._place_signal("place", reset_less=True)
        word = Signal(WORD_BITS, reset_less=True)
        strobe = Signal(_STROBES, reset_less=True)
        m.d.comb += [
            self.aw.ready.eq(~have_place),
            self.w.ready.eq(~have_word),
            write.eq(have_place & have_word & (self.b.ready | ~self.b.valid)),
        ]
        with m.If(self.aw.valid & ~have_place):
            m.d.sync += [have_place.eq(1), place.eq(self.aw.payload.address[2:])]
        with m.If(self.w.valid & ~have_word):
            m.d.sync += [
                have_word.eq(1),
                word.eq(self.w.payload.data),
                strobe.eq(self.w.payload.strobe),
            ]
        with m.If(write):
            m.d.sync += [have_place.eq(0), have_word.eq(0)]
        return write, place, word, strobe

    def _decode(
        self, m: Module, write: Value, place: Value
    ) -> tuple[dict[tuple[str, int], Signal], Value]:
        """Decodes a write: a write enable for each writable word of each register, and whether any
        of them is set."""
        written: dict[tuple[str, int], Signal] = {}
        for register in self._map:
            for index in range(register.words):
                fields = [f for f in register.fields if any(p.word == index for p in _parts(f))]
                if any(register.access_of(field) != "ro" for field in fields):
                    name = f"write_{register.name.lower()}_{index}"
                    written[register.name, index] = Signal(name=name)
        hit = Signal()
        with m.Switch(place):
            for (name, index), selected in written.items():
                with m.Case(_place(self._map[name], index)):
                    m.d.comb += [selected.eq(write), hit.eq(1)]
        return written, hit

    def _field(
        self,
        m: Module,
        register: Register,
        field: Field,
        written: dict[tuple[str, int], Signal],
        word: Value,
        strobe: Value,
    ) -> None:
        """Updates a field on a write, or from the hardware. Each of its bytes has an enable."""
        access = register.access_of(field)
        if access == "ro":
            return
        value: Any = getattr(self, register.member(field))
        if access == "wo":
            m.d.sync += value.eq(0)
        if access == "w1c":
            cleared, set_bits = (
                getattr(self, f"{register.member(field)}_{kind}") for kind in ("clear", "set")
            )
            m.d.sync += value.eq((value & ~cleared) | set_bits)
        for part in _parts(field):
            own, data = value[part.start : part.end], word[part.low : part.low + part.width]
            with m.If(written[register.name, part.word]), m.If(strobe[part.byte]):
                if access == "w1c":
                    both = cleared[part.start : part.end] | data
                    m.d.sync += own.eq((own & ~both) | set_bits[part.start : part.end])
                else:
                    m.d.sync += own.eq(data)

    def _read(self, m: Module) -> None:
        """Answer reads."""
        place = self._place_signal("read_place")
        constants = list(_constants(self._map).items())
        value = Signal(WORD_BITS, name="read_value", decoder=IntEnum("Constant", constants))
        readable = Signal()
        m.d.comb += [
            # ARREADY depends on a register: it must not follow RREADY (AXI4, A3).
            self.ar.ready.eq(~self.r.valid),
            place.eq(self.ar.payload.address[2:]),
        ]
        with m.Switch(place):
            for register in self._map:
                words = self._value(register)
                for index in range(register.words):
                    with m.Case(_place(register, index)):
                        word = words.word_select(index, WORD_BITS)
                        m.d.comb += [value.eq(word), readable.eq(1)]
        with m.If(self.r.valid):
            m.d.sync += self.r.valid.eq(~self.r.ready)
        with m.Else():
            m.d.sync += [
                self.r.valid.eq(self.ar.valid),
                self.r.payload.data.eq(value),
                self.r.payload.response.eq(Mux(readable, Response.OKAY, Response.SLVERR)),
            ]

    def _value(self, register: Register) -> Value:
        """All bits of a register as software reads them."""
        pieces: list[Value] = []
        for field in register.fields:
            pieces.append(Const(0, field.low - len(Cat(pieces))))
            if field.constant:
                pieces.append(Const(field.reset, field.width))
            elif register.access_of(field) == "wo":
                pieces.append(Const(0, field.width))
            else:
                pieces.append(getattr(self, register.member(field)))
        return Cat(pieces, Const(0, register.bits - len(Cat(pieces))))


@dataclass(frozen=True)
class _Part:
    """The bits of a field that lie in one byte of its register.

    Parameters
    ----------
    word: number of the word
    low: lowest bit in the word
    start, end: bits of the field, ``end`` excluded
    """

    word: int
    low: int
    start: int
    end: int

    @property
    def width(self) -> int:
        return self.end - self.start

    @property
    def byte(self) -> int:
        """Number of the byte in the word."""
        return self.low // 8


def _parts(field: Field) -> Iterator[_Part]:
    position, end = field.low, field.low + field.width
    while position < end:
        word, low = divmod(position, WORD_BITS)
        following = min(end, (position // 8 + 1) * 8)
        yield _Part(word, low, position - field.low, following - field.low)
        position = following


def _place(register: Register, index: int) -> int:
    """The number of a register's word, counted from offset 0."""
    return register.offset // _STROBES + index


def _constants(register_map: RegisterMap) -> dict[str, int]:
    """Names the words that never change. The four letters that a word spells are part of its name;
    equal words share one name. Zero has no name of its own."""
    found: dict[int, list[str]] = {}
    for register in register_map:
        if not all(field.constant for field in register.fields):
            continue
        whole = sum(field.reset << field.low for field in register.fields)
        for index in range(register.words):
            word = whole >> (index * WORD_BITS) & ((1 << WORD_BITS) - 1)
            name = register.name + ("", "_HIGH")[index]
            letters = word.to_bytes(_STROBES, "little")
            text = letters.decode() if letters.isalpha() else "VALUE"
            found.setdefault(word, []).append(f"{name}_{text}")
    return {
        "_AND_".join([*(n.removesuffix("_VALUE") for n in names[:-1]), names[-1]]): word
        for word, names in found.items()
        if word
    }
