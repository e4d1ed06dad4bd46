"""How many cases a test runs, and mixes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FloatFormat
from tilewright.verif.oracles import stimuli

__all__ = ["QUICK", "cases", "draw_until", "operand_pairs", "slow_but"]

QUICK = os.environ.get("TILEWRIGHT_QUICK") == "1"
"""Whether the quick test is asked for: a tenth of the random cases."""

Patterns = npt.NDArray[np.uint64]
Drawn = TypeVar("Drawn")


def cases(full: int) -> int:
    """The number of cases to run of ``full``."""
    return full // 10 if QUICK else full


def draw_until(draw: Callable[[], Drawn | None], tries: int = 1000) -> Drawn:
    """The first result of ``draw`` that is not None. Raises AssertionError if there is none."""
    for _ in range(tries):
        drawn = draw()
        if drawn is not None:
            return drawn
    raise AssertionError(f"none of {tries} draws was of use")


def slow_but(keep: Iterable[Any], among: Iterable[Any]) -> list[Any]:
    """Parameters of a test, all but ``keep`` marked slow: those the quick test leaves out."""
    kept = list(keep)
    return [x if x in kept else pytest.param(x, marks=pytest.mark.slow) for x in among]


def operand_pairs(fmt: FloatFormat, count: int, seed: int) -> tuple[Patterns, Patterns]:
    """All pairs of special values, then random pairs to make ``count``: each kind of value with
    itself, exponents close together, and the same magnitude but for a last place or two."""
    rng = np.random.default_rng(seed)
    special_a, special_b = stimuli.special_pairs(fmt)
    columns = [(special_a, special_b)]
    part = max(1, (count - len(special_a)) // (len(stimuli.VALUE_KINDS) + 2)) + 1
    for kind in stimuli.VALUE_KINDS:
        columns.append(
            (stimuli.values(rng, kind, (part,), fmt), stimuli.values(rng, kind, (part,), fmt))
        )
    base = stimuli.values(rng, "log_uniform", (part,), fmt)
    columns.append((base, stimuli.near_values(rng, base, fmt, fmt.significand_bits + 2)))
    twin = base ^ np.uint64(1 << (fmt.bits - 1))
    columns.append((base, twin ^ rng.integers(0, 4, base.shape, dtype=np.uint64)))
    a = np.concatenate([left for left, _ in columns])
    b = np.concatenate([right for _, right in columns])
    return a, b
