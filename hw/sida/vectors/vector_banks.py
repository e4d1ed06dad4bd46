"""Both vectors in banks, and which lanes read them."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..layouts import count_bits
from .window_layouts import bank_lines

WAYS = 2
"""Lanes of each leaf, among which sets are distributed, so that they wait less."""


def vector_write_layout(config: SidaConfig) -> data.StructLayout:
    """``values`` for the elements from ``base`` on, a multiple of their number, of those whose bit
    is set in ``mask``, if ``valid``."""
    return data.StructLayout(
        {
            "valid": 1,
            "base": count_bits(config),
            "values": data.ArrayLayout(config.format.bits, config.pes),
            "mask": config.pes,
        }
    )


def pair_layout(config: SidaConfig) -> data.StructLayout:
    """An element of both vectors."""
    return data.StructLayout({"x": config.format.bits, "z": config.format.bits})


def row_request_layout(config: SidaConfig) -> data.StructLayout:
    """The element of the vectors that a lane wants: which ``line`` of which ``bank``, if
    ``valid``; where vectors are in memory, whether that of ``z``, too."""
    return data.StructLayout(
        {
            "valid": 1,
            "bank": range(config.gather_banks),
            "line": range(max(2, config.most_rows // config.gather_banks)),
            **({"z": 1} if config.windowed else {}),
        }
    )


class VectorBanks(wiring.Component):
    """Reads one pair per bank and cycle, for a lane and all others that want the same pair.

    Element i is in bank ``i % banks``.

    Of lanes that want different lines of a bank one is served, the first from a lane on that moves
    by one in every cycle. A request is granted in its cycle, and answered in the next one. What is
    written can be read from the next cycle on.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    requests: in; by lane, see ``row_request_layout``
    granted: out; by lane
    pairs: out; by lane, see ``pair_layout``, of the request that was granted in the cycle before
    x_write, z_write: in; see ``vector_write_layout``
    lines: out, where vectors are in memory; by bank, what it reads, whether it is there or not
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        self._lanes = lanes = WAYS * config.pes
        write, banks = vector_write_layout(config), config.gather_banks
        line = row_request_layout(config)["line"].shape
        super().__init__(
            {
                "requests": In(data.ArrayLayout(row_request_layout(config), lanes)),
                "granted": Out(lanes),
                "pairs": Out(data.ArrayLayout(pair_layout(config), lanes)),
                "x_write": In(write),
                "z_write": In(write),
                **({"lines": Out(data.ArrayLayout(line, banks))} if config.windowed else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks, lanes = self.config.gather_banks, self._lanes
        first = Signal(range(lanes))
        since = Signal(lanes)
        m.d.sync += first.eq(first + 1)
        m.d.comb += since.eq(Cat(*(first <= lane for lane in range(lanes - 1)), 1))
        lines = [self._choose(m, bank, since) for bank in range(banks)]
        pairs = [self._read(m, bank, line) for bank, line in enumerate(lines)]
        if self.config.windowed:
            m.d.comb += [own.eq(line) for own, line in zip(self.lines, lines, strict=True)]
        for lane in range(lanes):
            request = self.requests[lane]
            came = Signal.like(request.bank, name=f"bank_of_{lane}", reset_less=True)
            same = Array(lines)[request.bank] == request.line
            m.d.comb += [
                self.granted[lane].eq(request.valid & same),
                self.pairs[lane].as_value().eq(Array(pairs)[came]),
            ]
            m.d.sync += came.eq(request.bank)
        return m

    def _choose(self, m: Module, bank: int, since: Value) -> Signal:
        """Selects the line that a bank reads."""
        wants = Signal(self._lanes, name=f"wants_{bank}")
        newer = Signal(self._lanes, name=f"newer_{bank}")
        line = Signal.like(self.requests[0].line, name=f"line_{bank}")
        each = [self.requests[lane] for lane in range(self._lanes)]
        m.d.comb += [
            wants.eq(Cat(request.valid & (request.bank == bank) for request in each)),
            newer.eq(wants & since),
        ]
        # The last assignment counts.
        for chosen in (wants, newer):
            for lane in reversed(range(self._lanes)):
                with m.If(chosen[lane]):
                    m.d.comb += line.eq(each[lane].line)
        return line

    def _read(self, m: Module, bank: int, line: Signal) -> Value:
        """Builds a bank of both vectors; returns the pair read."""
        pes, depth = self.config.pes, 1 << len(line)
        if self.config.windowed:
            depth = bank_lines(self.config)
        found = []
        for name, write in (("x", self.x_write), ("z", self.z_write)):
            words = Memory(shape=self.config.format.bits, depth=depth, init=[])
            m.submodules[f"{name}_{bank}"] = words
            port: Any = words.write_port()
            read = words.read_port()
            mine = write.base[: (self.config.gather_banks - 1).bit_length()] == bank // pes * pes
            m.d.comb += [
                port.en.eq(write.valid & write.mask[bank % pes] & mine),
                port.addr.eq(write.base >> (self.config.gather_banks - 1).bit_length()),
                port.data.eq(write.values[bank % pes]),
                read.addr.eq(line[: len(read.addr)]),
            ]
            found.append(read.data)
        return Cat(found)
