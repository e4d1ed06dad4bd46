"""The instructions of the element-wise core, and their words.

A program runs on every element of a vector; ``y`` is what the product gave it. It computes in
registers, may use scalars, which are the same for all elements, loads and stores elements of
vectors in memory, and gives one result (``out``). Scalars are constants, given with the job, or
*reductions*: sums, minima, maxima or disjunctions over all elements, whole when the pass ends.

Source: Exploiting data reuse with inter-operator dataflow, the E-Wise core, which leaves the
instructions open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "INSTRUCTIONS",
    "MATRICES",
    "REDUCTIONS",
    "REGISTERS",
    "SCALARS",
    "VECTORS",
    "WORD_BITS",
    "Instruction",
    "Operation",
    "decode",
    "encode",
    "scalar_operand",
]

REGISTERS = 16
"""Registers; the first one has y when the program begins."""
SCALARS = 32
VECTORS = 16
MATRICES = 4
WORD_BITS = 32

_FIELD_BITS = 6
_SCALAR = 32
"""Scalars are numbered from here on where a register could be, too."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An instruction's kind.

    Parameters
    ----------
    name: as it is written
    opcode: of its word
    operands: what stands behind it, in order: "d" a register that is written, "a", "b", "c" a
        register or a scalar that is read, "v" a vector, "m" a matrix, "s" a reduction
    doc: what it does
    floats: whether only formats of floats have it
    """

    name: str
    opcode: int
    operands: str
    doc: str
    floats: bool = False


def _table(*rows: tuple[str, str, str]) -> dict[str, Operation]:
    return {
        name: Operation(
            name=name, opcode=opcode, operands=operands, doc=doc, floats=name in _FLOATS
        )
        for opcode, (name, operands, doc) in enumerate(rows)
    }


_FLOATS = frozenset(["div", "sqrt"])

INSTRUCTIONS = _table(
    ("end", "", "end of the program; the assembler writes it after the last instruction"),
    ("move", "da", "d = a"),
    ("load", "dv", "d = this element of the vector"),
    ("store", "va", "this element of the vector = a, in memory"),
    ("out", "a", "the element's result is a"),
    ("add", "dab", "d = a + b"),
    ("sub", "dab", "d = a - b"),
    ("mul", "dab", "d = a * b"),
    ("fma", "dabc", "d = a * b + c, rounded once"),
    ("div", "dab", "d = a / b"),
    ("sqrt", "da", "d = the square root of a"),
    ("min", "dab", "d = the lesser one; a NaN wins, -0 is less than +0"),
    ("max", "dab", "d = the greater one, by the same rule"),
    ("abs", "da", "d = a without its sign"),
    ("neg", "da", "d = a with the other sign"),
    ("relu", "da", "d = the greater one of a and +0"),
    ("equal", "dab", "d = 1 if a = b, else 0; so with all comparisons; NaN is neither"),
    ("less", "dab", "d = 1 if a < b, else 0"),
    ("atmost", "dab", "d = 1 if a <= b, else 0"),
    ("and", "dab", "d = 1 if neither a nor b is 0, else 0"),
    ("or", "dab", "d = 1 if a or b is not 0, else 0"),
    ("not", "da", "d = 1 if a is 0, else 0"),
    ("select", "dabc", "d = b if a is not 0, else c"),
    ("dot", "dam", "d of feature f = sum over g of a of feature g * M[g, f], ascending g"),
    ("rsum", "sa", "the reduction adds a"),
    ("rmin", "sa", "the reduction's minimum, with a"),
    ("rmax", "sa", "the reduction's maximum, with a"),
    ("ror", "sa", "the reduction is 1 if a is not 0"),
)
"""Instructions by name, in the order of opcodes."""

REDUCTIONS = {"rsum": "0", "rmin": "+inf", "rmax": "-inf", "ror": "0"}
"""Instructions that reduce, and the constant of a format that each begins with."""

_BY_OPCODE = {one.opcode: one for one in INSTRUCTIONS.values()}
_PLACES = {"d": 0, "v": 3, "s": 0, "m": 2, "a": 1, "b": 2, "c": 3}
"""The field of the word that each kind of operand is in."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction.

    Parameters
    ----------
    operation: its kind
    operands: of each of its operands the number: registers from 0, scalars from ``SCALARS`` on
        where a register could be; vectors, matrices and reductions from 0

    Raises
    ------
    ValueError if an operand is not what it may be.
    """

    operation: Operation
    operands: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        kinds = self.operation.operands
        if len(self.operands) != len(kinds):
            raise ValueError(
                f"`operands` of {self.operation.name} must be {len(kinds)}, "
                f"not {len(self.operands)}"
            )
        for kind, number in zip(kinds, self.operands, strict=True):
            limit = _limit(kind)
            if not 0 <= number < limit or (kind in "abc" and REGISTERS <= number < _SCALAR):
                raise ValueError(
                    f"`operands` of {self.operation.name} must be below {limit} in place of "
                    f"{kind}, not {number}"
                )

    def of(self, kinds: str) -> tuple[int, ...]:
        """Its operands of these kinds, in order."""
        pairs = zip(self.operation.operands, self.operands, strict=True)
        return tuple(number for kind, number in pairs if kind in kinds)

    @property
    def reads(self) -> tuple[int, ...]:
        """Registers that it reads."""
        return tuple(number for number in self.of("abc") if number < REGISTERS)

    @property
    def scalars(self) -> tuple[int, ...]:
        """Scalars that it reads."""
        return tuple(number - _SCALAR for number in self.of("abc") if number >= _SCALAR)


def _limit(kind: str) -> int:
    limits = {"d": REGISTERS, "v": VECTORS, "m": MATRICES, "s": SCALARS}
    return limits.get(kind, _SCALAR + SCALARS)


def scalar_operand(number: int) -> int:
    """Returns the operand number of a scalar, in the place of a register."""
    return _SCALAR + number


def encode(program: Sequence[Instruction]) -> list[int]:
    """The words of a program: opcode in the low 6 bits, then d or s, a, b or m, c or v."""
    words = []
    for instruction in program:
        word = instruction.operation.opcode
        pairs = zip(instruction.operation.operands, instruction.operands, strict=True)
        for kind, number in pairs:
            word |= number << _FIELD_BITS * (1 + _PLACES[kind])
        words.append(word)
    return words


def decode(words: Sequence[int]) -> list[Instruction]:
    """The program of its words.

    Raises ValueError for a word that is no instruction's.
    """
    program = []
    for place, word in enumerate(words):
        operation = _BY_OPCODE.get(word & (1 << _FIELD_BITS) - 1)
        if operation is None:
            raise ValueError(
                f"word {place}, {word:#010x}, must begin with the opcode of a known one"
            )
        operands = tuple(
            word >> _FIELD_BITS * (1 + _PLACES[kind]) & (1 << _FIELD_BITS) - 1
            for kind in operation.operands
        )
        found = Instruction(operation=operation, operands=operands)
        if encode([found]) != [word]:
            raise ValueError(
                f"word {place}, {word:#010x}, must be 0 where {operation.name} has no operand"
            )
        program.append(found)
    return program
