"""The stream interface that all matrix units share."""

from __future__ import annotations

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from ..spec.matrix_unit import MatrixUnitConfig

__all__ = ["matrix_unit_signature", "operation_layout"]


def operation_layout(config: MatrixUnitConfig) -> data.StructLayout:
    """An operation ``d = a * b + c``: opcode, a (rows x depth lanes), b (depth x cols lanes),
    c (rows x cols accumulators).

    If a is sparse, b is deeper than a, and ``metadata`` (rows x depth) says where in its group
    of four each element of a stands.
    """
    rows, cols, depth = config.rows, config.cols, config.depth
    lane, b_depth = config.lane_bits, getattr(config, "b_depth", depth)
    members = {
        "op": config.op_bits,
        "a": data.ArrayLayout(data.ArrayLayout(lane, depth), rows),
        "b": data.ArrayLayout(data.ArrayLayout(lane, cols), b_depth),
        "c": data.ArrayLayout(data.ArrayLayout(config.accumulator_bits, cols), rows),
    }
    if b_depth != depth:
        members["metadata"] = data.ArrayLayout(data.ArrayLayout(2, depth), rows)
    return data.StructLayout(members)


def matrix_unit_signature(config: MatrixUnitConfig) -> Signature:
    """Stream ``i`` of operations, stream ``o`` of results, in the same order.

    A result is ``d`` (rows x cols accumulators) and ``error``: the opcode is not one of the
    unit's, and ``d`` is zero.
    """
    operation = operation_layout(config)
    result = data.StructLayout({"d": operation["c"].shape, "error": 1})
    return Signature({"i": In(stream.Signature(operation)), "o": Out(stream.Signature(result))})
