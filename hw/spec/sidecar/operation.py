"""What a unit can be asked to do: its operations, their sizes and operands."""

from __future__ import annotations

from dataclasses import dataclass

from ..formats import AnyFormat
from .placement import Placement, Setting

__all__ = ["Compute", "Factor", "Limit", "Operand", "OperationEntry", "ResultFlag", "Size"]


@dataclass(frozen=True, kw_only=True)
class Compute:
    """What is computed: ``kind`` is product, conversion or other.

    ``plus``, ``times``: of a product, the operators of :mod:`tilewright.hw.spec.semirings`.
    """

    kind: str
    plus: str | None = None
    times: str | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class Size:
    """A number of rows or columns: a constant ``value``; or ``scale`` times the number in
    ``register``; or, where the hardware need not know it, anything up to ``most``."""

    name: str
    doc: str
    value: int | None = None
    register: str | None = None
    scale: int | None = None
    most: int | None = None


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A matrix that goes in or comes out: ``rows`` x ``columns`` name sizes.

    ``padding``: the container word that fills the operand up, or starts the sum, without changing a
    result; ``used_when``: the setting with which the operand is looked at, if there is one.
    """

    name: str
    direction: str
    rows: str
    columns: str
    format: AnyFormat
    padding: int | None = None
    used_when: Setting | None = None
    placement: Placement


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A size divided by a number, rounded up."""

    size: str
    divided_by: int = 1


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A product of factors up to which a job does not end with ``error``."""

    product_of: tuple[Factor, ...]
    at_most: int
    error: str
    doc: str


@dataclass(frozen=True, kw_only=True)
class OperationEntry:
    """An operation: the settings that select it, what it computes, and on what."""

    name: str
    select: tuple[Setting, ...]
    compute: Compute
    sizes: tuple[Size, ...]
    operands: tuple[Operand, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResultFlag:
    """What a field of a result is in the transfers of an operation but the last, in the last, and
    in the only one of an opcode that there is not."""

    stream: str
    field: str
    before_last: int
    last: int
    illegal: int
