"""A product of matrices as a user gives it to the driver: checked, and in the array's own terms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FORMATS
from ...hw.spec.gta import GtaConfig, is_float, result_bytes
from ...hw.spec.host.words import not_one_of
from ..numbers.container_words import words_of
from .golden.pgemm import RESULTS
from .tiles.choice import DATAFLOWS as FOLDS
from .tiles.choice import Choice
from .tiles.program import Operands, Program, widened
from .tiles.segmented_product import SegmentedProduct
from .tiles.tiled_product import TiledProduct

__all__ = ["DATAFLOWS", "GivenProduct", "check_layout", "given_product"]

DATAFLOWS = (*FOLDS, "simd")
"""Dataflows: folds name the operand that stays in the array, see ``tiles/choice.py``; ``simd``
computes each sum in an element of its own."""

Patterns = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class GivenProduct:
    """D = A B (+ C).

    Parameters
    ----------
    format: of A and B
    a, b, c: patterns, see ``GtaDriver.pgemm``
    result: one of ``RESULTS``
    """

    format: str
    a: Patterns
    b: Patterns
    c: Patterns | None
    result: str

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N and K."""
        return self.a.shape[0], self.b.shape[1], self.a.shape[1]

    def parts(self, axis: int, at: int) -> tuple[GivenProduct, GivenProduct]:
        """Two that make it: M, N or K, by its number, is cut there; of K C is the first one's."""
        if axis == 2:
            return (
                replace(self, a=self.a[:, :at], b=self.b[:at]),
                replace(self, a=self.a[:, at:], b=self.b[at:], c=None),
            )
        c: list[Patterns | None] = [None, None]
        if self.c is not None:
            c = [*np.split(self.c, [at], axis=axis)]
        if axis == 0:
            upper, lower = self.a[:at], self.a[at:]
            return replace(self, a=upper, c=c[0]), replace(self, a=lower, c=c[1])
        left, right = self.b[:, :at], self.b[:, at:]
        return replace(self, b=left, c=c[0]), replace(self, b=right, c=c[1])

    def laid_out(self, choice: Choice, group: int = 0) -> tuple[Program, Operands]:
        """Its commands on the region of a choice, whose mask is ``group``, or on several, whose
        masks are their numbers, and what their operands are."""
        tiling, c = choice.tiling, self.c
        narrow = "saturate" if self.result == "saturate" else "none"
        made: Program
        if choice.sums:
            made = SegmentedProduct(
                tiling, self.sizes[2], choice.sums, narrow=narrow, use_c=c is not None
            )
        else:
            made = TiledProduct(tiling, group=group, narrow=narrow, use_c=c is not None)
        if c is not None and narrow != "none":
            c = widened(c, tiling.problem.width)
        return made, replace(self, c=c).operands(turned=choice.dataflow == "is")

    def operands(self, *, turned: bool) -> Operands:
        """A, B and C, or those of the transposed product."""
        if not turned:
            return self.a, self.b, self.c
        return self.b.T, self.a.T, None if self.c is None else np.swapaxes(self.c, 0, 1)

    def result_of(self, found: Patterns, choice: Choice) -> Patterns:
        """D, of the program's result."""
        return np.ascontiguousarray(np.swapaxes(found, 0, 1)) if choice.dataflow == "is" else found


def given_product(
    config: GtaConfig,
    format: str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    *,
    result: str = "wrap",
    dataflow: str = "auto",
) -> GivenProduct:
    """Check operands and options. Raises as ``GtaDriver.pgemm``."""
    _check(config, format, result, dataflow)
    left, right = words_of(a, FORMATS[format].bits), words_of(b, FORMATS[format].bits)
    sizes = left.shape, right.shape
    if (left.ndim, right.ndim) != (2, 2) or sizes[0][1] != sizes[1][0] or 0 in sizes[0] + sizes[1]:
        raise ValueError(f"`a` and `b` must be M x K and K x N, from 1, not {sizes[0]}, {sizes[1]}")
    addend = None
    if c is not None:
        addend = words_of(c, 8 * result_bytes(format))
        shape: tuple[int, ...] = left.shape[0], right.shape[1]
        shape = (*shape, 2) if result == "long" else shape
        if addend.shape != shape:
            raise ValueError(f"`c` must have shape {shape}, not {addend.shape}")
    if result == "saturate" and format == "int64":
        _check_sums(left, right, addend)
    return GivenProduct(format=format, a=left, b=right, c=addend, result=result)


def _check(config: GtaConfig, format: str, result: str, dataflow: str) -> None:
    """Raise ValueError for what the device has not."""
    known = (*config.integers, *config.floats)
    if format not in known:
        raise ValueError(not_one_of("`format`", known, format))
    if result not in RESULTS:
        raise ValueError(not_one_of("`result`", RESULTS, result))
    if result != "wrap" and dataflow == "simd":
        raise ValueError(f"`result` must be wrap with dataflow simd, not {result!r}")
    if result != "wrap" and (is_float(format) or (result == "long" and result_bytes(format) != 8)):
        allowed = "wrap" if is_float(format) else "wrap or saturate"
        raise ValueError(f"`result` of {format} must be {allowed}, not {result!r}")
    flows = ("auto", "os", "simd") if is_float(format) else DATAFLOWS
    if dataflow not in flows:
        raise ValueError(not_one_of("`dataflow`", flows, dataflow))


def check_layout(layout: tuple[int, int] | None, lanes: int) -> None:
    """Raise TypeError and ValueError for what is not that of so many lanes."""
    if layout is None:
        return
    if not (
        isinstance(layout, tuple)
        and len(layout) == 2
        and all(isinstance(side, int) for side in layout)
    ):
        raise TypeError(
            f"`layout` must be a tuple of two integers, rows and columns, not {layout!r}"
        )
    if layout[0] < 1 or layout[1] < 1 or layout[0] * layout[1] != lanes:
        raise ValueError(
            f"`layout` must be rows x columns of {lanes} lanes, not {layout[0]}x{layout[1]}"
        )


def _check_sums(a: Patterns, b: Patterns, c: Patterns | None) -> None:
    """Raise ValueError if a sum of products of int64 may not fit 128 bits, which the array adds."""
    largest = [max(abs(int(x.view(np.int64).min())), int(x.view(np.int64).max())) for x in (a, b)]
    most = a.shape[1] * largest[0] * largest[1]
    if c is not None:
        most += max(abs(int(c.view(np.int64).min())), int(c.view(np.int64).max()))
    if most >> 127:
        raise ValueError(
            "sums of int64 must fit 128 bits to be saturated; K times the largest of `a` and of "
            f"`b` has {most.bit_length()} bits and a sign"
        )
