"""Indices that reach beyond their bounds, in tiles that these do not fill."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.passes import compiled, programs
from tilewright.hw.t2s.language import Computation, MappingError, compute, indices, tensor
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.depths import (
    DependsOnBounds,
    depths_for_any_bounds,
    needed_depths,
    run_empty,
)
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.interpreter import Deadlock, interpret
from tilewright.sim.t2s.model import T2sModel
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import DESIGNS, FOLDER, bounds_of
from tilewright.verif.t2s.random_mappings import HEAD, KERNELS, KINDS, random_mapping, written

_WINDOW = """
from tilewright.hw.t2s.language import compute, indices, tensor

n, r, h, nn, rr, rrr = indices("n r h nn rr rrr")
X = tensor("X", "int16", h)
Y = compute("Y", "int16", n, sum_over=r, semiring={semiring!r})[X[2 * n + r]]
Y.tile(n, (nn, 2)).tile(r, (rr, 2), (rrr, 2)).order(n, r, rr, nn, rrr).vectorise(rrr)
Y.accumulate(stall="allowed")
"""


@pytest.mark.parametrize(
    ("semiring", "reduced"), [("mma", np.sum), ("maxplus", np.max), ("minmax", np.min)]
)
def test_a_window_that_no_weight_ends(tmp_path: Path, semiring: str, reduced: np.ufunc) -> None:
    """Only X has r. Beyond the bound of r, X[2 n + r] may be a word."""
    file = tmp_path / "window.py"
    file.write_text(_WINDOW.format(semiring=semiring))
    words = np.random.default_rng(1).integers(-99, 100, 2 * 6 + 5)
    wanted = [reduced(words[2 * n : 2 * n + 5]) for n in range(7)]
    driver = Driver(T2sModel(T2sConfig(design=str(file))))
    assert driver.compute({"r": 5}, X=words).tolist() == wanted


def _distances(semiring: str) -> Computation:
    """A sum over r, which B does not have."""
    n, k, r, kk, rr = indices("n k r kk rr")
    a, b = tensor("A", "fp32", n, k, r), tensor("B", "fp32", n, k)
    done = compute("D", "fp32", n, sum_over=(k, r), semiring=semiring)[a[n, k, r] * b[n, k]]
    return done.tile(k, (kk, 3)).tile(r, (rr, 2)).order(n, k, r, kk, rr)


@pytest.mark.parametrize("semiring", ["addnorm", "minmul", "maxmul"])
def test_products_with_padding(semiring: str) -> None:
    found = [program for _, program in programs(_distances(semiring))]
    for bounds, fits in (({"n": 2, "k": 4, "r": 4}, True), ({"n": 2, "k": 4, "r": 3}, False)):
        operands = random_operands(found[0], bounds, seed=1)
        wanted = interpret(found[0], bounds, operands)
        for program in found[1:]:
            if fits:
                assert np.array_equal(interpret(program, bounds, operands), wanted)
                continue
            told = (
                f"bound of r must be a multiple of 2 on {semiring}, not 3: B does not have the "
                "index, and products of its words with padding would count"
            )
            with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
                interpret(program, bounds, operands)


def test_integers_have_no_infinity(tmp_path: Path) -> None:
    """An integer mapping on minplus cannot pad: 127 plus a word may be less than a sum."""
    file = tmp_path / "paths.py"
    file.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, k, l, ll = indices("i k l ll")\n'
        'A, B = tensor("A", "fp32", i, k, l), tensor("B", "fp32", i, k)\n'
        'D = compute("D", "fp32", i, sum_over=(k, l), semiring="minplus")[A[i, k, l] * B[i, k]]\n'
        'D.tile(l, (ll, 2)).accumulate(stall="allowed")\n'
    )
    left, right = np.full((1, 1, 3), 100), np.full((1, 1), -99)
    floats = Driver(T2sModel(T2sConfig(design=str(file))))
    assert floats.compute(A=left, B=right).tolist() == [1]
    integers = Driver(T2sModel(T2sConfig(design=str(file), format="int8")))
    with pytest.raises(ValueError, match=r"^bound of l must be a multiple of 2 on minplus, not"):
        integers.compute(A=left, B=right)


def test_more_loops_than_python_takes() -> None:
    """The mapping nests more loops than the twenty that Python accepts."""
    names = "abcdefg"
    i = dict(zip(names, indices(" ".join(names)), strict=True))
    left, right = tensor("L", "int8", *(i[n] for n in "abcde")), tensor("R", "int8", i["f"], i["g"])
    done = compute("D", "int8", i["a"], sum_over=tuple(i[n] for n in "bcdefg"))[
        left[tuple(i[n] for n in "abcde")] * right[i["f"], i["g"]]
    ]
    for name in names:
        done.tile(i[name], *((one, 1) for one in indices(f"{name}2 {name}3 {name}4")))
    bounds = dict.fromkeys(names, 2)
    (_, plain), *passes = programs(done)
    operands = random_operands(plain, bounds, seed=1)
    wanted = operands["L"].reshape(2, -1).sum(1) * operands["R"].sum()
    assert all(np.array_equal(interpret(one, bounds, operands), wanted) for _, one in passes)


def test_a_word_for_all_lanes(tmp_path: Path) -> None:
    """B does not have the vectorised loop, and is not factored out (seed 47)."""
    file = tmp_path / "shared.py"
    file.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, k, l, ll = indices("i k l ll")\n'
        'A, B = tensor("A", "int8", i, k, l), tensor("B", "int8", k)\n'
        'D = compute("D", "int8", i, sum_over=(k, l))[A[i, k, l] * B[k]]\n'
        'D.tile(l, (ll, 4)).vectorise(ll).accumulate(stall="allowed")\n'
    )
    rng = np.random.default_rng(2)
    left, right = rng.integers(-99, 100, (2, 3, 5)), rng.integers(-99, 100, 3)
    found = Driver(T2sModel(T2sConfig(design=str(file)))).compute(A=left, B=right)
    assert np.array_equal(found, np.einsum("ikl,k->i", left, right))


# A buffer deeper than the loop along which its data is scattered: copies send only their own.
# Results that are gathered in vectors.

MAPPING = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
C.tile(i, (ii, 3), (iii, 2)).tile(j, (jj, 2), (jjj, 2)).tile(k, (kk, 2))
C.order(i, j, ii, jj, k, iii, jjj, kk).unroll(ii, jj)
feed, load = C.producers(A, "feeder", "loader")
C.forward(feed, jj=1)
load.remove(jjj)
feed.buffer(k).unroll(ii).scatter(ii={step})
"""


