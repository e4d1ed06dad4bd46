"""Narrows wide results to half their width."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES
from ...spec.jobs.gta_commands import NARROWINGS
from ...stream.output_register import OutputRegister

__all__ = ["Narrower", "octets_layout", "wide_layout"]

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
