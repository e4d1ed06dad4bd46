"""The operand registers of a unit whose operations take one step."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .operand_decoder import decode_lanes, entry_layout, select_layout

__all__ = ["OperandRegister"]


class OperandRegister(wiring.Component):
    """Decodes one row of a, or one column of b, and holds it for the multipliers.

    Latency: one register, which moves only while ``advance`` is set.

    Parameters
    ----------
    modes: the unit's modes, all of one step
    lane_bits: width of a lane; with 32, every element takes one lane
    depth: number of lanes
    significand_bits: width of an entry's significand
    operand: "a" or "b"

    Members
    -------
    lanes: the lanes, lane 0 in the low bits
    select: the mode of the lanes
    load: a new operation enters
    advance: enables the registers
    entries: the entries of the operation
    """

    def __init__(
        self,
        modes: tuple[str, ...],
        *,
        lane_bits: int,
        depth: int,
        significand_bits: int,
        operand: str,
    ) -> None:
        self._modes = modes
        self._lane_bits = lane_bits
        self._depth = depth
        self._significand_bits = significand_bits
        self._operand = operand
        entry = entry_layout(modes, significand_bits)
        super().__init__(
            {
                "lanes": In(lane_bits * depth),
                "select": In(select_layout(modes)),
                "load": In(1),
                "advance": In(1),
                "entries": Out(data.ArrayLayout(entry, depth)),
            }
        )

    @property
    def modes(self) -> tuple[str, ...]:
        return self._modes

    @property
    def operand(self) -> str:
        return self._operand

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoded = decode_lanes(
            m,
            self.lanes,
            self.select,
            modes=self._modes,
            lane_bits=self._lane_bits,
            depth=self._depth,
            significand_bits=self._significand_bits,
            operand=self._operand,
        )
        entries = Signal(self.entries.shape(), reset_less=True)
        m.d.comb += self.entries.eq(entries)
        with m.If(self.advance & self.load):
            m.d.sync += entries.eq(decoded)
        return m
