"""Joined lanes as a unit of streams."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.gta.lane_cluster import LaneCluster
from tilewright.hw.gta.layouts import (
    LaneMemoryName,
    csr_layout,
    pgemm_layout,
    read_data_layout,
    read_layout,
    write_layout,
)
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.stream.queue import Queue

__all__ = ["ClusterUnit"]

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
        """One after the other."""
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
