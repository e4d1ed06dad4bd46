"""Describes a unit's operations, their sizes and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..formats import AnyFormat
from .commands import CommandList
from .placement import Part, Placement, Setting
from .program import Parameter, ProgramLayout

__all__ = [
    "Compute",
    "Condition",
    "Factor",
    "JobList",
    "Limit",
    "Operand",
    "OperationEntry",
    "Region",
    "ResultFlag",
    "Size",
]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Condition that a field of a job register has a value.

    Parameters
    ----------
    register, field: which
    value: what it has to be
    also: another condition that must hold, too
    """

    register: str
    field: str = "value"
    value: int = 1
    also: Condition | None = None

    @property
    def parts(self) -> tuple[Condition, ...]:
        """Condition and those that must hold, too."""
        return (self, *(self.also.parts if self.also else ()))


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Computation of an operation: ``kind`` is product, contraction, conversion or other.

    ``plus``, ``times``: of the first two, the operators of :mod:`tilewright.hw.spec.semirings`;
    ``identity``: the container word of what elements are that nothing adds to, if there are such.
    """

    kind: str
    plus: str | None = None
    times: str | None = None
    identity: int | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class Size:
    """A number of rows, columns or further indices: a constant ``value``; or ``scale`` times the
    number in ``register``; or the number in a ``part`` of the operation's list; or, where the
    hardware need not know it, anything up to ``most``. ``whole``: operands must have all of it, and
    must not be filled up with padding along it."""

    name: str
    doc: str
    value: int | None = None
    register: str | None = None
    scale: int | None = None
    part: str | None = None
    most: int | None = None
    whole: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Operand:
    """Matrix operand or result: ``rows`` x ``columns`` name sizes. For a tensor ``more`` names
    those of its further modes.

    ``direction``: in; out; inout; program, in or out as the program says; work, memory that the
    job needs and leaves in any state. ``region``: what it takes of a memory inside; ``padding``:
    the container word that fills the operand up, or starts the sum, without changing a result;
    ``used_when``: the setting, or the condition, with which the operand is looked at, if there is
    one.
    """

    name: str
    direction: str
    rows: str
    columns: str
    more: tuple[str, ...] | None = None
    format: AnyFormat
    padding: int | None = None
    used_when: Setting | Condition | None = None
    placement: Placement
    region: Region | None = None


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A size divided by a number, rounded up."""

    size: str
    divided_by: int = 1


@dataclass(frozen=True, kw_only=True)
class Region:
    """Region of an on-chip memory that holds an operand, beside the regions of others. It begins at
    the number in ``register``, and its size is the product of the factors. Begin and size are
    multiples of ``multiple_of``, the size by rounding up, and the whole region is read. A region
    that ends after ``at_most`` ends the job with ``error``."""

    register: str
    memory: str
    product_of: tuple[Factor, ...]
    multiple_of: int
    at_most: int
    error: str


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A product of factors up to which a job does not end with ``error``."""

    product_of: tuple[Factor, ...]
    at_most: int
    error: str
    doc: str


@dataclass(frozen=True, kw_only=True)
class JobList:
    """Records of a job in memory: an array from the address in register ``base`` on, as many as
    register ``count`` holds, little-endian. Each operation of a job has one record.

    ``align``: what the base is a multiple of; ``read_bytes``: what is read are whole aligned blocks
    of so many bytes; ``values``: what parts hold that are neither a size nor of a placement; other
    parts are 0.
    """

    base: str
    count: str
    bytes: int
    align: int
    read_bytes: int
    parts: Mapping[str, Part]
    values: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class OperationEntry:
    """Operation: the settings that select it, its computation, and its operands. ``parameters``:
    further numbers that a job chooses; ``program``, ``commands``: the program, or the list of
    commands that name their operands themselves, if one of these describes the computation."""

    name: str
    select: tuple[Setting, ...]
    compute: Compute
    sizes: tuple[Size, ...]
    operands: tuple[Operand, ...]
    limits: tuple[Limit, ...] = ()
    list: JobList | None = None
    parameters: tuple[Parameter, ...] | None = None
    program: ProgramLayout | None = None
    commands: CommandList | None = None


@dataclass(frozen=True, kw_only=True)
class ResultFlag:
    """Values of a field of a result: in the transfers of an operation before the last, in the last,
    and in the only transfer of an illegal opcode."""

    stream: str
    field: str
    before_last: int
    last: int
    illegal: int
