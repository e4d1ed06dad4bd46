"""Layouts of the signals between the parts that move operands and results."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta import COMMANDS_BITS
from ...spec.jobs.gta_commands import (
    COMMAND_BYTES,
    DEALS,
    FIELDS,
    KINDS,
    MEMORIES,
    NARROWINGS,
    lane_words,
    longest_row,
)

__all__ = [
    "chunk_bytes",
    "command_layout",
    "counts_layout",
    "lane_bits",
    "load_layout",
    "place_layout",
    "request_bits",
    "rows_layout",
    "store_layout",
    "word_bits",
]


def lane_bits(config: GtaConfig) -> int:
    """Width of a lane's number."""
    return max(1, (config.lanes - 1).bit_length())


def word_bits(config: GtaConfig) -> int:
    """Width of the number of a word of 16 bytes of a bank."""
    return (lane_words(config, "result") - 1).bit_length()


def chunk_bytes(config: GtaConfig) -> int:
    """Bytes of an operand that are dealt out in a cycle: a beat, and a bank's word at most."""
    return min(LEFT_WORD_BYTES, config.data_bits // 8)


def request_bits(config: GtaConfig) -> int:
    """Width of a row's number of beats."""
    return (longest_row(config) // (config.data_bits // 8)).bit_length()


def command_layout(kind: str) -> data.FlexibleLayout:
    """A command as it is in memory, see ``FIELDS``."""
    fields = {name: data.Field(bits, low) for name, (low, bits) in FIELDS[kind].items()}
    return data.FlexibleLayout(8 * COMMAND_BYTES, fields)


def _rows(config: GtaConfig) -> dict[str, ShapeLike]:
    return {
        "deal": range(len(DEALS)),
        "rows": FIELDS["load"]["rows"][1],
        "row_bytes": range(longest_row(config) + 1),
        "base": config.addr_bits,
        "stride": FIELDS["load"]["stride"][1],
        "first": lane_bits(config),
        "step": lane_bits(config),
        "lanes": range(config.lanes + 1),
        "word": word_bits(config),
        "words": word_bits(config) + 1,
    }


def rows_layout(config: GtaConfig) -> data.StructLayout:
    """The rows of a command that holds, see ``FIELDS``."""
    return data.StructLayout(_rows(config))


def load_layout(config: GtaConfig) -> data.StructLayout:
    """A LOAD that holds: the memory, and ``rows_layout``."""
    return data.StructLayout({"memory": range(len(MEMORIES)), **_rows(config)})


def store_layout(config: GtaConfig) -> data.StructLayout:
    """A STORE that holds: the narrowing, and ``rows_layout``."""
    return data.StructLayout({"narrow": range(len(NARROWINGS)), **_rows(config)})


def place_layout(config: GtaConfig) -> data.StructLayout:
    """Location in a lane of up to 16 bytes of a row.

    lane: its number
    bank: the first bank
    word: of 16 bytes, of every bank that has some of them
    position: of the first of them there
    """
    return data.StructLayout(
        {
            "lane": lane_bits(config),
            "bank": range(BANKS),
            "word": word_bits(config),
            "position": range(LEFT_WORD_BYTES),
        }
    )


def counts_layout() -> data.StructLayout:
    """Counts of commands, one per kind."""
    return data.StructLayout({f"{kind}s": COMMANDS_BITS for kind in KINDS})
