"""The multi-mode matrix unit."""

from __future__ import annotations

from ..spec.m3xu import M3xuConfig
from .data_assignment import DataAssignment
from .grid_unit import GridUnit

__all__ = ["M3xu"]


class M3xu(GridUnit):
    """``d = a * b + c`` in fp16, bf16, tf32, fp32 or complex fp32 on narrow multipliers.

    Every element of d is one fused dot product, rounded once. Initiation interval 1 (fp16,
    bf16, tf32), 2 (fp32) or 4 cycles (fp32c), whatever the mix of modes; latencies as the
    configuration says.

    Source: M3XU, microarchitecture (data assignment for FP32 and FP32C).

    Parameters
    ----------
    config: see :class:`M3xuConfig`
    """

    def __init__(self, config: M3xuConfig) -> None:
        self._m3xu = config
        super().__init__(
            config,
            significand_bits=config.significand_bits,
            pipelined=config.data_assignment == "pipelined",
        )

    def operand_stage(self, operand: str) -> DataAssignment:
        return DataAssignment(self._m3xu, operand)
