"""Rows of C for the row writer: random ones, their tokens, and the memory they must become."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.hw.matraptor.layouts import job_layout, result_layout
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.bench.axi_storage import Storage

__all__ = ["Place", "Rows", "draw_rows", "job_bits", "row_number", "token_bits", "walk"]


@dataclass(frozen=True)
class Place:
    """Row ``i`` of C: row ``index`` of the lane's channel number ``slot``."""

    i: int
    index: int
    slot: int


@dataclass
class Rows:
    """The rows of a lane in its order: (value, column) of every entry."""

    lane: int
    rows: int
    content: list[tuple[Place, list[tuple[int, int]]]]

    @property
    def most(self) -> int:
        """Entries of the fullest of the lane's channels."""
        counts: dict[int, int] = {}
        for place, entries in self.content:
            counts[place.slot] = counts.get(place.slot, 0) + len(entries)
        return max(counts.values(), default=0)

    def apply(self, config: MatRaptorConfig, job: dict[str, int], storage: Storage) -> None:
        """Write what the hardware has to write."""
        layout = config.layout
        first = self.lane // config.channels * job["capacity"]
        pointers: dict[int, int] = {}
        for place, entries in self.content:
            channel = place.i % config.channels
            pointer = pointers.setdefault(channel, first)
            pair = len(entries) | pointer << 32
            address = layout.flat(job["c_pairs"], channel, place.index * PAIR_BYTES)
            storage.load(address, pair.to_bytes(PAIR_BYTES, "little"))
            for number, (value, column) in enumerate(entries, pointer):
                word = value | column << layout.format.bits
                address = layout.flat(job["c_entries"], channel, number * layout.entry_bytes)
                storage.load(address, word.to_bytes(layout.entry_bytes, "little"))
            pointers[channel] += len(entries)


def walk(config: MatRaptorConfig, lane: int, rows: int) -> Iterator[Place]:
    """The rows of a lane in the order in which it computes them."""
    block = config.layout.block_pairs
    turn = lane // config.channels
    for start in range(0, -(-rows // config.channels), block):
        for slot in range(config.lane_channels):
            channel = lane + config.lanes * slot if config.lane_channels > 1 else lane
            channel %= config.channels
            for index in range(start, start + block):
                i = index * config.channels + channel
                if index % config.channel_lanes == turn and i < rows:
                    yield Place(i, index, slot)


def draw_rows(
    generator: random.Random, config: MatRaptorConfig, lane: int, rows: int, longest: int
) -> Rows:
    """Rows of random lengths, many of them empty or of one entry."""
    bits, index_bits = config.format.bits, config.index_bits
    content = []
    for place in walk(config, lane, rows):
        length = generator.choice([0, 1, generator.randint(0, 4), generator.randint(0, longest)])
        entries = [
            (generator.getrandbits(bits), generator.getrandbits(index_bits)) for _ in range(length)
        ]
        content.append((place, entries))
    return Rows(lane, rows, content)


def token_bits(generator: random.Random, config: MatRaptorConfig, rows: Rows) -> list[int]:
    """The tokens of the rows; the end of a row may come with its last entry or behind it."""
    layout = result_layout(config)
    at = {name: layout[name].offset for name, _ in layout}
    row_layout = layout["row"].shape
    tokens = []
    for number, (place, entries) in enumerate(rows.content):
        row = place.index
        if config.lane_channels > 1:
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


def job_bits(config: MatRaptorConfig, job: dict[str, int]) -> int:
    """The job as the port has it."""
    layout = job_layout(config)
    return sum(value << layout[name].offset for name, value in job.items())


def row_number(config: MatRaptorConfig, lane: int, row: int) -> int:
    """The number of the row that a row port says."""
    index = row & ((1 << config.index_bits) - 1)
    slot = row >> config.index_bits
    return index * config.channels + (lane + config.lanes * slot) % config.channels
