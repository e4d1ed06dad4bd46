"""Lanes that do no arithmetic: memories, and commands that copy; for benches of what is around."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from tilewright.hw.gta.layouts import (
    LaneMemoryName,
    csr_layout,
    pgemm_layout,
    read_data_layout,
    read_layout,
    write_layout,
)
from tilewright.hw.spec.gta import BANKS, GtaConfig
from tilewright.hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words


class PlainCluster(wiring.Component):
    """The members of the lanes' cluster.

    A command copies, of the lanes of its group, ``time`` words of 16 bytes a bank to the results:
    of the rows' memory in WS, of the columns' in OS, of those in SIMD from as many words further on
    as function, amount and chain are together. While it does, the results are its own; a command
    takes some cycles more, depending on its group.
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "command": In(stream.Signature(pgemm_layout(config))),
                "done": Out(1 << config.mask_bits),
                "busy": Out(1),
                "write": In(write_layout(config)),
                "write_ready": Out(1),
                "read": In(read_layout(config)),
                "read_ready": Out(1),
                "read_data": Out(read_data_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = Signal(pgemm_layout(self._config))
        works = Signal()
        at = Signal(range(self._config.edge_bytes + 8))
        copies = Signal()
        ends = Signal()
        m.d.comb += [
            copies.eq(at < command.time),
            ends.eq(at == command.time + command.group[:2]),
            self.busy.eq(works),
            self.command.ready.eq(~works),
            self.write_ready.eq(~works),
            self.read_ready.eq(~works),
            self.done.eq(Mux(ends & works, 1 << command.group, 0)),
        ]
        with m.If(works):
            m.d.sync += [at.eq(Mux(ends, 0, at + 1)), works.eq(~ends)]
        with m.Elif(self.command.valid):
            m.d.sync += [command.eq(self.command.payload), works.eq(1)]
        read_lane = Signal.like(self.read.lane)
        m.d.sync += read_lane.eq(self.read.lane)
        found = []
        for lane in range(self._config.lanes):
            found.append(self._lane(m, lane, at, copies & works, command))
        for lane, data in enumerate(found):
            with m.If(read_lane == lane):
                m.d.sync += self.read_data.eq(data)
        return m

    def _lane(self, m: Module, lane: int, at: Signal, copies: Value, command: Any) -> Value:
        ports = {}
        for number, name in enumerate(MEMORIES):
            depth = lane_words(self._config, name)
            memory = Memory(shape=128 * BANKS, depth=depth, init=[])
            m.submodules[f"{name}_{lane}"] = memory
            write, read = memory.write_port(granularity=8), memory.read_port()
            enable = self.write.enable & (self.write.memory == number) & self.write.lanes[lane]
            allowed = self.write_ready if number == LaneMemoryName.RESULT else 1
            m.d.comb += [
                write.addr.eq(self.write.address),
                write.data.eq(Cat(self.write.data)),
                write.en.eq(Mux(enable & allowed, Cat(self.write.mask), 0)),
            ]
            ports[name] = write, read
        result, left, top = (ports[name] for name in ("result", "left", "top"))
        works = Signal(name=f"works_{lane}")
        target = Signal.like(result[0].addr, name=f"target_{lane}")
        m.d.sync += [
            works.eq(copies & (self.csr.masks[lane] == command.group)),
            target.eq(command.result_base * 2 + at),
        ]
        simd = command.operation == OPERATIONS.index("simd")
        skipped = Mux(simd, command.function + command.amount + command.chain, 0)
        m.d.comb += [
            left[1].addr.eq(command.left_base + at),
            top[1].addr.eq(command.top_base + skipped + at),
            result[1].addr.eq(self.read.address),
        ]
        with m.If(works):
            m.d.comb += [
                result[0].en.eq(-1),
                result[0].addr.eq(target),
                result[0].data.eq(Mux(command.operation == 0, left[1].data, top[1].data)),
            ]
        found: Value = result[1].data
        return found
