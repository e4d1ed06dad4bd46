"""The product of two sparse matrices on a tensor unit, against SciPy's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ...sim.tcu.dense.bilinear import STANDARD, STRASSEN, Bilinear
from ...sim.tcu.sparse.output_sensitive import SparseProduct, spmul
from ...sim.tcu.words import FP64, INT64, Array, Words
from ...sim.tcu.words.floats import Floats
from ...sim.tcu.words.modular import Residues
from ..common.agreement import Agreement, within
from ..common.limits import counted
from ..common.matrix_files import write_sparse
from .algorithm_report import tcu_report
from .options import TcuChoice
from .products import sparse_modulo
from .unit import as_words, computing, latency_on, open_unit, smaller_than_a_block, words_for

__all__ = ["Operands", "multiply_sparse"]

_SCHEMES: dict[str, Bilinear | None] = {"tall": None, "strassen": STRASSEN, "standard": STANDARD}


@dataclass(frozen=True, kw_only=True)
class Operands:
    """Operands of a product, and their files.

    Parameters
    ----------
    a, b: the files
    left, right: what is in them, SciPy CSR
    """

    a: Path
    b: Path
    left: Any
    right: Any


def multiply_sparse(
    choice: TcuChoice,
    of: Operands,
    product: str,
    words: str | None,
    modulus: int | None,
    entries: int | None,
    seed: int,
    output: Path | None,
) -> None:
    """Multiply, write the product if that is asked for, and report."""
    kind = words_for(words, modulus)
    left, right = _held(of.a, of.left, kind), _held(of.b, of.right, kind)
    unit = open_unit(choice, kind)
    about = f"the product of {of.a} and {of.b}"
    scheme = _SCHEMES[product]
    with computing(unit, about):
        found = spmul(
            unit, left, right, entries=entries, seed=seed, scheme=scheme,
            structure_latency=latency_on(choice, unit.backend, INT64),
        )  # fmt: skip
    result = found.result.to_scipy()
    rows = [
        ("A", f"{left.shape[0]:,} x {left.shape[1]:,}, {counted(left.nnz, 'entry', 'entries')}"),
        ("B", f"{right.shape[0]:,} x {right.shape[1]:,}, {counted(right.nnz, 'entry', 'entries')}"),
        ("C", f"{result.shape[0]:,} x {result.shape[1]:,}, "
              f"{counted(result.nnz, 'entry', 'entries')}"),
        *smaller_than_a_block(unit.s, *left.shape, right.shape[1]),
        *_rounds(found, isinstance(kind, Floats)),
    ]  # fmt: skip
    if output:
        write_sparse(output, result)
        rows.append(("written", str(output)))
    details = {
        "method": "output",
        "product": product,
        "seed": seed,
        "modulus": modulus,
        "a": {"shape": list(left.shape), "entries": int(left.nnz)},
        "b": {"shape": list(right.shape), "entries": int(right.nnz)},
        "c": {"shape": list(result.shape), "entries": int(result.nnz)},
        "structure_words": "int64",
        "rounds": [{**vars(one), "buckets": list(one.buckets)} for one in found.rounds],
        "value_rounds": [one._asdict() for one in found.value_rounds],
        "cpu_terms": found.terms,
        "checks": len(found.rounds) + 1,
        "chance_of_a_wrong_check": 2.0**-60,
    }
    agreements = _beside_scipy(kind, left, right, result)
    tcu_report(
        "spmul", f"{of.a.name} x {of.b.name}", rows, choice, unit, agreements, details
    ).finish()


def _held(path: Path, matrix: Any, words: Words) -> Any:
    """A file's entries as words; those that are zero are none."""
    if not np.all(np.isfinite(matrix.data)):
        raise UserError(f"{path}: must hold finite numbers")
    held = type(matrix)(
        (as_words(path, matrix.data, words), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    held.eliminate_zeros()
    return held


def _rounds(found: SparseProduct, floats: bool) -> list[tuple[str, str]]:
    """Returns the report rows of the rounds."""
    rounds = [
        f"{one.buckets[0]:,} x {one.buckets[1]:,} buckets for {one.entries:,}: {one.peeled:,} "
        f"alone, {one.left:,} with more"
        for one in found.rounds
    ]
    checks = counted(len(rounds) + 1, "check")
    where = " on int64 words" if floats else ""
    told = f"{counted(len(rounds), 'round')}{where}, {checks}, each wrong once in 2^60 at most"
    rows = [("structure" if floats else "rounds", told)]
    rows += [("", text) for text in rounds]
    if floats:
        wanted = len(found.result)
        on_unit = sum(one.found for one in found.value_rounds)
        products = counted(len(found.value_rounds), "product")
        rows.append(("values", f"{on_unit:,} by {products}, {wanted - on_unit:,} by the CPU"))
    return rows


def _beside_scipy(words: Words, a: Any, b: Any, result: Any) -> list[Agreement]:
    """Entries, and of floats those that any terms add to and their values."""
    if not isinstance(words, Floats):
        expected = sparse_modulo(a, b, words) if isinstance(words, Residues) else a @ b
        expected.eliminate_zeros()
        wrong = int((result != expected).nnz)
        how = ", in limbs" if isinstance(words, Residues) else ""
        return [_exact(f"SciPy{how}", expected.nnz, wrong, "entries")]
    ones = [type(one)((np.ones(one.nnz, np.int64), one.indices, one.indptr), shape=one.shape)
            for one in (a, b)]  # fmt: skip
    counts = ones[0] @ ones[1]
    places = _places(counts)
    wrong = len(np.setxor1d(places, _places(result)))
    structure = _exact("SciPy, structure", counts.nnz, wrong, "entries")
    if wrong:
        return [structure]
    wide = [one.astype(np.float64) for one in (a, b)]
    order = np.argsort(places)
    terms = counts.data[order]
    with np.errstate(all="ignore"):
        true = _at(wide[0] @ wide[1], places[order])
        sizes = _at(abs(wide[0]) @ abs(wide[1]), places[order])
        bound = sum((_bound(terms, sizes, kind) for kind in (words, FP64)), np.zeros(len(terms)))
    found = _at(result, places[order])
    return [structure, within("SciPy, fp64", found, true, bound)]


def _exact(source: str, values: int, wrong: int, named: str) -> Agreement:
    return Agreement(source=source, criterion="exact", values=values, wrong=wrong, named=named)


def _places(matrix: Any) -> Array:
    whole = matrix.tocoo()
    return np.asarray(whole.row.astype(np.int64) * matrix.shape[1] + whole.col)


def _at(matrix: Any, places: Array) -> Array:
    """Values at places, ascending, among which all entries are. SciPy leaves out sums that are
    zero."""
    found = np.zeros(len(places), matrix.dtype)
    found[np.searchsorted(places, _places(matrix))] = matrix.data
    return found


def _bound(terms: Array, sizes: Array, words: Floats) -> Array:
    """Bounds sums of so many terms: gamma of their number times their magnitudes, and underflow."""
    roundings = (terms + 1) * words.roundoff
    smallest = float(np.finfo(words.dtype).smallest_subnormal)
    return np.asarray(roundings / (1 - roundings) * sizes + terms * smallest)
