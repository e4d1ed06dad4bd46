"""Finite impulse responses on GTA, against NumPy.

Filters over a channel are a product of matrices: row t of the left one is the newest K samples at
time t, newest first, zeros before the signal; column f of the right one is filter f.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import INT_FORMATS
from ..common.limits import check_size
from ..common.matrix_files import write_array
from ..common.rounding import say
from ..common.words import counted
from .agreement import exactly
from .operands import numbers_in, result_format
from .options import GtaChoice
from .products import GtaProducts, check_products
from .report import finish_gta
from .signals import read_signal, read_taps

__all__ = ["filter_signal"]

_SUMS = INT_FORMATS["int32"]


def filter_signal(
    choice: GtaChoice, signal: Path, taps: Path, saturate: bool, output: Path | None
) -> None:
    """Filter each channel of a signal by each filter, write that, (samples, channels, filters), if
    it is asked for, and report. Sums beyond 32 bits are clamped, or modulo 2^32 and said."""
    samples, filters = read_signal(signal, choice.format), read_taps(taps, choice.format)
    (length, channels), (depth, count) = samples.words.shape, filters.words.shape
    what = f"{signal} through {taps}"
    check_size(what, length, channels, count)
    check_size(f"the windows of {signal}", length, depth)
    check_products(what, choice, length * channels * count * depth)
    kept = "saturate" if saturate else "wrap"
    with GtaProducts(choice) as products:
        each = [
            products.multiply(_windows(channel, depth), filters.words, result=kept)
            for channel in samples.words.T
        ]
    found = numbers_in(np.stack(each, axis=1), result_format(choice.format))
    exact = _reference(samples.values, filters.values)
    beyond = int(np.count_nonzero((exact < _SUMS.lowest) | (exact > _SUMS.highest)))
    if beyond:
        become = "are clamped" if saturate else "are modulo 2^32: --saturate clamps them"
        say(f"{what}: {beyond} of {exact.size} sums are not in {_SUMS.lowest}..{_SUMS.highest} and "
            f"{become}")  # fmt: skip
    fitted = np.clip(exact, _SUMS.lowest, _SUMS.highest) if saturate else exact
    agreement = exactly("NumPy", found, fitted.astype(np.int32))
    lines = [
        ("signal", f"{counted(length, 'sample')}, {counted(channels, 'channel')}"),
        ("filters", f"{count:,} of {counted(depth, 'tap')}"),
        ("sums", f"of 32 bits, {beyond:,} beyond them"),
    ]
    if output:
        write_array(output, found)
        lines.append(("result", str(output)))
    details = {
        "samples": length, "channels": channels, "taps": depth, "filters": count,
        "saturate": saturate, "beyond": beyond,
    }  # fmt: skip
    title = f"{signal.name} through {taps.name}"
    finish_gta("fir", title, lines, choice, products.tally, [agreement], details)


def _windows(channel: NDArray[np.uint64], depth: int) -> NDArray[np.uint64]:
    padded = np.concatenate([np.zeros(depth - 1, np.uint64), channel])
    return np.lib.stride_tricks.sliding_window_view(padded, depth)[:, ::-1]


def _reference(samples: NDArray[np.int64], filters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of products of 16 bits each, which int64 holds; NumPy's convolution of integers."""
    length = len(samples)
    return np.stack(
        [
            np.stack([np.convolve(channel, taps)[:length] for taps in filters.T], axis=-1)
            for channel in samples.T
        ],
        axis=1,
    )
