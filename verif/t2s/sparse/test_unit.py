"""Designs with sparse operands as hardware, from memory to memory: random jobs against the model,
for any behaviour of memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from operator import add
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.spec.t2s.program_text import program_text
from tilewright.hw.t2s.compiler.passes import compiled, programs
from tilewright.hw.t2s.language import Computation, MappingError, compute, indices, tensor
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.hw.t2s.lowering.completion import complete
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.interpreter import Numbers, interpret
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, cases, slow_but
from tilewright.verif.t2s.designs import FOLDER, bounds_of
from tilewright.verif.t2s.sparse.random_mappings import KERNELS, random_sparse_mapping

from ..designs import SPARSE
from ..unit.jobs import check_case, largest_case_bytes, random_case
from .random_mappings import FORMS, DrawnSparse

FORMATS = ("int8", "int16", "fp8e5m2", "fp16", "bf16", "fp32", "fp64")

_CHOSEN = {
    "sparse/spmv": "fp16",
    "sparse/spmv_ciss": "int8",
    "sparse/spmm": "int8",
    "sparse/spmttkrp": "int16",
    "sparse/hadamard": "bf16",
    "sparse/union": "int8",
}
"""A format of each by default; all at length."""

_MOST = 3
"""Iterations of an outermost loop."""


def _config(name: str, fmt: str, **changes: Any) -> T2sConfig:
    return T2sConfig(design=name, format=fmt, **{"largest": 2, "outstanding": 2, **changes})


def _device(config: T2sConfig) -> NativeAccelerator[T2sConfig]:
    size = max(1 << 14, 2 * largest_case_bytes(config, _MOST))
    return NativeAccelerator(emit(T2S, config), config, memory_bytes=size)


def _run(config: T2sConfig, seed: int, jobs: int) -> None:
    rng = np.random.default_rng(seed)
    with _device(config) as device:
        for number in range(jobs):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, device.memory_bytes, _MOST))


@pytest.mark.parametrize("name", slow_but([], SPARSE, ["sparse/spmv_ciss", "sparse/spmm"]))
def test_random_jobs(name: str) -> None:
    _run(_config(name, _CHOSEN[name]), seed=1, jobs=cases(200))


@pytest.mark.parametrize("kernel", slow_but([], FORMS, ["of vectors"]))
def test_random_mappings(kernel: str) -> None:
    """Elements, rows, buffers, levels, orders and semirings at random."""
    for seed in range(by_size(1, 1, 8)):
        fmt = ("int8", "fp16", "int16")[seed % 3]
        try:
            _run(DrawnSparse(kernel=kernel, seed=seed, format=fmt), seed, jobs=cases(80))
        except Exception as error:
            raise AssertionError(f"{kernel}, seed {seed}, {fmt}: {error}") from error


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", SPARSE)
def test_all_formats(name: str, fmt: str) -> None:
    _run(_config(name, fmt, largest=3), seed=5, jobs=60)


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {"data_bits": 64, "managers": 3},
        {"data_bits": 512, "outstanding": 8, "addr_bits": 64},
        {"managers": 2, "trip_bits": 4, "pipeline": 1},
        {"sizes": "II=1,III=1,KK=1,JJ=1,JJJ=1", "pipeline": 6},
        {"sizes": "II=5,III=7,KK=9,JJ=3,JJJ=5", "largest": 0},
        {"sizes": "II=8,III=2,KK=16,JJ=8,JJJ=2", "largest": 0, "pipeline": 2},
    ],
)
def test_other_sizes(changes: dict[str, Any]) -> None:
    _run(_config("sparse/spmm", "int8", **changes), seed=6, jobs=60)


# Tensors of which entries alone are stored: after every pass of the compiler a program computes
# what its definition says, of random mappings and of the designs that ship.

MAPPINGS = by_size(3, 10, 100)
"""Legal ones of each kernel."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_visit_random_mappings(kernel: str) -> None:
    for seed, computation, found, rng in legal(kernel, MAPPINGS):
        names = (*computation.result, *computation.sum_over)
        bounds = {name: int(rng.integers(1, 6)) for name in names}
        operands = random_operands(found[0][1], bounds, seed)
        wanted = definition_result(found[0][1], bounds, operands)
        for name, program in found:
            assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)


def test_mappings_have_everything() -> None:
    """Every directive is in at least five of 195 mappings, and few mappings are refused."""
    seen: Counter[str] = Counter()
    for kernel in KERNELS:
        for _, computation, found, _ in legal(kernel, 15):
            seen.update(features(computation, found[-1][1]))
    assert len(seen) == 9
    assert min(seen.values()) >= 5, seen


def legal(
    kernel: str, count: int
) -> Iterator[tuple[int, Computation, list[tuple[str, Program]], np.random.Generator]]:
    """Mappings that are not refused, with their seeds; half of those drawn at least."""
    for drawn in range(1, 2 * count + 10):
        rng = np.random.default_rng([drawn, *map(ord, kernel)])
        try:
            computation = random_sparse_mapping(kernel, rng)
            found = list(programs(computation))
        except MappingError:
            continue
        yield drawn, computation, found, rng
        count -= 1
        if not count:
            return
    raise AssertionError(f"{count} mappings of {kernel} are missing")


