"""The programs of computations on graphs, for the element-wise core.

E1 and E2 are the same iteration: E1 reads what E2 left of the pass before, E2 what E1 left. Each
half is written once, with ``@`` for its own number and ``%`` for the other's; ``before`` is the
vector that has its operand, ``after`` the one that its result is stored to.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....hw.spec.elementwise.assembler import assemble
from ....hw.spec.elementwise.instructions import SCALARS, VECTORS
from ....hw.spec.elementwise.program import Program
from .jobs import together

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


def halves(declared: str, body: str) -> Program:
    """The program of an iteration; vectors x and z are declared."""
    parts = []
    for own, other, before, after in (("1", "2", "x", "z"), ("2", "1", "z", "x")):
        text = body.replace("@", own).replace("%", other)
        text = text.replace("before", before).replace("after", after)
        parts.append(f"e{own}:\n{text}")
    twice = [
        line.replace("@", own) for line in declared.splitlines() if "@" in line for own in "12"
    ]
    once = [line for line in declared.splitlines() if "@" not in line]
    return assemble("\n".join([*once, *twice, "vector x", "vector z", *parts]))


PAGERANK = halves(
    """
scalar alpha
scalar share                # alpha over the number of vertices
scalar teleport             # 1 - alpha over it
vector dangling             # 1 where no edge goes out
reduce lost_@ sum           # what dangling vertices had
reduce moved_@ sum
""",
    """
    fma r1, lost_%, share, teleport
    fma r1, y, alpha, r1
    load r2, dangling
    mul r2, r1, r2
    reduce lost_@, r2
    load r3, before
    sub r3, r1, r3
    abs r3, r3
    reduce moved_@, r3
    store after, r1
    out r1
""",
)
"""Ranks; what vertices without edges had is spread evenly."""

REACH = halves(
    """
vector level                # iterations in which the vertex was not reached
reduce grown_@ or
""",
    """
    load r1, before
    or r2, y, r1
    not r3, r1
    and r3, r2, r3
    reduce grown_@, r3
    not r3, r2
    load r4, level
    add r4, r4, r3
    store level, r4
    store after, r2
    out r2
""",
)
"""Vertices that are reached, and after how many steps."""

PATHS = halves(
    """
reduce shorter_@ or
""",
    """
    load r1, before
    min r2, y, r1
    less r3, r2, r1
    reduce shorter_@, r3
    store after, r2
    out r2
""",
)
"""Lengths of shortest paths, over (min, +)."""

CORENESS = halves(
    """
vector core
reduce k_@ max              # the core that is looked for
reduce removed_@ or
reduce left_@ sum
""",
    """
    not r1, removed_%       # nothing left in the iteration before: the next core
    add r1, k_%, r1
    reduce k_@, r1
    load r2, before
    atmost r3, r1, y
    and r3, r2, r3
    reduce left_@, r3
    not r4, r3
    and r4, r2, r4
    reduce removed_@, r4
    sub r1, r1, 1
    load r5, core
    select r5, r4, r1, r5
    store core, r5
    store after, r3
    out r3
""",
)
"""Core numbers: of what is left, vertices with fewer than k neighbours go; when none goes, k is one
more."""

LABELS = halves(
    """
vector known                # 1 where the value is given, and stays
reduce moved_@ sum
""",
    """
    load r1, known
    load r2, before
    select r1, r1, r2, y
    sub r3, r1, r2
    abs r3, r3
    reduce moved_@, r3
    store after, r1
    out r1
""",
)
"""Values of vertices as the means of their neighbours', but for those that are given."""

PIPELINED = halves(
    """
vector image                # of the image of the direction
vector direction_image
vector direction
vector residual
vector residual_image
reduce used_@ max           # the squared residual that the step before began with
reduce step_@ max           # how far it went
reduce square_@ sum         # of the residual
reduce curve_@ sum          # of the residual and its image
""",
    """
    div r1, square_%, used_%
    reduce used_@, square_%
    div r2, square_%, step_%
    mul r2, r1, r2
    sub r2, curve_%, r2
    div r2, square_%, r2
    reduce step_@, r2
    load r3, image
    fma r3, r1, r3, y
    store image, r3
    load r4, residual_image
    load r5, direction_image
    fma r5, r1, r5, r4
    store direction_image, r5
    load r6, residual
    load r7, direction
    fma r7, r1, r7, r6
    store direction, r7
    load r8, before
    fma r8, r2, r7, r8
    store after, r8
    neg r2, r2
    fma r6, r2, r5, r6
    store residual, r6
    fma r4, r2, r3, r4
    store residual_image, r4
    mul r9, r6, r6
    reduce square_@, r9
    mul r9, r4, r6
    reduce curve_@, r9
    out r4
""",
)
"""Conjugate gradients whose step lengths follow from sums of the iteration before, so that two fit
a pass: x is the image of the residual, z and x have the solution.

Source: Ghysels and Vanroose, Hiding global synchronization latency in the preconditioned conjugate
gradient algorithm (2014), without a preconditioner."""
