"""The assembler: text to words and back, and its errors for wrong text."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.elementwise.assembler import AssemblyError, assemble, disassemble
from tilewright.hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    REDUCTIONS,
    REGISTERS,
    Instruction,
    decode,
    encode,
    scalar_operand,
)
from tilewright.hw.spec.elementwise.program import Program, Scalar, words_of
from tilewright.verif.kit.sampling import cases

pytestmark = pytest.mark.quick

TEXT = """
scalar damping = 0.85       # a constant
scalar base
vector degree
matrix weights
reduce residual sum

e1:
    load r1, degree
    fma r2, y, damping, base
    sub r3, r2, 1.5         # numbers may stand where they are used
    max r4, r3, 1.5
    reduce residual, r4
    dot r5, r4, weights
    store degree, r5
    out r2
e2:
    add r1, y, residual
    out r1
"""


def test_words() -> None:
    """The expected words are written by hand: opcode, then d, a, b, c with six bits each."""
    program = assemble(TEXT, words=12)
    damping, base, constant = (scalar_operand(number) for number in (0, 1, 3))
    op = {name: one.opcode for name, one in INSTRUCTIONS.items()}
    assert [one.name for one in program.scalars] == ["damping", "base", "residual", ""]
    assert program.scalars[3].value == 1.5
    assert program.scalars[2].reduction == "rsum"
    assert (program.vectors, program.matrices) == (("degree",), ("weights",))
    assert words_of(program.e1) == [
        op["load"] | 1 << 6,
        op["fma"] | 2 << 6 | 0 << 12 | damping << 18 | base << 24,
        op["sub"] | 3 << 6 | 2 << 12 | constant << 18,
        op["max"] | 4 << 6 | 3 << 12 | constant << 18,
        op["rsum"] | 2 << 6 | 4 << 12,
        op["dot"] | 5 << 6 | 4 << 12 | 0 << 18,
        op["store"] | 5 << 12 | 0 << 24,
        op["out"] | 2 << 12,
        0,
    ]
    assert program.words == 12
    assert program.reduced_in("e1") == (2,)
    assert program.reduced_in("e2") == ()


def _random(rng: np.random.Generator) -> Program:
    """A program of any instructions; every register is written first."""
    scalars = [
        Scalar(name="given"),
        Scalar(name="fixed", value=float(rng.normal())),
        *(Scalar(name=name.replace("r", "of_", 1), reduction=name) for name in REDUCTIONS),
    ]
    parts = []
    for part in range(2):
        found = [
            Instruction(operation=INSTRUCTIONS["move"], operands=(register, scalar_operand(part)))
            for register in range(1, REGISTERS)
        ]
        for name in rng.choice(list(INSTRUCTIONS), 20):
            one = INSTRUCTIONS[str(name)]
            if one.name in ("end", "out"):
                continue
            numbers = []
            for kind in one.operands:
                if kind == "s":
                    numbers.append([s.reduction for s in scalars].index(one.name))
                elif kind in "abc" and rng.random() < 0.3:
                    scalars.append(Scalar(value=float(len(scalars))))
                    numbers.append(scalar_operand(len(scalars) - 1))
                    if len(scalars) > 30:
                        numbers[-1] = scalar_operand(0)
                        scalars.pop()
                else:
                    numbers.append(int(rng.integers({"v": 2, "m": 1}.get(kind, REGISTERS))))
            made = Instruction(operation=one, operands=tuple(numbers))
            # A part stores a vector once.
            if one.name != "store" or made.of("v") not in [
                other.of("v") for other in found if other.operation is one
            ]:
                found.append(made)
        found.append(Instruction(operation=INSTRUCTIONS["out"], operands=(3,)))
        parts.append(tuple(found))
    return Program(
        scalars=tuple(scalars), vectors=("one", "two"), matrices=("m",), e1=parts[0], e2=parts[1]
    )


def test_there_and_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(cases(200)):
        program = _random(rng)
        assert assemble(disassemble(program)) == program
        for part in (program.e1, program.e2):
            assert decode(encode(part)) == list(part)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("e1:\n  ad r1, y, y\n  out r1", r"line 2, column 3: 'ad' must be one of move, load, .*"),
        ("e1:\n  end", r"line 2, column 3: 'end' must be one of move, .*, reduce"),
        ("e1:\n  add r1, y\n", "line 2, column 3: add must have 3 operands, not 2"),
        ("e1:\n  abs r1, y, y\n", "line 2, column 14: abs must have 2 operands, not 3"),
        ("e1:\n  add r16, y, y", "line 2, column 7: a register must be r0 to r15, not r16"),
        (
            "e1:\n  add r1 y, y",
            "line 2, column 10: operands must have a comma between them, not 'y'",
        ),
        ("e1:\n  add r1, y,", "line 2, column 12: an operand must follow the last comma"),
        ("e1:\n  add 1, y, y", "line 2, column 7: '1' must be a register"),
        ("e1:\n  add r1, y, x", "line 2, column 14: 'x' must be a register, a scalar or a number"),
        ("e1:\n  load r1, x", "line 2, column 12: 'x' must be a vector"),
        ("vector v\ne1:\n  dot r1, y, v", "line 3, column 14: 'v' must be a matrix"),
        ("e1:\n  reduce x, y", "line 2, column 10: 'x' must be a reduction that is declared"),
        ("scalar x\ne1:\n  reduce x, y", "line 3, column 10: 'x' must be a reduction .*"),
        ("e1:\n  abs r2, r1\n  out r2", "line 2, column 3: abs reads r1, which was not written .*"),
        ("e1:\n  abs r2, y", "line 2, column 3: e1 must give a result: out"),
        ("e1:\n  out y\n  out y", "line 3, column 3: e1 must give its result once"),
        (
            "vector v\ne1:\n  store v, y\n  store v, y\n  out y",
            "line 4, column 3: e1 must store v once",
        ),
        ("e1:\n  out y\ne1:\n  out y", "line 3, column 1: e1 must be there once"),
        ("e1\n  out y", "line 1, column 1: a part begins with e1:, not e1"),
        ("out y", r"line 1, column 1: 'out' must be scalar, vector, matrix, reduce, e1: or e2:"),
        ("e1:\n  out y\nscalar x", "line 3, column 1: declarations must stand before the parts"),
        ("scalar", "line 1, column 1: scalar must be followed by a name"),
        ("scalar r3", "line 1, column 8: a name must be letters, digits and _, .*, not 'r3'"),
        ("vector add", "line 1, column 8: a name must be letters, digits and _, .*, not 'add'"),
        ("vector x\nscalar x", "line 2, column 8: 'x' must be declared once"),
        (
            "scalar x = y",
            "line 1, column 12: scalar x must be .*, or by = and a number, not by 'y'",
        ),
        ("vector x y", "line 1, column 10: vector x must be followed by nothing, not 'y'"),
        ("reduce x", "line 1, column 8: reduce x must be followed by one of sum, min, max, or"),
        ("reduce x mean", "line 1, column 10: reduce x must .*, min, max, or, not by 'mean'"),
        (
            "reduce x sum\ne1:\n  reduce x, y\n  add r1, y, x\n  out r1",
            "line 4, column 3: add reads x, to which e1 adds: it is whole only when the pass ends",
        ),
        ("\n".join(f"vector v{n}" for n in range(17)), "line 17, column 8: at most 16 .*"),
        ("\n".join(f"scalar s{n}" for n in range(33)), "line 33, column 8: there may be 32 .*"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(AssemblyError, match=f"^{said}$"):
        assemble(text)


def test_a_reduction_of_the_other_part_may_be_read() -> None:
    program = assemble("reduce x sum\ne1:\n add r1, y, x\n out r1\ne2:\n reduce x, y\n out y")
    assert program.reduced_in("e2") == (0,)


def test_too_long() -> None:
    with pytest.raises(AssemblyError, match=r"^the program must have at most 11 words, not 12$"):
        assemble(TEXT, words=11)


def test_words_that_are_none() -> None:
    for word, said in ((63, "must begin with the opcode"), (1 << 30, "must be 0 where end has no")):
        with pytest.raises(ValueError, match=said):
            decode([word])
    with pytest.raises(
        ValueError, match="`operands` of move must be below 64 in place of a, not 64"
    ):
        Instruction(operation=INSTRUCTIONS["move"], operands=(0, 64))
    with pytest.raises(ValueError, match="`operands` of move must be 2, not 1"):
        Instruction(operation=INSTRUCTIONS["move"], operands=(0,))
    with pytest.raises(ValueError, match=r"`reduction` must be one of rsum, .*, not 'sum'"):
        Scalar(name="x", reduction="sum")
    with pytest.raises(ValueError, match="`value` of reduction x must be None, not 1"):
        Scalar(name="x", reduction="rsum", value=1.0)
