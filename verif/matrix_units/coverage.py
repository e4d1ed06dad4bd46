"""Functional coverage: how often each combination of interest occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, Format, IntFormat
from tilewright.hw.spec.m3xu import MODES
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.values import decode

from .matrix_stimuli import AnyMatrixUnit, Operations

Counts = Mapping[tuple[str, str], int]
Words = npt.NDArray[np.uint64]

CLASSES = ("zero", "subnormal", "normal", "infinite", "nan")
"""Classes of floats."""

INT_CLASSES = ("zero", "positive", "negative", "highest", "lowest")
"""Classes of integers."""


def matrix_coverage(
    config: AnyMatrixUnit,
    sent: Operations,
    d: Words,
    input_waited: npt.NDArray[np.int64],
    output_waited: npt.NDArray[np.int64],
) -> Counter[tuple[str, str]]:
    """Counts by (mode, feature): kinds of operands, classes of results, stalls, and the modes
    that followed one another directly; by semiring also classes of operands, and which of them
    were in an operation whose result was stalled."""
    name_of = {code: mode for mode, code in config.opcodes.items()}
    counts: Counter[tuple[str, str]] = Counter()
    modes = [name_of.get(int(code), "illegal") for code in sent.op]
    for index, mode in enumerate(modes):
        stalled = bool(output_waited[index])
        counts[mode, "operations"] += 1
        counts[mode, f"kind {sent.kind[index]}"] += 1
        counts[mode, "input waited"] += bool(input_waited[index])
        counts[mode, "result stalled"] += stalled
        if index:
            counts[mode, f"after {modes[index - 1]}"] += 1
        if mode == "illegal":
            continue
        for label in _results(config, mode, d[index]):
            counts[mode, f"result {label}"] += 1
        if isinstance(config, Simd2Config):
            met = classes(sent.a[index], config.element) | classes(sent.b[index], config.element)
            for label in met:
                counts[mode, f"operand {label}"] += 1
                counts[mode, f"operand {label}, stalled"] += stalled
    return counts


def missing(counts: Counts, required: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the required points that never occurred."""
    return [point for point in required if not counts.get(point, 0)]


def classes(patterns: Words, fmt: Format) -> set[str]:
    """The classes of values that occur."""
    if isinstance(fmt, IntFormat):
        numbers = decode(patterns, fmt)
        masks = {
            "zero": numbers == 0,
            "positive": numbers > 0,
            "negative": numbers < 0,
            "highest": numbers == fmt.highest,
            "lowest": numbers == fmt.lowest,
        }
    else:
        size = patterns & np.uint64((1 << (fmt.bits - 1)) - 1)
        least = np.uint64(1 << fmt.fraction_bits)
        masks = {
            "zero": size == 0,
            "subnormal": (size != 0) & (size < least),
            "normal": (size >= least) & (size <= np.uint64(fmt.largest)),
            "infinite": (size == np.uint64(fmt.infinity)) & fmt.has_infinity,
            "nan": size > np.uint64(fmt.infinity if fmt.has_infinity else fmt.largest),
        }
    return {label for label, mask in masks.items() if mask.any()}


def _results(config: AnyMatrixUnit, mode: str, d: Words) -> set[str]:
    if isinstance(config, Simd2Config):
        return classes(d, config.result)
    parts = [d >> np.uint64(32 * part) for part in range(MODES[mode].results)]
    return set().union(*(classes(part, FLOAT_FORMATS["fp32"]) for part in parts))
