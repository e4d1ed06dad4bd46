"""Pairs and entries of C2SR in a beat."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from ..spec.c2sr import PAIR_BYTES, C2srLayout

__all__ = ["entry_of", "entry_place", "pair_of", "walked_place"]

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


def entry_of(layout: C2srLayout, beat: Value, number: Value) -> tuple[Value, Value]:
    """Value and column of an entry."""
    entry = _word(beat, number, 8 * layout.entry_bytes)
    middle = layout.format.bits
    return entry[:middle], entry[middle : middle + layout.index_bits]


def walked_place(m: Module, first: Value, *, within: Value, moved: Value) -> Signal:
    """Computes the place of an entry: ``first`` unless it is ``within`` a row, otherwise one after
    the entry that ``moved`` last."""
    next_place = Signal(len(first), reset_less=True)
    place = Signal(len(first))
    m.d.comb += place.eq(Mux(within, next_place, first))
    with m.If(moved):
        m.d.sync += next_place.eq(place + 1)
    return place


def entry_place(
    m: Module, beat_entries: int, row: data.View, *, within: Value, moved: Value
) -> tuple[Value, Value]:
    """The place of an entry in its beat, and whether it is the beat's last.

    The ``place`` of the row's first entry is in its beat, too; no field if a beat is one entry.
    """
    if beat_entries == 1:
        return Const(0), Const(1)
    place = walked_place(m, row.place, within=within, moved=moved)
    return place, place.all()
