"""The matrix unit that M3XU extends, for comparison."""

from __future__ import annotations

from ..spec.m3xu import BaselineConfig
from .grid_unit import GridUnit
from .operand_register import OperandRegister

__all__ = ["BaselineUnit"]


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
