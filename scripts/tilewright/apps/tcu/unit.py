"""The tensor unit that was asked for, words by name, and a file's numbers as words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path

import numpy as np

from ...errors import UserError, user_errors
from ...hw.spec.host.activity import activity
from ...hw.spec.unit import named_object
from ...sim.tcu import Backend, Cost, NumpyBackend, TensorUnit, UnitWork
from ...sim.tcu.split.narrow_reference import NarrowBackend
from ...sim.tcu.split.split_unit import SplitUnit
from ...sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Array,
    Words,
    integer,
    modular,
)
from ...sim.tcu.words.floats import Floats
from ...sim.tcu.words.integers import Integers
from ...sim.tcu.words.modular import Residues
from ..common.limits import counted
from ..common.rounding import warn_special
from .algorithm_report import Rows
from .algorithms import ALGORITHMS
from .hardware.calibration import calibration_of, open_backend
from .options import TcuChoice, whole_if_so

__all__ = ["as_words", "computing", "latency_on", "open_unit", "padded_to",
           "smaller_than_a_block", "words_for", "words_named", "work_of"]  # fmt: skip


def padded_to(shape: tuple[int, ...], *wide: tuple[int, ...]) -> str:
    """Returns the text on padding after a shape, operands of one shape once; empty without."""
    shapes = dict.fromkeys(wide)
    texts = [" x ".join(f"{length:,}" for length in one) for one in shapes]
    return f", padded to {' and '.join(texts)}" if set(shapes) != {shape} else ""


def smaller_than_a_block(s: int, *sides: int) -> Rows:
    """A row for operands of which a side is less than that of a block; none for others."""
    if min(sides) >= s:
        return []
    return [("padding", f"operands are smaller than a block of {s:,} x {s:,}: padded to one")]


def work_of(algorithm: str, choice: TcuChoice, **sizes: int) -> UnitWork:
    """Calls and rows of an algorithm of the list on the unit that is asked for."""
    formula = named_object(ALGORITHMS[algorithm].formula)
    weak = {"weak": choice.weak} if "weak" in signature(formula).parameters else {}
    cost = formula(**sizes, s=choice.side, **weak)
    assert isinstance(cost, Cost)
    return cost.work


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
    """Guards the run of an algorithm: errors become a UserError ``about`` something, infinite
    results are reported later, and calls are counted as they are made."""
    with (
        user_errors(ValueError, about=about),
        np.errstate(all="ignore"),
        activity(f"computing on {unit.backend.name}") as shown,
    ):
        unit.on_call = lambda: shown.about(counted(unit.cost.calls, "call"))
        yield


def latency_on(choice: TcuChoice, backend: Backend, words: Words) -> float:
    """Returns l of calls on such words: the one given, or the calibrated one, else 0."""
    if choice.latency is not None:
        return choice.latency
    calibrated = calibration_of(backend, words) if backend.holds(words) else None
    return whole_if_so(calibrated.latency) if calibrated else 0


def words_for(words: str | None, modulus: int | None, *numbers: Array) -> Words:
    """Words of a name, or residues; unless said, floats that hold all the numbers."""
    if modulus is not None:
        return modular(modulus)
    complex_ = any(np.iscomplexobj(one) for one in numbers)
    return words_named(words or ("complex" if complex_ else "fp64"))


def as_words(path: Path, numbers: Array, words: Words) -> Array:
    """A file's numbers as words. Says on stderr if some are infinite or NaN; raises UserError for
    numbers that the words do not hold."""
    whole = words.kind.startswith("int") or words.kind == "modular"
    if whole and not np.iscomplexobj(numbers):
        if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.round(numbers)):
            raise UserError(f"{path}: must hold integers for words of {words.name}")
        fit = np.abs(numbers).max(initial=0) < 1 << 63
        numbers = numbers.astype(np.int64) if fit else np.vectorize(int, otypes=[object])(numbers)
    with user_errors(TypeError, ValueError, about=str(path)):
        found = words.array(numbers)
    if isinstance(words, Floats):
        warn_special(path, numbers)
    return found
