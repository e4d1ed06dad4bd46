"""Parts of rows to beats."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import store_layout
from ...spec.gta import LEFT_WORD_BYTES
from ...spec.jobs.gta_commands import NARROWINGS
from ...stream.stream_registers import OutputRegister
from ..control.row_walk import log2

_HALF = LEFT_WORD_BYTES // 2


def wide_layout() -> data.StructLayout:
    """16 bytes of a row: which of them count, from the first on; ``last`` of the row; what is done
    to them, and whether elements of 16 bytes, or of 8, are ``long``."""
    return data.StructLayout(
        {
            "data": 8 * LEFT_WORD_BYTES,
            "valid": LEFT_WORD_BYTES,
            "last": 1,
            "ends": 1,
            "narrow": range(len(NARROWINGS)),
            "long": 1,
        }
    )


def octets_layout() -> data.StructLayout:
    """8 or 16 bytes of a row in memory: ``half``: the lower 8 are all; ``strobe``: which count;
    ``last`` of the row, ``ends`` the command."""
    return data.StructLayout(
        {
            "data": 8 * LEFT_WORD_BYTES,
            "strobe": LEFT_WORD_BYTES,
            "half": 1,
            "last": 1,
            "ends": 1,
        }
    )


def _saturated(wide: Value, bits: int) -> Value:
    """Saturates a signed number to half its bits."""
    above = wide[bits - 1 :]
    fits = above.all() | ~above.any()
    negative = wide[-1]
    most = Cat((~negative).replicate(bits - 1), negative)
    return Mux(fits, wide[:bits], most)


class Narrower(wiring.Component):
    """Keeps the lower half of each element, or the nearest number that it can hold, or all.

    Latency one cycle; a transfer a cycle.

    Members
    -------
    i: see :func:`wide_layout`
    o: see :func:`octets_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(wide_layout())),
                "o": Out(stream.Signature(octets_layout())),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = OutputRegister(octets_layout(), clearable=True)
        wiring.connect(m, register.o, wiring.flipped(self.o))
        wide, made = self.i.payload, register.i.payload
        saturate = wide.narrow == NARROWINGS.index("saturate")
        long = wide.data
        short = [wide.data.word_select(n, 64) for n in range(2)]
        halves = Signal()
        long_half = Signal(64)
        short_half = Signal(64)
        m.d.comb += [
            long_half.eq(Mux(saturate, _saturated(long, 64), long[:64])),
            short_half.eq(Cat(Mux(saturate, _saturated(x, 32), x[:32]) for x in short)),
            register.clear.eq(self.clear),
            register.i.valid.eq(self.i.valid),
            self.i.ready.eq(register.i.ready),
            made.data.eq(wide.data),
            made.strobe.eq(wide.valid),
            made.last.eq(wide.last),
            made.ends.eq(wide.ends),
            halves.eq(wide.narrow != 0),
            made.half.eq(halves),
        ]
        with m.If(halves):
            # The valid bytes are whole elements.
            m.d.comb += [
                made.data.eq(Mux(wide.long, long_half, short_half)),
                made.strobe.eq(wide.valid[1::2]),
            ]
        return m


_OCTET = LEFT_WORD_BYTES // 2


class BeatBuilder(wiring.Component):
    """Collects parts of 8 or of 16 bytes into beats; every row begins with a beat.

    Latency one cycle behind a beat's last part; a part a cycle, of beats of 8 bytes a beat a cycle.

    Parameters
    ----------
    data_bits: width of a beat

    Members
    -------
    i: see :func:`octets_layout`
    o: beats with strobes
    ends: out; the beat at ``o`` is the last one of its command
    clear: in; forgets everything at the end of the cycle
    busy: out; something is inside
    """

    def __init__(self, data_bits: int) -> None:
        self._data_bits = data_bits
        super().__init__(
            {
                "i": In(stream.Signature(octets_layout())),
                "o": Out(stream.Signature(store_layout(data_bits))),
                "ends": Out(1),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat = store_layout(self._data_bits)
        layout = data.StructLayout({"beat": beat, "ends": 1})
        m.submodules.register = register = OutputRegister(layout, clearable=True)
        m.d.comb += [
            self.o.valid.eq(register.o.valid),
            self.o.payload.eq(register.o.payload.beat),
            self.ends.eq(register.o.payload.ends),
            register.o.ready.eq(self.o.ready),
            register.clear.eq(self.clear),
        ]
        if self._data_bits == 8 * _OCTET:
            self._halve(m, register)
        else:
            self._collect(m, register)
        return m

    def _halve(self, m: Module, register: OutputRegister) -> None:
        """Beats of 8 bytes: two of a part, unless all that counts is in the first."""
        upper = Signal()
        part, made = self.i.payload, register.i.payload
        ends = Signal()
        m.d.comb += [
            ends.eq(upper | part.half | ~part.strobe[_OCTET]),
            register.i.valid.eq(self.i.valid),
            self.i.ready.eq(register.i.ready & ends),
            made.beat.data.eq(part.data.word_select(upper, 8 * _OCTET)),
            made.beat.strobe.eq(part.strobe.word_select(upper, _OCTET)),
            made.ends.eq(part.ends & ends),
            self.busy.eq(register.o.valid),
        ]
        with m.If(self.i.valid & register.i.ready):
            m.d.sync += upper.eq(~ends)
        with m.If(self.clear):
            m.d.sync += upper.eq(0)

    def _collect(self, m: Module, register: OutputRegister) -> None:
        """Beats of 16 bytes or more, filled octet by octet."""
        octets = self._data_bits // 8 // _OCTET
        data_held = Signal(data.ArrayLayout(8 * _OCTET, octets), reset_less=True)
        strobes = Signal(data.ArrayLayout(_OCTET, octets))
        at = Signal(log2(octets))
        following = Signal(log2(octets) + 1)
        part, made = self.i.payload, register.i.payload
        sends = Signal()
        taken = Signal()
        bytes_now, strobes_now = [], []
        for place in range(octets):
            half = place % 2
            # A part of 16 bytes begins at an even octet.
            mine = Mux(part.half, at == place, at[1:] == place // 2)
            source = Mux(part.half, 0, half)
            held = Mux(strobes[place].any(), data_held[place], 0)
            octet = Mux(mine, part.data.word_select(source, 8 * _OCTET), held)
            strobe = Mux(mine, part.strobe.word_select(source, _OCTET), strobes[place])
            bytes_now.append(octet)
            strobes_now.append(strobe)
        m.d.comb += [
            following.eq(at + Mux(part.half, 1, 2)),
            sends.eq(following[-1] | part.last),
            register.i.valid.eq(self.i.valid & sends),
            self.i.ready.eq(register.i.ready | ~sends),
            taken.eq(self.i.valid & self.i.ready),
            made.beat.data.eq(Cat(bytes_now)),
            made.beat.strobe.eq(Cat(strobes_now)),
            made.ends.eq(part.ends),
            self.busy.eq(register.o.valid | (at != 0)),
        ]
        with m.If(taken):
            m.d.sync += [data_held.eq(Cat(bytes_now)), at.eq(following)]
            m.d.sync += strobes.eq(Mux(sends, 0, Cat(strobes_now)))
            with m.If(sends):
                m.d.sync += at.eq(0)
        with m.If(self.clear):
            m.d.sync += [at.eq(0), strobes.eq(0)]
