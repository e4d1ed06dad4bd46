"""Programs as operands: words in memory that describe a job's computation, and their bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .placement import Part

__all__ = ["Choice", "Entry", "Instruction", "Named", "OperandKind", "Parameter", "ProgramLayout"]


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
