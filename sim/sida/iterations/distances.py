"""Distances between points that a pass of k-means++ can take: a semiring and a program each."""

from __future__ import annotations

from ....hw.spec.elementwise.assembler import assemble

_EUCLIDEAN = assemble("""
vector square               # of each point
vector nearest              # squared distance to the nearest seed
reduce norm sum             # the new seed's square
reduce total sum
e1:
    mul r1, y, y
    reduce norm, r1
    out y
e2:
    load r1, square
    add r1, norm, r1
    fma r1, y, -2, r1
    max r1, r1, 0
    load r2, nearest
    min r1, r1, r2
    reduce total, r1
    store nearest, r1
    out r1
""")
_STORED = assemble("""
vector nearest
reduce total sum
e1:
    out y
e2:
    load r1, nearest
    min r1, y, r1
    reduce total, r1
    store nearest, r1
    out r1
""")

DISTANCES = {"euclidean": ("mma", _EUCLIDEAN), "stored": ("addnorm", _STORED)}
"""The second product's semiring, and the program: of squared Euclidean distances, and of those over
the coordinates that a point stores alone, by add-norm, as the paper has it."""
