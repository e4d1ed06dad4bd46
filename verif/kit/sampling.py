"""The sizes of the test: how many cases each runs, what it may cost, and mixes of cases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FloatFormat, Format, IntFormat
from tilewright.verif.oracles import stimuli

_MANY = 1000
_MODULE_MARKS = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)
_SIZES = ("quick", "default", "long")

SIZE = os.environ.get("TILEWRIGHT_TESTS", "default")
"""Size of the test: ``quick``, ``default`` or ``long``; each includes the one before."""

if SIZE not in _SIZES:
    raise ValueError(f"`TILEWRIGHT_TESTS` must be one of {', '.join(_SIZES)}, not {SIZE!r}")

BARS = (240, 2527)
"""The sums that the quick and the default test keep within: they grow by 20 and by 240 with a
system, and by nothing else."""

REST = "imports, collection"
"""Time of all processes of a run besides the tests."""

TYPES = "lint, types"
"""Time of the checks that ``scripts/test`` runs before the tests."""

BUDGET: dict[str, tuple[int, int]] = {
    "verif": (8, 9),
    "verif/api": (4, 38),
    "verif/apps": (8, 106),
    "verif/arith": (14, 79),
    "verif/axi": (3, 70),
    "verif/bench": (1, 2),
    "verif/c2sr": (1, 24),
    "verif/board": (0, 150),
    "verif/catalogue": (0, 138),
    "verif/channels": (3, 14),
    "verif/ciss": (1, 4),
    "verif/command_line": (6, 56),
    "verif/conformance": (100, 198),
    "verif/emit": (15, 92),
    "verif/engine": (4, 33),
    "verif/examples": (0, 165),
    "verif/gta": (4, 163),
    "verif/harness": (1, 23),
    "verif/job": (2, 36),
    "verif/matraptor": (5, 83),
    "verif/matrix_units": (8, 60),
    "verif/mutation": (0, 14),
    "verif/package": (0, 15),
    "verif/proofs": (0, 42),
    "verif/protocol": (0, 3),
    "verif/sida": (5, 158),
    "verif/site": (0, 55),
    "verif/soak": (0, 12),
    "verif/sparse": (1, 2),
    "verif/stream": (8, 17),
    "verif/synth": (1, 103),
    "verif/t2s": (3, 170),
    "verif/tables": (1, 36),
    "verif/tcu": (7, 94),
    "verif/tensaurus": (4, 122),
    "verif/timing": (3, 2),
    REST: (15, 79),
    TYPES: (4, 60),
}
"""Processor time of the quick and the default test, by folder."""

_MARGIN = 2.5
_SLACK = 30.0
"""A folder may take ``_MARGIN`` times its part of a run, and ``_SLACK`` seconds: the first one
compiles what others share."""
_SLOWEST = 4.0
"""The largest ratio of a machine's time to that of the budget's machine. Shared processors take up
to twice as long."""

Patterns = npt.NDArray[np.uint64]
Drawn = TypeVar("Drawn")
Chosen = TypeVar("Chosen")


def by_size(quick: Chosen, default: Chosen, long: Chosen) -> Chosen:
    """The one of three that the size of the test asks for."""
    return (quick, default, long)[_SIZES.index(SIZE)]


def leaves_out(module: str) -> bool:
    """Returns whether the size of the test leaves out a test module, given its text. The quick test
    keeps modules whose ``pytestmark`` is ``quick``; the default test keeps all but those whose
    ``pytestmark`` is ``long``."""
    marks = set(re.findall(r"\bpytest\.mark\.(\w+)", "".join(_MODULE_MARKS.findall(module))))
    return by_size("quick" not in marks, "long" in marks, False)


def _budget(folder: str) -> int | None:
    quick, default = BUDGET.get(folder, (0, 0))
    return by_size(quick, default, None)


def over_budget(spent: Mapping[str, float]) -> list[str]:
    """The folders that cost far more than they may, each with both numbers; none in the long
    test. A slow machine gets more time: as much as the whole run takes above its budget."""
    budgets = {folder: may for folder in spent if (may := _budget(folder)) is not None}
    whole = sum(spent[folder] for folder in budgets)
    slower = min(max(1.0, whole / max(1, sum(budgets.values()))), _SLOWEST)
    return [
        f"{folder} took {spent[folder]:.0f} s of processor time, not about {slower * may:.0f}"
        for folder, may in budgets.items()
        if spent[folder] > slower * _MARGIN * may + _SLACK
    ]


def budget_rows(spent: Mapping[str, float]) -> Iterable[str]:
    """A line for each folder, with its budget."""
    for folder, seconds in sorted(spent.items()):
        may = _budget(folder)
        yield f"{seconds:8.1f} s" + ("" if may is None else f" of {may:4.0f}") + f"  {folder}"


def cases(full: int) -> int:
    """The number of random cases to run of ``full``: all only in the long test, and of many a
    smaller part than of few."""
    many = full >= _MANY
    return by_size(full // (20 if many else 10), full // (16 if many else 5), full)


def rng_of(seed: int) -> np.random.Generator:
    """Random numbers of a seed that is printed: it stands in the message of a test that fails."""
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def draw_until(draw: Callable[[], Drawn | None], tries: int = 1000) -> Drawn:
    """Returns the first result of ``draw`` that is not None. Raises AssertionError if none is."""
    for _ in range(tries):
        drawn = draw()
        if drawn is not None:
            return drawn
    raise AssertionError(f"none of {tries} draws was of use")


def slow_but(
    quick: Iterable[Any], among: Iterable[Any], default: Iterable[Any] | None = None
) -> list[Any]:
    """Parameters of a test, ``among``: the quick test takes the first ones, the default test
    ``default``, too, which are all where it is not given, and the long test all."""
    first, second = list(quick), None if default is None else list(default)
    everything = list(among)
    if unknown := [x for x in (*first, *(second or ())) if x not in everything]:
        raise ValueError(f"{unknown} must be among {everything}")

    def marked(parameter: Any) -> Any:
        if parameter in first:
            return parameter
        later = second is None or parameter in second
        return pytest.param(parameter, marks=pytest.mark.slow if later else pytest.mark.long)

    return [marked(parameter) for parameter in everything]


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


def integer_pairs(fmt: IntFormat, count: int, seed: int) -> tuple[Patterns, Patterns]:
    """The ends of the range, numbers beside them and around 0, in all pairs; then random ones."""
    rng = np.random.default_rng(seed)
    ends = [fmt.lowest, fmt.lowest + 1, -2, -1, 0, 1, 2, fmt.highest - 1, fmt.highest]
    special = np.array(ends, np.int64)
    left, right = np.meshgrid(special, special, indexing="ij")
    wide = rng.integers(fmt.lowest, fmt.highest, (2, count), endpoint=True)
    near = rng.integers(-1000, 1000, (2, count))
    mask = np.uint64((1 << fmt.bits) - 1)
    columns = zip((left.ravel(), right.ravel()), wide, near, strict=True)
    a, b = (np.concatenate(parts).astype(np.uint64) & mask for parts in columns)
    return a, b


def value_pairs(fmt: Format, count: int, seed: int) -> tuple[Patterns, Patterns]:
    """``operand_pairs`` or ``integer_pairs``, as the format is."""
    if isinstance(fmt, FloatFormat):
        return operand_pairs(fmt, count, seed)
    return integer_pairs(fmt, count, seed)
