"""Common interface of all matrix units' configurations, so that one engine and one bench can drive
any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from .formats import AnyFormat, ComplexFormat, FloatFormat, Format
from .sidecar.operation import Compute, OperationEntry, ResultFlag

__all__ = ["RESULT_FLAGS", "MatrixUnitConfig", "Operation"]

RESULT_FLAGS = (ResultFlag(stream="o", field="error", before_last=0, last=0, illegal=1),)
"""Fields of a result that are no element of d."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation ``d = c (+) a (x) b`` of a matrix unit.

    Parameters
    ----------
    name, opcode: as users type it, and the value of ``op`` that selects it
    element: format of an element of a and b, or of its two parts
    result: format of an element of c and d, or of its two parts
    complex: whether elements have two parts, the real one in the low half
    operand_bits: width of an element of a and b in memory; a multiple of the unit's lanes
    result_bits: width of an element of c and d in memory
    padding: patterns of ``operand_bits`` that fill up a and b at the edges of a matrix without
        changing results; None if the format has no such values
    addend: pattern of ``result_bits`` that changes nothing as c
    compute: what it computes, in words and operators
    """

    name: str
    opcode: int
    element: Format
    result: Format
    complex: bool = False
    operand_bits: int
    result_bits: int
    padding: tuple[int, int] | None
    addend: int | None
    compute: Compute

    def _whole(self, part: Format) -> AnyFormat:
        return ComplexFormat(part=part) if self.complex and isinstance(part, FloatFormat) else part

    @property
    def operand_format(self) -> AnyFormat:
        """Format of an element of a and b, both of its parts together."""
        return self._whole(self.element)

    @property
    def result_format(self) -> AnyFormat:
        """Format of an element of c and d, both of its parts together."""
        return self._whole(self.result)


class MatrixUnitConfig(Protocol):
    """The configuration of a matrix unit: a tile of ``rows x depth`` times ``depth x cols``.

    ``depth`` counts operand lanes; an element of ``operand_bits`` takes ``operand_bits //
    lane_bits`` neighbouring ones.

    Members
    -------
    golden_model: ``module:function`` that computes operations, see
        :func:`tilewright.sim.units.any_unit.mixed_operations`
    known_operations: all that a unit of this kind may be built with
    products: those of them that are sums of products
    default_product: the one to take if nobody says which
    """

    golden_model: ClassVar[str]
    known_operations: ClassVar[tuple[str, ...]]
    products: ClassVar[tuple[str, ...]]
    default_product: ClassVar[str]

    @property
    def rows(self) -> int: ...
    @property
    def cols(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def lane_bits(self) -> int: ...
    @property
    def accumulator_bits(self) -> int: ...
    @property
    def op_bits(self) -> int: ...
    @property
    def operations(self) -> Mapping[str, Operation]: ...
    @property
    def opcodes(self) -> dict[str, int]: ...
    @property
    def initiation_interval(self) -> dict[str, int]: ...
    @property
    def latency(self) -> dict[str, int]: ...
    @property
    def stream_operations(self) -> tuple[OperationEntry, ...]: ...
    @property
    def flags(self) -> tuple[ResultFlag, ...]: ...
    def resolved(self) -> dict[str, Any]: ...
    def __hash__(self) -> int: ...
