"""Payload layouts and widths that the parts of the engine share."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Value
from amaranth.lib import data

from ..spec.engine import OPERANDS, SIZE_BITS, EngineConfig

__all__ = ["Sizes", "bits_for", "is_part", "job_layout", "log2", "part_of", "within"]


def log2(power: int) -> int:
    """The exponent of a power of two."""
    return power.bit_length() - 1


def bits_for(count: int) -> int:
    """Width of a number in ``0..count - 1``, at least 1."""
    return max(1, (count - 1).bit_length())


def is_part(value: Value, low: int, parts: int, part: int) -> Value:
    """Returns whether a word's address selects part ``part`` of ``parts`` (a power of two): the
    bits of ``value`` from ``low`` on."""
    if parts == 1:
        return Const(1)
    return value[low : low + log2(parts)] == part


def part_of(word: Value, parts: int, index: Value) -> Value:
    """One of the equal parts (a power of two) of a word, by the low bits of ``index``."""
    if parts == 1:
        return word
    half, top = len(word) // 2, log2(parts) - 1
    low, high = (part_of(bits, parts // 2, index) for bits in (word[:half], word[half:]))
    return Mux(index[top], high, low)


def within(is_last: Value, minus_one: Value, length: int) -> Value:
    """The last position in a block of ``length`` (a power of two) positions of ``minus_one`` + 1:
    all of a block that is not the last, the remainder of the last."""
    return Mux(is_last, minus_one[: log2(length)], length - 1)


class Sizes:
    """Widths and depths, in elements, lanes and beats, that follow from a configuration.

    Members
    -------
    rows, cols, depth: the unit's tile; ``depth`` in lanes
    block_rows, block_cols, block_depth: the block in tiles
    beat_lanes: operand lanes of a beat
    k_bits: width of K in lanes
    a_lanes: lanes of a word of A's scratchpad
    b_banks, b_lanes: banks of B's scratchpad, lanes of a word
    c_bits, c_lanes: width of an element in C's and D's scratchpad, elements of a word
    row_bits, beat_bits: widths of a row of a block, of a beat of such a row
    """

    def __init__(self, config: EngineConfig) -> None:
        self.rows, self.cols, self.depth = config.tile_shape
        self.block_rows, self.block_cols, self.block_depth = config.block
        self.beat_lanes = config.beat_lanes
        self.k_bits = SIZE_BITS + log2(config.element_lanes[-1])
        self.a_lanes = max(self.depth, self.beat_lanes)
        self.b_banks = max(self.depth, self.beat_lanes)
        self.b_lanes = max(self.cols, self.beat_lanes)
        self.c_bits = config.result_widths[-1]
        self.c_lanes = max(self.cols, config.data_bits // config.result_widths[0])
        across = self.block_cols * self.cols
        rows = max(self.block_rows * self.rows, across, self.block_depth * self.depth)
        self.row_bits = bits_for(rows)
        self.beat_bits = bits_for(config.longest_row)


def job_layout(config: EngineConfig) -> data.StructLayout:
    """Running job: sizes less one, K in lanes; the meaning of the opcode, one bit for each choice.

    ``element``: the width of an operand's element, of ``config.element_lanes``; ``result``: of a
    result, of ``config.result_widths``.
    """
    fields: dict[str, int] = {
        "op": config.unit.op_bits,
        "transposed_b": 1,
        "use_c": 1,
        "m1": SIZE_BITS,
        "n1": SIZE_BITS,
        "k1": Sizes(config).k_bits,
        "element": len(config.element_lanes),
        "result": len(config.result_widths),
    }
    for operand in OPERANDS:
        fields[f"{operand}_base"] = config.addr_bits
        fields[f"{operand}_stride"] = 32
    return data.StructLayout(fields)
