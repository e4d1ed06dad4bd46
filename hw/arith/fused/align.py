"""Alignment of one term to the window of a sum."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..shift import shift_right_sticky

__all__ = ["Align"]


class Align(wiring.Component):
    """Moves a significand down a window, truncating it at the window's end.

    Combinational.

    Parameters
    ----------
    significand_bits: width of the term's significand
    window_bits: width of the window
    distance_bits: width of the distance

    Members
    -------
    significand: the term; with distance 0 its top bit is the window's top bit
    distance: bits to move down, unsigned; any distance is allowed
    window: the truncated term
    lost: set if a one was truncated
    """

    def __init__(self, significand_bits: int, window_bits: int, distance_bits: int) -> None:
        self._window_bits = window_bits
        super().__init__(
            {
                "significand": In(significand_bits),
                "distance": In(distance_bits),
                "window": Out(window_bits),
                "lost": Out(1),
            }
        )

    @property
    def window_bits(self) -> int:
        return self._window_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window, lost = shift_right_sticky(
            m, self.significand, self.distance, self._window_bits, name="moved"
        )
        m.d.comb += [self.window.eq(window), self.lost.eq(lost)]
        return m