@pytest.mark.parametrize("step", [1, -1])
def test_scattering(step: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MAPPING.format(step=step))
    (_, plain), *passes = programs(load_mapping(file))
    bounds = {"i": 7, "j": 5, "k": 3}
    operands = random_operands(plain, bounds, seed=1)
    wanted = definition_result(plain, bounds, operands)
    for name, program in passes:
        assert wrong_elements(program, bounds, operands, wanted) == 0, name


VECTORS = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, iii = indices("i j k ii jj iii")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
C.tile(i, (ii, 3), (iii, 2)).tile(j, (jj, 2)).order(i, j, k, ii, jj, iii).unroll(ii, jj)
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
drain.unroll(ii, jj).gather(jj={step})
collect.unroll(ii).gather(ii={step}, vector=True)
"""


@pytest.mark.parametrize("step", [1, -1])
def test_gathering_in_vectors(step: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(VECTORS.format(step=step))
    (_, plain), *passes = programs(load_mapping(file))
    bounds = {"i": 7, "j": 5, "k": 3}
    operands = random_operands(plain, bounds, seed=1)
    wanted = definition_result(plain, bounds, operands)
    for name, program in passes:
        assert wrong_elements(program, bounds, operands, wanted) == 0, name
    part = T2sConfig(design=str(file)).plan.unloader
    assert part.word_bits == 3 * 32
    assert [one.name for one in part.run] == ["jj", "iii"]


# Functions of words before and after sums, and what sums start from: after every pass a program
# computes what NumPy does.


@pytest.mark.parametrize("kind", KINDS)
def test_passes(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a, b, t, u = (rng.integers(-9, 10, shape) for shape in ((7, 9), (9, 8), (7, 8), (8,)))
    wanted = KINDS[kind][1](a, b, t, u)
    given = {"A": a, "B": b, "T": t, "U": u}
    bounds = {"i": 7, "j": 8, "k": 9}
    for name, program in programs(load_mapping(written(kind, tmp_path))):
        operands = {
            one.name: given[one.name].astype(object) for one in program.tensors if one.name in given
        }
        assert np.array_equal(interpret(program, bounds, operands), wanted), name
    assert np.array_equal(definition_result(program, bounds, operands), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_depths(kind: str, tmp_path: Path) -> None:
    program = compiled(load_mapping(written(kind, tmp_path)))
    depths = depths_for_any_bounds(program)
    run_empty(program, {"i": 9, "j": 13, "k": 9}, depths)


def test_random_mappings() -> None:
    """The mappings have initial values with feeders and loaders of all kinds, and functions."""
    started = applied = ended = 0
    for kernel in KERNELS:
        for seed in range(by_size(8, 12, 90)):
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


def test_a_loop_that_initial_values_do_not_have(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    lines = HEAD + KINDS["start"][0] + "load_t.remove(k)\n"
    file.write_text(lines)
    with pytest.raises(MappingError) as told:
        compiled(load_mapping(file))
    assert str(told.value) == f"mine.py:{lines.count(chr(10))}: T_loader.remove: it has no loop `k`"


# Depths of channels: with those that are found a design ends, with one less it does not.


@pytest.mark.parametrize("name", DESIGNS)
def test_depths_depths(name: str) -> None:
    program = compiled(load_mapping(FOLDER / f"{name}.py", largest=3))
    bounds = bounds_of(DESIGNS[name])
    depths = needed_depths(program, bounds)
    run_empty(program, bounds, depths)
    for channel, depth in depths.items():
        if depth > 1:
            with pytest.raises(Deadlock, match="waits for"):
                run_empty(program, bounds, {**depths, channel: depth - 1})
    longer = {index: bound + 9 for index, bound in bounds.items()}
    if name in ("gemm", "fir", "gemv"):
        run_empty(program, longer, depths)


@pytest.mark.parametrize("depth", [1, 2, 40])
def test_depths_that_are_said(depth: int) -> None:
    """Given depths stay, and the compiler finds the others. Runs stop if one depth is too short."""
    computation = load_mapping(FOLDER / "ttv.py", largest=3)
    bounds = bounds_of(DESIGNS["ttv"])
    found = needed_depths(compiled(computation), bounds)
    assert found["A_feeder"] == 4
    computation.chain("A")[0].fifo(depth)
    program = compiled(computation)
    around = needed_depths(program, bounds)
    assert around["A_feeder"] == depth
    assert (around["X_jj_forward"] > found["X_jj_forward"]) == (depth < found["A_feeder"])
    run_empty(program, bounds, {name: deep for name, deep in around.items() if name != "A_feeder"})
    if depth < found["A_feeder"]:
        with pytest.raises(Deadlock, match="waits for"):
            run_empty(
                program, bounds, {name: deep for name, deep in found.items() if name != "A_feeder"}
            )


WALKED = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii = indices("i k ii iii")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (ii, 2), (iii, 2)).order(i, iii, ii, k).unroll(iii).fifo(1)
(load_a,) = Y.producers(A, "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
Y.forward(feed_x, iii=-1)
load_a.fifo({depth})
"""
"""Mapping whose first element waits for the operand that arrives last."""


def test_a_depth_that_is_too_short(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    words = ["t2s", "show", str(file), "--bounds", "i=3,k=3"]
    file.write_text(WALKED.format(depth=5))
    assert main(words) == 0
    assert "    fifo A_loader: 5\n" in capfd.readouterr().out
    file.write_text(WALKED.format(depth=1))
    check_refused(
        words,
        "mine.py:10: A_loader.fifo: with a depth of 1 the design stops, for these bounds; without "
        "the directive it is 5",
        tmp_path,
        capfd,
    )


def test_a_deep_channel_is_found() -> None:
    """Elements of a row wait for each other's operands, so that something has to hold a block."""
    totals = []
    for block in (2, 4, 6):
        program = compiled(load_mapping(FOLDER / "fir.py", {"NN": 2, "NNN": block, "TTT": 2}))
        totals.append(sum(needed_depths(program, {"n": 40, "t": 5}).values()))
    assert totals[0] < totals[1] < totals[2]
