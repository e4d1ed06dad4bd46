"""A program as the element-wise core reads it: word after word from an entry on, to an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    REDUCTIONS,
    REGISTERS,
    SCALARS,
    VECTORS,
    Instruction,
    scalar_operand,
)
from ...hw.spec.elementwise.program import Program, Scalar
from ...hw.spec.formats import FloatFormat, Format

__all__ = ["WordFault", "part_of_words"]

_FIELD_BITS = 6
_FIELDS = {"d": 0, "s": 0, "a": 1, "b": 2, "c": 3, "v": 3}
_SIZES = {"d": REGISTERS, "s": SCALARS, "v": VECTORS}


@dataclass
class WordFault(Exception):
    """The word at ``place`` is no instruction of the core, or a second result, or there is
    none."""

    place: int


def part_of_words(words: Sequence[int], entry: int, fmt: Format) -> Program:
    """A program with the part that begins at a word as its E1, and all scalars.

    What of a word no instruction has does not count, nor do high bits of an operand's number; *dot*
    the core does not have, *div* and *sqrt* only for floats.

    Raises WordFault.
    """
    by_opcode = {
        one.opcode: one
        for one in INSTRUCTIONS.values()
        if one.name != "dot" and (isinstance(fmt, FloatFormat) or not one.floats)
    }
    found: list[Instruction] = []
    kinds = [""] * SCALARS
    given = False
    for place in range(entry, len(words)):
        operation = by_opcode.get(_field(words[place], 0))
        if operation is None or (given and operation.name == "out"):
            raise WordFault(place)
        given = given or operation.name == "out"
        if operation.name == "end":
            scalars = tuple(Scalar(reduction=kind) for kind in kinds)
            return Program(scalars=scalars, e1=tuple(found))
        operands = tuple(_operand(kind, words[place]) for kind in operation.operands)
        one = Instruction(operation=operation, operands=operands)
        found.append(one)
        if operation.name in REDUCTIONS:
            kinds[one.of("s")[0]] = operation.name
    raise WordFault(max(entry, len(words)))


def _field(word: int, number: int) -> int:
    return word >> _FIELD_BITS * number & (1 << _FIELD_BITS) - 1


def _operand(kind: str, word: int) -> int:
    number = _field(word, 1 + _FIELDS[kind])
    if kind in _SIZES:
        return number % _SIZES[kind]
    scalar = number >= scalar_operand(0)
    return scalar_operand(number % SCALARS) if scalar else number % REGISTERS
