"""The product of two matrices on a matrix unit, and what rounding did to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.matrix_files import write_array
from ..common.rounding import Rounded
from ..common.units.matrix_unit import UnitChoice
from ..common.units.matrix_unit_runs import Errors, matrix_unit_report, measure, product_unit

__all__ = ["multiply_matrices"]


def multiply_matrices(
    choice: UnitChoice,
    title: str,
    left: Rounded,
    right: Rounded,
    addend: Rounded | None,
    operations: int,
    output: Path | None,
) -> None:
    """Compute A B + C in so many operations, write it if that is asked for, and report."""
    with product_unit(choice, operations) as (multiply, tally):
        start = addend.words[np.newaxis] if addend else None
        words = multiply(left.words[np.newaxis], right.words[np.newaxis], start)[0]
    d = choice.numbers.results(words)
    shape = [*left.values.shape, right.values.shape[1]]
    lines = [("shape", " x ".join(map(str, shape)))]
    if output:
        write_array(output, d)
        lines.append(("result", str(output)))
    errors = _errors(d, left, right, addend)
    matrix_unit_report("gemm", title, lines, choice, tally, errors, {"shape": shape}).finish()


def _errors(
    d: NDArray[Any], left: Rounded, right: Rounded, addend: Rounded | None
) -> dict[str, Errors]:
    with np.errstate(all="ignore"):
        narrow = np.complex64 if np.iscomplexobj(left.values) else np.float32
        reference = left.values @ right.values
        single = left.values.astype(narrow) @ right.values.astype(narrow)
        if addend:
            reference = reference + addend.values
            single = single + addend.values.astype(narrow)
        return {"unit": measure(d, reference), "numpy_float32": measure(single, reference)}
