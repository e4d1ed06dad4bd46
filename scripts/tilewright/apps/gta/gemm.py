"""The product of two matrices on GTA, against NumPy."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError
from ...hw.spec.formats import FORMATS
from ..common.limits import check_size
from ..common.matrix_files import write_array
from .agreement import compare_product
from .operands import numbers_in, read_operand, result_format
from .options import GtaChoice
from .products import GtaProducts, check_products
from .report import finish_gta

__all__ = ["multiply_files"]


def multiply_files(
    choice: GtaChoice, a: Path, b: Path, c: Path | None, output: Path | None
) -> None:
    """Compute A B + C, write it if that is asked for, and report. Raises UserError for values that
    do not fit, and for shapes that do not match."""
    left, right = read_operand(a, choice.format), read_operand(b, choice.format)
    addend = read_operand(c, result_format(choice.format)) if c else None
    (rows, depth), (deep, cols) = left.words.shape, right.words.shape
    if depth != deep:
        raise UserError(f"{b}: must have {depth} rows, as {a} is {rows} x {depth}, not {deep}")
    if addend and addend.words.shape != (rows, cols):
        shape = " x ".join(map(str, addend.words.shape))
        raise UserError(f"{c}: must be {rows} x {cols}, as A B is, not {shape}")
    check_size(f"the product of {a} and {b}", rows, cols)
    check_products(f"the product of {a} and {b}", choice, rows * cols * depth)
    with GtaProducts(choice, jobs=True) as products:
        words = products.multiply(left.words, right.words, addend.words if addend else None)
    values = addend.values if addend else None
    agreement = compare_product(choice.format, words, left.values, right.values, values)
    lines = [("shape", f"{rows} x {depth} x {cols}")]
    if output:
        write_array(output, numbers_in(words, result_format(choice.format)))
        lines.append(("result", str(output)))
    details = {
        "shape": [rows, depth, cols],
        "result": FORMATS[result_format(choice.format)].name,
        "rounded": {"a": left.rounded, "b": right.rounded, "c": addend.rounded if addend else 0},
    }
    title = f"{a.name} x {b.name}"
    finish_gta("gemm", title, lines, choice, products.tally, [agreement], details)
