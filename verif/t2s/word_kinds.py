"""Mappings with functions of words and initial values, and their results in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HEAD = """\
from tilewright.hw.t2s.language import absolute, compute, indices, negate, relu, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
T, U = tensor("T", "fp32", i, j), tensor("U", "fp32", j)
"""
MAPPED = """\
C.tile(i, (ii, 2), (iii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 4))
C.order(i, j, k, ii, jj, iii, jjj, kk).unroll(ii, jj).vectorise(kk)
feed_a, load_a = C.producers(A, "feeder", "loader")
feed_b, load_b = C.producers(B, "feeder", "loader")
C.forward(feed_a, jj=1).forward(feed_b, ii=1)
load_a.remove(jjj, jj)
feed_a.buffer(k, double=True).unroll(ii).scatter(ii=1)
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
drain.unroll(ii, jj).gather(ii=-1)
"""
STARTED = """\
feed_t, load_t, serialize_t = C.producers(T, "feeder", "loader", "serializer")
feed_t.unroll(ii).scatter(ii=1)
"""
BIASED = """\
feed_u, load_u, serialize_u = C.producers(U, "feeder", "loader", "serializer")
C.forward(feed_u, ii=1)
load_u.remove(iii), serialize_u.remove(i)
feed_u.buffer(jj).unroll(jj)
"""

PLAIN = 'C = compute("C", "fp32", i, j, sum_over=k'
KINDS = {
    "operands": (
        f"{PLAIN})[relu(A[i, k]) * negate(absolute(B[k, j]))]\n" + MAPPED,
        lambda a, b, t, u: np.maximum(a, 0) @ -np.abs(b),
    ),
    "results": (
        f"{PLAIN})[A[i, k] * B[k, j]].then(negate, relu)\n" + MAPPED,
        lambda a, b, t, u: np.maximum(-(a @ b), 0),
    ),
    "start": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(T[i, j])\n{MAPPED}{STARTED}",
        lambda a, b, t, u: t + a @ b,
    ),
    "bias": (
        f"{PLAIN})[A[i, k] * relu(B[k, j])].start(negate(U[j])).then(relu)\n{MAPPED}{BIASED}",
        lambda a, b, t, u: np.maximum(a @ np.maximum(b, 0) - u, 0),
    ),
    "three lines": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(T[i, j]).then(absolute)\n",
        lambda a, b, t, u: np.abs(t + a @ b),
    ),
    "minplus": (
        f'{PLAIN}, semiring="minplus")[negate(A[i, k]) * B[k, j]].start(T[i, j])\n' + MAPPED,
        lambda a, b, t, u: np.minimum(t, (-a[:, :, None] + b[None]).min(axis=1)),
    ),
    "sums of vectors": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(U[j]).then(relu)\n"
        "C.tile(j, (jj, 4)).order(i, j, k, jj).vectorise(jj)\n",
        lambda a, b, t, u: np.maximum(u + a @ b, 0),
    ),
    "factored": (
        f"{PLAIN})[absolute(U[j]) * A[i, k] * B[k, j]]\n"
        "C.tile(k, (kk, 4)).order(i, j, k, kk).vectorise(kk).factor(U)\n",
        lambda a, b, t, u: (a @ b) * np.abs(u),
    ),
}
"""Definitions with mappings, and their results from A, B, T and U in NumPy."""


def written(kind: str, folder: Path) -> Path:
    """The file of a kind."""
    file = folder / "mine.py"
    file.write_text(HEAD + KINDS[kind][0] + 'C.accumulate(stall="allowed")\n')
    return file
