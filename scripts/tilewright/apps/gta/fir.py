"""Finite impulse responses on GTA, against NumPy.

Filters over a channel are a product of matrices: row t of the left one is the newest K samples at
time t, newest first, zeros before the signal; column f of the right one is filter f.
"""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import INT_FORMATS
from ..common.agreement import exactly
from ..common.files import read_content
from ..common.limits import check_size, counted
from ..common.matrix_files import write_array
from ..common.rounding import say
from ..common.units.gta import GtaChoice
from .operands import Operand, numbers_in, operand_of, read_numbers, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["filter_signal"]

_BYTES = 2
"""Bytes of a sample."""


def read_signal(path: Path, format: str) -> Operand:
    """Reads samples and channels, (samples, channels). Raises UserError for other arrays, and for
    values that do not fit."""
    array = _sound(path) if path.suffix.lower() == ".wav" else read_numbers(path, None)
    return operand_of(path, _columns(path, array, "samples x channels"), format)


def read_taps(path: Path, format: str) -> Operand:
    """Reads coefficients of filters, (taps, filters), the first one for the newest sample. Raises
    as `read_signal`."""
    return operand_of(path, _columns(path, read_numbers(path, None), "taps x filters"), format)


def _columns(path: Path, array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.ndim not in (1, 2):
        shape = " x ".join(map(str, array.shape))
        raise UserError(f"{path}: must be one line of numbers, or {what}, not {shape}")
    return array.reshape(len(array), -1)


def _sound(path: Path) -> NDArray[np.int16]:
    content = read_content(path)
    try:
        with wave.open(io.BytesIO(content)) as sound:
            width, channels = sound.getsampwidth(), sound.getnchannels()
            if width != _BYTES:
                raise UserError(f"{path}: must have samples of 16 bits, not of {8 * width}")
            check_size(path, sound.getnframes(), channels)
            frames = sound.readframes(sound.getnframes())
    except (wave.Error, EOFError, OSError, ValueError, RuntimeError) as error:
        reason = (str(error) or "it ends too soon").splitlines()[0]
        raise UserError(f"{path}: not a sound that can be read: {reason}") from None
    if len(frames) % (_BYTES * channels):
        raise UserError(f"{path}: not a sound that can be read: its last sample is not whole")
    check_size(path, len(frames) // (_BYTES * channels), channels)
    return np.frombuffer(frames, "<i2").reshape(-1, channels)


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
    gta_report("fir", title, lines, choice, products.tally, [agreement], details).finish()


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
