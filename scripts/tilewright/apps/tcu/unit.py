"""The tensor unit that was asked for, and words by name."""

from __future__ import annotations

from ...errors import user_errors
from ...sim.tcu import TensorUnit
from ...sim.tcu.words import BOOLEAN, COMPLEX, COMPLEX64, FP32, FP64, INT64, MINPLUS, Words, integer
from .hardware.opened import calibration_of, open_backend
from .options import TcuChoice, whole_if_so

__all__ = ["open_unit", "words_named"]

_INTEGERS = (integer(8), integer(16), integer(32), INT64)
_HELD = (FP32, FP64, COMPLEX64, COMPLEX, *_INTEGERS, BOOLEAN, MINPLUS)
_NAMED: dict[str, Words] = {words.name: words for words in _HELD}


def words_named(name: str) -> Words:
    """Words of a name that a command has checked."""
    return _NAMED[name]


def open_unit(choice: TcuChoice, words: Words) -> TensorUnit:
    """The unit, on its backend. Raises UserError for words that it does not hold."""
    backend, latency = open_backend(choice), choice.latency
    if latency is None:
        calibrated = calibration_of(backend, words) if backend.holds(words) else None
        latency = whole_if_so(calibrated.latency) if calibrated else 0
    with user_errors(ValueError):
        return TensorUnit(backend, words, latency, choice.weak)
