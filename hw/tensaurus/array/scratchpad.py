"""A scratchpad: two sides of banks, and the way from banks to rows."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from .layouts import access_layout, answer_layout, place_layout

__all__ = ["Scratchpad"]


class Scratchpad(wiring.Component):
    """Scratchpad of operand vectors, which all rows read and the loader writes.

    Consecutive vectors are in consecutive banks. Latency one cycle from ``access`` to ``answers``
    and ``vectors``. A vector is written a cycle after it comes; a vector that is read while it is
    written gives the old content.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    write, write_side, write_address, write_data: in; a vector
    access: in; see :func:`access_layout`
    answers, vectors: out; by row: the operation that gets a vector, and the vector
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        bits = config.vlen * config.format.bits
        super().__init__(
            {
                "write": In(1),
                "write_side": In(1),
                "write_address": In(range(config.spm_units)),
                "write_data": In(bits),
                "access": In(access_layout(config)),
                "answers": Out(data.ArrayLayout(answer_layout(config), config.rows)),
                "vectors": Out(data.ArrayLayout(bits, config.rows)),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        bits = config.vlen * config.format.bits
        low = config.banks.bit_length() - 1
        lines = 1 << place_layout(config)["line"].width
        new = Signal(self.signature.members["write_address"].shape, name="address")
        side = Signal()
        vector = Signal(bits, reset_less=True)
        write = Signal()
        m.d.sync += [
            write.eq(self.write),
            side.eq(self.write_side),
            new.eq(self.write_address),
            vector.eq(self.write_data),
        ]
        found = []
        for n in range(config.banks):
            bank = self.access.banks[n]
            m.submodules[f"bank_{n}"] = memory = Memory(
                shape=unsigned(bits), depth=2 * lines, init=[]
            )
            writing, reading = memory.write_port(), memory.read_port()
            m.d.comb += [
                writing.en.eq(write & ((new[:low] == n) if low else 1)),
                writing.addr.eq(new[low:] + side * lines),
                writing.data.eq(vector),
                reading.en.eq(bank.enable),
                reading.addr.eq(bank.line + bank.side * lines),
            ]
            found.append(reading.data)
        for row in range(config.rows):
            asked, answer = self.access.rows[row], self.answers[row]
            source = Signal.like(asked.bank, name=f"bank_of_{row}")
            m.d.sync += [
                answer.valid.eq(asked.valid),
                answer.index.eq(asked.index),
                source.eq(asked.bank),
            ]
            m.d.comb += self.vectors[row].eq(Array(found)[source])
        return m
