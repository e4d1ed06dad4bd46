"""Runs products on joined lanes: the memories' content afterwards, and the cycle of completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.lane_cluster import LaneCluster
from tilewright.hw.gta.layouts import (
    LaneMemoryName,
    csr_layout,
    pgemm_layout,
    read_data_layout,
    read_layout,
    write_layout,
)
from tilewright.hw.spec.gta import BANKS, GtaConfig
from tilewright.hw.stream.queue import Queue
from tilewright.sim.rtl.glue import width_of
from tilewright.sim.rtl.streams import NativeSimulation, Pauses

from .float_products import FloatProduct
from .products import Memories, Product
from .vector_command import VectorCommand

_EVENTS = 64


def _without_enable(layout: data.StructLayout) -> data.StructLayout:
    fields = {name: field.shape for name, field in layout if name != "enable"}
    return data.StructLayout(fields)


class ClusterUnit(wiring.Component):
    """The cluster, and streams for what has none.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    csr: stream: the arrangement
    command: stream of commands
    write, read: streams of accesses
    o: stream: what was read
    done: stream: groups whose commands are complete, and the cycle
    taken: stream: the cycle in which a command was taken
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        done = data.StructLayout({"groups": 1 << config.mask_bits, "cycle": 32})
        super().__init__(
            {
                "csr": In(stream.Signature(csr_layout(config))),
                "command": In(stream.Signature(pgemm_layout(config))),
                "write": In(stream.Signature(_without_enable(write_layout(config)))),
                "read": In(stream.Signature(_without_enable(read_layout(config)))),
                "o": Out(stream.Signature(read_data_layout())),
                "done": Out(stream.Signature(done)),
                "taken": Out(stream.Signature(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.cluster = cluster = LaneCluster(self._config)
        cycle = Signal(32)
        m.d.sync += cycle.eq(cycle + 1)
        m.d.comb += self.csr.ready.eq(~cluster.busy)
        with m.If(self.csr.valid & self.csr.ready):
            m.d.sync += cluster.csr.eq(self.csr.payload)
        wiring.connect(m, wiring.flipped(self.command), cluster.command)
        m.submodules.ends = ends = Queue(self.done.payload.shape(), _EVENTS)
        m.submodules.begins = begins = Queue(32, _EVENTS)
        m.d.comb += [
            ends.i.valid.eq(cluster.done.any()),
            ends.i.payload.groups.eq(cluster.done),
            ends.i.payload.cycle.eq(cycle),
            begins.i.valid.eq(self.command.valid & self.command.ready),
            begins.i.payload.eq(cycle),
        ]
        wiring.connect(m, ends.o, wiring.flipped(self.done))
        wiring.connect(m, begins.o, wiring.flipped(self.taken))
        write = self.write.payload
        results = write.memory == LaneMemoryName.RESULT
        m.d.comb += [
            cluster.write.enable.eq(self.write.valid),
            self.write.ready.eq(cluster.write_ready | ~results),
            *(Value.cast(cluster.write[n]).eq(Value.cast(write[n])) for n, _ in write.shape()),
        ]
        self._reads(m, cluster)
        return m

    def _reads(self, m: Module, cluster: LaneCluster) -> None:
        """Sends reads in succession."""
        under_way = Signal(2)
        full = Signal()
        m.d.comb += [
            cluster.read.enable.eq(self.read.valid & ~under_way.any() & ~full),
            self.read.ready.eq(cluster.read.enable & cluster.read_ready),
            cluster.read.lane.eq(self.read.payload.lane),
            cluster.read.banks.eq(self.read.payload.banks),
            cluster.read.address.eq(self.read.payload.address),
            self.o.valid.eq(full),
        ]
        m.d.sync += under_way.eq((under_way << 1) | self.read.ready)
        with m.If(under_way[1]):
            m.d.sync += [full.eq(1), self.o.payload.eq(cluster.read_data)]
        with m.Elif(self.o.ready):
            m.d.sync += full.eq(0)


INTEGERS = ("int8", "int16", "int32", "int64")

_PLAIN = Pauses()

_TIME_OUT = 200_000
"""Cycles; of a command of many folds none is seen to move."""

Words = npt.NDArray[np.uint32]

Times = tuple[list[int], list[tuple[int, int]]]
"""Cycles in which commands were taken; groups and cycles of their ends."""


@dataclass
class ClusterBench:
    """Joined lanes, and commands for them.

    Parameters
    ----------
    config: of the accelerator
    """

    config: GtaConfig
    unit: NativeSimulation = field(init=False)

    def __post_init__(self) -> None:
        self.unit = _unit(self.config)
        self.unit.reset()

    def arrange(self, layout: int, masks: Sequence[int]) -> None:
        """The arrangement of lanes."""
        bits = self.config.mask_bits
        joined = sum(mask << (bits * n) for n, mask in enumerate(masks))
        self.unit.run_streams(
            {"csr": self._packed("csr", [{"layout": layout, "masks": joined}])}, {}
        )

    def arrange_one(self) -> None:
        """The first lane by itself, as group 0."""
        others = (1 << self.config.mask_bits) - 1
        self.arrange(0, [0] + [others] * (self.config.lanes - 1))

    def memories(self, rng: np.random.Generator) -> Memories:
        """Draws the content of all memories."""
        lanes, edge, bank = self.config.lanes, self.config.edge_bytes, self.config.bank_bytes
        return Memories(
            *(rng.integers(0, 256, (lanes, BANKS, n), np.uint8) for n in (edge, edge, bank))
        )

    def writes(self, memories: Memories) -> list[dict[str, int]]:
        """Returns the writes of all memories, 16 bytes per bank each."""
        found = []
        for number, content in (
            (LaneMemoryName.LEFT, memories.left),
            (LaneMemoryName.TOP, memories.top),
            (LaneMemoryName.RESULT, memories.result),
        ):
            lanes, _, length = content.shape
            for lane in range(lanes):
                for address in range(length // 16):
                    part = content[lane, :, 16 * address : 16 * address + 16]
                    found.append(
                        {
                            "lanes": 1 << lane,
                            "memory": number.value,
                            "address": address,
                            "data": int.from_bytes(part.tobytes(), "little"),
                            "mask": (1 << 128) - 1,
                        }
                    )
        return found

    def fill(self, memories: Memories) -> None:
        """Writes all of the memories."""
        self.unit.run_streams({"write": self._packed("write", self.writes(memories))}, {})

    def results(self) -> npt.NDArray[np.uint8]:
        """Reads all memories of results."""
        lanes, length = self.config.lanes, self.config.bank_bytes
        asked = [
            {"lane": lane, "banks": (1 << BANKS) - 1, "address": address}
            for lane in range(lanes)
            for address in range(length // 16)
        ]
        taken, _ = self.unit.run_streams({"read": self._packed("read", asked)}, {"o": len(asked)})
        parts = np.ascontiguousarray(taken["o"]).view(np.uint8)
        parts = parts.reshape(lanes, length // 16, BANKS, 16)
        return np.ascontiguousarray(parts.transpose(0, 2, 1, 3).reshape(lanes, BANKS, length))

    def run(
        self,
        commands: Sequence[Mapping[str, int]],
        *,
        pauses: Pauses = _PLAIN,
        ends: int | None = None,
    ) -> Times:
        """The cycles in which the commands were taken; groups and cycles of their ends, which
        all have if ``ends`` does not say how many have one."""
        given = {"command": self._packed("command", commands)}
        taken, _ = self.unit.run_streams(
            given, {"taken": len(commands)}, pauses=pauses, time_out=_TIME_OUT
        )
        return _cycles(taken), self._ends(len(commands) if ends is None else ends)

    def run_beside(
        self,
        products: Sequence[Product | FloatProduct | VectorCommand],
        *,
        writes: Sequence[Mapping[str, int]],
        reads: Sequence[Mapping[str, int]],
    ) -> tuple[Times, npt.NDArray[np.uint8]]:
        """Products while memories are accessed from outside; what each read gave, (bank, byte)."""
        given = {
            "command": self._packed("command", [product.command() for product in products]),
            "write": self._packed("write", writes),
            "read": self._packed("read", reads),
        }
        taken, _ = self.unit.run_streams(
            given, {"taken": len(products), "o": len(reads)}, time_out=_TIME_OUT
        )
        parts = np.ascontiguousarray(taken["o"]).view(np.uint8).reshape(len(reads), BANKS, 16)
        return (_cycles(taken), self._ends(len(products))), parts

    def _ends(self, number: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        bits = 1 << self.config.mask_bits
        while len(found) < number:
            event, _ = self.unit.run_streams({}, {"done": 1}, time_out=_TIME_OUT)
            value = int.from_bytes(event["done"][0].tobytes(), "little")
            groups, cycle = value & ((1 << bits) - 1), value >> bits & 0xFFFFFFFF
            found += [(g, cycle) for g in range(bits) if groups >> g & 1]
        return found

    def check(
        self,
        products: Sequence[Product | FloatProduct | VectorCommand],
        rng: np.random.Generator,
        *,
        pauses: Pauses = _PLAIN,
    ) -> Times:
        """Runs products, whose places may not meet, and compares all memories of results.

        A product without C over another one's place has its result as C.
        """
        memories = self.memories(rng)
        for product in products:
            product.load(memories)
        self.fill(memories)
        times = self.run([product.command() for product in products], pauses=pauses)
        want, found = memories.result.copy(), self.results()
        for product in products:
            old = product.found(want) if product.use_c else None
            product.store(want, product.computed(old))  # type: ignore[arg-type]
        for product in products:
            product.spare(want)
            product.spare(found)
        if not np.array_equal(found, want):
            lane, bank, byte = (int(n[0]) for n in np.nonzero(found != want))
            raise AssertionError(
                f"lane {lane}, bank {bank}, byte {byte} has {found[lane, bank, byte]:#x}, "
                f"not {want[lane, bank, byte]:#x}; {np.count_nonzero(found != want)} bytes differ"
            )
        return times

    def _packed(self, name: str, lines: Sequence[Mapping[str, int]]) -> Words:
        stream = self.unit.stream(name)
        size = 4 * -(-int(stream["width"]) // 32)
        places = {
            entry["name"]: (int(entry["offset"]), width_of(entry)) for entry in stream["fields"]
        }
        raw = b"".join(
            sum(_placed(int(line[key]), *places[key]) for key in line if key in places).to_bytes(
                size, "little"
            )
            for line in lines
        )
        return np.frombuffer(raw, np.uint32).reshape(len(lines), size // 4)


def _cycles(taken: Mapping[str, Words]) -> list[int]:
    return [int(row[0]) for row in taken["taken"]]


def _placed(value: int, offset: int, width: int) -> int:
    """Returns a field's value at its position."""
    assert not value >> width, (offset, width, value)
    return value << offset


@cache
def _unit(config: GtaConfig) -> NativeSimulation:
    return NativeSimulation(emit_component(ClusterUnit(config), name="cluster_unit"))
