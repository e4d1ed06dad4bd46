"""Text to programs of the element-wise core, and back.

A line is a declaration, the beginning of a part, or an instruction; ``#`` begins a comment::

    scalar damping = 0.85       # a constant
    scalar base                 # comes with the job
    vector degree
    reduce residual sum         # also min, max, or

    e1:
        load r1, degree
        fma r2, y, damping, base
        sub r3, r2, 1.5         # numbers may stand where they are used
        reduce residual, r3
        out r2

Registers are ``r0`` to ``r15``; ``y`` is ``r0``, which has the product when a part begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .instructions import (
    INSTRUCTIONS,
    MATRICES,
    REGISTERS,
    SCALARS,
    VECTORS,
    Instruction,
    Operation,
    scalar_operand,
)
from .program import PARTS, Program, Scalar

__all__ = ["AssemblyError", "assemble", "disassemble"]

_DECLARED = ("scalar", "vector", "matrix", "reduce")
_KINDS = ("sum", "min", "max", "or")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf|nan)")
_REGISTER = re.compile(r"r(\d+)")
_WORDS = frozenset(["y", "scalar", "vector", "matrix", "reduce", *_KINDS, *PARTS, *INSTRUCTIONS])
_WRITTEN = {
    name: one for name, one in INSTRUCTIONS.items() if name != "end" and "s" not in one.operands
}
_ROLES = {
    "d": "a register",
    "a": "a register, a scalar or a number",
    "v": "a vector",
    "m": "a matrix",
}
_ROLES |= dict.fromkeys("bc", _ROLES["a"])


class AssemblyError(ValueError):
    """Error in a program's text, at ``line`` and ``column``, from 1; a line of 0 is the program as
    a whole."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(f"line {line}, column {column}: {what}" if line else what)
        self.line, self.column = line, column


@dataclass(frozen=True)
class _Word:
    """A piece of a line, and where it is."""

    text: str
    line: int
    column: int

    def refuse(self, what: str) -> AssemblyError:
        return AssemblyError(self.line, self.column, what)


@dataclass
class _Names:
    """Declared names of a program."""

    scalars: list[Scalar] = field(default_factory=list)
    lists: dict[str, list[str]] = field(default_factory=lambda: {"vector": [], "matrix": []})

    def scalar(self, name: str) -> int | None:
        """The number of a named one."""
        names = [one.name for one in self.scalars]
        return names.index(name) if name and name in names else None

    def known(self, name: str) -> bool:
        return self.scalar(name) is not None or any(name in names for names in self.lists.values())

    def constant(self, word: _Word) -> int:
        """The number of one that is written where it is used."""
        value = float(word.text)
        for number, one in enumerate(self.scalars):
            if not one.name and one.value is not None and repr(one.value) == repr(value):
                return number
        self.add(word, Scalar(value=value))
        return len(self.scalars) - 1

    def add(self, word: _Word, scalar: Scalar) -> None:
        if len(self.scalars) == SCALARS:
            raise word.refuse(
                f"there may be {SCALARS} scalars and numbers; {word.text!r} is one more"
            )
        self.scalars.append(scalar)


def assemble(text: str, words: int | None = None) -> Program:
    """The program of a text.

    Parameters
    ----------
    words: of the instruction memory; None for no limit

    Raises
    ------
    AssemblyError with line and column for text that is no program; a register that is read before
    it is written; a part that reads a reduction that it adds to itself, which is whole only when
    the pass ends; a part that stores a vector twice, or has no result; a program that is too long.
    """
    names = _Names()
    parts: dict[str, list[tuple[_Word, Instruction]]] = {}
    part: list[tuple[_Word, Instruction]] | None = None
    for line in _lines(text):
        if line[0].text.removesuffix(":") in PARTS and len(line) == 1:
            part = _begin(line[0], parts)
        elif line[0].text in _DECLARED and (line[0].text != "reduce" or part is None):
            if part is not None:
                raise line[0].refuse("declarations must stand before the parts")
            _declare(line, names)
        elif part is None:
            raise line[0].refuse(
                f"{line[0].text!r} must be scalar, vector, matrix, reduce, e1: or e2:"
            )
        else:
            part.append((line[0], _instruction(line, names)))
    for name, content in parts.items():
        _check_part(name, content, names)
    found = {name: tuple(one for _, one in content) for name, content in parts.items()}
    program = Program(
        scalars=tuple(names.scalars),
        vectors=tuple(names.lists["vector"]),
        matrices=tuple(names.lists["matrix"]),
        **found,
    )
    if words is not None and program.words > words:
        raise AssemblyError(
            0, 0, f"the program must have at most {words} words, not {program.words}"
        )
    return program


