"""The channel of a row, and its place there: division by the number of channels."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.stream_registers import OutputRegister

__all__ = ["ChannelOfRow", "located_layout"]

_NIBBLE = 4


def located_layout(index_bits: int, channels: int, carried: ShapeLike) -> data.StructLayout:
    """Location of a row: its ``channel``, its ``index`` among the channel's rows, and the data
    ``carried`` along."""
    channel_bits = max(1, (channels - 1).bit_length())
    return data.StructLayout({"channel": channel_bits, "index": index_bits, "carried": carried})


class ChannelOfRow(wiring.Component):
    """Computes quotient and remainder by a constant, in three cycles; by a power of two, in none.

    The odd part of the divisor is what takes work. The remainder is that of the sum of the
    remainders of the hexadecimal digits, from tables; what is left after subtracting it is a
    multiple of the divisor, so that multiplying by its inverse modulo a power of two
    divides it. One row a cycle.

    Parameters
    ----------
    index_bits: width of a row's number
    channels: divisor, 1..16
    carried: shape of what goes along

    Members
    -------
    i: ``row``, ``carried``
    o: see :func:`located_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, index_bits: int, channels: int, carried: ShapeLike) -> None:
        self._index_bits, self._channels, self._carried = index_bits, channels, carried
        self._twos = (channels & -channels).bit_length() - 1
        self._odd = channels >> self._twos
        self._located = located_layout(index_bits, channels, carried)
        asked = data.StructLayout({"row": index_bits, "carried": carried})
        super().__init__(
            {
                "i": In(stream.Signature(asked)),
                "o": Out(stream.Signature(self._located)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._odd == 1:
            row = self.i.payload.row
            m.d.comb += [
                self.o.valid.eq(self.i.valid),
                self.i.ready.eq(self.o.ready),
                self.o.payload.channel.eq(row[: self._twos]),
                self.o.payload.index.eq(row[self._twos :]),
                self.o.payload.carried.eq(self.i.payload.carried),
            ]
            return m
        sums = self._digit_sums(m)
        remainders = self._remainders(m, sums)
        self._quotients(m, remainders)
        return m

    def _residue(self, digit: Value, weight: int) -> Value:
        """Returns the residue of a hexadecimal digit times a weight."""
        bits = (self._odd - 1).bit_length()
        table = [value * weight % self._odd for value in range(1 << len(digit))]
        return Array(Const(value, bits) for value in table)[digit]

    def _sum_of_digits(self, value: Value) -> Value:
        """Something small with the same remainder."""
        places = range(0, len(value), _NIBBLE)
        return sum(
            (self._residue(value[p : p + _NIBBLE], 1 << p) for p in places), start=Const(0, 1)
        )

    def _stage(self, m: Module, name: str, fields: dict[str, ShapeLike]) -> OutputRegister:
        stage = OutputRegister(
            data.StructLayout({**fields, "carried": self._carried}), clearable=True
        )
        m.submodules[name] = stage
        m.d.comb += stage.clear.eq(self.clear)
        return stage

    def _digit_sums(self, m: Module) -> OutputRegister:
        row = self.i.payload.row
        total = self._sum_of_digits(row[self._twos :])
        sums = self._stage(m, "sums", {"row": self._index_bits, "total": len(total)})
        m.d.comb += [
            sums.i.valid.eq(self.i.valid),
            self.i.ready.eq(sums.i.ready),
            sums.i.payload.row.eq(row),
            sums.i.payload.total.eq(total),
            sums.i.payload.carried.eq(self.i.payload.carried),
        ]
        return sums

    def _remainders(self, m: Module, sums: OutputRegister) -> OutputRegister:
        """The remainder, and the multiple of the odd part that is left."""
        bits = (self._odd - 1).bit_length()
        again = self._sum_of_digits(sums.o.payload.total)
        small = Signal(len(again))
        remainder = Signal(bits)
        quotient_bits = self._index_bits - self._twos
        fields: dict[str, ShapeLike] = {"channel": bits + self._twos, "multiple": quotient_bits}
        remainders = self._stage(m, "remainders", fields)
        row = sums.o.payload.row
        table = Array(Const(value % self._odd, bits) for value in range(1 << len(small)))
        m.d.comb += [
            small.eq(again),
            remainder.eq(table[small]),
            remainders.i.valid.eq(sums.o.valid),
            sums.o.ready.eq(remainders.i.ready),
            remainders.i.payload.channel.eq(Cat(row[: self._twos], remainder)),
            remainders.i.payload.multiple.eq(row[self._twos :] - remainder),
            remainders.i.payload.carried.eq(sums.o.payload.carried),
        ]
        return remainders

    def _quotients(self, m: Module, remainders: OutputRegister) -> None:
        bits = self._index_bits - self._twos
        inverse = pow(self._odd, -1, 1 << bits)
        m.submodules.quotients = quotients = OutputRegister(self._located, clearable=True)
        wiring.connect(m, quotients.o, wiring.flipped(self.o))
        source, located = remainders.o.payload, quotients.i.payload
        m.d.comb += [
            quotients.clear.eq(self.clear),
            quotients.i.valid.eq(remainders.o.valid),
            remainders.o.ready.eq(quotients.i.ready),
            located.channel.eq(source.channel),
            located.index.eq((source.multiple * Const(inverse, bits))[:bits]),
            located.carried.eq(source.carried),
        ]
