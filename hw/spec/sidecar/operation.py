"""Describes a unit's operations, their sizes and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..formats import AnyFormat
from .placement import Part, Placement, Setting


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A value of a parameter, by name. ``plus``, ``times``: of a semiring the operators;
    ``identity``: the container word that (+) leaves alone."""

    name: str
    value: int
    plus: str | None = None
    times: str | None = None
    identity: int | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """Number in a register that is neither a size nor an address; ``choices``: its allowed values,
    if only some are meaningful."""

    register: str
    field: str = "value"
    doc: str
    choices: tuple[Choice, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Named:
    """Numbers that an operand of an instruction may have, from ``first`` on: number ``first`` + n
    is n of ``of``."""

    of: str
    first: int
    count: int


@dataclass(frozen=True, kw_only=True)
class OperandKind:
    """A kind of operand of an instruction: in which part of the word its number is, and which
    numbers there are."""

    part: str
    doc: str
    numbers: tuple[Named, ...]


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction: its opcode, and the kinds of its operands in the order in which they are
    written. ``identity``: of one that reduces, the container word that a reduction begins with."""

    name: str
    opcode: int
    operands: tuple[str, ...]
    identity: int | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Beginning of a part of the program: at word ``at``, or at the word in ``register``."""

    name: str
    at: int | None = None
    register: str | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class ProgramLayout:
    """A program in memory: words from the address in register ``base`` on, as many as register
    ``count`` holds, little-endian.

    ``parts``: of a word; ``opcode`` is one of them; ``kinds``: of operands, by name; ``ends_with``:
    the instruction that ends each part of the program; ``rules``: of programs that are defined.
    """

    base: str
    count: str
    bytes: int
    align: int
    read_bytes: int
    parts: Mapping[str, Part]
    kinds: Mapping[str, OperandKind]
    instructions: tuple[Instruction, ...]
    entries: tuple[Entry, ...]
    ends_with: str
    rules: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CommandField:
    """Bits of a command; ``values``: the meaning of some numbers, by name; ``of``: the table of the
    list whose numbers it holds."""

    low: int
    bits: int
    doc: str
    values: Mapping[str, int] | None = None
    of: str | None = None


@dataclass(frozen=True, kw_only=True)
class CommandKind:
    """A kind of commands, with the number that its field ``kind`` holds."""

    name: str
    value: int
    doc: str
    fields: Mapping[str, CommandField]


@dataclass(frozen=True, kw_only=True)
class LaneMemory:
    """A memory of a lane: ``banks`` banks of ``words`` words of ``word_bytes`` bytes."""

    name: str
    value: int
    banks: int
    words: int
    word_bytes: int
    doc: str


@dataclass(frozen=True, kw_only=True)
class Deal:
    """Round-robin distribution of a row's elements over banks: element t, of ``element_bytes``
    bytes, is in the t % ``banks``-th bank of those of the row, and is element t // ``banks`` there.
    """

    value: int
    element_bytes: int
    banks: int


@dataclass(frozen=True, kw_only=True)
class ListedFormat:
    """A format that commands name by ``value``; ``result_bytes``: sizes that elements of results of
    products may have, the usual one first."""

    name: str
    value: int
    format: AnyFormat
    limbs: int
    result_bytes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class VectorFunctionEntry:
    """A function of vectors; ``integers``, ``floats``: the memories of its operands, in their
    order; absent: there is no such function of these formats."""

    name: str
    value: int
    integers: tuple[str, ...] | None = None
    floats: tuple[str, ...] | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class CommandList:
    """Commands of a job in memory: they begin at the address in register ``base``, as many as
    register ``count`` holds, each of ``bytes`` bytes, little-endian."""

    base: str
    count: str
    bytes: int
    align: int
    read_bytes: int
    row_align: int
    kinds: tuple[CommandKind, ...]
    memories: tuple[LaneMemory, ...]
    deals: tuple[Deal, ...]
    formats: tuple[ListedFormat, ...]
    functions: tuple[VectorFunctionEntry, ...]
    rules: tuple[str, ...]


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
