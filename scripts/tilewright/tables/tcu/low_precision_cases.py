"""Cases of algorithms at sizes that show the charges, on wide words and on narrow ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...sim.tcu import Cost
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
from ...sim.tcu.split.limbs import limbs_of
from ...sim.tcu.split.split_cost import split
from ...sim.tcu.structured.structured_cost import structured
from ...sim.tcu.words import FP32, FP64, Words, integer, modular

__all__ = ["Case", "of_limbs", "of_sparse_operands"]

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
