"""The discrete Fourier transform of a signal, by complex products on a matrix unit.

Cooley-Tukey, decimation in time, mixed radix. A stage that joins ``r`` transforms of length ``L``
into one of length ``r L`` computes, for every ``k`` below ``L`` and every ``q`` below ``r``,

    X[k + L q] = sum over j of  W^(j (k + L q)) Y_j[k],    W = exp(-2 pi i / (r L)),

which is one r x r matrix for each k, times a column for each transform of the stage. The twiddle
factors are inside these matrices, rounded to fp32 once, so that a stage rounds each value once and
needs no separate pass of element-wise products.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.files import need
from ..common.matrix_files import write_array
from ..common.rounding import warn_rounding
from ..common.units.matrix_unit import UnitChoice
from ..common.units.matrix_unit_numbers import Numbers
from ..common.units.matrix_unit_runs import Multiply, matrix_unit_report, measure, product_unit

__all__ = ["transform", "transform_signal"]

Words = NDArray[np.uint64]


def transform_signal(
    choice: UnitChoice,
    name: str,
    signal: NDArray[Any],
    factors: list[int],
    output: Path | None,
) -> None:
    """Transform a signal whose length has these factors, write the spectrum if that is asked for,
    and report."""
    rounded = choice.numbers.operands(signal)
    warn_rounding(name, rounded, choice.numbers.element)
    count = sum(
        choice.operations(batch, (r, r, columns))
        for r, batch, columns in _stages(len(signal), factors)
    )
    with product_unit(choice, count) as (multiply, tally):
        spectrum = transform(rounded.words, factors, multiply, choice.numbers)
    errors = _errors(spectrum, rounded.values)
    lines = [("length", f"{len(signal):,} = " + " x ".join(map(str, factors)))]
    if output:
        write_array(output, spectrum)
        lines.append(("spectrum", str(output)))
    details = {"signal": name, "length": len(signal), "radices": factors}
    matrix_unit_report("dft", f"DFT of {name}", lines, choice, tally, errors, details).finish()


def _stages(length: int, factors: list[int]) -> list[tuple[int, int, int]]:
    """Radix, matrices (the length joined so far) and columns (transforms left) of each stage."""
    stages, joined = [], 1
    for radix in factors:
        stages.append((radix, joined, length // (joined * radix)))
        joined *= radix
    return stages


def transform(
    signal: Words, factors: list[int], multiply: Multiply, numbers: Numbers
) -> NDArray[np.complex64]:
    """The transform of fp32c words, a product of batches of matrices for each factor."""
    current = signal.reshape(len(signal), 1)
    for radix, joined, columns in _stages(len(signal), factors):
        matrices = numbers.operands(_matrices(radix, joined)).words
        inputs = current.reshape(radix, columns, joined).transpose(2, 0, 1)
        joined_up = multiply(matrices, np.ascontiguousarray(inputs))
        current = joined_up.transpose(2, 1, 0).reshape(columns, radix * joined)
    spectrum: NDArray[np.complex64] = numbers.results(current.reshape(-1))
    return spectrum


def _matrices(radix: int, joined: int) -> NDArray[np.complex128]:
    """(joined, radix, radix): W^(j (k + L q)) at [k, q, j], the exponent reduced exactly."""
    total = radix * joined
    k = np.arange(joined, dtype=np.int64)[:, np.newaxis, np.newaxis]
    q = np.arange(radix, dtype=np.int64)[:, np.newaxis]
    j = np.arange(radix, dtype=np.int64)
    eighths, rest = np.divmod(8 * (j * (k + joined * q) % total), total)
    # A rotation by whole eighths of a turn and a remainder below one: exact at the quarters.
    angle = -2 * np.pi * (rest / total) / 8
    turn = np.array([1, 0, -1j, 0, -1, 0, 1j, 0]) + np.array(
        [0, 1 - 1j, 0, -1 - 1j, 0, -1 + 1j, 0, 1 + 1j]
    ) * np.sqrt(0.5)
    exact: NDArray[np.complex128] = turn[eighths] * (np.cos(angle) + 1j * np.sin(angle))
    return exact


def _errors(spectrum: NDArray[np.complex64], signal: NDArray[Any]) -> dict[str, Any]:
    fft = need("scipy.fft", "SciPy")
    with np.errstate(all="ignore"):
        reference = np.fft.fft(signal)
        single = fft.fft(signal.astype(np.complex64))
        return {
            "unit": measure(spectrum, reference),
            "scipy_complex64": measure(single, reference),
        }
