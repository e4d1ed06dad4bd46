"""Transforms of signals on a tensor unit, against NumPy's and against the definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...sim.tcu import TensorUnit
from ...sim.tcu.formulas.transform import chirp_length, level_rows, radices
from ...sim.tcu.transform.dft import dft, inverse_dft, root_modulo
from ...sim.tcu.transform.rounding import transform_error, transform_underflow
from ...sim.tcu.words import COMPLEX, Array, Words, modular
from ...sim.tcu.words.floats import Floats
from ..common.agreement import Agreement, exactly, within
from ..common.limits import counted
from ..common.matrix_files import read_array, write_array
from ..common.rounding import warn_special
from .algorithm_report import tcu_report
from .options import MODULAR, TcuChoice
from .unit import as_words, computing, open_unit, smaller_than_a_block, words_named

__all__ = ["transform_signals"]

_PLACES = 16
"""Places at which a transform modulo a prime is held against the definition."""


def transform_signals(
    choice: TcuChoice,
    file: Path,
    words: str | None,
    prime: int | None,
    inverse: bool,
    output: Path | None,
) -> None:
    """Transform the signals of a file, write the result if that is asked for, and report."""
    x = _signals(file)
    named = words or ("complex" if np.iscomplexobj(x) else "fp64")
    residues = prime if words in (None, MODULAR) else None
    kind: Words = modular(residues) if residues else words_named(named)
    unit = open_unit(choice, kind)
    modulus = prime if words == "int64" else None
    if isinstance(kind, Floats):
        with user_errors(TypeError, ValueError, about=str(file)):
            # Real words hold the parts of complex numbers.
            kind.array(x.real)
            kind.array(x.imag)
        warn_special(file, x)
    else:
        x = as_words(file, x, kind)
    with computing(unit, f"the transform of {file}"):
        found = (inverse_dft if inverse else dft)(unit, x, modulus)
    if isinstance(kind, Floats):
        agreement = _beside_numpy(unit, found, x.astype(found.dtype), inverse)
    else:
        agreement = _beside_definition(unit, found, x, prime or 0, inverse)
    count, n = np.atleast_2d(x).shape
    factors = radices(n, unit.s)
    how = (
        " x ".join(map(str, factors)) or "1"
        if factors is not None
        else f"a prime factor above {unit.s}: convolution of "
        f"{chirp_length(n, unit.s, prime - 1 if prime else 0):,} places with a chirp"
    )
    rows = [
        ("signals", f"{counted(count, 'signal')} of {counted(n, 'number')}"),
        ("factors", how),
        *smaller_than_a_block(unit.s, *_rows_of_levels(count, n, unit.s)),
    ]
    if output:
        write_array(output, found)
        rows.append(("written", str(output)))
    details = {"signals": count, "length": n, "inverse": inverse, "modulus": prime,
               "factors": factors}  # fmt: skip
    title = f"{'inverse transform' if inverse else 'transform'} of {file.name}"
    tcu_report("fft", title, rows, choice, unit, [agreement], details).finish()


def _rows_of_levels(count: int, n: int, s: int) -> list[int]:
    """Rows of the calls, unless the length has a prime factor above the unit's side."""
    return [s, *(level_rows(count * n, factor, s) for factor in radices(n, s) or ())]


def _signals(file: Path) -> Array:
    x = read_array(file)
    if x.ndim not in (1, 2):
        dimensions = counted(x.ndim, "dimension")
        raise UserError(f"{file}: must hold a signal, or signals as rows, not {dimensions}")
    # A column is a signal: Matrix Market has no other.
    return x.reshape(-1) if x.ndim == 2 and x.shape[1] == 1 else x


def _beside_numpy(unit: TensorUnit, found: Array, x: Array, inverse: bool) -> Agreement:
    """Errors in the 2-norm bound those of each number; NumPy's own are taken for those of a unit
    of side 16."""
    assert isinstance(unit.words, Floats)
    wide = x.astype(complex)
    with np.errstate(all="ignore"):
        true = (np.fft.ifft if inverse else np.fft.fft)(wide)
    n = x.shape[-1]
    error = transform_error(n, unit.s, unit.words) + transform_error(n, 16, COMPLEX)
    with np.errstate(all="ignore"):
        # Scaled, as squares of what is small vanish.
        largest = np.abs(true).max(axis=-1, keepdims=True)
        scale = np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(np.abs(true) / scale, axis=-1, keepdims=True) * scale
    lost = transform_underflow(n, unit.s, unit.words) + transform_underflow(n, 16, COMPLEX)
    bound = np.broadcast_to(norms * error + lost, true.shape)
    return within("NumPy, complex", _parts(found), _parts(true), np.repeat(bound, 2, axis=-1))


def _parts(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers.astype(complex)).view(np.float64)


def _beside_definition(
    unit: TensorUnit, found: Array, x: Array, prime: int, inverse: bool
) -> Agreement:
    """Compares some places of all signals with Horner's rule in Python's integers."""
    rows, seen = np.atleast_2d(x), np.atleast_2d(found)
    n = rows.shape[1]
    places = np.unique(np.linspace(0, rows.size - 1, _PLACES).astype(int))
    root = root_modulo(unit, n, prime)
    if inverse:
        root = pow(root, -1, prime)
    scale = pow(n, -1, prime) if inverse else 1
    expected = []
    for place in places:
        at, value = pow(root, int(place % n), prime), 0
        for number in rows[place // n][::-1].tolist():
            value = (value * at + number) % prime
        expected.append(value * scale % prime)
    return exactly("definition, some places", seen.reshape(-1)[places], np.array(expected))
