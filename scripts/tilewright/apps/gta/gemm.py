"""The product of two matrices on GTA, against NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FORMATS
from ...hw.spec.gta import result_bytes
from ...sim.gta.bignum import PIECE_BITS, bignum_product, bignum_shape
from ..common.agreement import Agreement, exactly
from ..common.integers import read_integer, write_integer
from ..common.limits import check_size, counted
from ..common.matrix_files import write_array
from ..common.units.gta import GtaChoice
from .operands import Operand, compare_product, numbers_in, read_operand, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products


def multiply_integers(choice: GtaChoice, a: Path, b: Path, output: Path | None) -> None:
    """Multiply the integers of two files, write the product if that is asked for, and report."""
    x, y = read_integer(a), read_integer(b)
    rows, cols, depth = bignum_shape(x.bit_length(), y.bit_length())
    check_products(f"the product of {a} and {b}", choice, rows * cols * depth)
    with GtaProducts(choice) as products:
        found = bignum_product(x, y, products.multiply)
    expected = x * y
    wrong = (found ^ expected).bit_count()
    bits = expected.bit_length()
    agreement = Agreement(
        source="Python's integers", criterion="exact", values=bits, wrong=wrong, named="bits"
    )
    lines = [
        ("integers", f"{counted(x.bit_length(), 'bit')} and {counted(y.bit_length(), 'bit')}, in "
                     f"pieces of {PIECE_BITS}"),
        ("product", counted(bits, "bit")),
    ]  # fmt: skip
    if output:
        write_integer(output, found)
        lines.append(("written", str(output)))
    details = {
        "bits": {"a": x.bit_length(), "b": y.bit_length(), "product": bits},
        "shape": [rows, depth, cols],
    }
    title = f"{a.name} x {b.name}"
    gta_report("bignum", title, lines, choice, products.tally, [agreement], details).finish()


Patterns = NDArray[np.uint64]

_BITS = 16
_LONG_BITS = 128


def addend_words(addend: Operand | None, sums: str) -> Patterns | None:
    """C as the accelerator takes it: of "long" sums each number is two words, the low one first."""
    if addend is None or sums != "long":
        return addend.words if addend else None
    signs = np.where(addend.values < 0, np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(0))
    return np.stack([addend.words, signs], axis=-1)


def kept_numbers(words: Patterns, format: str, sums: str) -> NDArray[Any]:
    """Results as they are written: "long" ones as patterns of 64 bits, (M, N, 2)."""
    return words if sums == "long" else numbers_in(words, result_format(format))


@dataclass(frozen=True, kw_only=True)
class _Range:
    """Range of two's complement numbers of ``bits``."""

    bits: int

    @property
    def highest(self) -> int:
        return (1 << (self.bits - 1)) - 1

    def beyond(self, numbers: NDArray[Any]) -> int:
        """Counts the numbers outside the range."""
        return int(np.count_nonzero((numbers > self.highest) | (numbers < ~self.highest)))


def compare_sums(
    path: Path, format: str, sums: str, words: Patterns, a: Operand, b: Operand, c: Operand | None
) -> tuple[Agreement, int]:
    """A product, and C, in integers that are saturated or long, against NumPy's products of pieces
    of 16 bits, added up in Python's integers; and how many sums the usual width does not hold.

    ``path`` is A's to messages. Raises UserError if sums that are clamped have more than 128 bits:
    what the accelerator clamps it has modulo 2^128.
    """
    exact = _exact(a, b, format)
    if c is not None:
        exact = exact + c.values.astype(object)
    usual, whole = _Range(bits=8 * result_bytes(format)), _Range(bits=_LONG_BITS)
    if sums == "long":
        pairs = words.astype(object)
        found = pairs[..., 0] | pairs[..., 1] << 64
        expected = exact & ((1 << _LONG_BITS) - 1)
        return exactly("Python's integers, modulo 2^128", found, expected), usual.beyond(exact)
    if count := whole.beyond(exact):
        raise UserError(f"{path}: {count} of {exact.size} sums have more than {_LONG_BITS} bits, "
                        "and are clamped modulo 2^128")  # fmt: skip
    found = numbers_in(words, result_format(format)).astype(object)
    expected = np.clip(exact, ~usual.highest, usual.highest)
    return exactly(f"Python's integers, clamped to {usual.bits} bits", found, expected), (
        usual.beyond(exact)
    )


def _exact(a: Operand, b: Operand, format: str) -> NDArray[Any]:
    """Sums of products of two pieces fit int64 for any K that memory holds."""
    bits = int(format.removeprefix("int"))
    total: NDArray[Any] = np.zeros((len(a.values), b.values.shape[1]), object)
    for i, left in enumerate(_pieces(a.values, bits)):
        for j, right in enumerate(_pieces(b.values, bits)):
            total = total + ((left @ right).astype(object) << (_BITS * (i + j)))
    return total


def _pieces(values: NDArray[np.int64], bits: int) -> list[NDArray[np.int64]]:
    """The lowest first; the top one has the sign."""
    count = max(1, bits // _BITS)
    low = [values >> (_BITS * n) & ((1 << _BITS) - 1) for n in range(count - 1)]
    return [*low, values >> (_BITS * (count - 1))]


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
    gta_report("gemm", title, lines, choice, products.tally, [agreement], details).finish()
