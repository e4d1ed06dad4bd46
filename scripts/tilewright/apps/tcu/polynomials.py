"""A polynomial at many points on a tensor unit, against Horner's rule."""

from __future__ import annotations

import decimal
from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu import TensorUnit
from ...sim.tcu.formulas.integers import halvings, parts
from ...sim.tcu.formulas.integers import piece_bits as piece_bits_of
from ...sim.tcu.hardware.held_words import HardwareBackend
from ...sim.tcu.integers.karatsuba import karatsuba
from ...sim.tcu.integers.schoolbook import checked, count_of, schoolbook
from ...sim.tcu.polynomials.evaluation import polyval
from ...sim.tcu.polynomials.rounding import polyval_error
from ...sim.tcu.words import INT64, Array
from ...sim.tcu.words.floats import Floats
from ..common.agreement import Agreement, exactly, within
from ..common.integers import read_integer, write_integer
from ..common.limits import check_operations, check_size, counted
from ..common.matrix_files import read_array, write_array
from .algorithm_report import tcu_report
from .algorithms import ALGORITHMS
from .options import TcuChoice
from .unit import as_words, computing, open_unit, smaller_than_a_block, words_for, work_of


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


_STEPS = 1 << 18
"""Steps of Horner's rule that a check takes, if one point takes no more."""

_DIGITS = 60
"""Decimal digits of the reference: far more than floats have, and than any roundings consume."""


def evaluate(
    choice: TcuChoice,
    coefficients: Path,
    points: Path,
    words: str | None,
    modulus: int | None,
    output: Path | None,
) -> None:
    """Evaluate the polynomial of a file at the points of another, write the values if that is asked
    for, and report."""
    given = [(file, _vector(file)) for file in (coefficients, points)]
    kind = words_for(words, modulus, *(numbers for _, numbers in given))
    a, x = (as_words(file, numbers, kind) for file, numbers in given)
    about = f"the polynomial of {coefficients} at {points}"
    check_size(f"the powers of {points}", len(x), choice.side)
    work = work_of("polyval", choice, d=len(a), p=len(x))
    check_operations(about, work.rows * choice.side, "take fewer points at a time")
    unit = open_unit(choice, kind)
    with computing(unit, about):
        found = polyval(unit, a, x)
    columns = counted(-(-len(a) // unit.s), "column")
    lines = [
        ("polynomial", f"{counted(len(a), 'coefficient')}, in {columns} of {unit.s:,}"),
        ("points", f"{len(x):,}"),
        *smaller_than_a_block(unit.s, len(x), len(a) // unit.s),
    ]
    largest = None
    if isinstance(kind, Floats):
        bound = polyval_error(a, x, unit.s, kind)
        largest = float(bound.max()) if np.isfinite(bound.max()) else None
        shown = "none, as sizes overflow" if largest is None else f"{largest:.2e}, at its largest"
        lines.append(("error bound", shown))
    if output:
        write_array(output, found)
        lines.append(("written", str(output)))
    details = {
        "coefficients": len(a), "points": len(x), "modulus": modulus, "error_bound": largest,
    }  # fmt: skip
    agreement = _agreement(unit, found, a, x, modulus)
    title = f"{coefficients.name} at {points.name}"
    tcu_report("polyval", title, lines, choice, unit, [agreement], details).finish()


def _vector(file: Path) -> Array:
    numbers = read_array(file)
    if numbers.ndim not in (1, 2) or (numbers.ndim == 2 and 1 not in numbers.shape):
        shape = " x ".join(map(str, numbers.shape))
        raise UserError(f"{file}: must hold numbers in one row or column, not {shape}")
    return numbers.reshape(-1)


def _agreement(
    unit: TensorUnit, found: Array, a: Array, x: Array, modulus: int | None
) -> Agreement:
    """Compares the values at all points, or at some if there are many."""
    places = np.unique(np.linspace(0, len(x) - 1, max(1, _STEPS // len(a))).astype(int))
    some = "" if len(places) == len(x) else ", some points"
    if not isinstance(unit.words, Floats):
        expected = np.array([_in_integers(a, int(x[i]), modulus) for i in places], object)
        return exactly(f"Horner's rule in integers{some}", found[places], expected)
    true = np.array([_in_decimals(a, x[i]) for i in places])
    # The reference is rounded to a float.
    smallest = float(np.finfo(np.float64).smallest_subnormal)
    bound = polyval_error(a, x[places], unit.s, unit.words)
    source = f"Horner's rule in {_DIGITS} digits{some}"
    if unit.words.dtype.kind == "c":
        parts, bound = _parts(true), np.repeat(bound, 2)
        return within(
            source, _parts(found[places]), parts, bound + abs(parts) * 2.0**-53 + smallest
        )
    return within(source, found[places], true.real, bound + abs(true.real) * 2.0**-53 + smallest)


def _in_integers(a: Array, x: int, modulus: int | None) -> int:
    found = 0
    for one in a[::-1].tolist():
        found = found * x + one
        if modulus:
            found %= modulus
    return found


def _in_decimals(a: Array, x: complex) -> complex:
    """Evaluates a polynomial in decimals. Parts of all numbers are exact; values that are not
    finite give results that are not finite."""
    if not np.isfinite(x) or not np.all(np.isfinite(a)):
        return complex("nan")
    with decimal.localcontext() as context:
        context.prec, context.Emax = _DIGITS, decimal.MAX_EMAX
        context.Emin = decimal.MIN_EMIN
        c, e = decimal.Decimal(float(x.real)), decimal.Decimal(float(x.imag))
        re = im = decimal.Decimal(0)
        for one in a[::-1]:
            re, im = re * c - im * e, re * e + im * c
            re += decimal.Decimal(float(one.real))
            im += decimal.Decimal(float(one.imag))
        return complex(float(re), float(im))


def _parts(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers.astype(complex)).view(np.float64)
