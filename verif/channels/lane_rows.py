"""Rows of lanes for the row writer: random ones, their tokens, the memory they must become."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilewright.hw.channels.c2sr_row_writer import lane_entry_layout
from tilewright.hw.spec.c2sr import PAIR_BYTES, C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap
from tilewright.verif.bench.axi_storage import Storage


@dataclass(frozen=True, kw_only=True)
class WriterSettings:
    """Parameters of ``LaneMap``, ``ChannelGeometry`` and ``C2srLayout``, and a burst writer's
    number of bursts in flight."""

    lanes: int
    channels: int
    data_bits: int
    interleave: int = 64
    addr_bits: int = 40
    value: str = "fp32"
    index_bits: int = 32
    outstanding: int = 64

    def _of(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("channels", *names)}

    @property
    def geometry(self) -> ChannelGeometry:
        return ChannelGeometry(**self._of("interleave", "data_bits", "addr_bits"))

    @property
    def layout(self) -> C2srLayout:
        return C2srLayout(**self._of("interleave", "value", "index_bits"))

    @property
    def lane_map(self) -> LaneMap:
        return LaneMap(**self._of("lanes"))


@dataclass(frozen=True)
class LaneRow:
    """Row ``i`` of a matrix: row ``index`` of the lane's channel number ``slot``."""

    i: int
    index: int
    slot: int


@dataclass(frozen=True)
class WriterJob:
    """Inputs of the row writer that are valid with ``start``."""

    pairs_base: int
    entries_base: int
    capacity: int


@dataclass
class Rows:
    """The rows of a lane in its order: (value, column) of every entry."""

    lane: int
    rows: int
    content: list[tuple[LaneRow, list[tuple[int, int]]]]

    @property
    def most(self) -> int:
        """Entries of the fullest of the lane's channels."""
        counts: dict[int, int] = {}
        for place, entries in self.content:
            counts[place.slot] = counts.get(place.slot, 0) + len(entries)
        return max(counts.values(), default=0)

    def apply(self, settings: WriterSettings, job: WriterJob, storage: Storage) -> None:
        """Write what the hardware has to write."""
        layout = settings.layout
        first = self.lane // settings.channels * job.capacity
        pointers: dict[int, int] = {}
        for place, entries in self.content:
            channel = place.i % settings.channels
            pointer = pointers.setdefault(channel, first)
            pair = len(entries) | pointer << 32
            address = layout.flat(job.pairs_base, channel, place.index * PAIR_BYTES)
            storage.load(address, pair.to_bytes(PAIR_BYTES, "little"))
            for number, (value, column) in enumerate(entries, pointer):
                word = value | column << layout.format.bits
                address = layout.flat(job.entries_base, channel, number * layout.entry_bytes)
                storage.load(address, word.to_bytes(layout.entry_bytes, "little"))
            pointers[channel] += len(entries)


def walk(layout: C2srLayout, lane_map: LaneMap, lane: int, rows: int) -> Iterator[LaneRow]:
    """The rows of a lane in the order in which it computes them."""
    block, channels = layout.block_pairs, lane_map.channels
    turn = lane // channels
    for start in range(0, -(-rows // channels), block):
        for slot in range(lane_map.lane_channels):
            channel = (lane + lane_map.lanes * slot) % channels
            for index in range(start, start + block):
                i = index * channels + channel
                if index % lane_map.channel_lanes == turn and i < rows:
                    yield LaneRow(i, index, slot)


def draw_rows(
    generator: random.Random, settings: WriterSettings, lane: int, rows: int, longest: int
) -> Rows:
    """Rows of random lengths, many of them empty or of one entry."""
    bits, index_bits = settings.layout.format.bits, settings.index_bits
    content = []
    for place in walk(settings.layout, settings.lane_map, lane, rows):
        length = generator.choice([0, 1, generator.randint(0, 4), generator.randint(0, longest)])
        entries = [
            (generator.getrandbits(bits), generator.getrandbits(index_bits)) for _ in range(length)
        ]
        content.append((place, entries))
    return Rows(lane, rows, content)


def token_bits(generator: random.Random, settings: WriterSettings, rows: Rows) -> list[int]:
    """Returns the tokens of the rows; the end of a row is in its last entry or in a token after
    it."""
    layout = lane_entry_layout(settings.layout, settings.lane_map)
    at = {name: layout[name].offset for name, _ in layout}
    row_layout = layout["row"].shape
    tokens = []
    for number, (place, entries) in enumerate(rows.content):
        row = place.index
        if settings.lane_map.lane_channels > 1:
            row |= place.slot << row_layout["slot"].offset
        ends = 1 << at["row_last"]
        if number == len(rows.content) - 1:
            ends |= 1 << at["lane_last"]
        for value, column in entries:
            word = value << at["value"] | column << at["column"] | row << at["row"]
            tokens.append(word | 1 << at["present"])
        if entries and generator.random() < 0.7:
            tokens[-1] |= ends
        else:
            tokens.append(row << at["row"] | ends)
    return tokens


def row_number(settings: WriterSettings, lane: int, row: int) -> int:
    """The number of the row that a row port says."""
    index = row & ((1 << settings.index_bits) - 1)
    slot = row >> settings.index_bits
    return index * settings.channels + (lane + settings.lanes * slot) % settings.channels
