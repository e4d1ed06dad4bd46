"""The product of two long integers on a tensor unit, against Python's."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError, user_errors
from ...sim.tcu import TensorUnit
from ...sim.tcu.formulas.integers import halvings, parts
from ...sim.tcu.formulas.integers import piece_bits as piece_bits_of
from ...sim.tcu.hardware.tally import HardwareBackend
from ...sim.tcu.integers.karatsuba import karatsuba
from ...sim.tcu.integers.pieces import checked, count_of
from ...sim.tcu.integers.schoolbook import schoolbook
from ...sim.tcu.words import INT64
from ..common.agreement import Agreement
from ..common.integers import read_integer, write_integer
from ..common.limits import check_operations, counted
from .algorithm_report import tcu_report
from .algorithms import ALGORITHMS
from .options import TcuChoice
from .unit import computing, open_unit, smaller_than_a_block, work_of

__all__ = ["multiply_integers"]


def multiply_integers(
    choice: TcuChoice, method: str, piece_bits: int | None, a: Path, b: Path, output: Path | None
) -> None:
    """Multiply the integers of two files, write the product if that is asked for, and report."""
    x, y = (_natural(file) for file in (a, b))
    unit = open_unit(choice, INT64)
    most, holder = _most_bits(unit)
    if piece_bits is not None and most >= 1 and piece_bits > most:
        raise UserError(
            f"--piece-bits must be in 1..{most}, for {holder} to hold sums of {unit.s} products, "
            f"not {piece_bits}"
        )
    about = f"the product of {a} and {b}"
    with user_errors(ValueError, about=about):
        piece = checked(unit, method, x, y, piece_bits or (most if most >= 1 else None))
    pieces = [count_of(value, piece) for value in (x, y)]
    n = max(pieces)
    work = work_of(method, choice, n=n)
    check_operations(about, work.rows * unit.s, "choose another --m or wider pieces")
    with computing(unit, about):
        found = (karatsuba if method == "karatsuba" else schoolbook)(unit, x, y, piece)
    expected = x * y
    bits = expected.bit_length()
    agreement = Agreement(
        source="Python's integers", criterion="exact", values=bits,
        wrong=(found ^ expected).bit_count(), named="bits",
    )  # fmt: skip
    h = halvings(n, unit.s) if method == "karatsuba" else 0
    halved = f", halved {counted(h, 'time')}: products of {parts(n, h):,}" if h else ""
    lines = [
        ("method", f"{method}: {ALGORITHMS[method].problem}"),
        ("integers", f"{counted(x.bit_length(), 'bit')} and {counted(y.bit_length(), 'bit')}"),
        ("pieces", f"{pieces[0]:,} and {pieces[1]:,} of {counted(piece, 'bit')}{halved}"),
        ("product", counted(bits, "bit")),
        *smaller_than_a_block(unit.s, n // unit.s),
    ]
    if output:
        write_integer(output, found)
        lines.append(("written", str(output)))
    details = {
        "method": method,
        "bits": {"a": x.bit_length(), "b": y.bit_length(), "product": bits},
        "piece_bits": piece,
        "pieces": {"a": pieces[0], "b": pieces[1]},
        "halvings": h,
    }
    tcu_report("bigmul", f"{a.name} x {b.name}", lines, choice, unit, [agreement], details).finish()


def _most_bits(unit: TensorUnit) -> tuple[int, str]:
    """Returns the most bits of a piece, and the name of their limit: the words or the hardware."""
    most, holder = piece_bits_of(unit.s, INT64.bits), "int64"
    if isinstance(unit.backend, HardwareBackend):
        held = unit.backend.kind.integers[-1]
        here = min(held.operand_bits - 1, piece_bits_of(unit.s, held.result_bits))
        if here < most:
            return here, f"integers of {held.result_bits} bits of {unit.backend.name}"
    return most, holder


def _natural(file: Path) -> int:
    value = read_integer(file)
    if value < 0:
        raise UserError(f"{file}: must hold an integer from 0, not a negative one")
    return value
