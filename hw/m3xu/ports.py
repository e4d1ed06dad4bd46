"""The stream interface that all matrix units share."""

from __future__ import annotations

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from ..spec.m3xu import OP_BITS, MatrixUnitConfig

__all__ = ["matrix_unit_signature"]


def matrix_unit_signature(config: MatrixUnitConfig) -> Signature:
    """Stream ``i`` of operations ``d = a * b + c``, stream ``o`` of results, in the same order.

    a is rows x depth lanes, b depth x cols lanes, c and d rows x cols accumulators. ``error``
    says that the opcode is not one of the unit's; ``d`` is then zero.
    """
    rows, cols, depth = config.rows, config.cols, config.depth
    accumulators = data.ArrayLayout(data.ArrayLayout(config.accumulator_bits, cols), rows)
    operation = data.StructLayout(
        {
            "op": OP_BITS,
            "a": data.ArrayLayout(data.ArrayLayout(config.lane_bits, depth), rows),
            "b": data.ArrayLayout(data.ArrayLayout(config.lane_bits, cols), depth),
            "c": accumulators,
        }
    )
    result = data.StructLayout({"d": accumulators, "error": 1})
    return Signature({"i": In(stream.Signature(operation)), "o": Out(stream.Signature(result))})
