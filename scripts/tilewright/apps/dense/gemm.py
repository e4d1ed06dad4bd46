"""``tilewright run gemm``: the product of two matrices from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.tensaurus import TENSAURUS
from ...numbers_given import real
from ..common.files import check_output, read_matrix, write_array
from ..common.limits import check_operations, check_size
from ..common.options import RunOptions
from ..common.rounding import Rounded, warn_rounding
from .report import Errors, finish, measure
from .session import UnitChoice, choose_product_unit, product_unit

__all__ = ["gemm"]


def gemm(
    a: Annotated[Path, typer.Argument(metavar="A", help="Left matrix, .npy or .mtx.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Right matrix, .npy or .mtx.")],
    c: Annotated[Path | None, typer.Option("--c", help="Matrix to add, .npy or .mtx.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Result, .npy or .mtx.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="Format on m3xu: fp16, bf16, tf32, fp32 or fp32c; default fp32. On simd2 it is "
            "the parameter `format`."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Of tensaurus' cycle model: hbm, hbm32 or flat; default hbm.")
    ] = None,
    gigahertz: Annotated[
        float | None,
        typer.Option(parser=real("--gigahertz", 0.01, 100), metavar="F",
                     help="Its clock, in 0.01..100; default 2."),
    ] = None,
    *,
    options: RunOptions,
) -> None:  # fmt: skip
    """Multiply matrices on a matrix unit: D = A B + C, every operation checked; or D = A B on
    tensaurus.

    Files are rounded to the operands' format first (to nearest even); errors are those of the
    arithmetic on the rounded matrices, beside NumPy's float32 on the same.
    """
    if options.unit == TENSAURUS.name:
        from ..tensors.matrices import gemm_on_tensaurus

        gemm_on_tensaurus(a, b, c, mode, output, memory, gigahertz, options)
        return
    for name, given in (("--memory", memory), ("--gigahertz", gigahertz)):
        if given is not None:
            raise UserError(f"{name} is for {TENSAURUS.name} only")
    choice = choose_product_unit(options, mode)
    if output:
        check_output(output)
    left, right = _matrix(a, choice), _matrix(b, choice)
    addend = _matrix(c, choice, addend=True) if c else None
    rows, depth, cols = _shape(a, b, c, left, right, addend)
    operations = choice.operations(1, (rows, depth, cols))
    check_operations(f"the product of {a} and {b}", operations, "choose a larger tile")
    with product_unit(choice, operations) as (multiply, tally):
        start = addend.words[np.newaxis] if addend else None
        words = multiply(left.words[np.newaxis], right.words[np.newaxis], start)[0]
    d = choice.numbers.results(words)
    lines = [("shape", f"{rows} x {depth} x {cols}")]
    if output:
        write_array(output, d)
        lines.append(("result", str(output)))
    errors = _errors(d, left, right, addend)
    details = {"shape": [rows, depth, cols]}
    finish("gemm", f"{a.name} x {b.name}", lines, choice, tally, errors, details)


def _matrix(path: Path, choice: UnitChoice, *, addend: bool = False) -> Rounded:
    """A file's matrix rounded to the format of the operands, or to that of the addend."""
    matrix, numbers = read_matrix(path), choice.numbers
    if np.iscomplexobj(matrix) and not numbers.pairs:
        raise UserError(f"{path}: holds complex numbers, which mode {choice.mode} does not take; "
                        f"only mode fp32c does")  # fmt: skip
    rounded = (numbers.accumulators if addend else numbers.operands)(matrix)
    warn_rounding(path, rounded, numbers.result if addend else numbers.element)
    return rounded


def _shape(
    a: Path, b: Path, c: Path | None, left: Rounded, right: Rounded, addend: Rounded | None
) -> tuple[int, int, int]:
    (rows, depth), (deep, cols) = left.values.shape, right.values.shape
    if depth != deep:
        raise UserError(f"{b}: must have {depth} rows, as {a} is {rows} x {depth}, not {deep}")
    if addend and addend.values.shape != (rows, cols):
        shape = " x ".join(map(str, addend.values.shape))
        raise UserError(f"{c}: must be {rows} x {cols}, as A B is, not {shape}")
    check_size(f"the product of {a} and {b}", rows, cols)
    return rows, depth, cols


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