def _lines(text: str) -> Iterator[list[_Word]]:
    """Splits the lines that are not empty into words; commas are no words, but each must follow an
    operand."""
    for number, line in enumerate(text.splitlines(), 1):
        found = [
            _Word(match.group(), number, match.start() + 1)
            for match in re.finditer(r"[^\s,]+|,", line.partition("#")[0])
        ]
        if not found:
            continue
        operands = found[1:]
        for place, word in enumerate(operands):
            if (word.text == ",") != (place % 2 == 1) and found[0].text not in _DECLARED:
                raise word.refuse(f"operands must have a comma between them, not {word.text!r}")
        if found[-1].text == ",":
            raise found[-1].refuse("an operand must follow the last comma")
        yield [word for word in found if word.text != ","]


def _begin(
    word: _Word, parts: dict[str, list[tuple[_Word, Instruction]]]
) -> list[tuple[_Word, Instruction]]:
    name = word.text.removesuffix(":")
    if not word.text.endswith(":"):
        raise word.refuse(f"a part begins with {name}:, not {name}")
    if name in parts:
        raise word.refuse(f"{name} must be there once")
    return parts.setdefault(name, [])


def _declare(line: list[_Word], names: _Names) -> None:
    kind = line[0].text
    if len(line) < 2:
        raise line[0].refuse(f"{kind} must be followed by a name")
    name = line[1]
    if not _NAME.fullmatch(name.text) or name.text in _WORDS or _REGISTER.fullmatch(name.text):
        raise name.refuse(
            f"a name must be letters, digits and _, and no word of the language, not {name.text!r}"
        )
    if names.known(name.text):
        raise name.refuse(f"{name.text!r} must be declared once")
    rest = line[2:]
    if kind == "scalar":
        if rest and (rest[0].text != "=" or len(rest) != 2 or not _NUMBER.fullmatch(rest[1].text)):
            raise rest[-1].refuse(
                f"scalar {name.text} must be followed by nothing, or by = and a number, not by "
                f"{rest[-1].text!r}"
            )
        names.add(name, Scalar(name=name.text, value=float(rest[1].text) if rest else None))
    elif kind == "reduce":
        if len(rest) != 1 or rest[0].text not in _KINDS:
            at = rest[-1] if rest else name
            found = f", not by {rest[-1].text!r}" if rest else ""
            kinds = ", ".join(_KINDS)
            raise at.refuse(f"reduce {name.text} must be followed by one of {kinds}{found}")
        names.add(name, Scalar(name=name.text, reduction=f"r{rest[0].text}"))
    else:
        if rest:
            raise rest[0].refuse(
                f"{kind} {name.text} must be followed by nothing, not {rest[0].text!r}"
            )
        most = {"vector": VECTORS, "matrix": MATRICES}[kind]
        if len(names.lists[kind]) == most:
            raise name.refuse(
                f"at most {most} of kind {kind} may be declared; {name.text!r} is one more"
            )
        names.lists[kind].append(name.text)


def _instruction(line: list[_Word], names: _Names) -> Instruction:
    first, operands = line[0], line[1:]
    if first.text == "reduce":
        return _reduce(first, operands, names)
    operation = _WRITTEN.get(first.text)
    if operation is None:
        raise first.refuse(f"{first.text!r} must be one of {', '.join([*_WRITTEN, 'reduce'])}")
    _count(first, operands, len(operation.operands))
    numbers = [
        _operand(kind, word, names) for kind, word in zip(operation.operands, operands, strict=True)
    ]
    return Instruction(operation=operation, operands=tuple(numbers))


