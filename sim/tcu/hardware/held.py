"""Which words a matrix unit holds, in which formats, and by which of its operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....hw.spec.m3xu import MODES, M3xuConfig
from ....hw.spec.matrix_unit import MatrixUnitConfig
from ....hw.spec.simd2 import Simd2Config
from ..words import BOOLEAN, COMPLEX64, FP32, FP64, MINPLUS, Words
from ..words.integers import Integers

__all__ = ["KINDS", "M3XU_KIND", "SIMD2_KIND", "Held", "UnitKind"]


@dataclass(frozen=True, kw_only=True)
class Held:
    """Words as a unit has them.

    Parameters
    ----------
    operation: of the unit, by name
    element, result: formats of operands and of sums: a name of ``FORMATS``, or "fp32c"
    operand_bits, result_bits: of signed integers that are exact as an operand and as a sum; 0 for
        words that are none
    """

    operation: str
    element: str
    result: str
    operand_bits: int = 0
    result_bits: int = 0


@dataclass(frozen=True, kw_only=True)
class UnitKind:
    """A matrix unit that can be a backend.

    Parameters
    ----------
    name: of the unit
    config: of its configuration
    held: what it holds, for messages
    holds: from words to how it holds them, None if it does not
    settings: the parameters that words and the side of the unit decide
    """

    name: str
    config: Callable[..., MatrixUnitConfig]
    held: tuple[str, ...]
    holds: Callable[[Words], Held | None]
    settings: Callable[[Held, int], dict[str, Any]]


_SIMD2: dict[Words, Held] = {
    FP32: Held(operation="mma", element="fp32", result="fp32"),
    FP64: Held(operation="mma", element="fp64", result="fp64"),
    MINPLUS: Held(operation="minplus", element="fp64", result="fp64"),
    BOOLEAN: Held(operation="orand", element="int8", result="int32"),
}
_M3XU: dict[Words, Held] = {
    FP32: Held(operation="fp32", element="fp32", result="fp32"),
    COMPLEX64: Held(operation="fp32c", element="fp32c", result="fp32c"),
}
_WHOLE_FP32 = Held(operation="fp32", element="fp32", result="fp32", operand_bits=25, result_bits=25)
"""Integers below 2**24: products are whole and below 2**48, within any window of 56 bits; a sum is
exact below 2**24, as no larger one is rounded to less."""


def _on_simd2(words: Words) -> Held | None:
    if isinstance(words, Integers):
        bits = next((n for n in (8, 16) if n >= words.bits), 32)
        return Held(
            operation="mma", element=f"int{bits}", result="int64",
            operand_bits=bits, result_bits=64,
        )  # fmt: skip
    return _SIMD2.get(words)


def _on_m3xu(words: Words) -> Held | None:
    return _WHOLE_FP32 if isinstance(words, Integers) else _M3XU.get(words)


def _simd2_settings(held: Held, side: int) -> dict[str, Any]:
    return {
        "tile": side, "format": held.element, "accumulator": held.result, "ops": (held.operation,),
    }  # fmt: skip


def _m3xu_settings(held: Held, side: int) -> dict[str, Any]:
    mode = held.operation
    return {"rows": side, "cols": side, "depth": side * MODES[mode].lanes, "modes": (mode,)}


SIMD2_KIND = UnitKind(
    name="simd2",
    config=Simd2Config,
    held=("fp32", "fp64", "boolean", "minplus", "integers (operands of 32 bits)"),
    holds=_on_simd2,
    settings=_simd2_settings,
)
M3XU_KIND = UnitKind(
    name="m3xu",
    config=M3xuConfig,
    held=("fp32", "complex64", "integers (of 25 bits)"),
    holds=_on_m3xu,
    settings=_m3xu_settings,
)

KINDS = {kind.name: kind for kind in (SIMD2_KIND, M3XU_KIND)}
"""By name."""
