"""Writes rows to memory, in C2SR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..spec.c2sr import PAIR_BYTES, C2srLayout
from ..spec.channels import ChannelGeometry, LaneMap
from ..stream.stream_registers import SkidBuffer
from .beat_packer import BeatPacker, WordPlacer, placed_word_layout, write_request_layout


def lane_row_layout(lane_map: LaneMap, index_bits: int) -> data.StructLayout:
    """A row within its lane.

    ``index``: its number within its channel, ``i // channels``; ``slot``: which of the lane's
    channels, if it has several. The channel is ``lane + lanes * slot``, or ``lane % channels``.
    """
    fields: dict[str, ShapeLike] = {"index": index_bits}
    if lane_map.lane_channels > 1:
        fields["slot"] = (lane_map.lane_channels - 1).bit_length()
    return data.StructLayout(fields)


def _of_lane(lane_map: LaneMap, lane: Value, width: int, rule: Callable[[int], int]) -> Value:
    """A number that depends on the lane."""
    if lane_map.lanes == 1:
        return Const(rule(0), width)
    return Array(Const(rule(number), width) for number in range(lane_map.lanes))[lane]


def lane_channel(lane_map: LaneMap, lane: Value, row: Value) -> Value:
    """The channel of a row of the lane, see :func:`lane_row_layout`."""
    if lane_map.lane_channels > 1:
        return lane + lane_map.lanes * row.slot
    width = max(1, (lane_map.channels - 1).bit_length())
    return _of_lane(lane_map, lane, width, lambda n: n % lane_map.channels)


def lane_share(lane_map: LaneMap, lane: Value) -> Value:
    """The lane's number among those whose rows share its channel, from 0."""
    width = max(1, (lane_map.channel_lanes - 1).bit_length())
    return _of_lane(lane_map, lane, width, lambda n: n // lane_map.channels)


WRITERS = ("pair", "entry")
"""Arrays that have burst writers of their own, one in each of the lane's channels."""


def lane_entry_layout(layout: C2srLayout, lane_map: LaneMap) -> data.StructLayout:
    """An entry of a lane's ``row``, if ``present``: ``value``, ``column``; ``row_last``: last token
    of its row; ``lane_last``: and of the lane's last row. A token that is not ``present`` only ends
    a row."""
    fields: dict[str, ShapeLike] = {"value": layout.format.bits, "column": layout.index_bits}
    ends: dict[str, ShapeLike] = {"present": 1, "row_last": 1, "lane_last": 1}
    row = lane_row_layout(lane_map, layout.index_bits)
    return data.StructLayout({**fields, **ends, "row": row})


class C2srRowWriter(wiring.Component):
    """Writes the rows of a lane into the lane's channels.

    Entries follow each other without gaps, from the beginning of the lane's region in each of its
    channels: ``capacity`` entries from entry ``lane // channels * capacity`` on. They are written
    in bursts of whole blocks; pairs in bursts of those neighbouring beats of a block in which the
    lane has rows. Only bytes of the lane's own entries and pairs have strobes. One token a cycle.

    An entry for which there is no room sets ``region``, and nothing is accepted until ``stop``.

    Parameters
    ----------
    geometry: of the memory's channels
    layout: of the matrix
    lane_map: which rows are the lane's

    Members
    -------
    i: rows, see :func:`lane_entry_layout`
    pairs_base, entries_base: flat addresses of the arrays, constant from ``start`` on
    capacity: entries that each lane may write into each of its channels, likewise
    lane: the lane's number, constant
    start: pulse: a job begins
    stop: level: drop everything
    pair_request, pair_data, entry_request, entry_data: arrays of streams to burst writers, one for
        each of the lane's channels
    finished: the last row is with the burst writers
    region, region_row: the error and its row, until ``stop``
    stored_entry, stored_row: pulses: an entry, a row's pair was taken
    """

    def __init__(self, geometry: ChannelGeometry, layout: C2srLayout, lane_map: LaneMap) -> None:
        self._geometry, self._layout, self._lane_map = geometry, layout, lane_map
        request = stream.Signature(write_request_layout(geometry))
        beat = stream.Signature(store_layout(geometry.data_bits))
        slots = lane_map.lane_channels
        super().__init__(
            {
                "i": In(stream.Signature(lane_entry_layout(layout, lane_map))),
                "pairs_base": In(geometry.addr_bits),
                "entries_base": In(geometry.addr_bits),
                "capacity": In(32),
                "lane": In(lane_map.lane_bits),
                **{name: In(1) for name in ("start", "stop")},
                **{f"{name}_request": Out(request).array(slots) for name in WRITERS},
                **{f"{name}_data": Out(beat).array(slots) for name in WRITERS},
                **{name: Out(1) for name in ("finished", "region", "stored_entry", "stored_row")},
                "region_row": Out(lane_row_layout(lane_map, layout.index_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_map, token = self._lane_map, self.i.payload
        pointer, length, at_end = self._count(m)
        places: dict[str, Any] = {
            "pair": self._placer(PAIR_BYTES, lane_map.channel_lanes),
            "entry": self._placer(self._layout.entry_bytes, 1),
        }
        skids: dict[str, Any] = {}
        for name, place in places.items():
            m.submodules[f"{name}_place"] = place
            # Else the pointers would wait for the burst writers' `ready`: the longest path of all.
            shape = place.i.payload.shape()
            skid = SkidBuffer(shape, output_register=False, clearable=True)
            m.submodules[f"{name}_skid"] = skids[name] = skid
            wiring.connect(m, skid.o, place.i)
            m.d.comb += skid.clear.eq(self.stop)
        pair, entry = (skids[name].i for name in WRITERS)
        ended = Signal()
        full = Signal()
        may = Signal()
        m.d.comb += [
            full.eq(token.present & at_end),
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
            places["pair"].base.eq(self.pairs_base),
            places["entry"].base.eq(self.entries_base),
        ]
        channel = Signal(self._geometry.channel_bits)
        m.d.comb += channel.eq(lane_channel(lane_map, self.lane, token.row))
        for place in (pair, entry):
            m.d.comb += place.payload.channel.eq(channel)
            if lane_map.lane_channels > 1:
                m.d.comb += place.payload.slot.eq(token.row.slot)
        with m.If(self.i.valid & full & ~self.region):
            m.d.sync += [self.region.eq(1), self.region_row.eq(token.row)]
        with m.If(self.i.valid & self.i.ready & token.lane_last):
            m.d.sync += ended.eq(1)
        with m.If(self.start | self.stop):
            m.d.sync += [ended.eq(0), self.region.eq(0)]
        self._pack(m, places, ended)
        return m

    def _placer(self, word_bytes: int, step: int) -> WordPlacer:
        slots = self._lane_map.lane_channels
        return WordPlacer(self._geometry, word_bytes=word_bytes, step=step, slots=slots)

    def _count(self, m: Module) -> tuple[Value, Value, Value]:
        """Counts the row's entries; returns the place of the token's entry, their number so far,
        and whether that place is the end of the region."""
        lane_map, token = self._lane_map, self.i.payload
        pointers = [Signal(32, name=f"pointer_{slot}") for slot in range(lane_map.lane_channels)]
        pointer: Any = Array(pointers)[token.row.slot] if len(pointers) > 1 else pointers[0]
        length = Signal(32)
        # The last place; and of each channel, whether its pointer is beyond that: known a cycle
        # before, for it decides what is accepted.
        last = Signal(32, name="last_place")
        ended = [Signal(name=f"at_end_{slot}") for slot in range(lane_map.lane_channels)]
        at_end: Any = Array(ended)[token.row.slot] if len(ended) > 1 else ended[0]
        first = Signal(32)
        if lane_map.channel_lanes > 1:
            m.d.comb += first.eq(lane_share(lane_map, self.lane) * self.capacity)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                pointer.eq(pointer + token.present),
                length.eq(Mux(token.row_last, 0, length + token.present)),
            ]
            with m.If(token.present):
                m.d.sync += at_end.eq(pointer == last)
        with m.If(self.start):
            m.d.sync += [each.eq(first) for each in pointers]
            m.d.sync += [each.eq(self.capacity == 0) for each in ended]
            m.d.sync += [length.eq(0), last.eq(first + self.capacity - 1)]
        return pointer, length, at_end

    def _pack(self, m: Module, places: dict[str, Any], ended: Value) -> None:
        """A packer for each array and channel."""
        slots = self._lane_map.lane_channels
        still = [places[name].empty for name in WRITERS]
        flush = Signal()
        empty = []
        for name, place in places.items():
            m.d.comb += place.clear.eq(self.stop)
            word = place.o.payload
            for slot in range(slots):
                word_bytes = PAIR_BYTES if name == "pair" else self._layout.entry_bytes
                m.submodules[f"{name}_packer_{slot}"] = packer = BeatPacker(
                    self._geometry, word_bytes=word_bytes
                )
                mine = word.slot == slot if slots > 1 else Const(1)
                m.d.comb += [
                    packer.i.payload[field].eq(word[field])
                    for field, _ in placed_word_layout(self._geometry, word_bytes)
                ]
                m.d.comb += [
                    packer.i.valid.eq(place.o.valid & mine),
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