def features(computation: Computation, program: Program) -> set[str]:
    """Returns the features of a mapping besides its loops."""
    isolated = [one for chain in computation.chains.values() for one in chain]
    has = {
        "unrolled": bool(computation.unrolled),
        "vectorised": bool(computation.vectorised),
        "forwarded": bool(computation.forwarded),
        "forwarded by copies": any(one.forwarded for one in isolated),
        "host": any(one.host for one in program.functions),
        "removed": any(one.removed for one in isolated),
        "buffered": any(one.buffered for one in isolated),
        "ciss": any(one.sparse == "ciss" for one in program.tensors),
        "several": len(program.sparse) > 1,
    }
    return {name for name, there in has.items() if there}


def filled(words: Numbers) -> Numbers:
    """An array with zeros where there are no entries."""
    return np.where(words == None, 0, words).astype(np.int64)  # noqa: E711


@pytest.mark.parametrize("completed", [False, True])
@pytest.mark.parametrize("name", SPARSE)
def test_designs(name: str, completed: bool) -> None:
    """The reference is NumPy's sum over all indices. Designs run as written and completed for
    hardware."""
    design = SPARSE[name]
    bounds = bounds_of(design)
    computation = load_mapping(FOLDER / f"{name}.py", {}, 3)
    found = list(programs(complete(computation) if completed else computation))
    operands = random_operands(found[0][1], bounds, 1)
    plain = [filled(operands[one.tensor.name]) for one in computation.factors]
    wanted = np.einsum(design.einsum, *plain) if design.einsum else (plain[0] + plain[1]) @ plain[2]
    assert (definition_result(found[0][1], bounds, operands) == wanted).all()
    for after, program in found:
        assert wrong_elements(program, bounds, operands, wanted) == 0, after


def test_every_design_is_here() -> None:
    assert set(SPARSE) == {f"sparse/{one.stem}" for one in FOLDER.glob("sparse/[a-z]*.py")}
    for name, design in SPARSE.items():
        _, *lines = filter(None, (FOLDER / f"{name}.py").read_text().splitlines())
        assert len(lines) <= design.lines, name


def test_what_is_not_stored_is_not_there() -> None:
    """SciPy does the same: infinity times an absent entry is not NaN, but times a stored zero it
    is."""
    computation = load_mapping(FOLDER / "sparse" / "spmm.py", {}, 2)
    program = compiled(complete(computation))
    stored = scipy.sparse.csr_array(([2.0, 0.0, 3.0], ([0, 1, 2], [1, 2, 1])), shape=(4, 3))
    words = np.full(stored.shape, None, dtype=object)
    for row, column, word in zip(*stored.tocoo().coords, stored.tocoo().data, strict=True):
        words[row, column] = float(word)
    dense = np.array([[np.inf, np.inf], [1.0, np.inf], [np.inf, 5.0]])
    with np.errstate(invalid="ignore"):
        wanted = stored @ dense
    operands = {"A": words, "B": dense.astype(object)}
    found = interpret(program, {"i": 4, "j": 2, "k": 3}, operands).astype(float)
    np.testing.assert_array_equal(found, wanted)
    assert np.isnan(found).sum() == 1


@pytest.mark.parametrize("semiring", ["minplus", "maxplus", "minmax", "maxmin"])
def test_infinities_are_not_met(semiring: str) -> None:
    """A product with an infinite word is absent where there is no entry."""
    i, k, kk = indices("i k kk")
    A, X = tensor("A", "fp32", i, k, sparse="csr"), tensor("X", "fp32", k)
    Y = compute("Y", "fp32", i, sum_over=k, semiring=semiring)[X[k] * A[i, k]]
    Y.tile(k, (kk, 2))
    words = np.array([[1, None, 2], [None, None, None]], dtype=object)
    dense = np.array([3, -np.inf if semiring.startswith("min") else np.inf, 4], dtype=object)
    found = interpret(compiled(Y), {"i": 2, "k": 3}, {"A": words, "X": dense})
    operators: dict[str, Callable[[int, int], int]] = {"plus": add, "max": max, "min": min}
    each = operators[semiring[3:]]
    fold, identity = (min, np.inf) if semiring.startswith("min") else (max, -np.inf)
    assert list(found) == [fold(each(1, 3), each(2, 4)), identity]


def test_what_a_dump_says() -> None:
    i, k = indices("i k")
    A, B, C = (tensor(name, "fp32", i, k, sparse="csr") for name in "ABC")
    X = tensor("X", "fp32", k)
    merged = {
        A[i, k] * X[k]: "A(i, k) is there",
        A[i, k] * B[i, k] * X[k]: "A(i, k) and B(i, k) are there",
        A[i, k] * X[k] + B[i, k] * X[k]: "A(i, k) or B(i, k) is there",
        A[i, k] * C[i, k] * X[k] + B[i, k] * X[k]: "A(i, k) and C(i, k), or B(i, k) is there",
    }
    for expression, said in merged.items():
        Y = compute("Y", "fp32", i, sum_over=k)[expression]
        text = program_text(compiled(Y, "visit"))
        functions = text.count(f"for k < K where {said}:")
        assert functions == text.count("for k < K") == 1 + len(Y.factors)
