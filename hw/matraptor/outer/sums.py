"""Outer products: the sums of a lane's whole part of C, in its queues' memories."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import OptionalSum
from ...spec.matraptor import MatRaptorConfig
from ..layouts import entry_layout, partial_layout

__all__ = ["OuterSums", "place_layout"]


def place_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Place of a sum: its bank, and its line in the bank."""
    return data.StructLayout(
        {"bank": range(config.accumulator_banks), "line": range(config.queue_depth)}
    )


class OuterSums(wiring.Component):
    """Adds each product to its sum; the first product of a sum is stored unchanged.

    A row of C takes ``lines`` lines of the banks, an entry of a line in each bank. A sum has
    begun if the column that is stored with it is not zero. One product a cycle, but a product
    whose sum is still on its way through the adder waits for it.

    Source: MatRaptor, sections on the outer product and on future work.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: products, see :func:`partial_layout`; a token that is not ``present`` ends the lane
    able: in; the banks may be used
    lines: in; of a row of C
    read, read_place: out; what is to be at ``head`` in the next cycle, see :func:`place_layout`
    head_bank, head: out, in; what that bank has read
    write, write_place, sum: out; a sum
    ended: out; the token that ends the lane is taken, after the last sum was written
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(partial_layout(config))),
                "able": In(1),
                "lines": In(range(config.queue_depth + 1)),
                "read": Out(1),
                "read_place": Out(place_layout(config)),
                "head_bank": Out(range(config.accumulator_banks)),
                "head": In(entry_layout(config)),
                "write": Out(1),
                "write_place": Out(place_layout(config)),
                "sum": Out(config.format.bits),
                "ended": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        waits = Signal()
        valid, token = self._place(m, waits)
        place = place_layout(config)
        # A sum's place from the cycle in which it is read to that in which it is written.
        on_way: list[Signal] = []
        places: list[Any] = []
        for n in range(config.adder_stages + 1):
            here = Signal(name=f"on_way_{n}")
            at = Signal(place, name=f"place_{n}", reset_less=True)
            m.d.sync += [
                here.eq((on_way[-1] if n else self.read) & ~self.clear),
                at.eq(places[-1] if n else token.place),
            ]
            on_way.append(here)
            places.append(at)
        same = Signal(len(on_way))
        value = Signal(config.format.bits, reset_less=True)
        m.submodules.add = add = OptionalSum(config.operators, config.format, config.adder_stages)
        m.d.comb += [
            same.eq(Cat(places[n] == token.place for n in range(len(places)))),
            waits.eq(Mux(token.present, (same & Cat(on_way)).any(), Cat(on_way).any())),
            self.read.eq(valid & token.present & ~waits),
            self.read_place.eq(token.place),
            self.head_bank.eq(places[0].bank),
            add.a.eq(self.head.value),
            add.b.eq(value),
            add.a_present.eq(self.head.column.any()),
            add.b_present.eq(1),
            add.advance.eq(1),
            self.write.eq(on_way[-1]),
            self.write_place.eq(places[-1]),
            self.sum.eq(add.o),
            self.ended.eq(valid & ~token.present & ~waits),
        ]
        m.d.sync += value.eq(token.value)
        return m

    def _place(self, m: Module, waits: Value) -> tuple[Value, Any]:
        """Holds the product and its sum's place, two cycles after the product was accepted."""
        config, token = self.config, self.i.payload
        bank_bits = config.accumulator_banks.bit_length() - 1
        line = range(config.queue_depth)
        multiplied = Signal(
            data.StructLayout(
                {
                    "present": 1,
                    "value": config.format.bits,
                    "bank": range(config.accumulator_banks),
                    "within": line,
                    "row": line,
                }
            ),
            reset_less=True,
        )
        placed = Signal(
            data.StructLayout(
                {"present": 1, "value": config.format.bits, "place": place_layout(config)}
            ),
            reset_less=True,
        )
        multiplied_valid = Signal()
        placed_valid = Signal()
        moves = Signal()
        takes = Signal()
        m.d.comb += [
            moves.eq(~placed_valid | ~waits),
            takes.eq(~multiplied_valid | moves),
            self.i.ready.eq(self.able & takes),
        ]
        with m.If(takes):
            m.d.sync += [
                multiplied_valid.eq(self.i.valid & self.able),
                multiplied.present.eq(token.present),
                multiplied.value.eq(token.value),
                multiplied.bank.eq(token.column[:bank_bits]),
                multiplied.within.eq(token.column[bank_bits:]),
                multiplied.row.eq(token.target * self.lines),
            ]
        with m.If(moves):
            m.d.sync += [
                placed_valid.eq(multiplied_valid),
                placed.present.eq(multiplied.present),
                placed.value.eq(multiplied.value),
                placed.place.bank.eq(multiplied.bank),
                placed.place.line.eq(multiplied.row + multiplied.within),
            ]
        with m.If(self.clear):
            m.d.sync += [multiplied_valid.eq(0), placed_valid.eq(0)]
        return placed_valid, placed
