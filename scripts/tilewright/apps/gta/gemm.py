"""The product of two matrices on GTA, against NumPy."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError
from ...hw.spec.formats import FORMATS
from ..common.limits import check_size
from ..common.matrix_files import write_array
from .agreement import compare_product
from .operands import read_operand, result_format
from .options import GtaChoice
from .products import GtaProducts, check_products
from .report import finish_gta
from .sums import addend_words, compare_sums, kept_numbers

__all__ = ["multiply_files"]


def multiply_files(
    choice: GtaChoice, a: Path, b: Path, c: Path | None, sums: str, output: Path | None
) -> None:
    """Compute A B + C, write it if that is asked for, and report.

    ``sums``: what is kept of sums of integers, one of ``SUMS``. Raises UserError for values that
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
        words = products.multiply(left.words, right.words, addend_words(addend, sums), result=sums)
    lines = [("shape", f"{rows} x {depth} x {cols}")]
    beyond = None
    if sums == "wrap":
        values = addend.values if addend else None
        agreement = compare_product(choice.format, words, left.values, right.values, values)
    else:
        agreement, beyond = compare_sums(a, choice.format, sums, words, left, right, addend)
        bits = FORMATS[result_format(choice.format)].bits
        kept = "clamped" if sums == "saturate" else "kept in two words"
        lines.append(("sums", f"{kept}: {beyond:,} beyond {bits} bits"))
    if output:
        write_array(output, kept_numbers(words, choice.format, sums))
        lines.append(("result", str(output)))
    details = {
        "shape": [rows, depth, cols],
        "result": FORMATS[result_format(choice.format)].name,
        "sums": sums,
        "beyond": beyond,
        "rounded": {"a": left.rounded, "b": right.rounded, "c": addend.rounded if addend else 0},
    }
    title = f"{a.name} x {b.name}"
    finish_gta("gemm", title, lines, choice, products.tally, [agreement], details)
