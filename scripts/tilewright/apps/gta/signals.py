"""Signals of int16 from files: NumPy arrays, or sounds as .wav files have them."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.files import read_content
from ..common.limits import check_size
from .operands import Operand, operand_of, read_numbers

__all__ = ["read_signal", "read_taps"]

_BYTES = 2
"""Of a sample."""


def read_signal(path: Path, format: str) -> Operand:
    """Samples and channels, (samples, channels). Raises UserError for what is none, and for values
    that do not fit."""
    array = _sound(path) if path.suffix.lower() == ".wav" else read_numbers(path, None)
    return operand_of(path, _columns(path, array, "samples x channels"), format)


def read_taps(path: Path, format: str) -> Operand:
    """Coefficients of filters, (taps, filters), the first one of the newest sample. Raises
    likewise."""
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
