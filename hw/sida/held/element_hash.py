"""A number for each element, so that sums of them tell sets of elements apart."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["HASH_BITS", "element_hash"]

HASH_BITS = 33
"""Of a hash, and of sums of them. With an odd number a round loses nothing."""

_WORD_BITS = 32
_BEGIN = 0x19E3779B9
_TURNS = (13, 21)


def element_hash(m: Module, name: str, place: Value, value: Value) -> Signal:
    """``HASH_BITS`` of an element's place and value. Elements that differ in a value of up to 32
    bits alone have different hashes.

    Each 32 bits, from a new word on for the value, go through a round, and one is behind them: a
    sum over places that can be undone, then products of neighbours. Combinational; ``name`` is that
    of the signals.
    """
    words = [
        bits[first : first + _WORD_BITS]
        for bits in (Cat(place), Cat(value))
        for first in range(0, len(bits), _WORD_BITS)
    ]
    state: Value = Value.cast(_BEGIN)
    for number, word in enumerate(words):
        state = _round(m, f"{name}_{number}", state ^ word)
    return _round(m, name, state)


def _round(m: Module, name: str, state: Value) -> Signal:
    """One to one."""
    given = Signal(HASH_BITS, name=f"{name}_given")
    spread = Signal(HASH_BITS, name=f"{name}_spread")
    found = Signal(HASH_BITS, name=f"{name}_mixed")
    one, other = (given.rotate_left(turn) for turn in _TURNS)
    m.d.comb += [
        given.eq(state),
        spread.eq(given ^ one ^ other),
        found.eq(spread ^ (~spread.rotate_left(1) & spread.rotate_left(2))),
    ]
    return found
