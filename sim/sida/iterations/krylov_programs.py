"""Programs of jobs that make an orthonormal basis of a Krylov space, two vectors at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ....hw.spec.elementwise.instructions import SCALARS, VECTORS
from ....hw.spec.elementwise.program import Program
from .jobs import together

__all__ = ["clean", "krylov_programs", "most_at_once"]

_OTHERS = 2
"""Vectors, beside those of the basis, that a program declares at most."""

_DECLARED = """
scalar shift                # what z has of its own operand, with the other sign
scalar scale                # what a vector is multiplied by
reduce left_1 sum           # the square of what is left of a vector
reduce left_2 sum
"""

_PROGRAMS = {
    "images": """
vector operand
vector first
vector second
e1:
    store first, y
    load r1, operand
    fma r1, shift, r1, y
    out r1
e2:
    store second, y
    out y
""",
    "residual": """
vector right
vector residual
e1:
    load r1, right
    sub r1, r1, y
    store residual, r1
    mul r2, r1, r1
    reduce left_1, r2
    out r1
""",
    "scale": """
vector given
vector unit
e1:
    load r1, given
    mul r1, scale, r1
    store unit, r1
    out r1
""",
    "pair": """
vector given
vector unit
vector other
e1:
    load r1, given
    mul r1, scale, r1
    store unit, r1
    load r2, other
    mul r2, r1, r2
    neg r2, r2
    reduce of_1_1, r2
    out r1
e2:
    load r1, unit
    load r2, other
    fma r2, of_1_1, r1, r2
    store other, r2
    mul r1, r2, r2
    reduce left_1, r1
    out r2
""",
}


def clean(targets: int, count: int) -> str:
    """Name of the program that orthogonalises so many vectors against so many others."""
    return f"clean {targets} of {count}"


def most_at_once(words: int) -> int:
    """Vectors of the basis that a job may go over, with an instruction memory of so many words."""
    # A program has eight words per vector, and 16 more.
    scalars = (SCALARS - _DECLARED.strip().count("\n") - 1) // 2
    return max(1, min((words - 16) // 8, scalars, VECTORS - _OTHERS))


def krylov_programs(most: int) -> dict[str, Program]:
    """Assembles all programs. Those over the basis process up to ``most`` of its vectors at a time.

    * *images* goes over the matrix twice: ``first`` is the operand's image, ``second`` that of it
      and ``shift`` times the operand; or, without a second product, once;
    * *residual* goes over it once: ``right`` less the operand's image;
    * *clean* has ``basis_1``, ..., and ``target_1``, ``target_2``, from which it takes what they
      have of the basis, all at once; minus that is in ``of_1_1``, ..., by target and vector, the
      squares of what is left in ``left_1`` and ``left_2``;
    * *scale* gives ``scale`` times a vector; *pair* also takes from another what that has of it;
    * *add* adds to ``sum_so_far`` the vectors ``basis_1``, ... times ``of_1_1``, ...
    """
    sums = "\n".join(f"reduce of_{t}_{n} sum" for t in (1, 2) for n in range(1, most + 1))
    parts = dict(_PROGRAMS)
    for count in range(1, most + 1):
        parts[f"add {count}"] = _add(count)
        for targets in (1, 2):
            parts[clean(targets, count)] = _clean(range(1, targets + 1), range(1, count + 1))
    return together(_DECLARED + sums, parts)


def _clean(targets: Sequence[int], basis: Sequence[int]) -> str:
    lines = [f"vector target_{t}" for t in targets] + [f"vector basis_{n}" for n in basis]
    lines.append("e1:")
    for t in targets:
        lines += [f"load r{t}, target_{t}", f"neg r{t}, r{t}"]
    for n in basis:
        lines.append(f"load r3, basis_{n}")
        for t in targets:
            lines += [f"mul r4, r3, r{t}", f"reduce of_{t}_{n}, r4"]
    lines += ["out r1", "e2:", *(f"load r{t}, target_{t}" for t in targets)]
    for n in basis:
        lines.append(f"load r3, basis_{n}")
        lines += [f"fma r{t}, of_{t}_{n}, r3, r{t}" for t in targets]
    for t in targets:
        lines += [f"store target_{t}, r{t}", f"mul r3, r{t}, r{t}", f"reduce left_{t}, r3"]
    return "\n".join([*lines, "out r1"])


def _add(count: int) -> str:
    numbers = range(1, count + 1)
    lines = ["vector sum_so_far", *(f"vector basis_{n}" for n in numbers), "e1:"]
    lines.append("load r1, sum_so_far")
    for n in numbers:
        lines += [f"load r2, basis_{n}", f"fma r1, of_1_{n}, r2, r1"]
    return "\n".join([*lines, "store sum_so_far, r1", "out r1"])
