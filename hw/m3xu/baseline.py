"""The matrix unit that M3XU extends, for comparison."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.m3xu import BaselineConfig
from .grid import GridUnit
from .operand_decoder import decode_lanes, entry_layout, select_layout


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


class BaselineUnit(GridUnit):
    """``d = a * b + c`` in fp16, bf16 or tf32 on 11-bit multipliers, without data assignment.

    Decoders, dot product units, pipeline and stream interface are those of
    :class:`~tilewright.hw.m3xu.m3xu.M3xu`, less what the multi-step modes need.
    Initiation interval 1.

    Parameters
    ----------
    config: see :class:`BaselineConfig`
    """

    #: Significand width of the widest of the unit's formats.
    SIGNIFICAND_BITS = 11

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config, significand_bits=self.SIGNIFICAND_BITS)

    def operand_stage(self, operand: str) -> OperandRegister:
        return OperandRegister(
            self.config.modes,
            lane_bits=self.config.lane_bits,
            depth=self.config.depth,
            significand_bits=self.SIGNIFICAND_BITS,
            operand=operand,
        )
