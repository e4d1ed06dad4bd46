"""What travels between the functions of a design."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

__all__ = ["word_layout"]


def word_layout(word_bits: int, *, flagged: bool = False) -> data.StructLayout:
    """A word, all its lanes, lane 0 in the low bits. With flags, ``first``: sums begin with it, and
    ``last``: they are complete with it."""
    flags: dict[str, ShapeLike] = {"first": 1, "last": 1} if flagged else {}
    return data.StructLayout({"data": word_bits, **flags})
