"""Whether what banks of the vectors have is what was asked for."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from .layouts import WAYS, row_request_layout
from .window_layouts import (
    blocks,
    place_of_line,
    report_layout,
    tag_bits,
    tag_layout,
    tag_write_layout,
)

__all__ = ["WindowTags"]


class WindowTags(wiring.Component):
    """Looks up, beside each bank, which block is at the place that the bank reads, and says in the
    next cycle which lanes have got what they wanted.

    Each bank has tags of its own, all alike, since each reads another line.

    Parameters
    ----------
    config: of the accelerator, whose vectors are in memory

    Members
    -------
    lines: in; by bank, what it reads
    requests: in; by lane; see :class:`VectorBanks`
    waits: in; by lane: its request of the cycle before was granted, and it waits for the answer
    hits: out; by lane, of that request: what was wanted is there
    reports: out; by bank, see :func:`report_layout`, of those that wait
    write: in; see :func:`tag_write_layout`
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        self._lanes = lanes = WAYS * config.pes
        request = row_request_layout(config)
        banks = config.gather_banks
        super().__init__(
            {
                "lines": In(data.ArrayLayout(request["line"].shape, banks)),
                "requests": In(data.ArrayLayout(request, lanes)),
                "waits": In(lanes),
                "hits": Out(lanes),
                "reports": Out(data.ArrayLayout(report_layout(config), banks)),
                "write": In(tag_write_layout(config)),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = self._config.gather_banks
        found = [self._look_up(m, bank) for bank in range(banks)]
        has_x, has_z = (Array(pair[n] for pair in found) for n in range(2))
        served = []
        missed = []
        misses_z = []
        for lane in range(self._lanes):
            request, waits = self.requests[lane], self.waits[lane]
            bank = Signal.like(request.bank, name=f"bank_of_{lane}", reset_less=True)
            wants_z = Signal(name=f"lane_{lane}_wants_z", reset_less=True)
            lacks_z = Signal(name=f"lane_{lane}_lacks_z")
            m.d.sync += [bank.eq(request.bank), wants_z.eq(request.z)]
            m.d.comb += [
                lacks_z.eq(wants_z & ~has_z[bank]),
                self.hits[lane].eq(has_x[bank] & ~lacks_z),
            ]
            of = [waits & (bank == number) for number in range(banks)]
            served.append([mine & self.hits[lane] for mine in of])
            missed.append([mine & ~self.hits[lane] for mine in of])
            misses_z.append([mine & lacks_z for mine in of])
        for number, report in enumerate(self.reports):
            m.d.comb += [
                report.served.eq(Cat(lane[number] for lane in served).any()),
                report.missed.eq(Cat(lane[number] for lane in missed).any()),
                report.x.eq(~found[number][0]),
                report.z.eq(Cat(lane[number] for lane in misses_z).any()),
            ]
        return m

    def _look_up(self, m: Module, bank: int) -> tuple[Signal, Signal]:
        """Whether x, and z, of the block that the bank was asked for are there."""
        config = self._config
        line = Signal.like(self.lines[bank], name=f"line_{bank}", reset_less=True)
        tags = Memory(shape=tag_layout(config), depth=max(2, blocks(config)), init=[])
        m.submodules[f"tags_{bank}"] = tags
        write, read = tags.write_port(), tags.read_port()
        _, place = place_of_line(config, self.lines[bank])
        block, its_place = place_of_line(config, line)
        has_x = Signal(name=f"has_x_{bank}")
        has_z = Signal(name=f"has_z_{bank}")
        same = read.data.tag == block[len(its_place) :]
        m.d.sync += line.eq(self.lines[bank])
        m.d.comb += [
            write.en.eq(self.write.valid),
            write.addr.eq(self.write.place),
            write.data.eq(self.write.tag),
            read.addr.eq(place),
            has_x.eq(read.data.present & (same if tag_bits(config) else 1)),
            has_z.eq(has_x & read.data.z),
            self.reports[bank].block.eq(block),
        ]
        return has_x, has_z
