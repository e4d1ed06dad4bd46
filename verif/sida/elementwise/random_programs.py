"""Programs of random instructions, and values for them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from tilewright.hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    REGISTERS,
    Instruction,
    Operation,
    scalar_operand,
)
from tilewright.hw.spec.elementwise.program import Program, Scalar
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.sim.numbers.values import Patterns
from tilewright.verif.oracles import stimuli

_GIVEN = 6
_KINDS = ("rsum", "rmin", "rmax", "ror")
_ITERATIVE = ("div", "sqrt")


def random_program(seed: int, fmt: Format, length: int) -> Program:
    """Two parts, each of so many instructions and a result: any but dot, with any operands that
    have been written; now and then quotients and roots, if the format has them; loads and stores
    of three vectors; reductions of four scalars, several into one, too, and now and then of
    different kinds."""
    draw = random.Random(seed)
    scalars = [Scalar(name=f"s{n}") for n in range(_GIVEN)]
    scalars += [Scalar(name=kind, reduction=kind) for kind in _KINDS]
    parts = [_part(draw, fmt, length) for _ in range(2)]
    return Program(
        scalars=tuple(scalars), vectors=("u", "v", "w"), e1=tuple(parts[0]), e2=tuple(parts[1])
    )


def _part(draw: random.Random, fmt: Format, length: int) -> list[Instruction]:
    written = [0]
    found = []
    out = draw.randrange(length)
    names = [
        name for name, one in INSTRUCTIONS.items() if name not in ("end", "out", "dot", *_ITERATIVE)
    ]
    for place in range(length):
        operation: Operation = INSTRUCTIONS[draw.choice([*names, "load", "store"])]
        if isinstance(fmt, FloatFormat) and draw.random() < 0.04:
            operation = INSTRUCTIONS[draw.choice(_ITERATIVE)]
        found.append(_instruction(draw, operation, written))
        if place == out:
            found.append(_instruction(draw, INSTRUCTIONS["out"], written))
    return found


def _instruction(draw: random.Random, operation: Operation, written: list[int]) -> Instruction:
    operands = []
    # Quotients and roots of scalars alone are kept from row to row.
    often = 0.7 if operation.name in _ITERATIVE and draw.random() < 0.5 else 0.2
    for kind in operation.operands:
        if kind == "s":
            mixed = draw.random() < 0.1
            kind_of = draw.choice(_KINDS) if mixed else operation.name
            operands.append(_GIVEN + _KINDS.index(kind_of))
        elif kind == "v":
            operands.append(draw.randrange(3))
        elif kind == "d":
            operands.append(draw.randrange(REGISTERS))
        elif draw.random() < often:
            operands.append(scalar_operand(draw.randrange(_GIVEN)))
        else:
            operands.append(draw.choice(written[-4:] if draw.random() < 0.7 else written))
    found = Instruction(operation=operation, operands=tuple(operands))
    written += found.of("d")
    return found


def random_values(rng: np.random.Generator, fmt: Format, size: int) -> Patterns:
    """Draws values, mostly small and sometimes special."""
    if not isinstance(fmt, FloatFormat):
        near = rng.integers(-4, 5, size)
        wide = rng.integers(-(1 << fmt.bits - 1), 1 << fmt.bits - 1, size)
        mixed: Any = np.where(rng.random(size) < 0.5, near, wide)
        return mixed.astype(np.int64).view(np.uint64) & np.uint64((1 << fmt.bits) - 1)
    found = stimuli.values(rng, "uniform", (size,), fmt)
    for kind in stimuli.VALUE_KINDS:
        other = stimuli.values(rng, kind, (size,), fmt)
        found = np.where(rng.random(size) < 0.05, other, found)
    return np.where(rng.random(size) < 0.05, rng.choice(stimuli.special_values(fmt), size), found)
