"""The product of two long integers on GTA, against Python's."""

from __future__ import annotations

from pathlib import Path

from ...sim.gta.bignum import PIECE_BITS, bignum_product, bignum_shape
from ..common.agreement import Agreement
from ..common.integers import read_integer, write_integer
from ..common.limits import counted
from ..common.units.gta import GtaChoice
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["multiply_integers"]


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
