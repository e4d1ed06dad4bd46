"""Cases of every algorithm on a tensor unit, on generated operands, by its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...apps.tcu.hardware.calibration import calibration_of
from ...sim.tcu import TensorUnit
from ...sim.tcu.dense.recursive import standard, strassen
from ...sim.tcu.dense.tall import rectangular, tall
from ...sim.tcu.elimination.blocked import eliminate
from ...sim.tcu.graphs.closure import closure
from ...sim.tcu.graphs.distances import distances
from ...sim.tcu.graphs.squaring import squaring
from ...sim.tcu.integers.karatsuba import karatsuba
from ...sim.tcu.integers.schoolbook import schoolbook
from ...sim.tcu.polynomials.evaluation import polyval
from ...sim.tcu.sparse.output_sensitive import spmul
from ...sim.tcu.stencils.linear import stencil
from ...sim.tcu.transform.dft import dft
from ...sim.tcu.words import COMPLEX64, FP32, INT64, MINPLUS, Words, integer

__all__ = ["cases_of"]

Run = Callable[[TensorUnit, int], Any]
_SEED = 7
_LONG = 200
"""Rows of the longest call beside the size of the others."""


def _square(unit: TensorUnit, n: int) -> Any:
    return unit.words.array(np.random.default_rng(_SEED).standard_normal((n, n)))


def _graph(n: int) -> Any:
    return np.random.default_rng(_SEED).random((n, n)) < 1.5 / n


def _circle(n: int) -> Any:
    around = np.roll(np.eye(n, dtype=int), 1, axis=0)
    return around + around.T


def _thin(n: int) -> Any:
    rng = np.random.default_rng(_SEED)
    return rng.integers(-3, 4, (n, n)) * (rng.random((n, n)) < 2 / n)


def _full(unit: TensorUnit, n: int) -> Any:
    """Draws so many entries that their values are the unit's, too; a thin matrix's are not."""
    rng = np.random.default_rng(_SEED)
    return unit.words.array(rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3))


def _integer(n: int) -> int:
    """Returns an integer of about 8 n^2 bits."""
    return 3 ** (n * n * 5)


def _counting(unit: TensorUnit) -> float | None:
    """l of calls on int64 words of the same backend, as calibrated."""
    found = calibration_of(unit.backend, INT64)
    return None if found is None else found.latency


_WEIGHTS = np.arange(1, 10).reshape(3, 3) / 45

_REAL: dict[str, Run] = {
    "strassen": lambda u, n: strassen(u, _square(u, n), _square(u, n)),
    "standard": lambda u, n: standard(u, _square(u, n), _square(u, n)),
    "tall": lambda u, n: tall(u, _square(u, n), _square(u, n)),
    "rectangular": lambda u, n: rectangular(
        u, np.tile(_square(u, n), (_LONG // 5, 1))[:, : u.s], _square(u, n)[: u.s, : u.s]
    ),
    "eliminate": lambda u, n: eliminate(
        u, u.words.array(_square(u, n) + 4 * n * np.eye(n, dtype=np.float32))
    ),
    "closure": lambda u, n: closure(u, u.words.array(_graph(n))),
    "distances": lambda u, n: distances(u, u.words.array(_circle(n))),
    "dft": lambda u, n: dft(u, u.words.array(np.cos(np.arange(16 * n * n)))),
    "stencil": lambda u, n: stencil(u, _square(u, n), u.words.array(_WEIGHTS), n // 8),
    "polyval": lambda u, n: polyval(
        u, u.words.array(np.cos(np.arange(2 * u.m))), u.words.array(np.cos(np.arange(_LONG * n)))
    ),
    "spmul": lambda u, n: spmul(u, _full(u, n), _full(u, n), structure_latency=_counting(u)),
}
_COMPLEX: dict[str, Run] = {
    "dft_complex": lambda u, n: dft(u, u.words.array(np.exp(1j * np.arange(16 * n * n))))
}


def _whole(prime: int) -> dict[str, Run]:
    return {
        "schoolbook": lambda u, n: schoolbook(u, _integer(n), _integer(n)),
        "karatsuba": lambda u, n: karatsuba(u, _integer(n), _integer(n)),
        "ntt": lambda u, n: dft(u, u.words.array(np.arange(256) % prime), modulus=prime),
        "stencil_exact": lambda u, n: stencil(
            u, u.words.array(_graph(n).astype(int)), u.words.array(np.eye(3, dtype=int)), 2
        ),
        "spmul": lambda u, n: spmul(u, u.words.array(_thin(n)), u.words.array(_thin(n))),
    }


_LENGTHS: dict[str, Run] = {"squaring": lambda u, n: squaring(u, u.words.array(_circle(n)))}
_ON_ENGINE: dict[Words, dict[str, Run]] = {FP32: _REAL, INT64: _whole(12289)}
_ON_SIMD2: dict[Words, dict[str, Run]] = {**_ON_ENGINE, MINPLUS: _LENGTHS}
_ON_M3XU: dict[Words, dict[str, Run]] = {
    FP32: _REAL, COMPLEX64: _COMPLEX, integer(25): _whole(257),
}  # fmt: skip
_ON = {"simd2": _ON_SIMD2, "m3xu": _ON_M3XU, "engine": _ON_ENGINE, "gta": _ON_ENGINE}


def cases_of(backend: str) -> list[tuple[str, Words, Run]]:
    """Names of algorithms, the words that they run on there, and how to run them at a size."""
    by_words = _ON[backend].items()
    return [(name, words, run) for words, runs in by_words for name, run in runs.items()]
