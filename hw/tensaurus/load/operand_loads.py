"""Which operands a tile loads, and how much of each."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.channel_of_row import ChannelOfRow
from ...spec.tensaurus import TensaurusConfig
from ...stream.output_register import OutputRegister
from ..layouts import job_layout, tile_layout
from .operands import is_scalar, row_parts

__all__ = ["OperandLoads", "load_layout"]


def load_layout(config: TensaurusConfig) -> data.StructLayout:
    """The operand of a mode, counted from 0 (``operand``): whether the tile loads it (``load``),
    whether it is one of ``scalar`` values; the ``address`` in memory; its ``count`` of units or of
    vectors of scalars, and the ``first`` of these in the scratchpad; ``last`` of the tile."""
    fields: dict[str, ShapeLike] = {
        "operand": range(max(2, config.order - 1)),
        "load": 1,
        "scalar": 1,
        "address": config.addr_bits,
        "count": config.spm_units.bit_length(),
        "first": range(config.spm_units),
        "last": 1,
    }
    return data.StructLayout(fields)


class OperandLoads(wiring.Component):
    """Says for each operand of a tile what is to be done, mode after mode, also if that is nothing.
    One a cycle; latency three cycles, six if ``vlen`` is no power of two.

    Members
    -------
    job: in; constant from some cycles before the first tile on
    i: tiles
    o: see :func:`load_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(tile_layout(config))),
                "o": Out(stream.Signature(load_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        load = load_layout(config)
        bits = config.spm_scalars.bit_length()
        chosen_fields: dict[str, ShapeLike] = {"load": load, "size": bits}
        chosen_fields |= {"parts": self.job.vectors.shape()}
        counted_layout = data.StructLayout({"load": load, "product": bits})
        m.submodules.chosen = chosen = OutputRegister(
            data.StructLayout(chosen_fields), clearable=True
        )
        m.submodules.counted = counted = OutputRegister(counted_layout, clearable=True)
        m.submodules.vectors = vectors = ChannelOfRow(bits + 1, config.vlen, counted_layout)
        m.submodules.sent = sent = OutputRegister(load, clearable=True)
        parts: list[Any] = [chosen, counted, vectors, sent]
        for part in parts:
            m.d.comb += part.clear.eq(self.clear)
        for before, behind in pairwise(parts):
            m.d.comb += [behind.i.valid.eq(before.o.valid), before.o.ready.eq(behind.i.ready)]
        self._choose(m, chosen)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        source, product = chosen.o.payload, counted.o.payload.product
        found = vectors.o.payload.carried
        m.d.comb += [
            counted.i.payload.load.eq(source.load),
            counted.i.payload.product.eq(source.size * source.parts),
            vectors.i.payload.row.eq(product + config.vlen - 1),
            vectors.i.payload.carried.eq(counted.o.payload),
            sent.i.payload.eq(found.load),
            sent.i.payload.count.eq(Mux(found.load.scalar, vectors.o.payload.index, found.product)),
        ]
        return m

    def _choose(self, m: Module, chosen: OutputRegister) -> None:
        """Mode after mode of the tile."""
        config, job, tile = self._config, self.job, self.i.payload
        modes = range(1, config.order)
        operand = Signal(range(max(2, len(modes))))
        last = Signal()
        load = chosen.i.payload.load

        def of_mode(by_mode: list[Value]) -> Value:
            return by_mode[0] if len(by_mode) == 1 else Array(by_mode)[operand]

        m.d.comb += [
            last.eq(operand + 2 == job.order),
            chosen.i.valid.eq(self.i.valid),
            self.i.ready.eq(chosen.i.ready & last),
            load.operand.eq(operand),
            load.load.eq(of_mode([tile.load[mode - 1] for mode in modes])),
            load.scalar.eq(of_mode([is_scalar(job, mode) for mode in modes])),
            load.address.eq(of_mode([tile[f"operand_{mode}"] for mode in modes])),
            load.first.eq(of_mode([self._first(m, mode) for mode in modes])),
            load.last.eq(last),
            chosen.i.payload.size.eq(of_mode([tile[f"size_{mode}"] for mode in modes])),
            chosen.i.payload.parts.eq(of_mode([row_parts(job, mode) for mode in modes])),
        ]
        with m.If(chosen.i.valid & chosen.i.ready):
            m.d.sync += operand.eq(Mux(last, 0, operand + 1))
        with m.If(self.clear):
            m.d.sync += operand.eq(0)

    def _first(self, m: Module, mode: int) -> Value:
        """Where the operand of a mode begins: a unit, or a vector of scalars."""
        config, job = self._config, self.job
        region = getattr(job, f"region_{mode}")
        m.submodules[f"first_{mode}"] = first = ChannelOfRow(
            config.spm_scalars.bit_length(), config.vlen, 1
        )
        m.d.comb += [
            first.i.valid.eq(1),
            first.i.payload.row.eq(region),
            first.o.ready.eq(1),
            first.clear.eq(0),
        ]
        return Mux(is_scalar(job, mode), first.o.payload.index, region)
