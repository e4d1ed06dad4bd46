"""Operands, dense tensors and results in a device's memory."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from ..numbers.memory import from_bytes, to_bytes
from ..numbers.scalars import Patterns
from .result.kernel import Kernel

__all__ = [
    "dense_bytes",
    "dense_from_bytes",
    "operand_bytes",
    "output_bytes",
    "output_from_bytes",
    "pitch_of",
]


def operand_bytes(config: TensaurusConfig, operand: Patterns, columns: int) -> bytes:
    """Rows of an operand, each padded with zeros to so many values."""
    padded = np.zeros((len(operand), columns), np.uint64)
    padded[:, : operand.shape[1]] = operand
    return to_bytes(padded, config.format)


def pitch_of(config: TensaurusConfig, sizes: tuple[int, ...]) -> int:
    """Bytes from a dense slice with modes of these sizes to the next."""
    line = config.line_bytes
    return -(-prod(sizes) * config.format.bits // 8 // line) * line


def dense_bytes(config: TensaurusConfig, tensor: Patterns) -> bytes:
    """A dense tensor, slices first: each slice begins a line."""
    pitch = pitch_of(config, tensor.shape[1:])
    rows = to_bytes(tensor, config.format)
    size = len(rows) // max(1, len(tensor))
    found: npt.NDArray[np.uint8] = np.zeros((len(tensor), pitch), np.uint8)
    found[:, :size] = np.frombuffer(rows, np.uint8).reshape(len(tensor), size)
    return found.tobytes()


def dense_from_bytes(
    config: TensaurusConfig, content: bytes, shape: tuple[int, ...], pitch: int
) -> Patterns:
    """The tensor again."""
    size = prod(shape[1:]) * config.format.bits // 8
    # Behind the last slice nothing is read.
    padded = np.frombuffer(content.ljust(shape[0] * pitch, b"\0"), np.uint8)
    rows = padded[: shape[0] * pitch].reshape(shape[0], pitch)[:, :size]
    return from_bytes(rows.tobytes(), config.format).reshape(shape)


def output_bytes(
    config: TensaurusConfig, kernel: Kernel, slices: int, store: str = "buffer"
) -> int:
    """Bytes of an output of so many slices; of one that is added up in memory each unit begins a
    line."""
    if store == "memory":
        return slices * kernel.units * config.memory_unit_bytes
    return slices * kernel.slice_values(config) * config.sum_format.bits // 8


def output_from_bytes(
    config: TensaurusConfig, kernel: Kernel, content: bytes, store: str = "buffer"
) -> Patterns:
    """Its values: slices and, of each, ``kernel.slice_values``."""
    if store == "memory":
        units = np.frombuffer(content, np.uint8).reshape(-1, config.memory_unit_bytes)
        content = units[:, : config.result_unit_bytes].tobytes()
    return from_bytes(content, config.sum_format).reshape(-1, kernel.slice_values(config))
