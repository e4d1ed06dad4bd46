"""Every algorithm through the Verilog of hardware, bit for bit and cycle for cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.dense.bilinear import STRASSEN
from tilewright.sim.tcu.dense.recursive import standard, strassen
from tilewright.sim.tcu.dense.tall import in_squares, rectangular, tall
from tilewright.sim.tcu.elimination.blocked import eliminate
from tilewright.sim.tcu.elimination.substitution import solve
from tilewright.sim.tcu.graphs.closure import closure
from tilewright.sim.tcu.graphs.distances import distances
from tilewright.sim.tcu.graphs.squaring import squaring
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.polynomials.evaluation import polyval
from tilewright.sim.tcu.presets import calibrate, calibrated_rows
from tilewright.sim.tcu.sparse.output_sensitive import spmul
from tilewright.sim.tcu.stencils.linear import stencil
from tilewright.sim.tcu.transform.dft import dft
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Words,
    integer,
    modular,
)
from tilewright.sim.tcu.words.integers import Integers
from tilewright.sim.tcu.words.modular import Residues
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tcu.backends.simulated import modelled, simulated

WHOLE = integer(25)
"""Integers that m3xu holds, so that it determines the pieces."""
RESIDUES = modular(97)
N = 11


def _matrices(words: Words) -> Any:
    rng = np.random.default_rng(5)
    if words is BOOLEAN:
        return rng.random((2, N, N)) < 0.15
    if isinstance(words, Integers | Residues):
        return words.array(rng.integers(-20, 20, (2, N, N)))
    found = rng.standard_normal((2, N, N))
    return words.array(found + 1j * found[::-1] if words is COMPLEX64 else found)


def _graph(words: Words) -> Any:
    edges = np.random.default_rng(6).random((N, N)) < 0.15
    return words.array(np.where(edges, 1.0, np.inf) if words is MINPLUS else edges)


def _circle(words: Words) -> Any:
    around = np.roll(np.eye(N, dtype=int), 1, axis=0)
    return words.array(around + around.T)


def _spmul(unit: TensorUnit) -> Any:
    few = np.random.default_rng(7).random((2, N, N)) < 0.2
    found = spmul(unit, *unit.words.array(np.where(few, _matrices(unit.words), 0)), seed=1)
    return found.result.to_scipy().toarray()


def _dominant(words: Words) -> Any:
    return words.array(_matrices(words)[0] + 9 * np.eye(N, dtype=int))


def _long(words: Words) -> tuple[int, int]:
    return (1 << 300) - 1, 3**180


Algorithm = Callable[[TensorUnit], Any]
DENSE: dict[str, Algorithm] = {
    "strassen": lambda unit: strassen(unit, *_matrices(unit.words)),
    "standard": lambda unit: standard(unit, *_matrices(unit.words)),
    "tall": lambda unit: tall(unit, *_matrices(unit.words)),
    "rectangular": lambda unit: rectangular(
        unit, _matrices(unit.words)[0][:, :3], _matrices(unit.words)[1][:3]
    ),
    "in_squares": lambda unit: in_squares(
        unit, STRASSEN, _matrices(unit.words)[0][:5], _matrices(unit.words)[1][:, :6]
    ),
    "polyval": lambda unit: polyval(
        unit, unit.words.array(np.arange(9)), unit.words.array(np.arange(6) - 2)
    ),
}
REAL: dict[str, Algorithm] = {
    **DENSE,
    "eliminate": lambda unit: eliminate(unit, _dominant(unit.words)),
    "solve": lambda unit: solve(
        unit, eliminate(unit, _dominant(unit.words)), unit.words.array(np.ones(N, int))
    ),
    "closure": lambda unit: closure(unit, _graph(unit.words)),
    "distances": lambda unit: distances(unit, _circle(unit.words)),
    "spmul": _spmul,
    "dft": lambda unit: dft(unit, unit.words.array(np.arange(24))),
    "bluestein": lambda unit: dft(unit, unit.words.array(np.arange(7))),
    "stencil": lambda unit: stencil(
        unit, _matrices(unit.words)[0], unit.words.array(np.arange(9).reshape(3, 3) / 9), 3
    ),
}
INTEGERS: dict[str, Algorithm] = {
    **{name: run for name, run in DENSE.items() if name != "polyval"},
    "polyval": lambda unit: polyval(
        unit, unit.words.array(np.arange(6)), unit.words.array(np.arange(6) - 2)
    ),
    "closure": REAL["closure"],
    "distances": REAL["distances"],
    "spmul": _spmul,
    "schoolbook": lambda unit: schoolbook(unit, *_long(unit.words)),
    "karatsuba": lambda unit: karatsuba(unit, *_long(unit.words)),
    "stencil": lambda unit: stencil(
        unit, _matrices(unit.words)[0] % 2, unit.words.array(np.eye(3, dtype=int)), 2
    ),
}
MODULAR: Algorithm = lambda unit: dft(unit, unit.words.array(np.arange(16)), modulus=97)  # noqa: E731
BY_WORDS: dict[Words, dict[str, Algorithm]] = {
    FP32: REAL,
    FP64: REAL,
    COMPLEX64: {
        **DENSE,
        **{name: REAL[name] for name in ("dft", "bluestein", "eliminate", "solve", "stencil")},
    },
    INT64: {**INTEGERS, "ntt": MODULAR},
    WHOLE: {**INTEGERS, "ntt": MODULAR},
    BOOLEAN: {
        **{name: DENSE[name] for name in ("standard", "tall", "rectangular")},
        "closure": REAL["closure"],
    },
    MINPLUS: {
        "closure": REAL["closure"],
        "squaring": lambda unit: squaring(unit, _circle(INT64)),
    },
    RESIDUES: {
        **DENSE,
        "spmul": _spmul,
        "eliminate": REAL["eliminate"],
        "solve": REAL["solve"],
        # Modulo 97 the lengths are products of powers of 2 and 3; that of two sweeps is 6.
        "stencil": INTEGERS["stencil"],
        "ntt": lambda unit: dft(unit, unit.words.array(np.arange(16))),
    },
}

RUNS: list[tuple[str, Words]] = [
    ("simd2", INT64), ("simd2", BOOLEAN), ("simd2", FP32), ("simd2", MINPLUS), ("simd2", FP64),
    ("m3xu", FP32), ("m3xu", WHOLE), ("m3xu", COMPLEX64), ("gta", INT64), ("gta", FP32),
    ("gta", FP64), ("simd2", RESIDUES), ("m3xu", RESIDUES), ("gta", RESIDUES),
]  # fmt: skip
EACH = [(name, words.name) for name, words in RUNS]
NAMED: dict[str, Words] = {words.name: words for words in BY_WORDS}


@pytest.mark.parametrize("on", slow_but(EACH[:2], EACH, [EACH[2]]), ids="-".join)
def test_every_algorithm(on: tuple[str, str]) -> None:
    name, kind = on[0], NAMED[on[1]]
    for algorithm, run in BY_WORDS[kind].items():
        backend = simulated(name)
        verilog, model = (TensorUnit(one, kind) for one in (backend, modelled(name)))
        found, expected = run(verilog), run(model)
        np.testing.assert_array_equal(found, expected, err_msg=algorithm)
        if kind.exact or kind is MINPLUS:
            reference = run(TensorUnit(NumpyBackend(4), kind))
            np.testing.assert_array_equal(found, reference, err_msg=algorithm)
        tally = backend.tally
        assert verilog.cost == model.cost
        assert verilog.cost.calls > 0, algorithm
        assert tally.mismatches == 0, algorithm
        assert tally.checked > tally.operations * (1 if name == "gta" else 16)
        assert tally.cycles == model.backend.cycles


@pytest.mark.parametrize("on", slow_but(EACH[:1], EACH[:1] + EACH[5:6]), ids="-".join)
def test_calls_of_verilog_lie_on_a_line(on: tuple[str, str]) -> None:
    """The bar is 0.9999; they are on it exactly."""
    name, kind = on[0], NAMED[on[1]]
    backend = simulated(name)

    def measured(rows: int) -> int:
        before = backend.tally.cycles
        backend.multiply(
            kind.array(np.ones((rows, 4), int)), kind.array(np.eye(4, dtype=int)), kind
        )
        return backend.tally.cycles - before

    found = calibrate(name, 4, measured)
    assert found.r_squared == 1
    assert [found.word_cycles * 4 * n + found.latency_cycles for n in calibrated_rows(4)] == [
        backend.call_cycles(n, kind) for n in calibrated_rows(4)
    ]
    assert backend.tally.mismatches == 0


def test_a_third_operand_and_rows_that_are_filled_up() -> None:
    backend = simulated("simd2")
    rng = np.random.default_rng(3)
    for rows in range(4, 14):
        a, b, c = (rng.integers(-(2**31), 2**31, (n, 4)) // 3 for n in (rows, 4, rows))
        np.testing.assert_array_equal(backend.multiply_add(a, b, c, INT64), a @ b + c)
        np.testing.assert_array_equal(backend.multiply(a, b, INT64), a @ b)
    assert backend.tally.mismatches == 0
