"""Functions of words before and after sums, and what sums start from: after every pass a program
computes what NumPy does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.passes import compiled, programs
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.any_bounds import DependsOnBounds, depths_for_any_bounds
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.depths import run_empty
from tilewright.sim.t2s.interpreter import interpret
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

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
C.forward(feed_u, ii=-1)
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
"""Definitions with mappings, and what NumPy makes of A, B, T and U."""


def loaded(kind: str, folder: Path) -> Path:
    file = folder / "mine.py"
    file.write_text(HEAD + KINDS[kind][0])
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_passes(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a, b, t, u = (rng.integers(-9, 10, shape) for shape in ((7, 9), (9, 8), (7, 8), (8,)))
    wanted = KINDS[kind][1](a, b, t, u)
    given = {"A": a, "B": b, "T": t, "U": u}
    bounds = {"i": 7, "j": 8, "k": 9}
    for name, program in programs(load_mapping(loaded(kind, tmp_path))):
        operands = {
            one.name: given[one.name].astype(object) for one in program.tensors if one.name in given
        }
        assert np.array_equal(interpret(program, bounds, operands), wanted), name
    assert np.array_equal(definition_result(program, bounds, operands), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_depths(kind: str, tmp_path: Path) -> None:
    program = compiled(load_mapping(loaded(kind, tmp_path)))
    depths = depths_for_any_bounds(program)
    run_empty(program, {"i": 9, "j": 13, "k": 9}, depths)


def test_random_mappings() -> None:
    """Of initial values with feeders and loaders of all kinds, and of functions."""
    started = applied = ended = 0
    for kernel in KERNELS:
        for seed in range(by_size(4, 12, 90)):
            rng = np.random.default_rng([seed, 7, *map(ord, kernel)])
            try:
                computation = random_mapping(kernel, rng, np.random.default_rng(seed))
                found = list(programs(computation))
            except MappingError:
                continue
            ended += 1
            started += computation.started is not None
            applied += bool(computation.applied)
            plain = found[0][1]
            bounds = {name: int(rng.integers(1, 5)) for name in plain.indices}
            operands = random_operands(plain, bounds, seed)
            wanted = definition_result(plain, bounds, operands)
            for name, program in found:
                assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)
            mapped = dict(found)[passes.MAPPED]
            try:
                run_empty(mapped, bounds, depths_for_any_bounds(mapped))
            except DependsOnBounds as told:
                assert "words stay in" in str(told) or "another order" in str(told)  # noqa: PT017
    assert min(started, applied) > 6
    assert ended > 12


@pytest.mark.parametrize(
    ("kind", "told"),
    {
        "operands": "C has no hardware yet: it has function relu",
        "results": "C has no hardware yet: it has function negate",
    }.items(),
)
def test_no_hardware_yet(kind: str, told: str, tmp_path: Path) -> None:
    file = str(loaded(kind, tmp_path))
    with pytest.raises(ValueError, match=f"^{told}$"):
        T2sConfig(design=file)


def test_a_loop_that_initial_values_do_not_have(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    lines = HEAD + KINDS["start"][0] + "load_t.remove(k)\n"
    file.write_text(lines)
    with pytest.raises(MappingError) as told:
        compiled(load_mapping(file))
    assert str(told.value) == f"mine.py:{lines.count(chr(10))}: T_loader.remove: it has no loop `k`"
