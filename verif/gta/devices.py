"""The accelerators that benches build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit
from tilewright.hw.gta.layouts import (
    LaneMemoryName,
    csr_layout,
    pgemm_layout,
    read_data_layout,
    read_layout,
    write_layout,
)
from tilewright.hw.spec.gta import BANKS, FORMATS_OF_GTA, GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words
from tilewright.hw.spec.unit import Unit
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import Region
from tilewright.sim.rtl.accelerator import NativeAccelerator


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


PLAIN = replace(GTA, parts={"cluster": "tilewright.verif.gta.devices:PlainCluster"})


class PlainModel(GtaModel):
    """Model of :class:`PlainCluster`: how it executes an EXECUTE."""

    def _execute(self, region: Region, fields: dict[str, int]) -> None:
        lanes, ws = self.lanes, OPERATIONS[fields["operation"]] == "ws"
        source, base = (lanes.left, "left_base") if ws else (lanes.top, "top_base")
        simd = OPERATIONS[fields["operation"]] == "simd"
        skipped = sum(fields[name] for name in ("function", "amount", "chain")) if simd else 0
        words = source.shape[2] // 16
        results = lanes.result.shape[2] // 16
        for lane in region.lanes:
            for at in range(fields["time"]):
                here = 16 * ((fields[base] + skipped + at) % words)
                there = 16 * ((fields["result_base"] + at) % results)
                lanes.result[lane, :, there : there + 16] = source[lane, :, here : here + 16]


MEMORY_BYTES = 1 << 16
LARGE_MEMORY_BYTES = 1 << 20
"""Memory of the devices whose drivers place products and vectors of any size."""

NativeGta = NativeAccelerator[GtaConfig]


def native_gta(config: GtaConfig) -> NativeGta:
    """The RTL at native speed, with a large memory."""
    return NativeAccelerator(
        emit(GTA, config), config, memory_bytes=LARGE_MEMORY_BYTES, time_out=4_000_000
    )


class Built(NamedTuple):
    """A unit, its configuration, and the class of its model."""

    unit: Unit
    config: GtaConfig
    model: type[GtaModel]


def _plain(**changes: Any) -> Built:
    few: dict[str, Any] = {"lanes": 2, "vector_bytes": 2048, "outstanding": 4}
    return Built(PLAIN, GtaConfig(**{**few, **changes}), PlainModel)


def _real(**changes: Any) -> Built:
    built = _plain(**changes)
    return Built(GTA, built.config, GtaModel)


DEVICES: dict[str, Built] = {
    "tiny": _real(formats=("int8",), data_bits=64, managers=1, mask_bits=2, vector_bytes=8192),
    "plain": _plain(),
    "all": _real(),
    "regions": _real(formats=("int8", "int32"), lanes=8, data_bits=64, managers=1),
    "plain_narrow": _plain(data_bits=64, lanes=4, managers=1, addr_bits=64),
    "plain_wide": _plain(data_bits=512, lanes=8, mask_bits=2),
    "plain_one": _plain(
        data_bits=256, lanes=1, outstanding=2, formats=("int32", "fp64"), mask_bits=1
    ),
    "plain_sums": _plain(partial_bits=20, float_adders=0, mask_bits=8, vector_bytes=16384),
}


def settings(name: str) -> list[str]:
    """A configuration of ``DEVICES`` as words of a command."""
    chosen = DEVICES[name].config.resolved().items()
    texts = {k: ",".join(v) if isinstance(v, (list, tuple)) else str(v) for k, v in chosen}
    return [word for k, v in texts.items() for word in ("--set", f"{k}={v}")]


def _small(**changes: Any) -> GtaConfig:
    integers = ("int8", "int16", "int32", "int64")
    few: dict[str, Any] = {"lanes": 1, "vector_bytes": 2048, "outstanding": 4, "formats": integers}
    return GtaConfig(**{**few, **changes})


DRIVEN: dict[str, GtaConfig] = {
    "tiny": DEVICES["tiny"].config,
    "all": DEVICES["all"].config,
    "lanes": _small(lanes=4, formats=FORMATS_OF_GTA, vector_bytes=4096),
    "floats": _small(lanes=2, formats=("bf16", "fp32", "fp64"), float_adders=16, adder_stages=1),
    "wide": _small(lanes=2, data_bits=512, formats=("int16", "int64"), vector_bytes=16384),
    "few_sums": _small(lanes=2, partial_bits=22, formats=("int8", "int32", "bf16"), data_bits=256),
}
"""Configurations whose drivers are tested on the RTL."""

SHARED = GtaConfig(
    lanes=2,
    formats=("int8", "int32", "bf16", "fp32"),
    float_adders=16,
    partial_bits=24,
    vector_bytes=32768,
)
"""Joined lanes that benches share in the default test, as to build some takes most of a minute."""
