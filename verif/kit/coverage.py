"""Functional coverage: how often each combination of interest occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.m3xu import MODES, MatrixUnitConfig

from .matrix_stimuli import Operations

__all__ = ["CLASSES", "matrix_coverage", "missing"]

Counts = Mapping[tuple[str, str], int]

CLASSES = ("zero", "subnormal", "normal", "infinite", "nan")
"""Classes of fp32 results."""


def matrix_coverage(
    config: MatrixUnitConfig,
    sent: Operations,
    d: npt.NDArray[np.uint64],
    input_waited: npt.NDArray[np.int64],
    output_waited: npt.NDArray[np.int64],
) -> Counter[tuple[str, str]]:
    """Counts by (mode, feature): kinds of operands, classes of results, stalls, and the modes
    that followed one another directly."""
    opcodes: dict[str, int] = config.opcodes  # type: ignore[attr-defined]
    name_of = {code: mode for mode, code in opcodes.items()}
    counts: Counter[tuple[str, str]] = Counter()
    modes = [name_of.get(int(code), "illegal") for code in sent.op]
    for index, mode in enumerate(modes):
        counts[mode, "operations"] += 1
        counts[mode, f"kind {sent.kind[index]}"] += 1
        counts[mode, "input waited"] += bool(input_waited[index])
        counts[mode, "result stalled"] += bool(output_waited[index])
        if index:
            counts[mode, f"after {modes[index - 1]}"] += 1
        if mode != "illegal":
            for label in _classes(d[index], MODES[mode].results):
                counts[mode, f"result {label}"] += 1
    return counts


def missing(counts: Counts, required: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was required and never occurred."""
    return [point for point in required if not counts.get(point, 0)]


def _classes(d: npt.NDArray[np.uint64], results: int) -> set[str]:
    found = set()
    for part in range(results):
        word = (d >> np.uint64(32 * part)) & np.uint64(0x7FFFFFFF)
        top, fraction = word >> np.uint64(23), word & np.uint64(0x7FFFFF)
        masks = {
            "zero": word == 0,
            "subnormal": (top == 0) & (fraction != 0),
            "normal": (top > 0) & (top < 255),
            "infinite": word == 0x7F800000,
            "nan": word > 0x7F800000,
        }
        found |= {label for label, mask in masks.items() if mask.any()}
    return found
