"""The programs of computations on graphs, for the element-wise core.

E1 and E2 are the same iteration: E1 reads what E2 left of the pass before, E2 what E1 left. Each
half is written once, with ``@`` for its own number and ``%`` for the other's; ``before`` is the
vector that has its operand, ``after`` the one that its result is stored to.
"""

from __future__ import annotations

from ....hw.spec.elementwise.assembler import assemble
from ....hw.spec.elementwise.program import Program

__all__ = ["CORENESS", "LABELS", "PAGERANK", "PATHS", "PIPELINED", "REACH", "halves"]


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
