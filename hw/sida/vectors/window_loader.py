"""Fetches missing elements of x, z and w from memory."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import supervise
from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ..elementwise.layouts import values_layout
from ..layouts import count_bits
from .vector_loader import VectorLoader, loader_bus
from .window_layouts import fetch_layout, kept_sums_layout

__all__ = ["WindowLoader"]


class WindowLoader(wiring.Component):
    """Reads blocks of x and z, and rows of w, in turn; responses arrive in order of requests.

    Both sides must accept what they requested in the end, without waiting for each other.

    Parameters
    ----------
    config: of the accelerator, whose vectors are in memory

    Members
    -------
    x_base, z_base, w_base: in; addresses, multiples of a line; of w each row is at a line of its
        own, or at as many as it has
    columns: in; elements of x and z
    operands: see :func:`fetch_layout`; operand_rows: the rows of that
    sums: numbers of rows of w; sum_rows: those
    read_beats, ar, r, stop, idle, error, error_address: see :class:`VectorLoader`
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        row = stream.Signature(values_layout(config))
        number = kept_sums_layout(config)["row"].shape
        super().__init__(
            {
                **{f"{name}_base": In(config.addr_bits) for name in ("x", "z", "w")},
                "columns": In(count_bits(config)),
                "operands": In(stream.Signature(fetch_layout(config))),
                "operand_rows": Out(row),
                "sums": In(stream.Signature(number)),
                "sum_rows": Out(row),
                **loader_bus(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.loader = loader = VectorLoader(config)
        owner = data.StructLayout({"sums": 1, "rows": loader.requests.payload.rows.shape()})
        m.submodules.owners = owners = DeepQueue(owner, max(2, config.outstanding))
        asked, wanted = loader.requests.payload, self.operands.payload
        takes_sums = Signal()
        served_sums = Signal()
        moves = Signal()
        free = owners.i.ready & ~self.stop
        shift = config.piece_bytes.bit_length() - 1
        elements = config.piece_bytes * 8 // config.format.bits
        m.d.comb += [
            takes_sums.eq(self.sums.valid & ~(self.operands.valid & served_sums)),
            # A row of w is the last one of its piece.
            loader.columns.eq(Mux(takes_sums, elements, self.columns)),
            loader.bases[0].eq(self.x_base),
            loader.bases[1].eq(self.z_base),
            loader.bases[2].eq(self.w_base + self.sums.payload.shift_left(shift)),
            asked.vector.eq(Mux(takes_sums, 2, wanted.z)),
            asked.base.eq(Mux(takes_sums, elements - config.pes, wanted.base)),
            asked.rows.eq(Mux(takes_sums, 1, wanted.rows)),
            loader.requests.valid.eq((self.sums.valid | self.operands.valid) & free),
            self.sums.ready.eq(loader.requests.ready & free & takes_sums),
            self.operands.ready.eq(loader.requests.ready & free & ~takes_sums),
            moves.eq(loader.requests.valid & loader.requests.ready),
            owners.i.valid.eq(moves),
            owners.i.payload.sums.eq(takes_sums),
            owners.i.payload.rows.eq(asked.rows),
            owners.clear.eq(self.stop),
        ]
        with m.If(moves):
            m.d.sync += served_sums.eq(takes_sums)
        self._deal(m, loader, owners)
        supervise(m, self, [loader])
        m.d.comb += self.read_beats.eq(loader.read_beats)
        for name in ("ar", "r"):
            for mine, port in zip(getattr(loader, name), getattr(self, name), strict=True):
                wiring.connect(m, mine, wiring.flipped(port))
        return m

    def _deal(self, m: Module, loader: VectorLoader, owners: DeepQueue) -> None:
        """Rows to those that asked for them."""
        owner, row = owners.o.payload, Signal(owners.o.payload.rows.shape())
        last = Signal()
        goes = Signal()
        m.d.comb += [
            self.sum_rows.payload.eq(loader.loaded.payload),
            self.operand_rows.payload.eq(loader.loaded.payload),
            self.sum_rows.valid.eq(loader.loaded.valid & owners.o.valid & owner.sums),
            self.operand_rows.valid.eq(loader.loaded.valid & owners.o.valid & ~owner.sums),
            loader.loaded.ready.eq(
                owners.o.valid & Mux(owner.sums, self.sum_rows.ready, self.operand_rows.ready)
            ),
            goes.eq(loader.loaded.valid & loader.loaded.ready),
            last.eq(row + 1 == owner.rows),
            owners.o.ready.eq(goes & last),
        ]
        with m.If(self.stop):
            m.d.sync += row.eq(0)
        with m.Elif(goes):
            m.d.sync += row.eq(Mux(last, 0, row + 1))
