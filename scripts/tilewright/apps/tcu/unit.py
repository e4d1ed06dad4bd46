"""The tensor unit that was asked for, and words by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ...errors import UserError, user_errors
from ...hw.spec.host.activity import activity
from ...sim.tcu import Backend, NumpyBackend, TensorUnit
from ...sim.tcu.split.narrow_reference import NarrowBackend
from ...sim.tcu.split.split_unit import SplitUnit
from ...sim.tcu.words import BOOLEAN, COMPLEX, COMPLEX64, FP32, FP64, INT64, MINPLUS, Words, integer
from ...sim.tcu.words.integers import Integers
from ...sim.tcu.words.modular import Residues
from ..common.words import counted
from .hardware.opened import calibration_of, open_backend
from .options import TcuChoice, whole_if_so

__all__ = ["computing", "latency_on", "open_unit", "words_named"]

LIMB_SUMS = 32
"""Bits of the sums of products of limbs."""
_INTEGERS = (integer(8), integer(16), integer(32), INT64)
_HELD = (FP32, FP64, COMPLEX64, COMPLEX, *_INTEGERS, BOOLEAN, MINPLUS)
_NAMED: dict[str, Words] = {words.name: words for words in _HELD}


def words_named(name: str) -> Words:
    """Words of a name that a command has checked."""
    return _NAMED[name]


def open_unit(choice: TcuChoice, words: Words) -> TensorUnit:
    """The unit, on its backend. Raises UserError for words that it does not hold, or that have no
    limbs if those are asked for."""
    if choice.limbs and not isinstance(words, Integers | Residues):
        raise UserError(f"--limbs must come with words of integers or residues, not {words.name}")
    narrow = integer(LIMB_SUMS) if choice.limbs else words
    backend = open_backend(choice)
    if choice.limbs and isinstance(backend, NumpyBackend):
        backend = NarrowBackend(backend.side)
    latency = latency_on(choice, backend, narrow)
    with user_errors(ValueError):
        if choice.limbs:
            return SplitUnit(backend, words, latency, choice.weak, sums=LIMB_SUMS)
        return TensorUnit(backend, words, latency, choice.weak)


@contextmanager
def computing(unit: TensorUnit, about: str) -> Iterator[None]:
    """Meanwhile an algorithm runs: what it refuses is a UserError ``about`` something, what becomes
    infinite is told in the report, and calls are counted as they are made."""
    with (
        user_errors(ValueError, about=about),
        np.errstate(all="ignore"),
        activity(f"computing on {unit.backend.name}") as shown,
    ):
        unit.on_call = lambda: shown.about(counted(unit.cost.calls, "call"))
        yield


def latency_on(choice: TcuChoice, backend: Backend, words: Words) -> float:
    """l of calls on such words: as asked for, or as calibrated, 0 of what is not."""
    if choice.latency is not None:
        return choice.latency
    calibrated = calibration_of(backend, words) if backend.holds(words) else None
    return whole_if_so(calibrated.latency) if calibrated else 0
