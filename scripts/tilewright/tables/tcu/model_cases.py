"""Cases of every algorithm on a tensor unit, on generated operands, by its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...apps.tcu.hardware.calibration import calibration_of
from ...sim.tcu import Cost, TensorUnit
from ...sim.tcu.dense.recursive import standard, strassen
from ...sim.tcu.dense.tall import rectangular, tall
from ...sim.tcu.elimination.blocked import eliminate
from ...sim.tcu.formulas import (
    dense,
    elimination,
    graphs,
    integers,
    polynomials,
    stencils,
    transform,
)
from ...sim.tcu.formulas.integers import piece_bits
from ...sim.tcu.graphs.closure import closure
from ...sim.tcu.graphs.distances import distances
from ...sim.tcu.graphs.squaring import squaring
from ...sim.tcu.integers.karatsuba import karatsuba
from ...sim.tcu.integers.schoolbook import schoolbook
from ...sim.tcu.polynomials.evaluation import polyval
from ...sim.tcu.sparse.output_sensitive import spmul
from ...sim.tcu.split.split_unit import limbs_of, split
from ...sim.tcu.stencils.linear import stencil
from ...sim.tcu.structured.structured_cost import structured
from ...sim.tcu.transform.dft import dft
from ...sim.tcu.words import COMPLEX64, FP32, FP64, INT64, MINPLUS, Words, integer, modular

_SIDE = 1024
_LENGTH = 4096
_SWEEPS = 64
_BITS = 1 << 20
_PIECE = 8
_PRIME, _LARGE_PRIME = 12289, 998244353


class Case(NamedTuple):
    """An algorithm on one unit and on another.

    Parameters
    ----------
    label: algorithm, size, words
    wide, narrow: what it costs on words of its own, and on the other unit
    limbs: of a word; 0 if words are not cut
    """

    label: str
    wide: Cost
    narrow: Cost
    limbs: int = 0


def of_limbs(s: int) -> Iterator[Case]:
    """Yields all algorithms that run on words that can be cut."""
    n, size = _SIDE, f"side {_SIDE:,}"
    exact = elimination.eliminate(n, s, exact=True)
    runs: list[tuple[str, Words, Cost]] = [
        (f"strassen, {size}", integer(16), dense.strassen(n, s)),
        (f"tall, {size}", integer(16), dense.tall(n, s)),
        (f"tall, {size}", integer(32), dense.tall(n, s)),
        (f"tall, {size}", FP32, dense.tall(n, s)),
        (f"tall, {size}", FP64, dense.tall(n, s)),
        (f"eliminate, {size}", FP32, elimination.eliminate(n, s)),
        (f"eliminate, {size}", modular(_LARGE_PRIME), exact),
        (f"closure, {n:,} vertices", integer(8 if s < 127 else 16), graphs.closure(n, s)),
        (f"distances, {n:,} vertices, at most 8", integer(16), graphs.distances(n, 8, s)),
        (f"dft, {_LENGTH:,} numbers", FP32, transform.dft(_LENGTH, s)),
        (f"ntt, {_LENGTH:,} residues", modular(_PRIME), transform.ntt(_LENGTH, s)),
        (f"stencil, {_SWEEPS} sweeps, {size}", FP32, stencils.stencil(n, _SWEEPS, s)),
        (f"polyval, {n:,} coefficients, {_LENGTH:,} points", modular(_LARGE_PRIME),
         polynomials.polyval(n, _LENGTH, s)),
    ]  # fmt: skip
    for label, words, cost in runs:
        yield Case(f"{label}, {words.name}", cost, split(cost, s, words), limbs_of(words))
    for name, formula in (
        ("schoolbook", integers.schoolbook), ("karatsuba", integers.karatsuba),
    ):  # fmt: skip
        whole = piece_bits(s)
        wide = formula(-(-_BITS // whole), s)
        narrow = formula(_BITS // _PIECE, s, bits=32, piece=_PIECE)
        label = f"{name}, {_BITS:,} bits, pieces of {whole} and of {_PIECE}"
        yield Case(label, wide, narrow)


def of_sparse_operands(s: int) -> Iterator[Case]:
    """Products of which an operand may be sparse."""
    n, long = _SIDE, 8 * _SIDE
    for label, shape, transposed in (
        ("A B, A sparse", (n, n, n), False),
        ("A B, B sparse: B^T A^T", (n, n, n), True),
        ("A B, A sparse, tall", (long, n, n), False),
        ("A B, A sparse, wide B", (n, n, long), False),
    ):
        sizes = " x ".join(f"{length:,}" for length in shape)
        whole = dense.rectangular(*shape, s)
        yield Case(f"{label}, {sizes}", whole, structured(*shape, s, transposed))


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
