"""Pairs and entries in a beat."""

from __future__ import annotations

from amaranth.hdl import Array, Value

from ..spec.c2sr import PAIR_BYTES
from ..spec.matraptor import MatRaptorConfig

__all__ = ["entry_of", "pair_of"]

_HALF = 4 * PAIR_BYTES


def _word(beat: Value, number: Value, bits: int) -> Value:
    count = len(beat) // bits
    if count == 1:
        return beat
    return Array(beat[bits * index : bits * (index + 1)] for index in range(count))[number]


def pair_of(beat: Value, number: Value) -> tuple[Value, Value]:
    """Length and pointer of a pair."""
    pair = _word(beat, number, 2 * _HALF)
    return pair[:_HALF], pair[_HALF:]


def entry_of(config: MatRaptorConfig, beat: Value, number: Value) -> tuple[Value, Value]:
    """Value and column of an entry."""
    entry = _word(beat, number, 8 * config.layout.entry_bytes)
    middle = config.format.bits
    return entry[:middle], entry[middle : middle + config.index_bits]
