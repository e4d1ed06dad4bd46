"""The algorithms that can be counted, a row each: theorem, sizes, and the formula of the unit's
work. Plain names: what they name is imported when it is used."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ALGORITHMS", "Algorithm", "Size"]


class Size(NamedTuple):
    """A size that a formula takes.

    Parameters
    ----------
    name: of the formula's parameter
    meaning: in words
    """

    name: str
    meaning: str


class Algorithm(NamedTuple):
    """A row.

    Parameters
    ----------
    theorem: of the paper
    problem: in words
    words: that it needs, in words
    sizes: that the formula takes; the first is what ``--n`` says
    formula: ``module:function``, from the sizes and ``s`` (and ``weak``, where the algorithm runs
        on a weak unit) to a `tilewright.sim.tcu.cost.Cost`
    run: what to say behind ``tilewright run``, if there is a command
    """

    theorem: str
    problem: str
    words: str
    sizes: tuple[Size, ...]
    formula: str
    run: str = ""


_FORMULAS = "tilewright.sim.tcu.formulas"
_SIDE = Size("n", "side of the matrices")
_LENGTH = Size("n", "length of the signal")
_VERTICES = Size("n", "vertices")
_SWEEPS = Size("k", "sweeps")
_PIECES = Size("n", "pieces of each integer")

ALGORITHMS = {
    "standard": Algorithm(
        theorem="1",
        problem="dense product, recursive: 8 products of halves",
        words="any",
        sizes=(_SIDE,),
        formula=f"{_FORMULAS}.dense:standard",
        run="strassen --method standard",
    ),
    "strassen": Algorithm(
        theorem="1",
        problem="dense product, recursive: 7 products of halves, Winograd's form",
        words="that subtract",
        sizes=(_SIDE,),
        formula=f"{_FORMULAS}.dense:strassen",
        run="strassen",
    ),
    "tall": Algorithm(
        theorem="2",
        problem="dense product, tall left operands",
        words="any",
        sizes=(_SIDE,),
        formula=f"{_FORMULAS}.dense:tall",
        run="strassen --method tall",
    ),
    "rectangular": Algorithm(
        theorem="2, corollary 1",
        problem="dense product of (n, k) by (k, p)",
        words="any",
        sizes=(Size("n", "rows of A"), Size("k", "columns of A"), Size("p", "columns of B")),
        formula=f"{_FORMULAS}.dense:rectangular",
        run="strassen --method rectangular",
    ),
    "spmul": Algorithm(
        theorem="3",
        problem="sparse product, output-sensitive: one round, all entries alone",
        words="int64, modular; fp32, fp64, complex64, complex with int64",
        sizes=(
            _SIDE,
            Size("entries", "Z, of the product"),
            Size("inputs", "entries of both operands"),
        ),
        formula=f"{_FORMULAS}.sparse:spmul",
        run="spmul",
    ),
    "eliminate": Algorithm(
        theorem="4",
        problem="Gaussian elimination without pivoting: L and U",
        words="that divide",
        sizes=(Size("n", "side of the matrix"),),
        formula=f"{_FORMULAS}.elimination:eliminate",
        run="eliminate",
    ),
    "closure": Algorithm(
        theorem="5",
        problem="transitive closure, Floyd and Warshall's in blocks",
        words="integers, fp32, fp64; boolean, minplus",
        sizes=(_VERTICES,),
        formula=f"{_FORMULAS}.graphs:closure",
        run="closure",
    ),
    "distances": Algorithm(
        theorem="6",
        problem="distances in a connected graph, unweighted, undirected, Seidel's",
        words="integers, fp32, fp64",
        sizes=(_VERTICES, Size("diameter", "largest distance")),
        formula=f"{_FORMULAS}.graphs:distances",
        run="distances",
    ),
    "squaring": Algorithm(
        theorem="beside 6",
        problem="distances in a connected graph by squares of lengths",
        words="minplus",
        sizes=(_VERTICES, Size("diameter", "largest distance")),
        formula=f"{_FORMULAS}.graphs:squaring",
    ),
    "dft": Algorithm(
        theorem="7",
        problem="discrete Fourier transform, 4 real calls a level",
        words="fp32, fp64",
        sizes=(_LENGTH,),
        formula=f"{_FORMULAS}.transform:dft",
        run="fft",
    ),
    "dft_complex": Algorithm(
        theorem="7",
        problem="discrete Fourier transform, a call a level",
        words="complex64, complex",
        sizes=(_LENGTH,),
        formula=f"{_FORMULAS}.transform:dft_complex",
        run="fft --words complex",
    ),
    "ntt": Algorithm(
        theorem="7",
        problem="discrete Fourier transform modulo a prime",
        words="modular",
        sizes=(_LENGTH,),
        formula=f"{_FORMULAS}.transform:ntt",
        run="fft --modulus P",
    ),
    "stencil": Algorithm(
        theorem="8",
        problem="k sweeps of a linear stencil at once, on real words",
        words="fp32, fp64",
        sizes=(Size("n", "side of the grid"), _SWEEPS),
        formula=f"{_FORMULAS}.stencils:stencil",
        run="stencil",
    ),
    "stencil_exact": Algorithm(
        theorem="8",
        problem="k sweeps of a linear stencil at once, on integers modulo primes",
        words="int64",
        sizes=(
            Size("n", "side of the grid"),
            _SWEEPS,
            Size("primes", "that hold the result"),
        ),
        formula=f"{_FORMULAS}.stencils:stencil_exact",
        run="stencil --words int64",
    ),
    "schoolbook": Algorithm(
        theorem="9",
        problem="product of long integers, all pieces by all",
        words="int64",
        sizes=(_PIECES,),
        formula=f"{_FORMULAS}.integers:schoolbook",
        run="bigmul --method schoolbook",
    ),
    "karatsuba": Algorithm(
        theorem="10",
        problem="product of long integers, 3 products of halves",
        words="int64",
        sizes=(_PIECES,),
        formula=f"{_FORMULAS}.integers:karatsuba",
        run="bigmul",
    ),
    "polyval": Algorithm(
        theorem="11",
        problem="a polynomial at many points",
        words="any",
        sizes=(Size("d", "coefficients"), Size("p", "points")),
        formula=f"{_FORMULAS}.polynomials:polyval",
        run="polyval",
    ),
}