def _reduce(first: _Word, operands: list[_Word], names: _Names) -> Instruction:
    _count(first, operands, 2)
    number = names.scalar(operands[0].text)
    if number is None or not names.scalars[number].reduction:
        raise operands[0].refuse(f"{operands[0].text!r} must be a reduction that is declared")
    operation: Operation = INSTRUCTIONS[names.scalars[number].reduction]
    return Instruction(operation=operation, operands=(number, _operand("a", operands[1], names)))


def _count(first: _Word, operands: list[_Word], wanted: int) -> None:
    if len(operands) != wanted:
        at = operands[wanted] if len(operands) > wanted else first
        raise at.refuse(f"{first.text} must have {wanted} operands, not {len(operands)}")


def _operand(kind: str, word: _Word, names: _Names) -> int:
    """The number of an operand."""
    text = "r0" if word.text == "y" else word.text
    wrong = word.refuse(f"{word.text!r} must be {_ROLES[kind]}")
    if kind in "vm":
        known = names.lists["vector" if kind == "v" else "matrix"]
        if text not in known:
            raise wrong
        return known.index(text)
    if match := _REGISTER.fullmatch(text):
        if int(match[1]) >= REGISTERS:
            raise word.refuse(f"a register must be r0 to r{REGISTERS - 1}, not {word.text}")
        return int(match[1])
    if kind == "d":
        raise wrong
    if _NUMBER.fullmatch(text):
        return scalar_operand(names.constant(word))
    number = names.scalar(text)
    if number is None:
        raise wrong
    return scalar_operand(number)


def _check_part(name: str, content: list[tuple[_Word, Instruction]], names: _Names) -> None:
    """Checks the rules of a part that involve several instructions."""
    written = {0}
    stored: set[int] = set()
    reduced = {number for _, one in content for number in one.of("s")}
    outs = 0
    for word, one in content:
        for register in one.reads:
            if register not in written:
                raise word.refuse(f"{word.text} reads r{register}, which was not written before")
        if own := reduced.intersection(one.scalars):
            raise word.refuse(
                f"{word.text} reads {names.scalars[min(own)].name}, to which {name} adds: it is "
                "whole only when the pass ends"
            )
        stores = set(one.of("v")) if one.operation.name == "store" else set()
        if stores & stored:
            raise word.refuse(f"{name} must store {names.lists['vector'][min(stores)]} once")
        stored |= stores
        written |= set(one.of("d"))
        outs += one.operation.name == "out"
        if outs > 1:
            raise word.refuse(f"{name} must give its result once")
    if content and not outs:
        raise content[-1][0].refuse(f"{name} must give a result: out")


def disassemble(program: Program) -> str:
    """The text of a program; it assembles to the same words."""
    lines = []
    for one in program.scalars:
        if one.reduction:
            lines.append(f"reduce {one.name} {one.reduction.removeprefix('r')}")
        elif one.name:
            lines.append(f"scalar {one.name}" + ("" if one.value is None else f" = {one.value!r}"))
    lines += [f"vector {name}" for name in program.vectors]
    lines += [f"matrix {name}" for name in program.matrices]
    for part in PARTS:
        if program.part(part):
            lines += ["", f"{part}:", *(f"    {_text(one, program)}" for one in program.part(part))]
    return "\n".join(lines) + "\n"


def _text(one: Instruction, program: Program) -> str:
    def operand(kind: str, number: int) -> str:
        if kind == "v":
            return program.vectors[number]
        if kind == "m":
            return program.matrices[number]
        if kind != "s" and number < REGISTERS:
            return f"r{number}"
        scalar = program.scalars[number if kind == "s" else number - scalar_operand(0)]
        return scalar.name or repr(scalar.value)

    pairs = zip(one.operation.operands, one.operands, strict=True)
    name = "reduce" if "s" in one.operation.operands else one.operation.name
    return f"{name} {', '.join(operand(kind, number) for kind, number in pairs)}"
