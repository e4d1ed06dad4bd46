"""Computes the model's charge for words of 8 bits, and for 2:4 sparsity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...apps.common.options import named_parameters
from ...apps.tcu.hardware.options import side_given
from ...apps.tcu.options import whole_if_so
from ...errors import UserError
from ...numbers_given import real, whole
from ...synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from .model_cases import Case

__all__ = ["tcu_low_precision"]

Progress = Callable[[str], None]
NAME = "tcu-low-precision"
_UNIT = {"m": 256, "l": 256.0}
_LARGEST_M = 1 << 16
_MILLION = 10**6
_SPLIT = (
    "limbs", "time of a word", "l beside it", "calls", "millions of words", "millions of limbs",
    "times", "CPU, millions", "CPU, on limbs", "times ",
)  # fmt: skip
_SPLIT_DIGITS = (0, 0, 1, 0, 2, 2, 2, 2, 2, 2)
_SPARSE = (
    "m", "time of a word", "l beside it", "calls", "millions, dense", "millions, 2:4", "times",
    "millions of places", "CPU, dense", "CPU, 2:4",
)  # fmt: skip
_SPARSE_DIGITS = (0, 1, 0, 0, 2, 2, 2, 2, 2, 2)
_NOTES = (
    "Times are of the unit, latency included, in words that it streams: wide ones on a unit that "
    "holds them, limbs on the other. Calls are of the other.",
    "Limbs: a word is L limbs of 8 bits; L calls of L n rows take the place of one of n: "
    "L^2 n s + L l. That is a unit of m wide words, of which each takes L^2, and l / L of these. "
    "Words of minplus have no limbs; booleans fit.",
    "Long integers are cut into pieces of 8 bits in the first place, whose sums the unit holds.",
    "2:4: a call of n rows of s words, which stand among 2 s, takes n s + l, and has a block of "
    "2 s x s: one of 2 m words, of which each takes 1/2, and 2 l of these. Places, 2 bits a word, "
    "come beside the words: a quarter of a word of 8 bits each. An operand that is loaded, not "
    "streamed, would save calls alone. What other algorithms stream is not sparse: sums, "
    "triangles, paths, transforms, pieces, powers.",
)


def tcu_low_precision(
    target: str, progress: Progress = lambda said: None, *, settings: Sequence[str] = ()
) -> Tables:
    """Time and work of each algorithm on words of its own, and on limbs of 8 bits; of products with
    a dense operand, and with a sparse one. By formulas.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    settings: m=..., words of a block, and l=..., the latency

    Raises UserError for another target, and for a unit that cannot be.
    """
    if target != "cmos":
        raise UserError(f"{NAME} is computed by formulas: no --target, not {target!r}")
    s, latency = _unit(settings)
    progress("counting")
    from .model_cases import of_limbs, of_sparse_operands

    unit = f"blocks of {s} x {s}, l = {latency:,}"
    parts = [
        Table(NAME, f"words in limbs of 8 bits, {unit}", _SPLIT,
              [_limbs(case, s, latency) for case in of_limbs(s)]),
        Table(NAME, f"2:4 sparsity, {unit}", _SPARSE,
              [_sparse(case, s, latency) for case in of_sparse_operands(s)]),
    ]  # fmt: skip
    return Tables(NAME, parts, _NOTES)


def _unit(settings: Sequence[str]) -> tuple[int, float]:
    given = named_parameters(None, list(settings))
    for name in given:
        if name not in _UNIT:
            raise UserError(f"{NAME}: unknown parameter {name!r}; it has {' and '.join(_UNIT)}")
    m = whole("m", 4, _LARGEST_M)(str(given.get("m", _UNIT["m"])).removesuffix(".0"))
    s = side_given(m)
    if s % 2:
        raise UserError(f"m must be the square of an even side, for 2:4 sparsity, not {m}")
    return s, whole_if_so(real("l", 0, 10**15)(str(given.get("l", _UNIT["l"]))))


def _row(case: Case, figures: Sequence[float | None], digits: Sequence[int]) -> Row:
    return Row(case.label, [None] * len(figures), figures, digits)


def _times(case: Case, s: int, latency: float) -> list[float]:
    before, after = (cost.unit_time(s, latency) for cost in (case.wide, case.narrow))
    return [case.narrow.calls, before / _MILLION, after / _MILLION, after / before]


def _limbs(case: Case, s: int, latency: float) -> Row:
    count = case.limbs
    of_words = [count, count * count, latency / count] if count else [None] * 3
    times, before, after = _times(case, s, latency), case.wide.cpu, case.narrow.cpu
    cpu = [before / _MILLION, after / _MILLION, after / before if before else None]
    return _row(case, [*of_words, *times, *cpu], _SPLIT_DIGITS)


def _sparse(case: Case, s: int, latency: float) -> Row:
    from ...sim.tcu.structured.structured_cost import metadata_words

    places = metadata_words(case.narrow.rows, s, 8) / _MILLION
    cpu = [cost.cpu / _MILLION for cost in (case.wide, case.narrow)]
    figures = [2 * s * s, 0.5, 2 * latency, *_times(case, s, latency), places, *cpu]
    return _row(case, figures, _SPARSE_DIGITS)
