"""Writes a lane's rows of C to memory, in C2SR."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..channels.packer import Packer, write_request_layout
from ..channels.place import Place
from ..spec.c2sr import PAIR_BYTES
from ..spec.matraptor import MatRaptorConfig
from .lane_channel import lane_channel, lane_share
from .layouts import job_layout, result_layout, row_layout

__all__ = ["WRITERS", "RowWriter"]

WRITERS = ("pair", "entry")
"""What is written apart: a burst writer each, in each of the lane's channels."""


class RowWriter(wiring.Component):
    """Takes the results of a lane and has them written into its channels.

    Entries follow each other without gaps, from the beginning of the lane's region in each of its
    channels: ``capacity`` entries from entry ``lane // channels * capacity`` on. They are written
    in bursts of whole blocks; pairs in bursts of those neighbouring beats of a block in which the
    lane has rows. Only bytes of the lane's own entries and pairs have strobes. One token a cycle.

    An entry for which there is no room sets ``region``, and nothing is taken until ``stop``.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    i: rows, see :func:`result_layout`
    job: the job; constant from ``start`` on
    lane: the lane's number, constant
    start: pulse: a job begins
    stop: level: drop everything
    pair_request, pair_data, entry_request, entry_data: arrays of streams to burst writers, one for
        each of the lane's channels
    finished: the last row is with the burst writers
    region, region_row: the error and its row, until ``stop``
    stored_entry, stored_row: pulses: an entry, a row's pair was taken
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        request = stream.Signature(write_request_layout(config))
        beat = stream.Signature(store_layout(config.data_bits))
        slots = config.lane_channels
        super().__init__(
            {
                "i": In(stream.Signature(result_layout(config))),
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                **{name: In(1) for name in ("start", "stop")},
                **{f"{name}_request": Out(request).array(slots) for name in WRITERS},
                **{f"{name}_data": Out(beat).array(slots) for name in WRITERS},
                **{name: Out(1) for name in ("finished", "region", "stored_entry", "stored_row")},
                "region_row": Out(row_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token = self._config, self.i.payload
        pointer, length, limit = self._count(m)
        places: dict[str, Any] = {
            "pair": Place(config, word_bytes=PAIR_BYTES, step=config.channel_lanes),
            "entry": Place(config, word_bytes=config.layout.entry_bytes, step=1),
        }
        for name, place in places.items():
            m.submodules[f"{name}_place"] = place
        pair, entry = (places[name].i for name in WRITERS)
        ended = Signal()
        full = Signal()
        may = Signal()
        m.d.comb += [
            full.eq(token.present & (pointer == limit)),
            may.eq(~full & ~ended & ~self.stop),
            self.i.ready.eq(may & pair.ready & entry.ready),
            entry.valid.eq(self.i.valid & token.present & may & pair.ready),
            pair.valid.eq(self.i.valid & token.row_last & may & entry.ready),
            self.stored_entry.eq(entry.valid & entry.ready),
            self.stored_row.eq(pair.valid & pair.ready),
            entry.payload.word.eq(Cat(token.value, token.column)),
            entry.payload.number.eq(pointer),
            pair.payload.word.eq(Cat((length + token.present)[:32], (pointer - length)[:32])),
            pair.payload.number.eq(token.row.index),
            places["pair"].base.eq(self.job.c_pairs),
            places["entry"].base.eq(self.job.c_entries),
        ]
        channel = Signal(config.layout.channel_bits)
        m.d.comb += channel.eq(lane_channel(config, self.lane, token.row))
        for place in (pair, entry):
            m.d.comb += place.payload.channel.eq(channel)
            if config.lane_channels > 1:
                m.d.comb += place.payload.slot.eq(token.row.slot)
        with m.If(self.i.valid & full & ~self.region):
            m.d.sync += [self.region.eq(1), self.region_row.eq(token.row)]
        with m.If(self.i.valid & self.i.ready & token.lane_last):
            m.d.sync += ended.eq(1)
        with m.If(self.start | self.stop):
            m.d.sync += [ended.eq(0), self.region.eq(0)]
        self._pack(m, places, ended)
        return m

    def _count(self, m: Module) -> tuple[Value, Value, Value]:
        """Where the next entry of the token's row goes, the row's entries so far, and the end of
        the region."""
        config, token = self._config, self.i.payload
        pointers = [Signal(32, name=f"pointer_{slot}") for slot in range(config.lane_channels)]
        pointer: Any = Array(pointers)[token.row.slot] if len(pointers) > 1 else pointers[0]
        length = Signal(32)
        limit = Signal(32)
        first = Signal(32)
        if config.channel_lanes > 1:
            m.d.comb += first.eq(lane_share(config, self.lane) * self.job.capacity)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                pointer.eq(pointer + token.present),
                length.eq(Mux(token.row_last, 0, length + token.present)),
            ]
        with m.If(self.start):
            m.d.sync += [each.eq(first) for each in pointers]
            m.d.sync += [length.eq(0), limit.eq(first + self.job.capacity)]
        return pointer, length, limit

    def _pack(self, m: Module, places: dict[str, Any], ended: Value) -> None:
        """A packer for each array and channel."""
        config = self._config
        still = [places[name].empty for name in WRITERS]
        flush = Signal()
        empty = []
        for name, place in places.items():
            m.d.comb += place.clear.eq(self.stop)
            word = place.o.payload
            for slot in range(config.lane_channels):
                word_bytes = PAIR_BYTES if name == "pair" else config.layout.entry_bytes
                m.submodules[f"{name}_packer_{slot}"] = packer = Packer(
                    config, word_bytes=word_bytes
                )
                mine = word.slot == slot if config.lane_channels > 1 else Const(1)
                m.d.comb += [
                    packer.i.valid.eq(place.o.valid & mine),
                    packer.i.payload.eq(word),
                    packer.flush.eq(flush),
                    packer.clear.eq(self.stop),
                ]
                with m.If(mine):
                    m.d.comb += place.o.ready.eq(packer.i.ready)
                wiring.connect(
                    m, packer.request, wiring.flipped(getattr(self, f"{name}_request")[slot])
                )
                wiring.connect(m, packer.o, wiring.flipped(getattr(self, f"{name}_data")[slot]))
                empty.append(packer.empty)
        m.d.comb += [
            flush.eq(ended & Cat(still).all()),
            self.finished.eq(flush & Cat(empty).all()),
        ]
