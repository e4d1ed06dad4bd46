"""``tilewright run bigmul``: the product of two long integers on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ...common.files import check_output, check_readable
from ..options import TcuOptions, choose_tcu

__all__ = ["bigmul"]

_SUFFIXES = (".txt", ".hex")
_METHODS = ("karatsuba", "schoolbook")


def bigmul(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="An integer, decimal, or hexadecimal after 0x.")
    ],
    b: Annotated[
        Path, typer.Argument(metavar="B", help="Another integer. A .hex file needs no 0x.")
    ],
    method: Annotated[
        str, typer.Option(help="karatsuba (halves, down to a call each) or schoolbook.")
    ] = "karatsuba",
    piece_bits: Annotated[
        int | None,
        typer.Option(
            parser=whole("--piece-bits", 1, 64),
            metavar="N",
            help="Bits of a piece; default: the most with which a word holds sums of s products.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write the product, .txt (decimal) or .hex (hexadecimal)."
        ),
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Multiply two long integers on a tensor unit, in pieces, by halves or all by all.

    Integers from 0 on, of up to 2^20 bits each; the product is checked against Python's, bit for
    bit.
    """
    choice = choose_tcu(options)
    if method not in _METHODS:
        raise UserError(not_one_of("--method", _METHODS, method))
    if choice.limbs:
        raise UserError("--limbs must be left out: integers are in pieces, of --piece-bits")
    if output:
        check_output(output, _SUFFIXES)
    for file in (a, b):
        check_readable(file)
    from ..polynomials import multiply_integers

    multiply_integers(choice, method, piece_bits, a, b, output)
