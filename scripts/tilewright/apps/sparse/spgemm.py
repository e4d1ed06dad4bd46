"""The product of two sparse matrices on the accelerator, held against SciPy's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...hw.spec.c2sr_converter import converter_like
from ...hw.spec.host.activity import activity
from ...sim.c2sr_converter.model import conversion_cycles
from ...sim.sparse.c2sr import C2sr, to_csr
from ...sim.timing.requests import write_trace
from ..common.agreement import SparseAgreement, compare_sparse, verdict, warn_result
from ..common.files import kind_of, write_whole
from ..common.matrix_files import write_sparse
from ..common.picture import density, write_picture
from ..common.rounding import round_to, warn_rounding
from ..common.units.matraptor import SparseChoice
from ..common.units.matraptor_products import SparseProducts, SparseTally, sparse_report

__all__ = ["Operands", "multiply_sparse"]


#: Microseconds by matrix and by who: Gamma and ExTensor are accelerators with 128 GB/s, MKL is
#: a library on a processor; figures of the Gamma paper (Zhang et al., ASPLOS 2021).
PUBLISHED: dict[str, dict[str, float]] = {
    "wiki-Vote": {"Gamma": 210, "ExTensor": 681, "MKL": 7485},
    "p2p-Gnutella31": {"Gamma": 82, "ExTensor": 1089, "MKL": 3203},
    "ca-CondMat": {"Gamma": 263, "ExTensor": 2128, "MKL": 9592},
    "poisson3Da": {"Gamma": 374, "ExTensor": 6086, "MKL": 16388},
    "email-Enron": {"Gamma": 3338, "ExTensor": 12603, "MKL": 66102},
}


@dataclass(frozen=True, kw_only=True)
class Operands:
    """Operands of a product, and their files.

    Parameters
    ----------
    a, b: the files; ``b`` None: the same
    left, right: what is in them, SciPy CSR
    transposed: whether the right one's transpose is taken
    """

    a: Path
    b: Path | None
    left: Any
    right: Any
    transposed: bool

    @property
    def square(self) -> bool:
        """Tells whether a matrix is multiplied by itself."""
        return self.b is None and not self.transposed

    @property
    def name(self) -> str:
        """Name for titles and messages."""
        name = self.a.name if self.b is None else f"{self.a.name} and {self.b.name}"
        return f"{name}, the right one transposed" if self.transposed else name


def multiply_sparse(
    choice: SparseChoice,
    of: Operands,
    *,
    output: Path | None,
    picture: Path | None,
    trace: Path | None = None,
) -> None:
    """Multiply, write the requested files, and report."""
    config, left, right = choice.config, of.left, of.right
    if of.transposed:
        right = right.T.tocsr()
        right.sort_indices()
    for file, matrix in ((of.a, left), (of.b, right)):
        if file is not None:
            warn_rounding(file, round_to(matrix.data, config.format), config.format)
    with SparseProducts(choice, log=trace is not None) as products:
        x = products.operand(left)
        y = x if of.square else products.operand(right)
        c = products.multiply(x, y)
        tally = products.tally
    result = to_csr(c)
    agreement = compare_sparse(config.operators, config.format, to_csr(x), to_csr(y), result)
    warn_result(f"the product of {of.name}", agreement, config.operators, config.format)
    rows = [
        ("A", f"{left.shape[0]:,} x {left.shape[1]:,}, {left.nnz:,} entries"),
        ("B", f"{right.shape[0]:,} x {right.shape[1]:,}, {right.nnz:,} entries"),
        ("C", f"{c.shape[0]:,} x {c.shape[1]:,}, {c.nnz:,} entries"),
        ("reference", verdict(agreement)),
    ]
    if output:
        write_sparse(output, result)
        rows.append(("result", str(output)))
    if picture:
        write_picture(picture, density(result, "C"))
        rows.append(("picture", str(picture)))
    if trace:
        rows.append(("trace", f"{trace}, {_write_trace(trace, choice, tally):,} accesses"))
    conversion = _conversion(choice, x, None if of.square else y, c, tally.counts.get("cycles", 0))
    rows.append(("conversion", _conversion_text(conversion)))
    published = PUBLISHED.get(of.a.stem, {}) if of.square and config.semiring == "mma" else {}
    if published:
        times = ", ".join(f"{who} {us:,.0f} us" for who, us in published.items())
        rows.append(("published times", times))
    details: dict[str, Any] = {
        "published_us": published,
        "mode": choice.mode,
        "layout": choice.layout,
        "a": _operand(of.a, left),
        "b": {**_operand(of.b or of.a, right), "transposed": of.transposed},
        "c": {"shape": list(c.shape), "entries": c.nnz},
        "conversion": conversion,
        "reference": _reference(agreement),
    }
    sparse_report("spgemm", f"sparse product of {of.name}", rows, choice, tally, details,
                  wrong=bool(agreement.wrong)).finish()  # fmt: skip


def _conversion(
    choice: SparseChoice, a: C2sr, b: C2sr | None, c: C2sr, cycles: int
) -> dict[str, Any]:
    """Estimated cycles of ``c2sr_converter`` with the accelerator's channels: A and B from CSR, C
    to CSR; None for an operand that it does not convert. ``b`` None: the left one; ``cycles``: of
    the product, 0 if they are not known."""
    converter = converter_like(choice.config)

    def take(direction: str, matrix: C2sr | None) -> int | None:
        if matrix is None:
            return None
        lengths = matrix.lengths
        return conversion_cycles(converter, direction, lengths, choice.memory, choice.gigahertz)

    # A is by columns in the one case, and not in C2SR in the other.
    in_c2sr = choice.layout == "c2sr"
    found: dict[str, Any] = {
        "a": take("csr_to_c2sr", a if in_c2sr and choice.mode == "rows" else None),
        "b": take("csr_to_c2sr", b if in_c2sr else None),
        "c": take("c2sr_to_csr", c),
    }
    found["cycles"] = sum(each for each in found.values() if each is not None)
    found["share"] = found["cycles"] / cycles if cycles else None
    return found


def _conversion_text(found: dict[str, Any]) -> str:
    parts = [f"{name.upper()} {found[name]:,}" for name in "abc" if found[name] is not None]
    share = "" if found["share"] is None else f", {100 * found['share']:.1f} % of the product's"
    return f"{', '.join(parts)} cycles from and to CSR{share} (estimated)"


def _write_trace(file: Path, choice: SparseChoice, tally: SparseTally) -> int:
    """Writes what all jobs asked memory for; returns the number of accesses."""
    config, memory = choice.config, choice.memory
    size = config.beat_bytes if memory.flat else memory.access_bytes
    jobs = [(job.requests, job.cycles) for job in tally.timed if job.requests is not None]
    written: list[int] = []

    def write(out: IO[bytes]) -> None:
        layout = "ramulator" if kind_of(file) == ".ramulator" else "dramsim3"
        written.append(
            write_trace(out, jobs, layout, access_bytes=size, gigahertz=choice.gigahertz)
        )

    with activity(f"writing {file.name}"):
        write_whole(file, write)
    return written[0]


def _operand(file: Path, matrix: Any) -> dict[str, Any]:
    return {"file": str(file), "shape": list(matrix.shape), "entries": int(matrix.nnz)}


def _reference(agreement: SparseAgreement) -> dict[str, Any]:
    return {
        "source": agreement.source,
        "structure": agreement.structure,
        "wrong": agreement.wrong,
        "overflows": agreement.overflows,
        "vanished": agreement.vanished,
        "not_finite": agreement.special,
        "largest_error": None if agreement.largest == float("inf") else agreement.largest,
    }
